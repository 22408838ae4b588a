package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"yinshzero/arena"
	"yinshzero/data"
	"yinshzero/fleet"
	"yinshzero/registry"
)

// judge gives every candidate its verdict and measures every new best model, by problems and by matches, until ctx is done.
// What a kill interrupted goes on where its lines end.
func (r *Run) judge(ctx context.Context) error {
	results, err := r.hub.Results(ctx)
	if err != nil {
		return err
	}
	defer results.Close()
	for {
		if err := r.supersede(ctx); err != nil {
			return err
		}
		if c, ok := r.candidate(); ok {
			if err := r.gate(ctx, results, c); err != nil {
				return err
			}
			continue
		}
		if solved, err := r.solveProblems(ctx); err != nil {
			return err
		} else if solved {
			continue
		}
		measured, err := r.measure(ctx, results)
		if err != nil {
			return err
		}
		if measured {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-r.candidates:
		}
	}
}

// supersede rejects candidates that a newer one has overtaken.
func (r *Run) supersede(ctx context.Context) error {
	newest, ok := r.candidate()
	if !ok {
		return nil
	}
	for _, e := range r.registry.All() {
		if e.Standing == registry.Candidate && e.ID != newest.ID {
			v := registry.Verdict{At: time.Now(), Reason: "a newer candidate came before its gate: " + newest.ID.Short()}
			if err := r.toDisk(ctx, func() error { return r.registry.Reject(e.ID, v) }); err != nil {
				return err
			}
			r.rate()
		}
	}
	return nil
}

// modelPlayer is the name of a model in matches and ratings. Its simulations are part of it: with others it would be another
// player.
func (r *Run) modelPlayer(id registry.ID) string {
	return arena.Spec{Kind: arena.SpecModel, Model: id.Short(), Simulations: r.params.GateSimulations}.String()
}

// matchName is the name of a match of a model against an opponent, of its file and of its jobs.
func (r *Run) matchName(kind fleet.JobKind, id registry.ID, opponent string) string {
	return fmt.Sprintf("%s-%s-%s-%d", kind, id.Short(), opponent, r.params.GateSimulations)
}

// gate plays a candidate against the best model until the test decides, and promotes or rejects it.
func (r *Run) gate(ctx context.Context, results *fleet.Results, c registry.Entry) error {
	best, _ := r.registry.Best()
	show := func(s arena.Score) {
		e := s.Elo()
		lower, upper := r.params.Gate.Bounds()
		r.showGate(&GateStatus{
			Candidate: c.ID.String(), Step: c.Meta.Step, Score: s, Elo: e.Elo, EloLow: e.Low, EloHigh: e.High,
			LLR: r.params.Gate.LLR(s), Lower: lower, Upper: upper, MaxPairs: r.params.Gate.MaxPairs,
		})
	}
	defer r.showGate(nil)
	m, err := r.openMatch(ctx, r.matchName(fleet.GateJob, c.ID, best.ID.Short()), match{
		kind: fleet.GateJob, a: c.ID.String(), b: best.ID.String(), nameA: r.modelPlayer(c.ID), nameB: r.modelPlayer(best.ID),
		pairs: r.params.Gate.MaxPairs,
		stop: func(s arena.Score) bool {
			show(s)
			return r.params.Gate.Judge(s) != arena.Continue
		},
	})
	if err != nil {
		return err
	}
	show(m.tally.Score)
	defer m.close()
	for _, id := range []registry.ID{best.ID, c.ID} {
		if err := r.persist(ctx, "publishing a model", func() error { return r.publish(ctx, id) }); err != nil {
			return err
		}
	}
	if err := r.play(ctx, results, m, func() bool { return false }); err != nil || ctx.Err() != nil {
		return err
	}
	return r.decide(ctx, c, m)
}

// decide promotes or rejects a candidate whose match is over.
func (r *Run) decide(ctx context.Context, c registry.Entry, m *match) error {
	s := m.tally.Score
	v := registry.Verdict{At: time.Now(), Reason: r.params.Gate.Reason(s), Score: m.tally.String()}
	if !m.decided {
		v.Reason = "its games could not be played: see the log of this run and of its workers"
	}
	if !m.decided || r.params.Gate.Judge(s) != arena.Accept {
		if err := r.toDisk(ctx, func() error { return r.registry.Reject(c.ID, v) }); err != nil {
			return err
		}
		r.note("rejected", "model", c.ID.Short(), "step", c.Meta.Step, "score", v.Score, "reason", v.Reason)
		nudge(r.grown)
		r.rate()
		r.dropRejected(ctx, c.ID)
		return nil
	}
	if err := r.toDisk(ctx, func() error { return r.registry.Promote(c.ID, v) }); err != nil {
		return err
	}
	nudge(r.grown)
	r.note("promoted", "model", c.ID.Short(), "step", c.Meta.Step, "score", v.Score, "reason", v.Reason)
	r.rate()
	return r.persist(ctx, "publishing the best model", func() error { return r.publishBest(ctx, c.ID) })
}

// dropRejected takes rejected models off the hub, but for the newest: a worker may be about to fetch it for a pair.
func (r *Run) dropRejected(ctx context.Context, newest registry.ID) {
	r.tolerate("dropping a model", r.hub.DropModel(ctx, data.ModelID(r.rejected)))
	r.rejected = newest
}

// An opponent is whom a new best model is measured against: a fixed player or a model of the run.
type opponent struct {
	job   string      // as workers know it
	name  string      // as people know it
	file  string      // its part of file names
	model registry.ID // zero for a fixed player
}

// opponents are the anchors of a best model: the fixed ones, then the run's first model and every so many promoted after it,
// except the best itself.
func (r *Run) opponents(best registry.ID) (all []opponent) {
	for _, a := range r.params.Anchors {
		all = append(all, opponent{job: a.String(), name: a.String(), file: fileName(a)})
	}
	promoted := 0
	for _, e := range r.registry.All() {
		if r.params.AnchorEvery == 0 || e.Standing != registry.Best && e.Standing != registry.Former {
			continue
		}
		if promoted%r.params.AnchorEvery == 0 && e.ID != best {
			all = append(all, opponent{job: e.ID.String(), name: r.modelPlayer(e.ID), file: e.ID.Short(), model: e.ID})
		}
		promoted++
	}
	return all
}

// measure plays the best model against the first anchor that it has not met in full, and reports whether there was one.
// It stops when a candidate comes.
func (r *Run) measure(ctx context.Context, results *fleet.Results) (bool, error) {
	best, _ := r.registry.Best()
	for _, o := range r.opponents(best.ID) {
		name := r.matchName(fleet.AnchorJob, best.ID, o.file)
		if r.givenUp(name) {
			continue
		}
		m, err := r.openMatch(ctx, name, match{
			kind: fleet.AnchorJob, a: best.ID.String(), b: o.job, nameA: r.modelPlayer(best.ID), nameB: o.name,
			pairs: r.params.AnchorPairs,
		})
		if err != nil {
			return false, err
		}
		if m.decided || m.pairs == 0 {
			m.close()
			continue
		}
		err = r.persist(ctx, "publishing a model", func() error {
			if o.model.IsZero() {
				return r.publish(ctx, best.ID)
			}
			return errors.Join(r.publish(ctx, best.ID), r.publish(ctx, o.model))
		})
		if err == nil {
			err = r.play(ctx, results, m, r.onTrial)
		}
		if err = errors.Join(err, m.close()); err != nil || ctx.Err() != nil {
			return false, err
		}
		if id := data.ModelID(o.model); id != (data.ModelID{}) && id != r.former {
			r.tolerate("dropping a model", r.hub.DropModel(ctx, id)) // the next best model brings it back
		}
		if m.decided {
			r.note("measured", "model", best.ID.Short(), "against", o.name, "score", m.tally.String())
		}
		r.rate()
		return true, nil
	}
	return false, nil
}

// maxDead is how many jobs of a match may be given up, each after many workers have failed, before the match is.
const maxDead = 3

// givenUp reports whether too many jobs of a match were given up.
func (r *Run) givenUp(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dead[name] >= maxDead
}

// ahead is how many pairs wait in the hub or are being played: enough for the workers of many machines.
const ahead = 64

// play hands out the match's pairs until it is decided, interrupted says so, too many jobs are given up, or ctx is done.
// Pairs are counted in their order, so that which games end first cannot sway a test.
func (r *Run) play(ctx context.Context, results *fleet.Results, m *match, interrupted func() bool) error {
	put := 0
	for !m.decided && !interrupted() && !r.givenUp(m.name) {
		for ; put < m.pairs && put < m.tally.Score.N()+ahead; put++ {
			if m.has(put) {
				continue
			}
			if err := r.putJob(ctx, m, put); err != nil {
				return err
			}
		}
		res, err := nextResult(ctx, results)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, context.DeadlineExceeded): // workers may have lost jobs: what is not waiting is put again
			put = m.tally.Score.N()
		case err != nil:
			return err
		default:
			if err := r.record(ctx, m, res); err != nil {
				return err
			}
		}
	}
	r.tolerate("taking jobs back", r.hub.PurgeJobs(context.WithoutCancel(ctx), m.name))
	return nil
}

func (r *Run) putJob(ctx context.Context, m *match, pair int) error {
	return r.persist(ctx, "handing out a pair", func() error { return r.hub.PutJobs(ctx, m.job(r.params, pair)) })
}

// patience is how long a match waits for a pair before it looks whether jobs are lost.
const patience = time.Minute

func nextResult(ctx context.Context, results *fleet.Results) (*fleet.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return results.Next(ctx)
}

// record keeps a pair that has come back. A pair of another match, or one that is there already, is dropped; one that is
// not sound is refused and put again.
func (r *Run) record(ctx context.Context, m *match, res *fleet.Result) error {
	if res.Job.Gate != m.name || m.has(res.Job.Pair) {
		r.tolerate("acknowledging a pair", res.Ack(context.WithoutCancel(ctx)))
		return nil
	}
	entry, err := m.entry(r.params, &res.JobResult)
	if err != nil {
		r.note("pair refused", "worker", res.JobResult.Worker, "match", m.name, "reason", err)
		r.tolerate("refusing a pair", res.Term(err.Error()))
		if res.Job.Pair < 0 || res.Job.Pair >= m.pairs {
			return nil
		}
		return r.putJob(ctx, m, res.Job.Pair)
	}
	if err := r.toDisk(ctx, func() error { return m.add(entry) }); err != nil {
		return err
	}
	r.tolerate("acknowledging a pair", res.Ack(context.WithoutCancel(ctx))) // delivered again, it is there
	return nil
}
