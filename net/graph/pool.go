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
		_, dx, err := apply(name+"dpool", func(out []float32, in [][]float32) {
			clear(out)
			for i, cells := range r.rows.cells {
				x, dx, top, d := in[0][i*size:][:size], out[i*size:][:size], in[1][i*2*c+c:][:c], in[2][i*2*c:][:2*c]
				unpool(dx, x, top, d[:c], d[c:], cells)
			}
		}, x.Shape().Clone(), x, y, grad)
		return G.Nodes{dx}, err
	}
	return y, nil
}

// unpool adds to one board's dx the gradients of the means and the maxima of x, where x is positive. Of several cells
// that hold the maximum the first has its gradient.
func unpool(dx, x, top, dmean, dtop []float32, cells []int) {
	for b := 0; b < len(top); b += kernel.Lanes {
		var share, best [kernel.Lanes]float32
		for l := range share {
			share[l], best[l] = dmean[b+l]/float32(len(cells)), dtop[b+l]
		}
		xb, db := x[b*kernel.Cells:][:kernel.Lanes*kernel.Cells], dx[b*kernel.Cells:][:kernel.Lanes*kernel.Cells]
		for _, cell := range cells {
			v, d := (*[kernel.Lanes]float32)(xb[cell*kernel.Lanes:]), (*[kernel.Lanes]float32)(db[cell*kernel.Lanes:])
			for l := range v {
				if v[l] > 0 {
					d[l] += share[l]
					if v[l] == top[b+l] {
						d[l] += best[l]
						best[l] = 0
					}
				}
			}
		}
	}
}
