package kernel

import "fmt"

const (
	planes = 36 // products of F(4x4,3x3)
	skew   = 16 // floats between planes; breaks the power-of-two stride
	taps   = 9
)

// OutputMultiple divides every count of output channels, and every count of input channels of a layer whose input
// has a gradient: the widest group of the kernels.
const OutputMultiple = 32

// A Conv is a 3x3 convolution of fixed channel counts. It is a value without state; goroutines may share it.
type Conv struct {
	set     *Set
	in, out int
	depth   int // in, rounded up to a multiple of 8; packed rows past in are zero
}

// NewConv returns the convolution of in > 0 channels to out, a multiple of [OutputMultiple].
func NewConv(s *Set, in, out int) Conv {
	if in <= 0 || out <= 0 || out%OutputMultiple != 0 {
		panic(fmt.Sprintf("kernel: convolution of %d to %d channels: out must be a multiple of %d", in, out, OutputMultiple))
	}
	return Conv{s, in, out, (in + 7) / 8 * 8}
}

// PackedLen is the length of packed weights in floats.
func (c Conv) PackedLen() int { return planes * c.plane() }

// plane is the distance of two planes of packed weights.
func (c Conv) plane() int { return c.depth*c.out + skew }

// WeightLen is the length of weights [3][3][in][out].
func (c Conv) WeightLen() int { return taps * c.in * c.out }

// Pack sets u, [PackedLen], to the transform of the weights w, [3][3][in][out].
func (c Conv) Pack(u, w []float32) {
	u, w = u[:c.PackedLen()], w[:c.WeightLen()]
	if c.depth != c.in {
		clear(u)
	}
	g := c.set.group
	for f := 0; f < c.out; f += Lanes {
		c.set.packG(w[f:], u[f/g*g*c.depth+f%g:], c.in*c.out, c.plane(), c.in, c.out, g)
	}
}

// Transpose sets t, [3][3][out][in], to the weights of the transposed convolution of w, [3][3][in][out]: taps rotated
// by half a turn, input and output exchanged. A Conv from out to in with these weights carries the gradient back. in is a
// multiple of [OutputMultiple].
func Transpose(t, w []float32, in, out int) {
	n := in * out
	for tap := range taps {
		src, dst := w[tap*n:][:n], t[(taps-1-tap)*n:][:n]
		for i := 0; i < in; i += 4 { // four numbers of a row of dst at a time
			s0, s1, s2, s3 := src[i*out:][:out], src[(i+1)*out:][:out], src[(i+2)*out:][:out], src[(i+3)*out:][:out]
			for o, v := range s0 {
				*(*[4]float32)(dst[o*in+i:]) = [4]float32{v, s1[o], s2[o], s3[o]}
			}
		}
	}
}

// A Scratch is the working memory of one goroutine's convolutions.
type Scratch struct {
	boards, channels int
	v, m             []float32 // transformed input, products: [36][channels/16][7*boards][16]
	in, out          []float32 // rows of the transforms; columns of in outside the grid stay zero
}

// NewScratch returns the memory for convolutions of up to so many channels, inputs and outputs, which take up to so
// many boards at a time.
func NewScratch(boards, channels int) *Scratch {
	n := planes * (Tiles*boards*Blocks(channels)*Lanes + skew)
	return &Scratch{boards, channels, Alloc(n), Alloc(n), Alloc(6 * scratchColumns * Lanes), Alloc(4 * 18 * Lanes)}
}

// stride is the distance of two planes of b boards.
func stride(b, channels int) int { return Blocks(channels)*Tiles*b*Lanes + skew }

func (c Conv) transform(s *Scratch, b int, x []float32) {
	blocks, xs := Blocks(c.in), stride(b, c.in)
	for i := range b {
		for p := range blocks {
			c.set.in(x[(i*blocks+p)*Lanes*Cells:][:Lanes*Cells], s.in, s.v[(p*b+i)*Tiles*Lanes:], xs)
		}
	}
}

func (c Conv) multiply(s *Scratch, b int, u []float32) {
	rows, xv, xm, n := Tiles*b, stride(b, c.in), stride(b, c.out), c.plane()
	for p := range planes {
		for f := 0; f < c.out; f += c.set.group {
			c.set.gemm(s.v[p*xv:], u[p*n+f*c.depth:], s.m[p*xm+f*rows:], rows, c.depth, rows*Lanes, rows*Lanes)
		}
	}
}

// from returns x from board i on.
func from(x []float32, i, channels int) []float32 { return x[i*ActivationLen(channels):] }

func (c Conv) check(s *Scratch) {
	if s.channels < max(c.in, c.out) {
		panic(fmt.Sprintf("kernel: scratch for %d channels, convolution of %d to %d", s.channels, c.in, c.out))
	}
}

// Forward sets y = max(0, conv(x) + bias [+ res]) for n boards: x [n][in], u packed weights, y and res [n][out]
// activations; res may be nil, and may be y. bias is [out], the same for all boards, or [n][out], one a board.
func (c Conv) Forward(s *Scratch, n int, y, x, u, bias, res []float32) {
	c.check(s)
	step := 0
	if len(bias) > c.out {
		step = c.out
	}
	blocks, size := c.out/Lanes, ActivationLen(c.out)
	for i := 0; i < n; i += s.boards {
		b := min(s.boards, n-i)
		c.transform(s, b, from(x, i, c.in))
		c.multiply(s, b, u)
		for j := range b {
			for f := range blocks {
				o := (i+j)*size + f*Lanes*Cells
				var r []float32
				if res != nil {
					r = res[o:][:Lanes*Cells]
				}
				c.set.out(s.m[(f*b+j)*Tiles*Lanes:], s.out, y[o:][:Lanes*Cells], bias[(i+j)*step+f*Lanes:][:Lanes], r, stride(b, c.out))
			}
		}
	}
}

// Backward sets dx = conv(dz) [+ res] where act > 0 and to zero elsewhere, for n boards: the convolution's own input
// is the gradient dz, [n][in], u the packed transposed weights ([Transpose]), and dx, act, res are [n][out]. With
// act the activations that entered the forward layer, dx is the gradient before the ReLU that made them. res may be
// nil, and may be dx.
func (c Conv) Backward(s *Scratch, n int, dx, dz, u, act, res []float32) {
	c.check(s)
	blocks, size := c.out/Lanes, ActivationLen(c.out)
	for i := 0; i < n; i += s.boards {
		b := min(s.boards, n-i)
		c.transform(s, b, from(dz, i, c.in))
		c.multiply(s, b, u)
		for j := range b {
			for f := range blocks {
				o := (i+j)*size + f*Lanes*Cells
				var r []float32
				if res != nil {
					r = res[o:][:Lanes*Cells]
				}
				c.set.outBwd(s.m[(f*b+j)*Tiles*Lanes:], s.out, dx[o:][:Lanes*Cells], act[o:][:Lanes*Cells], r, stride(b, c.out))
			}
		}
	}
}

// Accumulate adds to du, [PackedLen], the gradient of the packed weights and to db, [out], that of the bias, from n boards'
// inputs x, [n][in], and gradients dz, [n][out].
func (c Conv) Accumulate(s *Scratch, n int, du, db, x, dz []float32) {
	c.check(s)
	g, blocks, size := c.set.group, c.out/Lanes, c.plane()
	du, db = du[:c.PackedLen()], db[:c.out]
	for i := 0; i < n; i += s.boards {
		b := min(s.boards, n-i)
		c.transform(s, b, from(x, i, c.in))
		rows, xv, xm, d := Tiles*b, stride(b, c.in), stride(b, c.out), from(dz, i, c.out)
		for j := range b {
			for f := range blocks {
				c.set.grad(d[(j*blocks+f)*Lanes*Cells:][:Lanes*Cells], s.in, s.m[(f*b+j)*Tiles*Lanes:], xm)
			}
		}
		for p := range planes {
			for f := 0; f < c.out; f += g {
				for k := 0; k < c.depth; k += Lanes {
					c.set.gemmTN(s.v[p*xv+k*rows:], s.m[p*xm+f*rows:], du[p*size+f*c.depth+k*g:], rows, min(Lanes, c.depth-k), rows*Lanes)
				}
			}
		}
		for f := range blocks { // plane (1,1) holds the sum over each tile
			c.set.colSum(s.m[7*xm+f*rows*Lanes:], db[f*Lanes:], rows)
		}
	}
}

// Unpack sets dw, [3][3][in][out], to the gradient of the weights that the packed weights with the gradient du are of, and
// du to zeros.
func (c Conv) Unpack(dw, du []float32) {
	g, size := c.set.group, c.plane()
	du, dw = du[:c.PackedLen()], dw[:c.WeightLen()]
	for f := 0; f < c.out; f += Lanes {
		c.set.unpack(du[f/g*g*c.depth+f%g:], dw[f:], size, c.in*c.out, c.in, g, c.out)
	}
}
