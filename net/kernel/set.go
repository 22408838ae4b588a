package kernel

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// ISAVariable is the environment variable that forces a Set by name (avx512, avx2, generic); meant for tests and
// comparisons.
const ISAVariable = "YINSHZERO_ISA"

// ErrISA is wrapped by the error of [Best] when the forced instruction set is unknown or this machine lacks it.
var ErrISA = errors.New("no such instruction set here")

// A Set is the kernels of one instruction set. It is immutable and may be shared by goroutines. Strides count floats.
type Set struct {
	name  string
	group int // output channels of one gemm; packed weights come in such groups

	in     func(x, tmp, v []float32, xs int)                 // 121x16 -> 36 planes of 7x16, stride xs
	grad   func(dy, tmp, m []float32, xs int)                // the adjoint of out without bias, each cell once
	out    func(m, tmp, y, bias, res []float32, xs int)      // y = max(0, A^T m A + bias [+ res])
	outBwd func(m, tmp, dx, act, res []float32, xs int)      // dx = A^T m A [+ res] where act > 0, else 0
	gemm   func(a, b, c []float32, rows, k, as, cs int)      // c[rows][group] = a[rows][k] b[k][group]; k%4 == 0
	gemmTN func(a, b, c []float32, rows, n, bs int)          // c[n][group] += a[rows][n]^T b[rows][group]; n%8 == 0
	packG  func(w, u []float32, ws, us, n, wstep, ustep int) // n times u = G w G^T on 16 lanes
	unpack func(u, w []float32, us, ws, n, ustep, wstep int) // n times w = G^T u G on 16 lanes, u = 0
	colSum func(x, acc []float32, n int)                     // acc[16] += sum of n rows
	pool   func(x, sum, top []float32, n int)                // sum[16] += rows, top[16] = max(top, rows)

	// y = v[16] [+ y] where act > 0, else 0, n rows; a lane gets dtop[16] more in the first row where act = top[16] > 0
	unpool, unpoolAdd func(y, act, v, top, dtop []float32, n int)

	dot  func(x, w []float32, n, xs, ws int) float32    // the sum of x w over n times 16 lanes, strides xs and ws
	axpy func(y, x []float32, g float32, n, ys, xs int) // y += g x over n times 16 lanes, strides ys and xs

	squares func(x []float32, n int) float64                         // the sum of x² over n times 16 lanes
	adamW   func(w, g, first, second []float32, c *AdamWStep, n int) // one step of n times 16 weights
}

// Name is avx512, avx2 or generic.
func (s *Set) Name() string { return s.name }

// All returns the Sets this machine can run, fastest first; the last is always generic.
func All() []*Set { return append(machineSets(), &generic) }

// Best returns the fastest Set of this machine, or the one that the environment variable [ISAVariable] names. The
// error, which wraps [ErrISA], tells the choice there is.
func Best() (*Set, error) {
	sets := All()
	name := os.Getenv(ISAVariable)
	if name == "" {
		return sets[0], nil
	}
	names := make([]string, len(sets))
	for i, s := range sets {
		if s.name == name {
			return s, nil
		}
		names[i] = s.name
	}
	return nil, fmt.Errorf("read %s=%q: %w (choose one of %s, or unset it)", ISAVariable, name, ErrISA, strings.Join(names, ", "))
}

// Sum adds the rows of x, [rows][16], to acc, [16].
func (s *Set) Sum(acc, x []float32, rows int) {
	s.colSum(x[:rows*Lanes], acc[:Lanes], rows)
}

// Pool sets mean and top, [ceil(channels/16)*16] each, to every channel's mean and maximum over the given cells of one
// board. The activations x must be non-negative, as those after a ReLU are. With all points for cells (a smaller
// board has fewer) the vector kernel does it.
func (s *Set) Pool(mean, top, x []float32, channels int, cells []int) {
	if len(cells) == 0 {
		panic("kernel: pool over no cells")
	}
	for b := range Blocks(channels) {
		m, t, xb := mean[b*Lanes:][:Lanes], top[b*Lanes:][:Lanes], x[b*Lanes*Cells:][:Lanes*Cells]
		clear(m)
		clear(t)
		if len(cells) == Points {
			s.pool(xb, m, t, Cells)
		} else {
			for _, c := range cells {
				genericPool(xb[c*Lanes:], m, t, 1)
			}
		}
		for i := range m {
			m[i] *= 1 / float32(len(cells))
		}
	}
}

// Unpool sets dx to the gradient of one board's activations x, zero where x is. share, [ceil(channels/16)*16], is a
// cell's share of the gradients of the means: those divided by the number of cells; dtop are the gradients of the
// maxima top. Of several cells that hold a maximum the first of cells has its gradient.
func (s *Set) Unpool(dx, x, top, share, dtop []float32, channels int, cells []int) {
	s.unpools(false, dx, x, top, share, dtop, channels, cells)
}

// UnpoolAdd is Unpool, but the gradient that dx holds is part of the result, as far as x is not zero.
func (s *Set) UnpoolAdd(dx, x, top, share, dtop []float32, channels int, cells []int) {
	s.unpools(true, dx, x, top, share, dtop, channels, cells)
}

func (s *Set) unpools(add bool, dx, x, top, share, dtop []float32, channels int, cells []int) {
	for b := range Blocks(channels) {
		xb, db := x[b*Lanes*Cells:][:Lanes*Cells], dx[b*Lanes*Cells:][:Lanes*Cells]
		t, v, d := top[b*Lanes:][:Lanes], share[b*Lanes:][:Lanes], dtop[b*Lanes:][:Lanes]
		switch {
		case len(cells) == Points && add:
			s.unpoolAdd(db, xb, v, t, d, Cells)
			continue
		case len(cells) == Points:
			s.unpool(db, xb, v, t, d, Cells)
			continue
		}
		if add {
			genericUnpool(db, xb, zeros[:], zeros[:], zeros[:], Cells, true)
		} else {
			clear(db)
		}
		left := [Lanes]float32(t)
		for _, c := range cells {
			genericUnpool(db[c*Lanes:], xb[c*Lanes:], v, left[:], d, 1, add)
			for l, v := range row16(xb, c*Lanes) {
				if v == left[l] {
					left[l] = 0
				}
			}
		}
	}
}

// A column is the channels of activations at one cell: sixteen in a row, the next sixteen a plane further on.

// DotColumn is the product of w, [channels], with the column of x at a cell; channels is a multiple of 16.
func (s *Set) DotColumn(x, w []float32, cell int) float32 {
	n := len(w) / Lanes
	return s.dot(x[cell*Lanes:][:(n-1)*Cells*Lanes+Lanes], w, n, Cells*Lanes, Lanes)
}

// AddToColumn adds g times w, [channels], to the column of x at a cell.
func (s *Set) AddToColumn(x []float32, cell int, g float32, w []float32) {
	n := len(w) / Lanes
	s.axpy(x[cell*Lanes:][:(n-1)*Cells*Lanes+Lanes], w, g, n, Cells*Lanes, Lanes)
}

// AddColumn adds g times the column of x at a cell to w, [channels].
func (s *Set) AddColumn(w []float32, g float32, x []float32, cell int) {
	n := len(w) / Lanes
	s.axpy(w, x[cell*Lanes:][:(n-1)*Cells*Lanes+Lanes], g, n, Lanes, Cells*Lanes)
}

// Squares is the sum of the squares of x.
func (s *Set) Squares(x []float32) float64 {
	n := len(x) / Lanes
	sum := 0.0
	if n > 0 {
		sum = s.squares(x, n)
	}
	return sum + genericSquares(x[n*Lanes:])
}

// An AdamWStep is the numbers of one step of AdamW (Loshchilov and Hutter, "Decoupled weight decay regularization", 2019,
// algorithm 2): with d = Scale·gradient,
//
//	first = Keep1·first + Take1·d, second = Keep2·second + Take2·d²
//	w = Keep·w − Rate·first / (Root·√second + Eps)
type AdamWStep struct{ Scale, Keep1, Take1, Keep2, Take2, Keep, Rate, Root, Eps float32 }

// AdamW takes one step of the weights w with the gradients g and the moments, all of one length.
func (s *Set) AdamW(w, g, first, second []float32, step *AdamWStep) {
	g, first, second = g[:len(w)], first[:len(w)], second[:len(w)]
	n := len(w) / Lanes
	if n > 0 {
		s.adamW(w, g, first, second, step, n)
	}
	genericAdamW(w[n*Lanes:], g[n*Lanes:], first[n*Lanes:], second[n*Lanes:], step)
}
