package train

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// The kinds of Schedule.
const (
	Constant = "constant" // the peak
	Halving  = "halving"  // the peak · 2^(−t/HalvingSteps)
	Stepwise = "step"     // the peak · StepFactor^(how many of StepAt are at most t)
	Cosine   = "cosine"   // Loshchilov and Hutter, "SGDR", 2017, equation 5, without restarts
)

// A Schedule is the learning rate of every step: it rises linearly over the warm-up, and then depends on the number t
// of steps since.
type Schedule struct {
	Kind         string  // Constant, Halving, Stepwise or Cosine; the fields of the other kinds are ignored
	Peak         float64 // at the end of the warm-up, in (0, 1]
	Floor        float64 // the rate falls no lower, in [0, Peak]; ignored if Constant
	WarmupSteps  int64   // of the rise from 0; at least 0
	HalvingSteps int64   // Halving: t over which the rate halves, at least 1
	StepAt       []int64 // Stepwise: every t at which the rate falls, at least 1, ascending; some
	StepFactor   float64 // Stepwise: what is left of it each time, in (0, 1)
	CosineSteps  int64   // Cosine: t at which the Floor is reached, where the rate then stays; at least 1
}

// Validate returns an error that joins all faults.
func (s Schedule) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(s.Peak > 0 && s.Peak <= 1, "learning rate is %v: want above 0, at most 1", s.Peak)
	check(s.Kind == Constant || s.Floor >= 0 && s.Floor <= s.Peak, "learning floor is %v: want 0 to the learning rate, %v", s.Floor, s.Peak)
	check(s.WarmupSteps >= 0, "warm-up steps is %d: want at least 0", s.WarmupSteps)
	switch s.Kind {
	case Constant:
	case Halving:
		check(s.HalvingSteps > 0, "halving steps is %d: want at least 1", s.HalvingSteps)
	case Stepwise:
		ascending := len(s.StepAt) > 0 && s.StepAt[0] > 0
		for i := 1; i < len(s.StepAt); i++ {
			ascending = ascending && s.StepAt[i-1] < s.StepAt[i]
		}
		check(ascending, "steps of the schedule are %v: want one or more above 0, ascending", s.StepAt)
		check(s.StepFactor > 0 && s.StepFactor < 1, "step factor is %v: want above 0, below 1", s.StepFactor)
	case Cosine:
		check(s.CosineSteps > 0, "cosine steps is %d: want at least 1", s.CosineSteps)
	default:
		check(false, "schedule is %q: want %s, %s, %s or %s", s.Kind, Constant, Halving, Stepwise, Cosine)
	}
	return errors.Join(errs...)
}

// Rate is the learning rate of a step, counted from 0, of a Schedule that is valid.
func (s Schedule) Rate(step int64) float64 {
	if step < s.WarmupSteps {
		return s.Peak * float64(step+1) / float64(s.WarmupSteps)
	}
	t := step - s.WarmupSteps
	switch s.Kind {
	case Halving:
		return max(s.Floor, s.Peak*math.Exp2(-float64(t)/float64(s.HalvingSteps)))
	case Stepwise:
		falls, found := slices.BinarySearch(s.StepAt, t)
		if found {
			falls++
		}
		return max(s.Floor, s.Peak*math.Pow(s.StepFactor, float64(falls)))
	case Cosine:
		part := float64(min(t, s.CosineSteps)) / float64(s.CosineSteps)
		return s.Floor + (s.Peak-s.Floor)*(1+math.Cos(math.Pi*part))/2
	}
	return s.Peak
}
