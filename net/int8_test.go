package net

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"yinshzero/net/kernel"
	"yinshzero/rules"
)

// eachInt8 runs f with the 8-bit kernels in plain Go, and with those of this machine if it has any.
func eachInt8(t *testing.T, f func(t *testing.T)) {
	t.Run("generic", func(t *testing.T) { t.Setenv(kernel.ISAVariable, "generic"); f(t) })
	t.Run("vnni", func(t *testing.T) {
		t.Setenv(kernel.ISAVariable, "")
		if _, err := kernel.NewInt8(32, 32); err != nil {
			t.Skip("this machine has no 8-bit kernels: ", err)
		}
		f(t)
	})
}

func compileInt8(t *testing.T, w *Weights, positions []rules.Position) *Program {
	t.Helper()
	p, err := w.CompileInt8(positions)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestInt8 holds the Program in 8 bits to that in floats, on Positions of every Variant other than those that chose the
// steps. A wrong scale, step or bias anywhere moves the logits by their whole spread.
func TestInt8(t *testing.T) {
	eachInt8(t, func(t *testing.T) {
		archs := []Arch{{Channels: 32, Blocks: 3, Pooling: true}, {Channels: 64, Blocks: 2, Pooling: true}, {Channels: 32, Blocks: 1}}
		if testing.Short() {
			archs = archs[:1]
		}
		for _, a := range archs {
			rng := rand.New(rand.NewPCG(21, 0))
			w := randomWeights(a, rng)
			ps := positions(rng, 60)
			exact, err := w.Compile()
			if err != nil {
				t.Fatal(err)
			}
			c := compareAnswers(exact, compileInt8(t, w, ps[:40]), ps[40:])
			t.Logf("%v: %+v", a, c)
			if !(c.LogitRMS < 0.03*c.Spread) || c.LogitRMS == 0 || !(c.LogitMax < 0.2*c.Spread) || !(c.KL < 0.01) || !(c.Top >= 0.8) || !(c.Value < 0.03) {
				t.Errorf("%v: 8 bits differ from floats by too much, or not at all: %+v", a, c)
			}
		}
	})
}

// TestInt8Kernels: with the same float kernels, the answers with the 8-bit kernels in plain Go are those of the assembly,
// to the bit.
func TestInt8Kernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 0))
	w := randomWeights(Arch{Channels: 32, Blocks: 2, Pooling: true}, rng)
	ps := positions(rng, 12)
	if _, err := kernel.NewInt8(32, 32); err != nil {
		t.Skip("this machine has no 8-bit kernels: ", err)
	}
	p := compileInt8(t, w, ps)
	q := p.Clone()
	other := *p.trunk8
	t.Setenv(kernel.ISAVariable, "generic")
	conv, err := kernel.NewInt8(32, 32)
	if err != nil {
		t.Fatal(err)
	}
	other.conv = conv
	changed := *p.packed
	changed.trunk8, q.packed = &other, &changed
	if c := compareAnswers(p, q, ps); c.LogitMax != 0 || c.ValueMax != 0 || c.KL != 0 || c.Top != 1 {
		t.Errorf("plain Go and assembly differ: %+v", c)
	}
}

// TestInt8State: an answer depends on nothing that was asked before, and a Clone gives the same. Forward and Auxiliary
// allocate nothing.
func TestInt8State(t *testing.T) {
	eachInt8(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(23, 0))
		w := randomWeights(Arch{Channels: 32, Blocks: 2, Pooling: true}, rng)
		ps := positions(rng, 10)
		p := compileInt8(t, w, ps)
		ask := func(p *Program, pos rules.Position) (Output, Expectation) {
			legal := pos.AppendMoves(nil)
			o, e := Output{Logits: make([]float32, len(legal))}, Expectation{Reply: make([]float32, len(legal))}
			p.Forward(AppendPlanes(nil, &pos), legal, &o)
			p.Auxiliary(legal, &e)
			return o, e
		}
		for _, pos := range ps {
			a, ae := ask(p, pos)
			ask(p, ps[0])
			for _, again := range []*Program{p, p.Clone()} {
				b, be := ask(again, pos)
				if !slices.Equal(a.Logits, b.Logits) || a.WDL != b.WDL || a.Rings != b.Rings || !slices.Equal(ae.Reply, be.Reply) || ae.Ownership != be.Ownership || ae.Plies != be.Plies {
					t.Fatalf("%v: another answer", &pos)
				}
			}
		}
		legal, planes := ps[0].AppendMoves(nil), AppendPlanes(nil, &ps[0])
		out := Output{Logits: make([]float32, len(legal))}
		if n := testing.AllocsPerRun(2, func() { p.Forward(planes, legal, &out) }); n != 0 {
			t.Errorf("Forward allocates %v times, want 0", n)
		}
	})
}

func TestInt8Errors(t *testing.T) {
	w := newWeights(Arch{Channels: 32, Blocks: 1}) // all zeros: no activation, no weight
	t.Setenv(kernel.ISAVariable, "generic")
	ps := []rules.Position{rules.New(rules.Standard())}
	p := compileInt8(t, w, ps)
	legal := ps[0].AppendMoves(nil)
	out := Output{Logits: make([]float32, len(legal))}
	p.Forward(AppendPlanes(nil, &ps[0]), legal, &out)
	if out.WDL != [NumWDL]float32{} || slices.Max(out.Logits) != 0 || slices.Min(out.Logits) != 0 {
		t.Errorf("weights of zeros answer %v, %v", out.WDL, out.Logits)
	}
	if _, err := w.CompileInt8(nil); err == nil || !strings.Contains(err.Error(), "no positions") {
		t.Errorf("without positions: %v", err)
	}
	if _, err := CompareInt8(context.Background(), w, ps, nil, time.Nanosecond); err == nil || !strings.Contains(err.Error(), "no positions") {
		t.Errorf("without positions to compare on: %v", err)
	}
	done, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := CompareInt8(done, w, ps, ps, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	c, err := CompareInt8(context.Background(), w, ps, ps, time.Nanosecond)
	if err != nil || c.LogitMax != 0 || c.ValueMax != 0 || c.Top != 1 || !(c.Float > 0) || !(c.Int8 > 0) {
		t.Errorf("zeros compared: %+v, %v", c, err)
	}
	t.Setenv(kernel.ISAVariable, "avx2")
	if _, err := w.CompileInt8(ps); !errors.Is(err, kernel.ErrISA) || !strings.Contains(err.Error(), "VNNI") {
		t.Errorf("without the instructions: %v", err)
	}
}

// TestCompareAnswers works the figures out by their definitions, for networks whose answers are their biases alone.
func TestCompareAnswers(t *testing.T) {
	rng := rand.New(rand.NewPCG(24, 0))
	programs, biases := [2]*Program{}, [2]*Weights{}
	for i := range programs {
		w := newWeights(Arch{Channels: 32, Blocks: 1})
		for _, name := range []string{PolicyHead + BiasName, WDLHead + BiasName} {
			for j := range w.Tensor(name).Data {
				w.Tensor(name).Data[j] = float32(rng.NormFloat64())
			}
		}
		programs[i], biases[i] = w.compile(kernel.All()[0]), w
	}
	probabilities := func(logits []float64) []float64 {
		p, sum := make([]float64, len(logits)), 0.0
		for i, l := range logits {
			p[i] = math.Exp(l)
			sum += p[i]
		}
		for i := range p {
			p[i] /= sum
		}
		return p
	}
	mean := func(x []float64) (m float64) {
		for _, v := range x {
			m += v / float64(len(x))
		}
		return m
	}
	var want Int8Comparison
	var logits [2][]float64
	var values [2]float64
	for i, w := range biases {
		logits[i] = float64s(w.Tensor(PolicyHead + BiasName).Data)
		p := probabilities(float64s(w.Tensor(WDLHead + BiasName).Data))
		values[i] = p[0] - p[2]
	}
	ps := positions(rng, 20)
	moves := 0.0
	for i := range ps {
		var of [2][]float64 // the Moves' logits
		for _, m := range ps[i].AppendMoves(nil) {
			plane, _ := PolicyIndex(m)
			for k := range of {
				of[k] = append(of[k], logits[k][plane])
			}
		}
		means, p, q := [2]float64{mean(of[0]), mean(of[1])}, probabilities(of[0]), probabilities(of[1])
		for j := range of[0] {
			e, d := of[1][j]-means[1]-(of[0][j]-means[0]), of[0][j]-means[0]
			want.LogitRMS += e * e
			want.Spread += d * d
			want.LogitMax = max(want.LogitMax, math.Abs(e))
			want.KL += p[j] * math.Log(p[j]/q[j]) / float64(len(ps))
			moves++
		}
		if slices.Index(of[0], slices.Max(of[0])) == slices.Index(of[1], slices.Max(of[1])) {
			want.Top += 1 / float64(len(ps))
		}
	}
	want.LogitRMS, want.Spread = math.Sqrt(want.LogitRMS/moves), math.Sqrt(want.Spread/moves)
	want.Value = math.Abs(values[0] - values[1])
	want.ValueMax = want.Value
	got := compareAnswers(programs[0], programs[1], ps)
	for _, f := range [][2]float64{
		{got.LogitRMS, want.LogitRMS}, {got.LogitMax, want.LogitMax}, {got.Spread, want.Spread}, {got.KL, want.KL},
		{got.Top, want.Top}, {got.Value, want.Value}, {got.ValueMax, want.ValueMax},
	} {
		if !(math.Abs(f[0]-f[1]) < 1e-5) || f[1] == 0 {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	}
}
