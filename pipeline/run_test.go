package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
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
