package graph

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"yinshzero/net"
	"yinshzero/rules"
)

func TestSmoke(t *testing.T) {
	for _, a := range []string{"32x2", "32x4p"} {
		arch, _ := net.ParseArch(a)
		w := net.Init(arch, rand.New(rand.NewPCG(1, 1)))
		const B = 256
		g, err := New(w, Params{Batch: B, Replicas: 1, PolicyLoss: 1, ValueLoss: 1, RingsLoss: 0.1})
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(2, 2))
		pos := rules.New(rules.Standard())
		for i := range B {
			if pos.Phase() == rules.PhaseOver {
				pos = rules.New(rules.Standard())
			}
			e := Example{Planes: net.AppendPlanes(nil, &pos), Legal: pos.AppendMoves(nil), PolicyWeight: 1, ValueWeight: 1, Rings: rng.IntN(7)}
			e.Policy = make([]float32, len(e.Legal))
			e.Policy[rng.IntN(len(e.Legal))] = 1
			e.WDL[rng.IntN(3)] = 1
			g.Set(i, &e)
			pos.Play(e.Legal[rng.IntN(len(e.Legal))])
		}
		s, err := NewSolver(w, DefaultSolverParams())
		if err != nil {
			t.Fatal(err)
		}
		s.LR = 3e-3
		for i := range 40 {
			t0 := time.Now()
			l, err := g.Gradients(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			t1 := time.Now()
			norm, err := g.Step(s)
			if err != nil {
				t.Fatal(err)
			}
			if i%10 == 0 || i == 39 {
				t.Log(a, l, norm, t1.Sub(t0), time.Since(t1), B/t1.Sub(t0).Seconds())
			}
		}
	}
}
