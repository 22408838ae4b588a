package kernel

import "math"

// The plain Go kernels: what the assembly of gen computes, for any machine.
var generic = Set{
	name: "generic", group: Lanes,
	in: genericIn, grad: genericGrad, out: genericOut, outBwd: genericOutBwd,
	gemm: genericGemm, gemmTN: genericGemmTN, packG: genericPackG, unpack: genericUnpack,
	colSum: genericColSum, pool: genericPool,
	unpool:    func(y, act, v, top, dtop []float32, n int) { genericUnpool(y, act, v, top, dtop, n, false) },
	unpoolAdd: func(y, act, v, top, dtop []float32, n int) { genericUnpool(y, act, v, top, dtop, n, true) },
	dot:       genericDot, axpy: genericAxpy,
	squares: func(x []float32, n int) float64 { return genericSquares(x[:n*Lanes]) },
	adamW: func(w, g, first, second []float32, c *AdamWStep, n int) {
		genericAdamW(w[:n*Lanes], g, first, second, c)
	},
}

// row16 is the row of 16 lanes that begins at s[o].
func row16(s []float32, o int) *[Lanes]float32 { return (*[Lanes]float32)(s[o:]) }

var zeros [Lanes]float32

// cellAt is the row of cell (x, y), zeros outside the grid.
func cellAt(s []float32, x, y int) *[Lanes]float32 {
	if x < 0 || x >= Side || y < 0 || y >= Side {
		return &zeros
	}
	return row16(s, (y*Side+x)*Lanes)
}

// genericGemm works on blocks of two rows and four columns.
func genericGemm(a, b, c []float32, rows, k, as, _ int) {
	t := 0
	for ; t+1 < rows; t += 2 {
		for f := 0; f < Lanes; f += 4 {
			var s00, s01, s02, s03, s10, s11, s12, s13 float32
			for kb := 0; kb < k; kb += Lanes {
				o := kb/Lanes*as + t*Lanes
				a0, a1 := row16(a, o), row16(a, o+Lanes)
				for i := range min(Lanes, k-kb) {
					w := (*[4]float32)(b[(kb+i)*Lanes+f:])
					x0, x1 := a0[i], a1[i]
					s00 += x0 * w[0]
					s01 += x0 * w[1]
					s02 += x0 * w[2]
					s03 += x0 * w[3]
					s10 += x1 * w[0]
					s11 += x1 * w[1]
					s12 += x1 * w[2]
					s13 += x1 * w[3]
				}
			}
			*(*[4]float32)(c[t*Lanes+f:]) = [4]float32{s00, s01, s02, s03}
			*(*[4]float32)(c[(t+1)*Lanes+f:]) = [4]float32{s10, s11, s12, s13}
		}
	}
	if t < rows {
		var s [Lanes]float32
		for i := range k {
			x, w := a[i/Lanes*as+t*Lanes+i%Lanes], row16(b, i*Lanes)
			for j := range s {
				s[j] += x * w[j]
			}
		}
		*row16(c, t*Lanes) = s
	}
}

func genericGemmTN(a, b, c []float32, rows, n, _ int) {
	for i := 0; i < n; i += 2 {
		c0, c1 := row16(c, i*Lanes), row16(c, (i+1)*Lanes)
		s0, s1 := *c0, *c1
		for t := range rows {
			x, y := row16(a, t*Lanes), row16(b, t*Lanes)
			x0, x1 := x[i], x[i+1]
			for l, v := range y {
				s0[l] += x0 * v
				s1[l] += x1 * v
			}
		}
		*c0, *c1 = s0, s1
	}
}

// bt is B^T d: six input cells of a line to six products.
func bt(d0, d1, d2, d3, d4, d5 float32) (float32, float32, float32, float32, float32, float32) {
	a, b := d4-4*d2, d3-4*d1
	c, e := d4-d2, 2*(d3-d1)
	return 4*d0 - 5*d2 + d4, a + b, a - b, c + e, c - e, 4*d1 - 5*d3 + d5
}

func genericIn(x, _, v []float32, xs int) {
	for t, g := range tiles {
		var w [6][6][Lanes]float32
		for j := range 6 {
			var p [6]*[Lanes]float32
			for i := range p {
				p[i] = cellAt(x, g.x-1+j, g.y-1+i)
			}
			for l := range Lanes {
				w[0][j][l], w[1][j][l], w[2][j][l], w[3][j][l], w[4][j][l], w[5][j][l] = bt(p[0][l], p[1][l], p[2][l], p[3][l], p[4][l], p[5][l])
			}
		}
		for r := range w {
			var o [6]*[Lanes]float32
			for i := range o {
				o[i] = row16(v, (r*6+i)*xs+t*Lanes)
			}
			for l, p := 0, &w[r]; l < Lanes; l++ {
				o[0][l], o[1][l], o[2][l], o[3][l], o[4][l], o[5][l] = bt(p[0][l], p[1][l], p[2][l], p[3][l], p[4][l], p[5][l])
			}
		}
	}
}

// am is A d: four output cells of a line to six products.
func am(d0, d1, d2, d3 float32) (float32, float32, float32, float32, float32, float32) {
	e, f, g, h := d0+d2, d1+d3, d0+4*d2, 2*d1+8*d3
	return d0, e + f, e - f, g + h, g - h, d3
}

func genericGrad(dy, _, m []float32, xs int) {
	for t, g := range tiles {
		var w [6][4][Lanes]float32
		for j := range 4 {
			var p [4]*[Lanes]float32
			for i := range p {
				p[i] = &zeros
				if g.own>>(4*i+j)&1 != 0 {
					p[i] = cellAt(dy, g.x+j, g.y+i)
				}
			}
			for l := range Lanes {
				w[0][j][l], w[1][j][l], w[2][j][l], w[3][j][l], w[4][j][l], w[5][j][l] = am(p[0][l], p[1][l], p[2][l], p[3][l])
			}
		}
		for r := range w {
			var o [6]*[Lanes]float32
			for i := range o {
				o[i] = row16(m, (r*6+i)*xs+t*Lanes)
			}
			for l := range Lanes {
				o[0][l], o[1][l], o[2][l], o[3][l], o[4][l], o[5][l] = am(w[r][0][l], w[r][1][l], w[r][2][l], w[r][3][l])
			}
		}
	}
}

// at is A^T m: six products of a line to four output cells.
func at(m0, m1, m2, m3, m4, m5 float32) (float32, float32, float32, float32) {
	s, d, t, e := m1+m2, m1-m2, m3+m4, m3-m4
	return m0 + s + t, d + 2*e, s + 4*t, d + 8*e + m5
}

func genericOut(m, tmp, y, bias, res []float32, xs int) { genericOutput(m, tmp, y, bias, nil, res, xs) }

func genericOutBwd(m, tmp, dx, act, res []float32, xs int) {
	genericOutput(m, tmp, dx, zeros[:], act, res, xs)
}

// genericOutput serves both output transforms: the gate is act where it is given, else the value itself.
func genericOutput(m, tmp, y, bias, act, res []float32, xs int) {
	b := row16(bias, 0)
	for c := range Cells {
		if !OnBoard(c) {
			*row16(y, c*Lanes) = zeros
		}
	}
	for t, g := range tiles {
		for j := range 6 {
			var p [6]*[Lanes]float32
			for i := range p {
				p[i] = row16(m, (i*6+j)*xs+t*Lanes)
			}
			o0, o1, o2, o3 := row16(tmp, j*Lanes), row16(tmp, (6+j)*Lanes), row16(tmp, (12+j)*Lanes), row16(tmp, (18+j)*Lanes)
			for l := range Lanes {
				o0[l], o1[l], o2[l], o3[l] = at(p[0][l], p[1][l], p[2][l], p[3][l], p[4][l], p[5][l])
			}
		}
		for r := range 4 {
			var p [6]*[Lanes]float32
			for i := range p {
				p[i] = row16(tmp, (r*6+i)*Lanes)
			}
			var v [4][Lanes]float32
			for l := range Lanes {
				v[0][l], v[1][l], v[2][l], v[3][l] = at(p[0][l], p[1][l], p[2][l], p[3][l], p[4][l], p[5][l])
			}
			for k := range v {
				if g.own>>(4*r+k)&1 != 0 {
					o := ((g.y+r)*Side + g.x + k) * Lanes
					plus, gate := &zeros, &v[k]
					if res != nil {
						plus = row16(res, o)
					}
					for l := range v[k] {
						v[k][l] += b[l] + plus[l]
					}
					if act != nil {
						gate = row16(act, o)
					}
					for l, d := 0, row16(y, o); l < Lanes; l++ {
						if gate[l] > 0 {
							d[l] = v[k][l]
						} else {
							d[l] = 0
						}
					}
				}
			}
		}
	}
}

// g43 is the matrix G of F(4,3).
var g43 = [6][3]float32{{1. / 4, 0, 0}, {-1. / 6, -1. / 6, -1. / 6}, {-1. / 6, 1. / 6, -1. / 6}, {1. / 24, 1. / 12, 1. / 6}, {1. / 24, -1. / 12, 1. / 6}, {0, 0, 1}}

func genericPackG(w, u []float32, ws, us, n, wstep, ustep int) {
	for c := range n {
		var x [taps]*[Lanes]float32
		for i := range x {
			x[i] = row16(w, c*wstep+i*ws)
		}
		for i, gi := range g43 {
			var r [3][Lanes]float32
			for j := range r {
				for l := range r[j] {
					r[j][l] = gi[0]*x[j][l] + gi[1]*x[3+j][l] + gi[2]*x[6+j][l]
				}
			}
			for j, gj := range g43 {
				o := row16(u, c*ustep+(i*6+j)*us)
				for l := range o {
					o[l] = gj[0]*r[0][l] + gj[1]*r[1][l] + gj[2]*r[2][l]
				}
			}
		}
	}
}

func genericUnpack(u, w []float32, us, ws, n, ustep, wstep int) {
	for c := range n {
		var acc [taps][Lanes]float32
		for i, gi := range g43 {
			var r [3][Lanes]float32
			for j, gj := range g43 {
				x := row16(u, c*ustep+(i*6+j)*us)
				for b := range r {
					for l := range x {
						r[b][l] += gj[b] * x[l]
					}
				}
				*x = zeros
			}
			for a := range 3 {
				for b := range r {
					for l := range r[b] {
						acc[a*3+b][l] += gi[a] * r[b][l]
					}
				}
			}
		}
		for i := range acc {
			*row16(w, c*wstep+i*ws) = acc[i]
		}
	}
}

func genericColSum(x, acc []float32, n int) {
	s := row16(acc, 0)
	for i := range n {
		for l, v := range row16(x, i*Lanes) {
			s[l] += v
		}
	}
}

func genericPool(x, sum, top []float32, n int) {
	s, t := row16(sum, 0), row16(top, 0)
	for i := range n {
		for l, v := range row16(x, i*Lanes) {
			s[l] += v
			t[l] = max(t[l], v)
		}
	}
}

func genericUnpool(y, act, v, top, dtop []float32, n int, add bool) {
	left := *row16(top, 0)
	for i := range n {
		a, d := row16(act, i*Lanes), row16(y, i*Lanes)
		for l := range d {
			if !add {
				d[l] = 0
			}
			if a[l] <= 0 {
				d[l] = 0
				continue
			}
			if d[l] += v[l]; a[l] == left[l] {
				d[l] += dtop[l]
				left[l] = 0
			}
		}
	}
}

func genericDot(x, w []float32, n, xs, ws int) float32 {
	var s [4]float32
	for i := range n {
		a, b := row16(x, i*xs), row16(w, i*ws)
		for l := 0; l < Lanes; l += 4 {
			s[0] += a[l] * b[l]
			s[1] += a[l+1] * b[l+1]
			s[2] += a[l+2] * b[l+2]
			s[3] += a[l+3] * b[l+3]
		}
	}
	return s[0] + s[1] + s[2] + s[3]
}

func genericAxpy(y, x []float32, g float32, n, ys, xs int) {
	for i := range n {
		d, a := row16(y, i*ys), row16(x, i*xs)
		for l := range d {
			d[l] += g * a[l]
		}
	}
}

func genericSquares(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum
}

func genericAdamW(w, g, first, second []float32, c *AdamWStep) {
	for i := range w {
		d := c.Scale * g[i]
		first[i] = c.Keep1*first[i] + c.Take1*d
		second[i] = c.Keep2*second[i] + c.Take2*d*d
		w[i] = c.Keep*w[i] - c.Rate*first[i]/(c.Root*float32(math.Sqrt(float64(second[i])))+c.Eps)
	}
}
