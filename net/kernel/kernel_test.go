package kernel

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
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

// refForward is max(0, conv(x)+bias+res).
func refForward(x []float64, w, bias []float32, res []float64, in, out int) []float64 {
	y := make([]float64, out*Cells)
	taps3(func(p, q, tap int) {
		for c := range in {
			for o := range out {
				y[o*Cells+p] += x[c*Cells+q] * float64(w[(tap*in+c)*out+o])
			}
		}
	})
	for o := range out {
		for _, p := range Grid {
			y[o*Cells+p] = max(0, y[o*Cells+p]+float64(bias[o])+res[o*Cells+p])
		}
	}
	return y
}

// refBackward adds to dw and db and returns dx.
func refBackward(x, dz []float64, w []float32, dw, db []float64, in, out int) []float64 {
	dx := make([]float64, in*Cells)
	taps3(func(p, q, tap int) {
		for c := range in {
			i, s := (tap*in+c)*out, 0.0
			for o := range out {
				g := dz[o*Cells+p]
				s += g * float64(w[i+o])
				dw[i+o] += g * x[c*Cells+q]
			}
			if OnBoard(q) {
				dx[c*Cells+q] += s
			}
		}
	})
	for o := range out {
		for _, p := range Grid {
			db[o] += dz[o*Cells+p]
		}
	}
	return dx
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

const guard = 64

var nan = float32(math.NaN())

// fenced returns n poisoned floats between two fences of NaN, and a check that the fences stand.
func fenced(t *testing.T, n int) []float32 {
	s := Alloc(n + 2*guard)
	for i := range s {
		s[i] = nan
	}
	t.Cleanup(func() {
		for i := range guard {
			if s[i] == s[i] || s[guard+n+i] == s[guard+n+i] {
				t.Fatalf("a kernel wrote outside a slice of %d", n)
			}
		}
	})
	return s[guard : guard+n : guard+n]
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

func poison(s *Scratch) {
	for _, b := range [][]float32{s.v, s.m, s.out} {
		for i := range b {
			b[i] = nan
		}
	}
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

// TestConv compares forward and backward with the reference, with odd numbers of boards and channels and with every
// buffer poisoned, so that a cell left unwritten or a read beyond a slice shows as NaN.
func TestConv(t *testing.T) {
	eachSet(t, func(t *testing.T, set *Set) {
		cases := []struct{ in, out, boards, chunk int }{
			{19, 32, 5, 2}, {7, 32, 3, 2}, {32, 32, 7, 4}, {64, 32, 3, 3}, {96, 96, 2, 8}, {64, 64, 4, 3}, {20, 64, 1, 1},
		}
		if testing.Short() {
			cases = cases[:3]
		}
		for _, c := range cases {
			r := rand.New(rand.NewPCG(1, uint64(c.in)))
			conv := NewConv(set, c.in, c.out)
			x, res, dz := activations(t, r, c.boards, c.in, true), activations(t, r, c.boards, c.out, true), activations(t, r, c.boards, c.out, false)
			w, bias := random(t, r, conv.WeightLen(), 1/math.Sqrt(9*float64(c.in))), random(t, r, c.boards*c.out, 1)
			u, du, y := fenced(t, conv.PackedLen()), fenced(t, conv.PackedLen()), fenced(t, c.boards*ActivationLen(c.out))
			dw, db := fenced(t, len(w)), fenced(t, c.out)
			s := NewScratch(c.chunk, max(c.in, c.out))
			worst := map[string]float64{}
			note := func(name string, e float64) { worst[name] = max(worst[name], e) }

			conv.Pack(u, w)
			poison(s)
			conv.Forward(s, c.boards, y, x, u, bias, res) // a bias for every board
			poison(s)
			conv.Gradients(s, c.boards, dw, db, x, dz, du)
			rdw, rdb := make([]float64, len(dw)), make([]float64, c.out)
			rdx := make([][]float64, c.boards)
			for b := range c.boards {
				got := image(y, b, c.out)
				onlyPoints(t, "y", got)
				xb := image(x, b, c.in)
				note("y", off(got, refForward(xb, w, bias[b*c.out:], image(res, b, c.out), c.in, c.out)))
				rdx[b] = refBackward(xb, image(dz, b, c.out), w, rdw, rdb, c.in, c.out)
			}
			note("dw", off(dw, rdw))
			note("db", off(db, rdb))

			conv.Forward(s, c.boards, y, x, u, bias[:c.out], nil) // one bias, no residual
			none := make([]float64, c.out*Cells)
			for b := range c.boards {
				note("y", off(image(y, b, c.out), refForward(image(x, b, c.in), w, bias, none, c.in, c.out)))
			}

			if c.in%OutputMultiple == 0 {
				back, wt := NewConv(set, c.out, c.in), fenced(t, len(w))
				Transpose(wt, w, c.in, c.out)
				ub, dx := fenced(t, back.PackedLen()), fenced(t, c.boards*ActivationLen(c.in))
				back.Pack(ub, wt)
				add := activations(t, r, c.boards, c.in, false)
				for _, res := range [][]float32{nil, add} {
					poison(s)
					back.Backward(s, c.boards, dx, dz, ub, x, res)
					for b := range c.boards {
						want, act := append([]float64(nil), rdx[b]...), image(x, b, c.in)
						if res != nil {
							for i, v := range image(res, b, c.in) {
								want[i] += v
							}
						}
						for i := range want {
							if act[i] <= 0 {
								want[i] = 0
							}
						}
						onlyPoints(t, "dx", image(dx, b, c.in))
						note("dx", off(image(dx, b, c.in), want))
					}
				}
				poison(s)
				copy(dx, add) // in place
				back.Backward(s, c.boards, dx, dz, ub, x, dx)
				plain := fenced(t, len(dx))
				back.Backward(s, c.boards, plain, dz, ub, x, add)
				for i, v := range dx {
					if v != plain[i] {
						t.Fatalf("%v: in place %g, else %g", c, v, plain[i])
					}
				}
			}
			for name, e := range worst {
				if !(e < 1e-5) {
					t.Errorf("%d to %d channels, %d boards by %d: %s is off by %g", c.in, c.out, c.boards, c.chunk, name, e)
				}
			}
		}
	})
}

func TestDense(t *testing.T) {
	eachSet(t, func(t *testing.T, set *Set) {
		r := rand.New(rand.NewPCG(2, 0))
		for _, c := range []struct{ in, out, rows int }{{32, 32, 1}, {96, 64, Cells}, {20, 96, 8}, {64, 32, 13}, {7, 32, 20}} {
			d := NewDense(set, c.in, c.out)
			w, u := random(t, r, c.in*c.out, 1), fenced(t, d.PackedLen())
			x, y := fenced(t, Blocks(c.in)*Lanes*c.rows), fenced(t, c.out*c.rows)
			clear(x)
			at := func(row, ch int) int { return (ch/Lanes*c.rows+row)*Lanes + ch%Lanes }
			for row := range c.rows {
				for ch := range c.in {
					x[at(row, ch)] = float32(r.NormFloat64())
				}
			}
			d.Pack(u, w)
			d.Forward(y, x, u, c.rows)
			want := make([]float64, len(y))
			for row := range c.rows {
				for o := range c.out {
					for ch := range c.in {
						want[at(row, o)] += float64(x[at(row, ch)]) * float64(w[ch*c.out+o])
					}
				}
			}
			if e := off(y, want); !(e < 1e-5) {
				t.Errorf("%v: off by %g", c, e)
			}

			dy, dw, du, wantW := random(t, r, len(y), 1), fenced(t, len(w)), fenced(t, d.PackedLen()), make([]float64, len(w))
			d.Gradients(dw, x, dy, du, c.rows)
			for row := range c.rows {
				for o := range c.out {
					for ch := range c.in {
						wantW[ch*c.out+o] += float64(x[at(row, ch)]) * float64(dy[at(row, o)])
					}
				}
			}
			if e := off(dw, wantW); !(e < 1e-5) {
				t.Errorf("%v: gradient off by %g", c, e)
			}

			m, back := fenced(t, c.rows*c.in), fenced(t, len(x))
			clear(back)
			FromRows(m, x, c.rows)
			ToRows(back, m, c.rows, 0)
			if !slices.Equal(back, x) {
				t.Errorf("%v: rows do not survive the way to a matrix and back", c)
			}
		}
	})
}

func TestPoolAndSum(t *testing.T) {
	eachSet(t, func(t *testing.T, set *Set) {
		const channels = 40
		r := rand.New(rand.NewPCG(3, 0))
		x := activations(t, r, 1, channels, true)
		x[Grid[30]*Lanes], x[Grid[40]*Lanes] = 9, 9 // two cells share a maximum
		for _, cells := range [][]int{Grid[:], Grid[20:50]} {
			mean, top := fenced(t, 48), fenced(t, 48)
			set.Pool(mean, top, x, channels, cells)
			img, wm, wt := image(x, 0, channels), make([]float64, 48), make([]float64, 48)
			for c := range channels {
				for _, p := range cells {
					wm[c] += img[c*Cells+p] / float64(len(cells))
					wt[c] = max(wt[c], img[c*Cells+p])
				}
			}
			if e := max(off(mean, wm), off(top, wt)); !(e < 1e-6) {
				t.Errorf("pool over %d cells is off by %g", len(cells), e)
			}

			share, dtop, dx := random(t, r, 48, 1), random(t, r, 48, 1), fenced(t, len(x))
			set.Unpool(dx, x, top, share, dtop, channels, cells)
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
		for i, v := range image(x, 0, channels)[:Lanes*Cells] {
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
	})
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
