package kernel

import (
	"fmt"
	"math"
	"os"
	"unsafe"
)

// byteBlock is the number of channels of one block of bytes.
const byteBlock = 32

// An Int8 is a 3x3 convolution in 8-bit integers of fixed channel counts: unsigned bytes times signed weights, summed
// exactly in 32 bits. It is a value without state; goroutines may share it. It convolves directly: cells that are no
// points are neither read nor written, so they stay the zeros that new memory holds.
//
// Bytes are laid out [channels/32][121][32]. A byte b stands for the number b*step, for a step of the caller's choice.
type Int8 struct {
	set     *byteSet
	in, out int
}

const avx512Name = "avx512"

// A byteSet is the kernels of one instruction set; both sets compute the same bits.
type byteSet struct {
	// conv does the 32 output channels of one block of weights: sum of blocks input blocks, y = max(0, sum*scale + bias
	// [+ res]), q = round(min(y*inv, 255)).
	conv func(x []uint8, w []int8, y []float32, q []uint8, scale, bias, res []float32, blocks int, inv float32)
	// bytes rounds one block, q = round(min(x*inv, 255)).
	bytes func(x []float32, q []uint8, inv float32)
}

// HasInt8 reports whether 8-bit convolutions are fast here: on a machine with AVX-512 VNNI, unless [ISAVariable] names
// another instruction set.
func HasInt8() bool {
	isa := os.Getenv(ISAVariable)
	return (isa == "" || isa == avx512Name) && machineBytes() != nil
}

// NewInt8 returns the convolution of in channels to out, multiples of [OutputMultiple]. Its error wraps [ErrISA] if this
// machine lacks AVX-512 VNNI, as without it 8-bit arithmetic is not worth its errors, or if the environment variable
// [ISAVariable] names neither avx512 nor generic, plain Go that computes the same bits.
func NewInt8(in, out int) (Int8, error) {
	var set *byteSet
	switch os.Getenv(ISAVariable) {
	case "", avx512Name:
		set = machineBytes()
	case generic.name:
		set = &genericBytes
	}
	if set == nil {
		return Int8{}, fmt.Errorf("8-bit convolutions: AVX-512 VNNI: %w (use the model without int8)", ErrISA)
	}
	return newInt8(set, in, out), nil
}

func newInt8(set *byteSet, in, out int) Int8 {
	if in <= 0 || out <= 0 || in%byteBlock != 0 || out%byteBlock != 0 {
		panic(fmt.Sprintf("kernel: 8-bit convolution of %d to %d channels: want multiples of %d", in, out, byteBlock))
	}
	return Int8{set, in, out}
}

// PackedLen is the length of packed weights in bytes.
func (c Int8) PackedLen() int { return taps * c.in * c.out }

// ByteLen is the length in bytes of one board's activations of so many channels, a multiple of [OutputMultiple].
func ByteLen(channels int) int { return channels * Cells }

// AllocBytes returns n zeros whose first lies on a 64-byte boundary.
func AllocBytes[T uint8 | int8](n int) []T {
	f := Alloc((n + 3) / 4)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(f))), n)
}

// Pack sets u, [PackedLen], to the weights w, [3][3][in][out], in steps of scale, [out], each rounded to the nearest of
// -127 to 127. It sets scale to the smallest that clips no weight.
func (c Int8) Pack(u []int8, scale, w []float32) {
	u, scale, w = u[:c.PackedLen()], scale[:c.out], w[:taps*c.in*c.out]
	clear(scale)
	for i, v := range w {
		scale[i%c.out] = max(scale[i%c.out], v, -v)
	}
	for o := range scale {
		scale[o] = max(scale[o]/math.MaxInt8, math.SmallestNonzeroFloat32)
	}
	for i, v := range w {
		tap, ch, o := i/c.out/c.in, i/c.out%c.in, i%c.out
		u[c.at(tap, ch, o)] = int8(min(max(math.RoundToEven(float64(v)/float64(scale[o])), -math.MaxInt8), math.MaxInt8))
	}
}

// at is the index of a packed weight: [out/32][in/32][3 rows][8][3 columns][32][4].
func (c Int8) at(tap, ch, o int) int {
	i := o/byteBlock*(c.in/byteBlock) + ch/byteBlock
	i = (i*3+tap/3)*(byteBlock/4) + ch%byteBlock/4
	return ((i*3+tap%3)*byteBlock+o%byteBlock)*4 + ch%4
}

// Forward convolves one board of bytes x, [in], with packed weights u: y = max(0, conv(x)*scale + bias [+ res]) in
// floats, the activations of a [Conv], and q = round(min(y*inv, 255)) in bytes, to even. scale and bias are [out]; y, q
// and res are [out]; res may be nil, and may be y. With bytes x in steps of s, scale is s times that of Pack; with inv
// 1/t the bytes q are in steps of t.
func (c Int8) Forward(y []float32, q, x []uint8, u []int8, scale, bias, res []float32, inv float32) {
	x, u, q, y, scale, bias = x[:ByteLen(c.in)], u[:c.PackedLen()], q[:ByteLen(c.out)], y[:ActivationLen(c.out)], scale[:c.out], bias[:c.out]
	for o := 0; o < c.out; o += byteBlock {
		var r []float32
		if res != nil {
			r = res[o*Cells:][:byteBlock*Cells]
		}
		c.set.conv(x, u[o*taps*c.in:], y[o*Cells:], q[o*Cells:], scale[o:], bias[o:], r, c.in/byteBlock, inv)
	}
}

// Bytes sets q to the bytes of one board's activations x of in channels, none negative: q = round(min(x*inv, 255)).
func (c Int8) Bytes(q []uint8, x []float32, inv float32) {
	q, x = q[:ByteLen(c.in)], x[:ActivationLen(c.in)]
	for o := 0; o < len(q); o += byteBlock * Cells {
		c.set.bytes(x[o:], q[o:], inv)
	}
}

// genericBytes is what the assembly computes, in plain Go.
var genericBytes = byteSet{conv: genericConv8, bytes: genericBytes8}

func genericConv8(x []uint8, w []int8, y []float32, q []uint8, scale, bias, res []float32, blocks int, inv float32) {
	c := Int8{in: blocks * byteBlock, out: byteBlock}
	for _, cell := range Grid {
		for o := range byteBlock {
			sum := int32(0)
			for tap := range taps {
				px, py := cell%Side+tap%3-1, cell/Side+tap/3-1
				if px < 0 || px >= Side || py < 0 || py >= Side || !OnBoard(py*Side+px) {
					continue
				}
				for ch := 0; ch < c.in; ch += 4 {
					a, b := (*[4]uint8)(x[(ch/byteBlock*Cells+py*Side+px)*byteBlock+ch%byteBlock:]), (*[4]int8)(w[c.at(tap, ch, o):])
					sum += int32(a[0])*int32(b[0]) + int32(a[1])*int32(b[1]) + int32(a[2])*int32(b[2]) + int32(a[3])*int32(b[3])
				}
			}
			i := (o/Lanes*Cells+cell)*Lanes + o%Lanes
			v := float32(float32(sum)*scale[o]) + bias[o]
			if res != nil {
				v += res[i]
			}
			y[i] = max(v, 0)
			q[cell*byteBlock+o] = toByte(y[i], inv)
		}
	}
}

func genericBytes8(x []float32, q []uint8, inv float32) {
	for cell := range Cells {
		for o := range byteBlock {
			q[cell*byteBlock+o] = toByte(x[(o/Lanes*Cells+cell)*Lanes+o%Lanes], inv)
		}
	}
}

func toByte(x, inv float32) uint8 {
	return uint8(math.RoundToEven(float64(min(x*inv, math.MaxUint8))))
}
