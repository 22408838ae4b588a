package graph

import (
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"yinshzero/net"
	"yinshzero/net/kernel"
)

// ownership adds the ownership head and its loss to the graph, [rows]: for every row its weight, [rows][1], times the mean
// over the board's Points of -log softmax(logits of the Point)[owner]. A row of weight 0 costs exactly nothing.
func (r *replica) ownership(x, weight *G.Node) (*G.Node, error) {
	const classes = net.NumOwners
	c, size := r.arch.Channels, kernel.ActivationLen(r.arch.Channels)
	w, b := r.param(net.OwnershipHead+net.WeightName), r.param(net.OwnershipHead+net.BiasName)
	columns := make([]float32, classes*c)               // w by class
	d := make([][kernel.Cells][classes]float32, r.size) // gradient of every row's loss with respect to the logits
	o, y, err := apply(net.OwnershipHead+"loss", func(out []float32, in [][]float32) {
		transpose(columns, in[1], c, classes)
		for i, cells := range r.rows.cells {
			out[i] = 0
			weight := in[3][i] / float32(len(cells))
			if weight == 0 {
				continue
			}
			x := in[0][i*size:][:size]
			for _, cell := range cells {
				var logits, target [classes]float32
				for k := range logits {
					logits[k] = in[2][k] + dotColumn(x, columns[k*c:][:c], cell)
				}
				target[r.rows.owners[i][cell]] = weight
				p := &d[i][cell]
				out[i] += rowCrossEntropy(p[:], logits[:], target[:])
				for k := range p {
					p[k] = weight*p[k] - target[k]
				}
			}
		}
	}, tensor.Shape{r.size}, x, w, b, weight)
	if err != nil {
		return nil, err
	}
	o.wrt = []bool{true, true, true, false}
	o.diff = func(grad *G.Node) (G.Nodes, error) {
		grads := make(G.Nodes, 4)
		// each calls f for every Point of the rows that have a target. y is an input of the operations so that it runs first.
		each := func(f func(row, cell int)) {
			for i, cells := range r.rows.cells {
				if r.rows.data[inEndWeight][i] != 0 {
					for _, cell := range cells {
						f(i, cell)
					}
				}
			}
		}
		var err error
		if _, grads[0], err = apply(net.OwnershipHead+"dx", func(dx []float32, in [][]float32) {
			clear(dx)
			each(func(i, cell int) {
				x, dx := in[0][i*size:][:size], dx[i*size:][:size]
				for k, v := range d[i][cell] {
					addToColumn(dx, in[1][i]*v, columns[k*c:][:c], cell)
				}
				gateColumn(dx, x, cell)
			})
		}, x.Shape().Clone(), x, grad, y); err != nil {
			return nil, err
		}
		dcolumns := make([]float32, classes*c)
		if _, grads[1], err = apply(net.OwnershipHead+"dw", func(dw []float32, in [][]float32) {
			clear(dcolumns)
			each(func(i, cell int) {
				for k, v := range d[i][cell] {
					addColumn(dcolumns[k*c:][:c], in[1][i]*v, in[0][i*size:][:size], cell)
				}
			})
			transpose(dw, dcolumns, classes, c)
		}, w.Shape().Clone(), x, grad, y); err != nil {
			return nil, err
		}
		_, grads[2], err = apply(net.OwnershipHead+"db", func(db []float32, in [][]float32) {
			clear(db)
			each(func(i, cell int) {
				for k, v := range d[i][cell] {
					db[k] += in[0][i] * v
				}
			})
		}, b.Shape().Clone(), grad, y)
		return grads, err
	}
	return y, nil
}
