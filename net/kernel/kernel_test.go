package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"
)

// The reference: plain loops in float64 over images [channel][121].

// taps3 calls f for every point p, every cell q of the grid next to it and the tap that joins them.
func taps3(f func(p, q, tap int)) {
	for _, p := range Grid {
		for tap := range taps {
			y, x := p/Side+tap/3-1, p%Side+tap%3-1
			if y >= 0 && y < Side && x >= 0 && x < Side {
				f(p, y*Side+x, tap)
			}
		}
	}
}

// A refImage is what one board's image x becomes: the results of the plain convolution, and its gradients for dz.
type refImage struct {
	y, dx, dw, db []float64
}

// newRefImage computes y = conv(x), without bias, residual and ReLU, and for the gradient dz of y those of x, of the
// weights and of the bias. Images are [channel][121].
func newRefImage(x, dz []float64, w []float32, in, out int) refImage {
	y, g, weights := make([]float64, Cells*out), make([]float64, Cells*out), wide(w) // y and g: [121][channel]
	for i, v := range dz {
		g[i%Cells*out+i/Cells] = v
	}
	r := refImage{make([]float64, out*Cells), make([]float64, in*Cells), make([]float64, len(w)), make([]float64, out)}
	taps3(func(p, q, tap int) {
		yp, gp := y[p*out:][:out], g[p*out:][:out]
		for c := range in {
			i := (tap*in + c) * out
			v, wc, dw, s := x[c*Cells+q], weights[i:][:out], r.dw[i:][:out], 0.0
			for o, d := range gp {
				s += d * wc[o]
			}
			if OnBoard(q) {
				r.dx[c*Cells+q] += s
			}
			if v != 0 {
				for o, d := range gp {
					yp[o] += v * wc[o]
					dw[o] += d * v
				}
			}
		}
	})
	for o := range out {
		for _, p := range Grid {
			r.y[o*Cells+p] = y[p*out+o]
			r.db[o] += g[p*out+o]
		}
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

// activated is max(0, y + bias + res) at the points; res may be nil.
func activated(y []float64, bias []float32, res []float64) []float64 {
	o := make([]float64, len(y))
	for c := range len(y) / Cells {
		for _, p := range Grid {
			i := c*Cells + p
			o[i] = y[i] + float64(bias[c])
			if res != nil {
				o[i] += res[i]
			}
			o[i] = max(0, o[i])
		}
	}
	return o
}

// gated is dx + res where act > 0, else 0; res may be nil.
func gated(dx, act, res []float64) []float64 {
	o := make([]float64, len(dx))
	for i, a := range act {
		if a > 0 {
			o[i] = dx[i]
			if res != nil {
				o[i] += res[i]
			}
		}
	}
	return o
}

// image reads one board of activations as float64 planes.
func image(x []float32, board, channels int) []float64 {
	o := make([]float64, channels*Cells)
	for i := range o {
		c, p := i/Cells, i%Cells
		o[i] = float64(x[((board*Blocks(channels)+c/Lanes)*Cells+p)*Lanes+c%Lanes])
	}
	return o
}

// off returns the largest error relative to the largest wanted value; NaN counts as infinite.
func off[T float32 | float64](got []T, want []float64) float64 {
	e, m := 0.0, 0.0
	for i, w := range want {
		d := math.Abs(float64(got[i]) - w)
		if d != d {
			return math.Inf(1)
		}
		e, m = max(e, d), max(m, math.Abs(w))
	}
	return e / max(m, 1e-9)
}

var nan = float32(math.NaN())

// allNaN poisons x.
func allNaN(x []float32) {
	for i := range x {
		x[i] = nan
	}
}

// fenced returns n poisoned floats. The page behind them faults when it is read or written ([fencedPages]); the floats
// before them are NaN too, and a check holds that they stay so.
func fenced(t *testing.T, n int) []float32 {
	s, before := fencedPages(t, n)
	allNaN(before)
	allNaN(s)
	t.Cleanup(func() {
		for i, v := range before {
			if v == v {
				t.Errorf("a kernel wrote %d floats before a slice of %d", len(before)-i, n)
				return
			}
		}
	})
	return s[:n:n]
}

// activations fills fenced random activations of so many boards; relu makes half of them zero.
func activations(t *testing.T, r *rand.Rand, boards, channels int, relu bool) []float32 {
	x := fenced(t, boards*ActivationLen(channels))
	for i := range x {
		x[i] = 0
		if v := float32(r.NormFloat64()); OnBoard(i/Lanes%Cells) && i/Lanes/Cells%Blocks(channels)*Lanes+i%Lanes < channels && (v > 0 || !relu) {
			x[i] = v
		}
	}
	return x
}

func random(t *testing.T, r *rand.Rand, n int, scale float64) []float32 {
	x := fenced(t, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * scale)
	}
	return x
}

// fencedScratch is NewScratch with fenced memory.
func fencedScratch(t *testing.T, boards, channels int) *Scratch {
	s := NewScratch(boards, channels)
	for _, b := range []*[]float32{&s.v, &s.m, &s.in, &s.out} {
		f := fenced(t, len(*b))
		copy(f, *b)
		*b = f
	}
	return s
}

// poison makes all of s NaN but the columns that must be zero.
func poison(s *Scratch) {
	allNaN(s.v)
	allNaN(s.m)
	allNaN(s.out)
	for i := range s.in {
		if c := i / Lanes % scratchColumns; c >= 2 && c < 2+Side {
			s.in[i] = nan
		}
	}
}

func eachSet(t *testing.T, f func(t *testing.T, s *Set)) {
	for _, s := range All() {
		t.Run(s.Name(), func(t *testing.T) { f(t, s) })
	}
}

func onlyPoints(t *testing.T, name string, x []float64) {
	t.Helper()
	for i, v := range x {
		if !OnBoard(i%Cells) && v != 0 {
			t.Fatalf("%s: cell %d is no point and holds %g", name, i%Cells, v)
		}
	}
}

func TestTiles(t *testing.T) {
	var owners [Cells]int
	for _, g := range tiles {
		for c := range 16 {
			if g.own>>c&1 != 0 {
				owners[(g.y+c/4)*Side+g.x+c%4]++
			}
		}
	}
	points := 0
	for p, n := range owners {
		if OnBoard(p) {
			points++
		}
		if OnBoard(p) != (n == 1) || n > 1 {
			t.Errorf("cell %d has %d owners", p, n)
		}
	}
	if points != Points || Grid[Points-1] != 9*Side+10 {
		t.Errorf("%d points, the last at cell %d", points, Grid[Points-1])
	}
}

// A convCase is a convolution to check: channels, boards, boards that the kernels take at a time.
type convCase struct{ in, out, boards, chunk int }

// checkConv compares forward, backward and gradients of every set with the reference. All memory is fenced and all that
// is to be written is poisoned before: what is left unwritten, or read beyond a slice, shows as NaN or faults. The boards
// take turns with two images, so that the reference need not compute more, and equal images must give equal bits
// wherever in the batch they are.
func checkConv(t *testing.T, sets []*Set, c convCase, r *rand.Rand) {
	t.Helper()
	x, res, dz := activations(t, r, c.boards, c.in, true), activations(t, r, c.boards, c.out, true), activations(t, r, c.boards, c.out, false)
	add := activations(t, r, c.boards, c.in, false)
	w, bias := random(t, r, taps*c.in*c.out, 1/math.Sqrt(9*float64(c.in))), random(t, r, c.boards*c.out, 1)
	for _, b := range [][]float32{x, res, dz, add, bias} {
		for i := 2 * len(b) / c.boards; i < len(b); i++ {
			b[i] = b[i-2*len(b)/c.boards]
		}
	}
	refs, dw, db := make([]refImage, min(2, c.boards)), make([]float64, len(w)), make([]float64, c.out)
	for b := range c.boards {
		if b < len(refs) {
			refs[b] = newRefImage(image(x, b, c.in), image(dz, b, c.out), w, c.in, c.out)
		}
		for i, v := range refs[b%2].dw {
			dw[i] += v
		}
		for i, v := range refs[b%2].db {
			db[i] += v
		}
	}
	for _, set := range sets {
		near := func(name string, got []float32, want []float64) {
			t.Helper()
			if e := off(got, want); !(e < 2e-5) {
				t.Errorf("%s, %+v: %s is off by %g", set.Name(), c, name, e)
			}
		}
		// boards holds every board of got to want, of its image, and looks for bits that differ.
		boards := func(name string, got []float32, channels int, want func(b int) []float64) {
			t.Helper()
			for b := range c.boards {
				img := image(got, b, channels)
				if b < 2 {
					onlyPoints(t, name, img)
					if e := off(img, want(b)); !(e < 2e-5) {
						t.Errorf("%s, %+v: %s of board %d is off by %g", set.Name(), c, name, b, e)
					}
				} else if !slices.Equal(img, image(got, b-2, channels)) {
					t.Errorf("%s, %+v: %s: boards %d and %d are alike and their results differ", set.Name(), c, name, b-2, b)
				}
			}
		}

		conv, s := NewConv(set, c.in, c.out), fencedScratch(t, c.chunk, max(c.in, c.out))
		u, du := fenced(t, conv.PackedLen()), fenced(t, conv.PackedLen())
		conv.Pack(u, w)
		y := fenced(t, c.boards*ActivationLen(c.out))
		poison(s)
		conv.Forward(s, c.boards, y, x, u, bias, res) // a bias for every board
		boards("y", y, c.out, func(b int) []float64 {
			return activated(refs[b].y, bias[b*c.out:], image(res, b, c.out))
		})
		y = fenced(t, len(y))
		poison(s)
		conv.Forward(s, c.boards, y, x, u, bias[:c.out:c.out], nil) // one bias, no residual
		boards("y without residual", y, c.out, func(b int) []float64 { return activated(refs[b].y, bias, nil) })
		copy(y, res)
		poison(s)
		conv.Forward(s, c.boards, y, x, u, bias, y) // in place
		boards("y in place", y, c.out, func(b int) []float64 {
			return activated(refs[b].y, bias[b*c.out:], image(res, b, c.out))
		})

		gw, gb := fenced(t, len(w)), fenced(t, c.out)
		poison(s)
		clear(du)
		clear(gb)
		conv.Accumulate(s, c.boards, du, gb, x, dz)
		conv.Unpack(gw, du)
		near("dw", gw, dw)
		near("db", gb, db)
		clear(gb) // as Unpack did to du
		for range 2 {
			poison(s)
			conv.Accumulate(s, c.boards, du, gb, x, dz)
		}
		conv.Unpack(gw, du)
		for _, sum := range [][]float32{gw, gb} {
			for i := range sum {
				sum[i] /= 2
			}
		}
		near("twice dw", gw, dw)
		near("twice db", gb, db)

		if c.in%OutputMultiple != 0 {
			continue
		}
		back, wt, ub, dx := NewConv(set, c.out, c.in), gw, du, fenced(t, c.boards*ActivationLen(c.in)) // of the same lengths
		allNaN(wt)
		allNaN(ub)
		Transpose(wt, w, c.in, c.out)
		back.Pack(ub, wt)
		poison(s)
		back.Backward(s, c.boards, dx, dz, ub, x, nil)
		boards("dx", dx, c.in, func(b int) []float64 { return gated(refs[b].dx, image(x, b, c.in), nil) })
		dx = fenced(t, len(dx))
		poison(s)
		back.Backward(s, c.boards, dx, dz, ub, x, add)
		boards("dx with residual", dx, c.in, func(b int) []float64 {
			return gated(refs[b].dx, image(x, b, c.in), image(add, b, c.in))
		})
		plain := slices.Clone(dx)
		copy(dx, add)
		poison(s)
		back.Backward(s, c.boards, dx, dz, ub, x, dx) // in place
		if !slices.Equal(dx, plain) {
			t.Errorf("%s, %+v: dx in place differs", set.Name(), c)
		}
	}
}

// inputPlanes is the number of planes that the network's first convolution reads.
const inputPlanes = 7

// widths are the channels that a network may have.
func widths() (all []int) {
	for c := OutputMultiple; c <= 512; c += OutputMultiple {
		all = append(all, c)
	}
	return all
}

// TestConv checks every number of boards, in one chunk, in chunks that leave a rest, and one by one; and a convolution
// of the input planes and one of the trunk for every width.
func TestConv(t *testing.T) {
	var cases []convCase
	for boards := 1; boards <= 9; boards++ {
		cases = append(cases, convCase{inputPlanes, 32, boards, boards}, convCase{32, 32, boards, boards%4 + 1}, convCase{19, 64, boards, 1})
	}
	if testing.Short() {
		cases = cases[6:12]
	}
	for i, width := range widths() {
		boards := 3 + i%4*2
		if width > 192 {
			boards = 3 // where the generic kernels take long
		}
		if !testing.Short() || width == 96 {
			cases = append(cases, convCase{inputPlanes, width, boards, 2}, convCase{width, width, boards, boards - 1})
		}
	}
	for i, c := range cases {
		t.Run(fmt.Sprintf("%dx%d,%d by %d", c.in, c.out, c.boards, c.chunk), func(t *testing.T) {
			checkConv(t, All(), c, rand.New(rand.NewPCG(1, uint64(i))))
		})
	}
}

// FuzzConv checks convolutions of any shape.
func FuzzConv(f *testing.F) {
	f.Add(uint64(1), uint8(6), uint8(0), uint8(4), uint8(1))
	f.Add(uint64(2), uint8(31), uint8(1), uint8(2), uint8(8))
	f.Add(uint64(3), uint8(63), uint8(2), uint8(8), uint8(3))
	f.Fuzz(func(t *testing.T, seed uint64, in, out, boards, chunk uint8) {
		c := convCase{1 + int(in)%100, OutputMultiple * (1 + int(out)%3), 1 + int(boards)%9, 1 + int(chunk)%9}
		checkConv(t, All(), c, rand.New(rand.NewPCG(seed, 0)))
	})
}

// checkDense compares product and gradient of every set with the reference.
func checkDense(t *testing.T, in, out, rows int, r *rand.Rand) {
	t.Helper()
	w, dy := random(t, r, in*out, 1), random(t, r, out*rows, 1)
	x := fenced(t, Blocks(in)*Lanes*rows)
	clear(x)
	at := func(row, ch int) int { return (ch/Lanes*rows+row)*Lanes + ch%Lanes }
	y, dw := make([]float64, len(dy)), make([]float64, len(w))
	for row := range rows {
		for c := range in {
			x[at(row, c)] = float32(r.NormFloat64())
			for o, v := range w[c*out:][:out] {
				y[at(row, o)] += float64(x[at(row, c)]) * float64(v)
				dw[c*out+o] += float64(x[at(row, c)]) * float64(dy[at(row, o)])
			}
		}
	}
	for _, set := range All() {
		d := NewDense(set, in, out)
		u, du, gotY, gotW := fenced(t, d.PackedLen()), fenced(t, d.PackedLen()), fenced(t, len(y)), fenced(t, len(w))
		d.Pack(u, w)
		d.Forward(gotY, x, u, rows)
		if e := off(gotY, y); !(e < 1e-5) {
			t.Errorf("%s, %d rows of %d to %d: off by %g", set.Name(), rows, in, out, e)
		}
		d.Gradients(gotW, x, dy, du, rows)
		if e := off(gotW, dw); !(e < 1e-5) {
			t.Errorf("%s, %d rows of %d to %d: gradient off by %g", set.Name(), rows, in, out, e)
		}
	}
	m, back := fenced(t, rows*in), fenced(t, len(x))
	clear(back)
	FromRows(m, x, rows)
	ToRows(back, m, rows, 0)
	if !slices.Equal(back, x) {
		t.Errorf("%d rows of %d do not survive the way to a matrix and back", rows, in)
	}
}

// TestDense checks the products of the network, from the globals and from the pooled vector, for every width and for
// every number of rows that the blocks of the kernels can leave over.
func TestDense(t *testing.T) {
	check := func(in, out, rows int) {
		t.Run(fmt.Sprintf("%dx%d,%d", in, out, rows), func(t *testing.T) {
			checkDense(t, in, out, rows, rand.New(rand.NewPCG(2, uint64(in))))
		})
	}
	for rows := 1; rows <= 29; rows++ {
		check(20, 32, rows)
	}
	check(96, 64, Cells)
	for i, width := range widths() {
		if !testing.Short() || width == 96 {
			check(20, width, 1+i%9)
			check(2*width, width, 1+(i+3)%9)
			check(2*width+20, 64, 1+(i+6)%9)
		}
	}
}

// FuzzDense checks products of any shape.
func FuzzDense(f *testing.F) {
	f.Add(uint64(1), uint8(19), uint8(0), uint8(4))
	f.Add(uint64(2), uint8(95), uint8(1), uint8(Cells-1))
	f.Fuzz(func(t *testing.T, seed uint64, in, out, rows uint8) {
		checkDense(t, 1+int(in), OutputMultiple*(1+int(out)%4), 1+int(rows)%128, rand.New(rand.NewPCG(seed, 0)))
	})
}

func TestPoolAndSum(t *testing.T) {
	eachSet(t, func(t *testing.T, set *Set) {
		for _, channels := range append(widths(), 1, 16, 17, 40) {
			t.Run(fmt.Sprint(channels), func(t *testing.T) {
				checkPool(t, set, channels, rand.New(rand.NewPCG(3, uint64(channels))))
			})
		}
	})
}

// checkPool compares pooling over the whole board and over parts of it with the reference, and its gradient, and Sum.
func checkPool(t *testing.T, set *Set, channels int, r *rand.Rand) {
	n := Blocks(channels) * Lanes
	x := activations(t, r, 1, channels, true)
	x[Grid[30]*Lanes], x[Grid[40]*Lanes] = 9, 9 // two cells share a maximum
	for _, cells := range [][]int{Grid[:], Grid[20:50], Grid[:1]} {
		mean, top := fenced(t, n), fenced(t, n)
		set.Pool(mean, top, x, channels, cells)
		img, wm, wt := image(x, 0, channels), make([]float64, n), make([]float64, n)
		for c := range channels {
			for _, p := range cells {
				wm[c] += img[c*Cells+p] / float64(len(cells))
				wt[c] = max(wt[c], img[c*Cells+p])
			}
		}
		if e := max(off(mean, wm), off(top, wt)); !(e < 1e-6) {
			t.Errorf("pool over %d cells is off by %g", len(cells), e)
		}

		share, dtop, dx := random(t, r, n, 1), random(t, r, n, 1), fenced(t, len(x))
		before := random(t, r, len(x), 1)
		set.Unpool(dx, x, top, share, dtop, channels, cells)
		sum := fenced(t, len(x))
		copy(sum, before)
		set.UnpoolAdd(sum, x, top, share, dtop, channels, cells)
		for i, v := range before {
			if x[i] <= 0 {
				v = 0
			}
			if d := float64(sum[i]) - float64(dx[i]) - float64(v); !(math.Abs(d) < 1e-6) {
				t.Fatalf("unpool over %d cells adds %g at %d: want %g", len(cells), sum[i]-dx[i], i, v)
			}
		}
		want := make([]float64, len(img))
		for c := range channels {
			first := true
			for _, p := range cells {
				if i := c*Cells + p; img[i] > 0 {
					want[i] = float64(share[c])
					if first && img[i] == wt[c] {
						want[i] += float64(dtop[c])
						first = false
					}
				}
			}
		}
		if e := off(image(dx, 0, channels), want); !(e < 1e-6) {
			t.Errorf("unpool over %d cells is off by %g", len(cells), e)
		}
	}
	total := make([]float64, Lanes)
	for i, v := range image(x, 0, n)[:Lanes*Cells] {
		total[i/Cells] += float64(v)
	}
	acc := fenced(t, Lanes)
	clear(acc)
	set.Sum(acc, x, Cells)
	set.Sum(acc, x, Cells)
	for i := range acc {
		if d := math.Abs(float64(acc[i]) - 2*total[i]); !(d < 1e-4) {
			t.Errorf("sum of lane %d: %g, want %g", i, acc[i], 2*total[i])
		}
	}
}

// TestColumns compares the operations on one cell's channels with float64.
func TestColumns(t *testing.T) {
	eachSet(t, func(t *testing.T, set *Set) {
		for _, channels := range append(widths(), 16, 48) {
			r := rand.New(rand.NewPCG(5, uint64(channels)))
			x, w := activations(t, r, 1, channels, false), random(t, r, channels, 1)
			for _, cell := range []int{Grid[0], Grid[50], Grid[Points-1], Cells - 1} {
				at := func(c int) int { return (c/Lanes*Cells+cell)*Lanes + c%Lanes }
				dot := 0.0
				for c, v := range w {
					dot += float64(v) * float64(x[at(c)])
				}
				if got := set.DotColumn(x, w, cell); !(math.Abs(float64(got)-dot) < 1e-4) {
					t.Errorf("%d channels, cell %d: product %g, want %g", channels, cell, got, dot)
				}
				y, sum := slices.Clone(x), fenced(t, channels)
				copy(sum, w)
				set.AddToColumn(y, cell, 0.3, w)
				set.AddColumn(sum, -2, x, cell)
				for c, v := range w {
					if d := float64(sum[c]) - (float64(v) - 2*float64(x[at(c)])); !(math.Abs(d) < 1e-5) {
						t.Fatalf("%d channels, cell %d: sum %d is off by %g", channels, cell, c, d)
					}
					if d := float64(y[at(c)]) - (float64(x[at(c)]) + 0.3*float64(v)); !(math.Abs(d) < 1e-5) {
						t.Fatalf("%d channels, cell %d: column's %d is off by %g", channels, cell, c, d)
					}
					y[at(c)] = x[at(c)]
				}
				if !slices.Equal(y, x) {
					t.Fatalf("%d channels, cell %d: other cells have changed", channels, cell)
				}
			}
		}
	})
}

// TestUpdate compares the sum of squares and the step of AdamW with float64, at lengths with and without a rest.
func TestUpdate(t *testing.T) {
	eachSet(t, func(t *testing.T, set *Set) {
		for _, n := range []int{1, 15, 16, 17, 64, 1000} {
			r := rand.New(rand.NewPCG(6, uint64(n)))
			w, g, first, second := random(t, r, n, 1), random(t, r, n, 1), random(t, r, n, 1), random(t, r, n, 1)
			sum := 0.0
			for i, v := range g {
				sum += float64(v) * float64(v)
				second[i] = float32(math.Abs(float64(second[i])))
			}
			if got := set.Squares(g); !(math.Abs(got-sum) < 1e-9*sum) {
				t.Errorf("%d numbers: sum of squares %g, want %g", n, got, sum)
			}
			c := AdamWStep{0.7, 0.9, 0.1, 0.99, 0.01, 0.999, 0.03, 1.1, 1e-3}
			want := make([]float64, 3*n)
			for i := range w {
				d := float64(c.Scale) * float64(g[i])
				m := float64(c.Keep1)*float64(first[i]) + float64(c.Take1)*d
				v := float64(c.Keep2)*float64(second[i]) + float64(c.Take2)*d*d
				want[i], want[n+i] = m, v
				want[2*n+i] = float64(c.Keep)*float64(w[i]) - float64(c.Rate)*m/(float64(c.Root)*math.Sqrt(v)+float64(c.Eps))
			}
			set.AdamW(w, g, first, second, &c)
			for i := range w {
				for k, got := range [3]float32{first[i], second[i], w[i]} {
					if d := math.Abs(float64(got) - want[k*n+i]); !(d < 1e-5) {
						t.Fatalf("%d numbers: number %d of weight %d is %g, want %g", n, k, i, got, want[k*n+i])
					}
				}
			}
		}
		if s := set.Squares(nil); s != 0 {
			t.Errorf("sum of no squares: %g", s)
		}
		bad := Alloc(40)
		bad[3] = float32(math.Inf(1))
		if s := set.Squares(bad); !math.IsInf(s, 1) {
			t.Errorf("sum of squares with an infinity: %g", s)
		}
	})
}

// TestAlloc: memory is aligned to vectors, as long as was asked for, and of zeros.
func TestAlloc(t *testing.T) {
	for n := range 70 {
		x := Alloc(n)
		if at := uintptr(unsafe.Pointer(unsafe.SliceData(x))) % 64; at != 0 || len(x) != n || cap(x) != n {
			t.Errorf("%d floats: %d of %d, %d bytes past a boundary", n, len(x), cap(x), at)
		}
		if slices.ContainsFunc(x, func(v float32) bool { return v != 0 }) {
			t.Errorf("%d floats: not all are zero", n)
		}
	}
}

func TestToBlocks(t *testing.T) {
	const channels = 19
	planes, y := make([]float32, channels*Cells), fenced(t, ActivationLen(channels))
	for i := range planes {
		planes[i] = float32(i + 1)
	}
	ToBlocks(y, planes, channels)
	for c := range 32 {
		for p := range Cells {
			want := float32(0)
			if c < channels && OnBoard(p) {
				want = planes[c*Cells+p]
			}
			if got := y[(c/Lanes*Cells+p)*Lanes+c%Lanes]; got != want {
				t.Fatalf("channel %d cell %d: %g, want %g", c, p, got, want)
			}
		}
	}
}

func TestBest(t *testing.T) {
	sets := All()
	if last := sets[len(sets)-1].Name(); last != "generic" {
		t.Errorf("the last set is %s, want generic", last)
	}
	for _, s := range sets {
		t.Setenv(ISAVariable, s.Name())
		if got, err := Best(); got != s || err != nil {
			t.Errorf("%s forced: got %v, %v", s.Name(), got, err)
		}
	}
	t.Setenv(ISAVariable, "sse9")
	if _, err := Best(); !errors.Is(err, ErrISA) {
		t.Errorf("sse9 forced: got %v", err)
	}
	t.Setenv(ISAVariable, "")
	if got, err := Best(); got != sets[0] || err != nil {
		t.Errorf("nothing forced: got %+v, %v", got, err)
	}
}

func TestAllocations(t *testing.T) {
	eachSet(t, func(t *testing.T, set *Set) {
		r := rand.New(rand.NewPCG(4, 0))
		c := NewConv(set, 32, 32)
		x, w, bias := activations(t, r, 2, 32, true), random(t, r, c.WeightLen(), 0.1), random(t, r, 32, 1)
		u, y, s := Alloc(c.PackedLen()), Alloc(2*ActivationLen(32)), NewScratch(1, 32)
		mean, top := Alloc(32), Alloc(32)
		if n := testing.AllocsPerRun(2, func() {
			c.Pack(u, w)
			c.Forward(s, 2, y, x, u, bias, x)
			c.Backward(s, 2, y, x, u, x, nil)
			set.Pool(mean, top, x, 32, Grid[:])
			set.Unpool(y, x, top, mean, top, 32, Grid[:])
			set.UnpoolAdd(y, x, top, mean, top, 32, Grid[3:])
			set.AddToColumn(y, 3, set.DotColumn(x, mean, 3), top)
			set.AddColumn(mean, 0.1, x, 3)
		}); n != 0 {
			t.Errorf("%v allocations, want none", n)
		}
	})
}

// TestGenerated holds the committed assembly to the generator.
func TestGenerated(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the generator")
	}
	run := func(args ...string) ([]byte, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir = "gen"
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOOS=", "GOARCH=")
		return cmd.CombinedOutput()
	}
	if out, err := run("mod", "download"); err != nil {
		t.Skipf("the generator's modules cannot be fetched: %v\n%s", err, out)
	}
	dir := t.TempDir()
	if out, err := run("run", ".", "-dir", dir); err != nil {
		t.Fatalf("run the generator: %v\n%s", err, out)
	}
	for _, name := range []string{"kernel_amd64.s", "kernel_amd64.go", "board_gen.go"} {
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what gen writes: run go generate ./net/kernel", name)
		}
	}
}

func BenchmarkConv(b *testing.B) {
	for _, set := range All() {
		for _, channels := range []int{32, 64} {
			r := rand.New(rand.NewPCG(5, 0))
			c := NewConv(set, channels, channels)
			x, w := Alloc(ActivationLen(channels)), Alloc(c.WeightLen())
			for i := range w {
				w[i] = float32(r.NormFloat64()) * 0.05
			}
			u, y, s := Alloc(c.PackedLen()), Alloc(len(x)), NewScratch(1, channels)
			c.Pack(u, w)
			b.Run(set.Name(), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					c.Forward(s, 1, y, x, u, w[:channels], nil)
				}
			})
		}
	}
}
