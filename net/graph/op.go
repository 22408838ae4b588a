package graph

import (
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"yinshzero/internal/crash"
)

// An op is a Gorgonia operation over float32 slices. It owns its output, which it writes anew at every run.
type op struct {
	name   string // unique in its graph, else Gorgonia takes two operations for one
	dims   []int  // dimensions of the inputs
	shape  tensor.Shape
	out    *tensor.Dense
	inputs [][]float32

	// do fills out from the data of the inputs.
	do func(out []float32, in [][]float32)
	// diff returns the gradient of every input, nil for one that is not differentiable; a nil diff is for operations
	// of the backward pass.
	diff func(grad *G.Node) (G.Nodes, error)
	// wrt tells which inputs are differentiable.
	wrt []bool
}

// apply adds an operation to the inputs' graph. The caller sets diff and wrt on the result's op if it has them.
func apply(name string, do func(out []float32, in [][]float32), shape tensor.Shape, in ...*G.Node) (*op, *G.Node, error) {
	o := &op{name: name, shape: shape, do: do, inputs: make([][]float32, len(in)), wrt: make([]bool, len(in))}
	for _, n := range in {
		o.dims = append(o.dims, n.Dims())
	}
	o.out = tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(shape...))
	n, err := G.ApplyOp(o, in...)
	if err != nil {
		return nil, nil, fmt.Errorf("add %s to the graph: %w", name, err)
	}
	return o, n, nil
}

// Arity is Gorgonia's count of inputs.
func (o *op) Arity() int { return len(o.dims) }

// Type is Gorgonia's type: tensors of so many dimensions to one.
func (o *op) Type() hm.Type {
	a := hm.TypeVariable('a')
	var ts []hm.Type
	for _, d := range append(o.dims[:len(o.dims):len(o.dims)], len(o.shape)) {
		ts = append(ts, G.TensorType{Dims: d, Of: a})
	}
	return hm.NewFnType(ts...)
}

// InferShape is the output's shape.
func (o *op) InferShape(...G.DimSizer) (tensor.Shape, error) { return o.shape.Clone(), nil }

// Do runs the operation. Gorgonia does so in a goroutine of its own: a panic would end the process, and is returned as a
// *crash.Error.
func (o *op) Do(in ...G.Value) (G.Value, error) {
	for i, v := range in {
		d, ok := v.(*tensor.Dense)
		if !ok || d.Dtype() != tensor.Float32 {
			return nil, fmt.Errorf("run %s: input %d is a %T, want a tensor of float32", o.name, i, v)
		}
		o.inputs[i] = d.Float32s()
	}
	if err := crash.Catch(func() error { o.do(o.out.Float32s(), o.inputs); return nil }); err != nil {
		return nil, err
	}
	return o.out, nil
}

// ReturnsPtr tells Gorgonia not to copy the output.
func (o *op) ReturnsPtr() bool { return true }

// CallsExtern is false: Gorgonia allocates nothing for the output.
func (o *op) CallsExtern() bool { return false }

// OverwritesInput is -1: it overwrites none.
func (o *op) OverwritesInput() int { return -1 }

// WriteHash writes the name.
func (o *op) WriteHash(h hash.Hash) { fmt.Fprint(h, o.name) }

// Hashcode is the hash of the name.
func (o *op) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

// String is the name.
func (o *op) String() string { return o.name }

// DiffWRT tells which inputs are differentiable.
func (o *op) DiffWRT(int) []bool { return o.wrt }

// SymDiff builds the backward operations.
func (o *op) SymDiff(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	if o.diff == nil {
		return nil, fmt.Errorf("differentiate %s: no derivative", o.name)
	}
	return o.diff(grad)
}
