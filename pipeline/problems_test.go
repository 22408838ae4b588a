package pipeline

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"yinshzero/metrics"
	"yinshzero/net"
	"yinshzero/registry"
	"yinshzero/rules"
)

// Every promoted model solves the problems once, the newest first, also if the run is taken up again.
func TestProblemsAreSolvedOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute under the race detector")
	}
	p := quiet(t)
	p.Variant = rules.Blitz()
	r := open(t, p)
	first, _ := r.registry.Best()
	id, err := r.addModel(net.Init(p.Arch, rand.New(rand.NewPCG(9, 9))), first.ID)
	if err != nil {
		t.Fatal(err)
	}
	candidate, err := r.addModel(net.Init(p.Arch, rand.New(rand.NewPCG(8, 8))), first.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.registry.Promote(id, registry.Verdict{At: time.Unix(1, 0), Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(p.Dir, metricsDir, metrics.ProblemsName)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if again, err := r.solveProblems(ended); again || err != nil {
		t.Errorf("after the end: %v, %v", again, err)
	}
	solve := func(r *Run, want ...registry.ID) {
		t.Helper()
		for _, id := range want {
			if again, err := r.solveProblems(t.Context()); !again || err != nil {
				t.Fatalf("model %v: got %v, %v", id, again, err)
			}
		}
		if again, err := r.solveProblems(t.Context()); again || err != nil {
			t.Errorf("all models have been asked: got %v, %v", again, err)
		}
	}
	solve(r, id, first.ID)
	events := r.Status().Events
	if len(events) != 2 || !strings.HasPrefix(events[0].Text, "problems solved model="+id.Short()+" step=0 of=100 at_1=") {
		t.Errorf("events %v", events)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(b), "\n")
	if len(lines) != 3 || strings.Contains(string(b), candidate.String()) {
		t.Fatalf("%q: want lines of two models", b)
	}
	for i, want := range []registry.ID{id, first.ID} {
		var l metrics.Problems
		if err := json.Unmarshal([]byte(lines[i]), &l); err != nil {
			t.Fatal(err)
		}
		if l.Model != want.String() || l.Problems != 100 || l.Time.IsZero() || l.Solved200 <= 0 || l.Solved200 >= 1 {
			t.Errorf("line %s: want a share of 100 problems for %v", lines[i], want)
		}
	}
	closeRun(t, r)
	if err := os.WriteFile(path, b[:len(b)-20], 0o644); err != nil { // as a kill may leave it
		t.Fatal(err)
	}
	r = open(t, p)
	solve(r, first.ID)
	if err := os.Remove(r.registry.Path(id)); err != nil {
		t.Fatal(err)
	}
	delete(r.asked, id.String())
	solve(r, id) // it cannot be read, and is not asked again
	closeRun(t, r)
}

// There are no problems of other games.
func TestNoProblems(t *testing.T) {
	r := open(t, quiet(t))
	defer closeRun(t, r)
	if solved, err := r.solveProblems(t.Context()); solved || err != nil {
		t.Errorf("got %v, %v", solved, err)
	}
}
