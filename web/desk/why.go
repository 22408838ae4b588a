package desk

import (
	"context"
	"fmt"
	"slices"

	"yinshzero/rules"
)

// Rules are the anchors of the page on the rules that an answer may name.
func Rules() []string {
	return []string{"board", "placing", "moving", "line", "jump", "landing", "pass", "rows", "rings", "end"}
}

// A cause is why a click or a Move is not allowed.
type cause uint8

const (
	allowed      cause = iota
	gameOver           // no Move is
	offBoard           // a Point that the Variant's board does not have
	fullPoint          // a ring is to be placed where something stands
	stillPlacing       // rings do not move yet
	mustPass           // no own ring can move
	noRing             // nothing stands where a ring is to begin
	markerThere        // a marker stands where a ring is to begin
	otherRing          // the other side's ring stands there
	stuckRing          // an own ring that cannot move
	samePoint          // a ring is to move to where it stands
	offLine            // two Points that share no line
	ringBetween        // a ring is to be jumped
	pastLanding        // a ring is to go on behind its jump
	fullLanding        // a ring is to stop on something
	rowFirst           // a row is to be taken, and there is no marker of one's own
	otherMarker        // a row is to be taken, and there is the other side's marker
	notInRow           // an own marker in no row
	notRow             // two Points that are not the ends of a row
	ringFirst          // a ring is to be taken off, and there is none of one's own
	ringStays          // a ring that is to be taken off is to move
	mayMove            // a pass where a ring can move
	causes
)

// rule is the anchor where the cause is explained, one of Rules; empty if allowed.
func (c cause) rule() string {
	return [causes]string{
		gameOver: "end", offBoard: "board", fullPoint: "placing", stillPlacing: "placing", mustPass: "pass", noRing: "moving",
		markerThere: "moving", otherRing: "moving", stuckRing: "moving", samePoint: "moving", offLine: "line", ringBetween: "jump",
		pastLanding: "landing", fullLanding: "landing", rowFirst: "rows", otherMarker: "rows", notInRow: "rows", notRow: "rows",
		ringFirst: "rings", ringStays: "rings", mayMove: "pass",
	}[c]
}

// A ban is why what was tried is no legal Move.
type ban struct {
	cause
	at rules.Point // that the cause is about
}

// click is why no legal Move of p begins, or takes a row, at this Point.
func click(p *rules.Position, at rules.Point) ban {
	mover := p.ToMove()
	switch {
	case p.Phase() == rules.PhaseOver:
		return ban{gameOver, at}
	case !onBoard(p, at):
		return ban{offBoard, at}
	case p.Phase() == rules.PhasePlaceRing && p.At(at) != rules.Empty:
		return ban{fullPoint, at}
	case p.Phase() == rules.PhaseMoveRing:
		moves := p.AppendMoves(nil)
		if moves[0] == rules.Pass {
			return ban{mustPass, at}
		}
		if b := ownRing(p, at); b.cause != allowed {
			return b
		}
		if !slices.ContainsFunc(moves, func(m rules.Move) bool { return m.From() == at }) {
			return ban{stuckRing, at}
		}
	case p.Phase() == rules.PhaseRemoveRow:
		for _, r := range p.AppendRows(nil, mover) {
			if slices.Contains(r.AppendPoints(nil, p.RowLength()), at) {
				return ban{}
			}
		}
		switch p.At(at) {
		case markerOf(mover):
			return ban{notInRow, at}
		case markerOf(mover.Other()):
			return ban{otherMarker, at}
		}
		return ban{rowFirst, at}
	case p.Phase() == rules.PhaseRemoveRing && p.At(at) != ringOf(mover):
		return ban{ringFirst, at}
	}
	return ban{}
}

// drag is why no legal Move of p goes from at to to, or takes the row with these ends.
func drag(p *rules.Position, at, to rules.Point) ban {
	switch {
	case p.Phase() == rules.PhaseOver:
		return ban{gameOver, at}
	case !onBoard(p, at):
		return ban{offBoard, at}
	case !onBoard(p, to):
		return ban{offBoard, to}
	}
	switch p.Phase() {
	case rules.PhasePlaceRing:
		return ban{stillPlacing, at}
	case rules.PhaseRemoveRow:
		for _, r := range p.AppendRows(nil, p.ToMove()) {
			if last, _ := r.Last(p.RowLength()); r.First() == at && last == to || r.First() == to && last == at {
				return ban{}
			}
		}
		return ban{notRow, at}
	case rules.PhaseRemoveRing:
		return ban{ringStays, at}
	}
	if p.AppendMoves(nil)[0] == rules.Pass {
		return ban{mustPass, at}
	}
	if b := ownRing(p, at); b.cause != allowed {
		return b
	}
	if at == to {
		return ban{samePoint, at}
	}
	if _, ok := rules.MoveRingFrom(at, to); !ok {
		return ban{offLine, at}
	}
	jumped, landing := false, ban{}
	for _, pt := range between(at, to) {
		switch piece := p.At(pt); {
		case isRing(piece):
			return ban{ringBetween, pt}
		case piece != rules.Empty:
			jumped = true
		case jumped && landing.cause == allowed:
			landing = ban{pastLanding, pt}
		}
	}
	if p.At(to) != rules.Empty {
		return ban{fullLanding, to}
	}
	return landing
}

// forbidden is why m is not legal in p.
func forbidden(p *rules.Position, m rules.Move) ban {
	switch {
	case p.IsLegal(m):
		return ban{}
	case m.Kind() == rules.PassTurn && p.Phase() == rules.PhaseMoveRing:
		return ban{cause: mayMove}
	case m.Kind() == rules.MoveRing && p.Phase() != rules.PhaseRemoveRow:
		return drag(p, m.From(), m.To())
	case m.Kind() == rules.RemoveRow && p.Phase() == rules.PhaseRemoveRow:
		return ban{notRow, m.Row().First()}
	case p.Phase() == rules.PhaseOver:
		return ban{cause: gameOver}
	case p.Phase() == rules.PhasePlaceRing && m.Kind() == rules.PlaceRing:
		return click(p, m.Point())
	case p.Phase() == rules.PhasePlaceRing:
		return ban{cause: stillPlacing}
	case p.Phase() == rules.PhaseRemoveRow:
		return ban{cause: rowFirst}
	case p.Phase() == rules.PhaseRemoveRing:
		return ban{cause: ringFirst}
	}
	return ban{cause: noRing}
}

// ownRing is why a ring move may not begin at a Point, but for where it may go.
func ownRing(p *rules.Position, at rules.Point) ban {
	switch piece := p.At(at); {
	case piece == ringOf(p.ToMove()):
		return ban{}
	case piece == rules.Empty:
		return ban{noRing, at}
	case isRing(piece):
		return ban{otherRing, at}
	}
	return ban{markerThere, at}
}

func ringOf(c rules.Color) rules.Piece   { return rules.WhiteRing + rules.Piece(c) }
func markerOf(c rules.Color) rules.Piece { return rules.WhiteMarker + rules.Piece(c) }
func isRing(piece rules.Piece) bool      { return piece == rules.WhiteRing || piece == rules.BlackRing }

func onBoard(p *rules.Position, pt rules.Point) bool { return slices.Contains(p.AppendBoard(nil), pt) }

// between lists the Points strictly between two on a common line, in order.
func between(from, to rules.Point) (list []rules.Point) {
	way := func(d int) int { return min(1, max(-1, d)) }
	column, number := from.Column(), from.Number()
	dc, dn := way(to.Column()-column), way(to.Number()-number)
	for {
		column, number = column+dc, number+dn
		pt, ok := rules.PointAt(column, number)
		if !ok || pt == to {
			return list
		}
		list = append(list, pt)
	}
}

// pieceNames names what stands on a Point, by rules.Piece.
var pieceNames = [...]string{"nothing", "a white ring", "a black ring", "a white marker", "a black marker"}

// reason tells of b in words; of what is allowed it says nothing.
func (b ban) reason(p *rules.Position) string {
	me, other := sideNames[p.ToMove()], sideNames[p.ToMove().Other()]
	there := fmt.Sprintf("%s stands on %v", pieceNames[p.At(b.at)], b.at)
	switch b.cause {
	case gameOver:
		return "the game is over"
	case offBoard:
		return fmt.Sprintf("%v is not on the board of this variant", b.at)
	case fullPoint:
		return "a ring is placed on an empty point, and " + there
	case stillPlacing:
		return fmt.Sprintf("rings move only when all are placed: %s places one on an empty point", me)
	case mustPass:
		return fmt.Sprintf("none of %s's rings can move: %s has to pass", me, me)
	case noRing:
		return fmt.Sprintf("%s moves a ring, and there is none on %v", me, b.at)
	case markerThere:
		return fmt.Sprintf("%s moves a ring, and %s", me, there)
	case otherRing:
		return fmt.Sprintf("the ring on %v is %s's, and it is %s's move", b.at, other, me)
	case stuckRing:
		return fmt.Sprintf("the ring on %v has nowhere to go", b.at)
	case samePoint:
		return "a ring that moves leaves its point"
	case offLine:
		return "a ring moves along one of the lines of the board"
	case ringBetween:
		return fmt.Sprintf("a ring may not jump over a ring, and one stands on %v", b.at)
	case pastLanding:
		return fmt.Sprintf("a ring that has jumped over markers stops on the first empty point behind them, here %v", b.at)
	case fullLanding:
		return "a ring stops on an empty point, and " + there
	case rowFirst:
		return fmt.Sprintf("%s has a row and takes it first: %d markers of one colour that lie side by side", me, p.RowLength())
	case otherMarker:
		return fmt.Sprintf("%s takes a row of the own colour first, and %s", me, there)
	case notInRow:
		return fmt.Sprintf("the marker on %v is in no row of %d", b.at, p.RowLength())
	case notRow:
		return fmt.Sprintf("these are not the ends of a row of %d markers of %s's", p.RowLength(), me)
	case ringFirst:
		return fmt.Sprintf("for the row %s takes one of the own rings off the board, any of them", me)
	case ringStays:
		return fmt.Sprintf("for the row %s takes a ring off the board, and moves none", me)
	case mayMove:
		return fmt.Sprintf("%s can move a ring, and may not pass", me)
	}
	return ""
}

// A whyQuestion asks why there is no Move at a Point, or from one to another.
type whyQuestion struct {
	Game game   `json:"game"`
	At   string `json:"at"`
	To   string `json:"to"`
}

type whyAnswer struct {
	Reason string `json:"reason"`
	Rule   string `json:"rule"`
}

func (d *Desk) why(_ context.Context, q *whyQuestion) (*whyAnswer, error) {
	r, err := d.replay(&q.Game)
	if err != nil {
		return nil, err
	}
	p := r.last()
	at, err := rules.ParsePoint(q.At)
	if err != nil {
		return nil, badf("at", "%v", err)
	}
	b := ban{}
	if q.To == "" {
		b = click(p, at)
	} else {
		to, err := rules.ParsePoint(q.To)
		if err != nil {
			return nil, badf("to", "%v", err)
		}
		b = drag(p, at, to)
	}
	return &whyAnswer{b.reason(p), b.rule()}, nil
}
