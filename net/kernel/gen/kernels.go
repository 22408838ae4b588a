package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Memory layouts (all float32): activations [C/16][121][16]; V and M [36][C/16][T][16] (T = tiles of the chunk);
// U and dU [36][Cout/G][Cin][G]; weights [9][Cin][Cout]. A "row" is 16 lanes = 64 bytes. Strides are in bytes.

var zr = []reg.Register{reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15, reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31}
var yr = []reg.Register{reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7, reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15}

// asm collects all kernels.
var asm = build.NewContext()

// function begins a function.
func function(name, signature string) {
	asm.Function(name)
	asm.Attributes(attr.NOSPLIT)
	asm.SignatureExpr(signature)
}

// table begins a read-only data section.
func table(name string) operand.Mem {
	m := asm.StaticGlobal(name)
	asm.DataAttributes(attr.RODATA | attr.NOPTR)
	return m
}

// arg loads a parameter of the function under construction into a register.
func arg(name string) reg.Register { return asm.Load(asm.Param(name), asm.GP64()) }

// An isa is one instruction set: the suffix of its functions, its vector's bytes, its registers.
type isa struct {
	suf string
	vb  int // vector bytes
	r   []reg.Register
}

var i512 = isa{"512", 64, zr}
var i256 = isa{"256", 32, yr}

func (s isa) last(n int) reg.Register { return s.r[len(s.r)-n] }

func imm(n int) operand.Op {
	if n >= -128 && n < 128 {
		return operand.I8(n)
	}
	return operand.I32(n)
}

func (s isa) zero(r operand.Op) {
	if s.vb == 64 {
		asm.VPXORD(r, r, r)
	} else {
		asm.VPXOR(r, r, r)
	}
}

// gate zeroes the lanes of o where x <= 0 (kz must be zero, t is scratch).
func (s isa) gate(x operand.Op, o, kz, t reg.Register) {
	if s.vb == 64 {
		asm.VCMPPS(operand.Imm(17), x, kz, reg.K1)
		asm.VMOVAPS_Z(o, reg.K1, o)
	} else {
		asm.VCMPPS(operand.Imm(17), x, kz, t)
		asm.VANDPS(t, o, o)
	}
}

// gemm: C[mb*mr x nv vectors] = A*B.  A: [kblock][rows][16], B: [K][nv*lanes], C: [nblock][rows][16].
func gemm(s isa, mr, nv int) {
	function(fmt.Sprintf("gemm%s_%dx%d", s.suf, mr, nv), "func(a, b, c *float32, mb, k, as, cs int)")
	wrow := nv * s.vb
	a0, b, c := arg("a"), arg("b"), arg("c")
	mb, kq0 := arg("mb"), arg("k")
	as, cs := arg("as"), arg("cs")
	asm.SHRQ(operand.Imm(2), kq0)
	ac := func(p, v int) reg.Register { return s.r[p*nv+v] }
	wr := func(v int) reg.Register { return s.r[mr*nv+v] }
	ntmp := len(s.r) - mr*nv - nv
	tmp := func(i int) reg.Register { return s.r[mr*nv+nv+i%ntmp] }
	ab, a, bp, left, k, t := asm.GP64(), asm.GP64(), asm.GP64(), asm.GP64(), asm.GP64(), asm.GP64()
	asm.Label("m")
	for i := 0; i < mr*nv; i++ {
		s.zero(s.r[i])
	}
	asm.MOVQ(a0, ab)
	asm.MOVQ(b, bp)
	asm.MOVQ(kq0, left)
	asm.Label("kb")
	asm.MOVQ(operand.I32(4), k)
	asm.CMPQ(left, k)
	asm.CMOVQLT(left, k)
	asm.SUBQ(k, left)
	asm.MOVQ(ab, a)
	asm.Label("k")
	for kk := 0; kk < 4; kk++ {
		for v := 0; v < nv; v++ {
			asm.VMOVUPS(operand.Mem{Base: bp, Disp: kk*wrow + v*s.vb}, wr(v))
			if mr == 14 { // each row of B is in use for so long that the next are fetched meanwhile
				asm.PREFETCHT0(operand.Mem{Base: bp, Disp: 2048 + kk*wrow + v*s.vb})
			}
		}
		for p := 0; p < mr; p++ {
			asm.VBROADCASTSS(operand.Mem{Base: a, Disp: p*64 + kk*4}, tmp(p))
			for v := 0; v < nv; v++ {
				asm.VFMADD231PS(tmp(p), wr(v), ac(p, v))
			}
		}
	}
	asm.ADDQ(imm(16), a)
	asm.ADDQ(imm(4*wrow), bp)
	asm.DECQ(k)
	asm.JNZ(operand.LabelRef("k"))
	asm.ADDQ(as, ab)
	asm.TESTQ(left, left)
	asm.JNZ(operand.LabelRef("kb"))
	asm.MOVQ(c, t)
	for v := 0; v < nv; v++ {
		for p := 0; p < mr; p++ {
			asm.VMOVUPS(ac(p, v), operand.Mem{Base: t, Disp: p*64 + (v*s.vb)%64})
		}
		if ((v+1)*s.vb)%64 == 0 {
			asm.ADDQ(cs, t)
		}
	}
	asm.ADDQ(imm(mr*64), a0)
	asm.ADDQ(imm(mr*64), c)
	asm.DECQ(mb)
	asm.JNZ(operand.LabelRef("m"))
	asm.VZEROUPPER()
	asm.RET()
}

// gemmTN: C[n*nc channels x 2 vectors] += A^T B, summed over T rows.
// A: one 16-channel plane [T][16], B: [2*lanes/16][T][16] with plane stride bs bytes, C: [n*nc][2*lanes].
func gemmTN(s isa, nc int) {
	function("gemmTN"+s.suf, "func(a, b, c *float32, T, n, bs int)")
	a, b0, c := arg("a"), arg("b"), arg("c")
	T, n, bs := arg("T"), arg("n"), arg("bs")
	ac := func(p, v int) reg.Register { return s.r[p*2+v] }
	w := []reg.Register{s.r[nc*2], s.r[nc*2+1]}
	tmp := func(i int) reg.Register { return s.r[nc*2+2+i%(len(s.r)-nc*2-2)] }
	ap, bp, t := asm.GP64(), asm.GP64(), asm.GP64()
	asm.Label("n")
	for i := 0; i < nc*2; i++ {
		asm.VMOVUPS(operand.Mem{Base: c, Disp: i * s.vb}, s.r[i])
	}
	asm.MOVQ(a, ap)
	asm.MOVQ(b0, bp)
	asm.MOVQ(T, t)
	asm.Label("t")
	asm.VMOVUPS(operand.Mem{Base: bp}, w[0])
	if s.vb == 64 {
		asm.VMOVUPS(operand.Mem{Base: bp, Index: bs, Scale: 1}, w[1])
	} else {
		asm.VMOVUPS(operand.Mem{Base: bp, Disp: 32}, w[1])
	}
	for p := 0; p < nc; p++ {
		asm.VBROADCASTSS(operand.Mem{Base: ap, Disp: p * 4}, tmp(p))
		asm.VFMADD231PS(tmp(p), w[0], ac(p, 0))
		asm.VFMADD231PS(tmp(p), w[1], ac(p, 1))
	}
	asm.ADDQ(imm(64), ap)
	asm.ADDQ(imm(64), bp)
	asm.DECQ(t)
	asm.JNZ(operand.LabelRef("t"))
	for i := 0; i < nc*2; i++ {
		asm.VMOVUPS(s.r[i], operand.Mem{Base: c, Disp: i * s.vb})
	}
	asm.ADDQ(imm(nc*4), a)
	asm.ADDQ(imm(nc*2*s.vb), c)
	asm.DECQ(n)
	asm.JNZ(operand.LabelRef("n"))
	asm.VZEROUPPER()
	asm.RET()
}

// konst is a read-only table; every value is repeated over 64 bytes so that it can be a memory operand of either ISA.
type konst struct {
	m operand.Mem
	v map[float64]int
}

func newKonst(name string, vals []float64) konst {
	k := konst{table(name), map[float64]int{}}
	for i, v := range vals {
		k.v[v] = i * 64
		for j := 0; j < 16; j++ {
			asm.AddDatum(i*64+j*4, operand.F32(v))
		}
	}
	return k
}

func (k konst) at(v float64) operand.Mem {
	o, ok := k.v[v]
	if !ok {
		panic(fmt.Sprint("no constant ", v))
	}
	return k.m.Offset(o)
}

// bt: B^T d, 6 -> 6. Destroys d; returns the registers of the results.
func bt(s isa, k konst, d, t []reg.Register) []reg.Register {
	x, a, b := t[0], d[0], t[1]
	k4, k5, k2 := s.last(1), s.last(2), s.last(3)
	asm.VMOVAPS(d[4], x)
	asm.VFNMADD231PS(k5, d[2], x)
	asm.VFMADD231PS(k4, d[0], x)
	asm.VFNMADD231PS(k5, d[3], d[5])
	asm.VFMADD231PS(k4, d[1], d[5])
	asm.VMOVAPS(d[4], a)
	asm.VFNMADD231PS(k4, d[2], a)
	asm.VMOVAPS(d[3], b)
	asm.VFNMADD231PS(k4, d[1], b)
	asm.VSUBPS(d[2], d[4], d[4])
	asm.VSUBPS(d[1], d[3], d[3])
	asm.VADDPS(b, a, d[1])
	asm.VSUBPS(b, a, d[2])
	asm.VMOVAPS(d[4], t[2])
	asm.VFMADD231PS(k2, d[3], t[2])
	asm.VFNMADD231PS(k2, d[3], d[4])
	return []reg.Register{x, d[1], d[2], t[2], d[4], d[5]}
}

// am: A d, 4 -> 6 (adjoint of the output transform).
func am(s isa, k konst, d, t []reg.Register) []reg.Register {
	k4, k2, k8 := s.last(1), s.last(3), s.last(2)
	e, f, h := t[0], t[1], t[2]
	asm.VADDPS(d[2], d[0], e)
	asm.VADDPS(d[3], d[1], f)
	g := d[2]
	asm.VMULPS(k4, d[2], g)
	asm.VADDPS(d[0], g, g)
	asm.VMULPS(k2, d[1], h)
	asm.VFMADD231PS(k8, d[3], h)
	asm.VADDPS(f, e, d[1])
	asm.VSUBPS(f, e, e)
	asm.VADDPS(h, g, f)
	asm.VSUBPS(h, g, g)
	return []reg.Register{d[0], d[1], e, f, g, d[3]}
}

const scratchColumns = 15

// prefetch touches the same cell of the next plane (the callers walk through planes in order).
func prefetch(base operand.Op, disp int) {
	asm.PREFETCHT0(operand.Mem{Base: base.(reg.GPVirtual), Disp: disp + 121*64})
}

// transform generates winoIn (nd=6: x -> V) or winoGrad (nd=4: dY -> M; each cell counted in the tile that owns it).
// tmp: [6][scratchColumns][16], column x+2; the columns outside the board must be zero. v: [36] planes, stride xs bytes, one row per tile.
func transform(s isa, name string, nd int, f func(isa, konst, []reg.Register, []reg.Register) []reg.Register, k konst, kv [3]float64) {
	function(name+s.suf, "func(in, tmp, v *float32, xs int)")
	in, tmp, v, xs := arg("in"), arg("tmp"), arg("v"), arg("xs")
	for i, c := range kv {
		asm.VMOVUPS(k.at(c), s.last(i+1))
	}
	n, t, ip, v0, v3, vt, xs6 := asm.GP64(), asm.GP64(), asm.GP64(), asm.GP64(), asm.GP64(), asm.GP64(), asm.GP64()
	asm.IMUL3Q(operand.I32(6), xs, xs6)
	pad := 0
	if nd == 6 {
		pad = 1
	}
	for g, gr := range bands {
		column := func(ip, t operand.Op, x int) { // x<0: any column, addressed by the pointers
			d := s.r[0:6]
			dx := max(x, 0) * 64
			for i := 0; i < nd; i++ {
				y := gr.y - pad + i
				if y < 0 || y >= 11 || (x >= 0 && nd == 4 && gr.owner(x, y) < 0) {
					s.zero(d[i])
				} else {
					asm.VMOVUPS(operand.Mem{Base: ip.(reg.GPVirtual), Disp: y*11*64 + dx}, d[i])
					if i >= pad && i < pad+4 {
						prefetch(ip, y*11*64+dx)
					}
				}
			}
			for i, o := range f(s, k, d, s.r[6:9]) {
				asm.VMOVUPS(o, operand.Mem{Base: t.(reg.GPVirtual), Disp: i*scratchColumns*64 + dx})
			}
		}
		x0, x1 := max(0, gr.xmin()-pad), min(10, gr.xmax()+pad)
		asm.LEAQ(operand.Mem{Base: tmp.(reg.GPVirtual), Disp: 2 * 64}, t)
		if nd == 6 {
			asm.LEAQ(operand.Mem{Base: in.(reg.GPVirtual), Disp: x0 * 64}, ip)
			asm.ADDQ(imm(x0*64), t)
			asm.MOVQ(operand.I32(x1-x0+1), n)
			l := fmt.Sprintf("a%d", g)
			asm.Label(l)
			column(ip, t, -1)
			asm.ADDQ(imm(64), ip)
			asm.ADDQ(imm(64), t)
			asm.DECQ(n)
			asm.JNZ(operand.LabelRef(l))
		} else {
			for x := x0; x <= x1; x++ {
				column(in, t, x)
			}
		}
		asm.MOVQ(tmp, t)
		asm.MOVQ(operand.I32(6), n)
		asm.MOVQ(v, vt)
		l := fmt.Sprintf("b%d", g)
		asm.Label(l)
		asm.MOVQ(vt, v0)
		asm.LEAQ(operand.Mem{Base: v0, Index: xs, Scale: 2}, v3)
		asm.ADDQ(xs, v3)
		for i, x := range gr.x {
			d := s.r[0:6]
			for j := 0; j < nd; j++ {
				asm.VMOVUPS(operand.Mem{Base: t, Disp: (x - pad + j + 2) * 64}, d[j])
			}
			o := f(s, k, d, s.r[6:9])
			r := (gr.first + i) * 64
			asm.VMOVUPS(o[0], operand.Mem{Base: v0, Disp: r})
			asm.VMOVUPS(o[1], operand.Mem{Base: v0, Disp: r, Index: xs, Scale: 1})
			asm.VMOVUPS(o[2], operand.Mem{Base: v0, Disp: r, Index: xs, Scale: 2})
			asm.VMOVUPS(o[3], operand.Mem{Base: v3, Disp: r})
			asm.VMOVUPS(o[4], operand.Mem{Base: v3, Disp: r, Index: xs, Scale: 1})
			asm.VMOVUPS(o[5], operand.Mem{Base: v3, Disp: r, Index: xs, Scale: 2})
		}
		asm.ADDQ(imm(scratchColumns*64), t)
		asm.ADDQ(xs6, vt)
		asm.DECQ(n)
		asm.JNZ(operand.LabelRef(l))
	}
	asm.VZEROUPPER()
	asm.RET()
}

// at: A^T m, 6 -> 4; m[6], m[7] are scratch.
func at(m []reg.Register, k2, k4, k8 reg.Register) []reg.Register {
	s12, s34 := m[6], m[7]
	asm.VADDPS(m[2], m[1], s12)
	asm.VSUBPS(m[2], m[1], m[1])
	asm.VADDPS(m[4], m[3], s34)
	asm.VSUBPS(m[4], m[3], m[3])
	asm.VADDPS(s12, m[0], m[0])
	asm.VADDPS(s34, m[0], m[0])
	asm.VFMADD231PS(k4, s34, s12)
	asm.VADDPS(m[1], m[5], m[5])
	asm.VFMADD231PS(k8, m[3], m[5])
	asm.VFMADD231PS(k2, m[3], m[1])
	return []reg.Register{m[0], m[1], s12, m[5]}
}

// winoOut: out = relu(A^T m A + bias [+ res]); with bwd: out = (A^T m A [+ res]) where act > 0, else 0.
// Every on-board cell is written once, by its owner; off-board cells are set to zero. tmp: [4][2 or 3 tiles][6][16].
func winoOut(s isa, k konst, bwd bool) {
	name, par := "winoOut", "bias"
	if bwd {
		name, par = "winoOutBwd", "act"
	}
	function(name+s.suf, "func(m, tmp, out, "+par+", res *float32, xs int)")
	m, tmp, out := arg("m"), arg("tmp"), arg("out")
	act, res, xs := arg(par), arg("res"), arg("xs")
	k2, k4, k8, kb, kz := s.last(1), s.last(2), s.last(3), s.last(4), s.last(5)
	asm.VMOVUPS(k.at(2), k2)
	asm.VMOVUPS(k.at(4), k4)
	asm.VMOVUPS(k.at(8), k8)
	s.zero(kz)
	if !bwd {
		asm.VMOVUPS(operand.Mem{Base: act}, kb)
	}
	for y := 0; y < 11; y++ {
		for x := 0; x < 11; x++ {
			if !onBoard(x, y) {
				asm.VMOVUPS(kz, operand.Mem{Base: out, Disp: (y*11 + x) * 64})
			}
		}
	}
	n, mp, m3, mt, t, xs6 := asm.GP64(), asm.GP64(), asm.GP64(), asm.GP64(), asm.GP64(), asm.GP64()
	asm.IMUL3Q(operand.I32(6), xs, xs6)
	for g, gr := range bands {
		asm.MOVQ(m, mt)
		asm.MOVQ(tmp, t)
		asm.MOVQ(operand.I32(6), n)
		l := fmt.Sprintf("a%d", g)
		asm.Label(l)
		asm.MOVQ(mt, mp)
		asm.LEAQ(operand.Mem{Base: mp, Index: xs6, Scale: 2}, m3)
		asm.ADDQ(xs6, m3)
		for i := range gr.x {
			d := s.r[0:8]
			r := (gr.first + i) * 64
			asm.VMOVUPS(operand.Mem{Base: mp, Disp: r}, d[0])
			asm.VMOVUPS(operand.Mem{Base: mp, Disp: r, Index: xs6, Scale: 1}, d[1])
			asm.VMOVUPS(operand.Mem{Base: mp, Disp: r, Index: xs6, Scale: 2}, d[2])
			asm.VMOVUPS(operand.Mem{Base: m3, Disp: r}, d[3])
			asm.VMOVUPS(operand.Mem{Base: m3, Disp: r, Index: xs6, Scale: 1}, d[4])
			asm.VMOVUPS(operand.Mem{Base: m3, Disp: r, Index: xs6, Scale: 2}, d[5])
			for q, o := range at(d, k2, k4, k8) {
				asm.VMOVUPS(o, operand.Mem{Base: t, Disp: (q*18 + i*6) * 64})
			}
		}
		asm.ADDQ(xs, mt)
		asm.ADDQ(imm(64), t)
		asm.DECQ(n)
		asm.JNZ(operand.LabelRef(l))
		nores, next := fmt.Sprintf("nores%d", g), fmt.Sprintf("next%d", g)
		for _, withRes := range []bool{true, false} {
			if withRes {
				asm.TESTQ(res, res)
				asm.JZ(operand.LabelRef(nores))
			} else {
				asm.Label(nores)
			}
			for q := 0; q < 4; q++ {
				for i, x := range gr.x {
					var own []int
					for c := 0; c < 4; c++ {
						if gr.owner(x+c, gr.y+q) == gr.first+i {
							own = append(own, c)
						}
					}
					if own == nil {
						continue
					}
					d := s.r[0:8]
					for j := 0; j < 6; j++ {
						asm.VMOVUPS(operand.Mem{Base: tmp, Disp: (q*18 + i*6 + j) * 64}, d[j])
					}
					o := at(d, k2, k4, k8)
					for _, c := range own {
						p := ((gr.y+q)*11 + x + c) * 64
						if !bwd {
							asm.VADDPS(kb, o[c], o[c])
						}
						prefetch(out, p)
						if withRes {
							asm.VADDPS(operand.Mem{Base: res, Disp: p}, o[c], o[c])
							prefetch(res, p)
						}
						if bwd {
							prefetch(act, p)
							s.gate(operand.Mem{Base: act, Disp: p}, o[c], kz, kb)
						} else {
							asm.VMAXPS(kz, o[c], o[c])
						}
						asm.VMOVUPS(o[c], operand.Mem{Base: out, Disp: p})
					}
				}
			}
			if withRes {
				asm.JMP(operand.LabelRef(next))
			}
		}
		asm.Label(next)
	}
	asm.VZEROUPPER()
	asm.RET()
}

// packG: n times U = G w G^T for one vector of output channels. w: 9 taps, stride ws bytes; u: 36, stride us.
func packG(s isa, k konst) {
	function("packG"+s.suf, "func(w, u *float32, ws, us, n, wstep, ustep int)")
	w, u, ws, us := arg("w"), arg("u"), arg("ws"), arg("us")
	n, wst, ust := arg("n"), arg("wstep"), arg("ustep")
	p, q := asm.GP64(), asm.GP64()
	g3 := func(a, b, c reg.Register, row int, o, t reg.Register) { // o = G[row] . (a,b,c)
		switch row {
		case 0:
			asm.VMULPS(k.at(.25), a, o)
		case 5:
			asm.VMOVAPS(c, o)
		case 1, 2:
			asm.VADDPS(c, a, o)
			if row == 1 {
				asm.VADDPS(b, o, o)
			} else {
				asm.VSUBPS(b, o, o)
			}
			asm.VMULPS(k.at(-1./6), o, o)
		default:
			asm.VMULPS(k.at(1./24), a, o)
			asm.VFMADD231PS(k.at(1./6), c, o)
			if row == 3 {
				asm.VFMADD231PS(k.at(1./12), b, o)
			} else {
				asm.VFNMADD231PS(k.at(1./12), b, o)
			}
		}
	}
	asm.Label("n")
	asm.MOVQ(w, p)
	asm.MOVQ(u, q)
	for i := 0; i < 9; i++ {
		asm.VMOVUPS(operand.Mem{Base: p}, s.r[i])
		asm.ADDQ(ws, p)
	}
	for i := 0; i < 6; i++ {
		for j := 0; j < 3; j++ {
			g3(s.r[j], s.r[3+j], s.r[6+j], i, s.r[9+j], nil)
		}
		for j := 0; j < 6; j++ {
			g3(s.r[9], s.r[10], s.r[11], j, s.r[12+j%2], nil)
			asm.VMOVUPS(s.r[12+j%2], operand.Mem{Base: q})
			asm.ADDQ(us, q)
		}
	}
	asm.ADDQ(wst, w)
	asm.ADDQ(ust, u)
	asm.DECQ(n)
	asm.JNZ(operand.LabelRef("n"))
	asm.VZEROUPPER()
	asm.RET()
}

// unpackG: n times dw = G^T dU G for one vector of output channels; dU becomes zero.
func unpackG(s isa, k konst) {
	function("unpackG"+s.suf, "func(u, w *float32, us, ws, n, ustep, wstep int)")
	w, u, ws, us := arg("w"), arg("u"), arg("ws"), arg("us")
	n, wst, ust := arg("n"), arg("wstep"), arg("ustep")
	p, q := asm.GP64(), asm.GP64()
	G := [6][3]float64{{.25, 0, 0}, {-1. / 6, -1. / 6, -1. / 6}, {-1. / 6, 1. / 6, -1. / 6}, {1. / 24, 1. / 12, 1. / 6}, {1. / 24, -1. / 12, 1. / 6}, {0, 0, 1}}
	acc := func(a, b int) reg.Register { return s.r[a*3+b] }
	d := s.r[9:15]
	asm.Label("n")
	asm.MOVQ(u, p)
	asm.MOVQ(w, q)
	for i := 0; i < 9; i++ {
		s.zero(s.r[i])
	}
	for i := 0; i < 6; i++ {
		t := s.r[15]
		s.zero(t)
		for j := 0; j < 6; j++ {
			asm.VMOVUPS(operand.Mem{Base: p}, d[j])
			asm.VMOVUPS(t, operand.Mem{Base: p})
			asm.ADDQ(us, p)
		}
		asm.VSUBPS(d[2], d[1], t) // u1-u2
		asm.VADDPS(d[2], d[1], d[1])
		asm.VSUBPS(d[4], d[3], d[2]) // u3-u4
		asm.VADDPS(d[4], d[3], d[3])
		asm.VMULPS(k.at(.25), d[0], d[0])
		asm.VFMADD231PS(k.at(-1./6), d[1], d[0])
		asm.VFMADD231PS(k.at(1./24), d[3], d[0]) // b0
		asm.VMULPS(k.at(1./12), d[2], d[2])
		asm.VFMADD231PS(k.at(-1./6), t, d[2]) // b1
		asm.VFMADD231PS(k.at(-1./6), d[1], d[5])
		asm.VFMADD231PS(k.at(1./6), d[3], d[5]) // b2
		for a := 0; a < 3; a++ {
			if G[i][a] != 0 {
				for b, r := range []reg.Register{d[0], d[2], d[5]} {
					asm.VFMADD231PS(k.at(G[i][a]), r, acc(a, b))
				}
			}
		}
	}
	for i := 0; i < 9; i++ {
		asm.VMOVUPS(s.r[i], operand.Mem{Base: q})
		asm.ADDQ(ws, q)
	}
	asm.ADDQ(wst, w)
	asm.ADDQ(ust, u)
	asm.DECQ(n)
	asm.JNZ(operand.LabelRef("n"))
	asm.VZEROUPPER()
	asm.RET()
}

// colSum: acc[0:16] += sum of n rows.
func colSum(s isa) {
	function("colSum"+s.suf, "func(x, acc *float32, n int)")
	x, a, n := arg("x"), arg("acc"), arg("n")
	nv := 64 / s.vb
	for v := 0; v < nv; v++ {
		asm.VMOVUPS(operand.Mem{Base: a, Disp: v * s.vb}, s.r[v])
	}
	asm.Label("n")
	for v := 0; v < nv; v++ {
		asm.VADDPS(operand.Mem{Base: x, Disp: v * s.vb}, s.r[v], s.r[v])
	}
	asm.ADDQ(imm(64), x)
	asm.DECQ(n)
	asm.JNZ(operand.LabelRef("n"))
	for v := 0; v < nv; v++ {
		asm.VMOVUPS(s.r[v], operand.Mem{Base: a, Disp: v * s.vb})
	}
	asm.VZEROUPPER()
	asm.RET()
}

// pool: sum[0:16] += x and top[0:16] = max(top, x), over n rows.
func pool(s isa) {
	function("pool"+s.suf, "func(x, sum, top *float32, n int)")
	x, sum, top, n := arg("x"), arg("sum"), arg("top"), arg("n")
	nv := 64 / s.vb
	for v := 0; v < nv; v++ {
		asm.VMOVUPS(operand.Mem{Base: sum, Disp: v * s.vb}, s.r[v])
		asm.VMOVUPS(operand.Mem{Base: top, Disp: v * s.vb}, s.r[2+v])
	}
	asm.Label("n")
	for v := 0; v < nv; v++ {
		asm.VMOVUPS(operand.Mem{Base: x, Disp: v * s.vb}, s.r[4+v])
		asm.VADDPS(s.r[4+v], s.r[v], s.r[v])
		asm.VMAXPS(s.r[4+v], s.r[2+v], s.r[2+v])
	}
	asm.ADDQ(imm(64), x)
	asm.DECQ(n)
	asm.JNZ(operand.LabelRef("n"))
	for v := 0; v < nv; v++ {
		asm.VMOVUPS(s.r[v], operand.Mem{Base: sum, Disp: v * s.vb})
		asm.VMOVUPS(s.r[2+v], operand.Mem{Base: top, Disp: v * s.vb})
	}
	asm.VZEROUPPER()
	asm.RET()
}

// unpool: y = v[0:16] [+ y] where act > 0, else 0, over n rows; in the first row where act = top > 0, a lane gets dtop more.
func unpool(s isa, add bool) {
	name := "unpool"
	if add {
		name = "unpoolAdd"
	}
	function(name+s.suf, "func(y, act, v, top, dtop *float32, n int)")
	y, act, v, top, dtop, n := arg("y"), arg("act"), arg("v"), arg("top"), arg("dtop"), arg("n")
	nv := 64 / s.vb
	vs, tops, dtops, left := s.r[0:nv], s.r[nv:2*nv], s.r[2*nv:3*nv], s.r[3*nv:4*nv]
	d, x, m := s.r[4*nv], s.r[4*nv+1], s.r[4*nv+2]
	kz := s.last(1)
	s.zero(kz)
	for i := 0; i < nv; i++ {
		asm.VMOVUPS(operand.Mem{Base: v, Disp: i * s.vb}, vs[i])
		asm.VMOVUPS(operand.Mem{Base: top, Disp: i * s.vb}, tops[i])
		asm.VMOVUPS(operand.Mem{Base: dtop, Disp: i * s.vb}, dtops[i])
		if s.vb == 64 {
			asm.VCMPPS(operand.Imm(17), tops[i], kz, reg.K2)
		} else {
			asm.VCMPPS(operand.Imm(17), tops[i], kz, left[i])
		}
	}
	asm.Label("n")
	for i := 0; i < nv; i++ {
		asm.VMOVUPS(operand.Mem{Base: act, Disp: i * s.vb}, x)
		if add {
			asm.VADDPS(operand.Mem{Base: y, Disp: i * s.vb}, vs[i], d)
		} else {
			asm.VMOVAPS(vs[i], d)
		}
		s.gate(x, d, kz, m)
		if s.vb == 64 {
			asm.VCMPPS(operand.Imm(0), x, tops[i], reg.K2, reg.K3)
			asm.VADDPS(dtops[i], d, reg.K3, d)
			asm.KANDNW(reg.K2, reg.K3, reg.K2)
		} else {
			asm.VCMPPS(operand.Imm(0), x, tops[i], m)
			asm.VANDPS(left[i], m, m)
			asm.VANDNPS(left[i], m, left[i])
			asm.VANDPS(dtops[i], m, m)
			asm.VADDPS(m, d, d)
		}
		asm.VMOVUPS(d, operand.Mem{Base: y, Disp: i * s.vb})
	}
	asm.ADDQ(imm(64), act)
	asm.ADDQ(imm(64), y)
	asm.DECQ(n)
	asm.JNZ(operand.LabelRef("n"))
	asm.VZEROUPPER()
	asm.RET()
}

// dot: the sum of x*w over n times 16 lanes; xs and ws are the strides of x and w in bytes.
func dot(s isa) {
	function("dot"+s.suf, "func(x, w *float32, n, xs, ws int) float32")
	x, w, n, xs, ws := arg("x"), arg("w"), arg("n"), arg("xs"), arg("ws")
	nv := 64 / s.vb
	for i := 0; i < nv; i++ {
		s.zero(s.r[i])
	}
	asm.Label("n")
	for i := 0; i < nv; i++ {
		asm.VMOVUPS(operand.Mem{Base: x, Disp: i * s.vb}, s.r[2+i])
		asm.VFMADD231PS(operand.Mem{Base: w, Disp: i * s.vb}, s.r[2+i], s.r[i])
	}
	asm.ADDQ(xs, x)
	asm.ADDQ(ws, w)
	asm.DECQ(n)
	asm.JNZ(operand.LabelRef("n"))
	if s.vb == 64 {
		asm.VEXTRACTF64X4(operand.Imm(1), reg.Z0, reg.Y1)
	}
	asm.VADDPS(reg.Y1, reg.Y0, reg.Y0)
	asm.VEXTRACTF128(operand.Imm(1), reg.Y0, reg.X1)
	asm.VADDPS(reg.X1, reg.X0, reg.X0)
	asm.VHADDPS(reg.X0, reg.X0, reg.X0)
	asm.VHADDPS(reg.X0, reg.X0, reg.X0)
	asm.VZEROUPPER()
	asm.Store(reg.X0, asm.ReturnIndex(0))
	asm.RET()
}

// axpy: y += scale*x over n times 16 lanes; ys and xs are the strides of y and x in bytes.
func axpy(s isa) {
	function("axpy"+s.suf, "func(y, x *float32, scale float32, n, ys, xs int)")
	y, x, n, ys, xs := arg("y"), arg("x"), arg("n"), arg("ys"), arg("xs")
	g := asm.Load(asm.Param("scale"), asm.XMM())
	asm.VBROADCASTSS(g, s.r[0])
	nv := 64 / s.vb
	asm.Label("n")
	for i := 0; i < nv; i++ {
		asm.VMOVUPS(operand.Mem{Base: y, Disp: i * s.vb}, s.r[1+i])
		asm.VFMADD231PS(operand.Mem{Base: x, Disp: i * s.vb}, s.r[0], s.r[1+i])
		asm.VMOVUPS(s.r[1+i], operand.Mem{Base: y, Disp: i * s.vb})
	}
	asm.ADDQ(xs, x)
	asm.ADDQ(ys, y)
	asm.DECQ(n)
	asm.JNZ(operand.LabelRef("n"))
	asm.VZEROUPPER()
	asm.RET()
}

// squares: the sum of the squares of n times 16 lanes, in float64.
func squares(s isa) {
	function("squares"+s.suf, "func(x *float32, n int) float64")
	x, n := arg("x"), arg("n")
	steps := 128 / s.vb // converted vectors in a row
	for i := 0; i < steps; i++ {
		s.zero(s.r[i])
	}
	asm.Label("n")
	for i := 0; i < steps; i++ {
		asm.VCVTPS2PD(operand.Mem{Base: x, Disp: i * s.vb / 2}, s.r[steps+i])
		asm.VFMADD231PD(s.r[steps+i], s.r[steps+i], s.r[i])
	}
	asm.ADDQ(imm(64), x)
	asm.DECQ(n)
	asm.JNZ(operand.LabelRef("n"))
	for i := 1; i < steps; i++ {
		asm.VADDPD(s.r[i], s.r[0], s.r[0])
	}
	if s.vb == 64 {
		asm.VEXTRACTF64X4(operand.Imm(1), reg.Z0, reg.Y1)
		asm.VADDPD(reg.Y1, reg.Y0, reg.Y0)
	}
	asm.VEXTRACTF128(operand.Imm(1), reg.Y0, reg.X1)
	asm.VADDPD(reg.X1, reg.X0, reg.X0)
	asm.VHADDPD(reg.X0, reg.X0, reg.X0)
	asm.VZEROUPPER()
	asm.Store(reg.X0, asm.ReturnIndex(0))
	asm.RET()
}

// adamW: one step of n times 16 weights; c holds the constants in the order of the code.
func adamW(s isa) {
	function("adamW"+s.suf, "func(w, grad, first, second, c *float32, n int)")
	w, g, first, second, c, n := arg("w"), arg("grad"), arg("first"), arg("second"), arg("c"), arg("n")
	k := s.r[0:9]
	for i := range k {
		asm.VBROADCASTSS(operand.Mem{Base: c, Disp: i * 4}, k[i])
	}
	scale, b1, c1, b2, c2, keep, rate, root, eps := k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7], k[8]
	d, m, v, x := s.r[9], s.r[10], s.r[11], s.r[12]
	asm.Label("n")
	for i := 0; i < 64/s.vb; i++ {
		at := func(p reg.Register) operand.Mem { return operand.Mem{Base: p, Disp: i * s.vb} }
		asm.VMULPS(at(g), scale, d)
		asm.VMULPS(at(first), b1, m)
		asm.VFMADD231PS(d, c1, m)
		asm.VMOVUPS(m, at(first))
		asm.VMULPS(d, d, d)
		asm.VMULPS(at(second), b2, v)
		asm.VFMADD231PS(d, c2, v)
		asm.VMOVUPS(v, at(second))
		asm.VSQRTPS(v, v)
		asm.VMULPS(root, v, v)
		asm.VADDPS(eps, v, v)
		asm.VMULPS(rate, m, m)
		asm.VDIVPS(v, m, m)
		asm.VMULPS(at(w), keep, x)
		asm.VSUBPS(m, x, x)
		asm.VMOVUPS(x, at(w))
	}
	for _, p := range []reg.Register{w, g, first, second} {
		asm.ADDQ(imm(64), p)
	}
	asm.DECQ(n)
	asm.JNZ(operand.LabelRef("n"))
	asm.VZEROUPPER()
	asm.RET()
}
