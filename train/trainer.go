package train

import (
	"context"
	"fmt"

	"yinshzero/data"
	"yinshzero/internal/seed"
	"yinshzero/net"
	"yinshzero/net/graph"
)

// A Trainer moves one set of weights. It belongs to one goroutine.
type Trainer struct {
	params  Params
	seed    seed.Seed
	weights *net.Weights // under training
	average *averager    // of which candidates are made
	graph   *graph.Graph
	solver  *graph.Solver
	step    int64
	drawn   int64 // batches, those of refused steps included

	batch   []data.Sample
	example graph.Example
}

// New is a Trainer that starts from w, which from then on belongs to it. It returns an error if p is out of range.
func New(w *net.Weights, p Params, s seed.Seed) (*Trainer, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	if err := p.fits(w.Arch()); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	g, err := graph.New(w, p.Graph)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	solver, err := graph.NewSolver(w, p.Solver)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	return &Trainer{
		params: p, seed: s, weights: w, average: newAverager(p.Average, w), graph: g, solver: solver, batch: make([]data.Sample, p.Graph.Batch),
	}, nil
}

// Begin sets the counts of a Trainer that goes on from weights without a checkpoint: steps taken and batches drawn before.
// Its optimiser starts cold.
func (t *Trainer) Begin(steps, drawn int64) { t.step, t.drawn = steps, max(steps, drawn) }

// Steps is the number of steps taken, those before the checkpoint included.
func (t *Trainer) Steps() int64 { return t.step }

// LearningRate is the rate of the next step.
func (t *Trainer) LearningRate() float64 { return t.params.Schedule.Rate(t.step) }

// Candidate is a copy of the weights' average: what a match should judge.
func (t *Trainer) Candidate() *net.Weights { return t.average.candidate(t.weights) }

// Drawn is the number of batches drawn, those before the checkpoint included.
func (t *Trainer) Drawn() int64 { return t.drawn }

// Step draws the next batch from w and moves the weights. If a loss or a gradient is not finite it returns an error that
// wraps graph.ErrNotFinite and the weights have not changed; Batch is then what went wrong, and the next Step draws another. A Step that ctx ends has not been: the next one draws its batch.
func (t *Trainer) Step(ctx context.Context, w *data.Window) (graph.Losses, error) {
	fail := func(err error) (graph.Losses, error) {
		return graph.Losses{}, fmt.Errorf("training step %d: %w", t.step, err)
	}
	if err := w.Draw(t.seed.Child("batch", uint64(t.drawn)).Rand(), t.batch); err != nil {
		return fail(err)
	}
	t.drawn++
	if err := t.params.set(t.graph, &t.example, t.batch); err != nil {
		return fail(err)
	}
	losses, err := t.graph.Gradients(ctx)
	if err != nil {
		if ctx.Err() != nil { // the batch is drawn again
			t.drawn--
		}
		return fail(err)
	}
	t.solver.LR = t.LearningRate()
	if _, err := t.graph.Step(t.solver); err != nil {
		return fail(err)
	}
	t.step++
	t.average.follow(t.weights, t.step)
	return losses, nil
}

// Batch is the batch of the last Step. It is valid until the next.
func (t *Trainer) Batch() []data.Sample { return t.batch }
