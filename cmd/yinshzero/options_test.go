package main

import (
	"math/rand/v2"
	"strings"
	"testing"

	"yinshzero/arena"
	"yinshzero/infer"
	"yinshzero/mcts"
	"yinshzero/net"
	"yinshzero/rules"
)

func TestParseOptions(t *testing.T) {
	plain := options{search: matchSearch(), infer: infer.DefaultParams()}
	plain.infer.Symmetry = false
	with := func(change func(*options)) options {
		o := plain
		change(&o)
		return o
	}
	for text, want := range map[string]options{
		"":                    plain,
		"root=puct,reuse=on":  plain,
		"root=gumbel":         with(func(o *options) { o.search.Root = mcts.Gumbel }),
		"c_puct=2.5,fpu=0.1":  with(func(o *options) { o.search.CPuct, o.search.FPU = 2.5, 0.1 }),
		"lcb=1,c_visit=3":     with(func(o *options) { o.search.LCB, o.search.CVisit = 1, 3 }),
		"c_scale=1":           with(func(o *options) { o.search.CScale = 1 }),
		"considered=4":        with(func(o *options) { o.search.Considered = 4 }),
		"solver=off,cache=0":  with(func(o *options) { o.search.Solver, o.infer.CacheSize = false, 0 }),
		"symmetry=on":         with(func(o *options) { o.infer.Symmetry = true }),
		"root_symmetry=on":    with(func(o *options) { o.infer.AverageRoot, o.search.FreshRoot = true, true }),
		"reuse=off":           with(func(o *options) { o.forget = true }),
		"int8=off":            with(func(o *options) { o.infer.Int8 = false }),
		"cores=2":             with(func(o *options) { o.infer.Cores, o.search.Batch = 2, 8 }),
		"batch=3,cores=2":     with(func(o *options) { o.infer.Cores, o.search.Batch = 2, 3 }),
		"cores=200,cache=100": with(func(o *options) { o.infer.Cores, o.search.Batch, o.infer.CacheSize = 200, 256, 100 }),
	} {
		if got, err := parseOptions(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v: want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"root=best":         `option "root=best"`,
		"root":              `option "root"`,
		"c_puct=x":          "invalid syntax",
		"c_puct=0":          "CPuct is 0",
		"fpu=NaN":           "FPU is NaN",
		"solver=yes":        "want on or off",
		"int8":              "want on or off",
		"speed=9":           "there is none of this name",
		"cores=2,cores=2":   "option cores is there twice",
		"cache=-1":          "cache size is -1",
		"cores=-1":          "-1 cores",
		"batch=0":           "Batch is 0",
		"reuse=off,":        "there is none of this name",
		"considered=1e1000": "invalid syntax",
	} {
		if _, err := parseOptions(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v: want %q", text, err, want)
		}
	}
}

// A forgetful player chooses as one does that meets every Position for the first time.
func TestForgetful(t *testing.T) {
	o, err := parseOptions("reuse=off")
	if err != nil {
		t.Fatal(err)
	}
	program, err := net.Init(net.Arch{Channels: 32, Blocks: 1}, rand.New(rand.NewPCG(1, 1))).Compile()
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.player(program, arena.Spec{Simulations: 30})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := p.(arena.Follower); ok {
		t.Error("it follows the game")
	}
	pos := rules.New(rules.Mini())
	for range 30 {
		fresh, err := arena.NewSearch(mcts.New(infer.New(program.Clone(), o.infer), o.search), 30)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Move(t.Context(), pos, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want, err := fresh.Move(t.Context(), pos, nil); err != nil || got != want {
			t.Fatalf("%v: %v, %v: want %v", &pos, got, err, want)
		}
		pos.Play(got)
		if _, over := pos.Result(); over {
			break
		}
	}
	if _, err := o.player(program, arena.Spec{Time: 1}); err == nil {
		t.Error("there is a player with a nanosecond a Move")
	}
}
