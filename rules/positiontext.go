package rules

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The text of a Position is one token of nine fields with slashes between them:
//
//	<board>/<side>/<phase>/<pool>/<taken>/<hand>/<last>/<passes>/<variant>
//
// board is 85 characters in the order of the Points, pieceText each; side is W or B, to move; phase is place, move, row,
// ring or over; pool is the number of markers off the board; taken and hand are rings, White's and Black's, such as
// 2-0; last is the side that placed or moved a ring or passed last; passes counts passes in a row; variant is as
// Variant.String writes it. How a game ended follows from the rest.
const (
	positionFields = 9
	pieceText      = ".WBwb" // by Piece: empty, rings, markers
)

// String is the text of p: one token, read by ParsePosition. Equal Positions, and only they, have equal texts.
func (p *Position) String() string { return string(p.AppendText(nil)) }

// AppendText appends the text of p, as String writes it.
func (p *Position) AppendText(dst []byte) []byte {
	dst = p.appendBoard(dst)
	dst = append(dst, '/')
	dst = append(dst, p.toMove.String()...)
	dst = append(dst, '/')
	dst = append(dst, p.phase.String()...)
	dst = append(dst, '/')
	dst = strconv.AppendInt(dst, int64(p.pool), 10)
	for _, n := range [2][2]int8{p.taken, p.hand} {
		dst = append(dst, '/')
		dst = strconv.AppendInt(dst, int64(n[White]), 10)
		dst = append(dst, '-')
		dst = strconv.AppendInt(dst, int64(n[Black]), 10)
	}
	dst = append(dst, '/')
	dst = append(dst, p.last.String()...)
	dst = append(dst, '/')
	dst = strconv.AppendInt(dst, int64(p.passes), 10)
	dst = append(dst, '/')
	return append(dst, p.Variant().String()...)
}

// appendBoard appends the 85 characters of the board.
func (p *Position) appendBoard(dst []byte) []byte {
	for pt := range Point(NumPoints) {
		dst = append(dst, pieceText[p.At(pt)])
	}
	return dst
}

// ParsePosition reads a Position as String writes it. It accepts only what the rules allow: every piece on the
// Variant's board, rings and markers all accounted for, and a phase, a side and counts that fit the rows on the board. It
// does not ask whether Moves exist that lead there.
func ParsePosition(s string) (Position, error) {
	p, err := parsePosition(s)
	if err != nil {
		return Position{}, fmt.Errorf("position %q: %w", abridge(s), err)
	}
	return p, nil
}

// abridge keeps error messages about long texts short.
func abridge(s string) string {
	const longest = 160
	if len(s) > longest {
		return s[:longest] + "…"
	}
	return s
}

func parsePosition(s string) (p Position, err error) {
	if n := strings.Count(s, "/") + 1; n != positionFields {
		return p, fmt.Errorf("%d fields between slashes: want %d, "+
			"board/side/phase/pool/taken/hand/last/passes/variant", n, positionFields)
	}
	f := strings.Split(s, "/")
	v, err := ParseVariant(f[8])
	if err != nil {
		return p, err
	}
	p = New(v)
	var errs [positionFields]error
	errs[0] = p.parseBoard(f[0])
	p.toMove, errs[1] = parseColor("side", f[1])
	p.phase, errs[2] = parsePhase(f[2])
	p.pool, errs[3] = parseCount("pool", f[3], v.Markers)
	p.taken, errs[4] = parseCounts("taken", f[4], v.RingsToWin)
	p.hand, errs[5] = parseCounts("hand", f[5], v.Rings)
	p.last, errs[6] = parseColor("last", f[6])
	p.passes, errs[7] = parseCount("passes", f[7], 2)
	if err := errors.Join(errs[:]...); err != nil {
		return p, err
	}
	if err := p.checkCounts(); err != nil {
		return p, err
	}
	return p, p.checkPhase()
}

func (p *Position) parseBoard(s string) error {
	if len(s) != NumPoints {
		return fmt.Errorf("board: %d characters: want %d", len(s), NumPoints)
	}
	for pt := range Point(NumPoints) {
		piece := strings.IndexByte(pieceText, s[pt])
		b := bit(pt.Grid())
		switch {
		case piece < 0:
			return fmt.Errorf("board: %q on %v: want one of %q", s[pt], pt, pieceText)
		case Piece(piece) == Empty:
			continue
		case !boards[p.radius].has(pt.Grid()):
			return fmt.Errorf("board: %v is not on a board of radius %d", pt, p.radius)
		case Piece(piece) <= BlackRing:
			c := piece - int(WhiteRing)
			p.rings[c] = p.rings[c].or(b)
		default:
			c := piece - int(WhiteMarker)
			p.markers[c] = p.markers[c].or(b)
		}
	}
	return nil
}

func parseColor(field, s string) (Color, error) {
	for c := White; c <= Black; c++ {
		if s == c.String() {
			return c, nil
		}
	}
	return 0, fmt.Errorf("%s: %q: want W or B", field, s)
}

func parsePhase(s string) (Phase, error) {
	for ph := PhasePlaceRing; ph <= PhaseOver; ph++ {
		if s == ph.String() {
			return ph, nil
		}
	}
	return 0, fmt.Errorf("phase: %q: want place, move, row, ring or over", s)
}

// parseCount reads a number from 0 to most, without sign or leading zeros.
func parseCount(field, s string, most int8) (int8, error) {
	n, err := strconv.ParseUint(s, 10, 8)
	if err != nil || n > uint64(most) || strconv.FormatUint(n, 10) != s {
		return 0, fmt.Errorf("%s: %q: want a number from 0 to %d", field, s, most)
	}
	return int8(n), nil
}

// parseCounts reads White's and Black's number, such as 2-0.
func parseCounts(field, s string, most int8) (n [2]int8, err error) {
	w, b, ok := strings.Cut(s, "-")
	if !ok {
		return n, fmt.Errorf("%s: %q: want White's number and Black's, such as 2-0", field, s)
	}
	if n[White], err = parseCount(field, w, most); err != nil {
		return n, err
	}
	n[Black], err = parseCount(field, b, most)
	return n, err
}

// checkCounts returns what is wrong with the numbers of rings and markers.
func (p *Position) checkCounts() error {
	for _, c := range [2]Color{White, Black} {
		n := p.rings[c].count()
		if all := n + int(p.hand[c]) + int(p.taken[c]); all != int(p.ringsEach) {
			return fmt.Errorf("%v has %d rings on the board, %d in hand and %d taken, together %d: want %d",
				c, n, p.hand[c], p.taken[c], all, p.ringsEach)
		}
	}
	n := p.markers[White].count() + p.markers[Black].count()
	if n+int(p.pool) != int(p.markersAll) {
		return fmt.Errorf("%d markers on the board and %d in the pool: want %d together", n, p.pool, p.markersAll)
	}
	return nil
}

// checkPhase returns what is wrong with the phase, the sides and the passes, given the pieces, and fills in the result
// of a game that is over.
func (p *Position) checkPhase() error {
	placing := p.hand != [2]int8{}
	won := p.taken[White] == p.ringsToWin || p.taken[Black] == p.ringsToWin
	rows := [2]bool{p.hasRow(White), p.hasRow(Black)}
	switch {
	case max(p.numRows(White), p.numRows(Black)) > MaxMoves:
		return errors.New("more rows than one move can make")
	case placing && p.phase != PhasePlaceRing:
		return fmt.Errorf("phase %v with rings in hand: want place", p.phase)
	case !placing && p.phase == PhasePlaceRing:
		return errors.New("phase place with no rings in hand")
	case won && p.phase != PhaseOver:
		return fmt.Errorf("phase %v with %d rings taken: want over", p.phase, p.ringsToWin)
	case p.passes > 0 && (p.phase == PhaseRemoveRow || p.phase == PhaseRemoveRing):
		return fmt.Errorf("%d passes in phase %v: a pass makes no row", p.passes, p.phase)
	}
	switch p.phase {
	case PhasePlaceRing:
		return p.checkPlacing()
	case PhaseRemoveRow:
		if !rows[p.toMove] {
			return fmt.Errorf("phase row, but %v has no row of %d", p.toMove, p.rowLength)
		}
		return p.checkOrder(rows)
	case PhaseRemoveRing:
		if p.pool < p.rowLength {
			return fmt.Errorf("phase ring with %d markers in the pool: a row of %d was just taken", p.pool, p.rowLength)
		}
		return p.checkOrder(rows)
	case PhaseOver:
		if won {
			return p.checkWon(rows)
		}
	}
	return p.checkResolved(rows)
}

func (p *Position) checkPlacing() error {
	w, b := p.hand[White], p.hand[Black]
	switch {
	case p.taken != [2]int8{} || p.pool != p.markersAll:
		return errors.New("phase place with markers on the board or rings taken")
	case p.toMove == White && w != b || p.toMove == Black && b != w+1:
		return fmt.Errorf("hands of %d and %d rings with %v to place: White begins and the sides take turns", w, b, p.toMove)
	case p.last == p.toMove || p.passes != 0:
		return fmt.Errorf("last %v and %d passes with %v to place: want %v and 0",
			p.last, p.passes, p.toMove, p.toMove.Other())
	}
	return nil
}

// checkOrder holds that the side that moved last takes all its rows first.
func (p *Position) checkOrder(rows [2]bool) error {
	if p.toMove != p.last && rows[p.last] {
		return fmt.Errorf("%v takes a row or ring, but %v, who moved last, has a row and comes first", p.toMove, p.last)
	}
	return nil
}

// checkWon checks a game won by rings taken.
func (p *Position) checkWon(rows [2]bool) error {
	switch {
	case p.taken[White] == p.taken[Black]:
		return errors.New("both sides have taken the rings that win")
	case p.taken[p.toMove] != p.ringsToWin:
		return fmt.Errorf("side %v: want the winner, %v", p.toMove, p.toMove.Other())
	case p.passes != 0:
		return fmt.Errorf("%d passes before the winning ring: a pass makes no row", p.passes)
	case p.pool < p.rowLength:
		return fmt.Errorf("won with %d markers in the pool: a row of %d was just taken", p.pool, p.rowLength)
	}
	p.finish(Wins(p.toMove), RingsTaken)
	return p.checkOrder(rows)
}

// checkResolved checks a Position before a ring move, and the ends that are noticed there.
func (p *Position) checkResolved(rows [2]bool) error {
	over := p.pool == 0 || p.passes == 2
	switch {
	case rows[White] || rows[Black]:
		return fmt.Errorf("phase %v with a row of %d on the board", p.phase, p.rowLength)
	case p.toMove == p.last:
		return fmt.Errorf("side %v and last %v: want two sides", p.toMove, p.last)
	case over != (p.phase == PhaseOver):
		return fmt.Errorf("phase %v with %d markers in the pool, %d passes and no winner", p.phase, p.pool, p.passes)
	case p.pool == 0 && p.passes != 0:
		return fmt.Errorf("%d passes with an empty pool: the game was over before", p.passes)
	}
	for n, c := int8(0), p.last; n < p.passes; n, c = n+1, c.Other() {
		if p.numRingMoves(c) > 0 {
			return fmt.Errorf("%v passed but can move a ring", c)
		}
	}
	if p.pool == 0 {
		p.finish(p.count(), PoolEmpty)
	} else if over {
		p.finish(p.count(), Blocked)
	}
	return nil
}
