package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"yinshzero/arena"
	"yinshzero/data"
	"yinshzero/fleet"
	"yinshzero/infer"
	"yinshzero/mcts"
	"yinshzero/net"
	"yinshzero/rules"
	"yinshzero/selfplay"
	"yinshzero/train"
)

// Params say what a run is. A run directory must be opened with the same Variant and Arch every time; the rest may change.
type Params struct {
	Dir     string // the run directory; made if need be
	Build   string // of the program, for records
	Seed    uint64
	Variant rules.Variant
	Arch    net.Arch
	Workers int // games at once in this process, 0 for none

	Plan            Plan  // as at the start of the run
	SimulationsEnd  int   // of a full search, from GrowthPositions on; at least Plan.SelfPlay.Simulations
	GrowthPositions int64 // positions over which the budget grows, by equal factors for equal numbers of positions

	Window     data.WindowParams
	ShardGames int           // games in a shard
	ShardAge   time.Duration // a shard is written after so long even if it has fewer

	Train          train.Params
	Passes         float64 // over a position, at most
	CandidateSteps int64   // from one candidate to the next

	Gate            arena.Gate
	GateSimulations int          // a Move, in gates and against anchors
	GoBack          bool         // whether training waits for a candidate's verdict and, if it is rejected, goes back to the best model
	Anchors         []arena.Spec // players a new best model is measured against; none of them models
	AnchorEvery     int          // the first model and every so many promoted are anchors too; 0 for none
	AnchorPairs     int          // against each

	TensorBoard bool // whether event files are written beside the metrics

	Hub fleet.HubParams // Run names a new run; one that has begun keeps its name, RunName
	Log *slog.Logger    // never nil
}

// A Plan is what a worker must know to play for a run. It travels in the fleet's manifest, as JSON.
type Plan struct {
	Search   mcts.Params     `json:"search"`
	SelfPlay selfplay.Params `json:"selfplay"`
	Infer    infer.Params    `json:"infer"`
	Match    mcts.Params     `json:"match"` // the search in gates and against anchors
}

func (p Plan) validate() error {
	return errors.Join(p.Search.Validate(), p.SelfPlay.Validate(), p.Infer.Validate(), p.Match.Validate())
}

func planOf(m fleet.Manifest) (Plan, error) {
	var p Plan
	if err := json.Unmarshal(m.Search, &p); err != nil {
		return Plan{}, fmt.Errorf("read the run's plan: %w", err)
	}
	if err := p.validate(); err != nil {
		return Plan{}, fmt.Errorf("the run's plan: %w", err)
	}
	return p, nil
}

// Validate returns every number of p that is out of range, those of its parts included.
func (p *Params) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(p.Dir != "", "the run directory has no name")
	check(p.Workers >= 0, "workers is %d: want at least 0", p.Workers)
	check(p.SimulationsEnd >= p.Plan.SelfPlay.Simulations, "simulations at the end is %d: want at least those at the start, %d",
		p.SimulationsEnd, p.Plan.SelfPlay.Simulations)
	check(p.GrowthPositions > 0, "growth positions is %d: want at least 1", p.GrowthPositions)
	check(p.ShardGames > 0, "shard games is %d: want at least 1", p.ShardGames)
	check(p.ShardAge > 0, "shard age is %v: want more than 0", p.ShardAge)
	check(p.Passes > 0, "passes is %v: want more than 0", p.Passes)
	check(p.CandidateSteps > 0, "candidate steps is %d: want at least 1", p.CandidateSteps)
	check(p.GateSimulations > 0, "gate simulations is %d: want at least 1", p.GateSimulations)
	check(p.Gate.MaxPairs > 0, "the gate's max pairs is %d: want at least 1", p.Gate.MaxPairs)
	check(p.AnchorEvery >= 0, "anchor every is %d: want at least 0", p.AnchorEvery)
	check(p.AnchorPairs >= 0, "anchor pairs is %d: want at least 0", p.AnchorPairs)
	for _, a := range p.Anchors {
		check(a.Kind == arena.SpecRandom || a.Kind == arena.SpecGreedy || a.Kind == arena.SpecUCT,
			"anchor %v: want random, greedy or uct:SIMULATIONS", a)
	}
	return errors.Join(append(errs, p.Variant.Validate(), p.Arch.Validate(), p.Plan.validate(), p.Train.Validate(),
		p.Gate.Validate(), p.Hub.Validate())...)
}

// planAt is the plan after so many positions.
func (p *Params) planAt(positions int64) Plan {
	plan := p.Plan
	from, to := float64(plan.SelfPlay.Simulations), float64(p.SimulationsEnd)
	done := min(1, float64(positions)/float64(p.GrowthPositions))
	plan.SelfPlay.Simulations = int(math.Round(from * math.Pow(to/from, done)))
	return plan
}
