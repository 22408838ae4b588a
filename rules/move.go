package rules

// A Move is one decision by one player. Its value is its index in every policy, visit count and symmetry table:
//
//	   0 …   84   PlaceRing   a Point
//	  85 … 1932   MoveRing    from, to; leaves a marker on from
//	1933 … 2187   RemoveRow   a Row
//	2188 … 2272   RemoveRing  a Point
//	2273          Pass        only when the player to move can move no ring
type Move uint16

// Where each kind of Move begins, and how many Moves there are.
const (
	firstPlace      = 0
	firstMove       = firstPlace + NumPoints
	firstRow        = firstMove + numPairs
	firstRing       = firstRow + NumRows
	Pass       Move = firstRing + NumPoints
	NumMoves        = int(Pass) + 1
	// MaxMoves bounds the number of legal Moves in any Position: five rings with at most 26 destinations each.
	MaxMoves = 130
)

// A Kind says what a Move decides.
type Kind uint8

// The kinds of Moves, in the order of their values.
const (
	PlaceRing Kind = iota
	MoveRing
	RemoveRow
	RemoveRing
	PassTurn
)

// PlaceRingAt is the Move that puts a ring on p.
func PlaceRingAt(p Point) Move { return firstPlace + Move(p) }

// MoveRingFrom is the Move of a ring between two Points, and false if they share no line.
func MoveRingFrom(from, to Point) (Move, bool) {
	n := pairOf[from][gridOf[to]]
	return firstMove + Move(max(n, 0)), n >= 0
}

// RemoveRowAt is the Move that takes the markers of r.
func RemoveRowAt(r Row) Move { return firstRow + Move(r) }

// RemoveRingAt is the Move that takes the ring on p.
func RemoveRingAt(p Point) Move { return firstRing + Move(p) }

// Kind is what m decides. m must be less than NumMoves.
func (m Move) Kind() Kind {
	switch {
	case m < firstMove:
		return PlaceRing
	case m < firstRow:
		return MoveRing
	case m < firstRing:
		return RemoveRow
	case m < Pass:
		return RemoveRing
	}
	return PassTurn
}

// Point is where a PlaceRing or RemoveRing happens.
func (m Move) Point() Point {
	if m < firstMove {
		return Point(m - firstPlace)
	}
	return Point(m - firstRing)
}

// From and To are the ends of a MoveRing.
func (m Move) From() Point { return Point(pointOf[pairs[m-firstMove].from]) }

// To is where a MoveRing lands.
func (m Move) To() Point { return Point(pointOf[pairs[m-firstMove].to]) }

// Row is what a RemoveRow takes.
func (m Move) Row() Row { return Row(m - firstRow) }
