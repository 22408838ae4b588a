package solve

import (
	"context"

	"yinshzero/rules"
)

// A prover answers whether a side wins within a number of plies.
type prover struct {
	table  table
	frames []frame
	good   [2][2][rules.NumMoves]uint32 // how far down a Move has decided a node: for the defender or attacker, by Color

	ctx        context.Context
	ringsToWin int
	nodes      int64
	limit      int64 // of nodes, 0 for none
	stopped    bool  // the budget has ended: answers mean nothing
}

// A frame is the memory of one ply.
type frame struct {
	pos    rules.Position
	moves  [rules.MaxMoves]rules.Move
	merits [rules.MaxMoves]uint32
}

// noMove is no Move.
const noMove = rules.Move(rules.NumMoves)

// begin forgets what was known.
func (p *prover) begin(ctx context.Context, pos *rules.Position, limit int64) {
	v := pos.Variant()
	p.table.reset()
	clear(p.good[0][0][:])
	clear(p.good[0][1][:])
	clear(p.good[1][0][:])
	clear(p.good[1][1][:])
	if n := v.MaxPlies() + 2; len(p.frames) < n {
		p.frames = make([]frame, n)
	}
	p.ctx, p.ringsToWin = ctx, int(v.RingsToWin)
	p.nodes, p.limit, p.stopped = 0, limit, false
}

// An answer says that a side wins, within so many plies, or that it does not.
type answer struct {
	won   bool
	plies int
}

// after is the answer about a Position from which a Move leads to one with the answer a.
func (a answer) after() answer {
	if a.plies < Never {
		a.plies++
	}
	return a
}

var never = answer{false, Never}

// look works out what v, the Value of pos, says of wins within depth plies. Plies count from played Moves before pos.
func (p *prover) look(pos *rules.Position, depth, played int, v *Value) {
	for _, c := range [2]rules.Color{pos.ToMove(), pos.ToMove().Other()} {
		if p.stopped || v.Outcome != rules.Unfinished || v.Refuted[c] >= depth {
			continue
		}
		p.frames[0].pos = *pos
		a := p.prove(0, depth-played, c)
		if p.stopped {
			return
		}
		for range played {
			a = a.after()
		}
		if a.won {
			*v = won(c, a.plies)
		} else {
			v.Refuted[c] = a.plies
		}
	}
	v.settle()
}

// tableSpare is how many plies more than the least that a win takes there must be for a node to be kept in the table.
const tableSpare = 2

// prove answers whether c wins the Position of frame at within depth plies.
func (p *prover) prove(at, depth int, c rules.Color) answer {
	f := &p.frames[at]
	pos := &f.pos
	if res, over := pos.Result(); over {
		if res.Outcome == rules.Wins(c) {
			return answer{true, 0}
		}
		return never
	}
	least := p.least(pos, depth, c)
	if depth < least {
		return answer{false, min(least-1, Never)}
	}
	p.nodes++
	if p.limit > 0 && p.nodes > p.limit || p.nodes%1024 == 0 && p.ctx.Err() != nil {
		p.stopped = true
	}
	if p.stopped {
		return answer{}
	}
	mover := pos.ToMove()
	if mover == c && p.missing(pos, c) == 1 && pos.Phase() >= rules.PhaseRemoveRow {
		return answer{true, least}
	}
	var hash uint64
	first := noMove
	stored := depth >= least+tableSpare
	if stored {
		hash = pos.Hash()
		if e := p.table.find(hash); e != nil {
			switch {
			case e.won[c] > 0 && int(e.won[c]) <= depth:
				return answer{true, int(e.won[c])}
			case e.won[c.Other()] > 0:
				return never
			case int(e.refuted[c]) >= depth:
				return answer{false, int(e.refuted[c])}
			}
			first = e.best
		}
	}
	a, best := p.try(at, depth, c, first)
	if p.stopped || !stored {
		return a
	}
	e := p.table.at(hash, depth)
	switch {
	case !a.won:
		e.refuted[c] = max(e.refuted[c], uint16(a.plies))
	case e.won[c] == 0 || a.plies < int(e.won[c]):
		e.won[c] = uint16(a.plies)
	}
	if best != noMove {
		e.best = best
	}
	return a
}

// try answers as prove does, by the legal Moves, first among them if it is one. It returns the Move that decided, if one
// did.
func (p *prover) try(at, depth int, c rules.Color, first rules.Move) (answer, rules.Move) {
	f, next := &p.frames[at], &p.frames[at+1]
	mover := f.pos.ToMove()
	attacks := mover == c
	moves := f.pos.AppendMoves(f.moves[:0])
	// Who makes a Row with his last ring to go has won, in three plies.
	if f.pos.Phase() == rules.PhaseMoveRing && p.missing(&f.pos, mover) == 1 && (attacks && depth >= 3 || depth >= 4) {
		for _, m := range moves {
			next.pos = f.pos
			next.pos.Play(m)
			if next.pos.Phase() == rules.PhaseRemoveRow && next.pos.ToMove() == mover {
				if attacks {
					return answer{true, 3}, m
				}
				return never, m
			}
		}
	}
	role := 0
	if attacks {
		role = 1
	}
	good := &p.good[role][mover]
	for i, m := range moves {
		f.merits[i] = good[m]
		if m == first {
			f.merits[i] = 1<<32 - 1
		}
	}
	all := answer{!attacks, 0} // if no Move decides; the attacker's least or the defender's longest
	if attacks {
		all.plies = Never
	}
	for i := range moves {
		best := i
		for j := i + 1; j < len(moves); j++ {
			if f.merits[j] > f.merits[best] {
				best = j
			}
		}
		m := moves[best]
		moves[best], f.merits[best] = moves[i], f.merits[i]
		next.pos = f.pos
		next.pos.Play(m)
		a := p.prove(at+1, depth-1, c).after()
		switch {
		case p.stopped:
			return a, noMove
		case a.won == attacks:
			good[m] += uint32(depth * depth)
			return a, m
		case attacks:
			all.plies = min(all.plies, a.plies)
		default:
			all.plies = max(all.plies, a.plies)
		}
	}
	return all, noMove
}

// missing is how many rings c has yet to take.
func (p *prover) missing(pos *rules.Position, c rules.Color) int { return p.ringsToWin - pos.Taken(c) }

// least is a number of plies within which c cannot win, plus one; more than Never if c never can. Above depth it is sure;
// else it is a guess that costs no time.
//
// A ring costs two plies if its Row is there, and a ring move more if it is not. A game also ends by a count of the rings
// taken, after two passes or when the pool is empty; once a Row is taken, that is two plies off at least.
func (p *prover) least(pos *rules.Position, depth int, c rules.Color) int {
	rings, ahead := 2*p.missing(pos, c), pos.Taken(c) > pos.Taken(c.Other())
	switch ph := pos.Phase(); {
	case ph == rules.PhasePlaceRing:
		return pos.Hand(rules.White) + pos.Hand(rules.Black) + 1
	case ph == rules.PhaseMoveRing:
		if !ahead {
			return min(1+rings, 5)
		}
		if pos.Pool() < 3 || depth < 3 && pos.IsLegal(rules.Pass) {
			return 1
		}
		return 3
	case pos.ToMove() != c && p.missing(pos, c.Other()) == 1:
		return Never + 1
	case ph == rules.PhaseRemoveRing && pos.ToMove() == c:
		return min(rings-1, 3)
	case ph == rules.PhaseRemoveRing:
		return 3
	}
	if pos.ToMove() == c {
		return min(rings, 4)
	}
	return 4
}

// line is best play from pos, whose Value v is proven.
func (p *prover) line(pos rules.Position, v Value) (line []rules.Move) {
	depth := v.Plies
	if v.Outcome == rules.Draw {
		depth = len(p.frames) // beyond every end
	}
	for ; pos.Phase() != rules.PhaseOver && !p.stopped; depth-- {
		moves := pos.AppendMoves(nil)
		for i, m := range moves {
			p.frames[0].pos = pos
			p.frames[0].pos.Play(m)
			mover := pos.ToMove()
			var good bool
			switch {
			case v.Outcome == rules.Wins(mover): // the quickest
				good = p.prove(0, depth-1, mover).won
			case v.Outcome == rules.Draw: // the opponent cannot win
				good = !p.prove(0, depth-1, mover.Other()).won
			default: // the longest
				good = i == len(moves)-1 || depth < 2 || !p.prove(0, depth-2, mover.Other()).won
			}
			if p.stopped {
				return line
			}
			if good {
				line = append(line, m)
				pos.Play(m)
				break
			}
		}
	}
	return line
}
