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

// loss is the total and, by loss, the mean by weight.
func (r *reference) loss(p Params, es []Example) Losses {
	var sum, weight [numLosses]float64
	for i := range es {
		e := &es[i]
		f := r.forward(e)
		add := func(loss int, w float32, h float64) {
			if bit := heads[loss].bit; bit == 0 || r.arch.Has(bit) {
				sum[loss] += float64(w) * h
				weight[loss] += float64(w)
			}
		}
		add(lossPolicy, e.PolicyWeight, crossEntropy(f.policy, e.Policy))
		add(lossWDL, e.ValueWeight, crossEntropy(f.wdl, e.WDL[:]))
		add(lossRings, e.ValueWeight, crossEntropy(f.rings, class(e.Rings, net.NumRings)))
		add(lossReply, e.ReplyWeight, crossEntropy(f.reply, e.Reply))
		owners := 0.0
		for cell, logits := range f.ownership {
			owners += crossEntropy(logits, class(int(e.Owners[cell]), net.NumOwners)) / float64(len(f.ownership))
		}
		add(lossOwnership, e.EndWeight, owners)
		add(lossPlies, e.EndWeight, crossEntropy(f.plies, class(e.Plies, net.NumPlies)))
	}
	var l Losses
	for i, w := range p.losses() {
		l.Total += w * sum[i] / float64(len(es))
		*[numLosses]*float64{&l.Policy, &l.Value, &l.Rings, &l.Reply, &l.Ownership, &l.Plies}[i] = sum[i] / max(weight[i], 1e-9)
	}
	return l
}

// class is the whole target on one of n classes.
func class(i, n int) []float32 {
	t := make([]float32, n)
	t[i] = 1
	return t
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

// An answer is the logits of every head, those of ownership by grid index.
type answer struct {
	policy, wdl, rings, reply, plies []float64
	ownership                        map[int][]float64
}

func (r *reference) forward(e *Example) (a answer) {
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
	a.policy, a.wdl = r.moveLogits(x, net.PolicyHead, e.Legal), dense(h, net.WDLHead)
	if r.arch.Has(net.Rings) {
		a.rings = dense(h, net.RingsHead)
	}
	if r.arch.Has(net.Reply) {
		a.reply = r.moveLogits(x, net.ReplyHead, e.ReplyLegal)
	}
	if r.arch.Has(net.Ownership) {
		a.ownership = r.owners(x, board)
	}
	if r.arch.Has(net.Plies) {
		a.plies = dense(h, net.PliesHead)
	}
	return a
}

// at is an output of a head at a cell.
func (r *reference) at(x []float64, head string, output, cell int) float64 {
	b := r.t[head+net.BiasName]
	v := b[output]
	for ch := range r.arch.Channels {
		v += x[ch*kernel.Cells+cell] * r.t[head+net.WeightName][ch*len(b)+output]
	}
	return v
}

func (r *reference) moveLogits(x []float64, head string, moves []rules.Move) []float64 {
	var logits []float64
	for _, m := range moves {
		plane, cell := net.PolicyIndex(m)
		logits = append(logits, r.at(x, head, plane, cell))
	}
	return logits
}

func (r *reference) owners(x, board []float64) map[int][]float64 {
	logits := map[int][]float64{}
	for cell, on := range board {
		for k := range net.NumOwners {
			if on != 0 {
				logits[cell] = append(logits[cell], r.at(x, net.OwnershipHead, k, cell))
			}
		}
	}
	return logits
}
