package rules

// A Color is a side.
type Color uint8

// The two sides. White begins.
const (
	White Color = iota
	Black
)

// Other is the opponent.
func (c Color) Other() Color { return c ^ 1 }

// String is W or B.
func (c Color) String() string { return "WB"[c : c+1] }

// A Phase says what kind of decision a Position asks for.
type Phase uint8

// The phases.
const (
	PhasePlaceRing Phase = iota
	PhaseMoveRing
	PhaseRemoveRow
	PhaseRemoveRing
	PhaseOver
)

// String is the phase's word in traces and position texts.
func (p Phase) String() string { return [...]string{"place", "move", "row", "ring", "over"}[p] }

// An Outcome is how a game ended.
type Outcome uint8

// The outcomes. Unfinished is the zero value.
const (
	Unfinished Outcome = iota
	WhiteWins
	BlackWins
	Draw
)

// Value is 1 if White won, −1 if Black won, else 0.
func (o Outcome) Value() float32 { return [...]float32{0, 1, -1, 0}[o] }

// String is W, B, draw or unfinished.
func (o Outcome) String() string { return [...]string{"unfinished", "W", "B", "draw"}[o] }

// Wins is the outcome in which c has won.
func Wins(c Color) Outcome { return WhiteWins + Outcome(c) }

// A Reason says why a game ended.
type Reason uint8

// The reasons. Resigned never comes from Play: records of games use it.
const (
	NoReason   Reason = iota
	RingsTaken        // a side took the Variant's RingsToWin
	PoolEmpty         // all markers on the board: rings taken are counted
	Blocked           // neither side can move a ring: rings taken are counted
	Resigned
)

// String is the reason in a word.
func (r Reason) String() string {
	return [...]string{"none", "rings", "pool", "blocked", "resigned"}[r]
}

// A Result is how and why a game ended.
type Result struct {
	Outcome Outcome
	Reason  Reason
}

// A Position is everything that decides how a game may go on. It has no pointers and no history: == compares it and
// assignment copies it. next := pos; next.Play(m) is the only way on. There is no undo.
type Position struct {
	rings, markers [2]set // by Color
	radius         int8
	ringsEach      int8
	markersAll     int8
	rowLength      int8
	ringsToWin     int8
	pool           int8
	taken          [2]int8 // rings removed, by Color
	hand           [2]int8 // rings not yet placed, by Color
	phase          Phase
	toMove         Color
	last           Color // who placed, moved a ring or passed last
	passes         int8  // passes in a row, up to 2
	result         Result
}

// New is the empty board of v, White to place a ring. v must be valid.
func New(v Variant) Position {
	return Position{
		radius: v.Radius, ringsEach: v.Rings, markersAll: v.Markers, rowLength: v.RowLength, ringsToWin: v.RingsToWin,
		pool: v.Markers, hand: [2]int8{v.Rings, v.Rings}, last: Black,
	}
}

// Variant returns the numbers that p is played by, with the name of the known Variant that has them, or "custom".
func (p *Position) Variant() Variant {
	return Variant{unnamed, p.radius, p.ringsEach, p.markersAll, p.rowLength, p.ringsToWin}.named()
}

// ToMove is the side whose decision is next. It is meaningless when the game is over.
func (p *Position) ToMove() Color { return p.toMove }

// Phase is the kind of the decision that is next.
func (p *Position) Phase() Phase { return p.phase }

// LastMover is the side that placed or moved a ring or passed last; Black before the first Move.
func (p *Position) LastMover() Color { return p.last }

// Passes is the number of passes in a row that led to p, 0 to 2.
func (p *Position) Passes() int { return int(p.passes) }

// Pool is the number of markers not on the board.
func (p *Position) Pool() int { return int(p.pool) }

// Taken is the number of rings that c has removed for its Rows.
func (p *Position) Taken(c Color) int { return int(p.taken[c]) }

// Hand is the number of rings that c has yet to place.
func (p *Position) Hand(c Color) int { return int(p.hand[c]) }

// RowLength is the Variant's row length.
func (p *Position) RowLength() int { return int(p.rowLength) }

// Result is how the game ended, and whether it is over.
func (p *Position) Result() (Result, bool) { return p.result, p.phase == PhaseOver }

// A Piece is what stands on a Point.
type Piece uint8

// The pieces.
const (
	Empty Piece = iota
	WhiteRing
	BlackRing
	WhiteMarker
	BlackMarker
)

// At is what stands on pt.
func (p *Position) At(pt Point) Piece {
	i := pt.Grid()
	switch {
	case p.rings[White].has(i):
		return WhiteRing
	case p.rings[Black].has(i):
		return BlackRing
	case p.markers[White].has(i):
		return WhiteMarker
	case p.markers[Black].has(i):
		return BlackMarker
	}
	return Empty
}

// AppendRings appends the Points of c's rings, ascending.
func (p *Position) AppendRings(dst []Point, c Color) []Point { return p.rings[c].appendPoints(dst) }

// AppendMarkers appends the Points of the markers that show c, ascending.
func (p *Position) AppendMarkers(dst []Point, c Color) []Point { return p.markers[c].appendPoints(dst) }

// AppendBoard appends the Points of the Variant's board, ascending.
func (p *Position) AppendBoard(dst []Point) []Point { return boards[p.radius].appendPoints(dst) }

func (s set) appendPoints(dst []Point) []Point {
	for !s.empty() {
		dst = append(dst, Point(pointOf[s.next()]))
	}
	return dst
}

// AppendRows appends the Rows in c's colour now on the board, ascending: every window of RowLength markers.
func (p *Position) AppendRows(dst []Row, c Color) []Row {
	var starts [numAxes]set
	for a := range starts {
		starts[a] = p.rowStarts(c, a)
	}
	all := starts[0].or(starts[1]).or(starts[2])
	for !all.empty() {
		i := all.next()
		for a := range starts {
			if starts[a].has(i) {
				dst = append(dst, RowAt(Point(pointOf[i]), Axis(a)))
			}
		}
	}
	return dst
}

// rowStarts is the set of first Points of c's Rows along one axis.
func (p *Position) rowStarts(c Color, axis int) set {
	m := p.markers[c]
	s := m
	for n := p.rowLength; n > 1 && !s.empty(); n-- {
		m = m.down(steps[axis])
		s = s.and(m)
	}
	return s
}

func (p *Position) hasRow(c Color) bool {
	for a := range numAxes {
		if !p.rowStarts(c, a).empty() {
			return true
		}
	}
	return false
}

func (p *Position) free() set {
	return boards[p.radius].andNot(p.rings[0]).andNot(p.rings[1]).andNot(p.markers[0]).andNot(p.markers[1])
}

// A field is what decides where rings may go: the empty Points and the markers, as they lie and turned by half, so that
// in one of the two every way is one on which grid indices rise.
type field struct{ free, markers, freeMirrored, markersMirrored set }

func (p *Position) field() field {
	f := field{free: p.free(), markers: p.markers[0].or(p.markers[1])}
	f.freeMirrored, f.markersMirrored = f.free.mirrored(), f.markers.mirrored()
	return f
}

// destinations is where a ring on grid index from may go: over any number of empty Points, then at most one unbroken
// group of markers, landing on the first empty Point behind it.
func (f *field) destinations(from int) set {
	return onward(from, f.free, f.markers).or(onward(2*centre-from, f.freeMirrored, f.markersMirrored).mirrored())
}

// numDestinations is the number of destinations.
func (f *field) numDestinations(from int) int {
	return onward(from, f.free, f.markers).count() + onward(2*centre-from, f.freeMirrored, f.markersMirrored).count()
}

// onward is the destinations on the three ways on which grid indices rise.
func onward(from int, free, markers set) (to set) {
	for _, ray := range &rays[from] {
		// Less 1, stops lose the first of them and fill up below it. Added to the markers and all that is off the ray, a
		// first stop that is a marker is carried over the group to what lies behind it. What else the two sums hold of the
		// ray is not free.
		stops := ray.andNot(free)
		below := stops.minus(set{1, 0})
		first := stops.andNot(below)
		behind := markers.orNot(ray).plus(first)
		to = to.or(below.or(behind).and(ray))
	}
	return to.and(free)
}

// AppendMoves appends the legal Moves, ascending. There are none only when the game is over, and never more than MaxMoves.
func (p *Position) AppendMoves(dst []Move) []Move {
	switch p.phase {
	case PhasePlaceRing:
		for s := p.free(); !s.empty(); {
			dst = append(dst, firstPlace+Move(pointOf[s.next()]))
		}
	case PhaseMoveRing:
		n, f := len(dst), p.field()
		for rings := p.rings[p.toMove]; !rings.empty(); {
			from := rings.next()
			row := &pairOf[pointOf[from]]
			for to := f.destinations(from); !to.empty(); {
				dst = append(dst, firstMove+Move(row[to.next()]))
			}
		}
		if len(dst) == n {
			dst = append(dst, Pass)
		}
	case PhaseRemoveRow:
		var rows [NumRows]Row
		for _, r := range p.AppendRows(rows[:0], p.toMove) {
			dst = append(dst, RemoveRowAt(r))
		}
	case PhaseRemoveRing:
		for s := p.rings[p.toMove]; !s.empty(); {
			dst = append(dst, firstRing+Move(pointOf[s.next()]))
		}
	}
	return dst
}

// NumMoves is the number of legal Moves, without listing them.
func (p *Position) NumMoves() int {
	switch p.phase {
	case PhasePlaceRing:
		return p.free().count()
	case PhaseMoveRing:
		return max(1, p.numRingMoves(p.toMove))
	case PhaseRemoveRow:
		return p.numRows(p.toMove)
	case PhaseRemoveRing:
		return p.rings[p.toMove].count()
	}
	return 0
}

// numRingMoves is the number of ring moves that c would have if it were to move.
func (p *Position) numRingMoves(c Color) (n int) {
	f := p.field()
	for rings := p.rings[c]; !rings.empty(); {
		n += f.numDestinations(rings.next())
	}
	return n
}

// numRows is the number of c's Rows on the board.
func (p *Position) numRows(c Color) (n int) {
	for a := range numAxes {
		n += p.rowStarts(c, a).count()
	}
	return n
}

// IsLegal reports whether m may be played now.
func (p *Position) IsLegal(m Move) bool {
	if int(m) >= NumMoves {
		return false
	}
	switch k := m.Kind(); {
	case p.phase == PhasePlaceRing && k == PlaceRing:
		return p.free().has(m.Point().Grid())
	case p.phase == PhaseMoveRing && k == MoveRing:
		f, pr := p.field(), pairs[m-firstMove]
		return p.rings[p.toMove].has(int(pr.from)) && f.destinations(int(pr.from)).has(int(pr.to))
	case p.phase == PhaseMoveRing && k == PassTurn:
		return p.numRingMoves(p.toMove) == 0
	case p.phase == PhaseRemoveRow && k == RemoveRow:
		r := m.Row()
		return p.rowStarts(p.toMove, int(r.Axis())).has(r.First().Grid())
	case p.phase == PhaseRemoveRing && k == RemoveRing:
		return p.rings[p.toMove].has(m.Point().Grid())
	}
	return false
}

// Play makes the Move m, which must be legal: an illegal one is the caller's bug and leaves p without meaning. Builds
// with the tag invariants panic on it.
func (p *Position) Play(m Move) {
	if invariants && !p.IsLegal(m) {
		panic("rules: illegal move " + m.String())
	}
	c := p.toMove
	switch m.Kind() {
	case PlaceRing:
		p.rings[c] = p.rings[c].or(bit(m.Point().Grid()))
		p.hand[c]--
		p.last, p.toMove = c, c.Other()
		if p.hand[p.toMove] == 0 {
			p.resolve()
		}
	case MoveRing:
		n := m - firstMove
		from, to := bit(int(pairs[n].from)), bit(int(pairs[n].to))
		p.rings[c] = p.rings[c].xor(from).xor(to)
		flip := between[n].and(p.markers[0].or(p.markers[1]))
		p.markers[0], p.markers[1] = p.markers[0].xor(flip), p.markers[1].xor(flip)
		p.markers[c] = p.markers[c].or(from)
		p.pool--
		p.last, p.passes = c, 0
		p.resolve()
	case RemoveRow:
		p.markers[c] = p.markers[c].andNot(m.Row().set(int(p.rowLength)))
		p.pool += p.rowLength
		p.phase = PhaseRemoveRing
	case RemoveRing:
		p.rings[c] = p.rings[c].andNot(bit(m.Point().Grid()))
		p.taken[c]++
		if p.taken[c] >= p.ringsToWin {
			p.finish(Wins(c), RingsTaken)
			return
		}
		p.resolve()
	case PassTurn:
		p.last = c
		p.passes++
		p.resolve()
	}
}

// resolve decides what follows a completed Move: first the rows of the side that moved last, then the opponent's, then
// the opponent's ring move, before which an empty pool ends the game.
func (p *Position) resolve() {
	for _, c := range [2]Color{p.last, p.last.Other()} {
		if p.hasRow(c) {
			p.phase, p.toMove = PhaseRemoveRow, c
			return
		}
	}
	p.phase, p.toMove = PhaseMoveRing, p.last.Other()
	switch {
	case p.pool == 0:
		p.finish(p.count(), PoolEmpty)
	case p.passes == 2:
		p.finish(p.count(), Blocked)
	}
}

// count gives the game to the side that has taken more rings.
func (p *Position) count() Outcome {
	switch w, b := p.taken[White], p.taken[Black]; {
	case w > b:
		return WhiteWins
	case b > w:
		return BlackWins
	}
	return Draw
}

func (p *Position) finish(o Outcome, r Reason) {
	p.phase, p.result = PhaseOver, Result{o, r}
}
