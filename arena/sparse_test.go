package arena

import (
	"math"
	"testing"

	"yinshzero/internal/seed"
)

// TestSparse solves random systems, sparse and full, and multiplies back.
func TestSparse(t *testing.T) {
	rng := seed.New(8).Rand()
	for _, n := range []int{0, 1, 2, 7, 40} {
		for _, share := range []float64{0, 0.1, 1} {
			m, full := newSparse(n), make([][]float64, n)
			for i := range full {
				full[i] = make([]float64, n)
			}
			add := func(i, j int, x float64) {
				m.add(i, j, x)
				full[i][j] += x
				if i != j {
					full[j][i] += x
				}
			}
			for i := range n {
				add(i, i, 0.1)
				for j := range i {
					if rng.Float64() < share {
						x := rng.Float64()
						add(i, i, x)
						add(j, j, x)
						add(i, j, -x)
					}
				}
			}
			b := make([]float64, n)
			for i := range b {
				b[i] = rng.NormFloat64()
			}
			x := m.factor().solve(b)
			for i := range n {
				got := 0.0
				for j := range n {
					got += full[i][j] * x[j]
				}
				if math.Abs(got-b[i]) > 1e-9 {
					t.Errorf("%d rows, %.1f of them full: row %d is %v, want %v", n, share, i, got, b[i])
				}
			}
		}
	}
}
