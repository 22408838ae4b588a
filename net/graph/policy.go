package graph

import (
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"yinshzero/net"
	"yinshzero/net/kernel"
	"yinshzero/rules"
)

// masked is the logit of the places past a row's legal Moves: its softmax is exactly zero.
const masked = -1e9

// A place is where the policy head keeps a Move's logit.
type place struct{ plane, cell uint8 }

// The heads with a logit for every Move.
const (
	policyMoves = iota
	replyMoves
	numMoveHeads
)

// moveTargets are their inputs.
var moveTargets = [numMoveHeads]int{inPolicy, inReply}

// A moveHead is the weights of such a head; all replicas share it.
type moveHead struct {
	name      string
	index     int       // policyMoves or replyMoves
	w, planes []float32 // the tensor of the Weights, [C][PolicyPlanes], and its transpose
}

func newMoveHead(w *net.Weights, name string, index int) *moveHead {
	t := w.Tensor(name + net.WeightName)
	return &moveHead{name, index, t.Data, kernel.Alloc(t.Len())}
}

// pack brings the transpose up to date.
func (h *moveHead) pack() {
	transpose(h.planes, h.w, len(h.w)/net.PolicyPlanes, net.PolicyPlanes)
}

// moveLogits adds the logits of every row's Moves to the graph, [rows][MaxMoves], in their order and masked past them.
// Only these Moves' logits are computed.
func (r *replica) moveLogits(h *moveHead, x *G.Node) (*G.Node, error) {
	const width = rules.MaxMoves
	c, size := r.arch.Channels, kernel.ActivationLen(r.arch.Channels)
	w, b := r.param(h.name+net.WeightName), r.param(h.name+net.BiasName)
	o, y, err := apply(h.name+"forward", func(out []float32, in [][]float32) {
		for i, places := range r.rows.places[h.index] {
			x, y := in[0][i*size:][:size], out[i*width:][:width]
			for k, p := range places {
				y[k] = in[2][p.plane] + dotColumn(x, h.planes[int(p.plane)*c:][:c], int(p.cell))
			}
			for k := len(places); k < width; k++ {
				y[k] = masked
			}
		}
	}, tensor.Shape{r.size, width}, x, w, b)
	if err != nil {
		return nil, err
	}
	o.wrt = []bool{true, true, true}
	o.diff = func(grad *G.Node) (G.Nodes, error) {
		var err error
		grads := make(G.Nodes, 3)
		if _, grads[0], err = apply(h.name+"dx", func(out []float32, in [][]float32) {
			clear(out)
			for i, places := range r.rows.places[h.index] {
				x, dx := in[0][i*size:][:size], out[i*size:][:size]
				var touched [kernel.Cells]bool
				for k, p := range places {
					addToColumn(dx, in[1][i*width+k], h.planes[int(p.plane)*c:][:c], int(p.cell))
					touched[p.cell] = true
				}
				for cell, t := range touched {
					if t {
						gateColumn(dx, x, int(cell))
					}
				}
			}
		}, x.Shape().Clone(), x, grad); err != nil {
			return nil, err
		}
		dplanes := make([]float32, net.PolicyPlanes*c)
		if _, grads[1], err = apply(h.name+"dw", func(out []float32, in [][]float32) {
			clear(dplanes)
			for i, places := range r.rows.places[h.index] {
				x := in[0][i*size:][:size]
				for k, p := range places {
					addColumn(dplanes[int(p.plane)*c:][:c], in[1][i*width+k], x, int(p.cell))
				}
			}
			transpose(out, dplanes, net.PolicyPlanes, c)
		}, w.Shape().Clone(), x, grad); err != nil {
			return nil, err
		}
		_, grads[2], err = apply(h.name+"db", func(out []float32, in [][]float32) {
			clear(out)
			for i, places := range r.rows.places[h.index] {
				for k, p := range places {
					out[p.plane] += in[0][i*width+k]
				}
			}
		}, b.Shape().Clone(), grad)
		return grads, err
	}
	return y, nil
}

// A column is the channels at one cell: sixteen in a row, the next sixteen a plane further on.

func lanes(x []float32, block, cell int) *[kernel.Lanes]float32 {
	return (*[kernel.Lanes]float32)(x[(block*kernel.Cells+cell)*kernel.Lanes:])
}

// dotColumn is the product of w with the column of x.
func dotColumn(x, w []float32, cell int) float32 {
	var s [4]float32
	for b := 0; b*kernel.Lanes < len(w); b++ {
		a, v := lanes(x, b, cell), (*[kernel.Lanes]float32)(w[b*kernel.Lanes:])
		for i := 0; i < kernel.Lanes; i += 4 {
			s[0] += a[i] * v[i]
			s[1] += a[i+1] * v[i+1]
			s[2] += a[i+2] * v[i+2]
			s[3] += a[i+3] * v[i+3]
		}
	}
	return s[0] + s[1] + s[2] + s[3]
}

// addToColumn adds g·w to the column of dx.
func addToColumn(dx []float32, g float32, w []float32, cell int) {
	for b := 0; b*kernel.Lanes < len(w); b++ {
		d, v := lanes(dx, b, cell), (*[kernel.Lanes]float32)(w[b*kernel.Lanes:])
		for i := range d {
			d[i] += g * v[i]
		}
	}
}

// addColumn adds g times the column of x to dw.
func addColumn(dw []float32, g float32, x []float32, cell int) {
	for b := 0; b*kernel.Lanes < len(dw); b++ {
		d, v := (*[kernel.Lanes]float32)(dw[b*kernel.Lanes:]), lanes(x, b, cell)
		for i := range d {
			d[i] += g * v[i]
		}
	}
}

// gateColumn zeroes the column of dx where that of x is zero.
func gateColumn(dx, x []float32, cell int) {
	for b := 0; b*kernel.Lanes*kernel.Cells < len(x); b++ {
		d, v := lanes(dx, b, cell), lanes(x, b, cell)
		for i := range d {
			if v[i] <= 0 {
				d[i] = 0
			}
		}
	}
}

// transpose sets t, [columns][rows], to the transpose of m, [rows][columns].
func transpose(t, m []float32, rows, columns int) {
	for i := range rows {
		for j, v := range m[i*columns:][:columns] {
			t[j*rows+i] = v
		}
	}
}
