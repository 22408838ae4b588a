package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"yinshzero/metrics"
	"yinshzero/rules"
)

// MaxRuns is how many runs a report can tell apart by colour.
const MaxRuns = 8

// A Report is some runs side by side.
type Report struct {
	Runs        []*Run       `json:"runs"`
	Differences []Difference `json:"differences"`      // of their configurations; none if there is one run
	Tables      []Table      `json:"tables,omitempty"` // to stand above the curves; New leaves them to its caller
}

// New returns the Report of one to MaxRuns runs. Runs of the same name are told apart by their directories.
func New(runs ...*Run) *Report {
	names := map[string]int{}
	for _, r := range runs {
		names[r.Name]++
	}
	for _, r := range runs {
		if names[r.Name] > 1 {
			r.Name = r.Dir
		}
	}
	d := differences(runs)
	if d == nil {
		d = []Difference{}
	}
	return &Report{Runs: runs, Differences: d}
}

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// A page is what the template shows.
type page struct {
	Title    string
	Runs     []*Run
	Several  bool
	Tables   []Table
	Facts    []fact
	Sections []section
	Differ   []Difference
	Settings []Difference
	Gates    []gateRow
	Faults   bool
	Missing  bool
}

// A fact is a line of the first table: a name and what it is for each run.
type fact struct {
	Name   string
	Values []string
}

// A section is some pictures under a heading.
type section struct {
	Title, Note string
	Figures     []picture
}

// A picture is a chart or a board with its captions.
type picture struct {
	Title, Note string
	Keys        []key
	SVG         template.HTML
}

// A key explains a colour or a kind of line.
type key struct {
	Class, Name string
	Dash        string // of a line; empty for a colour
}

// A gateRow is a line of the table of gates.
type gateRow struct {
	Run int
	Model
	Name string // of the run
	Elo  string
}

// WriteHTML writes the page.
func (r *Report) WriteHTML(w io.Writer) error {
	p := page{
		Runs: r.Runs, Tables: r.Tables, Several: len(r.Runs) > 1, Facts: facts(r.Runs), Differ: r.Differences, Settings: settings(r.Runs),
		Gates: gateRows(r.Runs), Title: "yinshzero: " + r.Runs[0].Name,
	}
	if p.Several {
		p.Title = fmt.Sprintf("yinshzero: %d runs", len(r.Runs))
	}
	for _, run := range r.Runs {
		p.Faults = p.Faults || len(run.Faults) > 0
		p.Missing = p.Missing || len(run.Missing) > 0
	}
	p.Sections = []section{r.strength(), r.training(), r.selfPlay(), r.openings()}
	return pageTemplate.Execute(w, p)
}

// facts are the first table.
func facts(runs []*Run) []fact {
	rows := []struct {
		name  string
		value func(r *Run) string
	}{
		{"variant", func(r *Run) string { return r.Config["variant"] }},
		{"network", func(r *Run) string { return r.Config["network.arch"] }},
		{"begun", func(r *Run) string {
			if r.Begun.IsZero() {
				return ""
			}
			return r.Begun.UTC().Format("2006-01-02 15:04 UTC")
		}},
		{"last figures after", func(r *Run) string {
			if t, ok := r.last(); ok {
				return time.Duration(t.Hours * float64(time.Hour)).Round(time.Second).String()
			}
			return ""
		}},
		{"games", func(r *Run) string {
			if r.Games.Total == 0 {
				return ""
			}
			return thousands(int64(r.Games.Total))
		}},
		{"training steps", func(r *Run) string {
			t, ok := r.last()
			if !ok {
				return ""
			}
			return thousands(t.Step)
		}},
		{"candidates promoted, rejected", func(r *Run) string {
			promoted, rejected := 0, 0
			for _, m := range r.Models {
				switch {
				case m.Promoted() && m.Step > 0:
					promoted++
				case m.Standing == "rejected":
					rejected++
				}
			}
			if len(r.Models) == 0 {
				return ""
			}
			return fmt.Sprintf("%d, %d", promoted, rejected)
		}},
		{"best model", func(r *Run) string {
			for _, m := range r.Models {
				if m.Standing == "best" {
					return fmt.Sprintf("%s… of step %s", m.ID[:min(8, len(m.ID))], thousands(m.Step))
				}
			}
			return ""
		}},
		{"its Elo over random", func(r *Run) string {
			for _, m := range r.Models {
				if m.Standing == "best" && m.Rating != nil {
					return elo(m.Rating.Elo, m.Rating.Low, m.Rating.High)
				}
			}
			return ""
		}},
		{"policy, value loss", func(r *Run) string {
			t, ok := r.last()
			if !ok {
				return ""
			}
			return fmt.Sprintf("%.3f, %.3f", t.Policy, t.Value)
		}},
		{"the same on games held out", func(r *Run) string {
			if len(r.HeldOut) == 0 {
				return ""
			}
			h := r.HeldOut[len(r.HeldOut)-1].HeldOut
			return fmt.Sprintf("%.3f, %.3f", h.Policy, h.Value)
		}},
		{"problems solved at 1, 32, 200", func(r *Run) string {
			if len(r.Problems) == 0 {
				return ""
			}
			l := r.Problems[len(r.Problems)-1]
			return fmt.Sprintf("%.0f %%, %.0f %%, %.0f %%", 100*l.Solved1, 100*l.Solved32, 100*l.Solved200)
		}},
	}
	var all []fact
	for _, row := range rows {
		f := fact{Name: row.name}
		for _, r := range runs {
			f.Values = append(f.Values, cmp.Or(row.value(r), "—"))
		}
		all = append(all, f)
	}
	return all
}

func (r *Run) last() (Training, bool) {
	if len(r.Training) == 0 {
		return Training{}, false
	}
	return r.Training[len(r.Training)-1], true
}

// elo writes a difference with its interval.
func elo(x, low, high float64) string {
	return fmt.Sprintf("%s [%s, %s]", signed(x), signed(low), signed(high))
}

func signed(x float64) string {
	if x = math.Round(x); x > 0 {
		return "+" + figure(x, 1)
	}
	return figure(x, 1)
}

// thousands writes n with thin spaces.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// maxGateRows bounds the table of gates, maxGateMarks their marks in the chart, by run.
const (
	maxGateRows  = 20
	maxGateMarks = 400
)

// gates are a run's newest models with a gate, at most so many.
func (r *Run) gates(most int) (list []Model) {
	for _, m := range r.Models {
		if m.Gate != nil {
			list = append(list, m)
		}
	}
	return list[max(0, len(list)-most):]
}

// verdict is what became of a model, in a word.
func (m *Model) verdict() string {
	if m.Promoted() {
		return "accepted"
	}
	if m.Standing == "rejected" {
		return "rejected"
	}
	return "on trial"
}

func gateRows(runs []*Run) (rows []gateRow) {
	for i, r := range runs {
		list := r.gates(maxGateRows)
		slices.Reverse(list)
		for _, m := range list {
			rows = append(rows, gateRow{i, m, r.Name, elo(m.Gate.Elo, m.Gate.Low, m.Gate.High)})
		}
	}
	return rows
}

// Verdict is what became of the gate's candidate.
func (g gateRow) Verdict() string { return g.verdict() }

// Record is the games won, drawn and lost.
func (g gateRow) Record() string {
	return fmt.Sprintf("+%d =%d −%d", g.Gate.Wins, g.Gate.Draws, g.Gate.Losses)
}

// curves makes one curve of every run.
func (r *Report) curves(points func(run *Run) []point) (list []curve) {
	for i, run := range r.Runs {
		list = append(list, curve{run: i, name: run.Name, line: true, points: points(run)})
	}
	return list
}

// marked is curves with marks on them.
func marked(list []curve) []curve {
	for i := range list {
		list[i].marks = true
	}
	return list
}

func (c chart) picture(keys ...key) picture {
	svg := c.svg()
	if len(c.curves) == 0 {
		keys = nil
	}
	return picture{Title: c.title, Note: c.note, Keys: keys, SVG: svg}
}

// clock is the unit of wall time that suits all runs, and how many of it an hour has.
func (r *Report) clock() (label string, per float64) {
	last := 0.0
	for _, run := range r.Runs {
		if t, ok := run.last(); ok {
			last = max(last, t.Hours)
		}
	}
	if last < 3 {
		return "minutes, pauses included", 60
	}
	return "hours, pauses included", 1
}

func (r *Report) strength() section {
	clock, per := r.clock()
	rated := func(x func(m Model) float64) []curve {
		return marked(r.curves(func(run *Run) (list []point) {
			for _, m := range run.Models {
				if g := m.Rating; g != nil && m.Promoted() {
					list = append(list, point{x: x(m), y: g.Elo, low: g.Low, high: g.High, tip: fmt.Sprintf("%s, %s of step %s: Elo %s, %d games",
						run.Name, m.ID, thousands(m.Step), elo(g.Elo, g.Low, g.High), g.Games)})
				}
			}
			return list
		}))
	}
	noElo := "no match against the player random, whose Elo is 0"
	var gated []curve
	for i, run := range r.Runs {
		k := curve{run: i, name: run.Name, marks: true}
		for _, m := range run.gates(maxGateMarks) {
			g := m.Gate
			k.points = append(k.points, point{x: float64(m.Step), y: g.Elo, low: g.Low, high: g.High, hollow: !m.Promoted(),
				tip: fmt.Sprintf("%s, %s of step %s: %s, Elo %s, +%d =%d −%d in %d pairs",
					run.Name, m.ID, thousands(m.Step), m.verdict(), elo(g.Elo, g.Low, g.High), g.Wins, g.Draws, g.Losses, g.Pairs)})
		}
		gated = append(gated, k)
	}
	var pairs []curve
	for _, k := range gated {
		k.points = slices.Clone(k.points)
		gates := r.Runs[k.run].gates(maxGateMarks)
		for i := range k.points {
			k.points[i].y, k.points[i].low, k.points[i].high = float64(gates[i].Gate.Pairs), 0, 0
		}
		pairs = append(pairs, k)
	}
	var solved []curve
	for i, run := range r.Runs {
		for d, share := range []func(l int) float64{
			func(l int) float64 { return run.Problems[l].Solved1 },
			func(l int) float64 { return run.Problems[l].Solved32 },
			func(l int) float64 { return run.Problems[l].Solved200 },
		} {
			k := curve{run: i, name: fmt.Sprintf("%s, %s", run.Name, solvedAt[d]), dash: 2 - d, line: true}
			for l := range run.Problems {
				k.points = append(k.points, point{x: float64(run.Problems[l].Step), y: 100 * share(l), tip: fmt.Sprintf("%s: %.0f %%", k.name, 100*share(l))})
			}
			slices.SortStableFunc(k.points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
			solved = append(solved, k)
		}
	}
	gateKeys := []key{{"full", "accepted", ""}, {"hollow", "rejected or on trial", ""}}
	return section{
		Title: "Strength",
		Note:  "Elo is relative to the player random at 0, from all matches of the run; bars are 95 % intervals, and the widest leave the picture.",
		Figures: []picture{
			chart{title: "Elo of promoted models against wall time", xLabel: clock, yLabel: "Elo", missing: noElo,
				curves: rated(func(m Model) float64 { return m.Hours * per })}.picture(),
			chart{title: "Elo of promoted models against games", xLabel: "games of self-play", yLabel: "Elo", missing: noElo,
				curves: rated(func(m Model) float64 { return float64(m.Games) })}.picture(),
			chart{title: "Gates", xLabel: "training step", yLabel: "Elo over the best model", curves: gated, missing: "no gate has been played",
				note: "Over all pairs that were played."}.picture(gateKeys...),
			chart{title: "Pairs in a gate", xLabel: "training step", yLabel: "pairs", curves: pairs, zero: true, missing: "no gate has been played"}.picture(gateKeys...),
			chart{title: "Problems solved", xLabel: "training step", yLabel: "% solved", curves: solved, bounds: solvedBounds(r.Runs),
				missing: "no promoted model has solved problems: there are some of the standard game and of blitz only",
				note:    "Late positions with a single winning Move, in the search of matches."}.picture(
				key{"line", solvedAt[2], ""}, key{"line", solvedAt[1], "5 3"}, key{"line", solvedAt[0], "1.5 3"}),
		},
	}
}

// solvedAt names the curves of problems solved.
var solvedAt = [...]string{"1 simulation", "32 simulations", "200 simulations"}

// solvedBounds shows all shares, and the steps there are.
func solvedBounds(runs []*Run) *[4]float64 {
	last := 1.0
	for _, r := range runs {
		for _, l := range r.Problems {
			last = max(last, float64(l.Step))
		}
	}
	return &[4]float64{0, last, 0, 100}
}

// heldKeys explain the lines of losses.
var heldKeys = []key{{"line", "training steps", ""}, {"line", "candidates, on games held out", "5 3"}}

func (r *Report) training() section {
	s := section{Title: "Training", Note: "Means over some steps. Candidates, which are averages of the weights, are measured on games that are never trained on."}
	none := "no training step is on record"
	steps := func(f func(t Training) float64) []curve {
		return r.curves(func(run *Run) (list []point) {
			for _, t := range run.Training {
				list = append(list, point{x: float64(t.Step), y: f(t), tip: fmt.Sprintf("%s: %s", run.Name, short(f(t)))})
			}
			return list
		})
	}
	held := func(name string, dash int, f func(h metrics.HeldOut) float64) []curve {
		list := r.curves(func(run *Run) (list []point) {
			for _, h := range run.HeldOut {
				list = append(list, point{x: float64(h.Step), y: f(h), tip: fmt.Sprintf("%s, %s: %s, %d games", run.Name, name, short(f(h)), h.Games)})
			}
			return list
		})
		for i := range list {
			list[i].name, list[i].dash = list[i].name+", "+name, dash
		}
		return list
	}
	loss := func(title, note, missing string, f func(l metrics.Losses) float64) {
		c := chart{title: title, xLabel: "training step", yLabel: "loss", note: note, missing: missing}
		c.curves = append(steps(func(t Training) float64 { return f(t.Losses) }), held("held out", 1, func(h metrics.HeldOut) float64 { return f(h.HeldOut) })...)
		var keys []key
		for i, k := range c.curves { // a head that is not there has no loss
			if !slices.ContainsFunc(k.points, func(p point) bool { return p.y != 0 }) {
				c.curves[i].points = nil
			} else if k.dash > 0 {
				keys = heldKeys
			}
		}
		s.Figures = append(s.Figures, c.picture(keys...))
	}
	absent := none + ", or no network with this head"
	loss("Loss", "The weighted sum of all.", none, func(l metrics.Losses) float64 { return l.Loss })
	loss("Policy loss", "", none, func(l metrics.Losses) float64 { return l.Policy })
	loss("Value loss", "", none, func(l metrics.Losses) float64 { return l.Value })
	gap := chart{title: "Overfitting", xLabel: "training step", yLabel: "difference in loss", missing: "no candidate was measured on games held out",
		note: "What a candidate costs more on games held out than on games trained on. What rises is learnt by heart."}
	gap.curves = append(held("policy", 0, func(h metrics.HeldOut) float64 { return h.HeldOut.Policy - h.Trained.Policy }),
		held("value", 1, func(h metrics.HeldOut) float64 { return h.HeldOut.Value - h.Trained.Value })...)
	s.Figures = append(s.Figures, gap.picture(key{"line", "policy", ""}, key{"line", "value", "5 3"}))
	loss("Loss of rings taken", "", absent, func(l metrics.Losses) float64 { return l.Rings })
	loss("Loss of the reply", "", absent, func(l metrics.Losses) float64 { return l.Reply })
	loss("Loss of ownership", "", absent, func(l metrics.Losses) float64 { return l.Ownership })
	loss("Loss of plies left", "", absent, func(l metrics.Losses) float64 { return l.Plies })
	s.Figures = append(s.Figures,
		chart{title: "Learning rate", xLabel: "training step", yLabel: "rate", zero: true, missing: none,
			curves: steps(func(t Training) float64 { return t.LearningRate })}.picture(),
		chart{title: "Window", xLabel: "training step", yLabel: "positions", note: "Positions that are trained on.", zero: true, missing: none,
			curves: steps(func(t Training) float64 { return float64(t.Window) })}.picture())
	return s
}

func (r *Report) selfPlay() section {
	s := section{Title: "Self-play"}
	for _, run := range r.Runs {
		if g := run.Games; g.Every > 1 {
			s.Note += fmt.Sprintf("Of %s every %dth shard was read: %s of %s games. ", run.Name, g.Every, thousands(int64(g.Read)), thousands(int64(g.Total)))
		}
	}
	clock, per := r.clock()
	pace := func(title, y string, f func(p Pace) float64) {
		s.Figures = append(s.Figures, chart{title: title, xLabel: clock, yLabel: y, zero: true,
			missing: "too few training steps to measure by",
			curves: r.curves(func(run *Run) (list []point) {
				for _, p := range run.Pace {
					list = append(list, point{x: p.Hours * per, y: f(p), tip: fmt.Sprintf("%s: %s", run.Name, short(f(p)))})
				}
				return list
			})}.picture())
	}
	pace("Games an hour", "games/h", func(p Pace) float64 { return 3600 * p.Games })
	pace("Positions a second", "positions/s", func(p Pace) float64 { return p.Positions })
	pace("Evaluations a second", "evaluations/s", func(p Pace) float64 { return p.Evaluations })
	pace("Training steps a second", "steps/s", func(p Pace) float64 { return p.Steps })
	games := func(title, y, note string, bounds *[4]float64, f func(s Span) float64) {
		s.Figures = append(s.Figures, chart{title: title, xLabel: "games of self-play", yLabel: y, note: note, bounds: bounds, missing: "no game is on record",
			curves: r.curves(func(run *Run) (list []point) {
				for _, x := range run.Games.Spans {
					list = append(list, point{x: x.middle(), y: f(x), tip: fmt.Sprintf("%s: %s", run.Name, short(f(x)))})
				}
				return list
			})}.picture())
	}
	games("Length of games", "plies", "", nil, func(s Span) float64 { return s.Plies })
	most := 1.0
	for _, run := range r.Runs {
		most = max(most, float64(run.Games.Total))
	}
	games("White's points", "% of the points", "Draws count half.", &[4]float64{0, most, 0, 100}, func(s Span) float64 { return 100 * s.White })
	calibrated := marked(r.curves(func(run *Run) (list []point) {
		for _, c := range run.Games.Calibration {
			list = append(list, point{x: c.Value, y: c.Result, low: c.Low, high: c.High, tip: fmt.Sprintf("%s: value %+.2f, result %+.2f, %s positions of %s games",
				run.Name, c.Value, c.Result, thousands(int64(c.Positions)), thousands(int64(c.Games)))})
		}
		return list
	}))
	s.Figures = append(s.Figures, chart{title: "Values against results", xLabel: "value of the search, White's view", yLabel: "mean result", curves: calibrated,
		bounds: &[4]float64{-1, 1, -1, 1}, diagonal: true, missing: "no searched position is on record",
		note: "The newest third of the games. On the diagonal values are right on average."}.picture())
	for i, run := range r.Runs {
		s.Figures = append(s.Figures, ends(i, run, len(r.Runs) > 1))
	}
	return s
}

// middle is the number in the middle of the span.
func (s Span) middle() float64 { return float64(s.First+s.until) / 2 }

// ends draws how a run's games end.
func ends(i int, run *Run, several bool) picture {
	p := picture{Title: "How games end"}
	if several {
		p.Title += ": " + run.Name
	}
	seen := map[int]bool{}
	var xs []float64
	for _, s := range run.Games.Spans {
		xs = append(xs, s.middle())
		for reason, n := range s.counts {
			if n > 0 {
				seen[reason] = true
			}
		}
	}
	var layers []layer
	for _, reason := range slices.Sorted(maps.Keys(seen)) {
		l := layer{name: reasonNames[reason]}
		for _, s := range run.Games.Spans {
			l.shares = append(l.shares, float64(s.counts[reason])/float64(s.Games))
		}
		p.Keys = append(p.Keys, key{fmt.Sprintf("q%d", len(layers)), l.name, ""})
		layers = append(layers, l)
	}
	p.SVG = stack(p.Title, i, xs, layers, "games of self-play", "% of the games", "too few games yet")
	return p
}

// reasonNames says how a game ended, by rules.Reason.
var reasonNames = [numReasons]string{"unfinished", "rings taken", "no markers left", "nobody can move", "resigned"}

func (r *Report) openings() section {
	s := section{Title: "Openings", Note: "Where searches put the first ring of each side, in the newest third of the games, as they were played: the stronger the colour, the more often. Point at a place for its share."}
	for i, run := range r.Runs {
		var counts [2]map[rules.Point]int
		counts[0], counts[1] = map[rules.Point]int{}, map[rules.Point]int{}
		for _, o := range run.Games.Openings {
			if p, err := rules.ParsePoint(o.Point); err == nil {
				counts[0][p], counts[1][p] = o.White, o.Black
			}
		}
		for side, name := range []string{"White's first ring", "Black's first ring"} {
			title := name
			if len(r.Runs) > 1 {
				title += ": " + run.Name
			}
			p := picture{Title: title}
			if run.Games.Read == 0 {
				p.SVG = emptyChart(title, "no game is on record")
			} else {
				p.SVG = heatMap(title, i, run.Games.variant, counts[side])
			}
			s.Figures = append(s.Figures, p)
		}
	}
	return s
}
