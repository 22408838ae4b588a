//go:build !linux && !darwin

package kernel

import "testing"

// fencedPages returns n floats and those before them. Here nothing faults behind them.
func fencedPages(t *testing.T, n int) (s, before []float32) {
	all := Alloc(n + 64)
	return all[64:], all[:64]
}
