package net

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"yinshzero/net/kernel"
	"yinshzero/rules"
)

// reference is the network of the package comment in plain float64 loops over [channel][121].
func reference(w *Weights, planes []float32, legal []rules.Move) (logits []float64, wdl, rings []float64) {
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
	weight, bias := get(PolicyHead+WeightName), get(PolicyHead+BiasName)
	for _, m := range legal {
		plane, cell := PolicyIndex(m)
		l := bias[plane]
		for o := range c {
			l += x[o*Cells+cell] * weight[o*PolicyPlanes+plane]
		}
		logits = append(logits, l)
	}
	h := affine(append(pool(x), globals...), get(ValueDense+WeightName), get(ValueDense+BiasName))
	for i := range h {
		h[i] = max(0, h[i])
	}
	return logits, affine(h, get(WDLHead+WeightName), get(WDLHead+BiasName)), affine(h, get(RingsHead+WeightName), get(RingsHead+BiasName))
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

// far is the largest difference of got and want, in parts of the largest want.
func far(got []float32, want []float64) float64 {
	d, top := 0.0, 1e-9
	for i, w := range want {
		d, top = max(d, math.Abs(float64(got[i])-w)), max(top, math.Abs(w))
		if math.IsNaN(float64(got[i])) {
			return math.Inf(1)
		}
	}
	return d / top
}

func TestProgramAgainstReference(t *testing.T) {
	archs := []Arch{{32, 2, false}, {32, 3, true}, {96, 2, true}}
	n := 12
	if testing.Short() {
		archs, n = archs[1:2], 4
	}
	for _, a := range archs {
		rng := rand.New(rand.NewPCG(1, uint64(a.Channels)))
		w := randomWeights(a, rng)
		type answer struct {
			pos        rules.Position
			planes     []float32
			legal      []rules.Move
			logits     []float64
			wdl, rings []float64
		}
		var want []answer
		for _, pos := range positions(rng, n) {
			r := answer{pos: pos, planes: AppendPlanes(nil, &pos), legal: pos.AppendMoves(nil)}
			r.logits, r.wdl, r.rings = reference(w, r.planes, r.legal)
			want = append(want, r)
		}
		t.Run(a.String(), func(t *testing.T) {
			eachSet(t, func(t *testing.T, s *kernel.Set) {
				p := w.compile(s).Clone()
				worst := 0.0
				for _, r := range want {
					out := Output{Logits: make([]float32, len(r.legal)+1)}
					out.Logits[len(r.legal)] = 42
					p.Forward(r.planes, r.legal, &out)
					worst = max(worst, far(out.Logits, r.logits), far(out.WDL[:], r.wdl), far(out.Rings[:], r.rings))
					if out.Logits[len(r.legal)] != 42 {
						t.Error("Forward wrote behind the last logit")
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
