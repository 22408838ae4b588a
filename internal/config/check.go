package config

import (
	"fmt"

	"yinshzero/arena"
	"yinshzero/net"
	"yinshzero/rules"
)

// check calls fault for every value that is in its range but does not fit the others.
func (c *Config) check(fault func(key, format string, args ...any)) {
	if _, err := rules.ParseVariant(short(c.Variant)); err != nil {
		fault("variant", "%v", err)
	}
	if _, err := net.ParseArch(short(c.Network.Arch)); err != nil {
		fault("network.arch", "%v", err)
	}
	if c.Search.SimulationsEnd < c.Search.Simulations {
		fault("search.simulations_end", "is %d: want at least search.simulations, %d", c.Search.SimulationsEnd, c.Search.Simulations)
	}
	if c.Search.FastSimulations > c.Search.Simulations {
		fault("search.fast_simulations", "is %d: want at most search.simulations, %d", c.Search.FastSimulations, c.Search.Simulations)
	}
	if c.Window.MaxPositions < c.Window.MinPositions {
		fault("window.max_positions", "is %d: want at least window.min_positions, %d", c.Window.MaxPositions, c.Window.MinPositions)
	}
	if c.Training.LearningFloor > c.Training.LearningRate {
		fault("training.learning_floor", "is %v: want at most training.learning_rate, %v", c.Training.LearningFloor, c.Training.LearningRate)
	}
	if c.Losses.Policy == 0 && c.Losses.Value == 0 {
		fault("losses.policy", "is 0 and so is losses.value: want one of them above 0")
	}
	if c.Gate.Elo0 >= c.Gate.Elo1 {
		fault("gate.elo1", "is %v: want more than gate.elo0, %v", c.Gate.Elo1, c.Gate.Elo0)
	}
	for i, p := range c.Anchors.Players {
		spec, err := arena.ParseSpec(short(p))
		if err == nil && spec.Kind > arena.SpecUCT {
			err = fmt.Errorf("player %q: want random, greedy or uct:SIMS", short(p))
		}
		if err != nil {
			fault(fmt.Sprintf("anchors.players[%d]", i), "%v", err)
		}
	}
}
