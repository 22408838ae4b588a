package rules_test

import (
	"math/rand/v2"
	"testing"

	"yinshzero/internal/rulestest"
	"yinshzero/rules"
)

func BenchmarkPerft(b *testing.B) {
	p := rulestest.LatePlacement()
	b.ReportAllocs()
	var leaves uint64
	for b.Loop() {
		leaves += rules.Perft(&p, 4)
	}
	b.ReportMetric(float64(leaves)/b.Elapsed().Seconds(), "leaves/s")
}

// BenchmarkRandomGames plays games of random Moves; moves/s is to be compared with BenchmarkReference's.
func BenchmarkRandomGames(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	moves := make([]rules.Move, 0, rules.MaxMoves)
	b.ReportAllocs()
	plies := 0
	for b.Loop() {
		p := rules.New(rules.Standard())
		for moves = p.AppendMoves(moves[:0]); len(moves) > 0; moves = p.AppendMoves(moves[:0]) {
			p.Play(moves[rng.IntN(len(moves))])
			plies++
		}
	}
	b.ReportMetric(float64(plies)/b.Elapsed().Seconds(), "moves/s")
}

func BenchmarkReference(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	plies := 0
	for b.Loop() {
		ref := reference(rules.Standard())
		for moves := ref.Legal(); len(moves) > 0; moves = ref.Legal() {
			ref.Play(moves[rng.IntN(len(moves))])
			plies++
		}
	}
	b.ReportMetric(float64(plies)/b.Elapsed().Seconds(), "moves/s")
}

// midgame is a Position with many ring moves.
func midgame() rules.Position {
	var best rules.Position
	rulestest.Walk(rules.Standard(), 3, 1, func(_ int, p rules.Position) {
		if p.Phase() == rules.PhaseMoveRing && p.NumMoves() > 40 {
			best = p
		}
	})
	return best
}

func BenchmarkAppendMoves(b *testing.B) {
	p, moves := midgame(), make([]rules.Move, 0, rules.MaxMoves)
	b.ReportAllocs()
	for b.Loop() {
		moves = p.AppendMoves(moves[:0])
	}
}

func BenchmarkNumMoves(b *testing.B) {
	p, n := midgame(), 0
	for b.Loop() {
		n += p.NumMoves()
	}
}

func BenchmarkPlay(b *testing.B) {
	p := midgame()
	moves, i := p.AppendMoves(nil), 0
	b.ReportAllocs()
	for b.Loop() {
		next := p
		next.Play(moves[i%len(moves)])
		i++
	}
}

func BenchmarkHash(b *testing.B) {
	p := midgame()
	var h uint64
	b.ReportAllocs()
	for b.Loop() {
		h ^= p.Hash()
	}
}
