package graph

import (
	"math"
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
