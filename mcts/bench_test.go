package mcts

import (
	"context"
	"math/rand/v2"
	"testing"

	"yinshzero/rules"
)

// BenchmarkSimulation is the cost of one simulation, rules included, with an Evaluator that costs next to nothing.
func BenchmarkSimulation(b *testing.B) {
	placed := rules.New(rules.Standard())
	rng := rand.New(rand.NewPCG(1, 2))
	for placed.Phase() == rules.PhasePlaceRing {
		moves := placed.AppendMoves(nil)
		placed.Play(moves[rng.IntN(len(moves))])
	}
	for _, bench := range []struct {
		name string
		root RootPolicy
		pos  rules.Position
		n    int
	}{
		{"gumbel/placing/64", Gumbel, rules.New(rules.Standard()), 64},
		{"gumbel/moving/64", Gumbel, placed, 64},
		{"gumbel/moving/800", Gumbel, placed, 800},
		{"puct/moving/64", PUCT, placed, 64},
		{"puct/moving/800", PUCT, placed, 800},
	} {
		b.Run(bench.name, func(b *testing.B) {
			p := DefaultParams()
			p.Root = bench.root
			s := New(Uniform{}, p)
			b.ReportAllocs()
			for b.Loop() {
				s.Reset()
				if _, err := s.Search(context.Background(), bench.pos, Budget{Simulations: bench.n}, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*bench.n), "ns/simulation")
		})
	}
}
