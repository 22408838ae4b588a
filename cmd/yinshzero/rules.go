package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"yinshzero/internal/atomicfile"
	"yinshzero/rules"
)

func newRules() *cobra.Command {
	return group("rules", "Check the rules against others and against themselves",
		newPerft(), newReplay(), newTrace(), newConvert(), newShow(), newRandom(), newCheck())
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
		pos, err := after(variant.Variant, args)
		if err != nil {
			return &usageError{err}
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
		_, err = fmt.Fprintf(c.OutOrStdout(), "nodes=%d seconds=%.3f\n", nodes, seconds)
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
			ok, bad, err := rules.ReplayGames(c.InOrStdin(), faults(c, ""))
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
			return convert(c, rules.FormatTrace, c.InOrStdin(), rules.FormatMoves, faults(c, ""))
		},
	}
}

func newConvert() *cobra.Command {
	c := &cobra.Command{
		Use:   "convert --from FORMAT --to FORMAT [FILE …]",
		Short: "Read games in one format and print them in another",
		Long: `Read games in one format, from files or from standard input, and print them in another.

The formats are moves (move lists), turns (move lists in turns), trace (ply by ply) and sgf (Boardspace, either
dialect). A game with a fault is left out; the others are printed all the same.`,
		Example: `  yinshzero rules convert --from sgf --to moves games/*.sgf > games.moves
  yinshzero rules convert --from moves --to turns < games.moves`,
	}
	from := addFormat(c, "from", "format to read: moves, turns, trace or sgf")
	to := addFormat(c, "to", "format to print: moves, turns, trace or sgf")
	c.RunE = func(c *cobra.Command, files []string) error {
		if !c.Flags().Changed("from") || !c.Flags().Changed("to") {
			return usagef("want both --from and --to: moves, turns, trace or sgf")
		}
		if len(files) == 0 {
			return convert(c, to.Format, c.InOrStdin(), from.Format, faults(c, ""))
		}
		var faulty error
		for _, name := range files {
			f, err := os.Open(name)
			if err != nil {
				return err
			}
			err = convert(c, to.Format, f, from.Format, faults(c, name+": "))
			_ = f.Close() // it was only read
			if errors.Is(err, errFaults) {
				faulty = err
			} else if err != nil {
				return fmt.Errorf("convert %s: %w", name, err)
			}
		}
		return faulty
	}
	return c
}

// convert prints the games of r and fails if some are faulty.
func convert(c *cobra.Command, to rules.Format, r io.Reader, from rules.Format, fault func(rules.Fault)) error {
	_, bad, err := rules.Convert(c.OutOrStdout(), to, r, from, fault)
	if err == nil && bad > 0 {
		return errFaults
	}
	return err
}

// A formatFlag is --from or --to.
type formatFlag struct{ rules.Format }

func (f *formatFlag) Type() string { return "FORMAT" }

func (f *formatFlag) Set(s string) (err error) {
	f.Format, err = rules.ParseFormat(s)
	return err
}

func addFormat(c *cobra.Command, name, usage string) *formatFlag {
	f := &formatFlag{}
	c.Flags().Var(f, name, usage)
	return f
}

func newShow() *cobra.Command {
	c := &cobra.Command{
		Use:   "show [POSITION | move …]",
		Short: "Draw a position, given as its text or as the Moves that lead there",
		Example: `  yinshzero rules show e5 f6 g7
  yinshzero rules show --variant mini --svg start.svg`,
	}
	variant := addVariant(c)
	file := c.Flags().String("svg", "", "draw to this file, as SVG, and not as text on standard output")
	c.RunE = func(c *cobra.Command, args []string) error {
		var pos rules.Position
		var err error
		if len(args) == 1 && strings.Contains(args[0], "/") {
			if c.Flags().Changed("variant") {
				return usagef("a position names its variant: want it without --variant")
			}
			pos, err = rules.ParsePosition(args[0])
		} else {
			pos, err = after(variant.Variant, args)
		}
		if err != nil {
			return &usageError{err}
		}
		if *file != "" {
			return atomicfile.WriteBytes(*file, pos.SVG())
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s%v\n", pos.Draw(), &pos)
		return err
	}
	return c
}

// after is the Position after Moves from the empty board.
func after(v rules.Variant, moves []string) (rules.Position, error) {
	g := rules.Game{Variant: v}
	for i, text := range moves {
		m, err := v.ParseMove(text)
		if err != nil {
			return rules.Position{}, fmt.Errorf("move %d: %w", i+1, err)
		}
		g.Moves = append(g.Moves, m)
	}
	pos, err := g.Replay()
	if at := (*rules.PlyError)(nil); errors.As(err, &at) {
		return pos, fmt.Errorf("move %d: %w", at.Ply+1, at.Err)
	}
	return pos, err
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
		ok, bad, err := rules.CheckTrace(c.InOrStdin(), variants, faults(c, ""))
		return counted(c.OutOrStdout(), ok, bad, err)
	}
	return c
}

// maxFaults is how many faults are printed.
const maxFaults = 10

// faults prints the first faults on standard error, each after the name of its file, if there is one.
func faults(c *cobra.Command, file string) func(rules.Fault) {
	n := 0
	return func(f rules.Fault) {
		if n++; n <= maxFaults {
			fmt.Fprintf(c.ErrOrStderr(), "%s%v\n", file, f)
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
