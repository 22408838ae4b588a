package pipeline

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"yinshzero/data"
	"yinshzero/internal/atomicfile"
	"yinshzero/internal/crash"
	"yinshzero/internal/seed"
	"yinshzero/metrics"
	"yinshzero/net"
	"yinshzero/net/graph"
	"yinshzero/registry"
	"yinshzero/train"
)

// Intervals of the training loop.
const (
	saveEvery    = 15 * time.Second // a kill loses training steps of this long, and no games
	metricsSteps = 20               // steps in a line of metrics
	maxRefused   = 10               // steps that fail, in a row, after which the run gives up
	maxBatches   = 100              // of refused steps that one process puts aside: a run that often fails must not fill the disk
)

// learn takes training steps until ctx is done, whenever the window allows it, and makes candidates.
func (r *Run) learn(ctx context.Context) (err error) {
	stepping := false
	defer func() { // whatever has been learnt is kept, unless a panic has left half a step
		if r.trainer.Steps() > 0 && !stepping {
			err = errors.Join(err, r.trainer.Save(r.dir(checkpointDir)))
		}
	}()
	next := r.nextCandidate()
	saved := time.Now()
	refused := 0              // steps in a row
	var recent []graph.Losses // at most metricsSteps
	for {
		if err := r.goBack(); err != nil {
			return err
		}
		r.showTrainer(next)
		if reason := r.waits(); reason != "" {
			r.setWaiting(reason)
			select {
			case <-ctx.Done():
				return nil
			case <-r.grown:
			}
			continue
		}
		r.setWaiting("")
		stepping = true
		losses, err := r.step(ctx)
		stepping = false
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, graph.ErrNotFinite), errors.As(err, new(*crash.Error)): // the weights are as they were
			if kept := r.keepBatch(ctx, err); kept != nil {
				return kept
			}
			if refused++; refused == maxRefused {
				return r.stuck(err)
			}
			continue
		case err != nil:
			return err
		}
		refused = 0
		if recent = append(recent, losses); len(recent) == metricsSteps {
			r.tellLosses(graph.MeanLosses(recent))
			recent = recent[:0]
		}
		if time.Since(saved) >= saveEvery {
			if err := r.save(ctx); err != nil {
				return err
			}
			saved = time.Now()
		}
		if r.trainer.Steps() >= next && !r.onTrial() {
			if err := r.makeCandidate(ctx); err != nil {
				return err
			}
			r.measureCandidate(ctx)
			next = r.trainer.Steps() + r.params.CandidateSteps
		}
	}
}

// step takes a training step, unless a test makes it fail.
func (r *Run) step(ctx context.Context) (graph.Losses, error) {
	if r.mishap != nil {
		if err := r.mishap(); err != nil {
			return graph.Losses{}, err
		}
	}
	return r.trainer.Step(ctx, r.window)
}

// stuck is the error of a run whose training steps are all refused, the last one because of reason.
func (r *Run) stuck(reason error) error {
	if errors.As(reason, new(*crash.Error)) {
		return fmt.Errorf("%d training steps in a row were refused: see the stacks in the log: %w", maxRefused, reason)
	}
	return fmt.Errorf("%d training steps in a row were refused: lower training.learning_rate; if it happens again at once, the weights are past help: delete the folder %s to go on from the best model: %w",
		maxRefused, r.dir(checkpointDir), reason)
}

// nextCandidate is the step at which the next candidate is due: so many after the last, or after now if that is further on
// than the trainer.
func (r *Run) nextCandidate() int64 {
	last := int64(0)
	for _, e := range r.registry.All() {
		last = max(last, e.Meta.Step)
	}
	return min(last, r.trainer.Steps()) + r.params.CandidateSteps
}

// goBack sets training back to the best model, if that is asked for, when the newest candidate was rejected and no step has
// been taken since. To do it again changes nothing, so that a run which is killed here goes on as if it had not been.
func (r *Run) goBack() error {
	all := r.registry.All()
	last := all[len(all)-1]
	if !r.params.GoBack || last.Standing != registry.Rejected || last.Meta.Step < r.trainer.Steps() || last.ID == r.returned {
		return nil
	}
	t, err := r.trainBest()
	if err != nil {
		return err
	}
	t.Begin(r.trainer.Steps(), r.trainer.Drawn())
	r.trainer, r.returned = t, last.ID
	best, _ := r.registry.Best()
	r.note("training goes back", "to", best.ID.Short(), "step", t.Steps())
	return nil
}

// trainBest is a Trainer that begins with the weights of the best model. Its average begins with them too, and its optimiser
// cold: what that remembers is the way to other weights.
func (r *Run) trainBest() (*train.Trainer, error) {
	best, _ := r.registry.Best()
	b, err := r.registry.Bytes(best.ID)
	if err != nil {
		return nil, err
	}
	w, err := net.Read(b)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", best.ID.Short(), err)
	}
	return train.New(w, r.params.Train, r.trainSeed())
}

// trainSeed is the seed of the batches.
func (r *Run) trainSeed() seed.Seed { return seed.New(r.params.Seed).Child("train", 0) }

// waits says why no step can be taken now, or nothing if one can.
func (r *Run) waits() string {
	if c, ok := r.candidate(); ok && r.params.GoBack {
		return "the verdict on " + c.ID.Short()
	}
	if size := r.window.Size(); size < r.params.Window.Min {
		return fmt.Sprintf("%s of %s positions", thousands(size), thousands(r.params.Window.Min))
	}
	batch := int64(r.params.Train.Graph.Batch)
	drawn, allowed := (r.trainer.Drawn()+1)*batch, r.params.Passes*float64(r.window.Total())
	if float64(drawn) > allowed {
		return fmt.Sprintf("new games: %.1f passes over %s positions are done", r.params.Passes, thousands(r.window.Total()))
	}
	return ""
}

// thousands writes n with commas.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// makeCandidate hands the weights to judge. The checkpoint comes first, so that a candidate is never ahead of it.
func (r *Run) makeCandidate(ctx context.Context) error {
	if err := r.save(ctx); err != nil {
		return err
	}
	best, _ := r.registry.Best()
	var id registry.ID
	err := r.toDisk(ctx, func() (err error) {
		id, err = r.addModel(r.trainer.Candidate(), best.ID)
		return err
	})
	if err != nil {
		return err
	}
	r.note("candidate", "model", id.Short(), "step", r.trainer.Steps())
	nudge(r.candidates)
	return nil
}

// save writes a checkpoint. While the disk is full training waits.
func (r *Run) save(ctx context.Context) error {
	return r.toDisk(ctx, func() error { return r.trainer.Save(r.dir(checkpointDir)) })
}

// onTrial reports whether a candidate still waits for its verdict.
func (r *Run) onTrial() bool {
	_, ok := r.candidate()
	return ok
}

// candidate is the newest model without a verdict.
func (r *Run) candidate() (registry.Entry, bool) {
	all := r.registry.All()
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Standing == registry.Candidate {
			return all[i], true
		}
	}
	return registry.Entry{}, false
}

// keepBatch writes the batch that broke a step to quarantine, as text, and the stack of a panic to the log.
func (r *Run) keepBatch(ctx context.Context, reason error) error {
	logPanic(r.params.Log, reason)
	if r.refused++; r.refused > maxBatches {
		r.params.Log.Warn("training step refused and its batch dropped: quarantine is full", "reason", reason)
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %v\n", reason)
	for _, s := range r.trainer.Batch() {
		fmt.Fprintf(&b, "%v kind %v value %v policy %v outcome %v last %v next %v reply %v ply %d of %d\n",
			&s.Pos, s.Kind, s.Value, s.Policy, s.Outcome, &s.Last, &s.Next, s.Reply, s.Ply, s.Plies)
	}
	path := filepath.Join(r.dir(quarantineDir), fmt.Sprintf("batch-%d.txt", r.trainer.Drawn()))
	r.note("training step refused", "file", path, "reason", reason)
	return r.toDisk(ctx, func() error { return atomicfile.WriteBytes(path, []byte(b.String())) })
}

// tellLosses shows and writes the mean losses of the last steps.
func (r *Run) tellLosses(l graph.Losses) {
	r.mu.Lock()
	r.status.Losses = l
	r.mu.Unlock()
	r.forgo("metrics of training", r.metrics.Train(metrics.Train{
		Time: time.Now().UTC(), Step: r.trainer.Steps(), Games: r.window.TotalGames(), Positions: r.window.Total(),
		Window: r.window.Size(), LearningRate: r.trainer.LearningRate(), Losses: lossesOf(l), Evaluations: r.counts.Evaluations.Load(),
	}))
}

// measureCandidate shows and writes what the candidate just made costs on games that are held out, if there are any.
func (r *Run) measureCandidate(ctx context.Context) {
	m, err := r.trainer.Measure(ctx, r.window)
	switch {
	case errors.Is(err, data.ErrNoPositions) || ctx.Err() != nil:
		return
	case err != nil: // its gate will tell
		r.params.Log.Warn("candidate is not measured on games held out", "error", err)
		return
	}
	r.mu.Lock()
	r.status.HeldOut, r.status.HeldOutStep = m.HeldOut, r.trainer.Steps()
	r.mu.Unlock()
	r.forgo("metrics of the candidate", r.metrics.HeldOut(metrics.HeldOut{
		Time: time.Now().UTC(), Step: r.trainer.Steps(), Games: r.window.HoldOutGames(), HeldOut: lossesOf(m.HeldOut), Trained: lossesOf(m.Trained),
	}))
}

// lossesOf is losses as metrics tell them.
func lossesOf(l graph.Losses) metrics.Losses {
	return metrics.Losses{
		Loss: l.Total, Policy: l.Policy, Value: l.Value, Rings: l.Rings, Reply: l.Reply, Ownership: l.Ownership, Plies: l.Plies,
	}
}
