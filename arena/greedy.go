package arena

import (
	"context"
	"math/rand/v2"

	"yinshzero/rules"
)

// Greedy looks one Move ahead. It prefers a Move after which it has a Row to take; failing that, the Move after which it
// has the most threats. A threat is a window of row length on the board, all but one of whose points show Greedy's
// markers while the odd point bears no ring of the opponent: it is empty, an opponent's marker that a jump would flip,
// or one of Greedy's own rings, which leaves the marker behind when it moves on. Ties are broken by rng.
//
// It knows nothing of what the opponent may do, and places rings at random.
type Greedy struct {
	moves   []rules.Move
	best    []rules.Move
	points  []rules.Point
	rows    []rules.Row
	variant rules.Variant
	windows []uint8 // grid indices, RowLength of variant at a time
	grid    [rules.GridSize * rules.GridSize]rules.Piece
}

// Move implements Player.
func (g *Greedy) Move(_ context.Context, pos rules.Position, rng *rand.Rand) (rules.Move, error) {
	if v := pos.Variant(); !v.Same(g.variant) {
		g.setVariant(v)
	}
	me := pos.ToMove()
	g.moves = pos.AppendMoves(g.moves[:0])
	top := -1
	for _, m := range g.moves {
		next := pos
		next.Play(m)
		worth := g.worth(&next, me)
		if worth > top {
			top, g.best = worth, g.best[:0]
		}
		if worth == top {
			g.best = append(g.best, m)
		}
	}
	return g.best[rng.IntN(len(g.best))], nil
}

// worth is the number of me's threats in pos, or more than there can be of them if me has a Row or has won.
func (g *Greedy) worth(pos *rules.Position, me rules.Color) int {
	if res, over := pos.Result(); over && res.Outcome == rules.Wins(me) {
		return len(g.windows) + 1
	}
	if g.rows = pos.AppendRows(g.rows[:0], me); len(g.rows) > 0 {
		return len(g.windows)
	}
	return g.threats(pos, me)
}

// threats counts the windows that are a threat of me.
func (g *Greedy) threats(pos *rules.Position, me rules.Color) int {
	clear(g.grid[:])
	for _, c := range [2]rules.Color{rules.White, rules.Black} {
		g.points = pos.AppendMarkers(g.points[:0], c)
		for _, p := range g.points {
			g.grid[p.Grid()] = rules.WhiteMarker + rules.Piece(c)
		}
		g.points = pos.AppendRings(g.points[:0], c)
		for _, p := range g.points {
			g.grid[p.Grid()] = rules.WhiteRing + rules.Piece(c)
		}
	}
	own, against := rules.WhiteMarker+rules.Piece(me), rules.WhiteRing+rules.Piece(me.Other())
	n, length := 0, int(g.variant.RowLength)
	for w := g.windows; len(w) > 0; w = w[length:] {
		have, blocked := 0, false
		for _, i := range w[:length] {
			switch g.grid[i] {
			case own:
				have++
			case against:
				blocked = true
			}
		}
		if have == length-1 && !blocked {
			n++
		}
	}
	return n
}

// setVariant lists the windows of v's board.
func (g *Greedy) setVariant(v rules.Variant) {
	g.variant, g.windows = v, g.windows[:0]
	pos := rules.New(v)
	g.points = pos.AppendBoard(g.points[:0])
	var onBoard [rules.NumPoints]bool
	for _, p := range g.points {
		onBoard[p] = true
	}
	length := int(v.RowLength)
	for r := range rules.NumRows {
		row := rules.Row(r)
		if _, ok := row.Last(length); !ok {
			continue
		}
		g.points = row.AppendPoints(g.points[:0], length)
		inside := true
		for _, p := range g.points {
			inside = inside && onBoard[p]
		}
		if !inside {
			continue
		}
		for _, p := range g.points {
			g.windows = append(g.windows, uint8(p.Grid()))
		}
	}
}
