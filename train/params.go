package train

import (
	"errors"
	"fmt"

	"yinshzero/net/graph"
)

// Params say how weights are trained.
type Params struct {
	Graph  graph.Params       // batch, replicas and the weights of the losses
	Solver graph.SolverParams // the update rule

	Schedule Schedule // the learning rate
	Average  Average  // what a candidate is made of
	ValueMix float64  // share of the search's root value in the value target, in [0, 1]; the rest is the game's outcome
}

// Validate returns every number of p that is out of range. The numbers of Graph and Solver are theirs to check.
func (p Params) Validate() error {
	errs := []error{p.Schedule.Validate(), p.Average.Validate()}
	if !(p.ValueMix >= 0 && p.ValueMix <= 1) {
		errs = append(errs, fmt.Errorf("value mix is %v: want 0 to 1", p.ValueMix))
	}
	return errors.Join(errs...)
}
