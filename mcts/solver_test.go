package mcts

import (
	"flag"
	"slices"
	"testing"

	"yinshzero/rules"
)

// minimax is the result of a Position under best play, by looking at everything; memo is shared between calls.
func minimax(pos rules.Position, memo map[rules.Position]rules.Outcome) rules.Outcome {
	if res, over := pos.Result(); over {
		return res.Outcome
	}
	if o, ok := memo[pos]; ok {
		return o
	}
	won := rules.Wins(pos.ToMove())
	best := rules.Wins(pos.ToMove().Other())
	var buf [rules.MaxMoves]rules.Move
	for _, m := range pos.AppendMoves(buf[:0]) {
		next := pos
		next.Play(m)
		if o := minimax(next, memo); o == won {
			best = won
			break
		} else if o == rules.Draw {
			best = o
		}
	}
	memo[pos] = best
	return best
}

// endings are Positions of v in which at most pool markers are off the board and someone has a choice. Random games
// mostly end with a Row: a game here prefers Moves that do not end it, so that the pool runs dry.
func endings(v rules.Variant, pool, n int, rng interface{ IntN(int) int }) []rules.Position {
	var found []rules.Position
	for len(found) < n {
		pos := rules.New(v)
		for pos.Phase() != rules.PhaseOver {
			moves := pos.AppendMoves(nil)
			if pos.Pool() <= pool && pos.Phase() == rules.PhaseMoveRing && len(moves) > 1 {
				found = append(found, pos)
			}
			quiet := slices.DeleteFunc(slices.Clone(moves), func(m rules.Move) bool {
				next := pos
				next.Play(m)
				return next.Phase() == rules.PhaseRemoveRow || next.Phase() == rules.PhaseOver
			})
			if len(quiet) > 0 {
				moves = quiet
			}
			pos.Play(moves[rng.IntN(len(moves))])
		}
	}
	return found[:n]
}

type ending struct {
	name string
	v    rules.Variant
	pool int
	n    int
}

// more makes the tests of endings longer: go test ./mcts -run 'Solver|Perfect' -endings 10
var more = flag.Int("endings", 1, "play so many times as many endings")

func someEndings(t *testing.T) []ending {
	all := []ending{{"mini", rules.Mini(), 3, 240 * *more}, {"blitz", rules.Blitz(), 2, 60 * *more}}
	if testing.Short() {
		all = []ending{{"mini", rules.Mini(), 2, 60}}
	}
	return all
}

// What the solver proves is so, of every node; no proven node is visited again; and in the end the root is proven.
func TestSolver(t *testing.T) {
	for _, e := range someEndings(t) {
		t.Run(e.name, func(t *testing.T) {
			forPolicies(t, func(t *testing.T, p Params) {
				memo := map[rules.Position]rules.Outcome{}
				results := map[rules.Outcome]int{}
				proven, nodes := 0, 0
				for _, pos := range endings(e.v, e.pool, e.n, newRand(1)) {
					want := minimax(pos, memo)
					results[want]++
					s := New(arbitrary, p)
					final := map[int32]int32{} // visits of nodes when they were proven
					var r Root
					for range 4 {
						r = search(t, s, pos, 100)
						for i := range s.nodes {
							n := &s.nodes[i]
							if n.outcome == rules.Unfinished {
								continue
							}
							if visits, ok := final[int32(i)]; ok && visits != n.visits {
								t.Fatal("a proven node is visited again")
							}
							final[int32(i)] = n.visits
							if o := minimax(n.pos, memo); o != n.outcome {
								t.Fatalf("%v is proven %v: want %v", &n.pos, n.outcome, o)
							}
						}
						if r.Proven {
							break
						}
					}
					proven += len(final)
					nodes += len(s.nodes)
					if !r.Proven {
						continue
					}
					if r.Value != want.Value() {
						t.Fatalf("%v has value %v: want %v", &pos, r.Value, want)
					}
					next := pos
					next.Play(r.Best)
					if o := minimax(next, memo); o != want {
						t.Fatalf("%v: best %v leads to %v: want %v", &pos, r.Best, o, want)
					}
					checkProof(t, s, pos, r)
				}
				t.Logf("%v, %d of %d nodes proven", results, proven, nodes)
				if len(results) < 3 && !testing.Short() {
					t.Errorf("results %v: not all kinds", results)
				}
			})
		})
	}
}

// checkProof fails unless the line of each proven Move takes it to the end in as many plies as it says, with its outcome,
// and the line of a proven root begins with the best.
func checkProof(t *testing.T, s *Searcher, pos rules.Position, r Root) {
	t.Helper()
	if line := s.AppendLine(nil); r.Proven && line[0] != r.Best {
		t.Fatalf("%v: best %v, line %v", &pos, r.Best, line)
	}
	for _, e := range r.Edges {
		if e.Proven == rules.Unfinished {
			continue
		}
		line := s.AppendLine([]rules.Move{e.Move}, e.Move)
		end := pos
		for _, m := range line {
			end.Play(m)
		}
		if res, _ := end.Result(); res.Outcome != e.Proven || len(line) != int(e.Plies) {
			t.Fatalf("%v: the line of %+v is %v and ends with %v", &pos, e, line, res)
		}
	}
}

// With an Evaluator that knows the result of every Position the search plays perfectly: if it looks at every Move once,
// with the solver or without; if it looks on and the solver keeps its own exploration from counting; and from two
// simulations up if the Evaluator knows the best Moves, too.
func TestPerfectEvaluator(t *testing.T) {
	for _, e := range someEndings(t) {
		t.Run(e.name, func(t *testing.T) {
			memo := map[rules.Position]rules.Outcome{}
			value := judge(func(q *Query) error {
				weights(q, func(rules.Move) float64 { return 1 })
				q.Value = minimax(q.Pos, memo).Value()
				return nil
			})
			full := judge(func(q *Query) error {
				o := minimax(q.Pos, memo)
				weights(q, func(m rules.Move) float64 {
					next := q.Pos
					next.Play(m)
					if minimax(next, memo) == o {
						return 1
					}
					return 0
				})
				q.Value = o.Value()
				return nil
			})
			forPolicies(t, func(t *testing.T, p Params) {
				play := func(eval Evaluator, considered int, solver bool, pos rules.Position, n int) {
					p.Considered, p.Solver = considered, solver
					r := search(t, New(eval, p), pos, n)
					next := pos
					next.Play(r.Best)
					if got, want := minimax(next, memo), minimax(pos, memo); got != want {
						t.Errorf("%v with %d simulations, solver %v: best %v leads to %v: want %v", &pos, n, solver, r.Best, got, want)
					}
				}
				for _, pos := range endings(e.v, e.pool, e.n, newRand(2)) {
					for _, solver := range []bool{true, false} {
						if p.Root == Gumbel {
							play(value, 130, solver, pos, len(pos.AppendMoves(nil)))
						}
						for _, n := range []int{2, 3, 10, 50, 200} {
							play(full, 16, solver, pos, n)
						}
					}
					if p.Batch == 1 { // looking at several at once goes on a little after the truth is known
						play(value, 130, true, pos, 300)
					}
				}
			})
		})
	}
}

// The solver finds the wins that are next: the Row and the ring.
func TestProvenWinIsChosen(t *testing.T) {
	forPolicies(t, func(t *testing.T, p Params) {
		for seed := range uint64(30) {
			rng := newRand(seed)
			for pos := rules.New(rules.Blitz()); pos.Phase() != rules.PhaseOver; pos.Play(rules.RandomMove(&pos, rules.Rows, rng)) {
				if pos.Phase() != rules.PhaseRemoveRing && pos.Phase() != rules.PhaseRemoveRow {
					continue
				}
				won := rules.Wins(pos.ToMove())
				legal := pos.AppendMoves(nil)
				r := search(t, New(arbitrary, p), pos, 20)
				if len(legal) > 1 && (!r.Proven || r.Value != won.Value()) {
					t.Fatalf("%v: %+v", &pos, r)
				}
			}
		}
	})
}
