package main

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"yinshzero/arena"
)

// maxPairs bounds the pairs of a match.
const maxPairs = 1_000_000

func newMatch() *cobra.Command {
	c := &cobra.Command{
		Use:   "match",
		Short: "Play two players against each other",
		Long: `Play pairs of games, each pair one opening with colours swapped, and print the score from A's side.

A PLAYER is random, greedy, uct:SIMS, model:FILE[,OPTION…][@SIMS|@TIME] or cmd:COMMAND. FILE may be built-in, the model that
the program carries; with --dir it may also be a prefix of a SHA-256 in the run, or best. COMMAND, a program and its arguments,
is an engine that speaks UGI, such as yinshzero engine; each game at once has a process of its own. One that ends, hangs or
plays what is illegal ends the match. Ctrl-C ends it too, and what was played so far is printed.

` + optionsHelp,
		Example: `  yinshzero match --a uct:200 --b greedy --variant mini --pairs 20
  yinshzero match --a model:built-in@100 --b uct:200
  yinshzero match --a model:best@200 --b uct:1000 --dir runs/standard --json
  yinshzero match --a model:best,root=gumbel@200 --b model:best@200 --dir runs/standard --pairs 200
  yinshzero match --a model:best,cores=2@100ms --b model:best@100ms --dir runs/standard --parallel 1
  yinshzero match --a "cmd:yinshzero engine --dir runs/standard" --b model:best@200 --dir runs/standard --go "nodes 200"`,
		Args: cobra.NoArgs,
	}
	a := c.Flags().String("a", "", "player A")
	b := c.Flags().String("b", "", "player B")
	pairs := c.Flags().Int("pairs", 10, "pairs of games, 1 to 1000000")
	seed := c.Flags().Uint64("seed", 1, "the same seed gives the same openings")
	dir := c.Flags().String("dir", "", "the run that model names refer to")
	parallel := c.Flags().Int("parallel", runtime.NumCPU(), "games at once, 1 to 1024")
	goes := c.Flags().String("go", "movetime 1000", "what a cmd: player is told at each turn, as after UGI's go")
	timeout := c.Flags().Duration("timeout", time.Minute, "how long a cmd: player may take for an answer")
	variant := addVariant(c)
	asJSON := addJSON(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *a == "" || *b == "" {
			return usagef("want two players, --a and --b, such as --a uct:200 --b random")
		}
		if err := errors.Join(inRange("pairs", *pairs, 1, maxPairs), inRange("parallel", *parallel, 1, maxThreads)); err != nil {
			return err
		}
		if *timeout <= 0 {
			return usagef("timeout is %v: want a time above 0, such as 10s", *timeout)
		}
		if strings.ContainsFunc(*goes, unicode.IsControl) {
			return usagef("go is %q: want one line, such as movetime 1000", *goes)
		}
		m := arena.Match{Variant: variant.Variant, Seed: *seed, Pairs: *pairs, Parallel: *parallel}
		var err error
		if m.A, err = player(*a, *dir, variant.Variant, *goes, *timeout); err != nil {
			return err
		}
		if m.B, err = player(*b, *dir, variant.Variant, *goes, *timeout); err != nil {
			return err
		}
		ctx, stop := untilSignal(c)
		defer stop()
		var t arena.Tally
		var interrupted error
		for pair, err := range m.Play(ctx) {
			switch {
			case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
				interrupted = fmt.Errorf("interrupted after %d of %d pairs", t.Score.N(), *pairs)
			case err != nil:
				return err
			default:
				t.Add(pair)
			}
		}
		return errors.Join(printReport(c, t.Report(*a, *b, variant.Variant), *asJSON), interrupted)
	}
	return c
}

func printReport(c *cobra.Command, r arena.Report, asJSON bool) error {
	if asJSON {
		return printJSON(c, r)
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), "%s against %s, %s: +%d =%d -%d in %d pairs, Elo %+.0f [%+.0f, %+.0f], %.1f plies a game, %d different games from %d openings\n",
		r.A, r.B, r.Variant, r.Wins, r.Draws, r.Losses, r.Pairs, r.Elo, r.EloLow, r.EloHigh, r.MeanPlies, r.UniqueGames, r.Openings)
	return err
}
