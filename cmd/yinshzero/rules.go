package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"yinshzero/rules"
)

func newRules() *cobra.Command {
	return group("rules", "Check the rules against others and against themselves",
		newPerft(), newReplay(), newTrace(), newRandom(), newCheck())
}

func newPerft() *cobra.Command {
	c := &cobra.Command{
		Use:   "perft [move …]",
		Short: "Count the sequences of Moves after the given ones",
		Example: `  yinshzero rules perft --depth 3
  yinshzero rules perft --depth 2 --variant mini --json d4 e4`,
	}
	depth := c.Flags().Int("depth", 0, "Moves to count ahead, 0 or more")
	variant := addVariant(c)
	asJSON := addJSON(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		pos := rules.New(variant.Variant)
		for i, text := range args {
			m, err := variant.ParseMove(text)
			if err == nil && !pos.IsLegal(m) {
				err = fmt.Errorf("%s is not legal", text)
			}
			if err != nil {
				return usagef("move %d: %w", i+1, err)
			}
			pos.Play(m)
		}
		if *depth < 0 {
			return usagef("depth is %d: want 0 or more", *depth)
		}
		start := time.Now()
		nodes := rules.Perft(&pos, *depth)
		seconds := time.Since(start).Seconds()
		if *asJSON {
			return printJSON(c, struct {
				Nodes   uint64  `json:"nodes"`
				Seconds float64 `json:"seconds"`
			}{nodes, seconds})
		}
		_, err := fmt.Fprintf(c.OutOrStdout(), "nodes=%d seconds=%.3f\n", nodes, seconds)
		return err
	}
	return c
}

func newReplay() *cobra.Command {
	return &cobra.Command{
		Use:     "replay < move lists",
		Short:   "Replay games and check every Move and outcome",
		Example: "  yinshzero rules replay < games.moves",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ok, bad, err := rules.ReplayGames(c.InOrStdin(), faults(c))
			return counted(c.OutOrStdout(), ok, bad, err)
		},
	}
}

func newTrace() *cobra.Command {
	return &cobra.Command{
		Use:     "trace < move lists",
		Short:   "Print games ply by ply",
		Example: "  yinshzero rules trace < games.moves > games.trace",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, bad, err := rules.Convert(c.OutOrStdout(), rules.FormatTrace, c.InOrStdin(), rules.FormatMoves, faults(c))
			if err == nil && bad > 0 {
				return errFaults
			}
			return err
		},
	}
}

func newRandom() *cobra.Command {
	c := &cobra.Command{
		Use:     "random",
		Short:   "Print random games ply by ply",
		Example: "  yinshzero rules random --games 100 --seed 7 --kind rows > random.trace",
		Args:    cobra.NoArgs,
	}
	games := c.Flags().Int("games", 1, "number of games, 0 or more")
	seed := c.Flags().Uint64("seed", 1, "the same seed gives the same games")
	kind := c.Flags().String("kind", rules.Uniform.String(), "how Moves are chosen: uniform, rows or cramp")
	variant := addVariant(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		k, err := rules.ParseRandomKind(*kind)
		if err != nil {
			return &usageError{err}
		}
		if *games < 0 {
			return usagef("games is %d: want 0 or more", *games)
		}
		return rules.RandomTrace(c.OutOrStdout(), *games, *seed, k, variant.Variant)
	}
	return c
}

func newCheck() *cobra.Command {
	c := &cobra.Command{
		Use:     "check < trace",
		Short:   "Compare a trace with the rules, line by line",
		Example: "  yinshzero rules random --games 10 | yinshzero rules check",
		Args:    cobra.NoArgs,
	}
	only := c.Flags().String("variant", "", "the variant of all games; without it each game may be of any with a name")
	c.RunE = func(c *cobra.Command, _ []string) error {
		variants := rules.Variants()
		if *only != "" {
			v, err := rules.ParseVariant(*only)
			if err != nil {
				return &usageError{err}
			}
			variants = []rules.Variant{v}
		}
		ok, bad, err := rules.CheckTrace(c.InOrStdin(), variants, faults(c))
		return counted(c.OutOrStdout(), ok, bad, err)
	}
	return c
}

// maxFaults is how many faults are printed.
const maxFaults = 10

// faults prints the first faults on standard error.
func faults(c *cobra.Command) func(rules.Fault) {
	n := 0
	return func(f rules.Fault) {
		if n++; n <= maxFaults {
			fmt.Fprintln(c.ErrOrStderr(), f)
		}
	}
}

// counted prints the last line of a check.
func counted(w io.Writer, ok, bad int, err error) error {
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "ok=%d bad=%d\n", ok, bad); err != nil {
		return err
	}
	if bad > 0 {
		return errFaults
	}
	return nil
}
