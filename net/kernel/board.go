package kernel

import "unsafe"

const (
	Side   = 11          // edge of the grid
	Cells  = Side * Side // cells of the grid
	Points = 85          // cells that are points of the board
	Lanes  = 16          // channels of one block of activations
)

// scratchColumns is the length of a row of the input transform's scratch: columns x = -2 to 12.
const scratchColumns = 15

// Grid holds the cell y*11+x of every point, columns a to k, numbers ascending within a column: the numbering of
// rules.Point.
var Grid = func() (g [Points]int) {
	n := 0
	for x := range Side {
		for y := range Side {
			if OnBoard(y*Side + x) {
				g[n] = y*Side + x
				n++
			}
		}
	}
	return g
}()

// OnBoard reports whether a cell in [0, Cells) is a point: the lattice's hexagon of radius five without its corners.
func OnBoard(cell int) bool {
	dx, dy := cell%Side-Side/2, cell/Side-Side/2
	return max(dx, -dx, dy, -dy, dx-dy, dy-dx) <= Side/2 && dx*dx+dy*dy-dx*dy < Side/2*(Side/2)
}

// Blocks is the number of 16-lane blocks that hold a count of channels.
func Blocks(channels int) int { return (channels + Lanes - 1) / Lanes }

// ActivationLen is the length in floats of one board's activations.
func ActivationLen(channels int) int { return Blocks(channels) * Lanes * Cells }

// Alloc returns n zeros whose first lies on a 64-byte boundary, as the vector kernels like it.
func Alloc(n int) []float32 {
	const align = 64
	s := make([]float32, n+align/4)
	o := int(-uintptr(unsafe.Pointer(unsafe.SliceData(s))) % align / 4)
	return s[o : o+n : o+n]
}

// ToBlocks copies planes [channels][121] to the activations y of one board. Cells that are no points become zero, as
// do the lanes past the channels.
func ToBlocks(y, planes []float32, channels int) {
	y = y[:ActivationLen(channels)]
	clear(y)
	for c := range channels {
		plane, block := planes[c*Cells:][:Cells], y[c/Lanes*Lanes*Cells+c%Lanes:]
		for _, cell := range Grid {
			block[cell*Lanes] = plane[cell]
		}
	}
}
