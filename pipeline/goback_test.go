package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"yinshzero/registry"
)

// taught is a run with games to learn from that goes back to the best model after a rejection, and a copy of it.
func taught(t *testing.T) (p, again Params) {
	t.Helper()
	p = quiet(t)
	p.GoBack, p.Anchors, p.Passes, p.CandidateSteps = true, nil, 1e6, 12
	shardOf(t, p, 60)
	again = p
	again.Dir = filepath.Join(t.TempDir(), "again")
	again.Hub.Dir = filepath.Join(again.Dir, hubDir)
	if err := os.CopyFS(again.Dir, os.DirFS(p.Dir)); err != nil {
		t.Fatal(err)
	}
	return p, again
}

// TestGoesBack: after a rejection training goes on from the best model's weights, with a cold optimiser, the schedule and the
// batches where they were; while a candidate is on trial it waits. Breaks change nothing: before the verdict, after it, when it
// has just gone back, and some steps later the next candidate has the same bytes.
func TestGoesBack(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	once, breaks := taught(t)
	rejected := registry.Verdict{At: time.Now(), Reason: "test"}

	var r *Run
	candidates, back := 0, 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	logTo(&once, func(msg string) {
		switch msg {
		case "candidate":
			if candidates++; candidates == 2 {
				cancel()
				return
			}
			c, _ := r.candidate()
			if err := r.registry.Reject(c.ID, rejected); err != nil {
				t.Error(err)
			}
		case "training goes back":
			back++
		}
	})
	r = open(t, once)
	if err := r.learn(ctx); err != nil {
		t.Fatal(err)
	}
	all := r.registry.All()
	if back != 1 || len(all) != 3 || all[2].Meta.Step != 2*once.CandidateSteps {
		t.Fatalf("training went back %d times, models %+v: want once, and candidates at steps %d and %d", back, all, once.CandidateSteps, 2*once.CandidateSteps)
	}
	want, err := r.trainBest() // the first model is still the best
	if err != nil {
		t.Fatal(err)
	}
	want.Begin(once.CandidateSteps, once.CandidateSteps)
	for range once.CandidateSteps {
		if _, err := want.Step(t.Context(), r.window); err != nil {
			t.Fatal(err)
		}
	}
	b, err := want.Candidate().Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if id := registry.IDOf(b); id != all[2].ID {
		t.Errorf("the second candidate is %s, from the first model it would be %s", all[2].ID.Short(), id.Short())
	}
	total := r.window.Total()
	closeRun(t, r)

	learnUntil(t, breaks, "candidate")
	learnUntil(t, breaks, "") // it waits
	breaks.Log = slog.New(slog.DiscardHandler)
	r = open(t, breaks)
	c, ok := r.candidate()
	if !ok || r.trainer.Steps() != breaks.CandidateSteps || c.ID != all[1].ID {
		t.Errorf("at step %d with the candidate %s: want the first one, %s, at step %d", r.trainer.Steps(), c.ID.Short(), all[1].ID.Short(), breaks.CandidateSteps)
	}
	if reason := r.waits(); reason != "the verdict on "+c.ID.Short() {
		t.Errorf("training waits for %q", reason)
	}
	err = r.registry.Reject(c.ID, rejected)
	closeRun(t, r)
	if err != nil {
		t.Fatal(err)
	}
	learnUntil(t, breaks, "training goes back")
	half := breaks
	half.Passes = (1.5*float64(once.CandidateSteps) + 0.5) * float64(once.Train.Graph.Batch) / float64(total)
	learnUntil(t, half, "")
	learnUntil(t, breaks, "candidate")
	reg, err := registry.Open(filepath.Join(breaks.Dir, modelsDir))
	if err != nil {
		t.Fatal(err)
	}
	if got := reg.All(); len(got) != 3 || got[2].ID != all[2].ID || got[2].Meta.Step != all[2].Meta.Step {
		t.Errorf("with breaks the models are %+v, without %+v", got, all)
	}
	if err := rejectedIsKept(reg, all[1].ID); err != nil {
		t.Error(err)
	}
}

// rejectedIsKept returns an error unless a rejected model's bytes and verdict are there.
func rejectedIsKept(reg *registry.Registry, id registry.ID) error {
	e, _ := reg.Entry(id)
	if e.Standing != registry.Rejected || e.Verdict.Reason == "" {
		return errors.New("a rejected candidate has lost its verdict")
	}
	_, err := reg.Bytes(id)
	return err
}
