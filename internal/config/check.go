package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"yinshzero/arena"
	"yinshzero/net"
	"yinshzero/rules"
)

// check calls fault for every value that is in its range but does not fit the others.
func (c *Config) check(fault func(key, format string, args ...any)) {
	def := Default()
	idle(reflect.ValueOf(c).Elem(), reflect.ValueOf(&def).Elem(), "", fault)
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
	if t := c.Training; t.Schedule != "constant" && t.LearningFloor > t.LearningRate {
		fault("training.learning_floor", "is %v: want at most training.learning_rate, %v", t.LearningFloor, t.LearningRate)
	}
	if t := c.Training; t.Schedule == "step" && (len(t.StepAt) == 0 || !ascending(t.StepAt)) {
		fault("training.step_at", "is %v: want one or more steps, ascending", short(fmt.Sprint(t.StepAt)))
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

// ascending reports whether each number is greater than the one before.
func ascending(x []int64) bool {
	for i := 1; i < len(x); i++ {
		if x[i-1] >= x[i] {
			return false
		}
	}
	return true
}

// idle calls fault for every value with an only tag that c's words make meaningless and that is not the default's.
func idle(c, def reflect.Value, section string, fault func(key, format string, args ...any)) {
	for i := range c.NumField() {
		f, key := c.Type().Field(i), join(section, c.Type().Field(i).Tag.Get("yaml"))
		if f.Type.Kind() == reflect.Struct {
			idle(c.Field(i), def.Field(i), key, fault)
			continue
		}
		name, words, ok := strings.Cut(f.Tag.Get("only"), "=")
		if !ok {
			continue
		}
		word := c.Field(fieldNamed(c.Type(), name)).String()
		if v, d := c.Field(i).Interface(), def.Field(i).Interface(); !slices.Contains(strings.Fields(words), word) && !reflect.DeepEqual(v, d) {
			fault(key, "is %v, but %s %s does not use it: leave it at %v, or choose %s %s",
				short(fmt.Sprint(v)), name, word, d, name, strings.ReplaceAll(words, " ", ", "))
		}
	}
}
