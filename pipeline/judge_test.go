package pipeline

import (
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
	"yinshzero/net"
	"yinshzero/registry"
)

// promote adds a model of random weights and gives it its verdict.
func promote(t *testing.T, r *Run, n uint64, good bool) registry.ID {
	t.Helper()
	best, _ := r.registry.Best()
	id, err := r.addModel(net.Init(r.params.Arch, rand.New(rand.NewPCG(n, n))), best.ID)
	if err != nil {
		t.Fatal(err)
	}
	judge := r.registry.Reject
	if good {
		judge = r.registry.Promote
	}
	if err := judge(id, registry.Verdict{At: time.Now(), Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	return id
}

// TestOpponents: a best model meets the fixed players, the first model and every second promoted one, itself and rejected
// ones left out.
func TestOpponents(t *testing.T) {
	p := quiet(t)
	p.AnchorEvery = 2
	r := open(t, p)
	defer closeRun(t, r)
	first, _ := r.registry.Best()
	check := func(want ...string) {
		t.Helper()
		best, _ := r.registry.Best()
		var got []string
		for _, o := range r.opponents(best.ID) {
			got = append(got, o.name)
			if isModel := o.job == o.model.String() && o.file == o.model.Short(); isModel == (o.name == "random") {
				t.Errorf("opponent %+v", o)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("opponents %v, want %v", got, want)
		}
	}
	name := func(id registry.ID) string { return "model:" + id.Short() + "@8" }
	check("random")
	promote(t, r, 1, true)
	check("random", name(first.ID))
	promote(t, r, 2, false)
	second := promote(t, r, 3, true)
	check("random", name(first.ID))
	promote(t, r, 4, true)
	check("random", name(first.ID), name(second))
	r.params.AnchorEvery = 0
	check("random")
}

// TestMeasuresAgainstModels plays the anchors of a second model, with a break: the first model is one of them, workers can
// fetch both, the lines name who played with how many simulations, and ratings know them.
func TestMeasuresAgainstModels(t *testing.T) {
	p := quiet(t)
	p.AnchorEvery, p.AnchorPairs, p.GateSimulations = 10, 3, 2
	r := open(t, p)
	first, _ := r.registry.Best()
	second := promote(t, r, 1, true)
	closeRun(t, r)
	measured := 0
	stop := func(msg string) bool {
		if msg == "measured" {
			measured++
		}
		return measured == 2
	}
	judgeUntil(t, p, 2, stop)
	if models := judgeUntil(t, p, 1000, stop); len(models) != 1 || registry.ID(models[0]) != second {
		t.Errorf("the hub has the models %v, want the best one alone, %s", models, second.Short())
	}
	a, b := "model:"+second.Short()+"@2", "model:"+first.ID.Short()+"@2"
	for opponent, name := range map[string]string{"random": "random", first.ID.Short(): b} {
		text, err := os.ReadFile(filepath.Join(p.Dir, matchesDir, "anchor-"+second.Short()+"-"+opponent+"-2"+matchExtension))
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Split(strings.TrimSpace(string(text)), "\n"); len(lines) != 3 || !strings.HasPrefix(lines[0], "anchor\t"+a+"\t"+name+"\t") {
			t.Errorf("against %s there are %d lines: %s", opponent, len(lines), clip(text))
		}
	}
	table, err := Ladder(p.Dir)
	if err != nil || len(table.Ratings) != 3 || len(table.Pairings) != 2 || table.GainSpread != 0 {
		t.Errorf("%+v, %v: want three players in two pairings and no gate", table, err)
	}
}

// TestVerdictCountsGames: a verdict says how many games and openings of the gate were different.
func TestVerdictCountsGames(t *testing.T) {
	r := open(t, quiet(t))
	defer closeRun(t, r)
	best, _ := r.registry.Best()
	id, err := r.addModel(net.Init(r.params.Arch, rand.New(rand.NewPCG(9, 9))), best.ID)
	if err != nil {
		t.Fatal(err)
	}
	c, _ := r.candidate()
	m := match{decided: true}
	res := pairOf(t, fleet.Job{Variant: r.params.Variant, Seed: 1, Kind: fleet.GateJob})
	e := arena.Entry{Result: resultOf(t, res)}
	for range 3 {
		m.tally.Add(e.Result)
	}
	if err := r.decide(t.Context(), c, &m); err != nil {
		t.Fatal(err)
	}
	got, _ := r.registry.Entry(id)
	if !strings.Contains(got.Verdict.Score, "in 3 pairs") || !strings.HasSuffix(got.Verdict.Score, ", 1 different games from 1 openings") { // equal players play the same game twice
		t.Errorf("the verdict is %+v", got.Verdict)
	}
}

// resultOf is a job's result as the pair that was played.
func resultOf(t *testing.T, res fleet.JobResult) (out arena.PairResult) {
	t.Helper()
	out.Opening, _ = arena.NewPair(res.Job.Variant, res.Job.Seed, res.Job.Pair)
	for i, b := range res.Games {
		rec, err := data.DecodeRecord(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, ply := range rec.Plies {
			out.Games[i].Moves = append(out.Games[i].Moves, ply.Move)
		}
		out.Games[i].Result = rec.Result
	}
	return out
}
