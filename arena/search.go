package arena

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"yinshzero/mcts"
	"yinshzero/rules"
)

// Search is a Player that searches with an mcts.Searcher, without noise. It is a Follower: the part of the tree that the
// game has reached is kept. Where its Evaluator gives a Position the same answer always, so does a game.
type Search struct {
	searcher *mcts.Searcher
	budget   mcts.Budget
	time     time.Duration // of a Move, if not 0
}

// NewSearch makes a Player that spends simulations, 1 to MaxSimulations, on each Move that is not forced. It takes s
// over: nobody else may use it.
func NewSearch(s *mcts.Searcher, simulations int) (*Search, error) {
	if simulations < 1 || simulations > MaxSimulations {
		return nil, fmt.Errorf("search with %d simulations: want 1 to %d", simulations, MaxSimulations)
	}
	return &Search{searcher: s, budget: mcts.Budget{Simulations: simulations}}, nil
}

// NewTimed makes a Player that spends the time d on each Move that is not forced, and MaxSimulations at most. How it
// plays then hangs on the machine. It takes s over: nobody else may use it.
func NewTimed(s *mcts.Searcher, d time.Duration) (*Search, error) {
	if d < minTime || d > maxTime {
		return nil, fmt.Errorf("search for %v a move: want %v to %v", d, minTime, maxTime)
	}
	return &Search{searcher: s, budget: mcts.Budget{Simulations: MaxSimulations}, time: d}, nil
}

// Move implements Player.
func (s *Search) Move(ctx context.Context, pos rules.Position, rng *rand.Rand) (rules.Move, error) {
	limit := ctx
	if s.time > 0 {
		var cancel context.CancelFunc
		limit, cancel = context.WithTimeout(ctx, s.time)
		defer cancel()
	}
	root, err := s.searcher.Search(limit, pos, s.budget, rng)
	if err != nil && ctx.Err() == nil && limit.Err() != nil { // no time even for the root: the priors choose
		root, err = s.searcher.Search(ctx, pos, mcts.Budget{}, rng)
	}
	if err != nil {
		return 0, err
	}
	return root.Best, ctx.Err()
}

// Start implements Follower.
func (s *Search) Start(rules.Position) { s.searcher.Reset() }

// Played implements Follower.
func (s *Search) Played(m rules.Move) { s.searcher.Advance(m) }
