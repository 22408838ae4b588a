package rules_test

import (
	"flag"
	"fmt"
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

// A step is one Move of a game.
type step struct {
	before rules.Position
	legal  []rules.Move // of before
	move   rules.Move
	after  rules.Position
}

// laws fails unless the step, and the Position before it, keep every law.
func (s *step) laws(t testing.TB) {
	t.Helper()
	for _, law := range []struct {
		name  string
		fault func(*step) string
	}{
		{"conservation", conservation},
		{"legal Moves", legalMoves},
		{"rows come first", rowsComeFirst},
		{"every game ends", ends},
		{"text", texts},
		{"symmetry", symmetries},
	} {
		if fault := law.fault(s); fault != "" {
			t.Fatalf("%s: %s, at %s\n%s\n%s", law.name, fault, s.before.Variant().MoveText(s.move), s.before.String(), s.before.Draw())
		}
	}
}

// conservation: rings and markers on the board, in hand, taken and in the pool are as many as the Variant has; a Move
// changes the pool by the marker it lays or the row it takes.
func conservation(s *step) string {
	p, v := s.after, s.after.Variant()
	markers := p.Pool()
	for _, c := range []rules.Color{rules.White, rules.Black} {
		if n := len(p.AppendRings(nil, c)) + p.Hand(c) + p.Taken(c); n != int(v.Rings) {
			return fmt.Sprintf("%v has %d rings, want %d", c, n, v.Rings)
		}
		markers += len(p.AppendMarkers(nil, c))
	}
	if markers != int(v.Markers) {
		return fmt.Sprintf("%d markers, want %d", markers, v.Markers)
	}
	gain := 0
	switch s.move.Kind() {
	case rules.MoveRing:
		gain = -1
	case rules.RemoveRow:
		gain = int(v.RowLength)
	}
	if p.Pool()-s.before.Pool() != gain {
		return fmt.Sprintf("pool from %d to %d, want %+d", s.before.Pool(), p.Pool(), gain)
	}
	return ""
}

// legalMoves: ascending, as many as NumMoves counts, none only when the game is over and never more than MaxMoves; what
// was in the slice stays; IsLegal knows them.
func legalMoves(s *step) string {
	p := s.before
	all := p.AppendMoves([]rules.Move{7})
	moves := all[1:]
	_, over := p.Result()
	switch {
	case all[0] != 7:
		return "what was in the slice is gone"
	case !slices.IsSorted(moves) || len(slices.Compact(slices.Clone(moves))) != len(moves):
		return fmt.Sprintf("not ascending: %v", moves)
	case len(moves) != p.NumMoves() || len(moves) == 0 || len(moves) > rules.MaxMoves || over:
		return fmt.Sprintf("%d, NumMoves %d, over %v", len(moves), p.NumMoves(), over)
	case slices.ContainsFunc(moves, func(m rules.Move) bool { return !p.IsLegal(m) }):
		return "IsLegal does not know them all"
	}
	if _, over := s.after.Result(); over && (s.after.NumMoves() != 0 || len(s.after.AppendMoves(nil)) != 0) {
		return "legal Moves after the end"
	}
	return ""
}

// rowsComeFirst: no row is on the board when a ring is placed or moved, and the side that moved last takes his first.
func rowsComeFirst(s *step) string {
	p := s.before
	rows := [2]int{len(p.AppendRows(nil, rules.White)), len(p.AppendRows(nil, rules.Black))}
	switch p.Phase() {
	case rules.PhasePlaceRing, rules.PhaseMoveRing:
		if rows != [2]int{} {
			return "a row is left"
		}
	case rules.PhaseRemoveRow:
		if rows[p.ToMove()] == 0 || p.ToMove() != p.LastMover() && rows[p.LastMover()] > 0 {
			return "rows of the wrong side"
		}
	}
	return ""
}

// left bounds the Moves that may follow p. Rows that may yet be taken cost two Moves each and all but the last give
// their markers back; a marker in the pool is a ring move, with a pass before it; two passes end the game. When a ring is
// owed, the row has been taken and its markers are in the pool.
func left(p *rules.Position) int {
	v := p.Variant()
	rows := 2*int(v.RingsToWin) - 1 - p.Taken(rules.White) - p.Taken(rules.Black)
	owed := 0
	if p.Phase() == rules.PhaseRemoveRing {
		owed = 1
	}
	markers := p.Pool() + int(v.RowLength)*(rows-1-owed)
	return p.Hand(rules.White) + p.Hand(rules.Black) + 2*rows - owed + 2*markers + 2 - p.Passes()
}

// ends: every Move lowers what is left, which is MaxPlies before the first and never below 0. So every game ends, after
// at most MaxPlies Moves.
func ends(s *step) string {
	start := rules.New(s.before.Variant())
	if got, want := start.Variant().MaxPlies(), left(&start); got != want {
		return fmt.Sprintf("MaxPlies is %d, want %d", got, want)
	}
	if a, b := left(&s.before), left(&s.after); b >= a || b < 0 {
		return fmt.Sprintf("what is left goes from %d to %d", a, b)
	}
	return ""
}

// texts: what is written is read as it was: Positions, Variants, Moves. The hash of what was read, which no Move has
// changed, is the hash of what was written.
func texts(s *step) string {
	p, v := s.after, s.after.Variant()
	q, err := rules.ParsePosition(p.String())
	if err != nil || q != p || q.Hash() != p.Hash() {
		return fmt.Sprintf("%s is read as %s, %v, hashes %x, %x", p.String(), q.String(), err, p.Hash(), q.Hash())
	}
	if w, err := rules.ParseVariant(v.String()); err != nil || w != v {
		return fmt.Sprintf("variant %v is read as %v, %v", v, w, err)
	}
	for _, m := range s.legal {
		if back, err := v.ParseMove(v.MoveText(m)); err != nil || back != m {
			return fmt.Sprintf("move %s is read as %d, %v", v.MoveText(m), back, err)
		}
	}
	return ""
}

// symmetries: for all twelve, the legal Moves of the image are the images of the legal Moves, playing the image of a Move
// gives the image of what the Move gives, and the inverse undoes.
func symmetries(s *step) string {
	length := s.before.RowLength()
	images := make([]rules.Move, len(s.legal))
	for sym := range rules.Symmetry(rules.NumSymmetries) {
		p := sym.Position(s.before)
		for i, m := range s.legal {
			images[i] = sym.Move(m, length)
		}
		slices.Sort(images)
		if got := p.AppendMoves(nil); !slices.Equal(got, images) {
			return fmt.Sprintf("%d: legal moves %v, want %v", sym, got, images)
		}
		if sym.Inverse().Position(p) != s.before {
			return fmt.Sprintf("%d is not undone", sym)
		}
		p.Play(sym.Move(s.move, length))
		if p != sym.Position(s.after) {
			return fmt.Sprintf("%d does not commute", sym)
		}
	}
	return ""
}

// A turn gathers the Moves of one, from the Position before it.
type turn struct {
	start rules.Position
	moves []rules.Move
	acted bool // a ring was placed or moved, or the side passed
}

// add takes up a step and returns a fault if it completes a turn whose text is not read as it was.
func (u *turn) add(s *step) string {
	if len(u.moves) == 0 {
		u.start, u.acted = s.before, false
	}
	u.moves = append(u.moves, s.move)
	switch s.move.Kind() {
	case rules.PlaceRing, rules.MoveRing, rules.PassTurn:
		u.acted = true
	}
	_, over := s.after.Result()
	rows := s.after.Phase() == rules.PhaseRemoveRow || s.after.Phase() == rules.PhaseRemoveRing
	if !over && (!u.acted || rows && s.after.ToMove() == s.after.LastMover()) {
		return ""
	}
	text := string(s.before.Variant().AppendTurn(nil, u.moves))
	got, err := u.start.ParseTurn(text)
	if err != nil || !slices.Equal(got, u.moves) {
		return fmt.Sprintf("turn %s is read as %v, %v", text, got, err)
	}
	u.moves = u.moves[:0]
	return ""
}

// lawful plays a game of v by the Moves that choose picks from the legal ones, checks every step, and returns the plies.
func lawful(t testing.TB, v rules.Variant, choose func(*rules.Position, []rules.Move) rules.Move) (plies int) {
	s := step{after: rules.New(v)}
	var u turn
	for {
		s.before = s.after
		if s.legal = s.before.AppendMoves(s.legal[:0]); len(s.legal) == 0 {
			return plies
		}
		s.move = choose(&s.before, s.legal)
		s.after.Play(s.move)
		s.laws(t)
		if fault := u.add(&s); fault != "" {
			t.Fatalf("%s\n%s\n%s", fault, u.start.String(), u.start.Draw())
		}
		plies++
	}
}

// anyVariant is a Variant with numbers drawn from all that are allowed.
func anyVariant(rng *rand.Rand) rules.Variant {
	v := rules.Variant{
		Radius: int8(3 + rng.IntN(3)), Rings: int8(1 + rng.IntN(5)), Markers: int8(1 + rng.IntN(99)),
		RowLength: int8(3 + rng.IntN(5)),
	}
	v.RingsToWin = int8(1 + rng.IntN(int(v.Rings)))
	return v
}

var lawPositions = flag.Int("laws", 6000, "`positions` of random games that TestLaws checks")

// Every law holds in random games of all kinds, half of them of the named Variants, half of any.
func TestLaws(t *testing.T) {
	const shares = 8
	for share := range uint64(shares) {
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			t.Parallel()
			known := someVariants(t)
			for n, game := 0, uint64(0); n < *lawPositions/shares; game++ {
				rng := rand.New(rand.NewPCG(share, game))
				v := known[game/2%uint64(len(known))]
				if game%2 == 1 {
					v = anyVariant(rng)
				}
				n += lawful(t, v, func(p *rules.Position, _ []rules.Move) rules.Move {
					return rules.RandomMove(p, rules.RandomKind(game%3), rng)
				})
			}
		})
	}
}

// Every law holds in any game: the seed draws the Variant and, after the choices, the Moves.
func FuzzLaws(f *testing.F) {
	f.Add(uint64(1), []byte{})
	f.Add(uint64(2), []byte{0, 255, 7, 7, 7, 80, 3, 1, 0, 9, 200})
	f.Fuzz(func(t *testing.T, seed uint64, choices []byte) {
		rng := rand.New(rand.NewPCG(seed, 0))
		lawful(t, anyVariant(rng), func(_ *rules.Position, legal []rules.Move) rules.Move {
			if len(choices) == 0 {
				return legal[rng.IntN(len(legal))]
			}
			m := legal[int(choices[0])%len(legal)]
			choices = choices[1:]
			return m
		})
	})
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
