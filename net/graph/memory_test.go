package graph

import (
	"context"
	"runtime"
	"testing"

	"yinshzero/rules"
)

// TestGraphsAreGivenUp: a graph that nobody holds takes no memory, with gradients and forward only.
func TestGraphsAreGivenUp(t *testing.T) {
	rng := newRand(8)
	w := randomWeights(t, "32x1", rng)
	es := examples(rng, 16, rules.Standard())
	inUse := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what a finalizer or a pool held until the first
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for _, forward := range []bool{false, true} {
		p := testLosses
		p.ForwardOnly = forward
		use := func() *Graph {
			g := fill(t, w, p, es)
			compute := g.Gradients
			if forward {
				compute = g.Losses
			}
			if _, err := compute(context.Background()); err != nil {
				t.Fatal(err)
			}
			return g
		}
		use()
		before := inUse()
		g := use()
		one := inUse() - before
		runtime.KeepAlive(g)
		before = inUse()
		for range 6 {
			use()
		}
		if more := inUse() - before; one < 1<<18 || more > one {
			t.Errorf("forward only %v: a graph takes %d bytes, and six that nobody holds %d", forward, one, more)
		}
	}
}
