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

// Gradients sets dw, [in][out], to the gradient of the weights from the rows x and the gradients dy of Forward's y. du
// is scratch of [PackedLen].
func (d Dense) Gradients(dw, x, dy, du []float32, rows int) {
	du = du[:d.PackedLen()]
	clear(du)
	g := d.set.group
	for f := 0; f < d.out; f += g {
		for c := 0; c < d.depth; c += Lanes {
			d.set.gemmTN(x[c*rows:], dy[f*rows:], du[f*d.depth+c*g:], rows, min(Lanes, d.depth-c), rows*Lanes)
		}
		for c := range d.in {
			copy(dw[c*d.out+f:][:g], du[f*d.depth+c*g:])
		}
	}
}

// ToRows copies the matrix m, [rows][channels], to the rows of a Dense: channels from first on of the layout
// [..][rows][16]. Other lanes keep their values.
func ToRows(x, m []float32, rows, first int) {
	channels := len(m) / rows
	for r := range rows {
		for c, v := range m[r*channels:][:channels] {
			x[((first+c)/Lanes*rows+r)*Lanes+(first+c)%Lanes] = v
		}
	}
}

// FromRows copies the rows of a Dense to the matrix m, [rows][channels].
func FromRows(m, x []float32, rows int) {
	channels := len(m) / rows
	for r := range rows {
		for c := 0; c < channels; c += Lanes {
			copy(m[r*channels+c:][:min(Lanes, channels-c)], x[(c/Lanes*rows+r)*Lanes:])
		}
	}
}
