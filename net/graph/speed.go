package graph

import (
	"context"
	"math/rand/v2"
	"time"

	"yinshzero/net"
	"yinshzero/rules"
)

// Speed measures training steps of a fresh network on batches of random Positions on one thread, forward, backward and
// solver, for at least the given time by the clock now, and returns positions per second. On a machine that has other
// work the figure means little.
func Speed(a net.Arch, batch int, atLeast time.Duration, now func() time.Time) (float64, error) {
	if err := a.Validate(); err != nil {
		return 0, err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	w := net.Init(a, rng)
	g, err := New(w, Params{Batch: batch, Replicas: 1, PolicyLoss: 1, ValueLoss: 1, RingsLoss: 0.1})
	if err != nil {
		return 0, err
	}
	s, err := NewSolver(w, DefaultSolverParams())
	if err != nil {
		return 0, err
	}
	pos := rules.New(rules.Standard())
	for row := 0; row < batch; {
		legal := pos.AppendMoves(nil)
		if len(legal) == 0 {
			pos = rules.New(rules.Standard())
			continue
		}
		e := Example{Planes: net.AppendPlanes(nil, &pos), Legal: legal, Policy: make([]float32, len(legal)), PolicyWeight: 1, ValueWeight: 1}
		move := rng.IntN(len(legal))
		e.Policy[move], e.WDL[rng.IntN(net.NumWDL)], e.Rings = 1, 1, rng.IntN(net.NumRings)
		g.Set(row, &e)
		row++
		pos.Play(legal[move])
	}
	step := func() error {
		if _, err := g.Gradients(context.Background()); err != nil {
			return err
		}
		_, err := g.Step(s)
		return err
	}
	if err := step(); err != nil { // warm up
		return 0, err
	}
	steps, start := 0, now()
	for {
		if err := step(); err != nil {
			return 0, err
		}
		steps++
		if d := now().Sub(start); d >= atLeast {
			return float64(steps*batch) / d.Seconds(), nil
		}
	}
}
