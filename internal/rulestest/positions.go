package rulestest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"yinshzero/rules"
)

// A Drawing is a Position drawn by hand.
type Drawing struct {
	Variant rules.Variant // Standard if zero
	// Picture is the board as rules.Position.Draw shows it: W and B rings, w and b markers, dots empty Points, every
	// height of the board on a line of its own. Only the order of the pieces counts, not the blanks between them; names of
	// Points, such as a2, are passed over.
	Picture string
	ToMove  rules.Color
	Phase   rules.Phase // not PhaseOver
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
	board, err := readPicture(v, d.Picture)
	if err != nil {
		return rules.Position{}, err
	}
	count := func(piece string) int { return strings.Count(board, piece) }
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

// readPicture returns the 85 characters of the board in a picture.
func readPicture(v rules.Variant, picture string) (string, error) {
	empty := rules.New(v)
	board := []byte(strings.Repeat(".", rules.NumPoints))
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
			return "", fmt.Errorf("picture line %q: %d points, want %d", line, len(pieces), len(points[h]))
		}
		for i, p := range points[h] {
			board[p] = pieces[i][0]
		}
		h--
	}
	if h != lowest-1 {
		return "", fmt.Errorf("picture: %d lines, want %d", highest-h, highest-lowest+1)
	}
	return string(board), nil
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
