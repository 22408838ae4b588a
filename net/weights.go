package net

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// A Tensor is a named array of numbers, in row-major order.
type Tensor struct {
	Spec
	Data []float32 // Len() elements
}

// Weights are the numbers of a network: one Tensor for every Spec of its Arch. A Weights belongs to one goroutine;
// training changes the tensors in place.
type Weights struct {
	arch    Arch
	tensors []Tensor
	index   map[string]int
}

// newWeights is all zeros. a must be valid.
func newWeights(a Arch) *Weights {
	w := &Weights{arch: a, index: make(map[string]int)}
	for i, s := range a.Specs() {
		w.tensors = append(w.tensors, Tensor{s, make([]float32, s.Len())})
		w.index[s.Name] = i
	}
	return w
}

// Init returns weights to start training from, drawn from rng. a must be valid.
//
// Convolutions are normal with variance 2/fan-in (He et al., "Delving deep into rectifiers", 2015, equation 10), their
// scales 1, but 0.3 in the second of a block, so that the trunk starts close to the identity. The heads start small:
// nearly equal priors and values near 0. Biases are 0. The tensors are drawn in their order: the auxiliary heads, which
// are the last, change nothing about the others.
func Init(a Arch, rng *rand.Rand) *Weights {
	w := newWeights(a)
	for _, t := range w.tensors {
		fill := func(std float64) {
			for i := range t.Data {
				t.Data[i] = float32(std * rng.NormFloat64())
			}
		}
		switch name := t.Name; {
		case strings.HasSuffix(name, BiasName):
		case strings.HasSuffix(name, Conv2+ScaleName):
			constant(t.Data, 0.3)
		case strings.HasSuffix(name, ScaleName):
			constant(t.Data, 1)
		case len(t.Shape) == 4:
			fill(math.Sqrt(2 / float64(9*t.Shape[2])))
		case strings.HasSuffix(name, PoolFC), strings.HasPrefix(name, GlobalsFC):
			fill(0.3 / math.Sqrt(float64(t.Shape[0])))
		case name == ValueDense+WeightName:
			fill(math.Sqrt(2 / float64(t.Shape[0])))
		case name == PolicyHead+WeightName, name == ReplyHead+WeightName:
			fill(0.1 / math.Sqrt(float64(t.Shape[0])))
			for i := range t.Data {
				if i%PolicyPlanes >= planesInUse {
					t.Data[i] = 0
				}
			}
		default:
			fill(0.1 / math.Sqrt(float64(t.Shape[0])))
		}
	}
	return w
}

func constant(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}

// Arch is the shape of w.
func (w *Weights) Arch() Arch { return w.arch }

// Tensors returns all tensors, in the order of Arch.Specs. Their Data is w's own: writing to it changes w.
func (w *Weights) Tensors() []Tensor { return w.tensors }

// Tensor returns the tensor with a name that Arch.Specs lists; any other name is the caller's bug and panics. The Data is
// w's own.
func (w *Weights) Tensor(name string) Tensor {
	i, ok := w.index[name]
	if !ok {
		panic(fmt.Sprintf("net: weights of arch %v have no tensor %q", w.arch, name))
	}
	return w.tensors[i]
}

// Clone returns a copy that shares nothing with w.
func (w *Weights) Clone() *Weights {
	c := newWeights(w.arch)
	for i := range c.tensors {
		copy(c.tensors[i].Data, w.tensors[i].Data)
	}
	return c
}

// Equal reports whether v has the same Arch and the same numbers.
func (w *Weights) Equal(v *Weights) bool {
	return w.arch == v.arch && slices.EqualFunc(w.tensors, v.tensors, func(a, b Tensor) bool { return slices.Equal(a.Data, b.Data) })
}
