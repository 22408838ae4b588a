package mcts

import (
	"fmt"
	"testing"

	"yinshzero/rules"
)

func TestPUCTByHand(t *testing.T) {
	white, black := toMove()
	p := with(func(p *Params) { p.Root, p.CPuct, p.CPuctBase, p.FPU = PUCT, 1.5, 1e9, 0.25 })

	// ΣN = 4, √ΣN = 2, c = 1.5: U = 3·P/(1+N) = 0.375, 0.45, 0.6. Q = 0.2, −0.4 and, for the Move without visits, the
	// node's (0.1 + 3·0.2 − 0.4)/5 = 0.06 less 0.25·√0.8 = 0.223607. Sums: 0.575, 0.05, 0.436: the first Move.
	s := handMade(p, white, 0.2, -0.4)
	near(t, "Q", s.nodes[0].q, 0.06)
	if i := s.selectPUCT(&s.nodes[0]); i != 0 {
		t.Errorf("selects %d: want 0", i)
	}
	// For Black, Q = −0.2, 0.4, −0.06 − 0.2236: 0.175, 0.85, 0.316: the second.
	s = handMade(p, black, 0.2, -0.4)
	if i := s.selectPUCT(&s.nodes[0]); i != 1 {
		t.Errorf("Black selects %d: want 1", i)
	}
	// Without FPU and with worse Q, the Move without visits: Q = (0.1 − 0.6 − 0.4)/5 = −0.18;
	// −0.2 + 0.375, −0.4 + 0.45, −0.18 + 0.6.
	p.FPU = 0
	s = handMade(p, white, -0.2, -0.4)
	if i := s.selectPUCT(&s.nodes[0]); i != 2 {
		t.Errorf("without FPU selects %d: want 2", i)
	}
	// c grows by ln 2 in CPuctBase visits: with base 5, c = 1.5 + ln(10/5) = 2.193, U = 0.548, 0.658, 0.877.
	// Q = 0.2, −0.4, 0.06: 0.748, 0.258, 0.937: the third; with a base of 1e9 it was the first but for FPU: 0.575, 0.66.
	p.CPuctBase, p.FPU = 5, 0.2
	s = handMade(p, white, 0.2, -0.4) // FPU: 0.06 − 0.179 + 0.877 = 0.758
	if i := s.selectPUCT(&s.nodes[0]); i != 2 {
		t.Errorf("with a small base selects %d: want 2", i)
	}
	p.CPuctBase = 1e9 // 0.06 − 0.179 + 0.6 = 0.481
	s = handMade(p, white, 0.2, -0.4)
	if i := s.selectPUCT(&s.nodes[0]); i != 0 {
		t.Errorf("with a large base selects %d: want 0", i)
	}
	// A proven Move is left alone.
	s.nodes[1].outcome, s.nodes[1].q = rules.Draw, 0
	s.update(&s.nodes[0])
	if i := s.selectPUCT(&s.nodes[0]); i != 2 {
		t.Errorf("with a proven draw selects %d: want 2", i)
	}
}

// A turn of several Moves, by hand: White gives Black a Row, who takes it, takes a ring and makes his own ring move. Values
// go up as they are through five plies of which Black has three in a row, and at each Black's Moves are the worst for White.
func TestTurnByHand(t *testing.T) {
	// Such a Position and the Moves on: g gives the Row, x takes it, a and b are rings, m and w are ring moves.
	var root rules.Position
	var g, x, a, b, m, w rules.Move
	for seed := uint64(0); g == x; seed++ {
		rng := newRand(seed)
		line := rules.RandomGame(rules.Standard(), rules.Uniform, rng).Moves
		pos := rules.New(rules.Standard())
		for i := 0; i+4 < len(line); i++ {
			at := pos
			var turns []string
			for _, m := range line[i : i+4] {
				turns = append(turns, at.ToMove().String()+" "+at.Phase().String())
				at.Play(m)
			}
			if fmt.Sprint(turns) == "[W move B row B ring B move]" && at.ToMove() == rules.White && at.Phase() == rules.PhaseMoveRing {
				root, g, x, a, m, w = pos, line[i], line[i+1], line[i+2], line[i+3], at.AppendMoves(nil)[0]
				break
			}
			pos.Play(line[i])
		}
	}
	play := func(pos rules.Position, moves ...rules.Move) rules.Position {
		for _, m := range moves {
			pos.Play(m)
		}
		return pos
	}
	rings := play(root, g, x)
	for _, b = range rings.AppendMoves(nil) {
		if b != a {
			break
		}
	}
	// What the Evaluator says of them: the Moves worth a look with their priors, and White's value.
	type answer struct {
		prior map[rules.Move]float32
		value float32
	}
	answers := map[rules.Position]answer{
		root:                 {map[rules.Move]float32{g: 1}, 0.1},
		play(root, g):        {map[rules.Move]float32{x: 1}, 0.2},
		rings:                {map[rules.Move]float32{a: 0.6, b: 0.4}, 0.3},
		play(rings, a):       {map[rules.Move]float32{m: 1}, -0.5},
		play(rings, a, m):    {map[rules.Move]float32{w: 1}, -0.9},
		play(rings, b):       {nil, 0.7},
		play(rings, a, m, w): {nil, 0.25},
	}
	s := New(judge(func(q *Query) error {
		said, ok := answers[q.Pos]
		if !ok {
			t.Fatalf("asked about %v", &q.Pos)
		}
		weights(q, func(rules.Move) float64 { return 1 })
		if said.prior != nil {
			weights(q, func(m rules.Move) float64 { return float64(said.prior[m]) })
		}
		q.Value = said.value
		return nil
	}), with(func(p *Params) { p.Root, p.CPuct, p.CPuctBase, p.FPU = PUCT, 1.5, 1e9, 0 }))

	// Where Black takes a ring, with U = 1.5·P·√ΣN/(1+N) and values as he sees them:
	// third simulation: no visits yet, the greater prior: a, which is worth −0.5 to White;
	// fourth: a has 0.5 + 0.45, b the node's 0.1 + 0.6: a again, and its m: −0.9, so that Q(a) = −0.7;
	// fifth: a has 0.7 + 0.3·√2 = 1.124, b has 0.367 + 0.6·√2 = 1.215: b, 0.7;
	// sixth: a has 0.7 + 0.3·√3 = 1.220, b has −0.7 + 0.3·√3: a, m and White's w: 0.25.
	for i, leaf := range []struct {
		line []rules.Move
		q    float64 // of the root: the mean of all values so far
	}{
		{[]rules.Move{g}, (0.1 + 0.2) / 2},
		{[]rules.Move{g, x}, (0.1 + 0.2 + 0.3) / 3},
		{[]rules.Move{g, x, a}, (0.1 + 0.2 + 0.3 - 0.5) / 4},
		{[]rules.Move{g, x, a, m}, (0.1 + 0.2 + 0.3 - 0.5 - 0.9) / 5},
		{[]rules.Move{g, x, b}, (0.1 + 0.2 + 0.3 - 0.5 - 0.9 + 0.7) / 6},
		{[]rules.Move{g, x, a, m, w}, (0.1 + 0.2 + 0.3 - 0.5 - 0.9 + 0.7 + 0.25) / 7},
	} {
		r := search(t, s, root, 1)
		if s.Visits(leaf.line...) != 1 {
			t.Fatalf("simulation %d does not go by %v", i+1, leaf.line)
		}
		near(t, fmt.Sprintf("Q after simulation %d", i+1), float64(r.Value), leaf.q)
	}
	// The spread is the sum of the squares of what came up less the Q it found. Where Black takes a ring, Q was 0.3, −0.1,
	// −0.3667 and −0.1 when −0.5, −0.9, 0.7 and 0.25 came up: 0.64 + 0.64 + 1.137778 + 0.1225.
	for _, test := range []struct {
		line      []rules.Move
		visits    int32
		q, spread float64
	}{
		{[]rules.Move{g, x}, 5, (0.3 - 0.5 - 0.9 + 0.7 + 0.25) / 5, 2.540278},
		{[]rules.Move{g, x, a}, 3, (-0.5 - 0.9 + 0.25) / 3, 0.4*0.4 + 0.95*0.95},
		{[]rules.Move{g, x, a, m}, 2, (-0.9 + 0.25) / 2, 1.15 * 1.15},
		{[]rules.Move{g, x, b}, 1, 0.7, 0},
	} {
		n := &s.nodes[0]
		for _, m := range test.line {
			n = &s.nodes[s.edgesOf(n)[s.find(n, m)].child]
		}
		if n.visits != test.visits {
			t.Errorf("%v has %d visits: want %d", test.line, n.visits, test.visits)
		}
		near(t, fmt.Sprintf("Q(%v)", test.line), n.q, test.q)
		near(t, fmt.Sprintf("spread of %v", test.line), n.spread, test.spread)
	}
}

// What comes up from a node that is proven is its result, not what the leaf was worth.
func TestProvenValueComesUp(t *testing.T) {
	white, _ := toMove()
	m := white.AppendMoves(nil)
	s := New(Uniform{}, with(func(p *Params) { p.Root = PUCT }))
	copy(s.edges.at(s.edges.add(3), 3), []edge{{m[0], 0.5, 1}, {m[1], 0.3, none}, {m[2], 0.2, none}})
	copy(s.edges.at(s.edges.add(2), 2), []edge{{m[0], 0.5, 2}, {m[1], 0.5, 3}})
	s.nodes = []node{
		{pos: white, raw: 0.1, q: 0.4, parent: none, visits: 3, count: 3, tried: 1},
		{pos: white, raw: 0.2, q: 0.1, first: 3, visits: 2, count: 2, tried: 2},
		{pos: white, parent: 1, visits: 1, outcome: rules.Draw},
		{pos: white, parent: 1, visits: 1, outcome: rules.BlackWins, q: -1},
	}
	// White's second Move loses: what is left is a draw.
	s.backUp(3)
	if s.nodes[1].outcome != rules.Draw || s.nodes[1].plies != 1 {
		t.Errorf("proven %v in %d: want a draw in 1", s.nodes[1].outcome, s.nodes[1].plies)
	}
	near(t, "spread below", s.nodes[1].spread, 1.1*1.1)
	near(t, "spread of the root", s.nodes[0].spread, 0.4*0.4)
	near(t, "Q of the root", s.nodes[0].q, 0.1/4)
}

func TestChoosePUCT(t *testing.T) {
	white, _ := toMove()
	m := white.AppendMoves(nil)
	p := with(func(p *Params) { p.Root, p.LCB = PUCT, 2 })

	// Bounds: 0.2 − 2·√((0.02 + 0.25)/3/3) = −0.146; 0.9 − 2·√(0.25/1/1) = −0.1: few visits, but more than 15 %.
	s := handMade(p, white, 0.2, 0.9)
	if got := s.choosePUCT(); got != m[1] {
		t.Errorf("chooses %v: want %v", got, m[1])
	}
	// 0.2 against 0.8 − 1 = −0.2.
	s = handMade(p, white, 0.2, 0.8)
	if got := s.choosePUCT(); got != m[0] {
		t.Errorf("chooses %v: want %v", got, m[0])
	}
	// One visit in ten is too few.
	s = handMade(p, white, 0.2, 0.99)
	s.nodes[1].visits = 10
	if got := s.choosePUCT(); got != m[0] {
		t.Errorf("chooses %v: want %v", got, m[0])
	}
	// A draw in hand is worth more than an expectation below one, and less than one above.
	for q, want := range map[float64]rules.Move{-0.1: m[1], 0.1: m[0]} {
		s = handMade(p, white, q, 0)
		s.nodes[2].outcome = rules.Draw
		if got := s.choosePUCT(); got != want {
			t.Errorf("with a draw and %v chooses %v: want %v", q, got, want)
		}
	}
	// Whatever was tried is lost: the Move not tried.
	s = handMade(p, white, -1, -1)
	s.nodes[1].outcome, s.nodes[2].outcome = rules.BlackWins, rules.BlackWins
	s.update(&s.nodes[0])
	if r := s.result(0); r.Best != m[2] || r.Proven || r.Edges[2].Policy != 1 {
		t.Errorf("with all tried moves lost: %+v", r)
	}
}

// Of proven wins the shortest is played, of proven losses and draws the longest, and a draw rather than a loss.
func TestPlies(t *testing.T) {
	white, _ := toMove()
	m := white.AppendMoves(nil)
	forPolicies(t, func(t *testing.T, p Params) {
		for _, test := range []struct {
			name   string
			first  rules.Outcome
			in     int32 // plies of the first Move; the second takes 2
			second rules.Outcome
			want   rules.Move
			plies  int32
		}{
			{"win", rules.WhiteWins, 3, rules.WhiteWins, m[1], 3},
			{"shorter win", rules.WhiteWins, 1, rules.WhiteWins, m[0], 2},
			{"equal wins", rules.WhiteWins, 2, rules.WhiteWins, m[0], 3},
			{"loss", rules.BlackWins, 3, rules.BlackWins, m[0], 4},
			{"shorter loss", rules.BlackWins, 1, rules.BlackWins, m[1], 3},
			{"equal losses", rules.BlackWins, 2, rules.BlackWins, m[0], 3},
			{"draw", rules.Draw, 3, rules.Draw, m[0], 4},
			{"shorter draw", rules.Draw, 1, rules.Draw, m[1], 3},
			{"equal draws", rules.Draw, 2, rules.Draw, m[0], 3},
			{"long loss or draw", rules.BlackWins, 9, rules.Draw, m[1], 3},
			{"win or long draw", rules.Draw, 9, rules.WhiteWins, m[1], 3},
		} {
			s := handMade(p, white, 0, 0)
			s.nodes[0].count = 2
			s.nodes[1].outcome, s.nodes[1].plies = test.first, test.in
			s.nodes[2].outcome, s.nodes[2].plies = test.second, 2
			s.update(&s.nodes[0])
			if got := s.choose(); got != test.want || s.nodes[0].plies != test.plies {
				t.Errorf("%s: chooses %v in %d: want %v in %d", test.name, got, s.nodes[0].plies, test.want, test.plies)
			}
		}
	})
}
