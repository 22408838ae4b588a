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
// Only these Moves' logits are computed. pooled are the pooled vectors of x, whose gradient takes up that of the logits.
func (r *replica) moveLogits(h *moveHead, x, pooled *G.Node) (*G.Node, error) {
	const width = rules.MaxMoves
	c, size := r.arch.Channels, kernel.ActivationLen(r.arch.Channels)
	w, b := r.param(h.name+net.WeightName), r.param(h.name+net.BiasName)
	o, y, err := apply(h.name+"forward", func(out []float32, in [][]float32) {
		for i, places := range r.rows.places[h.index] {
			x, y := in[0][i*size:][:size], out[i*width:][:width]
			for k, p := range places {
				y[k] = in[2][p.plane] + r.set.DotColumn(x, h.planes[int(p.plane)*c:][:c], int(p.cell))
			}
			for k := len(places); k < width; k++ {
				y[k] = masked
			}
		}
	}, tensor.Shape{r.size, width}, x, w, b, pooled)
	if err != nil {
		return nil, err
	}
	o.wrt = []bool{false, true, true, false}
	o.diff = func(grad *G.Node) (G.Nodes, error) {
		var err error
		grads := make(G.Nodes, 4)
		r.taps = append(r.taps, tap{[]*G.Node{grad}, func(dx []float32, in [][]float32) {
			for i, places := range r.rows.places[h.index] {
				for k, p := range places {
					r.set.AddToColumn(dx[i*size:][:size], int(p.cell), in[0][i*width+k], h.planes[int(p.plane)*c:][:c])
				}
			}
		}})
		dplanes := make([]float32, net.PolicyPlanes*c)
		if _, grads[1], err = apply(h.name+"dw", func(out []float32, in [][]float32) {
			clear(dplanes)
			for i, places := range r.rows.places[h.index] {
				x := in[0][i*size:][:size]
				for k, p := range places {
					r.set.AddColumn(dplanes[int(p.plane)*c:][:c], in[1][i*width+k], x, int(p.cell))
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

// transpose sets t, [columns][rows], to the transpose of m, [rows][columns].
func transpose(t, m []float32, rows, columns int) {
	for i := range rows {
		for j, v := range m[i*columns:][:columns] {
			t[j*rows+i] = v
		}
	}
}
