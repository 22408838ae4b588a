package mcts

import (
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

// Of proven wins the shortest is played, of proven losses the longest.
func TestPlies(t *testing.T) {
	white, _ := toMove()
	m := white.AppendMoves(nil)
	forPolicies(t, func(t *testing.T, p Params) {
		for _, test := range []struct {
			name    string
			outcome rules.Outcome
			first   int32
			want    rules.Move
			plies   int32
		}{
			{"win", rules.WhiteWins, 3, m[1], 3},
			{"equal wins", rules.WhiteWins, 2, m[0], 3},
			{"loss", rules.BlackWins, 3, m[0], 4},
			{"equal losses", rules.BlackWins, 2, m[0], 3},
		} {
			s := handMade(p, white, 0, 0)
			s.nodes[0].count = 2
			for i := range s.nodes[1:] {
				s.nodes[1+i].outcome, s.nodes[1+i].plies = test.outcome, 2
			}
			s.nodes[1].plies = test.first
			s.update(&s.nodes[0])
			if got := s.choose(); got != test.want || s.nodes[0].plies != test.plies {
				t.Errorf("%s: chooses %v in %d: want %v in %d", test.name, got, s.nodes[0].plies, test.want, test.plies)
			}
		}
	})
}
