package main

import (
	"fmt"
	"runtime"

	"yinshzero/arena"
	"yinshzero/data"
	"yinshzero/fleet"
	"yinshzero/infer"
	"yinshzero/internal/config"
	"yinshzero/mcts"
	"yinshzero/net"
	"yinshzero/net/graph"
	"yinshzero/pipeline"
	"yinshzero/rules"
	"yinshzero/selfplay"
	"yinshzero/train"
)

// runParams is what a configuration means to the packages. c comes from config.Load, which has checked its texts. The
// logger is left to the caller.
func runParams(c config.Config, dir string, hub fleet.HubParams) (pipeline.Params, error) {
	p := pipeline.Params{
		Dir: dir, Build: build(), Seed: c.Seed, Workers: c.SelfPlay.Workers,
		Plan: plan(c), SimulationsEnd: c.Search.SimulationsEnd, GrowthPositions: c.Search.GrowthPositions,
		Window: window(c.Window), ShardGames: c.SelfPlay.ShardGames, ShardAge: c.SelfPlay.ShardAge,
		Train: training(c), Passes: c.Training.Passes, CandidateSteps: int64(c.Training.CandidateSteps),
		Gate: gateOf(c), GateSimulations: c.Gate.Simulations, GoBack: c.Gate.Rejected == "best",
		AnchorEvery: c.Anchors.Every, AnchorPairs: c.Anchors.Pairs, Hub: hub,
	}
	if p.Workers == 0 {
		p.Workers = runtime.NumCPU()
	}
	p.Hub.MaxGames, p.Hub.AckWait = c.Fleet.MaxBytes, c.Fleet.AckWait
	var err error
	if p.Hub.Run, err = pipeline.RunName(dir); err != nil {
		return p, err
	}
	if p.Variant, err = rules.ParseVariant(c.Variant); err != nil {
		return p, err
	}
	if p.Arch, err = net.ParseArch(c.Network.Arch); err != nil {
		return p, err
	}
	for _, text := range c.Anchors.Players {
		spec, err := arena.ParseSpec(text)
		if err != nil {
			return p, err
		}
		p.Anchors = append(p.Anchors, spec)
	}
	if err := p.Validate(); err != nil {
		return p, fmt.Errorf("run parameters: %w", err)
	}
	return p, nil
}

func gateOf(c config.Config) arena.Gate {
	return arena.Gate{Elo0: c.Gate.Elo0, Elo1: c.Gate.Elo1, Alpha: c.Gate.Alpha, Beta: c.Gate.Beta, MaxPairs: c.Gate.MaxPairs}
}

// plan is how workers play at the start of the run.
func plan(c config.Config) pipeline.Plan {
	search := mcts.DefaultParams()
	search.Considered, search.CVisit, search.CScale = c.Search.Considered, c.Search.CVisit, c.Search.CScale
	search.Solver = c.Search.Solver
	return pipeline.Plan{
		Search: search,
		SelfPlay: selfplay.Params{
			Simulations: c.Search.Simulations, FastSimulations: c.Search.FastSimulations, FullShare: c.Search.FullShare,
			TemperaturePlies: c.SelfPlay.TemperaturePlies, Temperature: c.SelfPlay.Temperature,
			RandomOpenings: c.SelfPlay.RandomOpenings,
		},
		Infer: infer.Params{CacheSize: c.Search.Cache, Symmetry: c.Search.Symmetry, Int8: c.Search.Int8},
		Match: matchSearch(),
	}
}

// matchSearch is the search of matches.
func matchSearch() mcts.Params {
	p := mcts.DefaultParams()
	p.Root = mcts.PUCT
	return p
}

func window(c config.Window) data.WindowParams {
	return data.WindowParams{
		Min: c.MinPositions, Max: c.MaxPositions, Exponent: c.Exponent, Expand: c.Expand, Scale: c.Scale,
		FullWeight: 1, FastWeight: c.FastWeight, PerGame: c.PerGame, HoldOut: c.HoldOut,
	}
}

func training(c config.Config) train.Params {
	t, l := c.Training, c.Losses
	return train.Params{
		Graph: graph.Params{
			Batch: t.Batch, Replicas: t.Replicas, PolicyLoss: l.Policy, ValueLoss: l.Value, RingsLoss: l.Rings,
			ReplyLoss: l.Reply, OwnershipLoss: l.Ownership, PliesLoss: l.Plies,
		},
		Solver: graph.SolverParams{
			Kind: t.Optimiser, Momentum: t.Momentum, Beta1: t.Beta1, Beta2: t.Beta2, Eps: t.Epsilon,
			Decay: t.Decay, Clip: t.Clip,
		},
		Schedule: train.Schedule{
			Kind: t.Schedule, Peak: t.LearningRate, Floor: t.LearningFloor, WarmupSteps: int64(t.WarmupSteps),
			HalvingSteps: t.HalvingSteps, StepAt: t.StepAt, StepFactor: t.StepFactor, CosineSteps: t.CosineSteps,
		},
		Average:  train.Average{Kind: t.Average, Memory: t.EMAMemory, Every: t.SWAEvery, Snapshots: t.SWASnapshots},
		ValueMix: t.ValueMix,
	}
}
