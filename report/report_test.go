package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"yinshzero/arena"
	"yinshzero/data"
	"yinshzero/metrics"
	"yinshzero/registry"
	"yinshzero/rules"
)

var noon = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newRun makes the directory of a run with two models, a gate, an anchor match, metrics, problems and games.
func newRun(t *testing.T, name, config string, steps int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	for _, d := range []string{"models", "matches", "metrics", "records"} {
		check(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	check(t, os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(config), 0o644))
	models, err := registry.Open(filepath.Join(dir, "models"))
	check(t, err)
	first, err := models.Add([]byte("first "+name), registry.Meta{Arch: "32x2p", Created: noon})
	check(t, err)
	check(t, models.Promote(first, registry.Verdict{At: noon, Reason: "random weights"}))
	second, err := models.Add([]byte("second "+name), registry.Meta{Step: 100, Arch: "32x2p", Created: noon.Add(30 * time.Minute), Parent: first})
	check(t, err)
	check(t, models.Promote(second, registry.Verdict{At: noon.Add(40 * time.Minute), Reason: "gate accepted"}))
	third, err := models.Add([]byte("third "+name), registry.Meta{Step: 200, Arch: "32x2p", Created: noon.Add(50 * time.Minute), Parent: second})
	check(t, err)
	check(t, models.Reject(third, registry.Verdict{At: noon.Add(55 * time.Minute), Reason: "no better <than> 0 & so"}))
	writeMatch(t, dir, "gate-2-1", "gate", "model:"+second.Short()+"@32", "model:"+first.Short()+"@32", 4)
	writeMatch(t, dir, "gate-3-2", "gate", "model:"+third.Short()+"@32", "model:"+second.Short()+"@32", 3)
	writeMatch(t, dir, "anchor-2-random", "anchor", "model:"+second.Short()+"@32", "random", 2)
	log := metrics.Open(filepath.Join(dir, "metrics"), false)
	for i := 1; i <= steps; i++ {
		check(t, log.Train(metrics.Train{
			Time: noon.Add(time.Duration(i) * 10 * time.Second), Step: int64(20 * i), Games: int64(10 * i), Positions: int64(700 * i), Window: 5000,
			LearningRate: 0.001, Losses: metrics.Losses{Loss: 3, Policy: 2 + 1/float64(i), Value: 0.9}, Evaluations: int64(20_000 * i),
		}))
	}
	for i := 1; i <= steps/10; i++ {
		check(t, log.HeldOut(metrics.HeldOut{
			Time: noon, Step: int64(200 * i), Games: 2,
			HeldOut: metrics.Losses{Loss: 4, Policy: 3, Value: 1}, Trained: metrics.Losses{Loss: 3.5, Policy: 2.75, Value: 0.5},
		}))
	}
	check(t, log.Problems(metrics.Problems{Time: noon, Model: second.String(), Step: 100, Problems: 100, Solved1: 0.2, Solved32: 0.3, Solved200: 0.4}))
	check(t, log.Close())
	writeShards(t, dir, 3, 4)
	return dir
}

func writeMatch(t *testing.T, dir, name, kind, a, b string, pairs int) {
	t.Helper()
	random, err := arena.Spec{Kind: arena.SpecRandom}.Maker(nil)
	check(t, err)
	var text []byte
	for i := range pairs {
		p, err := random()
		check(t, err)
		q, err := random()
		check(t, err)
		opening, games := arena.NewPair(rules.Mini(), 7, i)
		res, err := arena.PlayPair(t.Context(), p, q, rules.Mini(), games, opening)
		check(t, err)
		e := arena.Entry{Kind: kind, A: a, B: b, Variant: rules.Mini(), Seed: 7, Pair: i, Result: res}
		text, err = e.AppendText(text)
		check(t, err)
	}
	check(t, os.WriteFile(filepath.Join(dir, "matches", name+matchExtension), text, 0o644))
}

func writeShards(t *testing.T, dir string, shards, games int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	for range shards {
		var recs []*data.Record
		for range games {
			g := rules.RandomGame(rules.Mini(), rules.Uniform, rng)
			pos := rules.New(rules.Mini())
			rec := &data.Record{Variant: rules.Mini(), Seed: rng.Uint64()}
			for _, m := range g.Moves {
				p := data.Ply{Move: m, Kind: data.Fast, Value: 0.25}
				if pos.NumMoves() == 1 {
					p.Kind, p.Value = data.Forced, 0
				}
				rec.Plies = append(rec.Plies, p)
				pos.Play(m)
			}
			rec.Result, _ = pos.Result()
			rec.Final = pos.Hash()
			recs = append(recs, rec)
		}
		path, err := data.NextShard(filepath.Join(dir, "records"), "")
		check(t, err)
		_, err = data.WriteShard(path, recs)
		check(t, err)
	}
}

func read(t *testing.T, dir string) *Run {
	t.Helper()
	r, err := Read(dir, Params{MaxGames: 1000})
	check(t, err)
	return r
}

// draw writes the page and checks that it is well-formed, has no figure that is none, and asks the network for nothing.
func draw(t *testing.T, runs ...*Run) (text string) {
	t.Helper()
	return drawReport(t, New(runs...))
}

func drawReport(t *testing.T, r *Report) (text string) {
	t.Helper()
	var b bytes.Buffer
	check(t, r.WriteHTML(&b))
	d := xml.NewDecoder(bytes.NewReader(b.Bytes()))
	ids := map[string]bool{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range e.Attr {
			switch a.Name.Local {
			case "src", "href":
				t.Errorf("%s refers to %s", e.Name.Local, a.Value)
			case "id":
				if ids[a.Value] {
					t.Errorf("the id %s is there twice", a.Value)
				}
				ids[a.Value] = true
			case "x", "y", "cx", "cy", "r", "x1", "x2", "y1", "y2", "width", "height":
				if x, err := strconv.ParseFloat(a.Value, 64); e.Name.Space == "" && (err != nil || math.Abs(x) > 1e5) {
					t.Errorf("%s of %s is %q", a.Name.Local, e.Name.Local, a.Value)
				}
			}
		}
	}
	text = b.String()
	for _, bad := range []string{"NaN", "Inf", "ZgotmplZ", "http:", "https:", "@import", "url("} {
		if strings.Contains(strings.ReplaceAll(text, "http://www.w3.org/1999/xhtml", ""), bad) {
			t.Errorf("the page holds %q", bad)
		}
	}
	return text
}

const config = "variant: mini\nsearch:\n  simulations: 32\nanchors:\n  players: [random, greedy]\n"

func TestFigures(t *testing.T) {
	r := read(t, newRun(t, "one", config, 30))
	if len(r.Missing) > 0 || len(r.Faults) > 0 {
		t.Errorf("missing %q, faults %q: want none", r.Missing, r.Faults)
	}
	if got := r.Config["anchors.players"]; got != "random, greedy" || r.Config["search.simulations"] != "32" {
		t.Errorf("configuration %v", r.Config)
	}
	if n := len(r.Models); n != 3 {
		t.Fatalf("%d models, want 3", n)
	}
	m := r.Models[1]
	if m.Step != 100 || m.Hours != 0.5 || m.Games != 50 || !m.Promoted() || m.Gate == nil || m.Gate.Pairs != 4 || m.Rating == nil {
		t.Errorf("second model %+v", m)
	}
	if g := m.Gate; g.Wins+g.Draws+g.Losses != 8 || g.Low > g.Elo || g.Elo > g.High {
		t.Errorf("its gate %+v", g)
	}
	if r.Models[2].Promoted() || r.Models[2].verdict() != "rejected" || r.Models[2].Games != 100 {
		t.Errorf("third model %+v", r.Models[2])
	}
	if len(r.Anchors) != 1 || r.Anchors[0].Name != "random" || r.Anchors[0].Elo != 0 {
		t.Errorf("anchors %+v", r.Anchors)
	}
	if n := len(r.Training); n != 30 || r.Training[29].Step != 600 || r.Training[29].Policy != 2+1.0/30 {
		t.Errorf("%d points of training, the last %+v", n, r.Training[n-1])
	}
	if n := len(r.HeldOut); n != 3 || r.HeldOut[2].Step != 600 || r.HeldOut[2].HeldOut.Policy != 3 || r.HeldOut[2].Trained.Value != 0.5 {
		t.Errorf("%d candidates measured, the last %+v", n, r.HeldOut[n-1])
	}
	for _, p := range r.Pace {
		if math.Abs(p.Games-1) > 1e-9 || math.Abs(p.Evaluations-2000) > 1e-6 || math.Abs(p.Steps-2) > 1e-9 {
			t.Errorf("pace %+v: want 1 game, 2,000 evaluations and 2 steps a second", p)
		}
	}
	g := r.Games
	ends, games := 0, 0
	for _, s := range g.Spans {
		games += s.Games
		for _, n := range s.Ends {
			ends += n
		}
		if s.Plies < 10 || s.White < 0 || s.White > 1 {
			t.Errorf("span %+v", s)
		}
	}
	if g.Total != 12 || g.Read != 12 || games != 12 || ends != 12 || g.Every != 1 {
		t.Errorf("games %+v in the spans %d with %d ends: want 12", g, games, ends)
	}
	white, black := 0, 0
	for _, o := range g.Openings {
		white, black = white+o.White, black+o.Black
	}
	if white != 4 || black != 4 {
		t.Errorf("%d and %d first rings, want those of the newest 4 games", white, black)
	}
	if len(g.Calibration) != 1 || math.Abs(g.Calibration[0].Value-0.25) > 1e-4 || g.Calibration[0].Games != 4 {
		t.Errorf("calibration %+v: want one bin of the 4 games of the last shard", g.Calibration)
	}
}

func TestPage(t *testing.T) {
	text := draw(t, read(t, newRun(t, "one", config, 30)))
	for _, want := range []string{
		`prefers-color-scheme:dark`, `aria-label="Policy loss"`, `aria-label="Gates"`, `aria-label="Overfitting"`, `data-name="one, held out"`, `aria-label="How games end"`,
		`no better &lt;than&gt; 0 &amp; so`, `>search.simulations<`, `rejected`, `in 4 pairs`, `no data: no training step is on record, or no network with this head`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
	if strings.Contains(text, "What differs") || strings.Contains(text, "Damaged") {
		t.Error("one sound run differs from none and is not damaged")
	}
	if n := strings.Count(text, `class="heat"`); n != 2*31 {
		t.Errorf("%d Points with a colour, want those of two small boards", n)
	}
}

func TestSeveralRuns(t *testing.T) {
	a := newRun(t, "same", config, 30)
	b := newRun(t, "same", strings.Replace(config, "32", "64", 1)+"seed: 7\n", 500)
	runs := []*Run{read(t, a), read(t, b)}
	report := New(runs...)
	want := []Difference{{"search.simulations", []string{"32", "64"}}, {"seed", []string{"", "7"}}}
	if fmt.Sprint(report.Differences) != fmt.Sprint(want) {
		t.Errorf("differences %v, want %v", report.Differences, want)
	}
	if runs[0].Name == runs[1].Name {
		t.Errorf("two runs of the name %s", runs[0].Name)
	}
	text := draw(t, runs...)
	for _, want := range []string{"What differs", `class="run r0 d0"`, `class="run r1 d0"`, "2 runs"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
	b2, err := json.Marshal(report)
	check(t, err)
	var back Report
	check(t, json.Unmarshal(b2, &back))
	if len(back.Runs) != 2 || back.Runs[1].Training[0].Policy != runs[1].Training[0].Policy {
		t.Error("the JSON does not come back")
	}
	for i := len(runs); i < MaxRuns; i++ {
		runs = append(runs, read(t, a))
	}
	draw(t, runs...)
}

// A run that has only just begun has a page that says so.
func TestEmptyRun(t *testing.T) {
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "config.yaml"), nil, 0o644))
	r := read(t, dir)
	if len(r.Faults) > 0 {
		t.Errorf("faults %q: want none", r.Faults)
	}
	if len(r.Missing) < 4 {
		t.Errorf("missing %q: want models, matches, training, problems and games", r.Missing)
	}
	text := draw(t, r)
	if strings.Contains(text, `class="chart"`) {
		t.Error("a chart of nothing")
	}
	if n := strings.Count(text, "no data:"); n < 20 {
		t.Errorf("%d pictures say that they have no data", n)
	}
	b, err := json.Marshal(New(r))
	check(t, err)
	if bytes.Contains(b, []byte("null,")) {
		t.Errorf("lists are [] and not null: %s", b)
	}
	draw(t, r, read(t, newRun(t, "one", config, 1)))
}

func TestDamagedFiles(t *testing.T) {
	dir := newRun(t, "one", config, 3)
	spoil := func(name string, change func([]byte) []byte) {
		path := filepath.Join(dir, name)
		b, err := os.ReadFile(path)
		check(t, err)
		check(t, os.WriteFile(path, change(b), 0o644))
	}
	spoil("config.yaml", func(b []byte) []byte { return append(b, "\t: <b>"...) })
	spoil("models/registry.log", func(b []byte) []byte { b[30] ^= 1; return b })
	spoil("matches/gate-2-1.pairs", func(b []byte) []byte { return append([]byte("rubbish\n"), b...) })
	spoil("metrics/train.jsonl", func(b []byte) []byte { return append([]byte("<rubbish>\n"+strings.Repeat("x\n", 9)), b...) })
	spoil("metrics/problems.jsonl", func(b []byte) []byte { return append([]byte("{}}\n"), b...) })
	spoil("records/00000002.shard", func(b []byte) []byte { b[100] ^= 1; return b })
	check(t, os.WriteFile(filepath.Join(dir, "records/00000003.shard"), []byte("no shard"), 0o644))
	r := read(t, dir)
	for _, want := range []string{
		"config.yaml", "registry.log", "gate-2-1.pairs: line 1", "train.jsonl:1:", "train.jsonl: 5 faults more", "problems.jsonl:1:",
		"00000002.shard", "00000003.shard",
	} {
		if n := len(slices.DeleteFunc(slices.Clone(r.Faults), func(f string) bool { return !strings.Contains(f, want) })); n != 1 {
			t.Errorf("%d faults with %s, want 1: %q", n, want, r.Faults)
		}
	}
	if len(r.Training) != 3 || len(r.Problems) != 1 || r.Games.Read != 4 {
		t.Errorf("%d points of training, %d of problems, %d games: want what is sound", len(r.Training), len(r.Problems), r.Games.Read)
	}
	if text := draw(t, r); !strings.Contains(text, "Damaged") || !strings.Contains(text, "00000003.shard") {
		t.Error("the page does not name what is damaged")
	}
}

func TestNoRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(file, nil, 0o644))
	for _, dir := range []string{"nowhere", t.TempDir(), file} {
		if r, err := Read(dir, Params{MaxGames: 1}); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: got %v and %v, want an error with its name", dir, r, err)
		}
	}
	if _, err := Read(t.TempDir(), Params{}); err == nil || !strings.Contains(err.Error(), "max games is 0") {
		t.Errorf("got %v, want that no games are too few", err)
	}
}

// A run that stood still between two processes was not slow.
func TestPaceLeavesBreaksOut(t *testing.T) {
	dir := newRun(t, "one", config, 0)
	log := metrics.Open(filepath.Join(dir, "metrics"), false)
	at := noon
	for process := range 2 {
		at = at.Add(10 * time.Hour)
		for i := range 50 {
			at = at.Add(time.Second)
			n := int64(50*process + i)
			check(t, log.Train(metrics.Train{Time: at, Step: 20 * n, Games: 3 * n, Evaluations: int64(1000 * i)}))
		}
	}
	r := read(t, dir)
	seconds := 0.0
	for _, p := range r.Pace {
		seconds += p.Seconds
		if math.Abs(p.Games-3) > 1e-9 || math.Abs(p.Evaluations-1000) > 1e-6 {
			t.Errorf("pace %+v: want 3 games and 1,000 evaluations a second", p)
		}
	}
	if math.Abs(seconds-98) > 1e-6 || len(r.Pace) > maxPace {
		t.Errorf("%v seconds in %d points, want 98 in at most %d", seconds, len(r.Pace), maxPace)
	}
}

func TestLongRunsAreSampled(t *testing.T) {
	dir := newRun(t, "one", config, 5000)
	writeShards(t, dir, 17, 4) // 80 games in 20 shards
	r, err := Read(dir, Params{MaxGames: 20})
	check(t, err)
	if n := len(r.Training); n > maxTraining || n < maxTraining/2 || r.Training[n-1].Step != 100_000 {
		t.Errorf("%d points, the last %+v", n, r.Training[n-1])
	}
	if n := len(r.HeldOut); n > maxTraining || n < maxTraining/2 || r.HeldOut[n-1].Step != 100_000 || math.Abs(r.HeldOut[0].HeldOut.Policy-3) > 1e-9 {
		t.Errorf("%d candidates measured, the last %+v", n, r.HeldOut[n-1])
	}
	if g := r.Games; g.Total != 80 || g.Read != 20 || g.Every != 4 || g.Spans[len(g.Spans)-1].First < 60 {
		t.Errorf("games %+v: want 20 of 80, up to the newest", g)
	}
	if text := draw(t, r); !strings.Contains(text, "every 4th shard was read: 20 of 80 games") {
		t.Error("the page does not say how much was read")
	}
}

func TestSampler(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 8, 9, 16, 17, 100, 1001} {
		s := newSampler(8, each[int], func(into *int, next int) { *into += next })
		for range n {
			s.add(1)
		}
		sum := 0
		all := s.all()
		for _, b := range all {
			sum += b
		}
		if sum != n || len(all) > 8 || n >= 8 && len(all) < 4 {
			t.Errorf("%d items are %d in %v", n, sum, all)
		}
	}
}

func TestFigure(t *testing.T) {
	for _, c := range []struct {
		x, step float64
		want    string
	}{
		{0, 0.5, "0"}, {-0.0001, 1, "0"}, {1.5, 0.5, "1.5"}, {-1, 0.5, "−1.0"}, {20_000, 10_000, "20k"}, {5000, 5000, "5000"},
		{12_500, 2500, "12.5k"}, {3e6, 1e6, "3M"}, {0.0005, 0.0005, "0.0005"}, {1200, 100, "1200"},
	} {
		if got := figure(c.x, c.step); got != c.want {
			t.Errorf("%v in steps of %v is %q, want %q", c.x, c.step, got, c.want)
		}
	}
	if got := thousands(-1234567); got != "-1\u202f234\u202f567" {
		t.Errorf("got %q", got)
	}
}

// Ticks lie in the scale, are round, and neither too few nor too many, whatever the figures.
func TestScales(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		size := math.Pow(10, 12*rng.Float64()-6)
		c := chart{title: "t", zero: rng.IntN(2) == 0, curves: []curve{{line: true, marks: rng.IntN(2) == 0}}}
		for range 1 + rng.IntN(5) {
			y := size * (rng.Float64() - 0.5)
			c.curves[0].points = append(c.curves[0].points, point{x: size * rng.Float64(), y: y, low: y - size*rng.Float64()*100, high: y + size})
		}
		x, y := c.scales()
		for _, s := range []scale{x, y} {
			ticks, step := s.steps(yTickSpace)
			if len(ticks) < 2 || len(ticks) > 12 || !(s.to > s.from) {
				t.Fatalf("%+v: ticks %v in steps of %v", s, ticks, step)
			}
			for _, tick := range ticks {
				if p := (s.pixel(tick) - s.at) / s.length; p < -1e-6 || p > 1+1e-6 {
					t.Fatalf("%+v: tick %v lies outside", s, tick)
				}
			}
		}
		for _, p := range c.curves[0].points {
			if y.pixel(p.y) < plotTop-1e-6 || y.pixel(p.y) > chartHigh-plotBottom+1e-6 {
				t.Fatalf("a point at %v lies outside %+v", p.y, y)
			}
		}
		if text := string(c.svg()); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Fatal(text)
		}
	}
}

// What is no number is a gap.
func TestGap(t *testing.T) {
	c := chart{title: "t", curves: []curve{{line: true, points: []point{{x: 0, y: 1}, {x: 1, y: 2}, {x: 2, y: math.NaN()}, {x: 3, y: 1}, {x: 4, y: 1}}}}}
	text := string(c.svg())
	if n := strings.Count(text, "<polyline"); n != 2 {
		t.Errorf("%d lines, want 2: %s", n, text)
	}
	if regexp.MustCompile(`points=" `).MatchString(text) {
		t.Error(text)
	}
}

// A chart that begins at 0 does so however far from it its figures are. Wide bars leave a picture, figures never.
func TestZero(t *testing.T) {
	for _, points := range [][]point{
		{{x: 0, y: 2900}, {x: 1, y: 1440}},
		{{x: 0, y: 1e6}},
		{{x: 0, y: 700, low: 600, high: 800}, {x: 1, y: 710, low: -5000, high: 5000}},
	} {
		c := chart{zero: true, curves: []curve{{marks: true, points: points}}}
		if _, y := c.scales(); y.from != 0 && points[0].low == 0 || y.from > 0 || y.to > 2*points[0].y {
			t.Errorf("%v: the axis goes from %v to %v", points, y.from, y.to)
		}
	}
}

// Marks without a line, such as gates, do not stand on the axis.
func TestMarksKeepOffTheAxes(t *testing.T) {
	points := []point{{x: 1500, y: 3}, {x: 4500, y: 4}}
	marks := chart{curves: []curve{{marks: true, points: points}}}
	if x, _ := marks.scales(); x.pixel(1500)-x.at < markRadius || x.at+x.length-x.pixel(4500) < markRadius {
		t.Errorf("marks at %v and %v of %+v", x.pixel(1500), x.pixel(4500), x)
	}
	line := chart{curves: []curve{{line: true, points: points}}}
	if x, _ := line.scales(); x.pixel(1500) != x.at || x.pixel(4500) != x.at+x.length {
		t.Errorf("a line is drawn from %v to %v of %+v", x.pixel(1500), x.pixel(4500), x)
	}
}

// Kinds of lines are explained where they are drawn.
func TestKeysOfHeldOut(t *testing.T) {
	const key = "candidates, on games held out"
	if n := strings.Count(draw(t, read(t, newRun(t, "one", config, 5))), key); n != 0 {
		t.Errorf("%d pictures explain losses on games held out, which there are none of", n)
	}
	if n := strings.Count(draw(t, read(t, newRun(t, "one", config, 30))), key); n != 3 {
		t.Errorf("%d pictures explain losses on games held out, want those of three losses", n)
	}
}

// The rules for narrow screens come after those that they change, else they change nothing.
func TestNarrowRulesComeLast(t *testing.T) {
	narrow := strings.Index(pageText, "@media (max-width:600px)")
	if end := strings.Index(pageText, "</style>"); narrow < 0 || strings.Count(pageText[narrow:end], "\n") > 2 {
		t.Errorf("the rules for narrow screens stand at %d, the style ends at %d", narrow, end)
	}
}

// Openings are those that the run plays now, as values are.
func TestOpeningsAreNew(t *testing.T) {
	r := read(t, newRun(t, "one", config, 3))
	white := 0
	for _, o := range r.Games.Openings {
		white += o.White
	}
	if white != 4 {
		t.Errorf("%d first rings: want those of the newest 4 games of 12", white)
	}
}
