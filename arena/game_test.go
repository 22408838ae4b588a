package arena

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"yinshzero/internal/seed"
	"yinshzero/rules"
)

// gamesByOutcome finds a random game of v for each outcome.
func gamesByOutcome(t *testing.T, v rules.Variant) map[rules.Outcome]Game {
	t.Helper()
	found := map[rules.Outcome]Game{}
	for n := range uint64(5000) {
		g, err := PlayGame(t.Context(), new(Random), new(Random), v, seed.New(n), Opening{})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := found[g.Result.Outcome]; !ok {
			found[g.Result.Outcome] = g
		}
		if len(found) == 3 {
			return found
		}
	}
	t.Fatal("no random game for some outcome")
	return nil
}

// A script plays the Moves of one game as White and of another as Black.
type script struct{ asWhite, asBlack Game }

func (s script) Move(_ context.Context, pos rules.Position, _ *rand.Rand) (rules.Move, error) {
	g := s.asWhite
	if pos.ToMove() == rules.Black {
		g = s.asBlack
	}
	p := rules.New(pos.Variant())
	for _, m := range g.Moves {
		if p == pos {
			return m, nil
		}
		p.Play(m)
	}
	return 0, errors.New("off the script")
}

// TestPairColours scripts every pair of results: which player gets the points can then be told by hand.
func TestPairColours(t *testing.T) {
	games := gamesByOutcome(t, rules.Mini())
	pointsOfWhite := map[rules.Outcome]float64{rules.WhiteWins: 1, rules.Draw: 0.5, rules.BlackWins: 0}
	for first := range games {
		for second := range games {
			a := script{asWhite: games[first], asBlack: games[second]}
			b := script{asWhite: games[second], asBlack: games[first]}
			r, err := PlayPair(t.Context(), a, b, rules.Mini(), seed.New(1), Opening{})
			if err != nil {
				t.Fatal(err)
			}
			want := pointsOfWhite[first] + 1 - pointsOfWhite[second]
			if got := r.Points(); got != want {
				t.Errorf("%v as White, then %v with the other as White: %v points, want %v", first, second, got, want)
			}
			var s Score
			s.Add(r)
			if got := float64(s.Wins) + float64(s.Draws)/2; got != want || s.Wins+s.Draws+s.Losses != 2 {
				t.Errorf("%v, %v: score %+v, want %v points of two games", first, second, s, want)
			}
			if s.Pairs[int(2*want)] != 1 || s.N() != 1 || s.Mean() != want/2 {
				t.Errorf("%v, %v: score %+v, want one pair of %v points", first, second, s, want)
			}
		}
	}
}

// TestWhiteAlwaysWins plays a pair in which the colour decides everything: nobody is stronger.
func TestWhiteAlwaysWins(t *testing.T) {
	g := gamesByOutcome(t, rules.Mini())[rules.WhiteWins]
	p := script{g, g}
	r, err := PlayPair(t.Context(), p, p, rules.Mini(), seed.New(1), Opening{})
	if err != nil {
		t.Fatal(err)
	}
	var s Score
	s.Add(r)
	if want := (Score{Pairs: [5]int{2: 1}, Wins: 1, Losses: 1}); s != want {
		t.Errorf("got %+v, want %+v", s, want)
	}
	if !slices.Equal(r.Games[0].Moves, g.Moves) || r.Games[0].Result != g.Result {
		t.Errorf("got game %+v, want %+v", r.Games[0], g)
	}
}

// TestPairOfEquals: a player against its equal plays the same game twice.
func TestPairOfEquals(t *testing.T) {
	for n := range 20 {
		o, s := NewPair(rules.Standard(), 5, n)
		r, err := PlayPair(t.Context(), new(Random), new(Random), rules.Standard(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Points() != 1 || !slices.Equal(r.Games[0].Moves, r.Games[1].Moves) {
			t.Errorf("pair %d: %v points, want 1 of twice the same game", n, r.Points())
		}
		if r.Games[0].Hash() != r.Games[1].Hash() {
			t.Errorf("pair %d: equal games, unequal hashes", n)
		}
	}
}

// A listener checks what a Follower is told.
type listener struct {
	Random
	t    *testing.T
	pos  rules.Position
	told int
}

func (l *listener) Start(pos rules.Position) { l.pos = pos }
func (l *listener) Played(m rules.Move)      { l.pos.Play(m); l.told++ }
func (l *listener) Move(ctx context.Context, pos rules.Position, rng *rand.Rand) (rules.Move, error) {
	if pos != l.pos {
		l.t.Errorf("asked about %v, was led to %v", &pos, &l.pos)
	}
	return l.Random.Move(ctx, pos, rng)
}

func TestFollower(t *testing.T) {
	a, b := &listener{t: t}, &listener{t: t}
	plies := 0
	for n := range 5 {
		o, s := NewPair(rules.Mini(), 3, n)
		r, err := PlayPair(t.Context(), a, b, rules.Mini(), s, o)
		if err != nil {
			t.Fatal(err)
		}
		plies += len(r.Games[0].Moves) + len(r.Games[1].Moves) - 2*len(o.Moves)
	}
	if a.told != plies || b.told != plies {
		t.Errorf("told of %d and %d moves, want %d", a.told, b.told, plies)
	}
}

type playerFunc func(context.Context, rules.Position, *rand.Rand) (rules.Move, error)

func (f playerFunc) Move(ctx context.Context, pos rules.Position, rng *rand.Rand) (rules.Move, error) {
	return f(ctx, pos, rng)
}

func TestPlayGameErrors(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		move rules.Move
		err  error
		want string
	}{
		{"illegal move", rules.Pass, nil, "ply 1: B plays illegal move pass"},
		{"no move at all", 60000, nil, "ply 1: B plays illegal move Move(60000)"},
		{"player fails", 0, broken, "ply 1: B: broken"},
	} {
		black := playerFunc(func(context.Context, rules.Position, *rand.Rand) (rules.Move, error) { return c.move, c.err })
		_, err := PlayGame(t.Context(), new(Random), black, rules.Mini(), seed.New(1), Opening{})
		if err == nil || err.Error() != c.want || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%s: got error %v, want %s", c.name, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	stop := playerFunc(func(ctx context.Context, pos rules.Position, rng *rand.Rand) (rules.Move, error) {
		cancel()
		return new(Random).Move(ctx, pos, rng)
	})
	if _, err := PlayGame(ctx, stop, stop, rules.Mini(), seed.New(1), Opening{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got error %v", err)
	}
}

func TestReplay(t *testing.T) {
	v := rules.Mini()
	g := gamesByOutcome(t, v)[rules.BlackWins]
	if got, err := Replay(v, g.Moves); err != nil || got.Result != g.Result {
		t.Errorf("got %v, %v, want %v", got.Result, err, g.Result)
	}
	last := len(g.Moves) - 1
	for _, c := range []struct {
		moves []rules.Move
		want  string
	}{
		{g.Moves[:last], fmt.Sprintf("not over after %d plies", last)},
		{append(slices.Clone(g.Moves), rules.Pass), fmt.Sprintf("ply %d: the game is over", last+1)},
		{[]rules.Move{rules.Pass}, "ply 0: illegal move pass"},
		{[]rules.Move{65535}, "ply 0: illegal move Move(65535)"},
		{nil, "not over after 0 plies"},
	} {
		if _, err := Replay(v, c.moves); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d moves: got error %v, want %s", len(c.moves), err, c.want)
		}
	}
}

func TestOpenings(t *testing.T) {
	for _, v := range append(rules.Variants(), rules.Variant{Name: "tiny", Radius: 3, Rings: 1, Markers: 1, RowLength: 3, RingsToWin: 1}) {
		unique := map[uint64]bool{}
		lengths := map[int]int{}
		const count = 400
		for n := range count {
			o, _ := NewPair(v, 9, n)
			again, _ := NewPair(v, 9, n)
			if !slices.Equal(o.Moves, again.Moves) {
				t.Fatalf("%v: opening %d differs from itself", v, n)
			}
			pos, err := o.Position(v)
			if err != nil {
				t.Fatalf("%v: %v", v, err)
			}
			if n := len(pos.AppendRows(nil, rules.White)) + len(pos.AppendRows(nil, rules.Black)); n > 0 {
				t.Errorf("%v: an opening with %d rows", v, n)
			}
			for _, m := range pos.AppendMoves(nil) {
				next := pos
				next.Play(m)
				if next.Phase() == rules.PhaseRemoveRow && next.ToMove() == pos.ToMove() {
					t.Errorf("%v: an opening with a row within a move", v)
				}
			}
			unique[pos.Hash()] = true
			lengths[len(o.Moves)]++
		}
		if v.Rings > 1 && len(unique) < count*95/100 {
			t.Errorf("%v: %d different openings of %d", v, len(unique), count)
		}
		for n := int(v.Rings); n <= 2*int(v.Rings)+openingExtra; n++ {
			if v.Rings > 1 && lengths[n] == 0 {
				t.Errorf("%v: no opening of %d plies: %v", v, n, lengths)
			}
		}
	}
	bad := Opening{[]rules.Move{rules.Pass}}
	if _, err := bad.Position(rules.Mini()); err == nil || !strings.Contains(err.Error(), "opening: ply 0: illegal move pass") {
		t.Errorf("got error %v", err)
	}
	over := Opening{gamesByOutcome(t, rules.Mini())[rules.Draw].Moves}
	if _, err := over.Position(rules.Mini()); err == nil || !strings.Contains(err.Error(), "the game is over") {
		t.Errorf("got error %v", err)
	}
}
