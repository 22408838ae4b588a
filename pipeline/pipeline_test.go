package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"yinshzero/arena"
	"yinshzero/data"
	"yinshzero/fleet"
	"yinshzero/mcts"
	"yinshzero/net"
	"yinshzero/registry"
	"yinshzero/rules"
	"yinshzero/selfplay"
)

func open(t *testing.T, p Params) *Run {
	t.Helper()
	r, err := Open(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func closeRun(t *testing.T, r *Run) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func quiet(t *testing.T) Params {
	p := tiny(filepath.Join(t.TempDir(), "run"), slog.New(slog.DiscardHandler))
	p.Workers = 0
	return p
}

// TestOpenAnew makes a run, loses the hub's store, and opens it again: what the hub says comes from the files.
func TestOpenAnew(t *testing.T) {
	p := quiet(t)
	r := open(t, p)
	best, ok := r.registry.Best()
	if !ok || best.Meta.Step != 0 {
		t.Fatalf("a new run's best model is %+v, want random weights", best)
	}
	closeRun(t, r)
	if err := os.RemoveAll(filepath.Join(p.Dir, hubDir)); err != nil {
		t.Fatal(err)
	}
	r = open(t, p)
	defer closeRun(t, r)
	w, err := r.hub.Join(context.Background(), fleet.WorkerParams{Name: "w"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.WaitBest(context.Background(), data.ModelID{})
	if err != nil || registry.ID(got) != best.ID {
		t.Errorf("the hub's best is %v, %v, want %v", got, err, best.ID)
	}
	if b, err := w.Model(context.Background(), got); err != nil || registry.IDOf(b) != best.ID {
		t.Errorf("the hub's model: %v", err)
	}
	if plan, err := planOf(w.Manifest()); err != nil || plan != p.planAt(0) {
		t.Errorf("the plan is %+v, %v, want %+v", plan, err, p.planAt(0))
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// TestHubForgetsModels: of all that were the best once, the hub keeps the best and the one before; a run that is opened again
// leaves the best and the candidate there.
func TestHubForgetsModels(t *testing.T) {
	p := quiet(t)
	r := open(t, p)
	has := func(when string, want ...registry.ID) {
		t.Helper()
		got, err := r.hub.Models(t.Context())
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: the hub has the models %v, %v, want %v", when, got, err, want)
		}
		for _, id := range want {
			if !slices.Contains(got, data.ModelID(id)) {
				t.Errorf("%s: model %s is not in the hub", when, id.Short())
			}
		}
	}
	first, _ := r.registry.Best()
	add := func(n uint64) registry.ID {
		id, err := r.addModel(net.Init(p.Arch, rand.New(rand.NewPCG(n, 1))), registry.ID{})
		if err == nil {
			err = r.publish(t.Context(), id)
		}
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	promote := func(id registry.ID) registry.ID {
		if err := errors.Join(r.registry.Promote(id, registry.Verdict{Reason: "test"}), r.publishBest(t.Context(), id)); err != nil {
			t.Fatal(err)
		}
		return id
	}
	has("new", first.ID)
	second := promote(add(2))
	has("one promotion", first.ID, second)
	third := promote(add(3))
	has("two promotions", second, third)
	promote(second)
	has("back to the one before", second, third)
	rejected, candidate := add(4), add(5)
	if err := r.registry.Reject(rejected, registry.Verdict{Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	closeRun(t, r)
	r = open(t, p)
	has("again", second, candidate)
	closeRun(t, r)
}

func TestOpenRefuses(t *testing.T) {
	p := quiet(t)
	r := open(t, p)
	if _, err := Open(context.Background(), p); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a run that is held: got %v", err)
	}
	closeRun(t, r)
	other := p
	other.Arch = net.Arch{Channels: 64, Blocks: 1}
	if _, err := Open(context.Background(), other); err == nil || !strings.Contains(err.Error(), "arch 32x1") {
		t.Errorf("another arch: got %v", err)
	}
	variant := p
	variant.Variant = rules.Standard()
	shard, err := data.NextShard(filepath.Join(p.Dir, recordsDir), "")
	if err != nil {
		t.Fatal(err)
	}
	player, err := selfplay.New(mcts.New(mcts.Uniform{}, mcts.DefaultParams()), selfplay.DefaultParams())
	if err != nil {
		t.Fatal(err)
	}
	rec, err := player.Game(context.Background(), p.Variant, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := data.WriteShard(shard, []*data.Record{rec}); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), variant); err == nil || !strings.Contains(err.Error(), "games are of mini") {
		t.Errorf("another variant: got %v", err)
	}
	if err := os.RemoveAll(filepath.Join(p.Dir, modelsDir)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), p); err == nil || !strings.Contains(err.Error(), "names no best model") {
		t.Errorf("a run without its models: got %v", err)
	}
	bad := p
	bad.Passes, bad.Workers, bad.ShardGames = 0, -1, 0
	if _, err := Open(context.Background(), bad); err == nil || strings.Count(err.Error(), "want") < 3 {
		t.Errorf("three numbers out of range: got %v", err)
	}
}

// TestIngestQuarantines delivers a sound game, one of another variant and one of an unknown model.
func TestIngestQuarantines(t *testing.T) {
	p := quiet(t)
	p.ShardGames = 1
	r := open(t, p)
	defer closeRun(t, r)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w, err := r.hub.Join(ctx, fleet.WorkerParams{Name: "w"})
	if err != nil {
		t.Fatal(err)
	}
	player, err := selfplay.New(mcts.New(mcts.Uniform{}, mcts.DefaultParams()), selfplay.DefaultParams())
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range []rules.Variant{rules.Blitz(), rules.Mini(), rules.Mini()} {
		rec, err := player.Game(ctx, v, uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			rec.White = data.ModelID{1}
		}
		if err := w.Put(ctx, rec); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() { done <- r.ingest(ctx) }()
	<-r.grown
	cancel()
	if err := errors.Join(<-done, w.Close()); err != nil {
		t.Fatal(err)
	}
	if n, err := audit(p.Dir); err != nil || n != 1 {
		t.Errorf("%d games in the shards, %v: want the sound one", n, err)
	}
	reasons, err := filepath.Glob(filepath.Join(p.Dir, quarantineDir, "*.txt"))
	if err != nil || len(reasons) != 2 || r.Status().Quarantined != 2 {
		t.Fatalf("%v, %v, status %+v: want two games in quarantine", reasons, err, r.Status())
	}
	var all strings.Builder
	for _, path := range reasons {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	for _, want := range []string{"blitz", "model 010000000000"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("the reasons are %q, want one with %q", all.String(), want)
		}
	}
}

// pairOf is what a worker would answer to a job, both sides playing at random.
func pairOf(t *testing.T, job fleet.Job) fleet.JobResult {
	t.Helper()
	opening, games := arena.NewPair(job.Variant, job.Seed, job.Pair)
	res, err := arena.PlayPair(context.Background(), &arena.Random{}, &arena.Random{}, job.Variant, games, opening)
	if err != nil {
		t.Fatal(err)
	}
	out := fleet.JobResult{Job: job, Points: res.Points()}
	for i, g := range res.Games {
		b, err := gameRecord(job, g, i, "test", "w").AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		out.Games = append(out.Games, b)
	}
	return out
}

func newMatch() match {
	return match{kind: fleet.AnchorJob, a: "greedy", b: "random", nameA: "greedy", nameB: "random", pairs: 10}
}

// TestMatchGoesOn adds pairs out of order, tears the last line, and opens the file again.
func TestMatchGoesOn(t *testing.T) {
	r := open(t, quiet(t))
	defer closeRun(t, r)
	m, err := r.openMatch(t.Context(), "test", newMatch())
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range []int{0, 2, 3, 1, 5} {
		res := pairOf(t, m.job(r.params, pair))
		e, err := m.entry(r.params, &res)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.add(e); err != nil {
			t.Fatal(err)
		}
	}
	if n := m.tally.Score.N(); n != 4 || !m.has(5) || m.has(4) {
		t.Errorf("%d pairs are counted, want those before the gap at 4", n)
	}
	score := m.tally.Score
	if _, err := m.file.WriteString("anchor\tgreedy\trandom\tmi"); err != nil {
		t.Fatal(err)
	}
	if err := m.close(); err != nil {
		t.Fatal(err)
	}
	again, err := r.openMatch(t.Context(), "test", newMatch())
	if err != nil {
		t.Fatal(err)
	}
	if again.tally.Score != score || !again.has(5) {
		t.Errorf("score %+v, want %+v and pair 5", again.tally.Score, score)
	}
	res := pairOf(t, m.job(r.params, 4))
	e, err := again.entry(r.params, &res)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(again.add(e), again.close()); err != nil {
		t.Fatal(err)
	}
	table, err := Ladder(r.params.Dir)
	if ratings := table.Ratings; err != nil || len(ratings) != 2 || ratings[0].Games+ratings[1].Games != 24 {
		t.Errorf("ladder %+v, %v: want two players with 12 games each", ratings, err)
	}
}

// TestMatchIsJudgedPairByPair adds pairs in two orders, and from the file: a test that decides after the third pair is asked
// after each of the three, and nothing after them counts.
func TestMatchIsJudgedPairByPair(t *testing.T) {
	r := open(t, quiet(t))
	defer closeRun(t, r)
	var asked []int
	start := func(name string) *match {
		x := newMatch()
		asked = nil
		x.stop = func(s arena.Score) bool {
			asked = append(asked, s.N())
			return s.N() == 3
		}
		m, err := r.openMatch(t.Context(), name, x)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	var scores []arena.Score
	check := func(m *match) {
		if !slices.Equal(asked, []int{1, 2, 3}) || !m.decided || m.tally.Score.N() != 3 {
			t.Errorf("asked after %v, decided %v after %d pairs: want after each of three", asked, m.decided, m.tally.Score.N())
		}
		scores = append(scores, m.tally.Score)
		if err := m.close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, order := range [][]int{{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}} {
		m := start(fmt.Sprint("order", order[0]))
		m.seed = 1
		for _, pair := range order {
			res := pairOf(t, m.job(r.params, pair))
			e, err := m.entry(r.params, &res)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.add(e); err != nil {
				t.Fatal(err)
			}
		}
		check(m)
	}
	r.params.Seed++ // a run's seed may change: matches keep theirs
	check(start("order4"))
	if scores[0] != scores[1] || scores[0] != scores[2] {
		t.Errorf("scores %v: want the same three times", scores)
	}
}

// TestUnplayableCandidate: a candidate whose pairs nobody can play is rejected, and says so.
func TestUnplayableCandidate(t *testing.T) {
	r := open(t, quiet(t))
	defer closeRun(t, r)
	best, _ := r.registry.Best()
	id, err := r.addModel(net.Init(r.params.Arch, rand.New(rand.NewPCG(9, 9))), best.ID)
	if err != nil {
		t.Fatal(err)
	}
	name := r.matchName(fleet.GateJob, id, best.ID.Short())
	for range maxDead {
		job, err := json.Marshal(fleet.Job{Gate: name})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.bury(fleet.DeadLetter{Stream: "jobs", Data: job}); err != nil {
			t.Fatal(err)
		}
	}
	c, _ := r.candidate()
	if err := r.gate(context.Background(), nil, c); err != nil {
		t.Fatal(err)
	}
	if e, _ := r.registry.Entry(id); e.Standing != registry.Rejected || !strings.Contains(e.Verdict.Reason, "could not be played") {
		t.Errorf("the candidate is %+v, want rejected", e)
	}
	if s := r.Status(); s.Rejections != 1 || s.Gate != nil {
		t.Errorf("status %+v: want one rejection and no gate", s)
	}
}

// TestPersist fails twice, then succeeds; and ends with its context.
func TestPersist(t *testing.T) {
	r := &Run{params: Params{Log: slog.New(slog.DiscardHandler)}}
	n := 0
	fail := errors.New("away")
	err := r.persist(context.Background(), "test", func() error {
		if n++; n < 3 {
			return fail
		}
		return nil
	})
	if err != nil || n != 3 {
		t.Errorf("got %v after %d calls, want success after 3", err, n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := r.persist(ctx, "test", func() error { cancel(); return fail }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's end", err)
	}
}

// TestRateWithoutAnchor: a gate may be decided before the first game against random.
func TestRateWithoutAnchor(t *testing.T) {
	r := open(t, quiet(t))
	defer closeRun(t, r)
	g := newMatch()
	g.nameA, g.nameB = "model:1", "model:2"
	m, err := r.openMatch(t.Context(), "test", g)
	if err != nil {
		t.Fatal(err)
	}
	res := pairOf(t, m.job(r.params, 0))
	e, err := m.entry(r.params, &res)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.add(e), m.close()); err != nil {
		t.Fatal(err)
	}
	r.rate()
	if s := r.Status(); s.Best.Measured || s.Best.ID == "" {
		t.Errorf("the best model is %+v: want one without a rating", s.Best)
	}
}

// TestMatchRefuses alters a sound result in every way that a worker could.
func TestMatchRefuses(t *testing.T) {
	r := open(t, quiet(t))
	defer closeRun(t, r)
	m, err := r.openMatch(t.Context(), "test", newMatch())
	if err != nil {
		t.Fatal(err)
	}
	sound := pairOf(t, m.job(r.params, 3))
	if _, err := m.entry(r.params, &sound); err != nil {
		t.Fatal(err)
	}
	for name, alter := range map[string]func(*fleet.JobResult){
		"points":     func(x *fleet.JobResult) { x.Points = 2 - x.Points + 0.5 },
		"seed":       func(x *fleet.JobResult) { x.Job.Seed++ },
		"pair":       func(x *fleet.JobResult) { x.Job.Pair = 4 },
		"players":    func(x *fleet.JobResult) { x.Job.A = "random" },
		"beyond":     func(x *fleet.JobResult) { x.Job = m.job(r.params, 10) },
		"broken":     func(x *fleet.JobResult) { x.Games[1] = x.Games[1][:len(x.Games[1])/2] },
		"other game": func(x *fleet.JobResult) { x.Games[0] = pairOf(t, m.job(r.params, 5)).Games[0] },
	} {
		bad := sound
		bad.Games = append([][]byte(nil), sound.Games...)
		alter(&bad)
		if _, err := m.entry(r.params, &bad); err == nil {
			t.Errorf("%s: the result is taken", name)
		}
	}
	if err := m.close(); err != nil {
		t.Fatal(err)
	}
}

func TestPlanGrows(t *testing.T) {
	p := quiet(t)
	p.Plan.SelfPlay.Simulations, p.SimulationsEnd, p.GrowthPositions = 16, 64, 1000
	for positions, want := range map[int64]int{0: 16, 500: 32, 1000: 64, 5000: 64} {
		if got := p.planAt(positions).SelfPlay.Simulations; got != want {
			t.Errorf("after %d positions: %d simulations, want %d", positions, got, want)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestStatusIsACopy changes what Status returned.
func TestStatusIsACopy(t *testing.T) {
	p := fresh(t)
	p.Log = slog.New(slog.DiscardHandler)
	r, err := Open(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	defer closeRun(t, r)
	r.status.Events = nil
	r.note("one")
	s := r.Status()
	s.Events[0].Text = "changed"
	r.note("two", "key", 3)
	got := r.Status()
	if len(got.Events) != 2 || got.Events[0].Text != "one" || got.Events[1].Text != "two key=3" || got.Events[1].Time.After(time.Now()) {
		t.Errorf("events %+v", got.Events)
	}
	for range 2 * MaxEvents {
		r.note("more")
	}
	if n := len(r.Status().Events); n != MaxEvents {
		t.Errorf("%d events are kept, want %d", n, MaxEvents)
	}
}
