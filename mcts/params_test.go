package mcts

import (
	"math"
	"strings"
	"testing"
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
		{"CScale", with(func(p *Params) { p.CScale = 0 })},
		{"CScale", with(func(p *Params) { p.CScale = nan })},
		{"CPuct", with(func(p *Params) { p.CPuct = 0 })},
		{"CPuctBase", with(func(p *Params) { p.CPuctBase = 0.5 })},
		{"FPU", with(func(p *Params) { p.FPU = nan })},
		{"LCB", with(func(p *Params) { p.LCB = -0.1 })},
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
