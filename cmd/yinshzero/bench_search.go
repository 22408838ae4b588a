package main

import (
	"context"
	"errors"
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
	"yinshzero/solve"
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

// benchWeights loads a model, or makes random weights of a if the file has no name.
func benchWeights(model string, a net.Arch) (*net.Weights, error) {
	if model == "" {
		return net.Init(a, seed.New(1).Child("weights", 0).Rand()), nil
	}
	return net.Load(model)
}

// maxSimulations bounds a search, as it does in a configuration.
const maxSimulations = 100_000

func newBenchSearch() *cobra.Command {
	c := &cobra.Command{
		Use:   "search",
		Short: "Simulations a second, with the uniform evaluator and with a network, and problems solved, one thread",
		Long: `Measure the search: simulations a second with the uniform evaluator and with a network, and the shares of the
problems of the standard game and of blitz that the model solves at 1, 32 and 200 simulations a Move. The problems are
fixed; where no model is given, the uniform evaluator solves them, as a control.`,
		Example: `  yinshzero bench search --arch 32x4p --simulations 64 --json
  yinshzero bench search --model runs/standard/models/5d….safetensors`,
		Args: cobra.NoArgs,
	}
	simulations := c.Flags().Int("simulations", 64, "of each search, 2 to 100000")
	model := c.Flags().String("model", "", "the model's file; without it, random weights of --arch")
	arch, asJSON, length := addArch(c), addJSON(c), addFor(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := inRange("simulations", *simulations, 2, maxSimulations); err != nil {
			return err
		}
		solver := "uniform"
		if *model != "" {
			solver = *model
		}
		w, err := benchWeights(*model, arch.Arch)
		if err != nil {
			return err
		}
		program, err := infer.DefaultParams().Compile(w, rules.Standard())
		if err != nil {
			return err
		}
		plain, _, err := searchSpeed(c.Context(), &timed{Evaluator: mcts.Uniform{}}, *simulations, *length/2)
		if err != nil {
			return err
		}
		network := &timed{Evaluator: infer.New(program, infer.DefaultParams())}
		deep, share, err := searchSpeed(c.Context(), network, *simulations, *length/2)
		if err != nil {
			return err
		}
		solved, err := sharesSolved(c.Context(), program, *model == "")
		if err != nil {
			return err
		}
		return printFigures(c, struct {
			Arch        string  `json:"arch"`
			Simulations int     `json:"simulations"`
			Uniform     float64 `json:"uniform_simulations_per_second"`
			Network     float64 `json:"simulations_per_second"`
			Share       float64 `json:"share_in_network"`
			Solver      string  `json:"solver"`
			Standard1   float64 `json:"standard_solved_1"`
			Standard32  float64 `json:"standard_solved_32"`
			Standard200 float64 `json:"standard_solved_200"`
			Blitz1      float64 `json:"blitz_solved_1"`
			Blitz32     float64 `json:"blitz_solved_32"`
			Blitz200    float64 `json:"blitz_solved_200"`
		}{
			w.Arch().String(), *simulations, plain, deep, share, solver,
			solved[0], solved[1], solved[2], solved[3], solved[4], solved[5],
		}, *asJSON)
	}
	return c
}

// sharesSolved is the shares of the problems that are solved in matches' search with 1, 32 and 200 simulations: of the
// standard game, then of blitz; by the model, or by the uniform evaluator.
func sharesSolved(ctx context.Context, program *net.Program, uniform bool) (shares []float64, err error) {
	p := infer.DefaultParams()
	p.Symmetry = false
	var eval mcts.Evaluator = infer.New(program, p)
	if uniform {
		eval = mcts.Uniform{}
	}
	s := mcts.New(eval, matchSearch())
	for _, v := range []rules.Variant{rules.Standard(), rules.Blitz()} {
		problems := solve.Problems(v)
		for _, n := range []int{1, 32, 200} {
			solved, err := solve.Share(ctx, s, problems, n)
			if err != nil {
				return nil, err
			}
			shares = append(shares, float64(solved)/float64(len(problems)))
		}
	}
	return shares, nil
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
	model := c.Flags().String("model", "", "the model's file; without it, random weights of --arch")
	p := infer.DefaultParams()
	c.Flags().IntVar(&p.CacheSize, "cache", p.CacheSize, "evaluations kept by each game")
	arch, variant, asJSON, length := addArch(c), addVariant(c), addJSON(c), addFor(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := errors.Join(inRange("threads", *threads, 1, maxThreads), p.Validate()); err != nil {
			return usagef("%v", err)
		}
		w, err := benchWeights(*model, arch.Arch)
		if err != nil {
			return err
		}
		program, err := p.Compile(w, variant.Variant)
		if err != nil {
			return err
		}
		var positions, evaluations, hits, spent atomic.Int64
		var next, played atomic.Uint64 // games begun, games finished
		ctx, cancel := context.WithTimeout(c.Context(), *length)
		defer cancel()
		start := time.Now()
		var g errgroup.Group
		for range *threads {
			g.Go(func() error {
				network := infer.New(program.Clone(), p)
				eval := &timed{Evaluator: network}
				defer func() {
					asked, remembered := network.Counts()
					evaluations.Add(asked)
					hits.Add(remembered)
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
			Hits        float64 `json:"share_from_cache"`
			Share       float64 `json:"share_in_network"`
			Threads     int     `json:"threads"`
		}{
			w.Arch().String(), float64(played.Load()) / d * 3600, float64(positions.Load()) / d, float64(evaluations.Load()) / d,
			float64(hits.Load()) / float64(max(1, hits.Load()+evaluations.Load())),
			time.Duration(spent.Load()).Seconds() / d / float64(*threads), *threads,
		}, *asJSON)
	}
	return c
}
