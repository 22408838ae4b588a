package mcts

import (
	"testing"

	"yinshzero/rules"
)

// counting judges by simple counts: longer stretches of one's own markers are better.
var counting = judge(func(q *Query) error {
	weights(q, func(rules.Move) float64 { return 1 })
	q.Value = 0
	for c, sign := range []float32{1, -1} {
		q.Value += 0.05 * sign * float32(len(q.Pos.AppendMarkers(nil, rules.Color(c))))
	}
	return nil
})

// playMatch is the score of a against b from n random placements with either colour, of 2n points.
func playMatch(t *testing.T, a, b *Searcher, simsA, simsB, n int) float64 {
	t.Helper()
	points := 0.0
	for seed := range uint64(n) {
		v := rules.Mini()
		opening := playRandom(rules.New(v), 2*int(v.Rings), newRand(seed))
		for _, colour := range []rules.Color{rules.White, rules.Black} {
			a.Reset()
			b.Reset()
			pos := opening
			for pos.Phase() != rules.PhaseOver {
				s, n := b, simsB
				if pos.ToMove() == colour {
					s, n = a, simsA
				}
				r, err := s.Search(t.Context(), pos, Budget{Simulations: n}, nil)
				if err != nil {
					t.Fatal(err)
				}
				a.Advance(r.Best)
				b.Advance(r.Best)
				pos.Play(r.Best)
			}
			res, _ := pos.Result()
			switch res.Outcome {
			case rules.Wins(colour):
				points++
			case rules.Draw:
				points += 0.5
			}
		}
	}
	return points
}

// rollout judges by one random game, always the same from a Position.
var rollout = judge(func(q *Query) error {
	weights(q, func(rules.Move) float64 { return 1 })
	pos := playRandom(q.Pos, q.Pos.Variant().MaxPlies(), newRand(q.Pos.Hash()))
	res, _ := pos.Result()
	q.Value = res.Outcome.Value()
	return nil
})

// A positive control: eight times the simulations must win.
func TestMoreSimulationsWin(t *testing.T) {
	if testing.Short() {
		t.Skip("plays games")
	}
	for _, test := range []struct {
		name   string
		root   RootPolicy
		eval   Evaluator
		n      int
		least  float64 // share of the points
		cScale float64
	}{
		{"gumbel counting", Gumbel, counting, 60, 0.6, 0.5},
		{"gumbel rollout", Gumbel, rollout, 25, 0.6, 0.05}, // a value so noisy is to be trusted less
		{"puct counting", PUCT, counting, 60, 0.6, 0.5},
		{"puct rollout", PUCT, rollout, 10, 0.75, 0.5},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := with(func(p *Params) { p.Root, p.CScale = test.root, test.cScale })
			got := playMatch(t, New(test.eval, p), New(test.eval, p), 400, 50, test.n) / float64(2*test.n)
			t.Logf("%.1f %% of %d games", 100*got, 2*test.n)
			if got < test.least {
				t.Errorf("400 simulations scored %.1f %% against 50: want %.1f %%", 100*got, 100*test.least)
			}
		})
	}
}
