package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"yinshzero/arena"
	"yinshzero/pipeline"
	"yinshzero/registry"
)

func newLadder() *cobra.Command {
	c := &cobra.Command{
		Use:     "ladder",
		Short:   "Rate a run's models and the fixed players by all matches it has played",
		Example: "  yinshzero ladder --dir runs/standard",
		Args:    cobra.NoArgs,
	}
	dir := c.Flags().String("dir", "runs/standard", "the run's directory")
	asJSON := addJSON(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := isRun(*dir); err != nil {
			return err
		}
		ratings, err := pipeline.Ladder(*dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a run that ended while it opened has no matches
			return err
		}
		if *asJSON {
			return printJSON(c, struct {
				Ratings []arena.Rating `json:"ratings"`
			}{append([]arena.Rating{}, ratings...)}) // [] and not null
		}
		w := c.OutOrStdout()
		if len(ratings) == 0 { // all are relative to it
			_, err := fmt.Fprintln(w, "no matches against random yet")
			return err
		}
		best, err := bestPlayer(*dir)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%8s %17s %6s %8s  %s\n", "Elo", "95 %", "games", "points", "player")
		for _, r := range ratings {
			interval := fmt.Sprintf("[%+.0f, %+.0f]", r.EloLow, r.EloHigh)
			mark := ""
			if r.Name == best {
				mark = "  best"
			}
			if _, err := fmt.Fprintf(w, "%+8.0f %17s %6d %8.1f  %s%s\n", r.Elo, interval, r.Games, r.Points, r.Name, mark); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// bestPlayer is the name that matches have for the best model of the run in dir, or empty.
func bestPlayer(dir string) (string, error) {
	models, err := registry.Open(filepath.Join(dir, "models"))
	if err != nil {
		return "", err
	}
	best, ok := models.Best()
	if !ok {
		return "", nil
	}
	return arena.Spec{Kind: arena.SpecModel, Model: best.ID.Short()}.String(), nil
}
