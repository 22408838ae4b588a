package mcts

import (
	"context"

	"yinshzero/rules"
)

// A Query asks about one Position. The caller owns the slices; an Evaluator fills Prior and Value and keeps nothing.
type Query struct {
	Pos   rules.Position
	Root  bool         // Pos is the root of a search: an Evaluator may take more trouble over it
	Legal []rules.Move // the legal Moves, ascending, at least one
	Prior []float32    // len(Legal), to be filled: each in [0, 1], together 1
	Value float32      // to be filled: the expected result in [−1, 1], White's view
}

// An Evaluator judges Positions that are not over. It fills Prior and Value of every Query of the batch, or returns an
// error and leaves them without meaning. It need not be safe for concurrent use: a Searcher calls it from the goroutine
// that called Search.
type Evaluator interface {
	Evaluate(ctx context.Context, batch []*Query) error
}

// Uniform is the Evaluator that knows nothing: equal priors, value 0. It is safe for concurrent use.
type Uniform struct{}

// Evaluate fills every Query with equal priors and the value 0. It never fails.
func (Uniform) Evaluate(_ context.Context, batch []*Query) error {
	for _, q := range batch {
		p := 1 / float32(len(q.Legal))
		for i := range q.Prior {
			q.Prior[i] = p
		}
		q.Value = 0
	}
	return nil
}
