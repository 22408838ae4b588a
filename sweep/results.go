package sweep

import (
	"fmt"
	"math"

	"yinshzero/arena"
	"yinshzero/metrics"
	"yinshzero/report"
)

// Results are the figures of a sweep.
type Results struct {
	Configurations []Summary       `json:"configurations"`
	Duels          []Duel          `json:"duels"`
	Runs           []Outcome       `json:"runs"`
	Anchors        []report.Anchor `json:"anchors"` // the fixed players
}

// An Outcome is what became of a run.
type Outcome struct {
	Name          string `json:"name"`
	Configuration string `json:"configuration"`
	Seed          uint64 `json:"seed"`
	Finished      bool   `json:"finished"`        // its budget is spent: only then it counts
	Error         string `json:"error,omitempty"` // why it is not finished
	Progress
	GamesPerHour         float64          `json:"games_per_hour"`
	EvaluationsPerSecond float64          `json:"evaluations_per_second"`
	Promoted             int              `json:"promoted"` // candidates
	Rejected             int              `json:"rejected"`
	Best                 string           `json:"best,omitempty"` // the best model, by the first digits of its hash
	BestStep             int64            `json:"best_step"`      // at which it was made
	Rating               *report.Rating   `json:"rating,omitempty"`
	HeldOut              *metrics.HeldOut `json:"held_out,omitempty"` // of the newest candidate that was measured
}

// Read is what became of the run r in dir so far, without its Rating. The curves are for a report; they are nil if the run has
// not begun or cannot be read, which Error then says.
func (r Run) Read(dir string, p report.Params, b Budget) (Outcome, *report.Run) {
	o := Outcome{Name: r.Name(), Configuration: r.Configuration, Seed: r.Seed}
	var err error
	if o.Progress, err = ReadProgress(dir); err != nil {
		o.Error = err.Error()
		return o, nil
	}
	curves, err := report.Read(dir, p)
	if err != nil {
		o.Error = err.Error()
		return o, nil
	}
	o.Finished = b.Spent(o.Progress)
	if o.Seconds > 0 {
		o.GamesPerHour, o.EvaluationsPerSecond = float64(o.Games)/o.Seconds*3600, float64(o.Evaluations)/o.Seconds
	}
	for _, m := range curves.Models {
		switch {
		case m.Promoted() && m.Step > 0:
			o.Promoted++
		case m.Standing == "rejected":
			o.Rejected++
		}
		if m.Standing == "best" {
			o.Best, o.BestStep = m.ID, m.Step
		}
	}
	if n := len(curves.HeldOut); n > 0 {
		o.HeldOut = &curves.HeldOut[n-1]
	}
	if o.Best == "" {
		o.Finished, o.Error = false, "it has no best model"
	}
	return o, curves
}

// A Played is a match between two runs, by their names, or with a fixed player.
type Played struct {
	A, B  string
	Score arena.Score // from A's side
}

// A Mean is over the finished runs of a configuration.
type Mean struct {
	Mean  float64 `json:"mean"`
	Error float64 `json:"standard_error"` // 0 of less than two runs: it is not known
	N     int     `json:"n"`
}

// meanOf is the mean of some figures, and its standard error.
func meanOf(xs []float64) (m Mean) {
	m.N = len(xs)
	if m.N == 0 {
		return m
	}
	for _, x := range xs {
		m.Mean += x / float64(m.N)
	}
	if m.N > 1 {
		squares := 0.0
		for _, x := range xs {
			squares += (x - m.Mean) * (x - m.Mean)
		}
		m.Error = math.Sqrt(squares / float64(m.N-1) / float64(m.N))
	}
	return m
}

// A Summary is a configuration's figures.
type Summary struct {
	Name                 string         `json:"name"`
	Runs                 int            `json:"runs"`     // of it
	Finished             int            `json:"finished"` // over which the means are
	Elo                  Mean           `json:"elo"`      // over the player random
	Rating               *report.Rating `json:"rating,omitempty"`
	Policy               Mean           `json:"policy_loss"` // on games held out
	Value                Mean           `json:"value_loss"`
	TrainedPolicy        Mean           `json:"trained_policy_loss"` // on games trained on
	TrainedValue         Mean           `json:"trained_value_loss"`
	Promoted             Mean           `json:"promoted"`
	Hours                Mean           `json:"hours"`
	Games                Mean           `json:"games"`
	Positions            Mean           `json:"positions"`
	Steps                Mean           `json:"steps"`
	GamesPerHour         Mean           `json:"games_per_hour"`
	EvaluationsPerSecond Mean           `json:"evaluations_per_second"`
}

// A Duel is all matches between two configurations, each between runs of one seed.
type Duel struct {
	A       string  `json:"a"`
	B       string  `json:"b"`
	Pairs   int     `json:"pairs"`
	Wins    int     `json:"wins"` // games, from A's side
	Draws   int     `json:"draws"`
	Losses  int     `json:"losses"`
	Elo     float64 `json:"elo"` // of all pairs together, with its 95 % interval
	Low     float64 `json:"elo_low"`
	High    float64 `json:"elo_high"`
	BySeeds Mean    `json:"by_seeds"` // of the Elo of each seed's match
}

// New puts figures together: outcomes in the order of the sweep, and the matches between finished runs and with fixed players,
// the player random among them.
func New(runs []Outcome, matches []Played) (*Results, error) {
	r := &Results{Configurations: []Summary{}, Duels: []Duel{}, Runs: append([]Outcome{}, runs...), Anchors: []report.Anchor{}}
	if err := r.rate(matches); err != nil {
		return nil, err
	}
	var names []string
	of := map[string][]Outcome{}
	for _, o := range r.Runs {
		if of[o.Configuration] == nil {
			names = append(names, o.Configuration)
		}
		of[o.Configuration] = append(of[o.Configuration], o)
	}
	for i, a := range names {
		r.Configurations = append(r.Configurations, summary(a, of[a]))
		for _, b := range names[i+1:] {
			if d, ok := duel(a, b, of[a], of[b], matches); ok {
				r.Duels = append(r.Duels, d)
			}
		}
	}
	return r, nil
}

// rate gives every run its Rating, by all matches.
func (r *Results) rate(matches []Played) error {
	if len(matches) == 0 {
		return nil
	}
	random := arena.Spec{Kind: arena.SpecRandom}.String()
	ladder := arena.NewLadder(random)
	for _, m := range matches {
		ladder.Add(m.A, m.B, m.Score)
	}
	table, err := ladder.Fit()
	if err != nil {
		return fmt.Errorf("rate the runs: %w", err)
	}
	index := map[string]*Outcome{}
	for i := range r.Runs {
		index[r.Runs[i].Name] = &r.Runs[i]
	}
	for _, x := range table.Ratings {
		rating := report.Rating{Elo: x.Elo, Low: x.EloLow, High: x.EloHigh, Games: x.Games}
		if o := index[x.Name]; o != nil {
			o.Rating = &rating
		} else {
			r.Anchors = append(r.Anchors, report.Anchor{Name: x.Name, Rating: rating})
		}
	}
	return nil
}

func summary(name string, runs []Outcome) Summary {
	s := Summary{Name: name, Runs: len(runs)}
	mean := func(f func(o Outcome) (float64, bool)) Mean {
		var xs []float64
		for _, o := range runs {
			if x, ok := f(o); ok && o.Finished {
				xs = append(xs, x)
			}
		}
		return meanOf(xs)
	}
	always := func(f func(o Outcome) float64) Mean {
		return mean(func(o Outcome) (float64, bool) { return f(o), true })
	}
	held := func(f func(h *metrics.HeldOut) float64) Mean {
		return mean(func(o Outcome) (float64, bool) {
			if o.HeldOut == nil {
				return 0, false
			}
			return f(o.HeldOut), true
		})
	}
	for _, o := range runs {
		if o.Finished {
			s.Finished++
			s.Rating = o.Rating
		}
	}
	s.Elo = mean(func(o Outcome) (float64, bool) {
		if o.Rating == nil {
			return 0, false
		}
		return o.Rating.Elo, true
	})
	if s.Elo.N != 1 { // the mean and its error tell more
		s.Rating = nil
	}
	s.Policy = held(func(h *metrics.HeldOut) float64 { return h.HeldOut.Policy })
	s.Value = held(func(h *metrics.HeldOut) float64 { return h.HeldOut.Value })
	s.TrainedPolicy = held(func(h *metrics.HeldOut) float64 { return h.Trained.Policy })
	s.TrainedValue = held(func(h *metrics.HeldOut) float64 { return h.Trained.Value })
	s.Promoted = always(func(o Outcome) float64 { return float64(o.Promoted) })
	s.Hours = always(func(o Outcome) float64 { return o.Seconds / 3600 })
	s.Games = always(func(o Outcome) float64 { return float64(o.Games) })
	s.Positions = always(func(o Outcome) float64 { return float64(o.Positions) })
	s.Steps = always(func(o Outcome) float64 { return float64(o.Steps) })
	s.GamesPerHour = always(func(o Outcome) float64 { return o.GamesPerHour })
	s.EvaluationsPerSecond = always(func(o Outcome) float64 { return o.EvaluationsPerSecond })
	return s
}

// duel adds up the matches between the runs of two configurations. If there are none, ok is false.
func duel(a, b string, ofA, ofB []Outcome, matches []Played) (d Duel, ok bool) {
	var all arena.Score
	var elos []float64
	for _, x := range ofA {
		for _, y := range ofB {
			for _, m := range matches {
				if m.A != x.Name || m.B != y.Name {
					continue
				}
				elos = append(elos, m.Score.Elo().Elo)
				for i, n := range m.Score.Pairs {
					all.Pairs[i] += n
				}
				all.Wins, all.Draws, all.Losses = all.Wins+m.Score.Wins, all.Draws+m.Score.Draws, all.Losses+m.Score.Losses
			}
		}
	}
	e := all.Elo()
	return Duel{a, b, all.N(), all.Wins, all.Draws, all.Losses, e.Elo, e.Low, e.High, meanOf(elos)}, all.N() > 0
}
