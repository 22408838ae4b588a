package rules_test

import (
	"testing"

	"yinshzero/internal/rulestest"
	"yinshzero/rules"
)

// count is perft by making every Move, the last ones too.
func count(p rules.Position, depth int) (n uint64) {
	if depth == 0 {
		return 1
	}
	for _, m := range p.AppendMoves(nil) {
		next := p
		next.Play(m)
		n += count(next, depth-1)
	}
	return n
}

// Perft counts the sequences that there are, in every phase; those that end the game sooner are not among them.
func TestPerft(t *testing.T) {
	ended := 0
	walk(t, 3, func(p rules.Position) {
		for depth := range 3 {
			if got, want := rules.Perft(&p, depth), count(p, depth); got != want {
				t.Fatalf("perft %d is %d, want %d\n%s", depth, got, want, p.Draw())
			}
		}
		for _, m := range p.AppendMoves(nil) {
			next := p
			if next.Play(m); next.NumMoves() == 0 {
				ended++
			}
		}
	})
	if ended == 0 {
		t.Error("no game ended within two Moves")
	}
}

// The counts that measurements of speed go by; another way of finding destinations gave the same.
func TestPerftOfRingMoves(t *testing.T) {
	p := rulestest.LatePlacement()
	for depth, want := range []uint64{1, 77, 5852, 516070, 38061792} {
		if got := rules.Perft(&p, depth); got != want {
			t.Errorf("perft %d is %d, want %d", depth, got, want)
		}
	}
}
