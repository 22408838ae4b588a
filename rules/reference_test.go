package rules_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"yinshzero/internal/rulestest"
	"yinshzero/rules"
)

// reference is the slow engine's game of v.
func reference(v rules.Variant) *rulestest.Reference {
	return rulestest.NewReference(int(v.Radius), int(v.Rings), int(v.Markers), int(v.RowLength), int(v.RingsToWin))
}

// agree fails unless both engines have the same side, phase, board, legal Moves and result. It returns the legal Moves.
func agree(t *testing.T, p *rules.Position, ref *rulestest.Reference) []rules.Move {
	t.Helper()
	v := p.Variant()
	moves := p.AppendMoves(nil)
	texts := make([]string, len(moves))
	for i, m := range moves {
		texts[i] = v.MoveText(m)
	}
	slices.Sort(texts)
	res, over := p.Result()
	switch want := ref.Legal(); {
	case p.Phase().String() != ref.Phase() || !over && p.ToMove().String() != ref.Side():
		t.Fatalf("got %v to move, %v: want %s, %s\n%s", p.ToMove(), p.Phase(), ref.Side(), ref.Phase(), p.Draw())
	case !slices.Equal(texts, want):
		t.Fatalf("legal moves\ngot  %v\nwant %v\n%s", texts, want, p.Draw())
	case p.String()[:rules.NumPoints] != ref.Board():
		t.Fatalf("board\ngot  %s\nwant %s", p.String()[:rules.NumPoints], ref.Board())
	case res.Outcome.String() != ref.Result():
		t.Fatalf("got %v: want %s\n%s", res.Outcome, ref.Result(), p.Draw())
	}
	return moves
}

// Random games of every kind agree with the slow engine, ply by ply.
func TestReference(t *testing.T) {
	for _, test := range []struct {
		variant      string
		games, short int
	}{
		{"standard", 2000, 20},
		{"blitz", 2000, 30},
		{"mini", 3000, 100},
		{"4-4-35-5-2", 1000, 20},
		{"4-5-40-3-5", 1000, 20},
		{"3-2-30-6-2", 500, 20},
		{"5-1-99-7-1", 500, 20},
	} {
		t.Run(test.variant, func(t *testing.T) {
			t.Parallel()
			v, err := rules.ParseVariant(test.variant)
			if err != nil {
				t.Fatal(err)
			}
			n := test.games
			if testing.Short() {
				n = test.short
			}
			ends := map[rules.Reason]int{}
			for i := range n {
				rng := rand.New(rand.NewPCG(1, uint64(i)))
				p, ref := rules.New(v), reference(v)
				plies := 0
				for len(agree(t, &p, ref)) > 0 {
					m := rules.RandomMove(&p, rules.RandomKind(i%3), rng)
					ref.Play(v.MoveText(m))
					p.Play(m)
					plies++
				}
				if plies > v.MaxPlies() {
					t.Fatalf("%d plies: want at most %d", plies, v.MaxPlies())
				}
				res, _ := p.Result()
				ends[res.Reason]++
			}
			t.Logf("%d games: %v", n, ends)
		})
	}
}
