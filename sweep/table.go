package sweep

import (
	"fmt"
	"math"

	"yinshzero/report"
)

// Tables are the figures for people: the configurations, the matches between them, the runs.
func (r *Results) Tables() []report.Table {
	c := report.Table{
		Title: "Configurations",
		Note: "Elo is that of the best models over the player random, by the matches of the sweep. Losses are those of the last candidates on games held out. " +
			"± is the standard error of the mean over the runs; of a single run the 95 % interval of its matches stands instead, which does not know how much another seed would change.",
		Columns: []string{"configuration", "runs", "Elo over random", "policy loss", "value loss", "promoted", "hours", "positions", "steps", "games/h", "evaluations/s"},
	}
	for _, s := range r.Configurations {
		runs := fmt.Sprint(s.Finished)
		if s.Finished < s.Runs {
			runs = fmt.Sprintf("%d of %d", s.Finished, s.Runs)
		}
		strength := s.Elo.text(0, true)
		if s.Rating != nil {
			strength = rating(s.Rating)
		}
		c.Rows = append(c.Rows, []string{
			s.Name, runs, strength, s.Policy.text(3, false), s.Value.text(3, false), s.Promoted.text(1, false), s.Hours.text(2, false), s.Positions.text(0, false),
			s.Steps.text(0, false), s.GamesPerHour.text(0, false), s.EvaluationsPerSecond.text(0, false),
		})
	}
	d := report.Table{
		Title:   "Matches between configurations",
		Note:    "Between the best models of runs of the same seed. The interval is that of 95 % for these models; ± is the standard error over seeds, of the mean of each seed's Elo.",
		Columns: []string{"A", "B", "pairs", "games", "Elo of A", "over seeds"},
	}
	for _, x := range r.Duels {
		seeds := none
		if x.BySeeds.N > 1 {
			seeds = x.BySeeds.text(0, true)
		}
		d.Rows = append(d.Rows, []string{
			x.A, x.B, fmt.Sprint(x.Pairs), fmt.Sprintf("+%d =%d −%d", x.Wins, x.Draws, x.Losses),
			rating(&report.Rating{Elo: x.Elo, Low: x.Low, High: x.High}), seeds,
		})
	}
	t := report.Table{
		Title:   "Runs",
		Note:    "Elo with the 95 % interval of the matches.",
		Columns: []string{"run", "Elo over random", "best of step", "promoted", "rejected", "policy loss", "value loss", "hours", "games", "positions", "steps", "games/h", "evaluations/s"},
	}
	for _, o := range r.Runs {
		name := o.Name
		if !o.Finished {
			name += " (not finished)"
		}
		policy, value := none, none
		if h := o.HeldOut; h != nil {
			policy, value = number(h.HeldOut.Policy, 3), number(h.HeldOut.Value, 3)
		}
		t.Rows = append(t.Rows, []string{
			name, rating(o.Rating), fmt.Sprint(o.BestStep), fmt.Sprint(o.Promoted), fmt.Sprint(o.Rejected), policy, value, number(o.Seconds/3600, 2), fmt.Sprint(o.Games),
			fmt.Sprint(o.Positions), fmt.Sprint(o.Steps), number(o.GamesPerHour, 0), number(o.EvaluationsPerSecond, 0),
		})
	}
	tables := []report.Table{c, t}
	if len(d.Rows) > 0 {
		tables = []report.Table{c, d, t}
	}
	return tables
}

// none stands where there is no figure.
const none = "—"

// text is the mean with its error, to so many digits after the point.
func (m Mean) text(digits int, sign bool) string {
	if m.N == 0 {
		return none
	}
	text := number(m.Mean, digits)
	if sign {
		text = signed(m.Mean)
	}
	if m.N > 1 {
		text += " ± " + number(m.Error, digits)
	}
	return text
}

func number(x float64, digits int) string {
	if text := fmt.Sprintf("%.*f", digits, math.Abs(x)); x < 0 {
		return "−" + text
	} else {
		return text
	}
}

func signed(x float64) string {
	if x = math.Round(x); x > 0 {
		return "+" + number(x, 0)
	}
	return number(x, 0)
}

// rating is an Elo with its interval.
func rating(r *report.Rating) string {
	if r == nil {
		return none
	}
	return fmt.Sprintf("%s [%s, %s]", signed(r.Elo), signed(r.Low), signed(r.High))
}
