package arena

import (
	"fmt"

	"yinshzero/internal/seed"
	"yinshzero/rules"
)

// An Opening is the first Moves of a game, from the empty board.
type Opening struct{ Moves []rules.Move }

// openingExtra is the largest number of random ring moves after the placements.
const openingExtra = 4

// NewOpening draws an opening of v: uniformly random Moves, as many as drawn from v.Rings (half of the placements) to
// all placements and four ring moves. So some games test how the players place rings and others take them out of what
// they know. An opening is drawn again if a side has a Row or the game is over, and if the side to move can make a Row
// at once.
func NewOpening(v rules.Variant, s seed.Seed) Opening {
	rng := s.Rand()
	var moves, made []rules.Move
	for {
		pos := rules.New(v)
		made = made[:0]
		for range int(v.Rings) + rng.IntN(int(v.Rings)+openingExtra+1) {
			if moves = pos.AppendMoves(moves[:0]); len(moves) == 0 {
				break
			}
			m := moves[rng.IntN(len(moves))]
			pos.Play(m)
			made = append(made, m)
		}
		if quiet(&pos) {
			return Opening{made}
		}
	}
}

// quiet reports whether the game goes on with no Row on the board and none within a Move.
func quiet(pos *rules.Position) bool {
	if ph := pos.Phase(); ph != rules.PhasePlaceRing && ph != rules.PhaseMoveRing {
		return false
	}
	for _, m := range pos.AppendMoves(nil) {
		next := *pos
		next.Play(m)
		if len(next.AppendRows(nil, pos.ToMove())) > 0 {
			return false
		}
	}
	return true
}

// Position is where the opening leads to in v. It is an error if one of its Moves is illegal or the game is over.
func (o Opening) Position(v rules.Variant) (rules.Position, error) {
	pos := rules.New(v)
	for i, m := range o.Moves {
		if !pos.IsLegal(m) {
			return pos, fmt.Errorf("opening: ply %d: illegal move %s", i, moveText(v, m))
		}
		pos.Play(m)
	}
	if _, over := pos.Result(); over {
		return pos, fmt.Errorf("opening: the game is over after %d plies", len(o.Moves))
	}
	return pos, nil
}
