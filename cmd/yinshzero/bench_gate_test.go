package main

import (
	"testing"

	"yinshzero/internal/config"
	"yinshzero/internal/seed"
)

// TestDefaultGate: the gate of a run accepts equals no more often than alpha says and refuses candidates of elo1 no more
// often than beta does, its limit of pairs included, whatever the openings.
func TestDefaultGate(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	const tests, slack = 2000, 0.015 // three standard errors
	g := gateOf(config.Default())
	for _, o := range openings {
		equal, err := g.Try(apart(o.chances, g.Elo0), tests, seed.New(1), false)
		if err != nil {
			t.Fatal(err)
		}
		better, err := g.Try(apart(o.chances, g.Elo1), tests, seed.New(1), false)
		if err != nil {
			t.Fatal(err)
		}
		if equal.Accepted > g.Alpha+slack || 1-better.Accepted > g.Beta+slack {
			t.Errorf("%s: %.3f of equals are accepted and %.3f of elo1 are refused, want at most %v and %v",
				o.name, equal.Accepted, 1-better.Accepted, g.Alpha, g.Beta)
		}
	}
}
