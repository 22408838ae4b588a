package solve

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"yinshzero/rules"
)

// small is a Solver with little memory, so that its table overflows.
func small(m Method) *Solver { return New(Params{Method: m, Entries: 1 << 10, MaxNodes: 100_000}) }

// A brute works out values by looking at every line of play to its end.
type brute struct {
	memo  map[rules.Position]exact
	nodes int // left
}

// An exact is a Value without bounds.
type exact struct {
	outcome rules.Outcome
	plies   int
}

// value is the exact Value of pos, and false if there are not enough nodes left.
func (b *brute) value(pos rules.Position) (exact, bool) {
	if res, over := pos.Result(); over {
		return exact{res.Outcome, 0}, true
	}
	if e, ok := b.memo[pos]; ok {
		return e, true
	}
	wins := rules.Wins(pos.ToMove())
	rank := func(e exact) int { // the mover's order
		switch e.outcome {
		case wins:
			return 1000 - e.plies
		case rules.Draw:
			return 0
		}
		return e.plies - 1000
	}
	var best exact
	for i, m := range pos.AppendMoves(nil) {
		if b.nodes--; b.nodes < 0 {
			return exact{}, false
		}
		next := pos
		next.Play(m)
		e, ok := b.value(next)
		if !ok {
			return exact{}, false
		}
		e.plies++
		if e.outcome == rules.Draw {
			e.plies = 0
		}
		if i == 0 || rank(e) > rank(best) {
			best = e
		}
	}
	b.memo[pos] = best
	return best, true
}

// endings calls visit with Positions of random games of v near their end: with at most pool markers off the board. Games
// prefer Moves that do not make a Row, so that the pool runs dry, but for every third game.
func endings(v rules.Variant, pool, games int, visit func(pos rules.Position)) {
	for i := range games {
		rng := rand.New(rand.NewPCG(7, uint64(i)))
		pos := rules.New(v)
		for pos.Phase() != rules.PhaseOver {
			moves := pos.AppendMoves(nil)
			if pos.Pool() <= pool || pos.Phase() >= rules.PhaseRemoveRow {
				visit(pos)
			}
			quiet := slices.DeleteFunc(slices.Clone(moves), func(m rules.Move) bool {
				next := pos
				next.Play(m)
				return next.Phase() >= rules.PhaseRemoveRow
			})
			if len(quiet) > 0 && i%3 != 0 {
				moves = quiet
			}
			pos.Play(moves[rng.IntN(len(moves))])
		}
	}
}

// A corpus is a kind of endings.
type corpus struct {
	variant     string
	pool, games int
	nodes       int // that brute may look at, for each Position
}

func corpora() []corpus {
	all := []corpus{
		{"mini", 3, 500, 20_000}, {"3-1-9-3-1", 9, 25, 10_000}, {"3-2-11-3-2", 5, 25, 20_000}, {"3-3-24-4-2", 4, 60, 10_000},
		{"3-3-24-7-1", 4, 200, 10_000}, {"blitz", 2, 250, 20_000}, {"standard", 1, 60, 10_000}, {"4-2-14-4-2", 2, 150, 20_000},
		{"3-2-29-5-2", 5, 100, 10_000}, {"3-4-24-4-2", 4, 60, 5_000}, // rings that cannot move
	}
	if testing.Short() {
		for i := range all {
			all[i].games = all[i].games/8 + 1
		}
	}
	return all
}

// forEndings calls visit with Positions whose value brute knows.
func forEndings(t *testing.T, c corpus, visit func(pos rules.Position, want exact, b *brute)) {
	v, err := rules.ParseVariant(c.variant)
	if err != nil {
		t.Fatal(err)
	}
	b := brute{memo: map[rules.Position]exact{}}
	endings(v, c.pool, c.games, func(pos rules.Position) {
		if b.nodes = c.nodes; len(b.memo) > 300_000 {
			clear(b.memo)
		}
		if want, ok := b.value(pos); ok {
			b.nodes = 1 << 40
			visit(pos, want, &b)
		}
	})
}

// AlphaBeta knows outcome and plies of every late Position and of every Move in it, and its line is best play.
func TestAgainstBruteForce(t *testing.T) {
	total := 0
	for _, c := range corpora() {
		t.Run(c.variant, func(t *testing.T) {
			s := small(AlphaBeta)
			results := map[string]int{}
			forEndings(t, c, func(pos rules.Position, want exact, b *brute) {
				results[want.outcome.String()]++
				if pos.Passes() > 0 || pos.IsLegal(rules.Pass) {
					results["pass"]++
				}
				total++
				all, err := s.Solve(t.Context(), pos, Budget{Moves: true})
				if err != nil {
					t.Fatal(err)
				}
				check(t, pos, all.Value, want)
				checkLine(t, pos, all.Line, want, b)
				for i, m := range pos.AppendMoves(nil) {
					next := pos
					next.Play(m)
					e, _ := b.value(next)
					if e.plies++; e.outcome == rules.Draw {
						e.plies = 0
					}
					if all.Moves[i].Move != m {
						t.Fatalf("%v: move %d is %v, want %v", &pos, i, all.Moves[i].Move, m)
					}
					check(t, next, all.Moves[i].Value, e)
				}
				one, err := s.Solve(t.Context(), pos, Budget{})
				if err != nil {
					t.Fatal(err)
				}
				check(t, pos, one.Value, want)
				if !slices.Equal(one.Line, all.Line) {
					t.Fatalf("%v: lines %v and %v", &pos, one.Line, all.Line)
				}
			})
			t.Logf("%v", results)
		})
	}
	t.Logf("%d positions", total)
}

// check holds got against the truth.
func check(t *testing.T, pos rules.Position, got Value, want exact) {
	t.Helper()
	if got.Outcome != want.outcome || got.Plies != want.plies {
		t.Fatalf("%v: got %v in %d, want %v in %d", &pos, got.Outcome, got.Plies, want.outcome, want.plies)
	}
	for c := rules.White; c <= rules.Black; c++ {
		refuted := Never
		if want.outcome == rules.Wins(c) {
			refuted = want.plies - 1
		}
		if got.Refuted[c] != refuted {
			t.Fatalf("%v: %v refuted within %d, want %d", &pos, c, got.Refuted[c], refuted)
		}
	}
}

// checkLine holds that every Move of a line keeps the value, and that it ends with the game.
func checkLine(t *testing.T, pos rules.Position, line []rules.Move, want exact, b *brute) {
	t.Helper()
	if want.outcome != rules.Draw && len(line) != want.plies {
		t.Fatalf("%v: a line of %d Moves, want %d", &pos, len(line), want.plies)
	}
	at := pos
	for i, m := range line {
		if !at.IsLegal(m) {
			t.Fatalf("%v: line %v: Move %d is not legal", &pos, line, i)
		}
		at.Play(m)
		if e, _ := b.value(at); e.outcome != want.outcome || want.outcome != rules.Draw && e.plies != want.plies-i-1 {
			t.Fatalf("%v: line %v: after Move %d %v in %d, want %v", &pos, line, i, e.outcome, e.plies, want)
		}
	}
	if _, over := at.Result(); !over {
		t.Fatalf("%v: line %v does not end", &pos, line)
	}
}

// What MCTS proves is so, and AlphaBeta agrees.
func TestMethodsAgree(t *testing.T) {
	for _, c := range corpora() {
		t.Run(c.variant, func(t *testing.T) {
			s, n, solved := small(MCTS), 0, 0
			forEndings(t, c, func(pos rules.Position, want exact, b *brute) {
				if n++; n%10 != 0 {
					return
				}
				r, err := s.Solve(t.Context(), pos, Budget{Nodes: 4000, Moves: true})
				if err != nil {
					t.Fatal(err)
				}
				holds := func(pos rules.Position, v Value, want exact, played int) {
					if v.Outcome == rules.Unfinished {
						return
					}
					if v.Outcome != want.outcome || want.outcome != rules.Draw && v.Plies < want.plies+played || want.outcome == rules.Draw && v.Plies != 0 {
						t.Fatalf("%v: got %v, want %v", &pos, v, want)
					}
				}
				holds(pos, r.Value, want, 0)
				if r.Outcome != rules.Unfinished {
					solved++
					end := pos
					for _, m := range r.Line {
						end.Play(m)
					}
					if res, _ := end.Result(); res.Outcome != want.outcome || want.outcome != rules.Draw && len(r.Line) != r.Plies {
						t.Fatalf("%v: %v, and the line %v ends with %v", &pos, r.Value, r.Line, res)
					}
				}
				if len(r.Moves) != pos.NumMoves() {
					t.Fatalf("%v: %d Moves, want %d", &pos, len(r.Moves), pos.NumMoves())
				}
				for _, m := range r.Moves {
					next := pos
					next.Play(m.Move)
					e, _ := b.value(next)
					holds(next, m.Value, e, 1)
				}
			})
			t.Logf("%d of %d proven", solved, n/10)
		})
	}
}

// swap is pos with the colours swapped.
func swap(t *testing.T, pos rules.Position) rules.Position {
	f := strings.Split(pos.String(), "/")
	colors := strings.NewReplacer("W", "B", "B", "W", "w", "b", "b", "w")
	for _, i := range []int{0, 1, 6} {
		f[i] = colors.Replace(f[i])
	}
	for _, i := range []int{4, 5} {
		w, b, _ := strings.Cut(f[i], "-")
		f[i] = b + "-" + w
	}
	swapped, err := rules.ParsePosition(strings.Join(f, "/"))
	if err != nil {
		t.Fatal(err)
	}
	return swapped
}

// Symmetries and swapped colours change nothing but the names.
func TestSymmetries(t *testing.T) {
	s := small(AlphaBeta)
	for _, c := range []corpus{{"mini", 8, 60, 0}, {"blitz", 4, 40, 0}, {"standard", 3, 40, 0}} {
		v, _ := rules.ParseVariant(c.variant)
		n := 0
		endings(v, c.pool, c.games, func(pos rules.Position) {
			if n++; n%5 != 0 || testing.Short() && n%20 != 0 {
				return
			}
			b := Budget{Plies: 7, Moves: true}
			want, err := s.Solve(t.Context(), pos, b)
			if err != nil {
				t.Fatal(err)
			}
			sym := rules.Symmetry(n % rules.NumSymmetries)
			got, err := s.Solve(t.Context(), sym.Position(pos), b)
			if err != nil {
				t.Fatal(err)
			}
			values := map[rules.Move]Value{}
			for _, m := range got.Moves {
				values[m.Move] = m.Value
			}
			same := func(got, want Value) bool { // a draw may show itself before all plies were looked at, or not
				return got.Plies == want.Plies && (got.Plies == 0 || got.Outcome == want.Outcome)
			}
			for _, m := range want.Moves {
				if !same(values[sym.Move(m.Move, int(v.RowLength))], m.Value) {
					t.Fatalf("%v, symmetry %d, %v: got %v, want %v", &pos, sym, m.Move, values[sym.Move(m.Move, int(v.RowLength))], m.Value)
				}
			}
			got, err = s.Solve(t.Context(), swap(t, pos), b)
			if err != nil {
				t.Fatal(err)
			}
			for i, m := range got.Moves {
				v := m.Value
				if v.Outcome == rules.WhiteWins || v.Outcome == rules.BlackWins {
					v.Outcome ^= rules.WhiteWins ^ rules.BlackWins
				}
				if m.Move != want.Moves[i].Move || !same(v, want.Moves[i].Value) {
					t.Fatalf("%v, colours swapped: got %v, want %v", &pos, m, want.Moves[i])
				}
			}
		})
	}
}

// A Solve that is not given enough says what it knows, and that is so.
func TestBudgets(t *testing.T) {
	pos := rules.New(rules.Blitz())
	rng := rand.New(rand.NewPCG(1, 1))
	for pos.Pool() > 30 {
		pos.Play(rules.RandomMove(&pos, rules.Rows, rng))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, m := range []Method{AlphaBeta, MCTS} {
		s := small(m)
		full, err := s.Solve(t.Context(), pos, Budget{Nodes: 30_000, Moves: true})
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		for _, b := range []Budget{{Nodes: 1}, {Nodes: 100}, {Nodes: 3000, Moves: true}, {Nodes: 10_000, Plies: 3}} {
			b.Progress = func(Result) { calls++ }
			r, err := s.Solve(t.Context(), pos, b)
			if err != nil {
				t.Fatal(err)
			}
			if r.Nodes > b.Nodes+1 || b.Moves != (len(r.Moves) > 0) {
				t.Errorf("%v, %+v: got %d nodes, %d Moves", m, b, r.Nodes, len(r.Moves))
			}
			if r.Outcome == rules.Unfinished && len(r.Line) > 0 {
				t.Errorf("%v, %+v: a line without an outcome", m, b)
			}
			for c, n := range r.Refuted {
				if full.Outcome == rules.Wins(rules.Color(c)) && n >= full.Plies {
					t.Errorf("%v, %+v: refuted %v, but %v wins in %d", m, b, r.Refuted, full.Outcome, full.Plies)
				}
			}
			again, err := s.Solve(t.Context(), pos, b)
			if err != nil || again.Value != r.Value || again.Nodes != r.Nodes {
				t.Errorf("%v, %+v: then %+v, now %+v, %v", m, b, r, again, err)
			}
		}
		if calls == 0 {
			t.Errorf("%v: no progress", m)
		}
		if r, err := s.Solve(ended, pos, Budget{}); err != nil || r.Outcome != rules.Unfinished || len(r.Line) > 0 {
			t.Errorf("%v, ctx ended: got %+v, %v", m, r, err)
		}
	}
}

// Nothing is left of a Solve for the next: the same question costs the same again.
func TestNothingIsKept(t *testing.T) {
	for _, m := range []Method{AlphaBeta, MCTS} {
		s := small(m)
		for _, p := range Problems(rules.Blitz())[:3] {
			first, err := s.Solve(t.Context(), p.Pos, Budget{Nodes: 20_000, Plies: p.Plies})
			if err != nil {
				t.Fatal(err)
			}
			again, err := s.Solve(t.Context(), p.Pos, Budget{Nodes: 20_000, Plies: p.Plies})
			if err != nil || !reflect.DeepEqual(again, first) {
				t.Errorf("%v, %v: first %+v, then %+v, %v", m, &p.Pos, first, again, err)
			}
		}
	}
}

// Two passes end a game, and who has taken more rings has won: a look to their depth is enough to see that, and one less is
// not. The board is full, so that no ring can move, with markers left.
func TestTwoPasses(t *testing.T) {
	v, err := rules.ParseVariant("3-4-29-5-2")
	if err != nil {
		t.Fatal(err)
	}
	empty := rules.New(v)
	board := []byte(strings.Repeat(".", rules.NumPoints))
	for i, p := range empty.AppendBoard(nil) {
		if board[p] = "wwbb"[(p.Column()+p.Number())%4]; i < 7 {
			board[p] = "WWWBBBB"[i]
		}
	}
	for _, test := range []struct {
		state string
		plies int
	}{
		{"W/move/5/1-0/0-0/B/0", 2},
		{"B/move/5/1-0/0-0/W/0", 2},
		{"W/move/5/1-0/0-0/B/1", 1},
		{"B/move/5/1-0/0-0/W/1", 1},
	} {
		pos, err := rules.ParsePosition(string(board) + "/" + test.state + "/" + v.String())
		if err != nil {
			t.Fatal(err)
		}
		for plies := 1; plies <= 3; plies++ {
			want := Value{}
			if plies >= test.plies {
				want = won(rules.White, test.plies)
			}
			r, err := small(AlphaBeta).Solve(t.Context(), pos, Budget{Plies: plies})
			if err != nil || r.Outcome != want.Outcome || r.Plies != want.Plies || r.Outcome != rules.Unfinished && r.Value != want {
				t.Errorf("%s to %d plies: %+v, %v: want %+v", test.state, plies, r.Value, err, want)
			}
		}
	}
}

// A game can be looked at from its beginning on.
func TestRingsInHand(t *testing.T) {
	v, err := rules.ParseVariant("3-1-9-3-1")
	if err != nil {
		t.Fatal(err)
	}
	r, err := small(AlphaBeta).Solve(t.Context(), rules.New(v), Budget{Nodes: 2000, Moves: true})
	if err != nil || r.Outcome != rules.Unfinished || r.Refuted[rules.White] < 3 || len(r.Moves) != 31 {
		t.Errorf("got %+v, %v", r.Value, err)
	}
}

func TestFaults(t *testing.T) {
	v := rules.Mini()
	g := rules.RandomGame(v, rules.Rows, rand.New(rand.NewPCG(1, 1)))
	over, err := g.Replay()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []Method{AlphaBeta, MCTS} {
		s := small(m)
		if _, err := s.Solve(t.Context(), over, Budget{}); err == nil || !strings.Contains(err.Error(), "the game is over") {
			t.Errorf("%v: a game that is over: got %v", m, err)
		}
		for _, b := range []Budget{{Nodes: -1}, {Plies: -1}} {
			if _, err := s.Solve(t.Context(), rules.New(v), b); err == nil || !strings.Contains(err.Error(), "at least 0") {
				t.Errorf("%v, %+v: got %v", m, b, err)
			}
		}
		if got, err := ParseMethod(m.String()); got != m || err != nil {
			t.Errorf("method %v: got %v, %v", m, got, err)
		}
	}
	if _, err := ParseMethod("minimax"); err == nil {
		t.Error("method minimax: want an error")
	}
}

// Looking for a win allocates nothing.
func TestAllocs(t *testing.T) {
	s := small(AlphaBeta)
	pos := rules.New(rules.Standard())
	rng := rand.New(rand.NewPCG(3, 3))
	for pos.Pool() > 20 {
		pos.Play(rules.RandomMove(&pos, rules.Uniform, rng))
	}
	p := &s.prover
	ctx := t.Context()
	n := testing.AllocsPerRun(5, func() {
		p.begin(ctx, &pos, 2000)
		var v Value
		for depth := 1; !p.stopped; depth++ {
			p.look(&pos, depth, 0, &v)
		}
	})
	if n > 1 { // the frames, once
		t.Errorf("%v allocations, want none", n)
	}
}

// The table keeps what it is told of the deepest looks, and nothing under another hash.
func TestTable(t *testing.T) {
	tab := newTable(8)
	if n := len(tab.buckets); n != 4 {
		t.Fatalf("%d buckets, want 4", n)
	}
	for i := range uint64(16) {
		if tab.find(i<<60) != nil {
			t.Fatalf("hash %d is there from the start", i)
		}
		tab.at(i<<60, int(i)).won[0] = uint16(i + 1)
	}
	for i := uint64(3); i < 16; i += 4 { // the newest of each bucket is the deepest
		e := tab.find(i << 60)
		if e == nil || e.won[0] != uint16(i+1) || int(e.effort) != int(i) || e.best != noMove {
			t.Errorf("hash %d: got %+v", i, e)
		}
		if tab.find((i-1)<<60) == nil {
			t.Errorf("hash %d: the deepest was driven out by a deeper one, and is not the newest of the others", i-1)
		}
	}
	tab.at(15<<60, 3)
	if e := tab.find(15 << 60); e.effort != 15 {
		t.Errorf("a shallow look lowers the effort to %d", e.effort)
	}
	tab.at(14<<60, 1)
	if e := tab.find(15 << 60); e == nil {
		t.Error("a shallow look drives out the deepest")
	}
	tab.reset()
	if tab.find(15<<60) != nil {
		t.Error("reset leaves an entry")
	}
	if n := len(newTable(2).buckets); n != 1 {
		t.Errorf("the least table has %d buckets, want 1", n)
	}
}

func BenchmarkSolve(b *testing.B) {
	s := New(Params{Method: AlphaBeta, Entries: 1 << 16, MaxNodes: 1})
	pos := Problems(rules.Blitz())[1].Pos
	b.ReportAllocs()
	nodes := int64(0)
	for b.Loop() {
		r, err := s.Solve(b.Context(), pos, Budget{Nodes: 10_000, Moves: true})
		if err != nil {
			b.Fatal(err)
		}
		nodes += r.Nodes
	}
	b.ReportMetric(float64(nodes)/b.Elapsed().Seconds(), "nodes/s")
}
