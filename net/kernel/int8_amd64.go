package kernel

import "golang.org/x/sys/cpu"

var vnniBytes = byteSet{
	conv: func(x []uint8, w []int8, y []float32, q []uint8, scale, bias, res []float32, blocks int, inv float32) {
		conv8VNNI(&x[0], &w[0], &y[0], &q[0], &scale[0], &bias[0], first(res, 0), blocks, inv)
	},
	bytes: func(x []float32, q []uint8, inv float32) { bytes8VNNI(&x[0], &q[0], inv) },
}

// machineBytes returns the 8-bit kernels of this machine, nil if it has none.
func machineBytes() *byteSet {
	if x := &cpu.X86; x.HasAVX512F && x.HasAVX512VNNI {
		return &vnniBytes
	}
	return nil
}
