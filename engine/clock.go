package engine

import (
	"time"

	"yinshzero/rules"
)

// A clock is what a side has for the rest of its game.
type clock struct{ left, increment time.Duration }

// allot is the time for the coming turn of the side to move, by its clock: its part of what is left, if the game goes on
// as games do, and most of the increment. It never is more than a third of what is left, less what the way to the front
// end may cost.
func (c clock) allot(pos *rules.Position) time.Duration {
	const least = 6 // turns that the clock must last for in any case
	turns := pos.Hand(pos.ToMove()) + max(least, pos.Pool()/2)
	d := c.left/time.Duration(turns) + c.increment*3/4
	return lessMargin(min(d, c.left/3))
}

// lessMargin keeps a part of d back for the way to the front end: a tenth, at most 100 ms. What remains is at least a
// millisecond.
func lessMargin(d time.Duration) time.Duration {
	return max(d-min(d/10, 100*time.Millisecond), time.Millisecond)
}

// share is the part of a turn's remaining time that the next Move may use. A ring that is placed ends the turn; one that is
// moved may make Rows, and what decides about those has a tree already; what decides about the opponent's gift leaves time
// for the move of a ring.
func share(left time.Duration, ph rules.Phase) time.Duration {
	switch ph {
	case rules.PhasePlaceRing:
		return left
	case rules.PhaseMoveRing:
		return left * 17 / 20
	}
	return left / 2
}
