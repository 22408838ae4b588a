package rules

// A Symmetry is one of the twelve of the board (the group D6): rotations by 60° first, then the same after a
// reflection that swaps letters and numbers. The zero value is the identity.
type Symmetry uint8

// NumSymmetries is the order of the group.
const NumSymmetries = 12

const (
	minRow = 3
	maxRow = 7
)

var (
	symPoint   [NumSymmetries][NumPoints]Point
	symMove    [NumSymmetries][numPairs]uint16         // ranks of pairs
	symRow     [maxRow + 1][NumSymmetries][NumRows]Row // by row length
	symInverse [NumSymmetries]Symmetry
)

// turn maps coordinates around the centre: one step of 60° takes (0,1) to (1,1) to (1,0).
func (s Symmetry) turn(x, y int) (int, int) {
	if s >= 6 {
		x, y = y, x
	}
	for range s % 6 {
		x, y = y, y-x
	}
	return x, y
}

func initSymmetries() {
	for s := range Symmetry(NumSymmetries) {
		for p := range Point(NumPoints) {
			x, y := s.turn(p.Column()-MaxRadius, p.Number()-1-MaxRadius)
			symPoint[s][p], _ = PointAt(x+MaxRadius, y+MaxRadius+1)
		}
		for n, pr := range pairs {
			symMove[s][n] = uint16(pairOf[symPoint[s][pointOf[pr.from]]][gridOf[symPoint[s][pointOf[pr.to]]]])
		}
		for length := minRow; length <= maxRow; length++ {
			for r := range NumRows {
				symRow[length][s][r] = Row(r).mapped(s, length)
			}
		}
	}
	for s := range Symmetry(NumSymmetries) {
		for t := range Symmetry(NumSymmetries) {
			if symPoint[t][symPoint[s][0]] == 0 && symPoint[t][symPoint[s][1]] == 1 {
				symInverse[s] = t
			}
		}
	}
}

// mapped finds the image of a Row; one that leaves the board is its own image.
func (r Row) mapped(s Symmetry, length int) Row {
	last, ok := r.Last(length)
	if !ok {
		return r
	}
	a, b := symPoint[s][r.First()], symPoint[s][last]
	if b < a {
		a, b = b, a
	}
	for axis := range Axis(numAxes) {
		if end, ok := RowAt(a, axis).Last(length); ok && end == b {
			return RowAt(a, axis)
		}
	}
	panic("rules: a symmetry does not map rows to rows")
}

// Point is the image of p.
func (s Symmetry) Point(p Point) Point { return symPoint[s][p] }

// Row is the image of a Row of length Points, 3 to 7.
func (s Symmetry) Row(r Row, length int) Row { return symRow[length][s][r] }

// Move is the image of m in a game whose Rows have rowLength Points, 3 to 7: which end of a Row comes first after the
// symmetry depends on its length.
func (s Symmetry) Move(m Move, rowLength int) Move {
	switch {
	case m < firstMove:
		return Move(symPoint[s][m])
	case m < firstRow:
		return firstMove + Move(symMove[s][m-firstMove])
	case m < firstRing:
		return firstRow + Move(symRow[rowLength][s][m-firstRow])
	case m < Pass:
		return firstRing + Move(symPoint[s][m-firstRing])
	}
	return m
}

// Inverse is the Symmetry that undoes s.
func (s Symmetry) Inverse() Symmetry { return symInverse[s] }

// Position is the image of p.
func (s Symmetry) Position(p Position) Position {
	for c := range p.rings {
		p.rings[c], p.markers[c] = s.set(p.rings[c]), s.set(p.markers[c])
	}
	return p
}

func (s Symmetry) set(t set) (image set) {
	for !t.empty() {
		image = image.or(bit(int(gridOf[symPoint[s][pointOf[t.next()]]])))
	}
	return image
}
