package engine

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"yinshzero/mcts"
	"yinshzero/rules"
)

// A search spends a budget on one Position and tells on the way what it has.
type search struct {
	searcher    *mcts.Searcher
	pos         rules.Position
	simulations int           // at most
	depth       int           // ends when the expected line has as many Moves; 0 for any length
	batch       int           // of the Searcher
	every       time.Duration // between reports; 0 for none
	report      func(r mcts.Root, simulations int)
}

// A search runs in pieces, between which it looks at its line and at the clock. A piece takes about pieceTime, so that
// reports are on time, and at most pieceMost simulations.
const (
	pieceTime = 50 * time.Millisecond
	pieceMost = 1024
)

// run searches until the budget is spent, ctx ends, the result is proven or the tree is full. The Position itself is judged
// even if ctx has ended, so that there is always something to play. It returns what was found and the number of
// simulations. Without a batch, what is found does not depend on the pieces.
func (s *search) run(ctx context.Context) (mcts.Root, int, error) {
	root, err := s.searcher.Search(context.WithoutCancel(ctx), s.pos, mcts.Budget{}, nil)
	if err != nil {
		return root, 0, err
	}
	spent, piece := 0, s.batch
	next := time.Now().Add(s.every)
	for spent < s.simulations && ctx.Err() == nil && !s.deep() {
		n := min(piece, s.simulations-spent)
		begin := time.Now()
		if root, err = s.searcher.Search(ctx, s.pos, mcts.Budget{Simulations: n}, nil); err != nil {
			return root, spent, err
		}
		spent += root.Simulations
		if root.Simulations < n {
			break
		}
		now := time.Now()
		if s.every > 0 && !now.Before(next) {
			s.report(root, spent)
			next = time.Now().Add(s.every)
		}
		switch took := now.Sub(begin); {
		case took > pieceTime:
			piece = max(s.batch, piece/2/s.batch*s.batch)
		case took < pieceTime/4 && 2*piece <= pieceMost && s.depth == 0:
			piece *= 2
		}
	}
	return root, spent, nil
}

// deep reports whether the expected line is as long as was asked for.
func (s *search) deep() bool {
	return s.depth > 0 && len(s.searcher.AppendLine(nil)) >= s.depth
}

// ranked lists the edges that were searched, best first, with the Move to play at the head: then by visits, by what the
// side to move makes of their values, and by Move.
func ranked(r *mcts.Root, toMove rules.Color) []mcts.RootEdge {
	list := slices.DeleteFunc(slices.Clone(r.Edges), func(e mcts.RootEdge) bool { return e.Visits == 0 && e.Move != r.Best })
	later := func(e mcts.RootEdge) int {
		if e.Move == r.Best {
			return 0
		}
		return 1
	}
	slices.SortFunc(list, func(a, b mcts.RootEdge) int {
		return cmp.Or(
			cmp.Compare(later(a), later(b)),
			cmp.Compare(b.Visits, a.Visits),
			cmp.Compare(own(b.Value, toMove), own(a.Value, toMove)),
			cmp.Compare(a.Move, b.Move))
	})
	return list
}

// own turns a value in White's view to c's view, and back.
func own(value float32, c rules.Color) float32 {
	if c == rules.Black {
		return -value
	}
	return value
}

// choose is the best Move, or one drawn by the policy to the power of 1/temperature.
func choose(r *mcts.Root, temperature float64, rng *rand.Rand) rules.Move {
	if temperature == 0 || r.Proven {
		return r.Best
	}
	weights, sum, top := make([]float64, len(r.Edges)), 0.0, 0.0
	for _, e := range r.Edges {
		top = max(top, float64(e.Policy))
	}
	for i, e := range r.Edges {
		weights[i] = math.Pow(float64(e.Policy)/top, 1/temperature)
		sum += weights[i]
	}
	x := rng.Float64() * sum
	for i, w := range weights {
		if x -= w; x < 0 {
			return r.Edges[i].Move
		}
	}
	return r.Best
}

// checkTemperature returns an error unless x may be a temperature.
func checkTemperature(x float64) error {
	if x == 0 || x >= 0.01 && x <= 100 {
		return nil
	}
	return errors.New("want 0 for the best Move, or 0.01 to 100")
}
