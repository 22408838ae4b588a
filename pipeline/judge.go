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

// judge gives every candidate its verdict and measures every new best model, until ctx is done. What a kill interrupted
// goes on where its lines end.
func (r *Run) judge(ctx context.Context) error {
	results, err := r.hub.Results(ctx)
	if err != nil {
		return err
	}
	defer results.Close()
	if err := r.rate(); err != nil {
		return err
	}
	for {
		if err := r.supersede(); err != nil {
			return err
		}
		if c, ok := r.candidate(); ok {
			if err := r.gate(ctx, results, c); err != nil {
				return err
			}
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
func (r *Run) supersede() error {
	newest, ok := r.candidate()
	if !ok {
		return nil
	}
	for _, e := range r.registry.All() {
		if e.Standing == registry.Candidate && e.ID != newest.ID {
			v := registry.Verdict{At: time.Now(), Reason: "a newer candidate came before its gate: " + newest.ID.Short()}
			if err := r.registry.Reject(e.ID, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// modelPlayer is the name of a model in jobs; matches use the short one.
func modelPlayer(id registry.ID) string { return "model:" + id.Short() }

// gate plays a candidate against the best model until the test decides, and promotes or rejects it.
func (r *Run) gate(ctx context.Context, results *fleet.Results, c registry.Entry) error {
	best, _ := r.registry.Best()
	m, err := r.openMatch("gate-"+c.ID.Short()+"-"+best.ID.Short(), match{
		kind: fleet.GateJob, a: c.ID.String(), b: best.ID.String(), nameA: modelPlayer(c.ID), nameB: modelPlayer(best.ID),
		pairs: r.params.Gate.MaxPairs,
	})
	if err != nil {
		return err
	}
	defer m.close()
	for _, id := range []registry.ID{best.ID, c.ID} {
		if err := r.publish(ctx, id); err != nil {
			return err
		}
	}
	defer r.showGate(nil)
	stop := func(s arena.Score) bool {
		e := s.Elo()
		lower, upper := r.params.Gate.Bounds()
		r.showGate(&GateStatus{
			Candidate: c.ID.String(), Step: c.Meta.Step, Score: s, Elo: e.Elo, EloLow: e.Low, EloHigh: e.High,
			LLR: r.params.Gate.LLR(s), Lower: lower, Upper: upper, MaxPairs: r.params.Gate.MaxPairs,
		})
		return r.params.Gate.Judge(s) != arena.Continue
	}
	if err := r.play(ctx, results, m, stop); err != nil || ctx.Err() != nil {
		return err
	}
	return r.decide(context.WithoutCancel(ctx), c, m.score)
}

// decide promotes or rejects a candidate whose test is decided.
func (r *Run) decide(ctx context.Context, c registry.Entry, s arena.Score) error {
	v := registry.Verdict{
		At: time.Now(), Reason: r.params.Gate.Reason(s),
		Score: fmt.Sprintf("+%d =%d -%d in %d pairs, %+.0f Elo", s.Wins, s.Draws, s.Losses, s.N(), s.Elo().Elo),
	}
	if r.params.Gate.Judge(s) != arena.Accept {
		if err := r.registry.Reject(c.ID, v); err != nil {
			return err
		}
		r.note("rejected", "model", c.ID.Short(), "step", c.Meta.Step, "score", v.Score, "reason", v.Reason)
		return r.hub.DropModel(ctx, data.ModelID(c.ID))
	}
	if err := r.registry.Promote(c.ID, v); err != nil {
		return err
	}
	if err := r.publishBest(ctx, c.ID); err != nil {
		return err
	}
	r.note("promoted", "model", c.ID.Short(), "step", c.Meta.Step, "score", v.Score, "reason", v.Reason)
	return r.rate()
}

// measure plays the best model against the first anchor that it has not met in full, and reports whether there was one.
// It stops when a candidate comes.
func (r *Run) measure(ctx context.Context, results *fleet.Results) (bool, error) {
	best, _ := r.registry.Best()
	for _, anchor := range r.params.Anchors {
		m, err := r.openMatch("anchor-"+best.ID.Short()+"-"+fileName(anchor), match{
			kind: fleet.AnchorJob, a: best.ID.String(), b: anchor.String(), nameA: modelPlayer(best.ID), nameB: anchor.String(),
			pairs: r.params.AnchorPairs,
		})
		if err != nil {
			return false, err
		}
		if m.score.N() >= m.pairs {
			m.close()
			continue
		}
		err = r.publish(ctx, best.ID)
		if err == nil {
			err = r.play(ctx, results, m, func(arena.Score) bool { return r.onTrial() })
		}
		if err = errors.Join(err, m.close()); err != nil || ctx.Err() != nil {
			return false, err
		}
		return true, r.rate()
	}
	return false, nil
}

// play hands out the match's pairs until all are played, stop says so of the score, or ctx is done. Pairs are counted in
// their order, so that which games end first cannot sway a test.
func (r *Run) play(ctx context.Context, results *fleet.Results, m *match, stop func(arena.Score) bool) error {
	ahead := 2*max(1, r.params.Workers) + 2
	put := 0
	for !stop(m.score) && m.score.N() < m.pairs {
		for ; put < m.pairs && put < m.score.N()+ahead; put++ {
			if m.has(put) {
				continue
			}
			if err := r.hub.PutJobs(ctx, m.job(r.params, put)); err != nil {
				return err
			}
		}
		res, err := nextResult(ctx, results)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, context.DeadlineExceeded): // workers may have lost jobs: what is not waiting is put again
			put = m.score.N()
		case err != nil:
			return err
		default:
			if err := r.record(ctx, m, res); err != nil {
				return err
			}
		}
	}
	return r.hub.PurgeJobs(context.WithoutCancel(ctx), m.name)
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
		return res.Ack(ctx)
	}
	entry, err := m.entry(r.params, &res.JobResult)
	if err != nil {
		r.note("pair refused", "worker", res.JobResult.Worker, "match", m.name, "reason", err)
		if err := res.Term(err.Error()); err != nil || res.Job.Pair < 0 || res.Job.Pair >= m.pairs {
			return err
		}
		return r.hub.PutJobs(ctx, m.job(r.params, res.Job.Pair))
	}
	if err := m.add(entry); err != nil {
		return err
	}
	return res.Ack(ctx)
}
