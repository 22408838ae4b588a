package infer

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"yinshzero/mcts"
	"yinshzero/net"
	"yinshzero/rules"
)

// TestSearchOnCores: a tree that is searched on several cores is the one that is searched on one with the same batch.
func TestSearchOnCores(t *testing.T) {
	p := program(t)
	for _, root := range []mcts.RootPolicy{mcts.Gumbel, mcts.PUCT} {
		search := mcts.DefaultParams()
		search.Root, search.Batch = root, 6
		one := mcts.New(New(p.Clone(), Params{CacheSize: 50}), search)
		several := mcts.New(New(p.Clone(), Params{CacheSize: 50, Cores: 3}), search)
		pos := rules.New(rules.Blitz())
		for range 4 {
			a, err := one.Search(t.Context(), pos, mcts.Budget{Simulations: 60}, nil)
			if err != nil {
				t.Fatal(err)
			}
			b, err := several.Search(t.Context(), pos, mcts.Budget{Simulations: 60}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(a) != fmt.Sprint(b) {
				t.Fatalf("%v: %+v on one core, %+v on three", &pos, a, b)
			}
			pos.Play(a.Best)
			one.Advance(a.Best)
			several.Advance(a.Best)
		}
	}
}

// BenchmarkCores is one tree on one core and on more, as a match has it, with a batch of four leaves a core.
func BenchmarkCores(b *testing.B) {
	p, err := net.Init(net.Arch{Channels: 64, Blocks: 6, Pooling: true}, rand.New(rand.NewPCG(1, 2))).Compile()
	if err != nil {
		b.Fatal(err)
	}
	for cores := 1; cores <= runtime.NumCPU(); cores *= 2 {
		b.Run(fmt.Sprint(cores), func(b *testing.B) {
			search := mcts.DefaultParams()
			if search.Root = mcts.PUCT; cores > 1 {
				search.Batch = 4 * cores
			}
			s := mcts.New(New(p.Clone(), Params{Cores: cores}), search)
			n := 0
			for b.Loop() {
				s.Reset()
				root, err := s.Search(b.Context(), rules.New(rules.Standard()), mcts.Budget{Simulations: 200}, nil)
				if err != nil {
					b.Fatal(err)
				}
				n += root.Simulations
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "simulations/s")
		})
	}
}
