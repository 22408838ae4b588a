package pipeline

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"yinshzero/data"
	"yinshzero/fleet"
	"yinshzero/internal/seed"
	"yinshzero/mcts"
	"yinshzero/net"
	"yinshzero/registry"
	"yinshzero/selfplay"
)

// learnUntil opens a run and lets it learn until it says message, or waits for games if that is empty.
func learnUntil(t *testing.T, p Params, message string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	logTo(&p, func(msg string) {
		if msg == message {
			cancel()
		}
	})
	r := open(t, p)
	done := make(chan error, 1)
	go func() { done <- r.learn(ctx) }()
	for message == "" && r.Status().Waiting == "" {
		runtime.Gosched()
	}
	if message == "" {
		cancel()
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	closeRun(t, r)
}

// judgeUntil opens a run and lets it judge, with one worker that plays pairs only, until stop says so of a message or so many
// pairs are played. It returns the models that the hub then has.
func judgeUntil(t *testing.T, p Params, pairs int, stop func(msg string) bool) []data.ModelID {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	logTo(&p, func(msg string) {
		if stop(msg) {
			cancel()
		}
	})
	r := open(t, p)
	done := make(chan error, 1)
	go func() { done <- r.judge(ctx) }()
	w, err := r.hub.Join(t.Context(), fleet.WorkerParams{Name: "w"})
	if err != nil {
		t.Fatal(err)
	}
	s := &seat{crew: &crew{worker: w, counts: &Counts{}, log: p.Log, tell: p.Log.Info}}
	for s.counts.Pairs.Load() < int64(pairs) && ctx.Err() == nil {
		lease, ok, err := w.NextJob(ctx)
		if err == nil && ok {
			err = s.pair(ctx, lease)
		}
		if err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
		runtime.Gosched()
	}
	cancel()
	err = <-done
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	models, asked := r.hub.Models(t.Context())
	if err := errors.Join(err, asked, w.Close()); err != nil {
		t.Fatal(err)
	}
	closeRun(t, r)
	return models
}

// shardOf begins a run, unless it has begun, gives it a shard of games and returns the window over them.
func shardOf(t *testing.T, p Params, games int) *data.Window {
	t.Helper()
	closeRun(t, open(t, p))
	player, err := selfplay.New(mcts.New(mcts.Uniform{}, mcts.DefaultParams()), p.Plan.SelfPlay)
	if err != nil {
		t.Fatal(err)
	}
	var recs []*data.Record
	for i := range uint64(games) {
		rec, err := player.Game(t.Context(), p.Variant, i)
		if err != nil {
			t.Fatal(err)
		}
		recs = append(recs, rec)
	}
	path, err := data.NextShard(filepath.Join(p.Dir, recordsDir), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := data.WriteShard(path, recs); err != nil {
		t.Fatal(err)
	}
	w, err := data.OpenWindow(filepath.Dir(path), p.Window)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// copyOf is a run in a copy of p's directory.
func copyOf(t *testing.T, p Params) Params {
	t.Helper()
	from := p.Dir
	p.Dir = filepath.Join(t.TempDir(), "twice")
	p.Hub.Dir = filepath.Join(p.Dir, hubDir)
	if err := os.CopyFS(p.Dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestResumeIsExact trains one run without a break and another with one, and then gates both, the second with two breaks: the
// candidates have the same bytes, and the gates the same games, score and verdict.
func TestResumeIsExact(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	once := quiet(t)
	once.Anchors, once.Passes, once.CandidateSteps = nil, 1e6, 24
	once.Gate.Elo1 = 30 // decides late
	once.Gate.MaxPairs = 12
	w := shardOf(t, once, 60)
	twice := copyOf(t, once)

	learnUntil(t, once, "candidate")
	half := twice
	half.Passes = (float64(once.CandidateSteps)/2 + 0.5) * float64(once.Train.Graph.Batch) / float64(w.Total())
	learnUntil(t, half, "")
	learnUntil(t, twice, "candidate")
	judgeUntil(t, once, 1000, verdict)
	judgeUntil(t, twice, 3, verdict)
	judgeUntil(t, twice, 2, verdict)
	judgeUntil(t, twice, 1000, verdict)

	var ends [2]registry.Entry
	var lines [2][]byte
	for i, dir := range []string{once.Dir, twice.Dir} {
		reg, err := registry.Open(filepath.Join(dir, modelsDir))
		if err != nil {
			t.Fatal(err)
		}
		all := reg.All()
		if len(all) != 2 || all[1].Standing == registry.Candidate {
			t.Fatalf("models %+v: want the first and one with its verdict", all)
		}
		ends[i] = all[1]
		files, err := filepath.Glob(filepath.Join(dir, matchesDir, "gate-*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%v, %v: want one gate", files, err)
		}
		if lines[i], err = os.ReadFile(files[0]); err != nil {
			t.Fatal(err)
		}
	}
	a, b := ends[0], ends[1]
	if a.ID != b.ID || a.Meta.Step != b.Meta.Step || a.Standing != b.Standing || a.Verdict.Score != b.Verdict.Score || a.Verdict.Reason != b.Verdict.Reason {
		t.Errorf("without a break %+v, with breaks %+v", a, b)
	}
	if n := bytes.Count(lines[0], []byte("\n")); !bytes.Equal(lines[0], lines[1]) || n < 6 {
		t.Errorf("without a break the gate is %d lines, with breaks other ones:\n%s\n%s", n, lines[0], lines[1])
	}
}

// TestClockSetBack gives every file of a run, and what its registry says of time, a date far ahead, the oldest the latest one,
// as if the clock had been set back before the run is taken up. Nothing goes by it: the newest checkpoint, shard and candidate
// are those with the highest number. (Within a process time only ever passes by the monotonic clock: every duration is
// between two readings that have it.)
func TestClockSetBack(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	p := fresh(t)
	first, _, err := try(t, p, nil, verdict)
	if err != nil {
		t.Fatal(err)
	}
	p.Log = slog.New(slog.DiscardHandler)
	r := open(t, p)
	best, _ := r.registry.Best()
	ahead := time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
	b, err := net.Init(p.Arch, seed.New(99).Rand()).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	late, err := r.registry.Add(b, registry.Meta{Parent: best.ID, Arch: p.Arch.String(), Step: r.trainer.Steps(), Created: ahead})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.registry.Reject(late, registry.Verdict{At: ahead, Reason: "of the future"}); err != nil {
		t.Fatal(err)
	}
	step := r.trainer.Steps()
	closeRun(t, r)
	n := 0
	err = filepath.WalkDir(p.Dir, func(path string, _ fs.DirEntry, err error) error {
		n++ // files come by name: what was written later gets the earlier date
		at := ahead.Add(-time.Duration(n) * time.Hour)
		return errors.Join(err, os.Chtimes(path, at, at))
	})
	if err != nil {
		t.Fatal(err)
	}
	second, m, err := try(t, p, func(r *Run) {
		if got, _ := r.registry.Best(); r.trainer.Steps() != step || got.ID != best.ID {
			t.Errorf("step %d and best %s, want %d and %s", r.trainer.Steps(), got.ID.Short(), step, best.ID.Short())
		}
	}, verdict)
	if err != nil || second.Step <= first.Step || second.Positions <= first.Positions || second.Promotions+second.Rejections < first.Promotions+first.Rejections+2 {
		t.Errorf("the run ended with %v; it was at %+v and is at %+v", err, first, second)
	}
	if second.Elapsed < 0 || second.GamesPerSecond < 0 {
		t.Errorf("time went backwards: %+v\n%s", second, m)
	}
	sound(t, p)
}
