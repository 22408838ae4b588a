package solve

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"yinshzero/internal/seed"
	"yinshzero/rules"
)

var generate = flag.Bool("generate", false, "make the set of problems anew: some minutes")

// wanted is how many problems of each kind the set has.
var wanted = []struct{ low, high, n int }{{1, 3, 30}, {4, 5, 80}, {6, 7, 75}, {8, 99, 15}}

// Nodes that the generator may look at for each Position: to see whether it is won, and to solve every Move.
const (
	quickNodes = 40_000
	fullNodes  = 100_000
)

// TestGenerate writes the files of problems, if asked to. The same program writes the same files.
func TestGenerate(t *testing.T) {
	if !*generate {
		t.Skip("add -generate to make the problems anew")
	}
	for _, v := range []rules.Variant{rules.Standard(), rules.Blitz()} {
		text := fmt.Appendf(nil, "# Won positions of %v, made by go generate from random games: do not edit.\n"+
			"# position outcome plies horizon moves\n", v)
		s := New(Params{Method: AlphaBeta, Entries: 1 << 16, MaxNodes: 1})
		found, left := make([][]Problem, len(wanted)), 0
		for _, w := range wanted {
			left += w.n
		}
		for game := uint64(0); left > 0; game++ {
			p, ok := candidate(t, s, v, game, func(plies int) bool {
				kind := kindOf(plies)
				return len(found[kind]) < wanted[kind].n
			})
			if !ok {
				continue
			}
			kind := kindOf(p.Plies)
			found[kind] = append(found[kind], p)
			left--
			t.Logf("%v, game %d: %d plies, %d left to find", v, game, p.Plies, left)
		}
		for _, p := range mixed(found) {
			text = append(p.appendText(text), '\n')
		}
		if err := os.WriteFile(problemFile(v), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// mixed is all problems in an order in which the kinds are spread evenly.
func mixed(found [][]Problem) (all []Problem) {
	next := make([]int, len(found))
	for {
		kind, least := -1, 1.0
		for i, n := range next {
			if share := (float64(n) + 0.5) / float64(len(found[i])); share < least {
				kind, least = i, share
			}
		}
		if kind < 0 {
			return all
		}
		all = append(all, found[kind][next[kind]])
		next[kind]++
	}
}

// kindOf is the place in wanted for a win in so many plies.
func kindOf(plies int) int {
	for i, w := range wanted {
		if plies <= w.high {
			return i
		}
	}
	return len(wanted) - 1
}

// candidate looks at a Position of a random game, 4 to 16 plies before its end, and returns it if it is a Problem of a
// kind that is wanted.
func candidate(t *testing.T, s *Solver, v rules.Variant, game uint64, want func(plies int) bool) (p Problem, ok bool) {
	rng := seed.New(2024).Child("problem", game).Rand()
	g := rules.RandomGame(v, rules.RandomKind(game%3), rng)
	p.Pos = rules.New(v)
	for _, m := range g.Moves[:max(0, len(g.Moves)-4-rng.IntN(13))] {
		p.Pos.Play(m)
	}
	if p.Pos.Phase() == rules.PhasePlaceRing {
		return p, false
	}
	p.Outcome = rules.Wins(p.Pos.ToMove())
	r, err := s.Solve(t.Context(), p.Pos, Budget{Nodes: quickNodes, Plies: 11})
	if err != nil {
		t.Fatal(err)
	}
	if p.Plies = r.Plies; r.Outcome != p.Outcome || !want(r.Plies) {
		return p, false
	}
	p.Horizon = max(p.Plies+2, 7)
	r, err = s.Solve(t.Context(), p.Pos, Budget{Nodes: fullNodes, Plies: p.Horizon, Moves: true})
	if err != nil {
		t.Fatal(err)
	}
	p.Moves = r.best()
	return p, r.Nodes <= fullNodes && 3*len(p.Moves) <= len(r.Moves)
}

// best is the Moves that are known to lead to the Outcome, ascending.
func (r *Result) best() (moves []rules.Move) {
	for _, m := range r.Moves {
		if m.Outcome == r.Outcome && m.Outcome != rules.Unfinished {
			moves = append(moves, m.Move)
		}
	}
	return moves
}

// appendText appends the line of p as parseProblem reads it.
func (p *Problem) appendText(dst []byte) []byte {
	v := p.Pos.Variant()
	dst = p.Pos.AppendText(dst)
	dst = fmt.Appendf(dst, " %v %d %d ", p.Outcome, p.Plies, p.Horizon)
	for i, m := range p.Moves {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = v.AppendMove(dst, m)
	}
	return dst
}
