package train

import (
	"context"
	"errors"
	"math"
	"runtime"
	"testing"

	"yinshzero/data"
	"yinshzero/net"
	"yinshzero/net/graph"
)

// held is a window of random games of which a half is held out.
func held(t testing.TB) *data.Window {
	t.Helper()
	p := data.DefaultWindowParams()
	p.HoldOut = 0.5
	return windowOf(t, games(60), p)
}

func measure(t testing.TB, tr *Trainer, w *data.Window) Measure {
	t.Helper()
	m, err := tr.Measure(context.Background(), w)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMeasureChangesNothing: steps with measures between them make the same weights as steps without, to the bit.
func TestMeasureChangesNothing(t *testing.T) {
	w := held(t)
	plain, measured := trainer(t, params()), trainer(t, params())
	for range 4 {
		a := steps(t, plain, w, 1)
		before := measured.Candidate()
		m := measure(t, measured, w)
		if again := measure(t, measured, w); m != again {
			t.Errorf("measured %+v, and again %+v", m, again)
		}
		if !measured.Candidate().Equal(before) {
			t.Error("the candidate has changed")
		}
		if b := steps(t, measured, w, 1); a != b {
			t.Errorf("a step cost %+v, after a measure %+v", a, b)
		}
	}
	if !plain.weights.Equal(measured.weights) || !plain.Candidate().Equal(measured.Candidate()) || plain.Drawn() != measured.Drawn() {
		t.Error("other weights than without measures")
	}
}

// TestMeasureIsTheLossOfAStep: of weights that do not move, a measure of many positions and the losses of many steps are means
// of the same.
func TestMeasureIsTheLossOfAStep(t *testing.T) {
	p := params()
	p.Schedule.Peak, p.Solver.Decay = 1e-30, 0
	tr, w := trainer(t, p), held(t)
	var all []graph.Losses
	for range 40 {
		all = append(all, steps(t, tr, w, 1))
	}
	m, want := measure(t, tr, w), graph.MeanLosses(all)
	for name, got := range map[string]graph.Losses{"held out": m.HeldOut, "trained": m.Trained} {
		for head, pair := range map[string][2]float64{
			"total": {got.Total, want.Total}, "policy": {got.Policy, want.Policy}, "value": {got.Value, want.Value}, "rings": {got.Rings, want.Rings},
		} {
			if !(math.Abs(pair[0]-pair[1]) < 0.03*pair[1]) {
				t.Errorf("%s: the %s loss is %v, that of steps %v", name, head, pair[0], pair[1])
			}
		}
	}
}

// TestMeasureShowsOverfitting learns few games by heart, whose search wants Moves at random: the games trained on then cost less
// than before, and those held out do not.
func TestMeasureShowsOverfitting(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	recs := games(8)
	for _, rec := range recs {
		for i := range rec.Plies {
			if p := rec.Plies[i].Policy; len(p) > 0 && (int(rec.Seed)+i)%2 == 0 {
				p[0].Weight, p[1].Weight = p[1].Weight, p[0].Weight
			}
		}
	}
	window := data.DefaultWindowParams()
	window.HoldOut = 0.5
	w := windowOf(t, recs, window)
	if n := w.HoldOutGames(); n < 2 || n > 6 {
		t.Fatalf("%d of 8 games are held out", n)
	}
	p := params()
	p.Schedule.HalvingSteps = 1000
	tr := trainer(t, p)
	first := measure(t, tr, w)
	steps(t, tr, w, 300)
	last := measure(t, tr, w)
	before, after := first.HeldOut.Total-first.Trained.Total, last.HeldOut.Total-last.Trained.Total
	if !(math.Abs(before) < 0.5) || !(after > 1) || !(last.Trained.Total < first.Trained.Total-1) {
		t.Errorf("before %+v, after 300 steps %+v: want games learnt by heart", first, last)
	}
}

// TestMeasureKeepsNothing: a measure leaves nothing behind in memory.
func TestMeasureKeepsNothing(t *testing.T) {
	tr, w := trainer(t, params()), held(t)
	inUse := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what a pool held until the first
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	measure(t, tr, w)
	before := inUse()
	for range 6 {
		measure(t, tr, w)
	}
	if more := inUse() - before; more > 1<<20 { // one graph takes twice as much
		t.Errorf("six measures left %d bytes", more)
	}
	runtime.KeepAlive(tr)
}

func TestMeasureOfNothing(t *testing.T) {
	tr := trainer(t, params())
	if _, err := tr.Measure(context.Background(), window(t)); !errors.Is(err, data.ErrNoPositions) {
		t.Errorf("no game is held out: got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := tr.Measure(ctx, held(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context is done", err)
	}
	tr.average.kept[0].Tensor(net.WDLHead + net.WeightName).Data[0] = float32(math.NaN())
	if _, err := tr.Measure(context.Background(), held(t)); !errors.Is(err, graph.ErrNotFinite) {
		t.Errorf("got %v, want that the losses are not finite", err)
	}
}
