package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"yinshzero/arena"
	"yinshzero/internal/config"
	"yinshzero/internal/seed"
)

// A gateTrial is a row of bench gate.
type gateTrial struct {
	arena.Chances
	Test string `json:"test"` // pairs or games
	arena.Trial
}

// openings are the kinds of openings that a gate is tried on, and what equal players make of them.
var openings = []struct {
	name    string
	chances arena.Chances
}{
	{"games independent", arena.Chances{}},
	{"a third drawn", arena.Chances{Draws: 1. / 3}},
	{"openings favour a colour", arena.Chances{Draws: 0.05, Bias: 0.22}},
	{"openings suit a player", arena.Chances{Draws: 0.05, Taste: 0.2}},
}

// apart are the chances where one player is elo stronger: openings and draws mean less the further apart the players are.
func apart(c arena.Chances, elo float64) arena.Chances {
	p := arena.EloScore(elo)
	share := 4 * p * (1 - p)
	return arena.Chances{Elo: elo, Draws: share * c.Draws, Bias: share * c.Bias, Taste: share * c.Taste}
}

func newBenchGate() *cobra.Command {
	c := &cobra.Command{
		Use:   "gate",
		Short: "Chances of error of a gate, and how long it takes, over simulated matches",
		Long: `Draw matches between players of known strength and let a gate judge them: by pairs, as gates do, and as if all games were
independent. Print the shares of candidates accepted and left undecided, and how many pairs a match took on average and in nine
of ten matches. Four kinds of openings are tried, each with candidates of elo0, elo1 and what lies between.`,
		Example: `  yinshzero bench gate --tests 10000
  yinshzero bench gate --elo1 30 --max-pairs 1000 --json`,
		Args: cobra.NoArgs,
	}
	gate := gateOf(config.Default())
	c.Flags().Float64Var(&gate.Elo0, "elo0", gate.Elo0, "no better than this: reject")
	c.Flags().Float64Var(&gate.Elo1, "elo1", gate.Elo1, "at least this good: accept")
	c.Flags().Float64Var(&gate.Alpha, "alpha", gate.Alpha, "chance to accept at elo0")
	c.Flags().Float64Var(&gate.Beta, "beta", gate.Beta, "chance to reject at elo1")
	c.Flags().IntVar(&gate.MaxPairs, "max-pairs", gate.MaxPairs, "undecided then: reject")
	tests := c.Flags().Int("tests", 2000, "matches for each row, 1 to 1000000")
	asJSON := addJSON(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := inRange("tests", *tests, 1, maxPairs); err != nil {
			return err
		}
		if err := inRange("max-pairs", gate.MaxPairs, arena.MinPairs, maxPairs); err != nil {
			return err
		}
		if err := gate.Validate(); err != nil {
			return &usageError{err}
		}
		var rows []gateTrial
		w := c.OutOrStdout()
		for _, o := range openings {
			if !*asJSON {
				if _, err := fmt.Fprintf(w, "%s\n%8s %6s %9s %9s %7s %7s\n", o.name, "Elo", "test", "accepted", "undecided", "pairs", "90 %"); err != nil {
					return err
				}
			}
			for _, elo := range []float64{gate.Elo0, (gate.Elo0 + gate.Elo1) / 2, gate.Elo1} {
				for i, test := range []string{"pairs", "games"} {
					row := gateTrial{Chances: apart(o.chances, elo), Test: test}
					var err error
					if row.Trial, err = gate.Try(row.Chances, *tests, seed.New(1), i == 1); err != nil {
						return err
					}
					if rows = append(rows, row); *asJSON {
						continue
					}
					if _, err := fmt.Fprintf(w, "%+8.0f %6s %9.4f %9.4f %7.1f %7d\n", elo, test, row.Accepted, row.Undecided, row.Pairs, row.Pairs90); err != nil {
						return err
					}
				}
			}
		}
		if *asJSON {
			return printJSON(c, struct {
				Gate  arena.Gate  `json:"gate"`
				Tests int         `json:"tests"`
				Rows  []gateTrial `json:"rows"`
			}{gate, *tests, rows})
		}
		return nil
	}
	return c
}
