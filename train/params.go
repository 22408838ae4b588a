package train

import (
	"errors"
	"fmt"
	"math"

	"yinshzero/net/graph"
)

// Params say how weights are trained.
type Params struct {
	Graph  graph.Params       // batch, replicas and the weights of the losses
	Solver graph.SolverParams // the update rule

	LearningRate  float64 // at its peak, above 0
	WarmupSteps   int64   // steps over which the rate rises linearly from 0
	HalvingSteps  int64   // the rate halves in so many steps after the warm-up; 0 keeps it
	LearningFloor float64 // the rate falls no lower than this

	Average  float64 // memory of the running average of the weights per step, in [0, 1); 0 follows the weights
	ValueMix float64 // share of the search's root value in the value target, in [0, 1]; the rest is the game's outcome
}

// Validate returns every number of p that is out of range. The numbers of Graph and Solver are theirs to check.
func (p Params) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(p.LearningRate > 0 && p.LearningRate <= 1, "learning rate is %v: want above 0, at most 1", p.LearningRate)
	check(p.LearningFloor >= 0 && p.LearningFloor <= 1, "learning floor is %v: want 0 to 1", p.LearningFloor)
	check(p.WarmupSteps >= 0, "warm-up steps is %d: want at least 0", p.WarmupSteps)
	check(p.HalvingSteps >= 0, "halving steps is %d: want at least 0", p.HalvingSteps)
	check(p.Average >= 0 && p.Average < 1, "average is %v: want 0 to below 1", p.Average)
	check(p.ValueMix >= 0 && p.ValueMix <= 1, "value mix is %v: want 0 to 1", p.ValueMix)
	return errors.Join(errs...)
}

// Rate is the learning rate of a step, counted from 0.
func (p Params) Rate(step int64) float64 {
	if step < p.WarmupSteps {
		return p.LearningRate * float64(step+1) / float64(p.WarmupSteps)
	}
	rate := p.LearningRate
	if p.HalvingSteps > 0 {
		rate *= math.Exp2(-float64(step-p.WarmupSteps) / float64(p.HalvingSteps))
	}
	return max(rate, min(p.LearningFloor, p.LearningRate))
}
