package mcts

import (
	"fmt"
	"math"
	"testing"

	"yinshzero/rules"
)

// handMade is a Searcher whose root has three Moves with priors 0.5, 0.3, 0.2; the first has 3 visits and the second 1,
// with the given Q for White; the third has none. The Evaluator's value of the root is 0.1 for White.
func handMade(p Params, pos rules.Position, q1, q2 float64) *Searcher {
	s := New(Uniform{}, p)
	m := pos.AppendMoves(nil)
	copy(s.edges.at(s.edges.add(3), 3), []edge{{m[0], 0.5, 1}, {m[1], 0.3, 2}, {m[2], 0.2, none}})
	s.nodes = []node{
		{pos: pos, raw: 0.1, parent: none, visits: 5, count: 3, tried: 2},
		{pos: pos, q: q1, first: 3, visits: 3, spread: 0.02},
		{pos: pos, q: q2, first: 3, visits: 1},
	}
	s.update(&s.nodes[0])
	s.drawCandidates(false, nil)
	return s
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 5e-6 {
		t.Errorf("%s is %.6f: want %.6f", what, got, want)
	}
}

// White is to move at white, Black at black.
func toMove() (white, black rules.Position) {
	white = rules.New(rules.Mini())
	black = white
	black.Play(black.AppendMoves(nil)[0])
	return white, black
}

func TestGumbelByHand(t *testing.T) {
	p := with(func(p *Params) { p.CVisit, p.CScale = 1, 0.5 })
	white, black := toMove()

	// v_mix = (0.1 + 4/0.8·(0.5·0.2 + 0.3·(−0.4))) / 5 = 0; σ(q) = (1 + 3)·0.5·q: 0.4, −0.8, 0.
	// π′ ∝ 0.5·e^0.4, 0.3·e^−0.8, 0.2·e^0 = 0.745912, 0.134799, 0.2: 0.690205, 0.124732, 0.185063.
	// Less N/(1+4): 0.0902, −0.0753, 0.1851. The Move without visits is next.
	s := handMade(p, white, 0.2, -0.4)
	c := s.complete(&s.nodes[0])
	near(t, "v_mix", c.mixed, 0)
	near(t, "σ(0.2)", c.sigma(0.2), 0.4)
	if i := s.selectGumbel(&s.nodes[0]); i != 2 {
		t.Errorf("selects %d: want 2", i)
	}
	r := s.result(0)
	near(t, "π′(1)", float64(r.Edges[0].Policy), 0.690205)
	near(t, "π′(2)", float64(r.Edges[1].Policy), 0.124732)
	near(t, "π′(3)", float64(r.Edges[2].Policy), 0.185063)
	near(t, "Σ π′·Q", float64(r.Value), 0.690205*0.2-0.124732*0.4)
	near(t, "Q(3)", float64(r.Edges[2].Value), 0)

	// The same values are Black's loss. σ: −0.4, 0.8, 0; π′ ∝ 0.335160, 0.667662, 0.2.
	// π′ = 0.278645, 0.555080, 0.166276 less 0.6, 0.2, 0: the second Move.
	s = handMade(p, black, 0.2, -0.4)
	if i := s.selectGumbel(&s.nodes[0]); i != 1 {
		t.Errorf("Black selects %d: want 1", i)
	}
	r = s.result(0)
	near(t, "Black's π′(1)", float64(r.Edges[0].Policy), 0.278645)
	near(t, "Black's π′(2)", float64(r.Edges[1].Policy), 0.555080)
	near(t, "Black's π′(3)", float64(r.Edges[2].Policy), 0.166276)

	// The first Move proven lost drops out: v_mix = (0.1 + 1/0.3·0.3·(−0.4))/2 = −0.15, σ scale (1 + 1)·0.5 = 1;
	// π′ ∝ 0, 0.3·e^−0.4, 0.2·e^−0.15 = 0.201096, 0.172142: 0.538786, 0.461214.
	// Less 1/2 and 0: the third Move.
	s = handMade(p, white, -1, -0.4)
	s.nodes[1].outcome = rules.BlackWins
	s.update(&s.nodes[0])
	near(t, "Q without the lost Move", s.nodes[0].q, (0.1-0.4)/2)
	if i := s.selectGumbel(&s.nodes[0]); i != 2 {
		t.Errorf("after a loss selects %d: want 2", i)
	}
	r = s.result(0)
	near(t, "π′(1) lost", float64(r.Edges[0].Policy), 0)
	near(t, "π′(2)", float64(r.Edges[1].Policy), 0.538788)
	near(t, "π′(3)", float64(r.Edges[2].Policy), 0.461212)

	// The first Move proven won is all there is.
	s = handMade(p, white, 1, -0.4)
	s.nodes[1].outcome = rules.WhiteWins
	s.update(&s.nodes[0])
	r = s.result(0)
	if r.Best != r.Edges[0].Move || r.Value != 1 || !r.Proven || r.Edges[0].Policy != 1 {
		t.Errorf("a proven win gives %+v", r)
	}

	// The second Move proven drawn is not selected, but makes the root at least a draw.
	s = handMade(p, white, -0.9, 0)
	s.nodes[2].outcome = rules.Draw
	s.update(&s.nodes[0])
	near(t, "Q with a draw in hand", s.nodes[0].q, 0)
	if i := s.selectGumbel(&s.nodes[0]); i == 1 {
		t.Error("a proven Move is selected")
	}
}

// Of the Moves that this search visited most, and those that draw, the one with the greatest logit + σ(Q) is chosen.
func TestChooseGumbel(t *testing.T) {
	white, _ := toMove()
	m := white.AppendMoves(nil)
	for _, test := range []struct {
		name           string
		q1, q2         float64
		first, second  rules.Outcome
		carry1, carry2 int32 // of 3 and 1 visits
		want           rules.Move
	}{
		{"more visits", 0.1, 0.9, 0, 0, 0, 0, m[0]},
		{"carried visits", 0.1, 0.9, 0, 0, 3, 0, m[1]},
		{"as many, by Q", 0.1, 0.9, 0, 0, 2, 0, m[1]},
		{"as many, by logit", 0.1, 0.1, 0, 0, 2, 0, m[0]},
		{"lost", -1, -0.9, rules.BlackWins, 0, 0, 0, m[1]},
		{"lost, as many", -1, -0.9, rules.BlackWins, 0, 2, 0, m[1]},
		{"a draw in hand", -0.9, 0, 0, rules.Draw, 0, 0, m[1]},
		{"a draw, but better", 0.5, 0, 0, rules.Draw, 0, 0, m[0]},
		{"lost, or not looked at", -1, -1, rules.BlackWins, rules.BlackWins, 0, 0, m[2]},
		{"no new visits", 0.1, 0.9, 0, 0, 3, 1, m[1]},
	} {
		// log 0.5, log 0.3: 0.51 apart; σ(q) = (0 + 3)·0.5·q, or (0 + 1)·0.5·q if the first is lost.
		s := handMade(with(func(p *Params) { p.CVisit, p.CScale = 0, 0.5 }), white, test.q1, test.q2)
		s.nodes[1].outcome, s.nodes[2].outcome = test.first, test.second
		s.update(&s.nodes[0])
		s.candidates[0].carried, s.candidates[1].carried = test.carry1, test.carry2
		if got := s.result(0).Best; got != test.want {
			t.Errorf("%s: %v: want %v", test.name, got, test.want)
		}
	}
}

// With a simulation for each Move and all considered each Move gets one, those after a Move that is proven on the way too.
func TestEveryMoveOnce(t *testing.T) {
	for _, batch := range []int{1, 5} {
		all, drawn := 0, 0
		for _, pos := range endings(rules.Mini(), 1, 60, newRand(3)) {
			s := New(arbitrary, with(func(p *Params) { p.Considered, p.Batch = 130, batch }))
			r := search(t, s, pos, len(pos.AppendMoves(nil)))
			if r.Simulations < len(r.Edges) {
				continue // the root is proven
			}
			all++
			for _, e := range r.Edges {
				if e.Visits != 1 {
					t.Fatalf("%v: %+v of %d Moves", &pos, e, len(r.Edges))
				}
				if e.Proven == rules.Draw {
					drawn++
				}
			}
		}
		if all < 10 || drawn < 10 {
			t.Errorf("%d searches to the end with %d draws: too few to tell", all, drawn)
		}
	}
}

// Every budget is spent to the last simulation, the considered Moves are min(m, n), each phase halves them, and the
// visits of those that survive a phase are equal but for the cut at the end.
func TestHalving(t *testing.T) {
	for m := 1; m <= 130; m++ {
		for n := 1; n <= 200; n++ {
			visits := make([]int, min(m, n))
			spent, widths := 0, []int{}
			for h := newHalving(n, len(visits)); spent < n; h = h.next() {
				widths = append(widths, h.width)
				for range h.passes() {
					for k := 0; k < h.width && spent < n; k++ {
						visits[k]++
						spent++
					}
				}
			}
			for i, w := range widths[1:] {
				if want := max(min(2, widths[i]), widths[i]/2); w != want {
					t.Fatalf("m %d, n %d: widths %v", m, n, widths)
				}
			}
			sum := 0
			for k, v := range visits {
				sum += v
				if v == 0 || k > 0 && v > visits[k-1] {
					t.Fatalf("m %d, n %d: visits %v", m, n, visits)
				}
			}
			if sum != n || len(visits) > 1 && visits[0]-visits[1] > 1 {
				t.Fatalf("m %d, n %d: visits %v", m, n, visits)
			}
		}
	}
	// By hand: 16 simulations of 4 are two phases of 8: 2 each, then 4 more for two. 200 of 16 are four phases of
	// about 50: 3, 6, 12 and 25 passes, and what rounding left over is shared by the last two.
	for _, test := range []struct {
		n, m int
		want string
	}{
		{16, 4, "[4×2 2×4]"},
		{200, 16, "[16×3 8×6 4×12 2×25 2×25]"},
		{2, 16, "[2×1]"},
		{3, 16, "[3×1]"},
		{64, 1, "[1×64]"},
	} {
		var got []string
		spent := 0
		for h := newHalving(test.n, min(test.m, test.n)); spent < test.n; h = h.next() {
			got = append(got, fmt.Sprintf("%d×%d", h.width, h.passes()))
			spent += h.width * h.passes()
		}
		if fmt.Sprint(got) != test.want {
			t.Errorf("%d simulations of %d: %v: want %v", test.n, test.m, got, test.want)
		}
	}
}

// All visits of a search are at the Moves that it considers, for every budget from 2 up.
func TestBudgetIsSpent(t *testing.T) {
	pos := playRandom(rules.New(rules.Standard()), 12, newRand(7))
	s := New(arbitrary, DefaultParams())
	for n := 2; n <= 200; n++ {
		s.Reset()
		r := search(t, s, pos, n)
		sum, visited := 0, 0
		for _, e := range r.Edges {
			sum += int(e.Visits)
			if e.Visits > 0 {
				visited++
			}
		}
		if sum != n || r.Simulations != n || visited != min(n, 16) {
			t.Errorf("budget %d: %d simulations, %d visits at %d moves", n, r.Simulations, sum, visited)
		}
	}
}

// Without simulations, the Move is a draw from the priors; with k of k considered, the first k are drawn without
// replacement (Gumbel-top-k): checked for the pairs of a Position with few Moves.
func TestGumbelTopM(t *testing.T) {
	// A RemoveRing decision has three Moves.
	rng := newRand(11)
	var pos rules.Position
	for pos = rules.New(rules.Blitz()); pos.Phase() != rules.PhaseRemoveRing; {
		if pos.Phase() == rules.PhaseOver {
			pos = rules.New(rules.Blitz())
		}
		pos.Play(rules.RandomMove(&pos, rules.Rows, rng))
	}
	legal := pos.AppendMoves(nil)
	prior := []float64{0.4, 0.3, 0.15, 0.1, 0.05}
	if len(legal) != len(prior) {
		t.Fatalf("%d moves", len(legal))
	}
	s := New(judge(func(q *Query) error {
		for i := range q.Prior {
			q.Prior[i] = float32(prior[i])
		}
		return nil
	}), DefaultParams())
	const n = 40000
	first, pairs := map[int]float64{}, map[[2]int]float64{}
	for range n {
		s.Reset()
		r, err := s.Search(t.Context(), pos, Budget{0, true}, rng)
		if err != nil {
			t.Fatal(err)
		}
		index := func(m rules.Move) int {
			for i := range legal {
				if legal[i] == m {
					return i
				}
			}
			return -1
		}
		if s.candidates[0].move != r.Best {
			t.Fatalf("best is %v: want %v", r.Best, s.candidates[0].move)
		}
		first[index(r.Best)]++
		pairs[[2]int{index(s.candidates[0].move), index(s.candidates[1].move)}]++
	}
	within := func(what any, got, p float64) {
		if sd := math.Sqrt(p * (1 - p) / n); math.Abs(got/n-p) > 4.5*sd {
			t.Errorf("%v has share %v: want %v", what, got/n, p)
		}
	}
	for i, p := range prior {
		within(i, first[i], p)
		for j, q := range prior {
			if i != j {
				within([2]int{i, j}, pairs[[2]int{i, j}], p*q/(1-p))
			}
		}
	}
}
