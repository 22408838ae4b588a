package graph

import (
	"math"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// crossEntropy adds -Σ target·log softmax(logits) of every row, [rows], to the graph; logits and target are
// [rows][width]. The targets of a row need not sum to 1: their sum is the row's weight, and a row of weight 0 costs
// exactly nothing. Gorgonia's LogSoftMax starts each row's maximum from the first number of the whole tensor, and
// gives infinities in a row that lies far below it.
func (r *replica) crossEntropy(name string, logits, target *G.Node) (*G.Node, error) {
	width := logits.Shape()[1]
	share := make([]float32, r.size*width) // softmax of the logits
	o, y, err := apply(name+".loss", func(out []float32, in [][]float32) {
		for i := range out {
			out[i] = rowCrossEntropy(share[i*width:][:width], in[0][i*width:][:width], in[1][i*width:][:width])
		}
	}, tensor.Shape{r.size}, logits, target)
	if err != nil {
		return nil, err
	}
	o.wrt[0] = true
	o.diff = func(grad *G.Node) (G.Nodes, error) {
		_, d, err := apply(name+".dlogits", func(out []float32, in [][]float32) { // y is an input so that it runs first
			for i, g := range in[2] {
				target, row, p := in[0][i*width:][:width], out[i*width:][:width], share[i*width:][:width]
				weight := float32(0)
				for _, t := range target {
					weight += t
				}
				for k, t := range target {
					row[k] = g * (weight*p[k] - t)
				}
			}
		}, logits.Shape().Clone(), target, y, grad)
		return G.Nodes{d, nil}, err
	}
	return y, nil
}

// rowCrossEntropy sets p to softmax(logits) and returns -Σ target·log p; both are zero if the target is.
func rowCrossEntropy(p, logits, target []float32) float32 {
	weight := float32(0)
	for _, t := range target {
		weight += t
	}
	if weight == 0 {
		clear(p)
		return 0
	}
	top := logits[0]
	for _, v := range logits {
		top = max(top, v)
	}
	sum := 0.0
	for k, v := range logits {
		e := 0.0
		if v != masked {
			e = math.Exp(float64(v - top))
		}
		p[k] = float32(e)
		sum += e
	}
	log, inverse, loss := math.Log(sum), float32(1/sum), 0.0
	for k, t := range target {
		p[k] *= inverse
		if t != 0 {
			loss -= float64(t) * (float64(logits[k]-top) - log)
		}
	}
	return float32(loss)
}
