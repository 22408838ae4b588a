package rules

import (
	"fmt"
	"strings"
)

// Draw is a picture of p for people: the board as it lies before the players, columns upright with a on the left, with
// a line of text about the rest. W and B are rings, w and b markers, dots empty Points. Each column begins with the
// lowest number, which is written under it.
func (p *Position) Draw() string {
	var b strings.Builder
	const width = 4 // of a column
	// A Point's height above its column's neighbours rises by two with its number and falls by one with its letter.
	height := func(pt Point) int { return 2*pt.Number() - pt.Column() }
	lowest, highest := 2, 2
	var foot [GridSize]Point // lowest Point of each column in play
	points := p.AppendBoard(nil)
	for i := len(points) - 1; i >= 0; i-- {
		lowest, highest = min(lowest, height(points[i])), max(highest, height(points[i]))
		foot[points[i].Column()] = points[i]
	}
	for h := highest; h >= lowest-2; h-- {
		line := []byte(strings.Repeat(" ", width*GridSize))
		for _, pt := range points {
			switch x := width * pt.Column(); {
			case height(pt) == h:
				line[x] = pieceText[p.At(pt)]
			case height(pt) == h+2 && foot[pt.Column()] == pt:
				copy(line[x:], pt.String())
			}
		}
		b.WriteString(strings.TrimRight(string(line), " "))
		b.WriteByte('\n')
	}
	next, counts := p.caption()
	fmt.Fprintf(&b, "%s, %s\n", next, counts)
	return b.String()
}

// caption tells what a picture of the board does not show: whose decision is next, and what is beside the board.
func (p *Position) caption() (next, counts string) {
	next = fmt.Sprintf("%v: %v to move, %v", p.Variant(), p.toMove, p.phase)
	if res, over := p.Result(); over {
		next = fmt.Sprintf("%v: over, %v (%v)", p.Variant(), res.Outcome, res.Reason)
	}
	return next, fmt.Sprintf("pool %d, taken %d-%d, hand %d-%d", p.pool, p.taken[0], p.taken[1], p.hand[0], p.hand[1])
}
