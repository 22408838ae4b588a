package graph

import (
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"yinshzero/net/kernel"
)

// A tap is one head's part of the gradient of the trunk's activations: add adds it to dx, [rows], as if there were no
// ReLU, from the values of the nodes. It spares every head but the value's a tensor of the activations' size.
type tap struct {
	nodes []*G.Node
	add   func(dx []float32, in [][]float32)
}

// pool adds the pooled vectors of activations x, [rows][2·channels], to the graph: the mean of every channel over the
// points of the row's board, then the maximum. taps are further parts of the gradient of x: those that are there when the
// pooled vectors have theirs, as they are if the heads that they belong to have the vectors for an input.
func (r *replica) pool(name string, x *G.Node, taps *[]tap) (*G.Node, error) {
	c, size := r.arch.Channels, kernel.ActivationLen(r.arch.Channels)
	o, y, err := apply(name+"pool", func(out []float32, in [][]float32) {
		for i, cells := range r.rows.cells {
			p := out[i*2*c:][:2*c]
			r.set.Pool(p[:c], p[c:], in[0][i*size:][:size], c, cells)
		}
	}, tensor.Shape{r.size, 2 * c}, x)
	if err != nil {
		return nil, err
	}
	o.wrt[0] = true
	o.diff = func(grad *G.Node) (G.Nodes, error) {
		share := make([]float32, c)
		in := []*G.Node{x, y, grad}
		for _, t := range *taps {
			in = append(in, t.nodes...)
		}
		_, dx, err := apply(name+"dpool", func(out []float32, in [][]float32) {
			if len(*taps) > 0 {
				clear(out)
			}
			rest := in[3:]
			for _, t := range *taps {
				t.add(out, rest[:len(t.nodes)])
				rest = rest[len(t.nodes):]
			}
			for i, cells := range r.rows.cells {
				top, d := in[1][i*2*c+c:][:c], in[2][i*2*c:][:2*c]
				for j := range share {
					share[j] = d[j] / float32(len(cells))
				}
				dx, x := out[i*size:][:size], in[0][i*size:][:size]
				if len(*taps) == 0 {
					r.set.Unpool(dx, x, top, share, d[c:], c, cells)
				} else {
					r.set.UnpoolAdd(dx, x, top, share, d[c:], c, cells)
				}
			}
		}, x.Shape().Clone(), in...)
		return G.Nodes{dx}, err
	}
	return y, nil
}
