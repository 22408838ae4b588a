package pipeline

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"time"

	"yinshzero/fleet"
	"yinshzero/internal/atomicfile"
	"yinshzero/registry"
)

// rateSpan is the time over which rates are taken.
const rateSpan = 30 * time.Second

// A tick is what was counted at a moment.
type tick struct {
	at                            time.Time
	games, positions, evals, step int64
}

// lookEvery is the time between two looks at the hub's dead letters.
const lookEvery = time.Minute

// watch turns counts into rates, once a second, and puts aside what nobody could take in. It ends the run if the hub fails.
func (r *Run) watch(ctx context.Context) error {
	clock, look := time.NewTicker(time.Second), time.NewTicker(lookEvery)
	defer clock.Stop()
	defer look.Stop()
	var ticks []tick
	for {
		now := tick{time.Now(), r.window.TotalGames(), r.window.Total(), r.counts.Evaluations.Load(), r.steps()}
		ticks = append(ticks, now)
		for len(ticks) > 2 && now.at.Sub(ticks[1].at) >= rateSpan {
			ticks = ticks[1:]
		}
		r.showRates(ticks[0], now)
		select {
		case <-ctx.Done():
			return nil
		case <-r.hub.Failed():
			return r.hub.Err()
		case <-clock.C:
		case <-look.C:
			_, err := r.hub.DeadLetters(ctx, r.bury)
			r.tolerate("looking at dead letters", err)
		}
	}
}

// bury keeps a message that was delivered too often without an answer. A job among them is put again by its match, unless
// too many were.
func (r *Run) bury(d fleet.DeadLetter) error {
	path := filepath.Join(r.dir(quarantineDir), "dead-"+registry.IDOf(d.Data).Short())
	if err := atomicfile.WriteBytes(path, d.Data); err != nil {
		return err
	}
	var job fleet.Job
	if json.Unmarshal(d.Data, &job) == nil && job.Gate != "" {
		r.mu.Lock()
		r.dead[job.Gate]++
		r.mu.Unlock()
	}
	r.note("message given up", "stream", d.Stream, "subject", d.Subject, "deliveries", d.Deliveries, "file", path)
	return nil
}

func (r *Run) showRates(from, to tick) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.status
	seconds := to.at.Sub(from.at).Seconds()
	if seconds <= 0 {
		return
	}
	s.GamesPerSecond = float64(to.games-from.games) / seconds
	s.PositionsPerSecond = float64(to.positions-from.positions) / seconds
	s.EvaluationsPerSecond = float64(to.evals-from.evals) / seconds
	s.StepsPerSecond = float64(to.step-from.step) / seconds
}

func (r *Run) steps() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status.Step
}

func (r *Run) showTrainer(next int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Step, r.status.NextCandidate, r.status.LearningRate = r.trainer.Steps(), next, r.trainer.LearningRate()
}

func (r *Run) setWaiting(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Waiting = reason
}

func (r *Run) showGate(g *GateStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Gate = g
}

// Status is how the run stands. Any goroutine may ask.
func (r *Run) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.status
	s.Games, s.Positions = r.window.TotalGames(), r.window.Total()
	s.Evaluations, s.Panics = r.counts.Evaluations.Load(), r.counts.Panics.Load()
	s.WindowSize, s.WindowMin = r.window.Size(), r.params.Window.Min
	s.Events = slices.Clone(s.Events)
	if !r.begun.IsZero() {
		s.Elapsed = time.Since(r.begun)
	}
	return s
}
