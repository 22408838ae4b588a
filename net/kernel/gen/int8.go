package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Memory layouts of the 8-bit kernels: inputs x and outputs q are bytes [C/32][121][32]; weights are signed bytes
// [Cout/32][Cin/32][3 rows][8][3 columns][2][16][4], the last index being the input channel within a group of four; y and
// res are float32 [C/16][121][16].

const (
	byteBlock = 32                // channels of a block of bytes
	bytePlane = side * side * 32  // bytes of one block
	tapBytes  = 3 * 2 * 64        // weights of a row of taps and four input channels
	rowBytes  = tapBytes * 32 / 4 // weights of a row of taps and a block
)

// rowPoints are the x of the points of a row.
func rowPoints(y int) (xs []int) {
	for x := range side {
		if y >= 0 && y < side && onBoard(x, y) {
			xs = append(xs, x)
		}
	}
	return xs
}

// conv8 generates the direct 3x3 convolution of one board to 32 channels: y = max(0, sum*scale + bias [+ res]) and
// q = round(min(y*inv, 255)). A row of the board at a time is held in registers; taps that read no point are left out.
// Cells that are no points are neither read nor written.
func conv8() {
	function("conv8VNNI", "func(x *uint8, w *int8, y *float32, q *uint8, scale, bias, res *float32, blocks int, inv float32)")
	x0, w0, y, q := arg("x"), arg("w"), arg("y"), arg("q")
	scale, bias, res, blocks := arg("scale"), arg("bias"), arg("res"), arg("blocks")
	x, w, n, k := asm.GP64(), asm.GP64(), asm.GP64(), asm.GP64()
	weight := func(dx, v int) reg.Register { return zr[20+2*(dx+1)+v] }
	for row := range side {
		out := rowPoints(row)
		acc := func(c, v int) reg.Register { return zr[2*(c-out[0])+v] }
		for _, c := range out {
			i512.zero(acc(c, 0))
			i512.zero(acc(c, 1))
		}
		asm.MOVQ(x0, x)
		asm.MOVQ(w0, w)
		asm.MOVQ(blocks, n)
		block := fmt.Sprintf("block%d", row)
		asm.Label(block)
		for dy := -1; dy <= 1; dy++ {
			in := rowPoints(row + dy)
			if in == nil {
				asm.ADDQ(imm(rowBytes), w)
				continue
			}
			asm.MOVQ(operand.I32(byteBlock/4), k)
			group := fmt.Sprintf("group%d_%d", row, dy+1)
			asm.Label(group)
			for i := range 6 {
				asm.VMOVDQU32(operand.Mem{Base: w, Disp: i * 64}, zr[20+i])
			}
			for i, c := range in {
				t := zr[26+i%6]
				asm.VPBROADCASTD(operand.Mem{Base: x, Disp: ((row+dy)*side + c) * byteBlock}, t)
				for dx := -1; dx <= 1; dx++ {
					if o := c - dx; o >= out[0] && o <= out[len(out)-1] {
						asm.VPDPBUSD(weight(dx, 0), t, acc(o, 0))
						asm.VPDPBUSD(weight(dx, 1), t, acc(o, 1))
					}
				}
			}
			asm.ADDQ(imm(4), x)
			asm.ADDQ(imm(tapBytes), w)
			asm.DECQ(k)
			asm.JNZ(operand.LabelRef(group))
			asm.SUBQ(imm(byteBlock), x)
		}
		asm.ADDQ(imm(bytePlane), x)
		asm.DECQ(n)
		asm.JNZ(operand.LabelRef(block))

		zero, full, by, sc, bi := zr[20], zr[21], zr[22], [2]reg.Register{zr[23], zr[24]}, [2]reg.Register{zr[25], zr[26]}
		i512.zero(zero)
		steps(by, full)
		for v := range 2 {
			asm.VMOVUPS(operand.Mem{Base: scale, Disp: v * 64}, sc[v])
			asm.VMOVUPS(operand.Mem{Base: bias, Disp: v * 64}, bi[v])
		}
		at := func(c, v int) int { return (v*side*side + row*side + c) * 64 }
		for _, c := range out {
			for v := range 2 {
				asm.VCVTDQ2PS(acc(c, v), acc(c, v))
				asm.VMULPS(sc[v], acc(c, v), acc(c, v))
				asm.VADDPS(bi[v], acc(c, v), acc(c, v))
			}
		}
		plain := fmt.Sprintf("plain%d", row)
		asm.TESTQ(res, res)
		asm.JZ(operand.LabelRef(plain))
		for _, c := range out {
			for v := range 2 {
				asm.VADDPS(operand.Mem{Base: res, Disp: at(c, v)}, acc(c, v), acc(c, v))
			}
		}
		asm.Label(plain)
		for i, c := range out {
			for v := range 2 {
				asm.VMAXPS(zero, acc(c, v), acc(c, v))
				asm.VMOVUPS(acc(c, v), operand.Mem{Base: y, Disp: at(c, v)})
				t := zr[27+(2*i+v)%5]
				toByte(acc(c, v), by, full, t)
				asm.VPMOVDB(t, operand.Mem{Base: q, Disp: (row*side+c)*byteBlock + v*16})
			}
		}
	}
	asm.VZEROUPPER()
	asm.RET()
}

// steps loads the parameter inv and the largest byte into all lanes.
func steps(by, full reg.Register) {
	inv, err := asm.Param("inv").Resolve()
	if err != nil {
		panic(err)
	}
	asm.VBROADCASTSS(inv.Addr, by)
	asm.VBROADCASTSS(fullByte, full)
}

// fullByte is the largest byte as a float.
var fullByte = func() operand.Mem {
	m := table("fullByte")
	asm.AddDatum(0, operand.F32(255))
	return m
}()

// toByte sets the lanes of t to round(min(x*by, full)), to even.
func toByte(x, by, full, t reg.Register) {
	asm.VMULPS(by, x, t)
	asm.VMINPS(full, t, t)
	asm.VCVTPS2DQ(t, t)
}

// bytes8 generates the rounding of one block of activations that are not negative to bytes: q = round(min(x*inv, 255)).
func bytes8() {
	function("bytes8VNNI", "func(x *float32, q *uint8, inv float32)")
	x, q := arg("x"), arg("q")
	by, full, t := zr[0], zr[1], zr[2:4]
	steps(by, full)
	n := asm.GP64()
	asm.MOVQ(operand.I32(side*side), n)
	asm.Label("n")
	for v := range 2 {
		asm.VMOVUPS(operand.Mem{Base: x, Disp: v * side * side * 64}, t[v])
		toByte(t[v], by, full, t[v])
		asm.VPMOVDB(t[v], operand.Mem{Base: q, Disp: v * 16})
	}
	asm.ADDQ(imm(64), x)
	asm.ADDQ(imm(byteBlock), q)
	asm.DECQ(n)
	asm.JNZ(operand.LabelRef("n"))
	asm.VZEROUPPER()
	asm.RET()
}
