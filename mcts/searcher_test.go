package mcts

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"yinshzero/rules"
)

// A judge is an Evaluator made of a function.
type judge func(*Query) error

func (j judge) Evaluate(_ context.Context, batch []*Query) error {
	for _, q := range batch {
		if err := j(q); err != nil {
			return err
		}
	}
	return nil
}

// mix is the finaliser of splitmix64: a hash of x.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// unit is a number in [0, 1) made of x.
func unit(x uint64) float64 { return float64(mix(x)>>11) / (1 << 53) }

// arbitrary judges every Position in its own way, with no two Moves alike.
var arbitrary = judge(func(q *Query) error {
	h := q.Pos.Hash()
	weights(q, func(m rules.Move) float64 { return math.Exp(3 * unit(h+uint64(m))) })
	q.Value = float32(1.8*unit(h) - 0.9)
	return nil
})

// weights sets the priors of q in proportion.
func weights(q *Query, weight func(rules.Move) float64) {
	sum := 0.0
	for _, m := range q.Legal {
		sum += weight(m)
	}
	for i, m := range q.Legal {
		q.Prior[i] = float32(weight(m) / sum)
	}
}

// newRand is the random source of tests.
func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// playRandom plays up to n random Moves.
func playRandom(pos rules.Position, n int, rng *rand.Rand) rules.Position {
	for range n {
		if pos.Phase() == rules.PhaseOver {
			break
		}
		pos.Play(rules.RandomMove(&pos, rules.Uniform, rng))
	}
	return pos
}

// with is DefaultParams with a change.
func with(change func(*Params)) Params {
	p := DefaultParams()
	change(&p)
	return p
}

var policies = []RootPolicy{Gumbel, PUCT}

// forPolicies runs a test for each root policy, with leaves judged one by one and several at a time.
func forPolicies(t *testing.T, f func(*testing.T, Params)) {
	for _, r := range policies {
		for _, batch := range []int{1, 5} {
			t.Run(fmt.Sprintf("%v/batch %d", r, batch), func(t *testing.T) {
				f(t, with(func(p *Params) { p.Root, p.Batch = r, batch }))
			})
		}
	}
}

// search is a search without noise that must succeed.
func search(t *testing.T, s *Searcher, pos rules.Position, n int) Root {
	t.Helper()
	r, err := s.Search(t.Context(), pos, Budget{Simulations: n}, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkTree(t, s)
	checkRoot(t, r, pos)
	return r
}

// checkRoot fails unless r is sound for pos.
func checkRoot(t *testing.T, r Root, pos rules.Position) {
	t.Helper()
	legal := pos.AppendMoves(nil)
	if len(r.Edges) != len(legal) {
		t.Fatalf("%d edges for %d legal moves", len(r.Edges), len(legal))
	}
	sum := 0.0
	for i, e := range r.Edges {
		if e.Move != legal[i] {
			t.Fatalf("edge %d is %v: want %v", i, e.Move, legal[i])
		}
		if !(e.Policy >= 0 && e.Policy <= 1) || !(e.Value >= -1 && e.Value <= 1) || !(e.Prior > 0 && e.Prior <= 1) {
			t.Fatalf("edge out of range: %+v", e)
		}
		sum += float64(e.Policy)
	}
	if math.Abs(sum-1) > 1e-5 {
		t.Fatalf("policy sums to %v", sum)
	}
	if !pos.IsLegal(r.Best) {
		t.Fatalf("best %v is not legal", r.Best)
	}
	if !(r.Value >= -1 && r.Value <= 1) {
		t.Fatalf("value %v", r.Value)
	}
}

// checkTree fails unless the tree keeps its laws.
func checkTree(t *testing.T, s *Searcher) {
	t.Helper()
	if len(s.leaves) != 0 {
		t.Fatalf("%d leaves wait", len(s.leaves))
	}
	edges := int32(0)
	for i := range s.nodes {
		n := &s.nodes[i]
		if n.waiting != 0 || n.visits == 0 {
			t.Fatalf("node %d: N = %d, waits for %d", i, n.visits, n.waiting)
		}
		if edges = nextEdges(edges, int(n.count)); n.first != edges {
			t.Fatalf("node %d: edges begin at %d: want %d", i, n.first, edges)
		}
		edges += int32(n.count)
		if i == 0 != (n.parent == none) || n.parent >= int32(i) {
			t.Fatalf("node %d: parent %d", i, n.parent)
		}
		if n.count == 0 {
			if res, over := n.pos.Result(); !over || n.q != float64(res.Outcome.Value()) || n.outcome != res.Outcome && s.params.Solver {
				t.Fatalf("node %d: no edges, Q %v, outcome %v", i, n.q, n.outcome)
			}
			continue
		}
		legal := n.pos.AppendMoves(nil)
		var moves []rules.Move
		visits := int32(1)
		best := rules.Outcome(0)
		sign := map[rules.Color]float32{rules.White: 1, rules.Black: -1}[n.pos.ToMove()]
		unproven, worst := false, float32(2)
		sum, weight := n.raw, 1.0
		for j, e := range s.edgesOf(n) {
			moves = append(moves, e.move)
			if (e.child != none) != (j < int(n.tried)) {
				t.Fatalf("node %d: edge %d of %d tried has child %d", i, j, n.tried, e.child)
			}
			if e.child == none {
				if next := s.edgesOf(n)[n.tried]; e.prior > next.prior || e.prior == next.prior && e.move < next.move {
					t.Fatalf("node %d: edge %v comes before the next, %v", i, e, next)
				}
				unproven = true
				continue
			}
			c := &s.nodes[e.child]
			pos := n.pos
			pos.Play(e.move)
			if c.parent != int32(i) || c.pos != pos {
				t.Fatalf("node %d: child %d has another parent or position", i, e.child)
			}
			visits += c.visits
			if c.outcome == rules.Unfinished {
				unproven = true
			} else if best == rules.Unfinished || sign*c.outcome.Value() > sign*best.Value() {
				best = c.outcome
			}
			worst = min(worst, sign*c.outcome.Value())
			if c.outcome == rules.Unfinished || sign*c.outcome.Value() >= 0 {
				sum += float64(c.visits) * c.q
				weight += float64(c.visits)
			}
		}
		slices.Sort(moves)
		if !slices.Equal(moves, legal) {
			t.Fatalf("node %d: edges %v: want %v", i, moves, legal)
		}
		if visits != n.visits {
			t.Fatalf("node %d: N = %d: want %d", i, n.visits, visits)
		}
		want := rules.Unfinished
		if best != rules.Unfinished && (sign*best.Value() == 1 || !unproven) {
			want = best
		}
		if n.outcome != want {
			t.Fatalf("node %d: outcome %v: want %v", i, n.outcome, want)
		}
		q := sum / weight
		switch {
		case want != rules.Unfinished:
			q = float64(want.Value())
		case best == rules.Draw && float64(sign)*q < 0:
			q = 0
		}
		if math.Abs(q-n.q) > 1e-12 {
			t.Fatalf("node %d: Q = %v: want %v", i, n.q, q)
		}
	}
	if s.edges.end != edges {
		t.Fatalf("%d edges: want %d", s.edges.end, edges)
	}
}

// Edges of a node lie in one block: those that do not fit begin the next.
func TestNextEdges(t *testing.T) {
	const b = blockEdges
	for _, test := range []struct {
		end  int32
		n    int
		want int32
	}{
		{0, 0, 0}, {0, b, 0}, {1, b, b}, {b - 5, 5, b - 5}, {b - 5, 6, b}, {b, 3, b}, {3*b - 1, 0, 3*b - 1}, {3*b - 1, 1, 3*b - 1}, {3*b - 1, 2, 3 * b},
	} {
		if got := nextEdges(test.end, test.n); got != test.want {
			t.Errorf("%d edges after %d begin at %d: want %d", test.n, test.end, got, test.want)
		}
	}
}

func TestTreeLaws(t *testing.T) {
	forPolicies(t, func(t *testing.T, p Params) {
		for _, solver := range []bool{true, false} {
			for _, v := range rules.Variants() {
				rng := newRand(1)
				p.Solver = solver
				s := New(arbitrary, p)
				for range 12 {
					pos := playRandom(rules.New(v), rng.IntN(v.MaxPlies()), rng)
					if pos.Phase() == rules.PhaseOver {
						continue
					}
					s.Reset()
					r := search(t, s, pos, 150)
					if !r.Proven && r.Simulations != 150 && len(r.Edges) > 1 {
						t.Errorf("%d simulations", r.Simulations)
					}
				}
			}
		}
	})
}

// A game is searched from end to end, on the carried tree and with noise.
func TestAdvance(t *testing.T) {
	forPolicies(t, func(t *testing.T, p Params) {
		for seed := range uint64(5) {
			rng := newRand(seed)
			s := New(arbitrary, p)
			pos := rules.New(rules.Mini())
			for pos.Phase() != rules.PhaseOver {
				r, err := s.Search(t.Context(), pos, Budget{Simulations: 60, Noise: p.Root == Gumbel}, rng)
				if err != nil {
					t.Fatal(err)
				}
				checkTree(t, s)
				checkRoot(t, r, pos)
				m := r.Best
				if rng.IntN(3) == 0 {
					m = rules.RandomMove(&pos, rules.Uniform, rng)
				}
				i := s.find(&s.nodes[0], m)
				child := s.edgesOf(&s.nodes[0])[i].child
				var want string
				if child != none {
					want = dump(s, child)
				}
				s.Advance(m)
				pos.Play(m)
				checkTree(t, s)
				if child == none {
					if len(s.nodes) != 0 || s.edges.end != 0 {
						t.Fatal("a tree of nothing")
					}
				} else if got := dump(s, 0); got != want {
					t.Fatalf("after %v:\n%s\nwant\n%s", m, got, want)
				} else if s.nodes[0].pos != pos {
					t.Fatal("the tree is of another position")
				}
			}
		}
	})
}

// dump is everything below the node at i, without indices.
func dump(s *Searcher, i int32) string {
	var b strings.Builder
	var walk func(i int32, depth int)
	walk = func(i int32, depth int) {
		n := &s.nodes[i]
		fmt.Fprintf(&b, "%*s%x N%d Q%v raw%v %v %d %v\n", depth, "", n.pos.Hash(), n.visits, n.q, n.raw, n.outcome, n.plies, n.spread)
		for _, e := range s.edgesOf(n) {
			fmt.Fprintf(&b, "%*s%v %v\n", depth, "", e.move, e.prior)
			if e.child != none {
				walk(e.child, depth+1)
			}
		}
	}
	walk(i, 0)
	return b.String()
}

// A Searcher goes on where it was, and begins anew elsewhere.
func TestSearchContinues(t *testing.T) {
	forPolicies(t, func(t *testing.T, p Params) {
		pos := playRandom(rules.New(rules.Standard()), 14, newRand(3))
		s := New(arbitrary, p)
		search(t, s, pos, 50)
		r := search(t, s, pos, 30)
		total := int32(0)
		for _, e := range r.Edges {
			total += e.Visits
		}
		if total != 80 || r.Simulations != 30 {
			t.Errorf("%d visits, %d simulations: want 80, 30", total, r.Simulations)
		}
		other := playRandom(rules.New(rules.Standard()), 14, newRand(4))
		got := search(t, s, other, 30)
		want := search(t, New(arbitrary, p), other, 30)
		if !reflect.DeepEqual(got, want) {
			t.Error("a search depends on the tree of another position")
		}
		s.Advance(rules.Pass)
		if len(s.nodes) != 0 {
			t.Error("an illegal Move has left a tree")
		}
		s.Advance(rules.Pass) // nothing to lose
	})
}

func TestSameSeed(t *testing.T) {
	pos := playRandom(rules.New(rules.Standard()), 16, newRand(5))
	run := func(seed uint64) Root {
		r, err := New(arbitrary, DefaultParams()).Search(t.Context(), pos, Budget{64, true}, newRand(seed))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if !reflect.DeepEqual(run(1), run(1)) {
		t.Error("one seed, two results")
	}
	if reflect.DeepEqual(run(1), run(2)) {
		t.Error("two seeds, one result")
	}
}

func TestNoiseOffLeavesRandAlone(t *testing.T) {
	forPolicies(t, func(t *testing.T, p Params) {
		rng := newRand(9)
		if _, err := New(arbitrary, p).Search(t.Context(), rules.New(rules.Mini()), Budget{Simulations: 50}, rng); err != nil {
			t.Fatal(err)
		}
		if rng.Uint64() != newRand(9).Uint64() {
			t.Error("rng was used")
		}
	})
}

func TestSearchErrors(t *testing.T) {
	over := playRandom(rules.New(rules.Mini()), 1000, newRand(1))
	start := rules.New(rules.Mini())
	for _, test := range []struct {
		name string
		root RootPolicy
		pos  rules.Position
		b    Budget
		want string
	}{
		{"over", Gumbel, over, Budget{Simulations: 1}, "the game is over"},
		{"negative", Gumbel, start, Budget{Simulations: -1}, "budget of -1 simulations: want at least 0"},
		{"noise", PUCT, start, Budget{1, true}, "noise with root policy puct: want gumbel"},
	} {
		s := New(Uniform{}, with(func(p *Params) { p.Root = test.root }))
		if _, err := s.Search(t.Context(), test.pos, test.b, newRand(1)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v: want %q", test.name, err, test.want)
		}
	}
}

// What an Evaluator must not answer becomes an error that names it, at the root and below, and leaves a sound tree.
func TestBadEvaluator(t *testing.T) {
	broken := errors.New("broken")
	nan := float32(math.NaN())
	for _, test := range []struct {
		name   string
		answer func(*Query) error
		want   string
	}{
		{"error", func(q *Query) error { return broken }, "mcts: evaluate position"},
		{"value NaN", func(q *Query) error { q.Value = nan; return nil }, "is NaN: want −1 to 1"},
		{"value high", func(q *Query) error { q.Value = 1.5; return nil }, "is 1.5: want −1 to 1"},
		{"value low", func(q *Query) error { q.Value = -1.5; return nil }, "is -1.5: want −1 to 1"},
		{"value infinite", func(q *Query) error { q.Value = float32(math.Inf(-1)); return nil }, "is -Inf: want −1 to 1"},
		{"prior NaN", func(q *Query) error { q.Prior[1] = nan; return nil }, "is NaN: want 0 to 1"},
		{"prior low", func(q *Query) error { q.Prior[1] = -0.5; return nil }, "is -0.5: want 0 to 1"},
		{"prior high", func(q *Query) error { q.Prior[1] = 2; return nil }, "is 2: want 0 to 1"},
		{"priors missing", func(q *Query) error { clear(q.Prior); return nil }, "add up to 0: want 1"},
		{"priors unscaled", func(q *Query) error { q.Prior[0] += 0.5; return nil }, "want 1"},
	} {
		forPolicies(t, func(t *testing.T, p Params) {
			for _, last := range []int{1, 2, 30} {
				calls := 0
				s := New(judge(func(q *Query) error {
					arbitrary(q)
					if calls++; calls == last {
						return test.answer(q)
					}
					return nil
				}), p)
				pos := playRandom(rules.New(rules.Standard()), 12, newRand(2))
				// Noise lets the root's Moves come in another order than their priors'.
				_, err := s.Search(t.Context(), pos, Budget{100, p.Root == Gumbel}, newRand(3))
				if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "/standard") {
					t.Fatalf("%s at call %d: error %v: want %q", test.name, last, err, test.want)
				}
				if test.name == "error" && !errors.Is(err, broken) {
					t.Error("the cause is lost")
				}
				checkTree(t, s)
				if n := len(s.nodes); n >= last || n < last-p.Batch {
					t.Fatalf("%s at call %d: %d nodes", test.name, last, len(s.nodes))
				}
				search(t, s, pos, 100)
			}
		})
	}
}

// A search may be stopped at any time, during an evaluation too, and gives what it has.
func TestStop(t *testing.T) {
	forPolicies(t, func(t *testing.T, p Params) {
		pos := playRandom(rules.New(rules.Standard()), 12, newRand(2))
		for last := 1; last <= 40; last++ {
			for _, cut := range []bool{false, true} {
				ctx, cancel := context.WithCancel(t.Context())
				calls := 0
				s := New(judge(func(q *Query) error {
					arbitrary(q)
					if calls++; calls == last {
						cancel()
						if cut {
							return ctx.Err()
						}
					}
					return nil
				}), p)
				r, err := s.Search(ctx, pos, Budget{Simulations: 100}, nil)
				cancel()
				want := last - 1
				if cut {
					want--
				}
				if want < 0 {
					if !errors.Is(err, context.Canceled) {
						t.Fatalf("stopped before the root was judged: error %v", err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if r.Simulations <= want-p.Batch || r.Simulations >= want+p.Batch {
					t.Fatalf("stopped at call %d: %d simulations: want %d", last, r.Simulations, want)
				}
				checkTree(t, s)
				checkRoot(t, r, pos)
				if n := s.Visits(); int(n) != 1+r.Simulations {
					t.Fatalf("stopped at call %d: %d visits, %d simulations", last, n, r.Simulations)
				}
			}
		}
	})
}

// With FreshRoot the Evaluator is asked about every root as such, carried or not, and its answer takes the place of the
// one that was given below the root; without, only about roots that are new.
func TestFreshRoot(t *testing.T) {
	forPolicies(t, func(t *testing.T, p Params) {
		for _, fresh := range []bool{false, true} {
			p.FreshRoot = fresh
			var roots []rules.Position
			s := New(judge(func(q *Query) error {
				arbitrary(q)
				if q.Root {
					roots = append(roots, q.Pos)
					weights(q, func(m rules.Move) float64 { return math.Exp(3 * unit(uint64(m))) })
					q.Value = 0.25
				}
				return nil
			}), p)
			pos := playRandom(rules.New(rules.Standard()), 12, newRand(2))
			var searched []rules.Position
			for range 6 {
				search(t, s, pos, 0) // a search in pieces asks once
				r := search(t, s, pos, 60)
				searched = append(searched, pos)
				if fresh || len(searched) == 1 {
					if r.Raw != 0.25 {
						t.Errorf("root %d: value %v", len(searched), r.Raw)
					}
					q := &Query{Legal: pos.AppendMoves(nil)}
					q.Prior = make([]float32, len(q.Legal))
					weights(q, func(m rules.Move) float64 { return math.Exp(3 * unit(uint64(m))) })
					for i, e := range r.Edges {
						if e.Prior != q.Prior[i] {
							t.Fatalf("root %d: prior of %v is %v: want %v", len(searched), e.Move, e.Prior, q.Prior[i])
						}
					}
				}
				pos.Play(r.Best)
				s.Advance(r.Best)
			}
			if !fresh {
				searched = searched[:1]
			}
			if !slices.Equal(roots, searched) {
				t.Errorf("fresh %v: %d roots asked about, want %d", fresh, len(roots), len(searched))
			}
		}
	})
}

// A search that is stopped at once gives what the tree has, with FreshRoot too.
func TestStopFreshRoot(t *testing.T) {
	forPolicies(t, func(t *testing.T, p Params) {
		p.FreshRoot = true
		ctx, cancel := context.WithCancel(t.Context())
		s := New(judge(func(q *Query) error {
			arbitrary(q)
			return ctx.Err()
		}), p)
		pos := playRandom(rules.New(rules.Standard()), 12, newRand(2))
		r, err := s.Search(ctx, pos, Budget{Simulations: 100}, nil)
		if err != nil {
			t.Fatal(err)
		}
		pos.Play(r.Best)
		s.Advance(r.Best)
		cancel()
		if r, err = s.Search(ctx, pos, Budget{Simulations: 100}, nil); err != nil || r.Simulations != 0 {
			t.Fatalf("%d simulations, error %v", r.Simulations, err)
		}
		checkTree(t, s)
		checkRoot(t, r, pos)
		if visits := s.Visits(r.Best); visits == 0 {
			t.Error("the Move has no visits: the tree was lost")
		}
	})
}

func TestNoBudget(t *testing.T) {
	forPolicies(t, func(t *testing.T, p Params) {
		pos := playRandom(rules.New(rules.Standard()), 12, newRand(2))
		r := search(t, New(arbitrary, p), pos, 0)
		best := 0
		for i, e := range r.Edges {
			if math.Abs(float64(e.Policy-e.Prior)) > 1e-6 || e.Visits != 0 || e.Value != r.Raw {
				t.Errorf("edge %+v", e)
			}
			if e.Prior > r.Edges[best].Prior {
				best = i
			}
		}
		if r.Best != r.Edges[best].Move || math.Abs(float64(r.Value-r.Raw)) > 1e-6 {
			t.Errorf("best %v, value %v: want %v, %v", r.Best, r.Value, r.Edges[best].Move, r.Raw)
		}
	})
}

// A forced Move costs one evaluation, or none on a carried tree.
func TestOneLegalMove(t *testing.T) {
	forPolicies(t, func(t *testing.T, p Params) {
		calls, found := 0, 0
		s := New(judge(func(q *Query) error { calls++; return arbitrary(q) }), p)
		for seed := range uint64(40) {
			rng := newRand(seed)
			for pos := rules.New(rules.Standard()); pos.Phase() != rules.PhaseOver; pos.Play(rules.RandomMove(&pos, rules.Rows, rng)) {
				legal := pos.AppendMoves(nil)
				if len(legal) > 1 {
					continue
				}
				found++
				for _, want := range []int{1, 0} {
					calls = 0
					r := search(t, s, pos, 100)
					if r.Simulations != 0 || r.Best != legal[0] || r.Edges[0].Policy != 1 || r.Value != r.Raw || calls != want {
						t.Fatalf("%+v after %d evaluations", r, calls)
					}
				}
			}
		}
		if found < 10 {
			t.Fatalf("only %d positions", found)
		}
	})
}

// Many Moves, priors of 0, next to 0 and −0, and a value of −0 or ±1.
func TestExtremes(t *testing.T) {
	many := rules.New(rules.Standard())
	for seed := range uint64(300) {
		pos := playRandom(rules.New(rules.Standard()), 10, newRand(seed))
		if len(pos.AppendMoves(nil)) > len(many.AppendMoves(nil)) {
			many = pos
		}
	}
	if n := len(many.AppendMoves(nil)); n < 90 {
		t.Fatalf("at most %d moves", n)
	}
	for _, pos := range []rules.Position{rules.New(rules.Standard()), many} {
		for name, prior := range map[string]float32{
			"zero": 0, "minus zero": float32(math.Copysign(0, -1)), "least": math.SmallestNonzeroFloat32, "tiny": 1e-20,
		} {
			for _, value := range []float64{1, -1, math.Copysign(0, -1)} {
				forPolicies(t, func(t *testing.T, p Params) {
					p.Considered = 130
					s := New(judge(func(q *Query) error {
						for i := range q.Prior {
							q.Prior[i] = prior
						}
						q.Prior[len(q.Prior)/2] = 1
						q.Value = float32(value)
						return nil
					}), p)
					if r := search(t, s, pos, 1000); r.Simulations != 1000 {
						t.Errorf("%s: %d simulations", name, r.Simulations)
					}
				})
			}
		}
	}
}

func TestFullTree(t *testing.T) {
	forPolicies(t, func(t *testing.T, p Params) {
		p.MaxNodes = 20
		s := New(arbitrary, p)
		r := search(t, s, rules.New(rules.Standard()), 100)
		if r.Simulations != 19 || len(s.nodes) != 20 {
			t.Errorf("%d simulations, %d nodes", r.Simulations, len(s.nodes))
		}
		if r = search(t, s, rules.New(rules.Standard()), 100); r.Simulations != 0 {
			t.Errorf("%d simulations in a full tree", r.Simulations)
		}
	})
}

// Without the solver a search can go to the ends of few games for ever: it is over before N is beyond its type.
func TestMostVisits(t *testing.T) {
	forPolicies(t, func(t *testing.T, p Params) {
		p.Solver = false
		s := New(arbitrary, p)
		pos := playRandom(rules.New(rules.Standard()), 12, newRand(2))
		search(t, s, pos, 20)
		s.nodes[0].visits = maxVisits - 7
		for _, want := range []int{7, 0} {
			r, err := s.Search(t.Context(), pos, Budget{Simulations: 100}, nil)
			if err != nil || r.Simulations < want || r.Simulations >= want+p.Batch {
				t.Errorf("%d simulations, error %v: want %d", r.Simulations, err, want)
			}
			checkRoot(t, r, pos)
		}
	})
}

// A simulation takes less than 1000 bytes, so that a tree of a million fits in a gigabyte: counted on the Positions with the
// most Moves, ring moves on a board that fills up.
func TestTreeMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("searches for a second")
	}
	forPolicies(t, func(t *testing.T, p Params) {
		const n = 100_000
		s := New(arbitrary, p)
		search(t, s, playRandom(rules.New(rules.Standard()), 12, newRand(1)), n)
		bytes := len(s.edges.blocks)*blockEdges*int(unsafe.Sizeof(edge{})) + cap(s.nodes)*int(unsafe.Sizeof(node{}))
		if per := float64(bytes) / n; per >= 1000 {
			t.Errorf("%.0f bytes a simulation", per)
		} else {
			t.Logf("%.0f bytes a simulation", per)
		}
	})
}

func TestSearchAllocatesNothing(t *testing.T) {
	forPolicies(t, func(t *testing.T, p Params) {
		pos := playRandom(rules.New(rules.Standard()), 12, newRand(2))
		s := New(Uniform{}, p)
		rng := newRand(1)
		b := Budget{Simulations: 100, Noise: p.Root == Gumbel}
		var next rules.Position
		run := func() {
			s.Reset()
			r, err := s.Search(context.Background(), pos, b, rng)
			if err != nil {
				t.Fatal(err)
			}
			next = pos
			next.Play(r.Best)
			s.Advance(r.Best)
			if _, err := s.Search(context.Background(), next, b, rng); err != nil {
				t.Fatal(err)
			}
		}
		for range 5 {
			run()
		}
		if n := testing.AllocsPerRun(20, run); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func TestAppendLine(t *testing.T) {
	forPolicies(t, func(t *testing.T, p Params) {
		s := New(arbitrary, p)
		if line := s.AppendLine(nil); len(line) != 0 {
			t.Errorf("line %v of no tree", line)
		}
		root := playRandom(rules.New(rules.Standard()), 12, newRand(2))
		r := search(t, s, root, 300)
		main := s.AppendLine(nil)
		if len(main) < 2 {
			t.Errorf("line %v", main)
		}
		if !slices.Equal(s.AppendLine(nil, main[0]), main[1:]) || !slices.Equal(s.AppendLine(nil, main[:2]...), main[2:]) {
			t.Errorf("the line %v goes on otherwise", main)
		}
		if line := s.AppendLine(nil, rules.Pass); len(line) != 0 {
			t.Errorf("line %v after an illegal move", line)
		}
		lines := [][]rules.Move{main}
		for _, e := range r.Edges {
			line := append([]rules.Move{e.Move}, s.AppendLine(nil, e.Move)...)
			if len(line) > 1 && e.Visits < 2 {
				t.Errorf("line %v of a Move with %d visits", line, e.Visits)
			}
			lines = append(lines, line)
		}
		for _, line := range lines {
			pos := root
			for _, m := range line {
				if !pos.IsLegal(m) {
					t.Fatalf("%v in line %v is not legal", m, line)
				}
				pos.Play(m)
			}
		}
	})
}

// What a Root says beside the values: how far off the end is where it is proven, and how sure the value is where not.
func TestRootStatistics(t *testing.T) {
	forPolicies(t, func(t *testing.T, p Params) {
		rng := newRand(4)
		for range 40 {
			pos := playRandom(rules.New(rules.Blitz()), rng.IntN(90), rng)
			if pos.Phase() == rules.PhaseOver {
				continue
			}
			s := New(arbitrary, p)
			for _, e := range search(t, s, pos, 100).Edges {
				switch c := s.edgesOf(&s.nodes[0])[s.find(&s.nodes[0], e.Move)].child; {
				case (e.Proven != rules.Unfinished) != (e.Plies > 0):
					t.Fatalf("proven %v, %d plies", e.Proven, e.Plies)
				case e.Plies > 0:
					end := pos
					end.Play(e.Move)
					if _, over := end.Result(); over != (e.Plies == 1) || e.Error != 0 {
						t.Fatalf("%+v", e)
					}
				case c == none:
					if e.Error != 0 {
						t.Fatalf("%+v", e)
					}
				default:
					n := &s.nodes[c]
					if want := math.Sqrt(n.spread+0.25) / float64(n.visits); math.Abs(float64(e.Error)-want) > 1e-6 {
						t.Fatalf("%+v: want error %v", e, want)
					}
				}
			}
		}
	})
}

// relative judges a Position as the player to move sees it, whatever his colour and however the board is turned.
var relative = judge(func(q *Query) error {
	me := q.Pos.ToMove()
	weights(q, func(m rules.Move) float64 {
		pos := q.Pos
		pos.Play(m)
		return math.Exp(3 * unit(shape(&pos, me)))
	})
	q.Value = float32(1.8*unit(shape(&q.Pos, me)) - 0.9)
	if me == rules.Black {
		q.Value = -q.Value
	}
	return nil
})

// shape is a hash of the pieces seen by a side, the same for all twelve images of the board.
func shape(pos *rules.Position, side rules.Color) uint64 {
	var hashes [rules.NumSymmetries]uint64
	for pt := range rules.Point(rules.NumPoints) {
		piece := pos.At(pt)
		if piece == rules.Empty {
			continue
		}
		if side == rules.Black {
			piece = [...]rules.Piece{rules.Empty, rules.BlackRing, rules.WhiteRing, rules.BlackMarker, rules.WhiteMarker}[piece]
		}
		for s := range hashes {
			hashes[s] += pieceKeys[piece][images[s][pt]]
		}
	}
	return slices.Min(hashes[:])
}

// images are the Points' under each symmetry, pieceKeys are hashes of pieces on Points.
var images, pieceKeys = func() (images [rules.NumSymmetries][rules.NumPoints]rules.Point, keys [5][rules.NumPoints]uint64) {
	for s := range images {
		for pt := range images[s] {
			images[s][pt] = rules.Symmetry(s).Point(rules.Point(pt))
		}
	}
	for piece := range keys {
		for pt := range keys[piece] {
			keys[piece][pt] = mix(uint64(1 + 100*piece + pt))
		}
	}
	return images, keys
}()

// swapped is pos with the colours exchanged.
func swapped(t *testing.T, pos rules.Position) rules.Position {
	t.Helper()
	f := strings.Split(pos.String(), "/")
	colours := strings.NewReplacer("W", "B", "B", "W", "w", "b", "b", "w")
	for _, i := range []int{0, 1, 6} {
		f[i] = colours.Replace(f[i])
	}
	for _, i := range []int{4, 5} {
		white, black, _ := strings.Cut(f[i], "-")
		f[i] = black + "-" + white
	}
	p, err := rules.ParsePosition(strings.Join(f, "/"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A turned board, by any symmetry, or exchanged colours change nothing that they should not: early, and where the solver
// proves things. Of Moves that are as good as each other the lower one is best, which a turn may change.
func TestSymmetry(t *testing.T) {
	simulations := 80
	if testing.Short() {
		simulations = 12
	}
	var starts []rules.Position
	for seed, v := range []rules.Variant{rules.Mini(), rules.Blitz(), rules.Standard()} {
		starts = append(starts, playRandom(rules.New(v), 2*int(v.Rings)+7, newRand(uint64(seed))))
	}
	starts = append(starts, endings(rules.Mini(), 2, 3, newRand(5))...)
	forPolicies(t, func(t *testing.T, p Params) {
		proven := 0
		for _, pos := range starts {
			s := New(relative, p)
			want := search(t, s, pos, simulations)
			want.Edges = slices.Clone(want.Edges)
			edge := func(r Root, m rules.Move) RootEdge {
				return r.Edges[slices.IndexFunc(r.Edges, func(e RootEdge) bool { return e.Move == m })]
			}
			compare := func(name string, image rules.Position, move func(rules.Move) rules.Move, color func(rules.Outcome) rules.Outcome, sign float32) {
				s.Reset()
				got := search(t, s, image, simulations)
				if got.Value != sign*want.Value || got.Raw != sign*want.Raw || got.Proven != want.Proven || got.Simulations != want.Simulations {
					t.Fatalf("%v, %s: %+v is the image of %+v", &pos, name, got, want)
				}
				same := func(g, e RootEdge) bool {
					return g.Visits == e.Visits && g.Value == sign*e.Value && math.Abs(float64(g.Policy-e.Policy)) <= 1e-6 &&
						g.Error == e.Error && g.Proven == color(e.Proven) && g.Plies == e.Plies
				}
				for _, e := range want.Edges {
					if e.Proven != rules.Unfinished {
						proven++
					}
					if g := edge(got, move(e.Move)); !same(g, e) {
						t.Fatalf("%v, %s: edge %+v is the image of %+v", &pos, name, g, e)
					}
				}
				g, e := edge(got, got.Best), edge(want, want.Best)
				if want.Proven && (g.Proven != color(e.Proven) || g.Plies != e.Plies) || !want.Proven && g.Move != move(e.Move) {
					t.Errorf("%v, %s: best %+v is the image of %+v", &pos, name, g, e)
				}
			}
			for sym := range rules.Symmetry(rules.NumSymmetries) {
				compare(fmt.Sprintf("symmetry %d", sym), sym.Position(pos),
					func(m rules.Move) rules.Move { return sym.Move(m, pos.RowLength()) },
					func(o rules.Outcome) rules.Outcome { return o }, 1)
			}
			compare("colours", swapped(t, pos), func(m rules.Move) rules.Move { return m },
				func(o rules.Outcome) rules.Outcome {
					if o == rules.WhiteWins || o == rules.BlackWins {
						o ^= rules.WhiteWins ^ rules.BlackWins
					}
					return o
				}, -1)
		}
		if proven == 0 {
			t.Error("nothing was proven")
		}
	})
}
