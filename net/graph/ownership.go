package graph

import (
	"math"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"yinshzero/net"
	"yinshzero/net/kernel"
)

// ownership adds the ownership head and its loss to the graph, [rows]: for every row its weight, [rows][1], times the mean
// over the board's Points of -log softmax(logits of the Point)[owner]. A row of weight 0 costs exactly nothing. pooled are
// the pooled vectors of x, whose gradient takes up that of the logits.
func (r *replica) ownership(x, weight, pooled *G.Node) (*G.Node, error) {
	const classes = net.NumOwners
	c, size := r.arch.Channels, kernel.ActivationLen(r.arch.Channels)
	w, b := r.param(net.OwnershipHead+net.WeightName), r.param(net.OwnershipHead+net.BiasName)
	columns := make([]float32, classes*c) // w by class
	// The gradient of every row's loss with respect to the logits of its Points, in the order of their cells.
	d := make([][kernel.Points][classes]float32, r.size)
	o, y, err := apply(net.OwnershipHead+"loss", func(out []float32, in [][]float32) {
		transpose(columns, in[1], c, classes)
		bias := [classes]float32(in[2])
		for i, cells := range r.rows.cells {
			out[i] = 0
			weight := in[3][i] / float32(len(cells))
			if weight == 0 {
				continue
			}
			loss, x, owners := float32(0), in[0][i*size:][:size], &r.rows.owners[i]
			for n, cell := range cells {
				logits := bias
				for k := range logits {
					logits[k] += r.set.DotColumn(x, columns[k*c:][:c], cell)
				}
				loss += ownerLoss(&d[i][n], &logits, owners[cell], weight)
			}
			out[i] = weight * loss
		}
	}, tensor.Shape{r.size}, x, w, b, weight, pooled)
	if err != nil {
		return nil, err
	}
	o.wrt = []bool{false, true, true, false, false}
	// each calls f for every row with a target. y is an input of the operations that use it, so that it runs first.
	each := func(f func(row int, cells []int)) {
		for i, cells := range r.rows.cells {
			if r.rows.row(inEndWeight, i)[0] != 0 {
				f(i, cells)
			}
		}
	}
	o.diff = func(grad *G.Node) (G.Nodes, error) {
		var err error
		grads := make(G.Nodes, 5)
		r.taps = append(r.taps, tap{[]*G.Node{grad, y}, func(dx []float32, in [][]float32) {
			each(func(i int, cells []int) {
				for n, cell := range cells {
					for k, v := range d[i][n] {
						r.set.AddToColumn(dx[i*size:][:size], cell, in[0][i]*v, columns[k*c:][:c])
					}
				}
			})
		}})
		dcolumns := make([]float32, classes*c)
		if _, grads[1], err = apply(net.OwnershipHead+"dw", func(dw []float32, in [][]float32) {
			clear(dcolumns)
			each(func(i int, cells []int) {
				for n, cell := range cells {
					for k, v := range d[i][n] {
						r.set.AddColumn(dcolumns[k*c:][:c], in[1][i]*v, in[0][i*size:][:size], cell)
					}
				}
			})
			transpose(dw, dcolumns, classes, c)
		}, w.Shape().Clone(), x, grad, y); err != nil {
			return nil, err
		}
		_, grads[2], err = apply(net.OwnershipHead+"db", func(db []float32, in [][]float32) {
			clear(db)
			each(func(i int, cells []int) {
				for n := range cells {
					for k, v := range d[i][n] {
						db[k] += in[0][i] * v
					}
				}
			})
		}, b.Shape().Clone(), grad, y)
		return grads, err
	}
	return y, nil
}

// ownerLoss returns -log softmax(logits)[owner] and sets d to weight times its gradient.
func ownerLoss(d, logits *[net.NumOwners]float32, owner uint8, weight float32) float32 {
	top, sum := max(logits[0], logits[1], logits[2]), float32(0)
	for k, v := range logits {
		d[k] = float32(math.Exp(float64(v - top)))
		sum += d[k]
	}
	for k := range d {
		d[k] *= weight / sum
	}
	d[owner] -= weight
	return top - logits[owner] + float32(math.Log(float64(sum)))
}
