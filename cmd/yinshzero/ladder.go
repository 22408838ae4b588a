package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"yinshzero/arena"
	"yinshzero/pipeline"
	"yinshzero/registry"
)

func newLadder() *cobra.Command {
	c := &cobra.Command{
		Use:   "ladder",
		Short: "Rate a run's models and the fixed players by all matches it has played",
		Long: `Rate all players of a run's gates and anchor matches: Elo over the player random, with 95 % intervals. A model's name ends in
the simulations it played with. Below are the pairings that these numbers explain least: where one player's strength depends on whom
it meets, several are far off.`,
		Example: "  yinshzero ladder --dir runs/standard",
		Args:    cobra.NoArgs,
	}
	dir := c.Flags().String("dir", "runs/standard", "the run's directory")
	asJSON := addJSON(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := isRun(*dir); err != nil {
			return err
		}
		table, err := pipeline.Ladder(*dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a run that ended while it opened has no matches
			return err
		}
		if *asJSON {
			table.Ratings, table.Pairings = append([]arena.Rating{}, table.Ratings...), append([]arena.Pairing{}, table.Pairings...) // [] and not null
			return printJSON(c, table)
		}
		if len(table.Ratings) == 0 { // all are relative to it
			_, err := fmt.Fprintln(c.OutOrStdout(), "no matches against random yet")
			return err
		}
		best, err := bestOf(*dir)
		if err != nil {
			return err
		}
		return printTable(c.OutOrStdout(), table, best)
	}
	return c
}

// surprising is how many standard deviations a pairing must be off to be shown, and shown how many of them at most.
const surprising, shown = 2, 10

func printTable(w io.Writer, t arena.Table, best string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%8s %17s %6s %8s  %s\n", "Elo", "95 %", "games", "points", "player")
	for _, r := range t.Ratings {
		mark := ""
		if spec, err := arena.ParseSpec(r.Name); err == nil && best != "" && spec.Model == best {
			mark = "  best"
		}
		interval := fmt.Sprintf("[%+.0f, %+.0f]", r.EloLow, r.EloHigh)
		fmt.Fprintf(&b, "%+8.0f %17s %6d %8.1f  %s%s\n", r.Elo, interval, r.Games, r.Points, r.Name, mark)
	}
	off := 0
	for _, p := range t.Pairings {
		if math.Abs(p.Deviation) >= surprising {
			off++
		}
	}
	fmt.Fprintf(&b, "\npairs vary %.2f times as much as independent games without draws", t.Dispersion)
	if t.GainSpread > 0 {
		fmt.Fprintf(&b, "; candidates are within some %.0f Elo of the best model of their gate", t.GainSpread)
	}
	fmt.Fprintf(&b, "\n%d of %d pairings are %d or more standard deviations off what the ratings expect\n", off, len(t.Pairings), surprising)
	if off > 0 {
		fmt.Fprintf(&b, "%8s %8s %6s %5s  %s\n", "points", "expected", "games", "off", "pairing")
	}
	for _, p := range t.Pairings[:min(off, shown)] {
		fmt.Fprintf(&b, "%8.1f %8.1f %6d %+5.1f  %s against %s\n", p.Points, p.Expected, p.Games, p.Deviation, p.A, p.B)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// bestOf is the short ID of the best model of the run in dir, or empty.
func bestOf(dir string) (string, error) {
	models, err := registry.Open(filepath.Join(dir, "models"))
	if err != nil {
		return "", err
	}
	best, ok := models.Best()
	if !ok {
		return "", nil
	}
	return best.ID.Short(), nil
}
