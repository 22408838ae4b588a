package rules

import (
	"fmt"
	"testing"
)

// The board as the rules tell it: the numbers of each column.
var columns = [GridSize][2]int{
	{2, 5}, {1, 7}, {1, 8}, {1, 9}, {1, 10}, {2, 10}, {2, 11}, {3, 11}, {4, 11}, {5, 11}, {7, 10},
}

func TestPoints(t *testing.T) {
	next := Point(0)
	for column, numbers := range columns {
		for number := -1; number <= 13; number++ {
			p, ok := PointAt(column, number)
			if want := number >= numbers[0] && number <= numbers[1]; ok != want {
				t.Errorf("PointAt(%d, %d): on the board %v, want %v", column, number, ok, want)
			}
			if !ok {
				continue
			}
			if p != next || p.Column() != column || p.Number() != number || p.Grid() != column*GridSize+number-1 {
				t.Errorf("PointAt(%d, %d) is point %d at %d, %d, grid %d: want point %d",
					column, number, p, p.Column(), p.Number(), p.Grid(), next)
			}
			name := fmt.Sprintf("%c%d", 'a'+column, number)
			if q, err := ParsePoint(name); err != nil || q != p || p.String() != name {
				t.Errorf("point %s: String %s, parsed %v, %v", name, p, q, err)
			}
			next++
		}
	}
	if next != NumPoints {
		t.Errorf("%d points: want %d", next, NumPoints)
	}
	for _, column := range []int{-1, GridSize} {
		if _, ok := PointAt(column, 6); ok {
			t.Errorf("PointAt(%d, 6) is on the board", column)
		}
	}
}

// The numbers of the board: 33 lines, 123 Rows of five, 1,848 pairs, 11 orbits, at most 26 destinations.
func TestNumbersOfTheBoard(t *testing.T) {
	wantLines := map[Axis][]int{}
	for a := range Axis(numAxes) {
		wantLines[a] = []int{4, 7, 8, 9, 10, 9, 10, 9, 8, 7, 4}
	}
	lines, rows := map[Axis][]int{}, 0
	for r := range Row(NumRows) {
		if _, ok := r.Last(5); ok {
			rows++
		}
		// A line begins where no Point lies before.
		i, d := r.First().Grid(), steps[r.Axis()]
		if boards[MaxRadius].has(i - d) {
			continue
		}
		n := 0
		for ; boards[MaxRadius].has(i); i += d {
			n++
		}
		lines[r.Axis()] = append(lines[r.Axis()], n)
	}
	all := 0
	for a := range Axis(numAxes) {
		all += len(lines[a])
		count := [GridSize + 1]int{}
		for i := range lines[a] {
			count[lines[a][i]]++
			count[wantLines[a][i]]--
		}
		if count != [GridSize + 1]int{} {
			t.Errorf("axis %d: lines of %v: want %v", a, lines[a], wantLines[a])
		}
	}
	if all != 33 || rows != 123 {
		t.Errorf("%d lines, %d rows of five: want 33, 123", all, rows)
	}

	count, most := 0, 0
	for f := range NumPoints {
		n := 0
		for _, rank := range pairOf[f] {
			if rank >= 0 {
				n++
			}
		}
		count, most = count+n, max(most, n)
	}
	if count != numPairs || most != 26 || 5*most != MaxMoves {
		t.Errorf("%d pairs, at most %d destinations: want %d, 26", count, most, numPairs)
	}
	if firstRing+NumPoints != 2273 || NumMoves != 2274 || firstMove != 85 || firstRow != 1933 {
		t.Errorf("moves begin at %d, %d, %d, %d", firstMove, firstRow, firstRing, NumMoves)
	}

	orbits := map[Point]bool{}
	for p := range Point(NumPoints) {
		least := p
		for s := range Symmetry(NumSymmetries) {
			least = min(least, s.Point(p))
		}
		orbits[least] = true
	}
	if len(orbits) != 11 {
		t.Errorf("%d orbits: want 11", len(orbits))
	}
}

// What lies between a pair is neither of the two and nothing else: as many Points as steps but one.
func TestBetween(t *testing.T) {
	for n, pr := range pairs {
		from, to := int(pr.from), int(pr.to)
		steps, _ := distance(to/GridSize-from/GridSize, to%GridSize-from%GridSize)
		if mid := between[n]; mid.count() != steps-1 || mid.has(from) || mid.has(to) {
			t.Errorf("%d points between %v and %v: want %d", mid.count(), Point(pointOf[from]), Point(pointOf[to]), steps-1)
		}
	}
}

// One Move lays or turns at most nine markers on one line, so however long a Variant's Rows are, it cannot make more of
// them than MaxMoves.
func TestRowsOfOneMove(t *testing.T) {
	for length := minRow; length <= maxRow; length++ {
		most := 0
		for n := range pairs {
			changed := between[n].or(bit(int(pairs[n].from)))
			rows := 0
			for r := range Row(NumRows) {
				if _, ok := r.Last(length); ok && !r.set(length).and(changed).empty() {
					rows++
				}
			}
			most = max(most, rows)
		}
		if most > MaxMoves {
			t.Errorf("rows of %d: one move can make %d, want at most %d", length, most, MaxMoves)
		}
	}
}

// A smaller board is a part of the full one, and a step off any board never lands on it again.
func TestBoards(t *testing.T) {
	for r, want := range map[int]int{3: 31, 4: 55, 5: 85} {
		if got := boards[r].count(); got != want {
			t.Errorf("radius %d: %d points, want %d", r, got, want)
		}
		if !boards[r].andNot(boards[MaxRadius]).empty() {
			t.Errorf("radius %d is not a part of the full board", r)
		}
		for s := range Symmetry(NumSymmetries) {
			if s.set(boards[r]) != boards[r] {
				t.Errorf("radius %d: symmetry %d maps it elsewhere", r, s)
			}
		}
	}
	for b := boards[MaxRadius]; !b.empty(); {
		i := b.next()
		for a, s := range steps {
			for _, d := range [2]int{s, -s} {
				if j := i + d; boards[MaxRadius].has(j) {
					dx, dy := j/GridSize-i/GridSize, j%GridSize-i%GridSize
					want := [numAxes][2]int{{0, 1}, {1, 0}, {1, 1}}[a]
					if d < 0 {
						want = [2]int{-want[0], -want[1]}
					}
					if [2]int{dx, dy} != want {
						t.Errorf("a step from %d by %d wraps around", i, d)
					}
				}
			}
		}
	}
}

func TestMoveParts(t *testing.T) {
	for m := range Move(NumMoves) {
		var back Move
		ok := true
		switch m.Kind() {
		case PlaceRing:
			back = PlaceRingAt(m.Point())
		case MoveRing:
			back, ok = MoveRingFrom(m.From(), m.To())
		case RemoveRow:
			back = RemoveRowAt(m.Row())
		case RemoveRing:
			back = RemoveRingAt(m.Point())
		default:
			back = Pass
		}
		if !ok || back != m {
			t.Errorf("move %d is put together again as %d", m, back)
		}
	}
}
