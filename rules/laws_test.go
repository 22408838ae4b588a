package rules_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"yinshzero/internal/rulestest"
	"yinshzero/rules"
)

// someVariants are the known Variants and others that stretch the numbers.
func someVariants(t testing.TB) []rules.Variant {
	all := rules.Variants()
	for _, s := range []string{"4-4-35-5-2", "5-5-40-3-5", "4-1-99-4-1", "3-2-30-7-2", "5-5-6-5-3"} {
		v, err := rules.ParseVariant(s)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// walk visits Positions of random games of many Variants.
func walk(t testing.TB, games int, visit func(p rules.Position)) {
	for _, v := range someVariants(t) {
		rulestest.Walk(v, games, 7, func(_ int, p rules.Position) { visit(p) })
	}
}

// Rings and markers are conserved; whose they are in a Position's counts is told by the board.
func TestConservation(t *testing.T) {
	walk(t, 30, func(p rules.Position) {
		v := p.Variant()
		markers := p.Pool()
		for _, c := range []rules.Color{rules.White, rules.Black} {
			rings := len(p.AppendRings(nil, c))
			if all := rings + p.Hand(c) + p.Taken(c); all != int(v.Rings) {
				t.Fatalf("%v has %d rings: want %d\n%s", c, all, v.Rings, p.Draw())
			}
			markers += len(p.AppendMarkers(nil, c))
		}
		if markers != int(v.Markers) {
			t.Fatalf("%d markers: want %d\n%s", markers, v.Markers, p.Draw())
		}
	})
}

// AppendMoves lists legal Moves in ascending order, none only when the game is over, never more than MaxMoves; NumMoves
// counts the same ones.
func TestAppendMoves(t *testing.T) {
	most := 0
	walk(t, 30, func(p rules.Position) {
		keep := []rules.Move{7}
		moves := p.AppendMoves(keep)
		if moves[0] != 7 {
			t.Fatal("what was in the slice is gone")
		}
		moves = moves[1:]
		_, over := p.Result()
		for i := 1; i < len(moves); i++ {
			if moves[i-1] >= moves[i] {
				t.Fatalf("%v before %v\n%s", moves[i-1], moves[i], p.Draw())
			}
		}
		if len(moves) != p.NumMoves() || (len(moves) == 0) != over || len(moves) > rules.MaxMoves {
			t.Fatalf("%d moves, NumMoves %d, over %v\n%s", len(moves), p.NumMoves(), over, p.Draw())
		}
		most = max(most, len(moves))
	})
	t.Logf("at most %d moves", most)
}

// IsLegal knows the same Moves as AppendMoves, among all Move values there are.
func TestIsLegal(t *testing.T) {
	n := 0
	walk(t, 6, func(p rules.Position) {
		limit := rules.Move(rules.NumMoves + 20)
		if n++; n%100 == 0 {
			limit = ^rules.Move(0)
		}
		moves := p.AppendMoves(nil)
		for m := rules.Move(0); m < limit; m++ {
			_, want := slices.BinarySearch(moves, m)
			if got := p.IsLegal(m); got != want {
				t.Fatalf("IsLegal(%v) is %v\n%s", m, got, p.Draw())
			}
		}
	})
}

// A game of RemoveRow and RemoveRing only ever follows rows: no Position before a ring move holds one, and the mover's
// are taken first.
func TestRowsAreResolved(t *testing.T) {
	walk(t, 30, func(p rules.Position) {
		w, b := len(p.AppendRows(nil, rules.White)), len(p.AppendRows(nil, rules.Black))
		rows := [2]int{w, b}
		switch p.Phase() {
		case rules.PhasePlaceRing, rules.PhaseMoveRing:
			if w+b > 0 {
				t.Fatalf("rows before a ring move\n%s", p.Draw())
			}
		case rules.PhaseRemoveRow:
			if rows[p.ToMove()] == 0 || p.ToMove() != p.LastMover() && rows[p.LastMover()] > 0 {
				t.Fatalf("rows of the wrong side\n%s", p.Draw())
			}
		}
	})
}

// The hash is a function of the Position, and no two of many Positions share it.
func TestHash(t *testing.T) {
	positions := map[uint64]rules.Position{}
	walk(t, 60, func(p rules.Position) {
		q, seen := positions[p.Hash()]
		if seen && q != p {
			t.Fatalf("two positions with one hash\n%s\n%s", p.String(), q.String())
		}
		positions[p.Hash()] = p
	})
	t.Logf("%d positions", len(positions))
}

// Equal Positions reached by two ways have equal hashes; who moved last and whose decision it is are part of it.
func TestHashOfTranspositions(t *testing.T) {
	p, q := rules.New(rules.Standard()), rules.New(rules.Standard())
	play(t, &p, "a2 b1 k7 k8")
	play(t, &q, "k7 k8 a2 b1")
	if p != q || p.Hash() != q.Hash() {
		t.Errorf("%s and %s, hashes %x, %x", p.String(), q.String(), p.Hash(), q.Hash())
	}
	own := drawn(t, rulestest.Drawing{
		Pieces: "wf4-f8 Wk8 " + whiteCorner + blackCorner, Phase: rules.PhaseRemoveRow,
	})
	gift := drawn(t, rulestest.Drawing{
		Pieces: "wf4-f8 Wk8 " + whiteCorner + blackCorner, Phase: rules.PhaseRemoveRow, Gift: true,
	})
	if own.Hash() == gift.Hash() {
		t.Error("who moved last is not in the hash")
	}
	standard, blitz := rules.New(rules.Standard()), rules.New(rules.Blitz())
	if standard.Hash() == blitz.Hash() {
		t.Error("the variant is not in the hash")
	}
}

// No game is longer than MaxPlies.
func TestMaxPlies(t *testing.T) {
	for _, v := range someVariants(t) {
		longest := 0
		for i := range 60 {
			g := rules.RandomGame(v, rules.RandomKind(i%3), rand.New(rand.NewPCG(11, uint64(i))))
			longest = max(longest, len(g.Moves))
		}
		if longest > v.MaxPlies() {
			t.Errorf("%v: %d plies, want at most %d", v, longest, v.MaxPlies())
		}
		t.Logf("%v: %d of %d plies", v, longest, v.MaxPlies())
	}
}

// What a search does in its loop allocates nothing.
func TestAllocs(t *testing.T) {
	walk(t, 1, func(p rules.Position) {
		moves := make([]rules.Move, 0, rules.MaxMoves)
		var sum uint64
		allocs := testing.AllocsPerRun(1, func() {
			moves = p.AppendMoves(moves[:0])
			for _, m := range moves {
				next := p
				next.Play(m)
				sum += next.Hash()
				if !p.IsLegal(m) {
					sum++
				}
			}
			sum += uint64(p.NumMoves()) + rules.Perft(&p, 2)
			_ = rules.Symmetry(5).Position(p)
		})
		if allocs != 0 {
			t.Fatalf("%v allocations\n%s", allocs, p.Draw())
		}
	})
}

func TestPositionSize(t *testing.T) {
	a := rules.New(rules.Standard())
	b := a
	b.Play(0)
	if a == b || a != rules.New(rules.Standard()) {
		t.Error("a copy is not independent")
	}
}
