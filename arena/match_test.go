package arena

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"yinshzero/rules"
)

func random() (Player, error) { return new(Random), nil }
func greedy() (Player, error) { return new(Greedy), nil }

func uct(simulations int) Maker {
	return func() (Player, error) { return NewUCT(simulations) }
}

func played(t *testing.T, m Match) []PairResult {
	t.Helper()
	var out []PairResult
	for r, err := range m.Play(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// TestMatchIsDeterministic: the seed decides, the number of goroutines does not.
func TestMatchIsDeterministic(t *testing.T) {
	m := Match{A: uct(20), B: greedy, Variant: rules.Mini(), Seed: 4, Pairs: 12, Parallel: 1}
	want := played(t, m)
	if len(want) != 12 {
		t.Fatalf("%d pairs, want 12", len(want))
	}
	for _, parallel := range []int{0, 2, 5, 40} {
		m.Parallel = parallel
		if got := played(t, m); !reflect.DeepEqual(got, want) {
			t.Errorf("%d goroutines play another match than one", parallel)
		}
	}
	m.Seed = 5
	if got := played(t, m); reflect.DeepEqual(got, want) {
		t.Error("another seed plays the same match")
	}
	o, s := NewPair(m.Variant, 4, 7)
	a, _ := uct(20)()
	if got, err := PlayPair(t.Context(), a, new(Greedy), m.Variant, s, o); err != nil || !reflect.DeepEqual(got, want[7]) {
		t.Errorf("pair 7 played on its own differs from the match's: %v", err)
	}
}

func TestMatchOfEquals(t *testing.T) {
	for _, p := range []Maker{random, greedy, uct(10)} {
		var tally Tally
		for _, r := range played(t, Match{A: p, B: p, Variant: rules.Mini(), Seed: 1, Pairs: 20, Parallel: 2}) {
			tally.Add(r)
		}
		if s := tally.Score; s.Pairs != [5]int{2: 20} || s.Wins != s.Losses {
			t.Errorf("a player against its equal: %+v, want every pair shared", s)
		}
		if tally.Unique() != 20 {
			t.Errorf("%d different games, want 20, each played twice", tally.Unique())
		}
	}
}

// A door counts how many players are open.
type door struct {
	Random
	open *atomic.Int64
}

func (d *door) Close() error {
	d.open.Add(-1)
	return nil
}

// A failing player plays a number of games and then fails.
type failing struct {
	Random
	games int
	err   error
}

func (f *failing) Start(rules.Position) { f.games-- }
func (f *failing) Played(rules.Move)    {}
func (f *failing) Move(ctx context.Context, pos rules.Position, rng *rand.Rand) (rules.Move, error) {
	if f.games < 0 {
		return 0, f.err
	}
	return f.Random.Move(ctx, pos, rng)
}

// TestMatchEnds: however a match ends, the players are closed and no goroutine is left (the bubble would not end).
func TestMatchEnds(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name  string
		pairs int // yielded without an error
		stop  int // the pair after which the loop breaks, −1 never
		match func(m *Match, cancel func())
		want  string
	}{
		{"to the end", 9, -1, func(*Match, func()) {}, ""},
		{"broken off", 3, 3, func(*Match, func()) {}, ""},
		{"no pairs", 0, -1, func(m *Match, _ func()) { m.Pairs = 0 }, ""},
		{"no player", 0, -1, func(m *Match, _ func()) {
			m.B = func() (Player, error) { return nil, broken }
		}, "play pair 0: make player B: broken"},
		{"player fails in its third pair", 2, -1, func(m *Match, _ func()) {
			m.Parallel = 1
			m.B = func() (Player, error) { return &failing{games: 4, err: broken}, nil }
		}, "play pair 2: game 1 of a pair: ply"},
		{"cancelled", 0, -1, func(m *Match, cancel func()) {
			m.B = func() (Player, error) {
				return playerFunc(func(ctx context.Context, p rules.Position, rng *rand.Rand) (rules.Move, error) {
					cancel()
					return new(Random).Move(ctx, p, rng)
				}), nil
			}
		}, "context canceled"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var open atomic.Int64
			a := func() (Player, error) {
				open.Add(1)
				return &door{open: &open}, nil
			}
			m := Match{A: a, B: random, Variant: rules.Mini(), Seed: 2, Pairs: 9, Parallel: 3}
			c.match(&m, cancel)
			pairs, last := 0, error(nil)
			for _, err := range m.Play(ctx) {
				if last = err; err == nil {
					pairs++
				}
				if pairs == c.stop {
					break
				}
			}
			if pairs != c.pairs {
				t.Errorf("%s: %d pairs, want %d", c.name, pairs, c.pairs)
			}
			if (last == nil) != (c.want == "") || last != nil && !strings.Contains(last.Error(), c.want) {
				t.Errorf("%s: got error %v, want %q", c.name, last, c.want)
			}
			if n := open.Load(); n != 0 {
				t.Errorf("%s: %d players left open", c.name, n)
			}
		})
	}
}

func TestReport(t *testing.T) {
	var tally Tally
	plies := 0
	for _, r := range played(t, Match{A: greedy, B: random, Variant: rules.Mini(), Seed: 1, Pairs: 5}) {
		tally.Add(r)
		plies += len(r.Games[0].Moves) + len(r.Games[1].Moves)
	}
	text, err := json.Marshal(tally.Report("greedy", "random", rules.Mini()))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range strings.Fields("a b variant pairs wins draws losses elo elo_low elo_high mean_plies pentanomial unique_games") {
		if _, ok := got[key]; !ok {
			t.Errorf("no key %s in %s", key, text)
		}
	}
	if got["a"] != "greedy" || got["variant"] != "mini" || got["pairs"] != 5.0 || got["mean_plies"] != float64(plies)/10 {
		t.Errorf("got %s", text)
	}
	if r := new(Tally).Report("a", "b", rules.Mini()); r.MeanPlies != 0 || r.Elo != 0 {
		t.Errorf("no pairs: %+v", r)
	}
}
