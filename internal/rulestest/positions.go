package rulestest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"yinshzero/rules"
)

// A Drawing is a Position made by hand, of a picture, of pieces by name, or of both.
type Drawing struct {
	Variant rules.Variant // Standard if zero
	// Picture is the board as rules.Position.Draw shows it: W and B rings, w and b markers, dots empty Points, every
	// height of the board on a line of its own. Only the order of the pieces counts, not the blanks between them; names of
	// Points, such as a2, are passed over. If empty, so is the board.
	Picture string
	// Pieces are laid on the picture: a piece and a Point, or the ends of an unbroken line, such as "Wf6 wa2-a5 bk8".
	Pieces string
	ToMove rules.Color
	Phase  rules.Phase // not PhaseOver
	// Gift says that the opponent moved last, although ToMove takes a Row or a ring.
	Gift   bool
	Passes int
}

// Position is the drawn Position. Markers that are not on the board are in the pool; rings that are not on the board
// are in hand while rings are placed, and taken later. It is an error if the rules do not allow it.
func (d Drawing) Position() (rules.Position, error) {
	v := d.Variant
	if v == (rules.Variant{}) {
		v = rules.Standard()
	}
	board := []byte(strings.Repeat(".", rules.NumPoints))
	if d.Picture != "" {
		if err := readPicture(board, v, d.Picture); err != nil {
			return rules.Position{}, err
		}
	}
	for _, word := range strings.Fields(d.Pieces) {
		if err := layPieces(board, word); err != nil {
			return rules.Position{}, err
		}
	}
	count := func(piece string) int { return strings.Count(string(board), piece) }
	taken := [2]int{int(v.Rings) - count("W"), int(v.Rings) - count("B")}
	var hand [2]int
	if d.Phase == rules.PhasePlaceRing {
		hand, taken = taken, hand
	}
	last := d.ToMove.Other()
	if !d.Gift && (d.Phase == rules.PhaseRemoveRow || d.Phase == rules.PhaseRemoveRing) {
		last = d.ToMove
	}
	return rules.ParsePosition(fmt.Sprintf("%s/%v/%v/%d/%d-%d/%d-%d/%v/%d/%v", board, d.ToMove, d.Phase,
		int(v.Markers)-count("w")-count("b"), taken[0], taken[1], hand[0], hand[1], last, d.Passes, v))
}

// layPieces lays the pieces of one word, such as wa2-a5.
func layPieces(board []byte, word string) error {
	first, last, isLine := strings.Cut(word[1:], "-")
	if !isLine {
		last = first
	}
	a, err := rules.ParsePoint(first)
	if err != nil {
		return fmt.Errorf("pieces %q: %w", word, err)
	}
	b, err := rules.ParsePoint(last)
	if err != nil {
		return fmt.Errorf("pieces %q: %w", word, err)
	}
	dx, dy := b.Column()-a.Column(), b.Number()-a.Number()
	n := max(dx, -dx, dy, -dy)
	for i := range n + 1 {
		p := a
		if n > 0 {
			p, _ = rules.PointAt(a.Column()+i*dx/n, a.Number()+i*dy/n)
		}
		board[p] = word[0]
	}
	return nil
}

// readPicture lays the pieces of a picture.
func readPicture(board []byte, v rules.Variant, picture string) error {
	empty := rules.New(v)
	height := func(p rules.Point) int { return 2*p.Number() - p.Column() }
	points := map[int][]rules.Point{} // by height, from the left
	highest, lowest := -rules.NumPoints, rules.NumPoints
	for _, p := range empty.AppendBoard(nil) {
		h := height(p)
		points[h] = append(points[h], p)
		highest, lowest = max(highest, h), min(lowest, h)
	}
	h := highest
	for line := range strings.Lines(picture) {
		var pieces []string
		for _, word := range strings.Fields(line) {
			if len(word) == 1 {
				pieces = append(pieces, word)
			}
		}
		if len(pieces) == 0 {
			continue
		}
		if len(pieces) != len(points[h]) {
			return fmt.Errorf("picture line %q: %d points, want %d", line, len(pieces), len(points[h]))
		}
		for i, p := range points[h] {
			board[p] = pieces[i][0]
		}
		h--
	}
	if h != lowest-1 {
		return fmt.Errorf("picture: %d lines, want %d", highest-h, highest-lowest+1)
	}
	return nil
}

// LatePlacement is the Position from which perft is measured: eight rings of Standard stand, two are to come, so that
// perft 4 makes two placings and two ring moves.
func LatePlacement() rules.Position {
	p := rules.New(rules.Standard())
	for _, name := range [...]string{"e5", "g7", "d8", "h5", "f3", "f9", "c4", "i9"} {
		pt, err := rules.ParsePoint(name)
		if err != nil {
			panic("rulestest: " + err.Error())
		}
		p.Play(rules.PlaceRingAt(pt))
	}
	return p
}

// Walk plays games random games of v, of all kinds in turn, and calls visit for every Position with its game's number;
// the last one of each game is over. Equal arguments give equal Positions.
func Walk(v rules.Variant, games int, seed uint64, visit func(game int, p rules.Position)) {
	for i := range games {
		g := rules.RandomGame(v, rules.RandomKind(i%3), rand.New(rand.NewPCG(seed, uint64(i))))
		p := rules.New(v)
		visit(i, p)
		for _, m := range g.Moves {
			p.Play(m)
			visit(i, p)
		}
	}
}

// RandomPosition is a Position of a random game of v, not over; every ply of the game is as likely.
func RandomPosition(v rules.Variant, rng *rand.Rand) rules.Position {
	g := rules.RandomGame(v, rules.RandomKind(rng.IntN(3)), rng)
	p := rules.New(v)
	for _, m := range g.Moves[:rng.IntN(len(g.Moves))] {
		p.Play(m)
	}
	return p
}
