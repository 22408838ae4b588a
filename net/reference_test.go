package net

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"yinshzero/net/kernel"
	"yinshzero/rules"
)

// An answer is all that a network says about a Position; ownership is [121][3], zero off the board.
type answer struct{ logits, wdl, rings, reply, ownership, plies []float64 }

// reference is the network of the package comment in plain float64 loops over [channel][121].
func reference(w *Weights, planes []float32, legal, replies []rules.Move) (a answer) {
	c := w.arch.Channels
	get := func(name string) []float64 { return float64s(w.Tensor(name).Data) }
	board := planes[PlaneBoard*Cells:][:Cells]
	conv := func(x []float64, in int, name string, bias, res []float64) []float64 {
		weight, scale := get(name+WeightName), get(name+ScaleName)
		y := make([]float64, c*Cells)
		for pt := range rules.Point(rules.NumPoints) {
			for tap := range 9 {
				col, num := pt.Column()+tap/3-1, pt.Number()+tap%3-1
				if _, ok := rules.PointAt(col, num); !ok {
					continue
				}
				for i := range in {
					for o := range c {
						y[o*Cells+pt.Grid()] += x[i*Cells+rules.GridSize*col+num-1] * weight[(tap*in+i)*c+o] * scale[o]
					}
				}
			}
			for o := range c {
				v := &y[o*Cells+pt.Grid()]
				*v += bias[o]
				if res != nil {
					*v += res[o*Cells+pt.Grid()]
				}
				*v = max(0, *v)
			}
		}
		return y
	}
	affine := func(x, weight, bias []float64) []float64 {
		y := slices.Clone(bias)
		for i := range x {
			for o := range y {
				y[o] += x[i] * weight[i*len(y)+o]
			}
		}
		return y
	}
	pool := func(x []float64) []float64 {
		v, n := make([]float64, 2*c), 0.0
		for cell, on := range board {
			if on == 0 {
				continue
			}
			n++
			for o := range c {
				v[o] += x[o*Cells+cell]
				v[c+o] = max(v[c+o], x[o*Cells+cell])
			}
		}
		for o := range c {
			v[o] /= n
		}
		return v
	}
	in, globals := float64s(planes[:NumPlanes*Cells]), float64s(planes[NumPlanes*Cells:])
	x := conv(in, NumPlanes, InputConv, affine(globals, get(GlobalsFC), get(InputConv+BiasName)), nil)
	for i := range w.arch.Blocks {
		y := conv(x, c, Block(i)+Conv1, get(Block(i)+Conv1+BiasName), nil)
		bias := get(Block(i) + Conv2 + BiasName)
		if w.arch.Pools(i) {
			bias = affine(pool(y), get(Block(i)+PoolFC), bias)
		}
		x = conv(y, c, Block(i)+Conv2, bias, x)
	}
	at := func(head string, k, cell int) float64 {
		weight, l := get(head+WeightName), get(head + BiasName)[k]
		for o := range c {
			l += x[o*Cells+cell] * weight[o*(len(weight)/c)+k]
		}
		return l
	}
	for _, m := range legal {
		plane, cell := PolicyIndex(m)
		a.logits = append(a.logits, at(PolicyHead, plane, cell))
	}
	h := affine(append(pool(x), globals...), get(ValueDense+WeightName), get(ValueDense+BiasName))
	for i := range h {
		h[i] = max(0, h[i])
	}
	a.wdl = affine(h, get(WDLHead+WeightName), get(WDLHead+BiasName))

	a.rings, a.reply, a.ownership, a.plies = make([]float64, NumRings), make([]float64, len(replies)), make([]float64, Cells*NumOwners), make([]float64, NumPlies)
	if w.arch.Has(Rings) {
		a.rings = affine(h, get(RingsHead+WeightName), get(RingsHead+BiasName))
	}
	if w.arch.Has(Reply) {
		for i, m := range replies {
			plane, cell := PolicyIndex(m)
			a.reply[i] = at(ReplyHead, plane, cell)
		}
	}
	if w.arch.Has(Ownership) {
		for cell, on := range board {
			for k := range NumOwners {
				if on != 0 {
					a.ownership[cell*NumOwners+k] = at(OwnershipHead, k, cell)
				}
			}
		}
	}
	if w.arch.Has(Plies) {
		a.plies = affine(h, get(PliesHead+WeightName), get(PliesHead+BiasName))
	}
	return a
}

func float64s(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// randomWeights draws every number, biases and small heads too, so that no part of the network is without effect.
func randomWeights(a Arch, rng *rand.Rand) *Weights {
	w := Init(a, rng)
	for _, t := range w.tensors {
		std := 0.2
		if n := len(t.Shape); n > 1 {
			std = 1 / math.Sqrt(float64(t.Len()/t.Shape[n-1]))
		}
		for i := range t.Data {
			t.Data[i] += float32(std * rng.NormFloat64())
		}
	}
	return w
}

// positions are Positions of random games of every Variant, in all phases.
func positions(rng *rand.Rand, n int) []rules.Position {
	var ps []rules.Position
	var moves []rules.Move
	for len(ps) < n {
		v := rules.Variants()[rng.IntN(3)]
		pos := rules.New(v)
		for {
			if _, over := pos.Result(); over {
				break
			}
			if rng.IntN(12) == 0 || pos.Phase() >= rules.PhaseRemoveRow && rng.IntN(2) == 0 {
				ps = append(ps, pos)
			}
			moves = pos.AppendMoves(moves[:0])
			pos.Play(moves[rng.IntN(len(moves))])
		}
	}
	return ps[:n]
}

// eachSet runs f for every kernel set of this machine.
func eachSet(t *testing.T, f func(t *testing.T, s *kernel.Set)) {
	for _, s := range kernel.All() {
		t.Run(s.Name(), func(t *testing.T) { f(t, s) })
	}
}

// far is the largest difference of got and want, in parts of the largest want, but of 0.1 if all are smaller.
func far(got []float32, want []float64) float64 {
	d, top := 0.0, 0.1
	for i, w := range want {
		d, top = max(d, math.Abs(float64(got[i])-w)), max(top, math.Abs(w))
		if math.IsNaN(float64(got[i])) {
			return math.Inf(1)
		}
	}
	return d / top
}

func TestProgramAgainstReference(t *testing.T) {
	archs := []Arch{
		{Channels: 32, Blocks: 2}, {Channels: 32, Blocks: 3, Pooling: true}, {Channels: 96, Blocks: 2, Pooling: true},
		{Channels: 32, Blocks: 1, Without: Reply | Plies}, {Channels: 32, Blocks: 1, Without: Rings | Ownership},
	}
	n := 12
	if testing.Short() {
		archs, n = archs[1:2], 4
	}
	for _, a := range archs {
		rng := rand.New(rand.NewPCG(1, uint64(a.Channels)))
		w := randomWeights(a, rng)
		type question struct {
			planes         []float32
			legal, replies []rules.Move
			want           answer
		}
		var questions []question
		for i, pos := range positions(rng, 12*n) {
			if i%12 > 0 { // of different games, on boards of different sizes
				continue
			}
			q := question{planes: AppendPlanes(nil, &pos), legal: pos.AppendMoves(nil)}
			for range 20 { // any Moves do
				q.replies = append(q.replies, rules.Move(rng.IntN(rules.NumMoves)))
			}
			q.want = reference(w, q.planes, q.legal, q.replies)
			questions = append(questions, q)
		}
		t.Run(a.String(), func(t *testing.T) {
			eachSet(t, func(t *testing.T, s *kernel.Set) {
				p := w.compile(s).Clone()
				worst := 0.0
				for _, q := range questions {
					out, more := dirtyOutput(len(q.legal), len(q.replies))
					p.Forward(q.planes, q.legal, &out)
					p.Auxiliary(q.replies, &more)
					worst = max(worst, far(out.Logits, q.want.logits), far(out.WDL[:], q.want.wdl), far(out.Rings[:], q.want.rings),
						far(more.Reply, q.want.reply), far(flat(&more.Ownership), q.want.ownership), far(more.Plies[:], q.want.plies))
					if out.Logits[len(q.legal)] != 42 || more.Reply[len(q.replies)] != 42 {
						t.Error("a logit behind the last Move was written")
					}
				}
				t.Logf("largest error %.1e of the largest logit", worst)
				if worst > 1e-4 {
					t.Errorf("error %g of the largest logit: want at most 1e-4", worst)
				}
			})
		})
	}
}

// dirtyOutput is room for a network's answer, and one Move more, full of other numbers.
func dirtyOutput(legal, replies int) (out Output, more Expectation) {
	out.Logits, more.Reply = make([]float32, legal+1), make([]float32, replies+1)
	for _, x := range [][]float32{out.Logits, out.WDL[:], out.Rings[:], more.Reply, more.Plies[:]} {
		for i := range x {
			x[i] = 42
		}
	}
	for i := range more.Ownership {
		more.Ownership[i] = [NumOwners]float32{42, 42, 42}
	}
	return out, more
}

func flat(x *[Cells][NumOwners]float32) (y []float32) {
	for i := range x {
		y = append(y, x[i][:]...)
	}
	return y
}
