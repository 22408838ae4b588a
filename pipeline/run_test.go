package pipeline

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"yinshzero/arena"
	"yinshzero/data"
	"yinshzero/fleet"
	"yinshzero/infer"
	"yinshzero/mcts"
	"yinshzero/net"
	"yinshzero/net/graph"
	"yinshzero/registry"
	"yinshzero/rules"
	"yinshzero/selfplay"
	"yinshzero/train"
)

// tiny is a run of seconds: mini board, one block, few simulations.
func tiny(dir string, log *slog.Logger) Params {
	match := mcts.DefaultParams()
	match.Root = mcts.PUCT
	play := selfplay.DefaultParams()
	play.Simulations, play.FastSimulations, play.FullShare = 8, 4, 0.5
	window := data.DefaultWindowParams()
	window.Min, window.Scale, window.FastWeight, window.HoldOut = 500, 500, 0.5, 0
	hub := fleet.DefaultHubParams()
	hub.Run, hub.Dir, hub.Log = "test", filepath.Join(dir, hubDir), log
	return Params{
		Dir: dir, Build: "test", Seed: 1, Variant: rules.Mini(), Arch: net.Arch{Channels: 32, Blocks: 1}, Workers: 2,
		Plan: Plan{
			Search: mcts.DefaultParams(), SelfPlay: play, Infer: infer.Params{CacheSize: 1000, Symmetry: true}, Match: match,
		},
		SimulationsEnd: 8, GrowthPositions: 1,
		Window: window, ShardGames: 8, ShardAge: time.Second,
		Train: train.Params{
			Graph:    graph.Params{Batch: 32, Replicas: 1, PolicyLoss: 1, ValueLoss: 1, RingsLoss: 0.25},
			Solver:   graph.DefaultSolverParams(),
			Schedule: train.Schedule{Kind: train.Constant, Peak: 2e-3, WarmupSteps: 10},
			Average:  train.Average{Kind: train.EMA, Memory: 0.9}, ValueMix: 0.25,
		},
		Passes: 8, CandidateSteps: 40,
		Gate: arena.Gate{Elo0: 0, Elo1: 100, Alpha: 0.05, Beta: 0.05, MaxPairs: 60}, GateSimulations: 8,
		Anchors: []arena.Spec{{Kind: arena.SpecRandom}}, AnchorPairs: 2,
		Hub: hub, Log: log,
	}
}

// until runs r until an event begins with text, and fails if the run ends by itself.
func until(t *testing.T, p Params, text string) Status {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p.Log = slog.New(&listener{Handler: slog.NewTextHandler(t.Output(), nil), heard: func(msg string) {
		if msg == text {
			cancel()
		}
	}})
	p.Hub.Log = slog.New(slog.DiscardHandler)
	r, err := Open(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	s := r.Status()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

// A listener is a log handler that hears every message.
type listener struct {
	slog.Handler
	heard func(msg string)
}

func (l *listener) Enabled(context.Context, slog.Level) bool { return true }

func (l *listener) Handle(ctx context.Context, rec slog.Record) error {
	l.heard(rec.Message)
	return l.Handler.Handle(ctx, rec)
}

// TestRunPromotesAndGoesOn takes a run to its first promotion, stops it, and takes it up again to the next verdict.
func TestRunPromotesAndGoesOn(t *testing.T) {
	p := tiny(filepath.Join(t.TempDir(), "run"), nil)
	p.Log = slog.New(slog.DiscardHandler)
	first := until(t, p, "promoted")
	if first.Promotions != 1 || first.Step < p.CandidateSteps {
		t.Errorf("after the first promotion: %d promotions at step %d", first.Promotions, first.Step)
	}
	reg, err := registry.Open(filepath.Join(p.Dir, modelsDir))
	if err != nil {
		t.Fatal(err)
	}
	if best, _ := reg.Best(); best.ID.String() != first.Best.ID {
		t.Errorf("the best model was %s and is %v on disk", first.Best.ID, best.ID)
	}
	second := until(t, p, "candidate")
	if second.Promotions < 1 {
		t.Error("the promotion is forgotten after the run was taken up again")
	}
	if second.Step < first.Step || second.Positions < first.Positions {
		t.Errorf("steps %d and positions %d have become %d and %d", first.Step, first.Positions, second.Step, second.Positions)
	}
	if n, err := audit(p.Dir); err != nil || n == 0 {
		t.Errorf("%d games: %v", n, err)
	}
}

// audit replays every game in the shards of a run, and returns how many there are. A game that is there twice is an error.
func audit(dir string) (int, error) {
	hashes, err := gameHashes(dir)
	for h, n := range hashes {
		if n > 1 {
			return 0, fmt.Errorf("game %s is there %d times", h, n)
		}
	}
	return len(hashes), err
}

func gameHashes(dir string) (map[string]int, error) {
	paths, err := data.Shards(filepath.Join(dir, recordsDir))
	if err != nil {
		return nil, err
	}
	hashes := map[string]int{}
	for _, path := range paths {
		s, err := data.OpenShard(path)
		if err != nil {
			return nil, err
		}
		for rec, err := range s.Records() {
			if err == nil {
				err = rec.Validate()
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			hashes[fmt.Sprintf("%x", rec.Hash())]++
		}
		if err := s.Close(); err != nil {
			return nil, err
		}
	}
	return hashes, nil
}

// childDir names, in the environment of a child process of this test, the run directory that it runs.
const childDir = "YINSHZERO_TEST_RUN"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child takes a run up until it is interrupted. A line "game HASH" on standard output follows every game that one more
// worker has had acknowledged, and "event TEXT" every event.
func child(dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p := tiny(dir, slog.New(&listener{Handler: slog.DiscardHandler, heard: func(msg string) { fmt.Printf("event %s\n", msg) }}))
	p.Hub.Log = slog.New(slog.DiscardHandler)
	r, err := Open(ctx, p)
	if err != nil {
		return err
	}
	w, err := r.hub.Join(ctx, fleet.WorkerParams{Name: "extra"})
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- deliver(ctx, w) }()
	if err := r.Run(ctx); err != nil {
		return err
	}
	if err := <-done; err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return r.Close()
}

// deliver plays without a model and tells of every game that is acknowledged.
func deliver(ctx context.Context, w *fleet.Worker) error {
	p := selfplay.DefaultParams()
	p.Simulations, p.FastSimulations = 2, 2
	player, err := selfplay.New(mcts.New(mcts.Uniform{}, mcts.DefaultParams()), p)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		rec, err := player.Game(ctx, rules.Mini(), rand.Uint64())
		if err != nil {
			break
		}
		rec.Worker = w.Name()
		if err := w.Put(ctx, rec); err != nil {
			break
		}
		fmt.Printf("game %x\n", rec.Hash())
	}
	return nil
}

// TestKilled kills a run ten times, each time after another number of acknowledged games, then lets it go on to a
// promotion and interrupts it. Every acknowledged game must be in exactly one shard.
func TestKilled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows has no interrupt for child processes")
	}
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	dir := filepath.Join(t.TempDir(), "run")
	acknowledged := map[string]bool{}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 10 {
		lines := 1 + rng.IntN(60)
		runChild(t, dir, acknowledged, os.Kill, func(string) bool {
			lines--
			return lines == 0
		})
	}
	runChild(t, dir, acknowledged, os.Interrupt, func(line string) bool { return line == "event promoted" })
	drain(t, tiny(dir, slog.New(slog.DiscardHandler)))
	hashes, err := gameHashes(dir)
	if err != nil {
		t.Fatal(err)
	}
	for h := range acknowledged {
		if hashes[h] != 1 {
			t.Errorf("acknowledged game %s is in the shards %d times", h, hashes[h])
		}
	}
	for h, n := range hashes {
		if n > 1 {
			t.Errorf("game %s is in the shards %d times", h, n)
		}
	}
	t.Logf("%d acknowledged games, %d games in the shards", len(acknowledged), len(hashes))
	reg, err := registry.Open(filepath.Join(dir, modelsDir))
	if err != nil {
		t.Fatal(err)
	}
	if best, ok := reg.Best(); !ok || best.Meta.Step == 0 {
		t.Errorf("best model %+v: want a promoted one", best)
	}
}

// drain lets a run without workers take in what the hub holds.
func drain(t *testing.T, p Params) {
	t.Helper()
	p.Workers, p.Anchors = 0, nil
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, err := Open(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- r.ingest(ctx) }()
	for {
		s, err := r.hub.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if s.Games == 0 {
			break
		}
		runtime.Gosched()
	}
	cancel()
	err = <-done
	if errors.Is(err, context.Canceled) { // it had not begun
		err = nil
	}
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
}

// runChild starts a child, notes its acknowledged games, and sends it a signal when enough says so of a line.
func runChild(t *testing.T, dir string, acknowledged map[string]bool, s os.Signal, enough func(line string) bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sent := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if hash, ok := strings.CutPrefix(lines.Text(), "game "); ok && len(hash) == 64 {
			acknowledged[hash] = true
		}
		if !sent && enough(lines.Text()) {
			sent = true
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = cmd.Wait()
	if !sent || (s == os.Interrupt) != (err == nil) {
		t.Fatalf("the child ended with %v before or after the signal (sent: %v):\n%s", err, sent, stderr.String())
	}
}
