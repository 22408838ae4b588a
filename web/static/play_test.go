package static

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"yinshzero/engine"
	"yinshzero/net"
	"yinshzero/rules"
	"yinshzero/web/desk"
)

// weightsVariable names a model with which the comparison is made as well: a safetensors file.
const weightsVariable = "YINSHZERO_WEB_MODEL"

// needWorker skips the test where the worker cannot be run without a browser.
func needWorker(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the page's worker")
	}
	if _, err := embedded.ReadFile("built/" + program); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no WebAssembly, so make did not build it: ", err)
		}
		t.Skip("no WebAssembly: run go generate ./web/static")
	}
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("no Node.js, which runs the page's worker: ", err)
	}
}

// A message is what goes to the worker or comes from it.
type message struct {
	ID       int             `json:"id,omitempty"`
	Name     string          `json:"name,omitempty"`
	Body     json.RawMessage `json:"body,omitempty"`
	Cancel   bool            `json:"cancel,omitempty"`
	After    int             `json:"after,omitempty"` // lines of the answer that come before a cancel
	Progress float64         `json:"progress,omitempty"`
	Line     json.RawMessage `json:"line,omitempty"`
	Answer   json.RawMessage `json:"answer,omitempty"`
	Fault    *desk.Error     `json:"fault,omitempty"`
}

// work runs the worker of dir and returns what it says.
func work(t testing.TB, dir string, in []message) (out []message) {
	t.Helper()
	var text bytes.Buffer
	for _, m := range in {
		if err := json.NewEncoder(&text).Encode(m); err != nil {
			t.Fatal(err)
		}
	}
	// Node takes a file for a module by the package it belongs to.
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type":"module"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "node", filepath.Join("testdata", "drive.mjs"), dir)
	c.Stdin = &text
	var faults strings.Builder
	c.Stderr = &faults
	answer, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, faults.String())
	}
	for line := range bytes.Lines(answer) {
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		out = append(out, m)
	}
	return out
}

// native is the Desk of the binary over the same weights, in floats.
func native(t testing.TB, f *folder, w *net.Weights) *desk.Desk {
	t.Helper()
	program, err := w.Compile()
	if err != nil {
		t.Fatal(err)
	}
	p := engine.DefaultParams()
	p.Version = f.site.Product
	if p.Variant, err = rules.ParseVariant(f.site.Variants[0]); err != nil {
		t.Fatal(err)
	}
	p.Load = func(name string, _ rules.Variant) (engine.Model, error) { return engine.Compiled(name, program), nil }
	models := []desk.Model{{Name: f.site.ShortModel(), Variant: f.site.Variants[0]}}
	d, err := desk.New(desk.Params{Engine: p, Models: func() []desk.Model { return models }, Static: true, Limits: desk.DefaultLimits()})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A question is a message and what the native desk answers.
type question struct {
	message
	want  string
	fault *desk.Error
}

// An asker collects questions.
type asker struct {
	t    testing.TB
	desk *desk.Desk
	list []question
}

// ask asks the native desk, and keeps the question.
func (a *asker) ask(name string, body any) string {
	a.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		a.t.Fatal(err)
	}
	var answer bytes.Buffer
	q := question{message: message{ID: len(a.list) + 1, Name: name, Body: text}}
	if err := a.desk.Answer(a.t.Context(), name, text, &answer); err != nil {
		fault, ok := err.(*desk.Error)
		if !ok {
			a.t.Fatal(err)
		}
		q.fault = fault
	}
	q.want = answer.String()
	a.list = append(a.list, q)
	return q.want
}

// A turn is what move answers.
type turn struct {
	Moves       []string `json:"moves"`
	Winrate     float64  `json:"winrate"`
	Simulations int      `json:"simulations"`
	Proven      string   `json:"proven"`
}

type gameOf struct {
	Variant string   `json:"variant"`
	Moves   []string `json:"moves"`
}

// moveOf asks for a turn.
type moveOf struct {
	Game        gameOf  `json:"game"`
	Simulations int     `json:"simulations"`
	Temperature float64 `json:"temperature"`
	Seed        uint64  `json:"seed"`
}

// position asks about n Positions of a random game of v, and for a turn in each.
func (a *asker) positions(v rules.Variant, n, simulations int, seed uint64) {
	a.t.Helper()
	played := rules.RandomGame(v, rules.Rows, rand.New(rand.NewPCG(seed, 1))).Moves
	for i := range n {
		at := i * (len(played) - 1) / max(n-1, 1)
		g := gameOf{Variant: v.String(), Moves: []string{}}
		for _, m := range played[:at] {
			g.Moves = append(g.Moves, v.MoveText(m))
		}
		a.ask("position", map[string]any{"game": g})
		a.ask("move", moveOf{Game: g, Simulations: simulations, Temperature: float64(i%2) / 2, Seed: seed + uint64(i)})
	}
}

// game plays a whole game of v.
func (a *asker) game(v rules.Variant, simulations int, seed uint64) {
	a.t.Helper()
	g := gameOf{Variant: v.String(), Moves: []string{}}
	for {
		var at struct {
			Over bool `json:"over"`
		}
		if err := json.Unmarshal([]byte(a.ask("position", map[string]any{"game": g})), &at); err != nil {
			a.t.Fatal(err)
		}
		if at.Over {
			return
		}
		var next turn
		if err := json.Unmarshal([]byte(a.ask("move", moveOf{Game: g, Simulations: simulations, Temperature: 0.5, Seed: seed})), &next); err != nil {
			a.t.Fatal(err)
		}
		g.Moves = slices.Concat(g.Moves, next.Moves)
	}
}

// compare asks the worker the same questions and returns how many turns it was asked for and the largest difference of
// winrates. All else is to be the same.
func (a *asker) compare(dir string) (turns int, apart float64) {
	a.t.Helper()
	var in []message
	for _, q := range a.list {
		in = append(in, q.message)
	}
	answers := map[int]message{}
	for _, m := range work(a.t, dir, in) {
		if m.ID != 0 {
			answers[m.ID] = m
		}
	}
	for _, q := range a.list {
		if a.t.Failed() {
			break // the rest may follow from it
		}
		got := answers[q.ID]
		switch {
		case q.fault != nil || got.Fault != nil:
			if q.fault == nil || got.Fault == nil || q.fault.Message != got.Fault.Message || q.fault.Field != got.Fault.Field || q.fault.Rule != got.Fault.Rule {
				a.t.Errorf("%s %s: fault %+v, the binary has %+v", q.Name, q.Body, got.Fault, q.fault)
			}
		case q.Name != "move":
			if strings.TrimSpace(q.want) != string(got.Answer) {
				a.t.Errorf("%s %s: got\n%s\nthe binary says\n%s", q.Name, q.Body, got.Answer, q.want)
			}
		default:
			var x, y turn
			if err := json.Unmarshal([]byte(q.want), &x); err != nil {
				a.t.Fatal(err)
			}
			if err := json.Unmarshal(got.Answer, &y); err != nil {
				a.t.Fatalf("%s: %v", got.Answer, err)
			}
			turns++
			apart = max(apart, math.Abs(x.Winrate-y.Winrate))
			if !slices.Equal(x.Moves, y.Moves) || x.Simulations != y.Simulations || x.Proven != y.Proven {
				a.t.Errorf("%s: got %+v, the binary plays %+v", q.Body, y, x)
			}
		}
	}
	return turns, apart
}

// TestPlay: the worker, run without a browser, answers as the binary does: it plays the same Moves with the same seed and
// simulations, in the Positions of a random game and through a whole one. Its network rounds differently.
func TestPlay(t *testing.T) {
	needWorker(t)
	type play struct {
		name        string
		weights     *net.Weights
		simulations int
	}
	plays := []play{{"32x1", randomWeights(t, "32x1-reply-ownership"), 16}, {"32x2p", randomWeights(t, "32x2p"), 24}}
	if path := os.Getenv(weightsVariable); path != "" {
		w, err := net.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		plays = append(plays, play{path, w, 64})
	}
	for _, p := range plays {
		t.Run(p.name, func(t *testing.T) {
			f := newTestFolder(t, p.weights, rules.Standard())
			dir := filepath.Join(t.TempDir(), "public")
			if err := f.write(dir, embedded); err != nil {
				t.Fatal(err)
			}
			a := &asker{t: t, desk: native(t, f, p.weights)}
			a.ask("about", map[string]any{})
			a.ask("why", map[string]any{"game": gameOf{Variant: "mini", Moves: []string{}}, "at": "a9"})
			a.ask("nothing", map[string]any{})
			a.ask("position", map[string]any{"no": 1})
			a.positions(rules.Standard(), 20, p.simulations, 3)
			a.game(rules.Mini(), p.simulations, 4)
			turns, apart := a.compare(dir)
			t.Logf("%d turns; winrates at most %.2g apart", turns, apart)
			if turns < 25 || apart > 1e-3 {
				t.Errorf("%d turns; winrates %v apart", turns, apart)
			}
		})
	}
}

// TestAnalyse: an analysis comes in lines while it goes on, ends when it is cancelled, and the worker goes on with the next
// question, whose answer is the binary's.
func TestAnalyse(t *testing.T) {
	needWorker(t)
	w := randomWeights(t, "32x1p")
	f := newTestFolder(t, w, rules.Mini())
	dir := filepath.Join(t.TempDir(), "public")
	if err := f.write(dir, embedded); err != nil {
		t.Fatal(err)
	}
	query := func(id int, body string) message {
		return message{ID: id, Name: "analyse", Body: json.RawMessage(body)}
	}
	const long = 4000 // visits: seconds
	short := `{"id":"b","moves":[],"maxVisits":20,"includePolicy":true,"includeOwnership":true}`
	out := work(t, dir, []message{
		query(1, fmt.Sprintf(`{"id":"a","moves":[],"maxVisits":%d,"reportDuringSearchEvery":0.02}`, long)),
		{ID: 1, Cancel: true, After: 2},
		query(2, short),
	})
	type line struct {
		ID             string             `json:"id"`
		IsDuringSearch bool               `json:"isDuringSearch"`
		Policy         map[string]float64 `json:"policy"`
		Ownership      []float64          `json:"ownership"`
		RootInfo       struct {
			Visits  int     `json:"visits"`
			Winrate float64 `json:"winrate"`
		} `json:"rootInfo"`
	}
	var reports int
	var second line
	ends := map[int]bool{}
	progress := 0.0
	for _, m := range out {
		switch {
		case m.ID == 0:
			if m.Progress < progress {
				t.Errorf("progress %v after %v", m.Progress, progress)
			}
			progress = m.Progress
		case m.ID == 1 && m.Line != nil:
			var l line
			if err := json.Unmarshal(m.Line, &l); err != nil || l.ID != "a" {
				t.Errorf("%s: %v", m.Line, err)
			}
			if l.IsDuringSearch {
				reports++
			}
		case m.ID == 2 && m.Line != nil:
			if err := json.Unmarshal(m.Line, &second); err != nil {
				t.Fatal(err)
			}
		default:
			ends[m.ID] = true
			if m.ID == 1 && m.Fault == nil {
				t.Error("a cancelled search went on to its end")
			}
			if m.ID == 2 && (m.Fault != nil || string(m.Answer) != "null") {
				t.Errorf("got %+v", m)
			}
		}
	}
	if progress != 1 || reports < 2 || !ends[1] || !ends[2] {
		t.Errorf("progress %v, %d reports, ends %v", progress, reports, ends)
	}
	var text bytes.Buffer
	if err := native(t, f, w).Answer(t.Context(), "analyse", []byte(short), &text); err != nil {
		t.Fatal(err)
	}
	var want line
	if err := json.Unmarshal(text.Bytes(), &want); err != nil {
		t.Fatal(err)
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-4 }
	if len(want.Policy) == 0 || !maps.EqualFunc(second.Policy, want.Policy, near) {
		t.Errorf("policy %v, want %v", second.Policy, want.Policy)
	}
	if len(want.Ownership) == 0 || !slices.EqualFunc(second.Ownership, want.Ownership, near) {
		t.Errorf("ownership %v, want %v", second.Ownership, want.Ownership)
	}
	if second.RootInfo.Visits != want.RootInfo.Visits || !near(second.RootInfo.Winrate, want.RootInfo.Winrate) {
		t.Errorf("got %+v, want %+v", second.RootInfo, want.RootInfo)
	}
}

// TestBroken: a folder that is not whole answers every question with what is wrong.
func TestBroken(t *testing.T) {
	needWorker(t)
	f := newTestFolder(t, randomWeights(t, "32x1"), rules.Mini())
	for name, c := range map[string]struct {
		spoil func(dir string) error
		want  string
	}{
		"no model": {func(dir string) error { return os.Remove(filepath.Join(dir, "model.onnx")) }, "model.onnx"},
		"cut model": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "model.onnx"), f.model[:len(f.model)/2], 0o644)
		}, ""},
		"other encoder": {func(dir string) error {
			other := *f
			other.site.Encoder++
			return other.write(dir, embedded)
		}, "encoder"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "public")
			if err := f.write(dir, embedded); err != nil {
				t.Fatal(err)
			}
			if err := c.spoil(dir); err != nil {
				t.Fatal(err)
			}
			var faults int
			for _, m := range work(t, dir, []message{{ID: 1, Name: "about"}, {ID: 2, Name: "position", Body: json.RawMessage(`{}`)}}) {
				if m.ID != 0 && m.Fault != nil && m.Fault.Message != "" && strings.Contains(m.Fault.Message, c.want) {
					faults++
				} else if m.ID != 0 || m.Progress == 1 {
					t.Errorf("got %+v", m)
				}
			}
			if faults != 2 {
				t.Errorf("%d faults, want 2", faults)
			}
		})
	}
}
