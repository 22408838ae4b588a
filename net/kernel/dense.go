package kernel

import "fmt"

// A Dense is a matrix [in][out] applied to rows of channels: rows [ceil(in/16)][rows][16] become [out/16][rows][16].
// It is a value without state; goroutines may share it.
type Dense struct {
	set     *Set
	in, out int
	depth   int // in, rounded up to a multiple of 8; packed rows past in are zero
}

// NewDense returns the product of in > 0 channels to out, a multiple of [OutputMultiple].
func NewDense(s *Set, in, out int) Dense {
	if in <= 0 || out <= 0 || out%OutputMultiple != 0 {
		panic(fmt.Sprintf("kernel: dense product of %d to %d channels: out must be a multiple of %d", in, out, OutputMultiple))
	}
	return Dense{s, in, out, (in + 7) / 8 * 8}
}

// PackedLen is the length of packed weights in floats.
func (d Dense) PackedLen() int { return d.depth * d.out }

// Pack sets u, [PackedLen], to the weights w, [in][out], as Forward reads them.
func (d Dense) Pack(u, w []float32) {
	u = u[:d.PackedLen()]
	clear(u)
	g := d.set.group
	for f := 0; f < d.out; f += g {
		for c := range d.in {
			copy(u[f*d.depth+c*g:][:g], w[c*d.out+f:])
		}
	}
}

// Forward sets y = x*w, without bias.
func (d Dense) Forward(y, x, u []float32, rows int) {
	for f := 0; f < d.out; f += d.set.group {
		d.set.gemm(x, u[f*d.depth:], y[f*rows:], rows, d.depth, rows*Lanes, rows*Lanes)
	}
}
