package arena

import (
	"context"
	"fmt"
	"math/rand/v2"

	"yinshzero/mcts"
	"yinshzero/rules"
)

// Search is a Player that searches with an mcts.Searcher, without noise. It is a Follower: the part of the tree that the
// game has reached is kept. Where its Evaluator gives a Position the same answer always, so does a game.
type Search struct {
	searcher *mcts.Searcher
	budget   mcts.Budget
}

// NewSearch makes a Player that spends simulations, 1 to MaxSimulations, on each Move that is not forced. It takes s
// over: nobody else may use it.
func NewSearch(s *mcts.Searcher, simulations int) (*Search, error) {
	if simulations < 1 || simulations > MaxSimulations {
		return nil, fmt.Errorf("search with %d simulations: want 1 to %d", simulations, MaxSimulations)
	}
	return &Search{s, mcts.Budget{Simulations: simulations}}, nil
}

// Move implements Player.
func (s *Search) Move(ctx context.Context, pos rules.Position, rng *rand.Rand) (rules.Move, error) {
	root, err := s.searcher.Search(ctx, pos, s.budget, rng)
	if err != nil {
		return 0, err
	}
	return root.Best, ctx.Err()
}

// Start implements Follower.
func (s *Search) Start(rules.Position) { s.searcher.Reset() }

// Played implements Follower.
func (s *Search) Played(m rules.Move) { s.searcher.Advance(m) }
