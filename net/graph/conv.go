package graph

import (
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"yinshzero/net"
	"yinshzero/net/kernel"
)

// A layer is a 3x3 convolution with its weights packed for the kernels; all replicas share it.
type layer struct {
	name       string
	in, out    int
	conv, back kernel.Conv
	w, s, b    []float32 // the tensors of the Weights: [3][3][in][out], [out], [out]
	u, ub      []float32 // packed: scaled weights, and their transpose (nil if the input has no gradient)
}

func newLayer(set *kernel.Set, w *net.Weights, name string, gradient bool) *layer {
	weight := w.Tensor(name + net.WeightName)
	l := &layer{
		name: name, in: weight.Shape[2], out: weight.Shape[3],
		w: weight.Data, s: w.Tensor(name + net.ScaleName).Data, b: w.Tensor(name + net.BiasName).Data,
	}
	l.conv = kernel.NewConv(set, l.in, l.out)
	l.u = kernel.Alloc(l.conv.PackedLen())
	if gradient {
		l.back = kernel.NewConv(set, l.out, l.in)
		l.ub = kernel.Alloc(l.back.PackedLen())
	}
	return l
}

// pack brings the packed weights up to date. scaled and transposed are scratch of at least the weights' length.
func (l *layer) pack(scaled, transposed []float32) {
	scaled, transposed = scaled[:len(l.w)], transposed[:len(l.w)]
	for i := 0; i < len(l.w); i += l.out {
		w, o := l.w[i:][:l.out], scaled[i:][:l.out]
		for j, s := range l.s {
			o[j] = w[j] * s
		}
	}
	l.conv.Pack(l.u, scaled)
	if l.ub != nil {
		kernel.Transpose(transposed, scaled, l.in, l.out)
		l.back.Pack(l.ub, transposed)
	}
}

// A convolution is a layer's place in one replica's graph. Its parameter there is the layer's packed weights, with the
// bias: their gradients sum up over the runs of the graph until [convolution.take] turns them into those of the tensors.
type convolution struct {
	*layer
	node   *G.Node // of the packed weights
	out    *G.Node
	du, db []float32 // gradients of packed weights and bias
	// skipGrad is the gradient that arrives over the skip connection which begins at this convolution's input.
	skipGrad *G.Node
}

// A skip is a residual connection that ends at a convolution: the activations x enter first and, past it, are added.
type skip struct {
	x     *G.Node
	first *convolution // whose input is x, and which takes up the connection's gradient
}

// convolve adds y = relu(scale·conv(x) + bias [+ extra] [+ skip]) to the graph. extra, nil or [rows][out], is a further
// bias of every row. The gradient that arrives at y must be zero where y is.
func (r *replica) convolve(l *layer, x, extra *G.Node, sk *skip) (*convolution, error) {
	c := &convolution{layer: l, db: make([]float32, l.out)}
	in := []*G.Node{x, r.packed(c)}
	if extra != nil {
		in = append(in, extra)
	}
	if sk != nil {
		in = append(in, sk.x)
	}
	bias := make([]float32, r.size*l.out)
	size := tensor.Shape{r.size, kernel.ActivationLen(l.out)}
	o, y, err := apply(l.name+"forward", func(out []float32, in [][]float32) {
		bias, res := bias, []float32(nil)
		if extra == nil {
			bias = l.b
		} else {
			for i, e := range in[2] {
				bias[i] = l.b[i%l.out] + e
			}
		}
		if sk != nil {
			res = in[len(in)-1]
		}
		l.conv.Forward(r.scratch, r.size, out, in[0], l.u, bias, res)
	}, size, in...)
	if err != nil {
		return nil, err
	}
	c.out = y
	o.wrt[0] = l.ub != nil
	for i := 1; i < len(in); i++ {
		o.wrt[i] = sk == nil || i < len(in)-1
	}
	o.diff = func(grad *G.Node) (G.Nodes, error) {
		grads := make(G.Nodes, len(in))
		if sk != nil {
			sk.first.skipGrad = grad
		}
		if o.wrt[0] {
			if grads[0], err = r.convolveDX(c, x, grad); err != nil {
				return nil, err
			}
		}
		if grads[1], err = r.convolveDU(c, x, grad); err != nil {
			return nil, err
		}
		if extra != nil {
			_, grads[2], err = apply(l.name+"dextra", func(out []float32, in [][]float32) {
				clear(out)
				for i := range r.size * l.out / kernel.Lanes {
					r.set.Sum(out[i*kernel.Lanes:], in[0][i*kernel.Lanes*kernel.Cells:], kernel.Cells)
				}
			}, tensor.Shape{r.size, l.out}, grad)
		}
		return grads, err
	}
	return c, nil
}

// convolveDX is the gradient of the input, with that of a skip connection which begins there.
func (r *replica) convolveDX(c *convolution, x, grad *G.Node) (*G.Node, error) {
	in := []*G.Node{x, grad}
	if c.skipGrad != nil {
		in = append(in, c.skipGrad)
	}
	_, dx, err := apply(c.name+"dx", func(out []float32, in [][]float32) {
		var res []float32
		if len(in) > 2 {
			res = in[2]
		}
		c.back.Backward(r.scratch, r.size, out, in[1], c.ub, in[0], res)
	}, x.Shape().Clone(), in...)
	return dx, err
}

// convolveDU is the gradient of the packed weights, summed up.
func (r *replica) convolveDU(c *convolution, x, grad *G.Node) (*G.Node, error) {
	o, du, err := apply(c.name+"du", func(out []float32, in [][]float32) {
		c.conv.Accumulate(r.weightScratch, r.size, out, c.db, in[0], in[1])
	}, tensor.Shape{c.conv.PackedLen()}, x, grad)
	if err != nil {
		return nil, err
	}
	c.du = o.out.Float32s()
	return du, nil
}

// take sets dw, ds and db to the gradients of the layer's tensors and begins the sums anew. raw is scratch of the length
// of the weights.
func (c *convolution) take(dw, ds, db, raw []float32) {
	raw = raw[:len(dw)]
	c.conv.Unpack(raw, c.du) // of scale·w
	clear(ds)
	for i := 0; i < len(dw); i += len(ds) {
		w, g, d := c.w[i:][:len(ds)], raw[i:][:len(ds)], dw[i:][:len(ds)]
		for j, s := range c.s {
			ds[j] += g[j] * w[j]
			d[j] = g[j] * s
		}
	}
	copy(db, c.db)
	clear(c.db)
}
