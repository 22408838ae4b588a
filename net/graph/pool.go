package graph

import (
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"yinshzero/net/kernel"
)

// pool adds the pooled vectors of activations x, [rows][2·channels], to the graph: the mean of every channel over the
// points of the row's board, then the maximum.
func (r *replica) pool(name string, x *G.Node) (*G.Node, error) {
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
		_, dx, err := apply(name+"dpool", func(out []float32, in [][]float32) {
			for i, cells := range r.rows.cells {
				top, d := in[1][i*2*c+c:][:c], in[2][i*2*c:][:2*c]
				for j := range share {
					share[j] = d[j] / float32(len(cells))
				}
				r.set.Unpool(out[i*size:][:size], in[0][i*size:][:size], top, share, d[c:], c, cells)
			}
		}, x.Shape().Clone(), x, y, grad)
		return G.Nodes{dx}, err
	}
	return y, nil
}
