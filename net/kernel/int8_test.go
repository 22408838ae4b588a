package kernel

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// eachByteSet runs f for the plain Go kernels and for those of this machine, if it has any.
func eachByteSet(t *testing.T, f func(t *testing.T, s *byteSet)) {
	t.Run("generic", func(t *testing.T) { f(t, &genericBytes) })
	t.Run("vnni", func(t *testing.T) {
		s := machineBytes()
		if s == nil {
			t.Skip("this machine has no AVX-512 VNNI")
		}
		f(t, s)
	})
}

// fencedBytes returns n bytes of 0xa5, n a multiple of four. As with [fenced], what follows them faults, and what is before
// them must stay as it is.
func fencedBytes[T uint8 | int8](t *testing.T, n int) []T {
	const poison = 0xa5
	floats, before := fencedPages(t, n/4)
	asBytes := func(x []float32) []uint8 {
		return unsafe.Slice((*uint8)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
	}
	for _, b := range [][]uint8{asBytes(floats), asBytes(before)} {
		for i := range b {
			b[i] = poison
		}
	}
	t.Cleanup(func() {
		if i := slices.IndexFunc(asBytes(before), func(b uint8) bool { return b != poison }); i >= 0 {
			t.Errorf("a kernel wrote %d bytes before a slice of %d", 4*len(before)-i, n)
		}
	})
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(floats))), n)[:n:n]
}

// TestInt8 compares the convolution with sums in 64 bits and single roundings written out from its comment; nothing may
// differ. Cells that are no points are poison: they must neither be read nor written.
func TestInt8(t *testing.T) {
	eachByteSet(t, func(t *testing.T, set *byteSet) {
		cases := []struct{ in, out int }{{32, 32}, {64, 32}, {32, 96}, {64, 64}, {96, 96}, {160, 32}}
		if testing.Short() {
			cases = cases[:3]
		}
		for _, n := range cases {
			r := rand.New(rand.NewPCG(6, uint64(n.in)))
			c := newInt8(set, n.in, n.out)
			w := random(t, r, taps*n.in*n.out, 1)
			for i := range w {
				if i%n.out == 5 {
					w[i] = 0 // a channel without weights
				}
			}
			u, scale := fencedBytes[int8](t, c.PackedLen()), fenced(t, n.out)
			c.Pack(u, scale, w)
			if low := slices.Min(scale); !(low > 0) {
				t.Fatalf("%v: a step of %g", n, low)
			}
			x := fencedBytes[uint8](t, ByteLen(n.in))
			for i := range x {
				if OnBoard(i / byteBlock % Cells) {
					x[i] = uint8(r.IntN(256))
				}
			}
			byteAt := func(cell, ch int) int { return (ch/byteBlock*Cells+cell)*byteBlock + ch%byteBlock }
			at := func(cell, ch int) int { return (ch/Lanes*Cells+cell)*Lanes + ch%Lanes }

			sums := make([]int64, n.out*Cells)
			taps3(func(p, q, tap int) {
				if !OnBoard(q) {
					return
				}
				for ch := range n.in {
					for o := range n.out {
						i := (tap*n.in+ch)*n.out + o
						step := float64(scale[o])
						k := math.RoundToEven(float64(w[i]) / step)
						if e := math.Abs(float64(w[i]) - k*step); e > step*0.500001 || math.Abs(k) > 127 {
							t.Fatalf("weight %g is %g steps of %g", w[i], k, step)
						}
						sums[byteAt(p, o)] += int64(x[byteAt(q, ch)]) * int64(k)
					}
				}
			})

			const inv = 40
			for o := range scale {
				scale[o] = scale[o] / 255 / float32(math.Sqrt(float64(n.in))) * 3
			}
			bias, res := random(t, r, n.out, 1), activations(t, r, 1, n.out, true)
			for _, res := range [][]float32{nil, res} {
				y, q := fenced(t, ActivationLen(n.out)), fencedBytes[uint8](t, ByteLen(n.out))
				c.Forward(y, q, x, u, scale, bias, res, inv)
				low, high := 0, 0
				for cell := range Cells {
					for o := range n.out {
						gotY, gotQ := y[at(cell, o)], q[byteAt(cell, o)]
						if !OnBoard(cell) {
							if gotY == gotY || gotQ != 0xa5 {
								t.Fatalf("%v: cell %d is no point and was written", n, cell)
							}
							continue
						}
						v := float32(sums[byteAt(cell, o)])
						v *= scale[o]
						v += bias[o]
						if res != nil {
							v += res[at(cell, o)]
						}
						v = max(v, 0)
						b := math.RoundToEven(min(float64(v*inv), 255))
						if gotY != v || float64(gotQ) != b {
							t.Fatalf("%v: cell %d channel %d: %g and %d, want %g and %g", n, cell, o, gotY, gotQ, v, b)
						}
						if gotQ == 0 {
							low++
						}
						if gotQ == 255 {
							high++
						}
					}
				}
				if all := Points * n.out; low < all/10 || low > all*9/10 || high == 0 || high > all/2 {
					t.Errorf("%v: of %d bytes %d are 0 and %d are 255: the test's scales prove little", n, all, low, high)
				}
				if res != nil { // in place
					z := slices.Clone(res)
					c.Forward(z, q, x, u, scale, bias, z, inv)
					for i, v := range z {
						if OnBoard(i/Lanes%Cells) && v != y[i] {
							t.Fatalf("%v: in place %g, else %g", n, v, y[i])
						}
					}
				}
			}
		}
	})
}

// TestInt8Extremes: the largest sums there are, for the most channels that a network has, are exact.
func TestInt8Extremes(t *testing.T) {
	const in = 512
	eachByteSet(t, func(t *testing.T, set *byteSet) {
		c := newInt8(set, in, 32)
		w := make([]float32, taps*in*32)
		for i := range w {
			w[i] = float32(1 - i%2*2) // even output channels get 127, odd ones -127
		}
		u, scale, x := AllocBytes[int8](c.PackedLen()), make([]float32, 32), AllocBytes[uint8](ByteLen(in))
		c.Pack(u, scale, w)
		for i := range x {
			x[i] = 255
		}
		for i := range scale {
			scale[i] = float32(1 - i%2*2)
		}
		y, q := Alloc(ActivationLen(32)), AllocBytes[uint8](ByteLen(32))
		c.Forward(y, q, x, u, scale, make([]float32, 32), nil, 1)
		const centre = Side/2*Side + Side/2
		for o := range 32 {
			if got := y[(o/Lanes*Cells+centre)*Lanes+o%Lanes]; got != taps*in*127*255 {
				t.Errorf("channel %d: %f, want %d", o, got, taps*in*127*255)
			}
			if q[centre*byteBlock+o] != 255 {
				t.Errorf("channel %d: byte %d, want 255", o, q[centre*byteBlock+o])
			}
		}
	})
}

func TestInt8Bytes(t *testing.T) {
	eachByteSet(t, func(t *testing.T, set *byteSet) {
		r := rand.New(rand.NewPCG(7, 0))
		for _, channels := range []int{32, 96} {
			x, q := activations(t, r, 1, channels, true), fencedBytes[uint8](t, ByteLen(channels))
			x[Grid[0]*Lanes], x[Grid[1]*Lanes], x[Grid[2]*Lanes] = 0.025, 0.075, 1e30 // ties to even, far too much
			newInt8(set, channels, 32).Bytes(q, x, 20*2)
			if a := q[Grid[0]*byteBlock]; a != 1 {
				t.Errorf("0.025*40 is byte %d, want 1", a)
			}
			for cell := range Cells {
				for ch := range channels {
					want := math.RoundToEven(min(float64(x[(ch/Lanes*Cells+cell)*Lanes+ch%Lanes]*40), 255))
					if got := q[(ch/byteBlock*Cells+cell)*byteBlock+ch%byteBlock]; float64(got) != want {
						t.Fatalf("cell %d channel %d: %d, want %g", cell, ch, got, want)
					}
				}
			}
		}
	})
}

// TestNewInt8: the convolution exists where the instructions do, and in plain Go where that is forced. It allocates
// nothing.
func TestNewInt8(t *testing.T) {
	for _, name := range []string{"", "avx512", "avx2", "generic", "sse9"} {
		t.Setenv(ISAVariable, name)
		c, err := NewInt8(64, 32)
		if want := name == "generic" || machineBytes() != nil && (name == "" || name == "avx512"); (err == nil) != want || err != nil && !errors.Is(err, ErrISA) {
			t.Errorf("%s=%q: got %v", ISAVariable, name, err)
		}
		if err != nil {
			continue
		}
		u, scale, w := AllocBytes[int8](c.PackedLen()), make([]float32, 32), make([]float32, taps*64*32)
		y, q, x, xf := Alloc(ActivationLen(32)), AllocBytes[uint8](ByteLen(32)), AllocBytes[uint8](ByteLen(64)), Alloc(ActivationLen(64))
		if n := testing.AllocsPerRun(2, func() {
			c.Pack(u, scale, w)
			c.Bytes(x, xf, 1)
			c.Forward(y, q, x, u, scale, scale, y, 1)
		}); n != 0 {
			t.Errorf("%s=%q: %v allocations, want none", ISAVariable, name, n)
		}
	}
}

func BenchmarkInt8(b *testing.B) {
	for _, channels := range []int{32, 64, 96} {
		c, err := NewInt8(channels, channels)
		if err != nil {
			b.Skip("this machine has no 8-bit kernels: ", err)
		}
		w := make([]float32, taps*channels*channels)
		for i := range w {
			w[i] = float32(i%7 - 3)
		}
		u, scale := AllocBytes[int8](c.PackedLen()), make([]float32, channels)
		c.Pack(u, scale, w)
		y, q, x := Alloc(ActivationLen(channels)), AllocBytes[uint8](ByteLen(channels)), AllocBytes[uint8](ByteLen(channels))
		b.Run("", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Forward(y, q, x, u, scale, scale, nil, 1)
			}
		})
	}
}
