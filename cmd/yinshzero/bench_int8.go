package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"yinshzero/arena"
	"yinshzero/data"
	"yinshzero/internal/seed"
	"yinshzero/net"
	"yinshzero/rules"
)

// int8Games is the number of games whose Positions choose the steps of a model in 8 bits, and again to compare it on.
const int8Games = 12

func newBenchInt8() *cobra.Command {
	c := &cobra.Command{
		Use:   "int8",
		Short: "Inference in 8-bit integers against floats: speed and error of a model, one thread",
		Long: `Compile a model both ways and compare its answers and its speed, in turns. The positions are those of games of the
greedy player against itself or, with --records, of the newest games of a run; half of the games choose the steps of the
8-bit numbers, the other half serve for the comparison. Speeds are from the best of many tries of each of some positions.`,
		Example: `  yinshzero bench int8 --model runs/standard/models/5d….safetensors --records runs/standard/records
  yinshzero bench int8 --arch 96x8p --json`,
		Args: cobra.NoArgs,
	}
	model := c.Flags().String("model", "", "the model's file; without it, random weights of --arch")
	records := c.Flags().String("records", "", "folder of shards whose newest games to take")
	variant, arch, asJSON, length := addVariant(c), addArch(c), addJSON(c), addFor(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		w := net.Init(arch.Arch, seed.New(1).Child("weights", 0).Rand())
		if *model != "" {
			var err error
			if w, err = net.Load(*model); err != nil {
				return err
			}
		}
		positions := func(part int) ([]rules.Position, error) { return greedyPositions(c.Context(), variant.Variant, part) }
		if *records != "" {
			positions = func(part int) ([]rules.Position, error) { return recordPositions(*records, part) }
		}
		steps, err := positions(0)
		if err != nil {
			return err
		}
		test, err := positions(1)
		if err != nil {
			return err
		}
		f, err := net.CompareInt8(c.Context(), w, steps, test, *length)
		if err != nil {
			return err
		}
		return printFigures(c, struct {
			Arch      string  `json:"arch"`
			Positions int     `json:"positions"`
			Float     float64 `json:"float_evals_per_second"`
			Int8      float64 `json:"int8_evals_per_second"`
			Ratio     float64 `json:"speed_ratio"`
			LogitRMS  float64 `json:"logit_error_rms"`
			LogitMax  float64 `json:"logit_error_max"`
			Spread    float64 `json:"logit_deviation"`
			KL        float64 `json:"policy_kl"`
			Top       float64 `json:"same_top_move"`
			Value     float64 `json:"value_error_mean"`
			ValueMax  float64 `json:"value_error_max"`
		}{w.Arch().String(), len(test), f.Float, f.Int8, f.Int8 / f.Float, f.LogitRMS, f.LogitMax, f.Spread, f.KL, f.Top, f.Value, f.ValueMax}, *asJSON)
	}
	return c
}

// greedyPositions returns the Positions of int8Games games of the greedy player against itself, every game's first ten
// Moves random; another part, other games.
func greedyPositions(ctx context.Context, v rules.Variant, part int) (ps []rules.Position, err error) {
	rng := seed.New(1).Child("int8", uint64(part)).Rand()
	var random arena.Random
	var greedy arena.Greedy
	for range int8Games {
		pos := rules.New(v)
		for ply := 0; ; ply++ {
			if _, over := pos.Result(); over {
				break
			}
			ps = append(ps, pos)
			var player arena.Player = &greedy
			if ply < 10 {
				player = &random
			}
			m, err := player.Move(ctx, pos, rng)
			if err != nil {
				return nil, err
			}
			pos.Play(m)
		}
	}
	return ps, nil
}

// recordPositions returns the Positions of int8Games of the newest games in a folder of shards: of every second game, from
// the first for part 0, the second for part 1.
func recordPositions(dir string, part int) (ps []rules.Position, err error) {
	shards, err := data.Shards(dir)
	if err != nil {
		return nil, err
	}
	games := 0
	for i := len(shards) - 1; i >= 0 && games < 2*int8Games; i-- {
		s, err := data.OpenShard(shards[i])
		if err != nil {
			return nil, err
		}
		for r, err := range s.Records() {
			if err != nil {
				return nil, errors.Join(err, s.Close())
			}
			if games%2 == part {
				for sample, err := range r.Samples() {
					if err != nil {
						return nil, errors.Join(fmt.Errorf("read %s: %w", shards[i], err), s.Close())
					}
					ps = append(ps, sample.Pos)
				}
			}
			if games++; games == 2*int8Games {
				break
			}
		}
		if err := s.Close(); err != nil {
			return nil, err
		}
	}
	if games <= part {
		return nil, fmt.Errorf("%d games in %s: want at least %d, such as in the records of a run", games, dir, part+1)
	}
	return ps, nil
}
