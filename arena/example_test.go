package arena_test

import (
	"context"
	"fmt"

	"yinshzero/arena"
	"yinshzero/rules"
)

// A candidate plays until the Gate has its Verdict.
func ExampleGate() {
	candidate := func() (arena.Player, error) { return arena.NewUCT(50) }
	best := func() (arena.Player, error) { return new(arena.Random), nil }
	match := arena.Match{A: candidate, B: best, Variant: rules.Mini(), Seed: 1, Pairs: 100, Parallel: 2}
	gate := arena.Gate{Elo0: 0, Elo1: 50, Alpha: 0.05, Beta: 0.05, MaxPairs: 100}
	var score arena.Score
	for pair, err := range match.Play(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		score.Add(pair)
		if gate.Judge(score) != arena.Continue {
			break
		}
	}
	fmt.Println(gate.Judge(score), gate.Reason(score))
	// Output: accept stronger after 8 pairs: LLR 4.25 in [-2.94, 2.94]
}
