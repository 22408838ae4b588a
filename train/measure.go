package train

import (
	"context"
	"fmt"
	"math/rand/v2"

	"yinshzero/data"
	"yinshzero/net/graph"
)

// A Measure is what the candidate's weights cost on positions of two kinds, under the same targets, weights and symmetries as
// in a step: of games that are held out, and of games that are trained on. What the first cost more than the second is what
// the weights know by heart.
type Measure struct{ HeldOut, Trained graph.Losses }

// measureBatches is how many batches of each kind are drawn for a Measure.
const measureBatches = 16

// Measure measures what Candidate returns now. It draws from w by the number of steps taken alone and changes nothing: the
// next Step is the one that it would have been. If w holds no game out it returns an error that wraps data.ErrNoPositions,
// and one that wraps graph.ErrNotFinite if a loss is not finite.
func (t *Trainer) Measure(ctx context.Context, w *data.Window) (m Measure, err error) {
	fail := func(err error) (Measure, error) {
		return Measure{}, fmt.Errorf("measure the candidate of step %d: %w", t.step, err)
	}
	p := t.params.Graph
	p.ForwardOnly = true
	g, err := graph.New(t.Candidate(), p)
	if err != nil {
		return fail(err)
	}
	batch := make([]data.Sample, p.Batch)
	var e graph.Example
	mean := func(name string, draw func(*rand.Rand, []data.Sample) error) (graph.Losses, error) {
		rng := t.seed.Child(name, uint64(t.step)).Rand()
		var all []graph.Losses
		for range measureBatches {
			if err := draw(rng, batch); err != nil {
				return graph.Losses{}, err
			}
			if err := t.params.set(g, &e, batch); err != nil {
				return graph.Losses{}, err
			}
			l, err := g.Losses(ctx)
			if err != nil {
				return graph.Losses{}, err
			}
			all = append(all, l)
		}
		return graph.MeanLosses(all), nil
	}
	if m.HeldOut, err = mean("held out", w.DrawHoldOut); err != nil {
		return fail(err)
	}
	if m.Trained, err = mean("trained", w.Draw); err != nil {
		return fail(err)
	}
	return m, nil
}
