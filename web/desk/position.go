package desk

import (
	"context"
	"fmt"

	"yinshzero/rules"
)

// A game is where Moves have led.
type game struct {
	Variant string   `json:"variant,omitempty"`
	Start   string   `json:"start,omitempty"`
	Moves   []string `json:"moves"`
}

// A replay is a game that has been played again.
type replay struct {
	start rules.Position
	moves []rules.Move
	pos   []rules.Position // before each Move, and after the last
}

// last is where the game stands.
func (r *replay) last() *rules.Position { return &r.pos[len(r.pos)-1] }

// replay plays g, or says what is wrong with it.
func (d *Desk) replay(g *game) (*replay, error) {
	v := d.params.Engine.Variant
	if g.Variant != "" {
		var err error
		if v, err = rules.ParseVariant(g.Variant); err != nil {
			return nil, badf("game.variant", "%v", err)
		}
	}
	start := rules.New(v)
	if g.Start != "" {
		var err error
		if start, err = rules.ParsePosition(g.Start); err != nil {
			return nil, badf("game.start", "%v", err)
		}
		if got := start.Variant(); g.Variant != "" && !got.Same(v) {
			return nil, badf("game.variant", "%v, but start is a position of the variant %v: leave variant out", v, got)
		}
		v = start.Variant()
	}
	r := &replay{start: start, pos: []rules.Position{start}}
	for i, text := range g.Moves {
		p := *r.last()
		m, err := p.ParseMove(text)
		if err != nil {
			e := badf("game.moves", "move %d: %v", i+1, err)
			if m, err := v.ParseMove(text); err == nil {
				e.Rule = forbidden(&p, m).rule()
			}
			return nil, e
		}
		p.Play(m)
		r.moves, r.pos = append(r.moves, m), append(r.pos, p)
	}
	return r, nil
}

// bySide is something of either side.
type bySide[T any] struct {
	W T `json:"W"`
	B T `json:"B"`
}

func sides[T any](of func(rules.Color) T) bySide[T] {
	return bySide[T]{of(rules.White), of(rules.Black)}
}

// A move is a Move as the page draws it.
type move struct {
	Move   string   `json:"move"`
	By     string   `json:"by,omitempty"` // only of a Move that has been played
	Kind   string   `json:"kind"`
	At     string   `json:"at,omitempty"`
	To     string   `json:"to,omitempty"`
	Points []string `json:"points,omitempty"`
}

var kinds = [...]string{"place", "move", "row", "ring", "pass"} // by rules.Kind

// describe tells what m, a legal Move, does in p.
func describe(p *rules.Position, m rules.Move) move {
	v := p.Variant()
	d := move{Move: v.MoveText(m), Kind: kinds[m.Kind()]}
	switch m.Kind() {
	case rules.PlaceRing, rules.RemoveRing:
		d.At = m.Point().String()
	case rules.MoveRing:
		d.At, d.To = m.From().String(), m.To().String()
		for _, pt := range between(m.From(), m.To()) {
			if p.At(pt) != rules.Empty {
				d.Points = append(d.Points, pt.String())
			}
		}
	case rules.RemoveRow:
		points := m.Row().AppendPoints(nil, p.RowLength())
		d.Points = texts(points)
		d.At, d.To = d.Points[0], d.Points[len(points)-1]
	}
	return d
}

func texts(points []rules.Point) []string {
	list := make([]string, len(points))
	for i, pt := range points {
		list[i] = pt.String()
	}
	return list
}

// A turn is one side's Moves.
type turn struct {
	Text string `json:"text"`
	By   string `json:"by"`
	Ply  int    `json:"ply"` // Moves of the game up to its end
}

// turns splits the game.
func (r *replay) turns() []turn {
	list, begin, v := []turn{}, 0, r.start.Variant()
	for i := range r.moves {
		side, next := r.pos[i].ToMove(), &r.pos[i+1]
		if _, over := next.Result(); i+1 < len(r.moves) && !over && next.ToMove() == side {
			continue
		}
		list = append(list, turn{string(v.AppendTurn(nil, r.moves[begin:i+1])), side.String(), i + 1})
		begin = i + 1
	}
	return list
}

// A result is how a game has ended, in words.
type result struct {
	Winner string `json:"winner"` // W, B or draw
	Reason string `json:"reason"`
}

var sideNames = [...]string{"White", "Black"}

func describeResult(p *rules.Position, r rules.Result) *result {
	reason := "neither side has taken more rings"
	switch r.Outcome {
	case rules.WhiteWins, rules.BlackWins:
		c := rules.White
		if r.Outcome == rules.BlackWins {
			c = rules.Black
		}
		rings := "rings"
		if p.Taken(c) == 1 {
			rings = "ring"
		}
		reason = fmt.Sprintf("%s has taken %d %s", sideNames[c], p.Taken(c), rings)
		if r.Reason != rules.RingsTaken {
			reason += fmt.Sprintf(" and %s %d", sideNames[c.Other()], p.Taken(c.Other()))
		}
	}
	switch r.Reason {
	case rules.PoolEmpty:
		reason = "all markers are on the board: " + reason
	case rules.Blocked:
		reason = "no ring can move: " + reason
	}
	return &result{r.Outcome.String(), reason}
}

// A positionQuestion asks where a game stands.
type positionQuestion struct {
	Game game `json:"game"`
}

// A positionAnswer is where a game stands.
type positionAnswer struct {
	Position   string            `json:"position"`
	Variant    string            `json:"variant"`
	Name       string            `json:"name"`
	Ply        int               `json:"ply"`
	ToMove     string            `json:"toMove"`
	Phase      string            `json:"phase"`
	Points     []string          `json:"points"`
	Pieces     map[string]string `json:"pieces"`
	Pool       int               `json:"pool"`
	Markers    int               `json:"markers"`
	RowLength  int               `json:"rowLength"`
	Hand       bySide[int]       `json:"hand"`
	Taken      bySide[int]       `json:"taken"`
	Rings      int               `json:"rings"`
	RingsToWin int               `json:"ringsToWin"`
	Legal      []move            `json:"legal"`
	Last       *move             `json:"last"`
	Turns      []turn            `json:"turns"`
	Over       bool              `json:"over"`
	Result     *result           `json:"result"`
}

var pieces = [...]string{"", "WR", "BR", "WM", "BM"} // by rules.Piece

func (d *Desk) position(_ context.Context, q *positionQuestion) (*positionAnswer, error) {
	r, err := d.replay(&q.Game)
	if err != nil {
		return nil, err
	}
	p := r.last()
	v := p.Variant()
	a := &positionAnswer{
		Position: p.String(), Variant: v.String(), Name: v.Name, Ply: len(r.moves),
		ToMove: p.ToMove().String(), Phase: p.Phase().String(), Pieces: map[string]string{},
		Pool: p.Pool(), Markers: int(v.Markers), RowLength: p.RowLength(),
		Hand: sides(p.Hand), Taken: sides(p.Taken), Rings: int(v.Rings), RingsToWin: int(v.RingsToWin),
		Legal: []move{}, Turns: r.turns(),
	}
	points := p.AppendBoard(nil)
	a.Points = texts(points)
	for i, pt := range points {
		if piece := p.At(pt); piece != rules.Empty {
			a.Pieces[a.Points[i]] = pieces[piece]
		}
	}
	for _, m := range p.AppendMoves(nil) {
		a.Legal = append(a.Legal, describe(p, m))
	}
	if n := len(r.moves); n > 0 {
		last := describe(&r.pos[n-1], r.moves[n-1])
		last.By = r.pos[n-1].ToMove().String()
		a.Last = &last
	}
	if res, over := p.Result(); over {
		a.Over, a.Result = true, describeResult(p, res)
	}
	return a, nil
}
