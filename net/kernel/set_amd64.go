package kernel

import "golang.org/x/sys/cpu"

var avx512 = Set{
	name:  "avx512",
	group: 32,
	in:    func(x, tmp, v []float32, xs int) { winoIn512(&x[0], &tmp[0], &v[0], xs*4) },
	grad:  func(dy, tmp, m []float32, xs int) { winoGrad512(&dy[0], &tmp[0], &m[0], xs*4) },
	out: func(m, tmp, y, bias, res []float32, xs int) {
		winoOut512(&m[0], &tmp[0], &y[0], &bias[0], first(res, 0), xs*4)
	},
	outBwd: func(m, tmp, dx, act, res []float32, xs int) {
		winoOutBwd512(&m[0], &tmp[0], &dx[0], &act[0], first(res, 0), xs*4)
	},
	gemm: func(a, b, c []float32, rows, k, as, cs int) { runBlocks(blocks512[:], a, b, c, rows, k, as, cs) },
	gemmTN: func(a, b, c []float32, rows, n, bs int) {
		gemmTN512(&a[0], &b[0], &c[0], rows, n/8, bs*4)
	},
	packG: func(w, u []float32, ws, us, n, wstep, ustep int) {
		packG512(&w[0], &u[0], ws*4, us*4, n, wstep*4, ustep*4)
	},
	unpack: func(u, w []float32, us, ws, n, ustep, wstep int) {
		unpackG512(&u[0], &w[0], us*4, ws*4, n, ustep*4, wstep*4)
	},
	colSum: func(x, acc []float32, n int) { colSum512(&x[0], &acc[0], n) },
	pool:   func(x, sum, top []float32, n int) { pool512(&x[0], &sum[0], &top[0], n) },
	unpool: func(y, act, v, top, dtop []float32, n int) {
		unpool512(&y[0], &act[0], &v[0], &top[0], &dtop[0], n)
	},
	unpoolAdd: func(y, act, v, top, dtop []float32, n int) {
		unpoolAdd512(&y[0], &act[0], &v[0], &top[0], &dtop[0], n)
	},
	dot:     func(x, w []float32, n, xs, ws int) float32 { return dot512(&x[0], &w[0], n, xs*4, ws*4) },
	axpy:    func(y, x []float32, g float32, n, ys, xs int) { axpy512(&y[0], &x[0], g, n, ys*4, xs*4) },
	squares: func(x []float32, n int) float64 { return squares512(&x[0], n) },
	adamW: func(w, g, first, second []float32, c *AdamWStep, n int) {
		adamW512(&w[0], &g[0], &first[0], &second[0], &c.Scale, n)
	},
}

// The AVX2 transforms handle 8 of the 16 lanes a call.
var avx2 = Set{
	name:  "avx2",
	group: 16,
	in: func(x, tmp, v []float32, xs int) {
		winoIn256(&x[0], &tmp[0], &v[0], xs*4)
		winoIn256(&x[8], &tmp[0], &v[8], xs*4)
	},
	grad: func(dy, tmp, m []float32, xs int) {
		winoGrad256(&dy[0], &tmp[0], &m[0], xs*4)
		winoGrad256(&dy[8], &tmp[0], &m[8], xs*4)
	},
	out: func(m, tmp, y, bias, res []float32, xs int) {
		winoOut256(&m[0], &tmp[0], &y[0], &bias[0], first(res, 0), xs*4)
		winoOut256(&m[8], &tmp[0], &y[8], &bias[8], first(res, 8), xs*4)
	},
	outBwd: func(m, tmp, dx, act, res []float32, xs int) {
		winoOutBwd256(&m[0], &tmp[0], &dx[0], &act[0], first(res, 0), xs*4)
		winoOutBwd256(&m[8], &tmp[0], &dx[8], &act[8], first(res, 8), xs*4)
	},
	gemm: gemm256,
	gemmTN: func(a, b, c []float32, rows, n, bs int) {
		gemmTN256(&a[0], &b[0], &c[0], rows, n/4, bs*4)
	},
	packG: func(w, u []float32, ws, us, n, wstep, ustep int) {
		packG256(&w[0], &u[0], ws*4, us*4, n, wstep*4, ustep*4)
		packG256(&w[8], &u[8], ws*4, us*4, n, wstep*4, ustep*4)
	},
	unpack: func(u, w []float32, us, ws, n, ustep, wstep int) {
		unpackG256(&u[0], &w[0], us*4, ws*4, n, ustep*4, wstep*4)
		unpackG256(&u[8], &w[8], us*4, ws*4, n, ustep*4, wstep*4)
	},
	colSum: func(x, acc []float32, n int) { colSum256(&x[0], &acc[0], n) },
	pool:   func(x, sum, top []float32, n int) { pool256(&x[0], &sum[0], &top[0], n) },
	unpool: func(y, act, v, top, dtop []float32, n int) {
		unpool256(&y[0], &act[0], &v[0], &top[0], &dtop[0], n)
	},
	unpoolAdd: func(y, act, v, top, dtop []float32, n int) {
		unpoolAdd256(&y[0], &act[0], &v[0], &top[0], &dtop[0], n)
	},
	dot:     func(x, w []float32, n, xs, ws int) float32 { return dot256(&x[0], &w[0], n, xs*4, ws*4) },
	axpy:    func(y, x []float32, g float32, n, ys, xs int) { axpy256(&y[0], &x[0], g, n, ys*4, xs*4) },
	squares: func(x []float32, n int) float64 { return squares256(&x[0], n) },
	adamW: func(w, g, first, second []float32, c *AdamWStep, n int) {
		adamW256(&w[0], &g[0], &first[0], &second[0], &c.Scale, n)
	},
}

func machineSets() []*Set {
	x := &cpu.X86
	var sets []*Set
	if x.HasAVX512F && x.HasAVX512VL && x.HasAVX512BW && x.HasAVX512DQ {
		sets = append(sets, &avx512)
	}
	if x.HasAVX2 && x.HasFMA {
		sets = append(sets, &avx2)
	}
	return sets
}

// first returns the address of s[i], nil if s is nil.
func first(s []float32, i int) *float32 {
	if s == nil {
		return nil
	}
	return &s[i]
}

// A rowBlock is a gemm that computes a fixed number of rows mb times.
type rowBlock struct {
	rows int
	gemm func(a, b, c *float32, mb, k, as, cs int)
}

var (
	blocks512 = [...]rowBlock{{14, gemm512_14x2}, {7, gemm512_7x2}, {4, gemm512_4x2}, {1, gemm512_1x2}}
	blocks256 = [...]rowBlock{{6, gemm256_6x2}, {4, gemm256_4x2}, {3, gemm256_3x2}, {1, gemm256_1x2}}
)

// runBlocks covers rows by the blocks, in their order.
func runBlocks(blocks []rowBlock, a, b, c []float32, rows, k, as, cs int) {
	for _, g := range blocks {
		if n := rows / g.rows; n > 0 {
			g.gemm(&a[0], &b[0], &c[0], n, k, as*4, cs*4)
			rows -= n * g.rows
			if rows == 0 {
				return
			}
			a, c = a[n*g.rows*Lanes:], c[n*g.rows*Lanes:]
		}
	}
}

// gemm256 ends with 4+3 or 4+4 rows where blocks of 6 would leave one or two rows, each as slow as four.
func gemm256(a, b, c []float32, rows, k, as, cs int) {
	if r := rows % 6; rows >= 7 && (r == 1 || r == 2) {
		if o := rows - 6 - r; o > 0 {
			gemm256_6x2(&a[0], &b[0], &c[0], o/6, k, as*4, cs*4)
			a, c, rows = a[o*Lanes:], c[o*Lanes:], rows-o
		}
		runBlocks(blocks256[1:], a, b, c, rows, k, as, cs)
		return
	}
	runBlocks(blocks256[:], a, b, c, rows, k, as, cs)
}
