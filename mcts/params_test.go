package mcts

import (
	"math"
	"strings"
	"testing"

	"yinshzero/rules"
)

func TestParams(t *testing.T) {
	if err := DefaultParams().Validate(); err != nil {
		t.Error(err)
	}
	nan := math.NaN()
	for _, test := range []struct {
		name string
		p    Params
	}{
		{"Root", with(func(p *Params) { p.Root = 2 })},
		{"Considered", with(func(p *Params) { p.Considered = 0 })},
		{"Considered", with(func(p *Params) { p.Considered = 131 })},
		{"CVisit", with(func(p *Params) { p.CVisit = -1 })},
		{"CVisit", with(func(p *Params) { p.CVisit = math.Inf(1) })},
		{"CVisit", with(func(p *Params) { p.CVisit = 2e9 })},
		{"CScale", with(func(p *Params) { p.CScale = 0 })},
		{"CScale", with(func(p *Params) { p.CScale = 2e9 })},
		{"CScale", with(func(p *Params) { p.CScale = nan })},
		{"CPuct", with(func(p *Params) { p.CPuct = 0 })},
		{"CPuct", with(func(p *Params) { p.CPuct = 2e9 })},
		{"CPuctBase", with(func(p *Params) { p.CPuctBase = 0.5 })},
		{"CPuctBase", with(func(p *Params) { p.CPuctBase = 2e9 })},
		{"FPU", with(func(p *Params) { p.FPU = nan })},
		{"FPU", with(func(p *Params) { p.FPU = 2.1 })},
		{"LCB", with(func(p *Params) { p.LCB = -0.1 })},
		{"LCB", with(func(p *Params) { p.LCB = 2e9 })},
		{"Batch", with(func(p *Params) { p.Batch = 0 })},
		{"Batch", with(func(p *Params) { p.Batch = maxBatch + 1 })},
		{"MaxNodes", with(func(p *Params) { p.MaxNodes = 0 })},
		{"MaxNodes", with(func(p *Params) { p.MaxNodes = maxNodes + 1 })},
	} {
		if err := test.p.Validate(); err == nil || !strings.HasPrefix(err.Error(), "mcts: "+test.name+" is ") {
			t.Errorf("%s: error %v", test.name, err)
		}
	}
	bad := Params{}
	if err := bad.Validate(); err == nil || strings.Count(err.Error(), "\n") != 5 {
		t.Errorf("not every fault is reported: %v", err)
	}
}

// With the least and the greatest numbers that are valid a search finds its way, by numbers that are finite.
func TestExtremeParams(t *testing.T) {
	const tiny = math.SmallestNonzeroFloat64
	for _, p := range []Params{
		with(func(p *Params) { p.CVisit, p.CScale, p.CPuct, p.CPuctBase, p.FPU, p.LCB = 0, tiny, tiny, 1, 0, 0 }),
		with(func(p *Params) {
			p.CVisit, p.CScale, p.CPuct, p.CPuctBase, p.FPU, p.LCB = maxNumber, maxNumber, maxNumber, maxNumber, 2, maxNumber
		}),
	} {
		for _, p.Root = range policies {
			if err := p.Validate(); err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(3) {
				pos := playRandom(rules.New(rules.Mini()), 10, newRand(seed))
				for s := New(arbitrary, p); pos.Phase() != rules.PhaseOver; {
					r := search(t, s, pos, 200)
					for _, e := range r.Edges {
						if math.IsNaN(float64(e.Error)) {
							t.Fatalf("%+v", e)
						}
					}
					pos.Play(r.Best)
					s.Advance(r.Best)
				}
			}
		}
	}
}

func TestRootPolicyText(t *testing.T) {
	for _, r := range policies {
		text, err := r.MarshalText()
		if err != nil {
			t.Error(err)
		}
		var got RootPolicy
		if err := got.UnmarshalText(text); err != nil || got != r {
			t.Errorf("%s read as %v, %v", text, got, err)
		}
	}
	var r RootPolicy
	if err := r.UnmarshalText([]byte("uct")); err == nil {
		t.Error("uct is read")
	}
	if _, err := RootPolicy(7).MarshalText(); err == nil {
		t.Error("7 is written")
	}
	if s := RootPolicy(7).String(); s != "RootPolicy(7)" {
		t.Error(s)
	}
}
