package graph

import (
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"yinshzero/net"
	"yinshzero/net/kernel"
)

// A product is a dense layer's matrix [in][out] packed for the kernels; all replicas share it. Its first inputs have a
// gradient, the others are constants of the Position.
type product struct {
	name          string
	in, out       int
	variables     int // inputs with a gradient, a multiple of 32
	forward, back kernel.Dense
	w             []float32 // the tensor of the Weights
	u, ub, t      []float32 // packed, its transpose packed, and scratch
}

func newProduct(set *kernel.Set, w *net.Weights, name string, variables int) *product {
	weight := w.Tensor(name)
	p := &product{name: name, in: weight.Shape[0], out: weight.Shape[1], variables: variables, w: weight.Data}
	p.forward = kernel.NewDense(set, p.in, p.out)
	p.u = kernel.Alloc(p.forward.PackedLen())
	if variables > 0 {
		p.back = kernel.NewDense(set, p.out, variables)
		p.ub, p.t = kernel.Alloc(p.back.PackedLen()), kernel.Alloc(variables*p.out)
	}
	return p
}

// pack brings the packed weights up to date.
func (p *product) pack() {
	p.forward.Pack(p.u, p.w)
	if p.variables > 0 {
		transpose(p.t, p.w, p.variables, p.out)
		p.back.Pack(p.ub, p.t)
	}
}

// multiply adds y = (x, constants)·w, [rows][out], to the graph. x is nil if the product has no variables, constants if
// it has nothing else.
func (r *replica) multiply(p *product, x, constants *G.Node) (*G.Node, error) {
	w := r.param(p.name)
	in := []*G.Node{w}
	for _, n := range []*G.Node{x, constants} {
		if n != nil {
			in = append(in, n)
		}
	}
	rows := kernel.Alloc(r.size * kernel.Blocks(p.in) * kernel.Lanes) // the input, kept for the weights' gradient
	out := kernel.Alloc(r.size * p.out)                               // y as rows, then its gradient
	o, y, err := apply(p.name+".forward", func(y []float32, in [][]float32) {
		first := 0
		for _, m := range in[1:] {
			kernel.ToRows(rows, m, r.size, first)
			first += len(m) / r.size
		}
		p.forward.Forward(out, rows, p.u, r.size)
		kernel.FromRows(y, out, r.size)
	}, tensor.Shape{r.size, p.out}, in...)
	if err != nil {
		return nil, err
	}
	o.wrt[0] = true
	if x != nil {
		o.wrt[1] = true
	}
	o.diff = func(grad *G.Node) (G.Nodes, error) {
		grads := make(G.Nodes, len(in))
		du := kernel.Alloc(p.forward.PackedLen())
		var err error
		if _, grads[0], err = apply(p.name+".dw", func(dw []float32, in [][]float32) {
			kernel.ToRows(out, in[0], r.size, 0)
			p.forward.Gradients(dw, rows, out, du, r.size)
		}, w.Shape().Clone(), grad, y); err != nil || x == nil { // y is an input so that it runs first
			return grads, err
		}
		back := kernel.Alloc(r.size * p.variables)
		_, grads[1], err = apply(p.name+".dx", func(dx []float32, in [][]float32) {
			kernel.ToRows(out, in[0], r.size, 0)
			p.back.Forward(back, out, p.ub, r.size)
			kernel.FromRows(dx, back, r.size)
		}, x.Shape().Clone(), grad, y)
		return grads, err
	}
	return y, nil
}
