package net

import "yinshzero/rules"

// The planes of the input, each 121 cells indexed by rules.Point.Grid; 1 where the thing is, else 0. Own is the side to
// move, other its opponent.
const (
	PlaneOwnRings = iota
	PlaneOtherRings
	PlaneOwnMarkers
	PlaneOtherMarkers
	PlaneBoard     // the Points of the Variant's board
	PlaneOwnRows   // the Points of every Row in own's colour
	PlaneOtherRows // the Points of every Row in other's colour
	NumPlanes
)

// The globals of the input: numbers about the whole Position, in [−1, 1].
const (
	GlobalPhase       = iota            // one of four is 1: place, move, row, ring
	GlobalOwnToGo     = GlobalPhase + 4 // one of three is 1: own wins with 1, 2, or 3 and more rings taken from now
	GlobalOtherToGo   = GlobalOwnToGo + 3
	GlobalOwnTaken    = GlobalOtherToGo + 3 // rings taken / 5
	GlobalOtherTaken  = GlobalOwnTaken + 1
	GlobalOwnHand     = GlobalOtherTaken + 1 // rings to place / 5
	GlobalOtherHand   = GlobalOwnHand + 1
	GlobalPool        = GlobalOtherHand + 1 // markers in the pool / 99
	GlobalPoolLow     = GlobalPool + 1      // the last ten of them / 10
	GlobalOwnLast     = GlobalPoolLow + 1   // 1 if own placed, moved or passed last, −1 if other
	GlobalRadius      = GlobalOwnLast + 1   // the Variant: radius / 5
	GlobalRings       = GlobalRadius + 1    // rings a side / 5
	GlobalMarkers     = GlobalRings + 1     // markers / 99
	GlobalRowLength   = GlobalMarkers + 1   // row length / 7
	GlobalRingsToWin  = GlobalRowLength + 1 // rings to win / 5
	NumGlobals        = GlobalRingsToWin + 1
	maxRingsEach      = 5
	maxMarkers        = 99
	longestRow        = 7
	lowPool           = 10
	numPhases         = 4
	distinctRingsToGo = 3
)

const (
	// Cells is the number of cells of a plane: the 11 × 11 grid.
	Cells = rules.GridSize * rules.GridSize
	// PlaneLen is the length of one encoded Position: the planes [NumPlanes][Cells], then the globals [NumGlobals].
	PlaneLen = NumPlanes*Cells + NumGlobals
	// EncoderVersion changes whenever the meaning of a plane, a global or a place in the policy head does. Weights are
	// of use with one version only.
	EncoderVersion = 1
)

// AppendPlanes appends the encoding of p, PlaneLen numbers in [−1, 1], from the side to move's view: Positions that differ
// only in the names of the colours have the same one. It allocates nothing if dst has room. p must not be over.
func AppendPlanes(dst []float32, p *rules.Position) []float32 {
	start := len(dst)
	if cap(dst)-start < PlaneLen {
		dst = append(dst, make([]float32, PlaneLen)...)
	} else {
		dst = dst[:start+PlaneLen]
		clear(dst[start:])
	}
	out := dst[start:]
	own := p.ToMove()
	other := own.Other()
	v := p.Variant()

	var points [rules.NumPoints]rules.Point
	mark := func(plane int, at []rules.Point) {
		for _, pt := range at {
			out[plane*Cells+pt.Grid()] = 1
		}
	}
	mark(PlaneOwnRings, p.AppendRings(points[:0], own))
	mark(PlaneOtherRings, p.AppendRings(points[:0], other))
	mark(PlaneOwnMarkers, p.AppendMarkers(points[:0], own))
	mark(PlaneOtherMarkers, p.AppendMarkers(points[:0], other))
	mark(PlaneBoard, p.AppendBoard(points[:0]))
	if p.Phase() == rules.PhaseRemoveRow || p.Phase() == rules.PhaseRemoveRing { // else there are no Rows
		var rows [rules.NumRows]rules.Row
		for _, r := range p.AppendRows(rows[:0], own) {
			mark(PlaneOwnRows, r.AppendPoints(points[:0], int(v.RowLength)))
		}
		for _, r := range p.AppendRows(rows[:0], other) {
			mark(PlaneOtherRows, r.AppendPoints(points[:0], int(v.RowLength)))
		}
	}

	g := out[NumPlanes*Cells:]
	if p.Phase() < numPhases {
		g[GlobalPhase+int(p.Phase())] = 1
	}
	toGo := func(c rules.Color) int {
		return min(max(int(v.RingsToWin)-p.Taken(c), 1), distinctRingsToGo) - 1
	}
	g[GlobalOwnToGo+toGo(own)] = 1
	g[GlobalOtherToGo+toGo(other)] = 1
	g[GlobalOwnTaken] = float32(p.Taken(own)) / maxRingsEach
	g[GlobalOtherTaken] = float32(p.Taken(other)) / maxRingsEach
	g[GlobalOwnHand] = float32(p.Hand(own)) / maxRingsEach
	g[GlobalOtherHand] = float32(p.Hand(other)) / maxRingsEach
	g[GlobalPool] = float32(p.Pool()) / maxMarkers
	g[GlobalPoolLow] = float32(min(p.Pool(), lowPool)) / lowPool
	g[GlobalOwnLast] = 1
	if p.LastMover() != own {
		g[GlobalOwnLast] = -1
	}
	g[GlobalRadius] = float32(v.Radius) / rules.MaxRadius
	g[GlobalRings] = float32(v.Rings) / maxRingsEach
	g[GlobalMarkers] = float32(v.Markers) / maxMarkers
	g[GlobalRowLength] = float32(v.RowLength) / longestRow
	g[GlobalRingsToWin] = float32(v.RingsToWin) / maxRingsEach
	return dst
}
