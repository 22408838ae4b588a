// Package kernel holds the arithmetic of the network: 3x3 convolutions on the grid of the YINSH board, forward and
// backward, dense products, and pooling, in AVX-512, AVX2 and plain Go, chosen at run time.
//
// It has five types. A [Set] is the kernels of one instruction set; [Best] and [All] give them. A [Conv] is a 3x3
// convolution of fixed channel counts and a [Dense] a matrix applied to rows of channels, both over a Set. A
// [Scratch] is the working memory of one goroutine. An [Int8] is a 3x3 convolution in 8-bit integers, for inference
// on AVX-512 VNNI. All else is slices that belong to the caller and come best from [Alloc] and [AllocBytes], which
// align them to the vectors.
//
// # Layouts
//
// The board is a grid of 11x11 cells, of which 85 are points; cell (x, y) has index y*11+x, x being the column a to k
// and y the number less one. The three lines through a point run along (0,1), (1,0) and (1,1). [Grid] lists the cells
// of the points by column, numbers ascending.
//
//	activations      [board][ceil(C/16)][121][16]   cells that are no points hold exact zeros, lanes past C too
//	weights          [3][3][in][out]                tap (dy+1, dx+1) reads the cell (x+dx, y+dy)
//	rows of a Dense  [ceil(C/16)][rows][16]         the activations of one board are its 121 rows
//	bytes            [C/32][121][32]                activations of one board for an Int8
//
// Packed weights (U, from [Conv.Pack] and [Dense.Pack]) have a layout private to the Set that packed them.
//
// # Method
//
// The convolution is Winograd's F(4x4, 3x3) (Lavin and Gray, "Fast algorithms for convolutional neural networks",
// 2016): 36 matrix products stand for nine over cells, about 3.4 times fewer multiplications. Seven overlapping 4x4
// output tiles cover the 85 points; every cell belongs to one tile, which alone stores it and alone counts it in the
// gradient. Cells that are no points are written as zeros. Bias, residual, ReLU and the ReLU's gate of the backward
// pass sit in the output transform.
//
// # Example
//
//	set, err := kernel.Best()
//	c := kernel.NewConv(set, 64, 64)
//	u := kernel.Alloc(c.PackedLen())
//	c.Pack(u, weights)
//	c.Forward(kernel.NewScratch(1, 64), 1, y, x, u, bias, nil) // y = max(0, x*weights + bias)
//
// Results differ in the last bits between instruction sets and never on one: no kernel depends on timing or on how
// many goroutines run.
//
// The package knows no network, no position and no loss. Lengths are checked by panics: a wrong one is a bug of the
// caller.
package kernel

//go:generate go run -C gen . -dir ..
