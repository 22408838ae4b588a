package graph

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"yinshzero/net"
	"yinshzero/net/kernel"
)

// The kinds of solver.
const (
	AdamW = "adamw" // Loshchilov and Hutter, "Decoupled weight decay regularization", 2019, algorithm 2
	SGD   = "sgd"   // with momentum and the same decoupled decay, algorithm 1
)

// SolverParams says how gradients become new weights.
type SolverParams struct {
	Kind     string  // AdamW or SGD
	Momentum float64 // SGD: share of the velocity kept, in [0, 1)
	Beta1    float64 // AdamW: share of the first moment kept, in [0, 1)
	Beta2    float64 // AdamW: share of the second moment kept, in [0, 1)
	Eps      float64 // AdamW: added to the root of the second moment, above 0
	Decay    float64 // each step takes LR·Decay of every weight, but not of scales and biases; at least 0
	Clip     float64 // gradients of a greater global norm are scaled down to it; 0: never
}

// DefaultSolverParams is AdamW with its paper's constants and light decay.
func DefaultSolverParams() SolverParams {
	return SolverParams{Kind: AdamW, Momentum: 0.9, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Decay: 1e-2, Clip: 5}
}

// Validate returns an error that joins all faults.
func (p SolverParams) Validate() error {
	var errs []error
	if p.Kind != AdamW && p.Kind != SGD {
		errs = append(errs, fmt.Errorf("solver is %q: want %s or %s", p.Kind, AdamW, SGD))
	}
	share := func(name string, v float64) {
		if !(v >= 0 && v < 1) {
			errs = append(errs, fmt.Errorf("%s is %g: want 0 or more, below 1", name, v))
		}
	}
	share("momentum", p.Momentum)
	share("beta1", p.Beta1)
	share("beta2", p.Beta2)
	if !(p.Eps > 0 && p.Eps <= 1) {
		errs = append(errs, fmt.Errorf("eps is %g: want above 0, at most 1", p.Eps))
	}
	if !(p.Decay >= 0 && p.Decay <= 10) {
		errs = append(errs, fmt.Errorf("decay is %g: want 0 to 10", p.Decay))
	}
	if !(p.Clip >= 0 && finite(p.Clip)) {
		errs = append(errs, fmt.Errorf("clip is %g: want 0 (never) or more", p.Clip))
	}
	return errors.Join(errs...)
}

// A Solver changes the weights by their gradients. It belongs to the goroutine of its Graph.
type Solver struct {
	// LR is the learning rate, at least 0; set it before every step.
	LR float64

	params    SolverParams
	set       *kernel.Set
	constants kernel.AdamWStep // of the step under way
	weights   *net.Weights
	steps     int64
	moments   [][2][]float32 // by tensor: AdamW's first and second, or SGD's velocity and nothing
}

// NewSolver returns a Solver for w with moments of zero and LR 1e-3.
func NewSolver(w *net.Weights, p SolverParams) (*Solver, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("make solver: %w", err)
	}
	set, err := kernel.Best()
	if err != nil {
		return nil, fmt.Errorf("make solver: %w", err)
	}
	s := &Solver{LR: 1e-3, params: p, set: set, weights: w}
	for _, t := range w.Tensors() {
		var m [2][]float32
		for i := range s.names() {
			m[i] = make([]float32, t.Len())
		}
		s.moments = append(s.moments, m)
	}
	return s, nil
}

// names are the prefixes under which State keeps the moments.
func (s *Solver) names() []string {
	if s.params.Kind == SGD {
		return []string{"velocity."}
	}
	return []string{"first.", "second."}
}

// Steps is the number of steps taken.
func (s *Solver) Steps() int64 { return s.steps }

// maxNorm bounds the gradients a step takes: squares of greater ones are beyond float32, where the second moments are.
const maxNorm = 1e19

// step applies the gradients of all tensors and returns their norm before clipping. If a number among the gradients or
// the weights is not finite, or the gradients are too large to square, nothing changes.
func (s *Solver) step(gradient func(name string) []float32) (norm float64, err error) {
	if !(s.LR >= 0 && finite(s.LR)) {
		return 0, fmt.Errorf("learning rate is %g: want 0 or more", s.LR)
	}
	tensors := s.weights.Tensors()
	sum := 0.0
	for _, t := range tensors {
		part := s.set.Squares(gradient(t.Name))
		if !finite(part) {
			return part, fmt.Errorf("gradient of %s: %w", t.Name, ErrNotFinite)
		}
		if !finite(s.set.Squares(t.Data)) { // a ReLU hides what is not a number: neither loss nor gradient need show it
			return part, fmt.Errorf("%s: %w", t.Name, ErrNotFinite)
		}
		sum += part
	}
	norm = math.Sqrt(sum)
	scale := 1.0
	if s.params.Clip > 0 && norm > s.params.Clip {
		scale = s.params.Clip / norm
	}
	if scale*norm > maxNorm {
		return norm, fmt.Errorf("the gradient's norm, %g, squared: %w", norm, ErrNotFinite)
	}
	s.steps++
	for i, t := range tensors {
		keep := 1.0
		if len(t.Shape) > 1 {
			keep = 1 - s.LR*s.params.Decay
		}
		if s.params.Kind == SGD {
			s.sgd(t.Data, gradient(t.Name), s.moments[i][0], float32(scale), float32(keep))
		} else {
			s.adamW(t.Data, gradient(t.Name), s.moments[i][0], s.moments[i][1], float32(scale), float32(keep))
		}
	}
	return norm, nil
}

func (s *Solver) sgd(w, g, velocity []float32, scale, keep float32) {
	mu, lr := float32(s.params.Momentum), float32(s.LR)
	for i := range w {
		velocity[i] = mu*velocity[i] + scale*g[i]
		w[i] = keep*w[i] - lr*velocity[i]
	}
}

func (s *Solver) adamW(w, g, first, second []float32, scale, keep float32) {
	p, t := s.params, float64(s.steps)
	s.constants = kernel.AdamWStep{
		Scale: scale, Keep: keep, Eps: float32(p.Eps),
		Keep1: float32(p.Beta1), Take1: float32(1 - p.Beta1), Keep2: float32(p.Beta2), Take2: float32(1 - p.Beta2),
		Rate: float32(s.LR / (1 - math.Pow(p.Beta1, t))), Root: float32(1 / math.Sqrt(1-math.Pow(p.Beta2, t))),
	}
	s.set.AdamW(w, g, first, second, &s.constants)
}

// The number of steps as State keeps it: two numbers that float32 holds exactly.
const (
	stepsName = "steps" // [2]: multiples of stepsUnit, and the rest
	stepsUnit = 1 << 20
)

// State returns copies of what the next steps depend on beside weights and params, to be saved beside the weights: the
// moments, named first.…, second.… or velocity.… after the tensors, and the number of steps.
func (s *Solver) State() []net.Tensor {
	var state []net.Tensor
	add := func(name string, shape []int, data []float32) {
		state = append(state, net.Tensor{Spec: net.Spec{Name: name, Shape: slices.Clone(shape)}, Data: slices.Clone(data)})
	}
	for k, prefix := range s.names() {
		for i, t := range s.weights.Tensors() {
			add(prefix+t.Name, t.Shape, s.moments[i][k])
		}
	}
	add(stepsName, []int{2}, []float32{float32(s.steps / stepsUnit), float32(s.steps % stepsUnit)})
	return state
}

// Restore sets the moments and the number of steps to what State returned for a Solver of the same kind and Arch, in
// any order. Anything else is an error and changes nothing.
func (s *Solver) Restore(state []net.Tensor) error {
	want := s.State()
	if len(state) != len(want) {
		return fmt.Errorf("restore solver: %d tensors, want %d: the state is of another kind of solver or another arch", len(state), len(want))
	}
	got := make(map[string]net.Tensor)
	for _, t := range state {
		got[t.Name] = t
	}
	for _, t := range want {
		g, ok := got[t.Name]
		if !ok {
			return fmt.Errorf("restore solver: no tensor %s: the state is of another kind of solver or another arch", t.Name)
		}
		if !slices.Equal(g.Shape, t.Shape) || len(g.Data) != len(t.Data) {
			return fmt.Errorf("restore solver: %s is %v with %d numbers, want %v", t.Name, g.Shape, len(g.Data), t.Shape)
		}
	}
	steps := int64(0)
	for i, v := range got[stepsName].Data {
		if !(v >= 0 && v < stepsUnit && v == float32(math.Trunc(float64(v)))) {
			return fmt.Errorf("restore solver: %s is %v: want two whole numbers below %d", stepsName, got[stepsName].Data, stepsUnit)
		}
		steps += int64(v) * []int64{stepsUnit, 1}[i]
	}
	for k, prefix := range s.names() {
		for i, t := range s.weights.Tensors() {
			copy(s.moments[i][k], got[prefix+t.Name].Data)
		}
	}
	s.steps = steps
	return nil
}
