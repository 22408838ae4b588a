package graph

import (
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"yinshzero/net"
)

// TestSolver compares several steps of each kind with their formulas in float64, clipping included.
func TestSolver(t *testing.T) {
	for _, kind := range []string{AdamW, SGD} {
		for _, clip := range []float64{0, 0.5} {
			rng := newRand(10)
			w := randomWeights(t, "32x1", rng)
			p := SolverParams{Kind: kind, Momentum: 0.8, Beta1: 0.9, Beta2: 0.99, Eps: 1e-6, Decay: 0.1, Clip: clip}
			s, err := NewSolver(w, p)
			if err != nil {
				t.Fatal(err)
			}
			want, m1, m2 := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
			for _, x := range w.Tensors() {
				want[x.Name], m1[x.Name], m2[x.Name] = wide(x.Data), make([]float64, x.Len()), make([]float64, x.Len())
			}
			for step := 1; step <= 4; step++ {
				s.LR = 0.01 / float64(step)
				grads, sum := map[string][]float32{}, 0.0
				for _, x := range w.Tensors() {
					g := make([]float32, x.Len())
					for i := range g {
						g[i] = float32(rng.NormFloat64() * 0.1)
						sum += float64(g[i]) * float64(g[i])
					}
					grads[x.Name] = g
				}
				norm, err := s.step(func(name string) []float32 { return grads[name] })
				if err != nil || math.Abs(norm-math.Sqrt(sum)) > 1e-9*norm {
					t.Fatalf("norm %g, want %g; error %v", norm, math.Sqrt(sum), err)
				}
				scale := 1.0
				if clip > 0 && norm > clip {
					scale = clip / norm
				}
				for _, x := range w.Tensors() {
					y, m, v := want[x.Name], m1[x.Name], m2[x.Name]
					decay := 0.0
					if len(x.Shape) > 1 {
						decay = s.LR * p.Decay
					}
					for i, g := range grads[x.Name] {
						d := float64(g) * scale
						if kind == SGD {
							m[i] = p.Momentum*m[i] + d
							y[i] -= s.LR*m[i] + decay*y[i]
						} else {
							m[i] = p.Beta1*m[i] + (1-p.Beta1)*d
							v[i] = p.Beta2*v[i] + (1-p.Beta2)*d*d
							mh, vh := m[i]/(1-math.Pow(p.Beta1, float64(step))), v[i]/(1-math.Pow(p.Beta2, float64(step)))
							y[i] -= s.LR*mh/(math.Sqrt(vh)+p.Eps) + decay*y[i]
						}
						if math.Abs(float64(x.Data[i])-y[i]) > 2e-6 {
							t.Fatalf("%s clip %g step %d: %s[%d] = %g, want %g", kind, clip, step, x.Name, i, x.Data[i], y[i])
						}
					}
				}
			}
		}
	}
}

// TestSolverRestore: a solver restored from State goes on as the first one would have.
func TestSolverRestore(t *testing.T) {
	for _, kind := range []string{AdamW, SGD} {
		rng := newRand(11)
		w := randomWeights(t, "32x1", rng)
		p := DefaultSolverParams()
		p.Kind = kind
		a, _ := NewSolver(w, p)
		grad := func(name string) []float32 {
			g := make([]float32, w.Tensor(name).Len())
			for i := range g {
				g[i] = float32(math.Sin(float64(i + len(name))))
			}
			return g
		}
		for range 3 {
			if _, err := a.step(grad); err != nil {
				t.Fatal(err)
			}
		}
		a.steps += 3 * stepsUnit // a long run
		v := w.Clone()
		b, _ := NewSolver(v, p)
		if err := b.Restore(a.State()); err != nil {
			t.Fatal(err)
		}
		if b.Steps() != a.Steps() {
			t.Errorf("%s: %d steps restored, want %d", kind, b.Steps(), a.Steps())
		}
		for _, s := range []*Solver{a, b} {
			if _, err := s.step(grad); err != nil {
				t.Fatal(err)
			}
		}
		if !v.Equal(w) {
			t.Errorf("%s: the restored solver steps elsewhere", kind)
		}
	}
}

func TestSolverRestoreErrors(t *testing.T) {
	w := randomWeights(t, "32x1", newRand(12))
	s, _ := NewSolver(w, DefaultSolverParams())
	sgd := DefaultSolverParams()
	sgd.Kind = SGD
	o, _ := NewSolver(w, sgd)
	edit := func(f func(x []net.Tensor)) []net.Tensor {
		x := s.State()
		f(x)
		return x
	}
	last := len(s.State()) - 1
	for _, c := range []struct {
		name  string
		state []net.Tensor
		want  string
	}{
		{"none", nil, "0 tensors"},
		{"another kind", o.State(), "another kind"},
		{"renamed", edit(func(x []net.Tensor) { x[0].Name = "first.x" }), "no tensor first.input.weight"},
		{"reshaped", edit(func(x []net.Tensor) { x[0].Shape[0] = 4 }), "first.input.weight"},
		{"short", edit(func(x []net.Tensor) { x[1].Data = x[1].Data[1:] }), "numbers"},
		{"negative steps", edit(func(x []net.Tensor) { x[last].Data[1] = -1 }), "whole numbers"},
		{"half a step", edit(func(x []net.Tensor) { x[last].Data[1] = 0.5 }), "whole numbers"},
	} {
		err := s.Restore(c.state)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want %q in it", c.name, err, c.want)
		}
	}
	if s.Steps() != 0 {
		t.Error("a failed restore changed the solver")
	}
}

// TestClip: gradients of a norm up to the bound pass as they are; greater ones act as those scaled down to it, the norm
// being that of all tensors together.
func TestClip(t *testing.T) {
	for _, kind := range []string{AdamW, SGD} {
		for _, factor := range []float64{0.5, 1, 1.001, 4, 1e6} {
			rng := newRand(14)
			w := randomWeights(t, "32x1", rng)
			grads, sum := map[string][]float32{}, 0.0
			for _, x := range w.Tensors() {
				g := make([]float32, x.Len())
				for i := range g {
					g[i] = float32(rng.NormFloat64())
				}
				grads[x.Name] = g
				sum += squares(g)
			}
			p := DefaultSolverParams()
			p.Kind, p.Decay, p.Clip = kind, 0, math.Sqrt(sum)/factor
			v := w.Clone()
			clipped, _ := NewSolver(w, p)
			norm, err := clipped.step(func(name string) []float32 { return grads[name] })
			if err != nil || math.Abs(norm/math.Sqrt(sum)-1) > 1e-12 {
				t.Fatalf("%s, %g times the bound: norm %g, want %g; %v", kind, factor, norm, math.Sqrt(sum), err)
			}

			scaled, left := map[string][]float32{}, 0.0
			for name, g := range grads {
				h := make([]float32, len(g))
				for i, x := range g {
					h[i] = float32(1/max(1, factor)) * x
				}
				scaled[name] = h
				left += squares(h)
			}
			if got := math.Sqrt(left); got > p.Clip*(1+1e-6) {
				t.Errorf("%s, %g times the bound: norm %g after clipping to %g", kind, factor, got, p.Clip)
			}
			p.Clip = 0
			free, _ := NewSolver(v, p)
			if _, err := free.step(func(name string) []float32 { return scaled[name] }); err != nil {
				t.Fatal(err)
			}
			near := func(name string, a, b []float32) {
				for i := range a {
					if d := math.Abs(float64(a[i] - b[i])); d > 1e-6*math.Max(1e-3, math.Abs(float64(b[i]))) {
						t.Fatalf("%s, %g times the bound: %s[%d] is %g, of scaled gradients %g", kind, factor, name, i, a[i], b[i])
					}
				}
			}
			for i, x := range w.Tensors() {
				near(x.Name, x.Data, v.Tensors()[i].Data)
			}
			for i, x := range clipped.State() {
				near(x.Name, x.Data, free.State()[i].Data)
			}
		}
	}
}

// TestSolverRefuses: one number of any tensor, of its gradient or of the weights, that is not finite, or a gradient too
// large to square, and neither weights nor moments nor the count of steps change.
func TestSolverRefuses(t *testing.T) {
	for _, kind := range []string{AdamW, SGD} {
		w := randomWeights(t, "32x2p", newRand(15))
		p := DefaultSolverParams()
		p.Kind, p.Clip = kind, 0
		s, _ := NewSolver(w, p)
		grads := map[string][]float32{}
		for _, x := range w.Tensors() {
			grads[x.Name] = make([]float32, x.Len())
			for i := range grads[x.Name] {
				grads[x.Name][i] = float32(math.Cos(float64(i)))
			}
		}
		gradient := func(name string) []float32 { return grads[name] }
		if _, err := s.step(gradient); err != nil {
			t.Fatal(err)
		}
		weights, state := w.Clone(), s.State()
		try := func(name string, x []float32, bad float64) {
			for _, i := range []int{0, len(x) - 1} {
				good := x[i]
				x[i] = float32(bad)
				_, err := s.step(gradient)
				x[i] = good
				if !errors.Is(err, ErrNotFinite) || !strings.Contains(err.Error(), name) {
					t.Errorf("%s, %g in %s: got %v, want an error that names it", kind, bad, name, err)
				}
				if s.Steps() != 1 || !w.Equal(weights) || !slices.EqualFunc(s.State(), state, func(a, b net.Tensor) bool { return slices.Equal(a.Data, b.Data) }) {
					t.Fatalf("%s, %g in %s: the refused step changed something", kind, bad, name)
				}
			}
		}
		for _, x := range w.Tensors() {
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				try("gradient of "+x.Name, grads[x.Name], bad)
				try(x.Name, x.Data, bad)
			}
		}
		try("squared", grads[net.WDLHead+net.BiasName], 1e30)
		grads[net.WDLHead+net.BiasName][0] = 1e18 // but this is taken, and the state can be saved
		if _, err := s.step(gradient); err != nil {
			t.Fatal(err)
		}
		if err := net.WriteTensors(io.Discard, append(s.State(), w.Tensors()...), nil); err != nil {
			t.Error(err)
		}
	}
}

func TestSolverParams(t *testing.T) {
	if err := DefaultSolverParams().Validate(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		edit func(p *SolverParams)
		want string
	}{
		{func(p *SolverParams) { p.Kind = "adam" }, "adam"},
		{func(p *SolverParams) { p.Momentum = 1 }, "momentum"},
		{func(p *SolverParams) { p.Beta1 = -0.1 }, "beta1"},
		{func(p *SolverParams) { p.Beta2 = math.NaN() }, "beta2"},
		{func(p *SolverParams) { p.Eps = 0 }, "eps"},
		{func(p *SolverParams) { p.Decay = math.Inf(1) }, "decay"},
		{func(p *SolverParams) { p.Clip = -1 }, "clip"},
	} {
		p := DefaultSolverParams()
		c.edit(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got error %v, want %q in it", p, err, c.want)
		}
	}
	w := randomWeights(t, "32x1", newRand(13))
	s, _ := NewSolver(w, DefaultSolverParams())
	s.LR = math.NaN()
	if _, err := s.step(func(name string) []float32 { return make([]float32, w.Tensor(name).Len()) }); err == nil {
		t.Error("a learning rate of NaN was taken")
	}
}

// squares is the sum of the squares of x.
func squares(x []float32) (sum float64) {
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum
}
