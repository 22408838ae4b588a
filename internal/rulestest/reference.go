package rulestest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A place is an intersection as people name it: a letter from a and a number from 1.
type place struct {
	letter byte
	number int
}

func (p place) String() string { return string(p.letter) + strconv.Itoa(p.number) }

func (p place) plus(d [2]int, n int) place {
	return place{p.letter + byte(n*d[0]), p.number + n*d[1]}
}

// The three directions of lines: same letter, same number, both rising together.
var directions = [][2]int{{0, 1}, {1, 0}, {1, 1}}

// A Reference is a game of YINSH, played as plainly as the rules are told: a map of places, Moves as text, every
// question answered anew by trying everything. It is the measure for package rules and shares nothing with it.
type Reference struct {
	rings, markers, rowLength, ringsToWin int

	places map[place]bool // of the board
	full   map[place]bool // of the largest board
	board  map[place]byte // W and B rings, w and b markers
	pool   int
	hand   map[byte]int // by side, W or B
	taken  map[byte]int
	side   byte
	phase  string
	last   byte
	passes int
	result string
}

// NewReference is the empty board of the Variant with these numbers, White to place a ring.
func NewReference(radius, rings, markers, rowLength, ringsToWin int) *Reference {
	return &Reference{
		rings: rings, markers: markers, rowLength: rowLength, ringsToWin: ringsToWin,
		places: placesWithin(radius),
		full:   placesWithin(5),
		board:  map[place]byte{},
		pool:   markers,
		hand:   map[byte]int{'W': rings, 'B': rings},
		taken:  map[byte]int{},
		side:   'W', phase: "place", last: 'B', result: "unfinished",
	}
}

// placesWithin is the hexagon around f6 whose sides have radius + 1 places, without its corners: from the centre out,
// ring by ring, every place that a place of the ring before touches.
func placesWithin(radius int) map[place]bool {
	centre := place{'f', 6}
	all := map[place]bool{centre: true}
	for range radius {
		for p := range maps.Clone(all) {
			for _, d := range directions {
				all[p.plus(d, 1)], all[p.plus(d, -1)] = true, true
			}
		}
	}
	for _, d := range directions {
		delete(all, centre.plus(d, radius))
		delete(all, centre.plus(d, -radius))
	}
	return all
}

func other(side byte) byte {
	if side == 'W' {
		return 'B'
	}
	return 'W'
}

func markerOf(side byte) byte { return side + 'w' - 'W' }

// Side is who decides next, W or B.
func (g *Reference) Side() string { return string(g.side) }

// Phase is place, move, row, ring or over.
func (g *Reference) Phase() string { return g.phase }

// Result is W, B, draw or unfinished.
func (g *Reference) Result() string { return g.result }

// Board is what stands on every place of the full board, 85 characters by letter and then number.
func (g *Reference) Board() string {
	var b strings.Builder
	for letter := byte('a'); letter <= 'k'; letter++ {
		for number := 1; number <= 11; number++ {
			p := place{letter, number}
			if piece, ok := g.board[p]; ok {
				b.WriteByte(piece)
			} else if g.full[p] {
				b.WriteByte('.')
			}
		}
	}
	return b.String()
}

// Legal is every legal Move as text, sorted bytewise.
func (g *Reference) Legal() []string {
	var all []string
	switch g.phase {
	case "place":
		for p := range g.places {
			if g.board[p] == 0 {
				all = append(all, p.String())
			}
		}
	case "move":
		for p := range g.places {
			if g.board[p] == g.side {
				for _, to := range g.landings(p) {
					all = append(all, p.String()+"-"+to.String())
				}
			}
		}
		if len(all) == 0 {
			all = append(all, "pass")
		}
	case "row":
		for _, row := range g.rowsOf(g.side) {
			all = append(all, "x"+row[0].String()+"-"+row[len(row)-1].String())
		}
	case "ring":
		for p := range g.places {
			if g.board[p] == g.side {
				all = append(all, "x"+p.String())
			}
		}
	}
	slices.Sort(all)
	return all
}

// landings is where the ring on from may land: walk each of the six ways; before the first marker every empty place
// will do, after it only the first empty one; a ring or the edge stops the walk.
func (g *Reference) landings(from place) (to []place) {
	for _, d := range directions {
		for _, way := range []int{1, -1} {
			jumped := false
			for n := way; ; n += way {
				p := from.plus(d, n)
				piece := g.board[p]
				if !g.places[p] || piece == 'W' || piece == 'B' {
					break
				}
				if piece != 0 {
					jumped = true
					continue
				}
				to = append(to, p)
				if jumped {
					break
				}
			}
		}
	}
	return to
}

// rowsOf is every unbroken row of the side's markers of exactly the row's length, the lower end first.
func (g *Reference) rowsOf(side byte) (rows [][]place) {
	for p := range g.places {
		for _, d := range directions {
			var row []place
			for q := p; len(row) < g.rowLength && g.board[q] == markerOf(side); q = q.plus(d, 1) {
				row = append(row, q)
			}
			if len(row) == g.rowLength {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// Play makes a Move, which must be one of Legal.
func (g *Reference) Play(move string) {
	switch g.phase {
	case "place":
		g.board[parsePlace(move)] = g.side
		g.hand[g.side]--
		g.last, g.side = g.side, other(g.side)
		if g.hand[g.side] == 0 {
			g.next()
		}
	case "move":
		g.last = g.side
		if move == "pass" {
			g.passes++
		} else {
			from, to, _ := strings.Cut(move, "-")
			g.moveRing(parsePlace(from), parsePlace(to))
			g.passes = 0
		}
		g.next()
	case "row":
		for _, row := range g.rowsOf(g.side) {
			if move == "x"+row[0].String()+"-"+row[len(row)-1].String() {
				for _, p := range row {
					delete(g.board, p)
					g.pool++
				}
			}
		}
		g.phase = "ring"
	case "ring":
		delete(g.board, parsePlace(move[1:]))
		g.taken[g.side]++
		if g.taken[g.side] == g.ringsToWin {
			g.phase, g.result = "over", string(g.side)
			return
		}
		g.next()
	}
}

func parsePlace(s string) place {
	n, err := strconv.Atoi(s[1:])
	if err != nil {
		panic("rulestest: " + err.Error())
	}
	return place{s[0], n}
}

// moveRing lays a marker, moves the ring and turns every marker between.
func (g *Reference) moveRing(from, to place) {
	for _, d := range directions {
		for _, way := range []int{1, -1} {
			for n := way; g.places[from.plus(d, n)]; n += way {
				if from.plus(d, n) != to {
					continue
				}
				for k := way; k != n; k += way {
					p := from.plus(d, k)
					switch g.board[p] {
					case 'w':
						g.board[p] = 'b'
					case 'b':
						g.board[p] = 'w'
					}
				}
			}
		}
	}
	g.board[to] = g.side
	g.board[from] = markerOf(g.side)
	g.pool--
}

// next finds what comes after a completed Move: rows of the side that moved last, rows of the other, the other's move.
func (g *Reference) next() {
	switch {
	case len(g.rowsOf(g.last)) > 0:
		g.phase, g.side = "row", g.last
	case len(g.rowsOf(other(g.last))) > 0:
		g.phase, g.side = "row", other(g.last)
	default:
		g.phase, g.side = "move", other(g.last)
		if g.pool == 0 || g.passes == 2 {
			g.phase = "over"
			switch {
			case g.taken['W'] > g.taken['B']:
				g.result = "W"
			case g.taken['B'] > g.taken['W']:
				g.result = "B"
			default:
				g.result = "draw"
			}
		}
	}
}
