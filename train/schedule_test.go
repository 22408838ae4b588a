package train

import (
	"math"
	"strings"
	"testing"
)

// TestRate: the warm-up is linear and the same for all kinds; every kind then has the values of its formula.
func TestRate(t *testing.T) {
	halving := Schedule{Kind: Halving, Peak: 1, WarmupSteps: 10, HalvingSteps: 100, Floor: 0.3}
	cosine := Schedule{Kind: Cosine, Peak: 1, WarmupSteps: 10, CosineSteps: 600, Floor: 0.2}
	step := Schedule{Kind: Stepwise, Peak: 1, WarmupSteps: 10, StepAt: []int64{50, 60, 90}, StepFactor: 0.5, Floor: 0.2}
	constant := Schedule{Kind: Constant, Peak: 1, WarmupSteps: 10, Floor: 5}
	cold := Schedule{Kind: Stepwise, Peak: 0.5, StepAt: []int64{1}, StepFactor: 0.1}
	for _, c := range []struct {
		name string
		s    Schedule
		want map[int64]float64 // by step
	}{
		{"halving", halving, map[int64]float64{
			10: 1, 60: math.Sqrt2 / 2, 110: 0.5, 183: math.Exp2(-1.73), 184: 0.3, 210: 0.3, 100000: 0.3,
		}},
		// η_min + (η_max − η_min)(1 + cos(π·T_cur/T_i))/2 where the cosine is 1, √3/2, √2/2, 1/2, 0, −1/2, −√3/2 and −1.
		{"cosine", cosine, map[int64]float64{
			10: 1, 110: 0.2 + 0.4*(1+math.Sqrt(3)/2), 160: 0.2 + 0.4*(1+math.Sqrt2/2), 210: 0.8, 310: 0.6, 410: 0.4,
			510: 0.2 + 0.4*(1-math.Sqrt(3)/2), 610: 0.2, 611: 0.2, 1210: 0.2, math.MaxInt64: 0.2,
		}},
		{"step", step, map[int64]float64{10: 1, 59: 1, 60: 0.5, 69: 0.5, 70: 0.25, 99: 0.25, 100: 0.2, 100000: 0.2}},
		{"constant", constant, map[int64]float64{10: 1, 11: 1, math.MaxInt64: 1}},
		{"no warm-up", cold, map[int64]float64{0: 0.5, 1: 0.05, 2: 0.05}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.s.Validate(); err != nil {
				t.Fatal(err)
			}
			for i := range c.s.WarmupSteps {
				c.want[i] = float64(i+1) / 10
			}
			for step, want := range c.want {
				if got := c.s.Rate(step); math.Abs(got-want) > 1e-12 {
					t.Errorf("rate at step %d is %v, want %v", step, got, want)
				}
			}
			for step := c.s.WarmupSteps; step < 2000; step++ {
				if now, next := c.s.Rate(step), c.s.Rate(step+1); next > now || next < min(c.s.Floor, c.s.Peak) {
					t.Fatalf("the rate goes from %v to %v at step %d, floor %v", now, next, step, c.s.Floor)
				}
			}
		})
	}
}

func TestScheduleValidate(t *testing.T) {
	for _, c := range []struct {
		s    Schedule
		want string // of the error; empty: none
	}{
		{Schedule{Kind: Constant, Peak: 1}, ""},
		{Schedule{Kind: "linear", Peak: 1}, `schedule is "linear"`},
		{Schedule{Peak: 1}, `schedule is ""`},
		{Schedule{Kind: Constant}, "learning rate is 0"},
		{Schedule{Kind: Constant, Peak: math.NaN()}, "learning rate is NaN"},
		{Schedule{Kind: Constant, Peak: 1, WarmupSteps: -1}, "warm-up steps is -1"},
		{Schedule{Kind: Halving, Peak: 1}, "halving steps is 0"},
		{Schedule{Kind: Halving, Peak: 0.1, HalvingSteps: 1, Floor: 0.2}, "learning floor is 0.2"},
		{Schedule{Kind: Cosine, Peak: 0.1, CosineSteps: 1, Floor: -1}, "learning floor is -1"},
		{Schedule{Kind: Cosine, Peak: 1}, "cosine steps is 0"},
		{Schedule{Kind: Stepwise, Peak: 1, StepFactor: 0.5}, "steps of the schedule are []"},
		{Schedule{Kind: Stepwise, Peak: 1, StepFactor: 0.5, StepAt: []int64{0}}, "steps of the schedule are [0]"},
		{Schedule{Kind: Stepwise, Peak: 1, StepFactor: 0.5, StepAt: []int64{4, 4}}, "steps of the schedule are [4 4]"},
		{Schedule{Kind: Stepwise, Peak: 1, StepFactor: 1, StepAt: []int64{4}}, "step factor is 1"},
		{Schedule{Kind: Stepwise, Peak: 1, StepFactor: math.NaN(), StepAt: []int64{4}}, "step factor is NaN"},
	} {
		err := c.s.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%+v: got %v, want %q alone", c.s, err, c.want)
		}
	}
}
