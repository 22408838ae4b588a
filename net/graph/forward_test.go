package graph

import (
	"context"
	"errors"
	"math"
	"testing"

	"yinshzero/net"
	"yinshzero/rules"
)

// TestLosses: a graph that goes forward only tells the losses of one with gradients, to the bit, of every arch and batch after
// batch; it changes no weight and has no gradients.
func TestLosses(t *testing.T) {
	for _, arch := range []string{"32x1", "32x2p", "64x1p", "32x1-rings-ownership", "32x1-reply-plies"} {
		for _, replicas := range []int{1, 2} {
			rng := newRand(5)
			w := randomWeights(t, arch, rng)
			before := w.Clone()
			p := testLosses
			p.Replicas = replicas
			es := examples(rng, 70, rules.Standard(), small())
			whole := fill(t, w, p, es)
			p.ForwardOnly = true
			g := fill(t, w, p, es)
			for batch := range 2 {
				want, err := whole.Gradients(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				got, err := g.Losses(context.Background())
				if err != nil || got != want || got.Policy == 0 || got.Value == 0 {
					t.Errorf("%s, %d replicas, batch %d: losses %+v, %v: want %+v", arch, replicas, batch, got, err, want)
				}
				for i, e := range examples(rng, len(es), small(), rules.Standard()) {
					whole.Set(i, &e)
					g.Set(i, &e)
				}
			}
			if !w.Equal(before) {
				t.Errorf("%s: the weights have changed", arch)
			}
			if _, err := g.Gradients(context.Background()); err == nil {
				t.Error("a graph that goes forward only has gradients")
			}
			if _, err := whole.Losses(context.Background()); err == nil {
				t.Error("a graph with gradients goes forward only")
			}
			solver, err := NewSolver(w, DefaultSolverParams())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := g.Step(solver); err == nil {
				t.Error("a step without gradients")
			}
		}
	}
}

// TestLossesOfABadBatch: what is missing, not finite or cut short is an error.
func TestLossesOfABadBatch(t *testing.T) {
	rng := newRand(6)
	w := randomWeights(t, "32x1", rng)
	p := testLosses
	p.Batch, p.ForwardOnly = 3, true
	g, err := New(w, p)
	if err != nil {
		t.Fatal(err)
	}
	es := examples(rng, 3, rules.Standard())
	g.Set(0, &es[0])
	if _, err := g.Losses(context.Background()); err == nil {
		t.Error("two rows were never set")
	}
	g.Set(1, &es[1])
	g.Set(2, &es[2])
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := g.Losses(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context is done", err)
	}
	x := w.Tensor(net.WDLHead + net.WeightName)
	good := x.Data[0]
	x.Data[0] = float32(math.NaN())
	if _, err := g.Losses(context.Background()); !errors.Is(err, ErrNotFinite) {
		t.Errorf("got %v, want that the losses are not finite", err)
	}
	x.Data[0] = good
	if l, err := g.Losses(context.Background()); err != nil || !(l.Total > 0) {
		t.Errorf("losses %+v, %v after the weights are whole again", l, err)
	}
}

func TestMeanLosses(t *testing.T) {
	a, b := Losses{1, 2, 3, 4, 5, 6, 7}, Losses{3, 2, 1, 0, -1, -2, -3}
	if got, want := MeanLosses([]Losses{a, b}), (Losses{2, 2, 2, 2, 2, 2, 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
