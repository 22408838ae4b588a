//go:build linux || darwin

package kernel

import (
	"os"
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"
)

// fencedPages returns n floats that end where a page begins that may be neither read nor written, and all the floats
// before them, the first of which follows such a page too: one float too far, and the program faults.
func fencedPages(t *testing.T, n int) (s, before []float32) {
	page := os.Getpagesize()
	size := (4*n + page - 1) / page * page
	b, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(b); err != nil {
			t.Error(err)
		}
	})
	for _, fence := range [][]byte{b[:page], b[page+size:]} {
		if err := syscall.Mprotect(fence, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	all := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b[page:]))), size/4)
	return all[len(all)-n:], all[:len(all)-n]
}

// TestFences: every kernel that is told of a row more than there is faults.
func TestFences(t *testing.T) {
	faults := func(f func()) (fault any) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() { fault = recover() }()
		f()
		return nil
	}
	eachSet(t, func(t *testing.T, set *Set) {
		rows, acc, res := fenced(t, 5*Lanes), fenced(t, Lanes), fenced(t, set.group*8)
		for name, f := range map[string]func(){
			"colSum":     func() { set.colSum(rows, acc, 6) },
			"pool":       func() { set.pool(rows, acc, acc, 6) },
			"unpool":     func() { set.unpool(rows, rows, acc, acc, acc, 6) },
			"unpoolAdd":  func() { set.unpoolAdd(rows, rows, acc, acc, acc, 6) },
			"dot":        func() { set.dot(rows, rows, 6, Lanes, Lanes) },
			"squares":    func() { set.squares(rows, 6) },
			"adamW":      func() { set.adamW(rows, rows, rows, rows, new(AdamWStep), 6) },
			"axpy":       func() { set.axpy(rows, rows, 1, 6, Lanes, Lanes) },
			"gemm":       func() { set.gemm(rows, res, rows, 6, 8, 0, 0) },
			"gemm's k":   func() { set.gemm(rows, res, rows, 5, 12, 0, 0) },
			"gemmTN":     func() { set.gemmTN(rows, rows, res, 6, 8, 0) },
			"gemmTN's n": func() { set.gemmTN(rows, rows, res, 5, 16, 0) },
		} {
			if faults(f) == nil {
				t.Errorf("%s: a row too many and no fault", name)
			}
		}
		if f := faults(func() { set.colSum(rows, acc, 5) }); f != nil {
			t.Errorf("all that is there: %v", f)
		}
	})
}
