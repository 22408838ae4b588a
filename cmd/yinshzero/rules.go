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
			f := newFaults(c, "")
			ok, bad, err := rules.ReplayGames(c.InOrStdin(), f.tell)
			f.rest()
			return counted(c.OutOrStdout(), ok, bad, err)
		},
	}
}

func newTrace() *cobra.Command {
	return &cobra.Command{
		Use:     "trace < move lists",
		Short:   "Print games ply by ply",
		Long:    "Print the games of a move list ply by ply.\n\n" + traceHelp,
		Example: "  yinshzero rules trace < games.moves > games.trace",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return convert(c, &rules.Converter{From: rules.FormatMoves, To: rules.FormatTrace}, nil)
		},
	}
}

func newConvert() *cobra.Command {
	c := &cobra.Command{
		Use:   "convert --from FORMAT --to FORMAT [FILE …]",
		Short: "Read games in one format and print them in another",
		Long: `Read games in one format, from files or from standard input, and print them in another.

The formats are moves (move lists), turns (move lists in turns), trace (ply by ply) and sgf (Boardspace, either
dialect). A game with a fault is left out; the others are printed all the same, and so are those of the other files if one
cannot be read.

` + traceHelp,
		Example: `  yinshzero rules convert --from sgf --to moves games/*.sgf > games.moves
  yinshzero rules convert --from moves --to turns < games.moves`,
	}
	from := addFormat(c, "from", "format to read: moves, turns, trace or sgf")
	to := addFormat(c, "to", "format to print: moves, turns, trace or sgf")
	variants := addVariants(c)
	c.RunE = func(c *cobra.Command, files []string) error {
		if !c.Flags().Changed("from") || !c.Flags().Changed("to") {
			return usagef("want both --from and --to: moves, turns, trace or sgf")
		}
		if c.Flags().Changed("variant") && from.Format != rules.FormatTrace {
			return usagef("only a trace does not tell its variant: want --variant with --from trace alone")
		}
		return convert(c, &rules.Converter{From: from.Format, To: to.Format, Variants: *variants}, files)
	}
	return c
}

// traceHelp is what a command that makes traces says about them.
const traceHelp = `A trace tells neither the variant nor who won a game that stops before its end; if that is lost, a note says so.`

// convert prints the games of files, or of standard input if there are none, and fails if some are faulty or cannot be read.
func convert(c *cobra.Command, conv *rules.Converter, files []string) error {
	conv.W = c.OutOrStdout()
	unread := 0
	for _, name := range files {
		err := convertFile(c, conv, name)
		if conv.Err != nil {
			return conv.Err
		}
		if err != nil {
			unread++
			fmt.Fprintln(c.ErrOrStderr(), err)
		}
	}
	if len(files) == 0 {
		f := newFaults(c, "")
		conv.Fault = f.tell
		err := conv.Read(c.InOrStdin())
		f.rest()
		if err = errors.Join(conv.Err, err); err != nil {
			return err
		}
	}
	note := func(n int, what string) {
		if n > 0 {
			fmt.Fprintf(c.ErrOrStderr(), "note: of %d of %d games the trace does not tell %s\n", n, conv.Good, what)
		}
	}
	note(conv.NoOutcome, "the outcome, as they stop before the end")
	note(conv.NoVariant, "the variant: read it with --variant")
	if conv.Bad > 0 {
		fmt.Fprintf(c.ErrOrStderr(), "ok=%d bad=%d\n", conv.Good, conv.Bad)
	}
	switch {
	case unread > 0:
		return fmt.Errorf("%d of %d files cannot be read", unread, len(files))
	case conv.Bad > 0:
		return errFaults
	}
	return nil
}

// convertFile prints the games of a file. Its error is one of reading.
func convertFile(c *cobra.Command, conv *rules.Converter, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close() // it was only read
	f := newFaults(c, name+": ")
	conv.Fault = f.tell
	err = conv.Read(file)
	if f.rest(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
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
		if c.Flags().Changed("svg") && *file == "" {
			return usagef("svg is empty: want the name of a file")
		}
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
		if c.Flags().Changed("svg") {
			return atomicfile.WriteBytes(*file, pos.SVG())
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s%v\n", pos.Draw(), &pos)
		return err
	}
	return c
}

// after is the Position after Moves from the empty board.
func after(v rules.Variant, moves []string) (rules.Position, error) {
	pos := rules.New(v)
	for i, text := range moves {
		m, err := pos.ParseMove(text)
		if err != nil {
			return pos, fmt.Errorf("move %d: %w", i+1, err)
		}
		pos.Play(m)
	}
	return pos, nil
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
	variants := addVariants(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		f := newFaults(c, "")
		ok, bad, err := rules.CheckTrace(c.InOrStdin(), *variants, f.tell)
		f.rest()
		return counted(c.OutOrStdout(), ok, bad, err)
	}
	return c
}

// A variantsFlag is the --variant of a command that reads traces; empty, it stands for all that have names.
type variantsFlag []rules.Variant

func (f *variantsFlag) Type() string { return "VARIANT" }

func (f *variantsFlag) String() string { return "" }

func (f *variantsFlag) Set(s string) error {
	v, err := rules.ParseVariant(s)
	*f = variantsFlag{v}
	return err
}

func addVariants(c *cobra.Command) *variantsFlag {
	f := &variantsFlag{}
	c.Flags().Var(f, "variant", "the variant of all games of a trace; without it each game may be of any with a name")
	return f
}

// maxFaults is how many faults of a file are printed.
const maxFaults = 10

// A faults prints the first faults of a file on standard error, each after the name of the file, if there is one.
type faults struct {
	w    io.Writer
	file string
	n    int
}

func newFaults(c *cobra.Command, file string) *faults { return &faults{w: c.ErrOrStderr(), file: file} }

func (f *faults) tell(fault rules.Fault) { f.add(fault) }

func (f *faults) add(fault error) {
	if f.n++; f.n <= maxFaults {
		fmt.Fprintf(f.w, "%s%v\n", f.file, fault)
	}
}

// rest says how many faults were not printed.
func (f *faults) rest() {
	if f.n > maxFaults {
		fmt.Fprintf(f.w, "%s… and %d more\n", f.file, f.n-maxFaults)
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
