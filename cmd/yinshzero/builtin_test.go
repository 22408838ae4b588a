package main

import (
	"testing"
	"time"

	"yinshzero/arena"
	"yinshzero/builtin"
	"yinshzero/rules"
)

// The models that are built in beat, with few simulations, a search that knows only the rules.
func TestBuiltInStrength(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	for _, v := range rules.Variants() {
		m := arena.Match{Variant: v, Seed: 1, Pairs: 8, Parallel: 2}
		for text, to := range map[string]*arena.Maker{"model:" + builtin.Name + ",int8=off@24": &m.A, "uct:100": &m.B} {
			var err error
			if *to, err = player(text, "", v, "", time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		var s arena.Score
		for pair, err := range m.Play(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			s.Add(pair)
		}
		if t.Logf("%v: %v against uct:100", v, s); s.Elo().Elo < 100 {
			t.Errorf("%v: only %v", v, s.Elo())
		}
	}
}
