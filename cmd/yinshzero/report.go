package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"yinshzero/internal/atomicfile"
	"yinshzero/report"
)

func newReport() *cobra.Command {
	c := &cobra.Command{
		Use:   "report RUN …",
		Short: "Draw the curves of one or several runs side by side, as one HTML file",
		Long: `Draw the curves of one or several runs side by side: strength, gates, losses, self-play, openings. The page is one file
that asks the network for nothing. A run may be under way. What a run does not have yet is said on the page; what is
damaged is left out and named there and on standard error, and the exit code is 3.`,
		Example: `  yinshzero report runs/standard
  yinshzero report runs/standard runs/wider -o compare.html
  yinshzero report runs/standard --json -o ""`,
		Args: takes(1, report.MaxRuns),
	}
	out := c.Flags().StringP("out", "o", "report.html", "the page, a `FILE`; empty for none")
	games := c.Flags().Int("games", 20_000, "read about so many games of each run at most, from evenly chosen shards")
	asJSON := c.Flags().Bool("json", false, "print the figures as one JSON object")
	c.RunE = func(c *cobra.Command, dirs []string) error {
		p := report.Params{MaxGames: *games}
		if err := p.Validate(); err != nil {
			return usagef("games is %d: want at least 1", *games)
		}
		if *out == "" && !*asJSON {
			return usagef("nothing to write: want -o FILE or --json")
		}
		var runs []*report.Run
		faults := 0
		for _, dir := range dirs {
			run, err := report.Read(dir, p)
			if err != nil {
				return err
			}
			for _, fault := range run.Faults {
				faults++
				fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", run.Name, fault)
			}
			runs = append(runs, run)
		}
		r := report.New(runs...)
		if *out != "" {
			if err := writePage(*out, r.WriteHTML); err != nil {
				return err
			}
		}
		if *asJSON {
			if err := printJSON(c, r); err != nil {
				return err
			}
		} else if _, err := fmt.Fprintf(c.OutOrStdout(), "%s: runs=%d\n", *out, len(runs)); err != nil {
			return err
		}
		if faults > 0 {
			return errFaults
		}
		return nil
	}
	return c
}

// writePage makes a file, whole or not at all.
func writePage(name string, fill func(io.Writer) error) error {
	if info, err := os.Stat(filepath.Dir(name)); err != nil || !info.IsDir() {
		return fmt.Errorf("write %s: %s is no directory", name, filepath.Dir(name))
	}
	return atomicfile.Write(name, 0o644, fill)
}
