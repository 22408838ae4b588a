package arena

import (
	"maps"
	"slices"
)

// A sparse matrix is symmetric and positive definite. Of its rows only what is not zero is kept: a player has met few others.
type sparse struct {
	diagonal []float64
	off      []map[int]float64 // off[i][j] = off[j][i], j ≠ i
}

func newSparse(n int) *sparse {
	m := &sparse{make([]float64, n), make([]map[int]float64, n)}
	for i := range m.off {
		m.off[i] = map[int]float64{}
	}
	return m
}

// add adds x to the entries (i, j) and (j, i).
func (m *sparse) add(i, j int, x float64) {
	if i == j {
		m.diagonal[i] += x
		return
	}
	m.off[i][j] += x
	m.off[j][i] += x
}

// A factor is a matrix as L·D·Lᵀ, its rows in the order in which they were eliminated.
type factor struct {
	order   []int
	pivots  []float64   // by row
	columns [][]element // of L below the diagonal, by row
}

type element struct {
	row int
	x   float64
}

// factor eliminates the row with the fewest entries first, which keeps the others sparse, and destroys m.
func (m *sparse) factor() factor {
	n := len(m.diagonal)
	f := factor{make([]int, 0, n), m.diagonal, make([][]element, n)}
	left := make([]int, n)
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		least := 0
		for k, i := range left {
			if len(m.off[i]) < len(m.off[left[least]]) {
				least = k
			}
		}
		i := left[least]
		left = slices.Delete(left, least, least+1)
		f.order = append(f.order, i)
		rows := slices.Sorted(maps.Keys(m.off[i])) // sorted, so that rounding is the same always
		for a, j := range rows {
			x := m.off[i][j] / f.pivots[i]
			f.columns[i] = append(f.columns[i], element{j, x})
			f.pivots[j] -= x * m.off[i][j]
			for _, k := range rows[a+1:] {
				m.add(j, k, -x*m.off[i][k])
			}
			delete(m.off[j], i)
		}
	}
	return f
}

// solve returns x with L·D·Lᵀ·x = b.
func (f factor) solve(b []float64) []float64 {
	x := slices.Clone(b)
	for _, i := range f.order {
		for _, e := range f.columns[i] {
			x[e.row] -= e.x * x[i]
		}
	}
	for _, i := range slices.Backward(f.order) {
		x[i] /= f.pivots[i]
		for _, e := range f.columns[i] {
			x[i] -= e.x * x[e.row]
		}
	}
	return x
}
