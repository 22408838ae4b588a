package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"yinshzero/arena"
	"yinshzero/metrics"
	"yinshzero/registry"
	"yinshzero/report"
	"yinshzero/rules"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestBudget(t *testing.T) {
	p := Progress{Seconds: 60, Games: 10, Positions: 700}
	for _, tt := range []struct {
		name string
		in   Budget
		want bool
	}{
		{"none", Budget{}, false},
		{"time", Budget{Time: time.Minute}, true},
		{"more time", Budget{Time: time.Minute + 1}, false},
		{"games", Budget{Games: 10}, true},
		{"more games", Budget{Games: 11}, false},
		{"positions", Budget{Positions: 700}, true},
		{"more positions", Budget{Positions: 701}, false},
		{"the first", Budget{Time: time.Hour, Games: 10, Positions: 10_000}, true},
		{"none of three", Budget{Time: time.Hour, Games: 11, Positions: 10_000}, false},
	} {
		if got := tt.in.Spent(p); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

func TestProgressComesBack(t *testing.T) {
	dir := t.TempDir()
	if p, err := ReadProgress(dir); err != nil || p != (Progress{}) {
		t.Errorf("a run that has not begun: %+v, %v", p, err)
	}
	want := Progress{Seconds: 1.5, Games: 2, Positions: 1 << 40, Evaluations: 4, Steps: 5}
	check(t, want.Write(dir))
	if p, err := ReadProgress(dir); err != nil || p != want {
		t.Errorf("got %+v, %v, want %+v", p, err, want)
	}
	check(t, os.WriteFile(filepath.Join(dir, progressName), []byte("{"), 0o644))
	if _, err := ReadProgress(dir); err == nil || !strings.Contains(err.Error(), progressName) {
		t.Errorf("got %v, want an error that names the file", err)
	}
}

func fixed(t *testing.T, text string) Player {
	t.Helper()
	spec, err := arena.ParseSpec(text)
	check(t, err)
	maker, err := spec.Maker(nil)
	check(t, err)
	return Player{spec, maker}
}

// A match that is on file is not played again, unless it has fewer pairs or another seed; a part of one is never on file.
func TestMatchIsPlayedOnce(t *testing.T) {
	made := 0
	counted := func(p Player) Player {
		maker := p.Make
		p.Make = func() (arena.Player, error) { made++; return maker() }
		return p
	}
	m := Match{Dir: filepath.Join(t.TempDir(), "matches"), A: counted(fixed(t, "greedy")), B: fixed(t, "random"), Match: arena.Match{Variant: rules.Mini(), Seed: 3, Pairs: 4}}
	play := func(m Match, want int) arena.Score {
		t.Helper()
		made = 0
		s, err := m.Play(t.Context())
		if err != nil || s.N() != m.Match.Pairs || made != want {
			t.Fatalf("score %+v, %v, %d players made, want %d", s, err, made, want)
		}
		return s
	}
	first := play(m, 1)
	if again := play(m, 0); again != first {
		t.Errorf("first %+v, from the file %+v", first, again)
	}
	longer := m
	longer.Match.Pairs = 6
	long := play(longer, 1)
	if shorter := play(m, 0); shorter != first || long.Wins < first.Wins {
		t.Errorf("the first four pairs of six are %+v, want %+v", shorter, first)
	}
	other := m
	other.Match.Seed = 4
	play(other, 1)
	play(m, 1)

	path := m.path()
	check(t, os.WriteFile(path, []byte("rubbish\n"), 0o644))
	if _, err := m.Play(t.Context()); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "delete the file") {
		t.Errorf("got %v, want an error that names the file and the remedy", err)
	}
	check(t, os.Remove(path))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Play(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want to be interrupted", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a match broken off is on file: %v", err)
	}
}

// Players of different names have different files, on every file system.
func TestMatchPaths(t *testing.T) {
	seen := map[string]string{}
	for _, a := range []string{"random", "uct:100", "model:0123456789ab@64", "model:0123456789ab@32", "model:0123456789ab"} {
		for _, b := range []string{"greedy", "uct:100", "uct:10", "model:fedcba987654@64"} {
			x, err := arena.ParseSpec(a)
			check(t, err)
			y, err := arena.ParseSpec(b)
			check(t, err)
			path := Match{A: Player{Spec: x}, B: Player{Spec: y}}.path()
			if was := seen[path]; was != "" || strings.ContainsAny(path, `:@*?"<>|\/`) {
				t.Errorf("%s against %s is in %s, and so is %q", a, b, path, was)
			}
			seen[path] = a + " against " + b
		}
	}
}

// newRun makes the directory of a run with a best model, a rejected one, and a candidate measured on games held out.
func newRun(t *testing.T, p Progress) string {
	t.Helper()
	noon := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	for _, d := range []string{"models", "metrics"} {
		check(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	check(t, os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("variant: mini\n"), 0o644))
	models, err := registry.Open(filepath.Join(dir, "models"))
	check(t, err)
	for i, text := range []string{"first", "second", "third"} {
		id, err := models.Add([]byte(text), registry.Meta{Step: int64(100 * i), Created: noon})
		check(t, err)
		if i < 2 {
			check(t, models.Promote(id, registry.Verdict{At: noon, Reason: "stronger"}))
		} else {
			check(t, models.Reject(id, registry.Verdict{At: noon, Reason: "weaker"}))
		}
	}
	log := metrics.Open(filepath.Join(dir, "metrics"), false)
	for step := range int64(3) {
		check(t, log.HeldOut(metrics.HeldOut{Time: noon, Step: 100 * step, HeldOut: metrics.Losses{Policy: 3 - float64(step)}, Trained: metrics.Losses{Value: 0.5}}))
	}
	check(t, log.Close())
	check(t, p.Write(dir))
	return dir
}

func TestRead(t *testing.T) {
	p := Progress{Seconds: 1800, Games: 1000, Positions: 40_000, Evaluations: 900_000, Steps: 300}
	params := report.Params{MaxGames: 1}
	r := Run{"wide", 7}
	o, curves := r.Read(newRun(t, p), params, Budget{Games: 1000})
	want := Outcome{
		Name: "wide-7", Configuration: "wide", Seed: 7, Finished: true, Progress: p, GamesPerHour: 2000, EvaluationsPerSecond: 500,
		Promoted: 1, Rejected: 1, Best: registry.IDOf([]byte("second")).Short(), BestStep: 100, HeldOut: o.HeldOut,
	}
	if !reflect.DeepEqual(o, want) || o.HeldOut == nil || o.HeldOut.Step != 200 || o.HeldOut.HeldOut.Policy != 1 || curves == nil {
		t.Errorf("got %+v, want %+v", o, want)
	}
	if o, _ := r.Read(newRun(t, p), params, Budget{Games: 1001}); o.Finished || o.Error != "" {
		t.Errorf("a run under way: %+v", o)
	}
	if o, curves := r.Read(t.TempDir(), params, Budget{Games: 1}); o.Finished || curves != nil || !strings.Contains(o.Error, "holds no run") {
		t.Errorf("no run: %+v, %v", o, curves)
	}
	dir := newRun(t, p)
	check(t, os.RemoveAll(filepath.Join(dir, "models")))
	if o, _ := r.Read(dir, params, Budget{Games: 1}); o.Finished || o.Error == "" {
		t.Errorf("a run without models: %+v", o)
	}
}

// score is that of so many pairs, by A's half points in them, all games decided.
func score(pairs ...int) (s arena.Score) {
	copy(s.Pairs[:], pairs)
	for halves, n := range s.Pairs {
		s.Wins += n * (halves / 2)
		s.Draws += n * (halves % 2)
		s.Losses += n * (2 - halves/2 - halves%2)
	}
	return s
}

// fabricated is a sweep of three configurations with two seeds, of which one run has failed.
func fabricated() ([]Outcome, []Played) {
	outcome := func(name string, seed uint64, x float64) Outcome {
		return Outcome{
			Name: Run{name, seed}.Name(), Configuration: name, Seed: seed, Finished: true,
			Progress:     Progress{Seconds: 3600 * x, Games: int64(4000 * x), Positions: int64(300_000 * x), Evaluations: int64(7e6 * x * x), Steps: int64(5000 * x)},
			GamesPerHour: 4000, EvaluationsPerSecond: 2000 * x, Promoted: int(10 * x), Rejected: 3, Best: "0123456789ab", BestStep: int64(4500 * x),
			HeldOut: &metrics.HeldOut{HeldOut: metrics.Losses{Policy: 1.5 / x, Value: 0.8 * x}, Trained: metrics.Losses{Policy: 1.25, Value: 0.5}},
		}
	}
	failed := Outcome{Name: "wide-2", Configuration: "wide", Seed: 2, Error: "no room", Progress: Progress{Seconds: 36, Games: 50}}
	unmeasured := outcome("bare", 2, 0.75)
	unmeasured.HeldOut = nil
	runs := []Outcome{outcome("plain", 1, 1), outcome("wide", 1, 1.25), outcome("bare", 1, 0.8), outcome("plain", 2, 1.1), failed, unmeasured}
	matches := []Played{
		{"plain-1", "random", score(0, 0, 0, 2, 8)}, {"wide-1", "random", score(0, 0, 0, 0, 10)}, {"bare-1", "random", score(0, 1, 2, 3, 4)},
		{"plain-2", "random", score(0, 0, 1, 1, 8)}, {"bare-2", "random", score(0, 0, 3, 0, 7)}, {"plain-1", "uct:100", score(1, 0, 4, 1, 4)},
		{"plain-1", "wide-1", score(3, 2, 4, 1, 0)}, {"plain-1", "bare-1", score(1, 1, 3, 2, 3)}, {"wide-1", "bare-1", score(0, 0, 4, 1, 5)},
		{"plain-2", "bare-2", score(0, 1, 5, 3, 1)},
	}
	return runs, matches
}

// The table of fabricated runs, to the letter: as text and as Markdown.
func TestTables(t *testing.T) {
	r, err := New(fabricated())
	check(t, err)
	var b bytes.Buffer
	for _, table := range r.Tables() {
		for _, row := range table.Rows {
			if len(row) != len(table.Columns) {
				t.Errorf("%s: %d cells in %d columns", table.Title, len(row), len(table.Columns))
			}
		}
		check(t, table.WriteText(&b))
		b.WriteByte('\n')
	}
	for _, table := range r.Tables() {
		check(t, table.WriteMarkdown(&b))
		b.WriteByte('\n')
	}
	path := filepath.Join("testdata", "tables.golden")
	if *update {
		check(t, os.WriteFile(path, b.Bytes(), 0o644))
	}
	want, err := os.ReadFile(path)
	check(t, err)
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
	text, err := json.Marshal(r)
	check(t, err)
	var back Results
	check(t, json.Unmarshal(text, &back))
	if !reflect.DeepEqual(back, *r) {
		t.Error("the JSON does not come back")
	}
}

// Means, errors and duels are worked out by hand.
func TestFigures(t *testing.T) {
	r, err := New(fabricated())
	check(t, err)
	plain, wide, bare := r.Configurations[0], r.Configurations[1], r.Configurations[2]
	near := func(name string, got Mean, mean, stderr float64, n int) {
		t.Helper()
		if math.Abs(got.Mean-mean) > 1e-9*math.Abs(mean) || math.Abs(got.Error-stderr) > 1e-9*math.Abs(mean) || got.N != n {
			t.Errorf("%s is %+v, want %v ± %v over %d", name, got, mean, stderr, n)
		}
	}
	// Of two figures a and b the standard error is |a − b|/2.
	near("policy loss of plain", plain.Policy, (1.5+1.5/1.1)/2, (1.5-1.5/1.1)/2, 2)
	near("games of plain", plain.Games, 4200, 200, 2)
	near("value loss of wide", wide.Value, 1, 0, 1)
	near("value loss of bare", bare.Value, 0.64, 0, 1)
	near("steps of bare", bare.Steps, 3875, 125, 2)
	if wide.Runs != 2 || wide.Finished != 1 || wide.Rating == nil || plain.Rating != nil || plain.Elo.N != 2 || wide.Elo.Mean != wide.Rating.Elo {
		t.Errorf("plain %+v, wide %+v", plain, wide)
	}
	if len(r.Duels) != 3 || len(r.Anchors) != 2 || r.Runs[4].Rating != nil || r.Runs[0].Rating == nil {
		t.Fatalf("%d duels, %d fixed players, runs %+v", len(r.Duels), len(r.Anchors), r.Runs)
	}
	d := r.Duels[1] // plain and bare, both seeds
	e := score(1, 2, 8, 5, 4).Elo()
	if d.A != "plain" || d.B != "bare" || d.Pairs != 20 || d.Wins != 15+6 || d.BySeeds.N != 2 || d.Elo != e.Elo || d.Low != e.Low || d.High != e.High {
		t.Errorf("got %+v, want %+v", d, e)
	}
	a, b := score(1, 1, 3, 2, 3).Elo().Elo, score(0, 1, 5, 3, 1).Elo().Elo
	near("plain over bare", d.BySeeds, (a+b)/2, math.Abs(a-b)/2, 2)
	if r.Duels[0].BySeeds.N != 1 || r.Duels[0].Elo >= 0 {
		t.Errorf("plain against wide: %+v", r.Duels[0])
	}
	if r, err := New(nil, nil); err != nil || len(r.Tables()) != 2 {
		t.Errorf("nothing: %+v, %v", r, err)
	}
	if _, err := New(nil, []Played{{"a", "b", score(0, 0, 1)}}); err == nil {
		t.Error("ratings without the player random")
	}
}

// The error of n equal spreads is the known one: of 1 … 5 the deviation is √2.5, the error √(2.5/5).
func TestMean(t *testing.T) {
	if m := meanOf([]float64{1, 2, 3, 4, 5}); m.Mean != 3 || math.Abs(m.Error-math.Sqrt(0.5)) > 1e-12 || m.N != 5 {
		t.Errorf("got %+v", m)
	}
	if m := meanOf(nil); m != (Mean{}) {
		t.Errorf("got %+v", m)
	}
	for m, want := range map[Mean]string{
		{}: "—", {Mean: -3.25, N: 1}: "−3.25", {Mean: 12.345, Error: 0.5, N: 2}: "12.35 ± 0.50", {Mean: 0.001, N: 1}: "0.00",
	} {
		if got := m.text(2, false); got != want {
			t.Errorf("%+v is %q, want %q", m, got, want)
		}
	}
	if got := (Mean{Mean: 12.6, Error: 3, N: 3}).text(0, true); got != "+13 ± 3" {
		t.Errorf("got %q", got)
	}
}
