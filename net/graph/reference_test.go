package graph

import (
	"math"

	"yinshzero/net"
	"yinshzero/net/kernel"
	"yinshzero/rules"
)

// reference is the network that package net documents, in plain float64 loops over images [channel][121].
type reference struct {
	arch net.Arch
	t    map[string][]float64
}

func newReference(w *net.Weights) *reference {
	r := &reference{w.Arch(), map[string][]float64{}}
	for _, t := range w.Tensors() {
		r.t[t.Name] = wide(t.Data)
	}
	return r
}

func wide(x []float32) []float64 {
	o := make([]float64, len(x))
	for i, v := range x {
		o[i] = float64(v)
	}
	return o
}

// difference is the central difference of the total loss with respect to one number.
func (r *reference) difference(p Params, es []Example, name string, i int) float64 {
	const h = 1e-6
	x := r.t[name]
	old := x[i]
	x[i] = old + h
	up := r.loss(p, es).Total
	x[i] = old - h
	down := r.loss(p, es).Total
	x[i] = old
	return (up - down) / (2 * h)
}

func (r *reference) loss(p Params, es []Example) Losses {
	var l Losses
	var policyWeight, valueWeight float64
	for i := range es {
		e := &es[i]
		logits, wdl, rings := r.forward(e)
		class := make([]float32, net.NumRings)
		class[e.Rings] = 1
		policy, value, ring := crossEntropy(logits, e.Policy), crossEntropy(wdl, e.WDL[:]), crossEntropy(rings, class)
		pw, vw := float64(e.PolicyWeight), float64(e.ValueWeight)
		l.Policy, l.Value, l.Rings = l.Policy+pw*policy, l.Value+vw*value, l.Rings+vw*ring
		policyWeight, valueWeight = policyWeight+pw, valueWeight+vw
	}
	l.Total = (p.PolicyLoss*l.Policy + p.ValueLoss*l.Value + p.RingsLoss*l.Rings) / float64(len(es))
	l.Policy, l.Value, l.Rings = l.Policy/policyWeight, l.Value/valueWeight, l.Rings/valueWeight
	return l
}

// crossEntropy is -Σ target·log softmax(logits).
func crossEntropy(logits []float64, target []float32) float64 {
	top, sum, h := math.Inf(-1), 0.0, 0.0
	for _, v := range logits {
		top = max(top, v)
	}
	for _, v := range logits {
		sum += math.Exp(v - top)
	}
	for i, v := range logits {
		h -= float64(target[i]) * (v - top - math.Log(sum))
	}
	return h
}

func (r *reference) conv(x []float64, in int, name string, extra, skip []float64) []float64 {
	w, s, b := r.t[name+net.WeightName], r.t[name+net.ScaleName], r.t[name+net.BiasName]
	out := len(s)
	y := make([]float64, out*kernel.Cells)
	sum := make([]float64, out)
	for _, p := range kernel.Grid {
		clear(sum)
		for tap := range 9 {
			cy, cx := p/kernel.Side+tap/3-1, p%kernel.Side+tap%3-1
			if cy < 0 || cy >= kernel.Side || cx < 0 || cx >= kernel.Side {
				continue
			}
			for c := range in {
				if v := x[c*kernel.Cells+cy*kernel.Side+cx]; v != 0 {
					for o, u := range w[(tap*in+c)*out:][:out] {
						sum[o] += v * u
					}
				}
			}
		}
		for o := range out {
			v := s[o]*sum[o] + b[o] + extra[o]
			if skip != nil {
				v += skip[o*kernel.Cells+p]
			}
			y[o*kernel.Cells+p] = max(0, v)
		}
	}
	return y
}

func times(x, w []float64, out int) []float64 {
	y := make([]float64, out)
	for i, v := range x {
		for o := range y {
			y[o] += v * w[i*out+o]
		}
	}
	return y
}

func (r *reference) pool(x, board []float64) []float64 {
	c := r.arch.Channels
	p := make([]float64, 2*c)
	for i := range c {
		n := 0.0
		for cell, on := range board {
			if on != 0 {
				n++
				p[i] += x[i*kernel.Cells+cell]
				p[c+i] = max(p[c+i], x[i*kernel.Cells+cell])
			}
		}
		p[i] /= n
	}
	return p
}

func (r *reference) forward(e *Example) (logits, wdl, rings []float64) {
	c := r.arch.Channels
	planes := wide(e.Planes[:net.NumPlanes*net.Cells])
	globals := wide(e.Planes[net.NumPlanes*net.Cells:])
	board := planes[net.PlaneBoard*net.Cells:][:net.Cells]
	x := r.conv(planes, net.NumPlanes, net.InputConv, times(globals, r.t[net.GlobalsFC], c), nil)
	for i := range r.arch.Blocks {
		none := make([]float64, c)
		h := r.conv(x, c, net.Block(i)+net.Conv1, none, nil)
		extra := none
		if r.arch.Pools(i) {
			extra = times(r.pool(h, board), r.t[net.Block(i)+net.PoolFC], c)
		}
		x = r.conv(h, c, net.Block(i)+net.Conv2, extra, x)
	}
	dense := func(x []float64, name string) []float64 {
		b := r.t[name+net.BiasName]
		y := times(x, r.t[name+net.WeightName], len(b))
		for i := range y {
			y[i] += b[i]
		}
		return y
	}
	h := dense(append(r.pool(x, board), globals...), net.ValueDense)
	for i := range h {
		h[i] = max(0, h[i])
	}
	return r.logits(x, e.Legal), dense(h, net.WDLHead), dense(h, net.RingsHead)
}

func (r *reference) logits(x []float64, legal []rules.Move) []float64 {
	var logits []float64
	for _, m := range legal {
		plane, cell := net.PolicyIndex(m)
		v := r.t[net.PolicyHead+net.BiasName][plane]
		for ch := range r.arch.Channels {
			v += x[ch*kernel.Cells+cell] * r.t[net.PolicyHead+net.WeightName][ch*net.PolicyPlanes+plane]
		}
		logits = append(logits, v)
	}
	return logits
}
