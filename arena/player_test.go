package arena

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"yinshzero/internal/seed"
	"yinshzero/mcts"
	"yinshzero/rules"
)

// naiveThreats counts threats by looking at every point of every line, from the definition at Greedy.
func naiveThreats(pos *rules.Position, me rules.Color) (n int) {
	board := map[[2]int]bool{}
	for _, p := range pos.AppendBoard(nil) {
		board[[2]int{p.Column(), p.Number()}] = true
	}
	for at := range board {
		for _, d := range [3][2]int{{0, 1}, {1, 0}, {1, 1}} {
			own, free := 0, true
			for k := range pos.RowLength() {
				x, y := at[0]+k*d[0], at[1]+k*d[1]
				if !board[[2]int{x, y}] {
					free = false
					break
				}
				p, _ := rules.PointAt(x, y)
				switch pos.At(p) {
				case rules.WhiteMarker + rules.Piece(me):
					own++
				case rules.WhiteRing + rules.Piece(me.Other()):
					free = false
				}
			}
			if free && own == pos.RowLength()-1 {
				n++
			}
		}
	}
	return n
}

// TestGreedy holds each choice in random games against the naive count.
func TestGreedy(t *testing.T) {
	var g Greedy
	threats, rows := 0, 0
	for n := range uint64(6) {
		v := rules.Variants()[n%3]
		rng := seed.New(n).Rand()
		pos := rules.New(v)
		for {
			if _, over := pos.Result(); over {
				break
			}
			me := pos.ToMove()
			worth := func(m rules.Move) int {
				next := pos
				next.Play(m)
				res, _ := next.Result()
				switch {
				case res.Outcome == rules.Wins(me):
					return 10001
				case len(next.AppendRows(nil, me)) > 0:
					return 10000
				}
				return naiveThreats(&next, me)
			}
			m, err := g.Move(t.Context(), pos, rng)
			if err != nil || !pos.IsLegal(m) {
				t.Fatalf("%v: move %v, %v", &pos, m, err)
			}
			for _, other := range pos.AppendMoves(nil) {
				if worth(other) > worth(m) {
					t.Fatalf("%v: chose %v worth %d, %v is worth %d", &pos, m, worth(m), other, worth(other))
				}
			}
			if w := worth(m); w >= 10000 {
				rows++
			} else if w > 0 {
				threats++
			}
			if rng.IntN(2) == 0 { // an odd turn now and then
				m, _ = new(Random).Move(t.Context(), pos, rng)
			}
			pos.Play(m)
		}
	}
	if rows < 10 || threats < 50 {
		t.Errorf("%d rows and %d threats seen: too few to tell", rows, threats)
	}
}

// solve is the outcome under best play, by looking at everything, and the number of Positions it took, up to limit.
func solve(pos rules.Position, limit *int) rules.Outcome {
	if res, over := pos.Result(); over {
		return res.Outcome
	}
	if *limit--; *limit < 0 {
		return rules.Unfinished
	}
	me := pos.ToMove()
	best := rules.Wins(me.Other())
	for _, m := range pos.AppendMoves(nil) {
		next := pos
		next.Play(m)
		switch o := solve(next, limit); {
		case *limit < 0:
			return rules.Unfinished
		case o == rules.Wins(me):
			return o
		case o == rules.Draw:
			best = o
		}
	}
	return best
}

// endings are Positions of random games, near the end, with their outcome under best play, such that not every Move
// holds it.
func endings(t *testing.T, count int) (out []rules.Position) {
	v := rules.Mini()
	for n := uint64(0); len(out) < count && n < 3000; n++ {
		g, err := PlayGame(t.Context(), new(Random), new(Random), v, seed.New(n), Opening{})
		if err != nil {
			t.Fatal(err)
		}
		if len(g.Moves) < 5 {
			continue
		}
		pos := rules.New(v)
		for _, m := range g.Moves[:len(g.Moves)-3] {
			pos.Play(m)
		}
		limit := 20000
		want := solve(pos, &limit)
		if limit < 0 || want == rules.Wins(pos.ToMove().Other()) {
			continue
		}
		for _, m := range pos.AppendMoves(nil) {
			next := pos
			next.Play(m)
			if limit = 20000; solve(next, &limit) != want && limit >= 0 {
				out = append(out, pos)
				break
			}
		}
	}
	return out
}

// TestEndings: the searches play the best Move of endings that are solved by looking at everything. One side may make
// several Moves in a row there, so a sign that flips with every ply would show.
func TestEndings(t *testing.T) {
	u, err := NewUCT(3000)
	if err != nil {
		t.Fatal(err)
	}
	p := mcts.DefaultParams()
	p.Root = mcts.PUCT
	s, err := NewSearch(mcts.New(mcts.Uniform{}, p), 3000)
	if err != nil {
		t.Fatal(err)
	}
	positions := endings(t, 25)
	if len(positions) < 25 {
		t.Fatalf("%d endings, want 25", len(positions))
	}
	for name, player := range map[string]Player{"uct": u, "search": s} {
		for i, pos := range positions {
			m, err := player.Move(t.Context(), pos, seed.New(uint64(i)).Rand())
			if err != nil {
				t.Fatal(err)
			}
			next := pos
			next.Play(m)
			limit := 100000
			if got, want := solve(next, &limit), solve(pos, &limit); got != want {
				t.Errorf("%s: %v: plays %v, which gives %v, best is %v", name, &pos, m, got, want)
			}
		}
	}
}

// TestUCTCounts: every simulation passes the root and one of its children, and points lie within visits.
func TestUCTCounts(t *testing.T) {
	u, _ := NewUCT(500)
	pos := rules.New(rules.Mini())
	if _, err := u.Move(t.Context(), pos, seed.New(1).Rand()); err != nil {
		t.Fatal(err)
	}
	if u.nodes[0].visits != 500 {
		t.Errorf("%d visits of the root, want 500", u.nodes[0].visits)
	}
	for i := range u.nodes {
		n := &u.nodes[i]
		if n.points < 0 || n.points > float32(n.visits) {
			t.Fatalf("node %d: %v points in %d visits", i, n.points, n.visits)
		}
		var below int32
		for _, c := range u.children(int32(i)) {
			below += c.visits
		}
		if n.count > 0 && i > 0 && below != n.visits-1 || i == 0 && below != n.visits {
			t.Fatalf("node %d: %d visits, its children %d", i, n.visits, below)
		}
	}
}

func TestUCTAllocates(t *testing.T) {
	u, _ := NewUCT(50)
	o, _ := NewPair(rules.Standard(), 1, 0)
	pos, _ := o.Position(rules.Standard())
	rng := seed.New(1).Rand()
	if n := testing.AllocsPerRun(5, func() { _, _ = u.Move(context.Background(), pos, rng) }); n > 0 {
		t.Errorf("%v allocations a Move, want none", n)
	}
}

func TestPlayersOfBadSize(t *testing.T) {
	for _, n := range []int{-1, 0, MaxSimulations + 1} {
		if _, err := NewUCT(n); err == nil || !strings.Contains(err.Error(), "want 1 to 100000") {
			t.Errorf("uct of %d: got error %v", n, err)
		}
		if _, err := NewSearch(nil, n); err == nil || !strings.Contains(err.Error(), "want 1 to 100000") {
			t.Errorf("search of %d: got error %v", n, err)
		}
	}
}

func TestCancelledPlayers(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	u, _ := NewUCT(1000)
	s, _ := NewSearch(mcts.New(mcts.Uniform{}, mcts.DefaultParams()), 1000)
	timed, _ := NewTimed(mcts.New(mcts.Uniform{}, mcts.DefaultParams()), time.Hour)
	for _, p := range []Player{u, s, timed} {
		if _, err := p.Move(ctx, rules.New(rules.Mini()), seed.New(1).Rand()); !errors.Is(err, context.Canceled) {
			t.Errorf("%T: got error %v, want canceled", p, err)
		}
	}
}

// A tired Evaluator that has a deadline judges so many Positions and then none before it is over.
type tired struct{ left int }

func (e *tired) Evaluate(ctx context.Context, batch []*mcts.Query) error {
	if _, timed := ctx.Deadline(); timed && e.left == 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	e.left = max(0, e.left-1)
	return mcts.Uniform{}.Evaluate(ctx, batch)
}

// TestTimed: a search for a time plays when that is over, by what it has found; by the priors, if the time was not even
// enough to judge the Position.
func TestTimed(t *testing.T) {
	for _, d := range []time.Duration{-time.Second, 0, minTime - 1, maxTime + 1} {
		if _, err := NewTimed(nil, d); err == nil || !strings.Contains(err.Error(), "want 1ms to 1h") {
			t.Errorf("search for %v: got error %v", d, err)
		}
	}
	for _, root := range []mcts.RootPolicy{mcts.Gumbel, mcts.PUCT} {
		for _, left := range []int{0, 1, 5} {
			params := mcts.DefaultParams()
			params.Root = root
			searcher := mcts.New(&tired{left}, params)
			s, err := NewTimed(searcher, minTime)
			if err != nil {
				t.Fatal(err)
			}
			pos := rules.New(rules.Mini())
			m, err := s.Move(t.Context(), pos, nil)
			if err != nil || !pos.IsLegal(m) {
				t.Fatalf("%v, %d evaluations: move %v, %v", root, left, m, err)
			}
			if n := int(searcher.Visits()); n < 1 || n > max(1, left) {
				t.Errorf("%v, %d evaluations: %d visits", root, left, n)
			}
		}
	}
}

// A watched Search counts how often it has a tree to go on from.
type watched struct {
	*Search
	reused int
}

func (w *watched) Move(ctx context.Context, pos rules.Position, rng *rand.Rand) (rules.Move, error) {
	root, err := w.searcher.Search(ctx, pos, mcts.Budget{}, rng)
	if err != nil {
		return 0, err
	}
	for _, e := range root.Edges {
		if e.Visits > 0 {
			w.reused++
			break
		}
	}
	return w.Search.Move(ctx, pos, rng)
}

// TestSearchKeepsTree: told of the Moves, the search goes on from the tree it has; not told, it begins anew.
func TestSearchKeepsTree(t *testing.T) {
	for _, follows := range []bool{true, false} {
		s, err := NewSearch(mcts.New(mcts.Uniform{}, mcts.DefaultParams()), 200)
		if err != nil {
			t.Fatal(err)
		}
		w := &watched{Search: s}
		var white Player = w
		if !follows {
			white = playerFunc(w.Move)
		}
		if _, err := PlayGame(t.Context(), white, new(Random), rules.Mini(), seed.New(6), Opening{}); err != nil {
			t.Fatal(err)
		}
		if follows != (w.reused > 0) {
			t.Errorf("told of the moves: %v; %d searches began with a tree", follows, w.reused)
		}
	}
}

// TestStrength holds the known order of the players, at fixed seeds.
func TestStrength(t *testing.T) {
	search := func(simulations int) Maker {
		return func() (Player, error) {
			p := mcts.DefaultParams()
			p.Root = mcts.PUCT
			return NewSearch(mcts.New(mcts.Uniform{}, p), simulations)
		}
	}
	for _, c := range []struct {
		name    string
		a, b    Maker
		variant rules.Variant
		pairs   int
		atLeast float64 // Elo at the low end of the interval
		short   bool    // also with -short
	}{
		{"greedy beats random", greedy, random, rules.Mini(), 60, 100, true},
		{"greedy beats random", greedy, random, rules.Standard(), 30, 100, true},
		{"uct:50 beats random", uct(50), random, rules.Mini(), 40, 200, true},
		{"uct:200 beats random", uct(200), random, rules.Mini(), 30, 250, false},
		{"uct:200 beats uct:50", uct(200), uct(50), rules.Mini(), 60, 30, false},
		{"uct:200 beats greedy", uct(200), greedy, rules.Mini(), 30, 50, false},
		{"a search without a network beats random", search(200), random, rules.Mini(), 30, 100, false},
	} {
		if testing.Short() && !c.short {
			continue
		}
		var tally Tally
		for _, r := range played(t, Match{A: c.a, B: c.b, Variant: c.variant, Seed: 1, Pairs: c.pairs, Parallel: 2}) {
			tally.Add(r)
		}
		e := tally.Score.Elo()
		t.Logf("%s (%v): %+v, %+v, %.0f plies", c.name, c.variant, tally.Score, e, tally.MeanPlies())
		if e.Low < c.atLeast {
			t.Errorf("%s (%v): %+v, want more than %v", c.name, c.variant, e, c.atLeast)
		}
	}
}

func BenchmarkUCT(b *testing.B) {
	u, _ := NewUCT(200)
	o, _ := NewPair(rules.Standard(), 1, 0)
	pos, _ := o.Position(rules.Standard())
	rng := seed.New(1).Rand()
	b.ReportAllocs()
	for b.Loop() {
		_, _ = u.Move(context.Background(), pos, rng)
	}
	b.ReportMetric(float64(200*b.N)/b.Elapsed().Seconds(), "simulations/s")
}

func BenchmarkGreedy(b *testing.B) {
	var g Greedy
	o, _ := NewPair(rules.Standard(), 1, 0)
	pos, _ := o.Position(rules.Standard())
	rng := seed.New(1).Rand()
	b.ReportAllocs()
	for b.Loop() {
		_, _ = g.Move(context.Background(), pos, rng)
	}
}
