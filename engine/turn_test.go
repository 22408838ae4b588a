package engine

import (
	"slices"
	"strings"
	"testing"

	"yinshzero/mcts"
	"yinshzero/rules"
)

// The first Move of a turn is that of a search with the same budget, and a turn without simulations follows the policy.
func TestDecide(t *testing.T) {
	p := tiny(t, "32x1")
	pos := rules.New(rules.Mini())
	for ply := 0; ; ply++ {
		if _, over := pos.Result(); over {
			break
		}
		model, err := p.Load(p.Model, pos.Variant())
		if err != nil {
			t.Fatal(err)
		}
		s := mcts.New(model.evaluator(p.Infer), p.Search)
		root, err := s.Search(t.Context(), pos, mcts.Budget{Simulations: 20}, nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Decide(t.Context(), pos, Budget{Simulations: 20, Ply: ply}, p)
		if err != nil || d.Moves[0] != root.Best || d.Value != root.Value || d.Cut {
			t.Fatalf("%v: got %+v, %v, want %v of value %v", &pos, d, err, root.Best, root.Value)
		}
		drawn := map[rules.Move]bool{}
		for seed := range uint64(20) {
			d, err := Decide(t.Context(), pos, Budget{Temperature: 1, Seed: seed, Ply: ply}, p)
			if err != nil || d.Simulations != 0 || !pos.IsLegal(d.Moves[0]) {
				t.Fatalf("%v: got %+v, %v", &pos, d, err)
			}
			drawn[d.Moves[0]] = true
		}
		if len(drawn) == 1 && pos.NumMoves() > 10 {
			t.Errorf("%v: twenty seeds give one Move of %d", &pos, pos.NumMoves())
		}
		for _, m := range d.Moves {
			pos.Play(m)
		}
	}
	if _, err := Decide(t.Context(), pos, Budget{}, p); err == nil {
		t.Errorf("a game that is over: got %v", err)
	}
	start := rules.New(rules.Mini())
	for want, b := range map[string]Budget{"-1 simulations": {Simulations: -1}, "temperature 0.001": {Temperature: 0.001}} {
		if _, err := Decide(t.Context(), start, b, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A query may not ask for more than the limits, and what asks for no time gets that of the limit.
func TestLimits(t *testing.T) {
	p := uniform()
	p.Simulations, p.MaxVisits, p.MaxTime = 20, 30, 1
	e := begin(t, JSON, p)
	e.send(`{"id":"a","moves":[],"maxVisits":31}`, `{"id":"b","moves":[],"maxTime":0.1}`, `{"id":"c","moves":[],"maxVisits":30}`, `{"id":"d","moves":[]}`)
	var got []string
	for range 4 {
		r := e.reply()
		got = append(got, r.ID+" "+r.Field+" "+r.Error)
		if r.Error == "" && r.RootInfo.Visits > 20 {
			t.Errorf("%s has %d visits in a nanosecond", r.ID, r.RootInfo.Visits)
		}
	}
	slices.Sort(got)
	if want := []string{"a maxVisits 31: want 1 to 30", "b maxTime 0.1: want 0.001 to 0.000000001 seconds", "c  ", "d  "}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
