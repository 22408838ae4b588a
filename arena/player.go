package arena

import (
	"context"
	"math/rand/v2"

	"yinshzero/rules"
)

// A Player chooses Moves. It belongs to one goroutine and may keep state during a game.
type Player interface {
	// Move returns a legal Move of pos, which is not over. All chance comes from rng. An error ends the match.
	Move(ctx context.Context, pos rules.Position, rng *rand.Rand) (rules.Move, error)
}

// A Follower is a Player that hears what is played, so that it can keep what it worked out for the Moves before. A
// Follower can play one side of a game only: the other side must be another value.
type Follower interface {
	Player
	// Start begins a game at pos. The game before it, if any, is over or dropped.
	Start(pos rules.Position)
	// Played tells of the Move that either side has just made, its own ones too.
	Played(m rules.Move)
}

// A Maker makes a Player. A Match calls it once for each of its goroutines and closes the Player in the end if it is an
// io.Closer.
type Maker func() (Player, error)

// Random plays every legal Move with the same chance. It keeps nothing between Moves.
type Random struct{ moves []rules.Move }

// Move implements Player.
func (r *Random) Move(_ context.Context, pos rules.Position, rng *rand.Rand) (rules.Move, error) {
	r.moves = pos.AppendMoves(r.moves[:0])
	return r.moves[rng.IntN(len(r.moves))], nil
}
