package main

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"yinshzero/infer"
	"yinshzero/internal/seed"
	"yinshzero/mcts"
	"yinshzero/net"
	"yinshzero/rules"
	"yinshzero/selfplay"
)

// A timed is an Evaluator that measures the time it takes. It belongs to one goroutine.
type timed struct {
	mcts.Evaluator
	spent time.Duration
}

func (t *timed) Evaluate(ctx context.Context, batch []*mcts.Query) error {
	start := time.Now()
	err := t.Evaluator.Evaluate(ctx, batch)
	t.spent += time.Since(start)
	return err
}

// networkFor returns an Evaluator over random weights.
func networkFor(a net.Arch) (*infer.Evaluator, error) {
	program, err := net.Init(a, seed.New(1).Child("weights", 0).Rand()).Compile()
	if err != nil {
		return nil, err
	}
	return infer.New(program, infer.DefaultParams()), nil
}

// maxSimulations bounds a search, as it does in a configuration.
const maxSimulations = 100_000

func newBenchSearch() *cobra.Command {
	c := &cobra.Command{
		Use:     "search",
		Short:   "Simulations a second, with the uniform evaluator and with a network, one thread",
		Example: "  yinshzero bench search --arch 32x4p --simulations 64 --json",
		Args:    cobra.NoArgs,
	}
	simulations := c.Flags().Int("simulations", 64, "of each search, 2 to 100000")
	arch, asJSON, length := addArch(c), addJSON(c), addFor(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := inRange("simulations", *simulations, 2, maxSimulations); err != nil {
			return err
		}
		network, err := networkFor(arch.Arch)
		if err != nil {
			return err
		}
		plain, _, err := searchSpeed(c.Context(), &timed{Evaluator: mcts.Uniform{}}, *simulations, *length/2)
		if err != nil {
			return err
		}
		deep, share, err := searchSpeed(c.Context(), &timed{Evaluator: network}, *simulations, *length/2)
		if err != nil {
			return err
		}
		return printFigures(c, struct {
			Arch        string  `json:"arch"`
			Simulations int     `json:"simulations"`
			Uniform     float64 `json:"uniform_simulations_per_second"`
			Network     float64 `json:"simulations_per_second"`
			Share       float64 `json:"share_in_network"`
		}{arch.String(), *simulations, plain, deep, share}, *asJSON)
	}
	return c
}

// searchSpeed searches the Positions of random games for about the given time. It returns simulations a second and the
// share of the time that the Evaluator took.
func searchSpeed(ctx context.Context, eval *timed, simulations int, length time.Duration) (speed, share float64, err error) {
	searcher := mcts.New(eval, mcts.DefaultParams())
	rng := seed.New(1).Child("search", 0).Rand()
	start := time.Now()
	for n := 0; ; {
		g := rules.RandomGame(rules.Standard(), rules.Uniform, rng)
		pos := rules.New(g.Variant)
		for _, m := range g.Moves {
			root, err := searcher.Search(ctx, pos, mcts.Budget{Simulations: simulations, Noise: true}, rng)
			if err != nil {
				return 0, 0, err
			}
			n += root.Simulations
			if d := time.Since(start); d >= length {
				return float64(n) / d.Seconds(), eval.spent.Seconds() / d.Seconds(), nil
			}
			pos.Play(m)
		}
	}
}

func newBenchSelfplay() *cobra.Command {
	c := &cobra.Command{
		Use:     "selfplay",
		Short:   "Games an hour, on all cores",
		Example: "  yinshzero bench selfplay --arch 32x4p --variant blitz --for 10s --json",
		Args:    cobra.NoArgs,
	}
	threads := c.Flags().Int("threads", runtime.NumCPU(), "games at once, 1 to 1024")
	arch, variant, asJSON, length := addArch(c), addVariant(c), addJSON(c), addFor(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := inRange("threads", *threads, 1, maxThreads); err != nil {
			return err
		}
		var positions, evaluations, spent atomic.Int64
		var next, played atomic.Uint64 // games begun, games finished
		ctx, cancel := context.WithTimeout(c.Context(), *length)
		defer cancel()
		start := time.Now()
		var g errgroup.Group
		for range *threads {
			g.Go(func() error {
				network, err := networkFor(arch.Arch)
				if err != nil {
					return err
				}
				eval := &timed{Evaluator: network}
				defer func() {
					asked, _ := network.Counts()
					evaluations.Add(asked)
					spent.Add(int64(eval.spent))
				}()
				p, err := selfplay.New(mcts.New(eval, mcts.DefaultParams()), selfplay.DefaultParams())
				if err != nil {
					return err
				}
				for {
					r, err := p.Game(ctx, variant.Variant, seed.New(1).Child("game", next.Add(1)).Uint64())
					if ctx.Err() != nil {
						return c.Context().Err()
					}
					if err != nil {
						return err
					}
					played.Add(1)
					positions.Add(int64(len(r.Plies)))
				}
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		d := time.Since(start).Seconds()
		if played.Load() == 0 {
			return fmt.Errorf("no game was finished in %v: measure for longer with --for", *length)
		}
		return printFigures(c, struct {
			Arch        string  `json:"arch"`
			Games       float64 `json:"games_per_hour"`
			Positions   float64 `json:"positions_per_second"`
			Evaluations float64 `json:"evals_per_second"`
			Share       float64 `json:"share_in_network"`
			Threads     int     `json:"threads"`
		}{
			arch.String(), float64(played.Load()) / d * 3600, float64(positions.Load()) / d, float64(evaluations.Load()) / d,
			time.Duration(spent.Load()).Seconds() / d / float64(*threads), *threads,
		}, *asJSON)
	}
	return c
}
