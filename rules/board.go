package rules

import "math/bits"

const (
	// NumPoints is the number of intersections of the full board, a hexagon of side six without its corners.
	NumPoints = 85
	// GridSize is the side of the square grid that holds the board: eleven columns of eleven numbers.
	GridSize = 11
	// MaxRadius is the radius of the full board; smaller boards are the Points within a smaller radius, corners cut.
	MaxRadius = 5
	numPairs  = 1848 // ordered pairs of Points on a common line
	numAxes   = 3
)

// A Point is one of the intersections of the full board, numbered along the columns a to k: a2 is 0, k10 is 84.
type Point uint8

// An Axis is one of the three directions of lines.
type Axis uint8

// The axes, in the order in which Rows are numbered.
const (
	AxisLetter Axis = iota // same letter, number rising
	AxisNumber             // same number, letter rising
	AxisBoth               // letter and number rising together
)

// steps holds the grid distance of one step along each axis; the grid index of (column, number) is 11·column + number.
var steps = [numAxes]int{1, GridSize, GridSize + 1}

// A set is a set of grid indices: column·11 + number − 1, columns and numbers from 0 to 10. Off-board indices are never
// members. A step along an axis that leaves the board lands on an off-board index, also where it wraps around the grid.
type set struct{ lo, hi uint64 }

// bit is the set of i alone, 0 to 127; a shift by 64 or more, or by less than 0 as a uint, gives 0.
func bit(i int) set { return set{1 << uint(i), 1 << uint(i-64)} }

// has reports whether i is a member; any i is allowed, members are 0 to 127.
func (s set) has(i int) bool { return (s.lo>>uint(i)|s.hi>>uint(i-64))&1 != 0 }

func (s set) and(t set) set    { return set{s.lo & t.lo, s.hi & t.hi} }
func (s set) or(t set) set     { return set{s.lo | t.lo, s.hi | t.hi} }
func (s set) xor(t set) set    { return set{s.lo ^ t.lo, s.hi ^ t.hi} }
func (s set) andNot(t set) set { return set{s.lo &^ t.lo, s.hi &^ t.hi} }
func (s set) orNot(t set) set  { return set{s.lo | ^t.lo, s.hi | ^t.hi} }
func (s set) empty() bool      { return s.lo|s.hi == 0 }
func (s set) count() int       { return bits.OnesCount64(s.lo) + bits.OnesCount64(s.hi) }

// down moves every member n indices down, 0 < n < 64.
func (s set) down(n int) set {
	return set{s.lo>>uint(n) | s.hi<<uint(64-n), s.hi >> uint(n)}
}

// plus and minus are sum and difference of s and t as numbers of 128 bits, without the carry out of them.
func (s set) plus(t set) set {
	lo, carry := bits.Add64(s.lo, t.lo, 0)
	hi, _ := bits.Add64(s.hi, t.hi, carry)
	return set{lo, hi}
}

func (s set) minus(t set) set {
	lo, borrow := bits.Sub64(s.lo, t.lo, 0)
	hi, _ := bits.Sub64(s.hi, t.hi, borrow)
	return set{lo, hi}
}

// centre is the grid index of the middle of the board, f6.
const centre = GridSize * GridSize / 2

// mirrored is s turned by half around the centre: every member i becomes 2·centre − i.
func (s set) mirrored() set {
	return set{bits.Reverse64(s.hi), bits.Reverse64(s.lo)}.down(127 - 2*centre)
}

// next takes the smallest member out of s and returns it; s must not be empty.
func (s *set) next() int {
	if s.lo != 0 {
		i := bits.TrailingZeros64(s.lo)
		s.lo &= s.lo - 1
		return i
	}
	i := bits.TrailingZeros64(s.hi)
	s.hi &= s.hi - 1
	return i + 64
}

// Tables computed from coordinates at start-up.
var (
	gridOf  [NumPoints]uint8          // grid index of a Point
	pointOf [GridSize * GridSize]int8 // Point at a grid index, −1 off the board
	boards  [MaxRadius + 1]set        // the Points within each radius, corners cut
	// pairOf is the rank of an ordered pair of a Point and a grid index among those on a common line, −1 if on none.
	pairOf  [NumPoints][GridSize * GridSize]int16
	pairs   [numPairs]struct{ from, to uint8 } // grid indices of the pair
	between [numPairs]set                      // what lies strictly between the pair
	// rays is what lies beyond a grid index along each axis on the side where indices rise.
	rays [GridSize * GridSize][numAxes]set
)

// distance is the hexagonal distance of a grid index's coordinates from the centre f6, and whether it is a corner.
func distance(dx, dy int) (d int, corner bool) {
	a, b, c := abs(dx), abs(dy), abs(dx-dy)
	d = max(a, b, c)
	return d, d > 0 && min(a, b, c) == 0
}

func abs(x int) int {
	if x < 0 {
		return -x
	}
	return x
}

func init() {
	p := 0
	for i := range GridSize * GridSize {
		pointOf[i] = -1
		d, corner := distance(i/GridSize-MaxRadius, i%GridSize-MaxRadius)
		for r := range boards {
			if d < r || d == r && !corner {
				boards[r] = boards[r].or(bit(i))
			}
		}
		if boards[MaxRadius].has(i) {
			gridOf[p], pointOf[i] = uint8(i), int8(p)
			p++
		}
	}
	n := 0
	for f := range NumPoints {
		for i := range pairOf[f] {
			pairOf[f][i] = -1
		}
		for t := range NumPoints {
			if mid, ok := connect(int(gridOf[f]), int(gridOf[t])); ok {
				pairOf[f][gridOf[t]] = int16(n)
				pairs[n].from, pairs[n].to = gridOf[f], gridOf[t]
				between[n] = mid
				n++
			}
		}
	}
	for _, from := range gridOf {
		for a, d := range steps {
			for i := int(from) + d; boards[MaxRadius].has(i); i += d {
				rays[from][a] = rays[from][a].or(bit(i))
			}
		}
	}
	initSymmetries()
}

// connect returns what lies strictly between two grid indices on a common line, and false if they share none.
func connect(f, t int) (mid set, ok bool) {
	for _, s := range steps {
		for _, d := range [2]int{s, -s} {
			mid = set{}
			for i := f + d; boards[MaxRadius].has(i); i += d {
				if i == t {
					return mid, true
				}
				mid = mid.or(bit(i))
			}
		}
	}
	return set{}, false
}

// PointAt returns the Point in column 0 to 10 (a to k) with number 1 to 11, and false if the full board has none there.
func PointAt(column, number int) (Point, bool) {
	if column < 0 || column >= GridSize || number < 1 || number > GridSize {
		return 0, false
	}
	p := pointOf[column*GridSize+number-1]
	return Point(max(p, 0)), p >= 0
}

// Column is the Point's letter, 0 for a to 10 for k.
func (p Point) Column() int { return int(gridOf[p]) / GridSize }

// Number is the Point's number, 1 to 11.
func (p Point) Number() int { return int(gridOf[p])%GridSize + 1 }

// Grid is the Point's index in an 11 × 11 grid: 11·Column + Number − 1. Grid indices rise with Points.
func (p Point) Grid() int { return int(gridOf[p]) }

// String is the Point's name, such as e5.
func (p Point) String() string {
	if int(p) >= NumPoints {
		return "?"
	}
	return string(p.appendText(nil))
}

func (p Point) appendText(dst []byte) []byte {
	dst = append(dst, 'a'+byte(p.Column()))
	n := p.Number()
	if n >= 10 {
		dst = append(dst, '1')
		n -= 10
	}
	return append(dst, '0'+byte(n))
}

// A Row is a number of adjacent Points on a line, as many as the Variant's row length: three times its first Point plus
// its axis. The first Point is the one with the lowest letter, then number.
type Row uint8

// NumRows is the number of Row values. Not every one lies on the board: with rows of five, 123 do.
const NumRows = NumPoints * numAxes

// RowAt is the Row that starts at first and runs along axis.
func RowAt(first Point, axis Axis) Row { return Row(uint8(first)*numAxes + uint8(axis)) }

// First is the Row's first Point.
func (r Row) First() Point { return Point(r / numAxes) }

// Axis is the direction in which the Row runs.
func (r Row) Axis() Axis { return Axis(r % numAxes) }

// Last is the Row's last Point when it has length Points, and false if it leaves the full board.
func (r Row) Last(length int) (Point, bool) {
	i, d := r.First().Grid(), steps[r.Axis()]
	for range length - 1 {
		i += d
		if !boards[MaxRadius].has(i) {
			return 0, false
		}
	}
	return Point(pointOf[i]), true
}

func (r Row) set(length int) (s set) {
	i, d := r.First().Grid(), steps[r.Axis()]
	for range length {
		s = s.or(bit(i))
		i += d
	}
	return s
}

// AppendPoints appends the Row's length Points in order. The Row must lie on the board.
func (r Row) AppendPoints(dst []Point, length int) []Point {
	i, d := r.First().Grid(), steps[r.Axis()]
	for range length {
		dst = append(dst, Point(pointOf[i]))
		i += d
	}
	return dst
}
