package solve

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"yinshzero/mcts"
	"yinshzero/rules"
)

// The set stays as it is: shares are compared from run to run. Who makes it anew writes the sums here.
var sums = map[string]string{
	"standard": "4c3b299899df7eaeea0ade4918f365418cb95fd571c2fdd11236848504718f3b",
	"blitz":    "970c7371abf449b92d6e233cb872b3bd1098173635c2f48f87b2848b3569bbab",
}

func TestProblemFiles(t *testing.T) {
	for _, v := range []rules.Variant{rules.Standard(), rules.Blitz()} {
		text, err := os.ReadFile(problemFile(v))
		if err != nil {
			t.Fatal(err)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(text)); sum != sums[v.Name] {
			t.Errorf("%s has the SHA-256 %s, want %s", problemFile(v), sum, sums[v.Name])
		}
		problems := Problems(v)
		plies := map[int]int{}
		seen := map[rules.Position]bool{}
		var lines strings.Builder
		for _, p := range problems {
			lines.Write(append(p.appendText(nil), '\n'))
			plies[p.Plies]++
			if !p.Pos.Variant().Same(v) || seen[p.Pos] {
				t.Errorf("%v: of another variant, or there twice", &p.Pos)
			}
			seen[p.Pos] = true
			if legal := p.Pos.NumMoves(); len(p.Moves) < 1 || 3*len(p.Moves) > legal {
				t.Errorf("%v: %d of %d Moves win", &p.Pos, len(p.Moves), legal)
			}
		}
		if !strings.HasSuffix(string(text), "\n"+lines.String()) {
			t.Errorf("%s is not what its problems are written as", problemFile(v))
		}
		t.Logf("%v: %d problems, by plies %v", v, len(problems), plies)
		if len(problems) != 200 || len(plies) < 4 {
			t.Errorf("%v: %d problems with plies %v: want 200 of several kinds", v, len(problems), plies)
		}
	}
	if got := Problems(rules.Mini()); got != nil {
		t.Errorf("mini has %d problems", len(got))
	}
}

// Every problem is as its file says: solved again, with another table, its Moves and they alone win within the horizon.
func TestProblems(t *testing.T) {
	for _, v := range []rules.Variant{rules.Standard(), rules.Blitz()} {
		s := New(Params{Method: AlphaBeta, Entries: 1 << 15, MaxNodes: 1})
		for i, p := range Problems(v) {
			if testing.Short() && i%20 != 0 {
				continue
			}
			r, err := s.Solve(t.Context(), p.Pos, Budget{Plies: p.Horizon, Moves: true})
			if err != nil {
				t.Fatal(err)
			}
			mover := p.Pos.ToMove()
			if got := r.best(); r.Outcome != p.Outcome || r.Plies != p.Plies || !slices.Equal(got, p.Moves) {
				t.Errorf("%v: got %v in %d by %v, want %v in %d by %v", &p.Pos, r.Outcome, r.Plies, got, p.Outcome, p.Plies, p.Moves)
			}
			for _, m := range r.Moves {
				if m.Outcome != p.Outcome && m.Refuted[mover] < p.Horizon {
					t.Errorf("%v: %v is refuted within %d alone, want %d", &p.Pos, m.Move, m.Refuted[mover], p.Horizon)
				}
			}
		}
	}
}

// MCTS proves many of the wins too, and none of another side.
func TestProblemsByMCTS(t *testing.T) {
	s := New(Params{Method: MCTS, Entries: 2, MaxNodes: 20_000})
	n, solved := 0, 0
	for _, v := range []rules.Variant{rules.Standard(), rules.Blitz()} {
		for i, p := range Problems(v) {
			if i%10 != 0 || testing.Short() && i%50 != 0 {
				continue
			}
			n++
			r, err := s.Solve(t.Context(), p.Pos, Budget{Nodes: 4000, Moves: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range r.Moves {
				if m.Outcome == p.Outcome && m.Plies <= p.Horizon && !slices.Contains(p.Moves, m.Move) {
					t.Errorf("%v: %v wins in %d, and the problem does not know it", &p.Pos, m.Move, m.Plies)
				}
				if m.Outcome != rules.Unfinished && m.Outcome != p.Outcome && slices.Contains(p.Moves, m.Move) {
					t.Errorf("%v: %v wins, and MCTS proves %v", &p.Pos, m.Move, m.Outcome)
				}
			}
			if r.Outcome == rules.Unfinished {
				continue
			}
			if solved++; r.Outcome != p.Outcome || r.Plies < p.Plies {
				t.Errorf("%v: got %v in %d, want %v in %d", &p.Pos, r.Outcome, r.Plies, p.Outcome, p.Plies)
			}
		}
	}
	t.Logf("%d of %d proven", solved, n)
	if solved < n/4 {
		t.Errorf("%d of %d proven, want a quarter at least", solved, n)
	}
}

// More simulations solve more, a Searcher that knows the answer solves all, and what solved says is what the Moves are.
func TestShare(t *testing.T) {
	params := mcts.DefaultParams()
	params.Root = mcts.PUCT
	for _, v := range []rules.Variant{rules.Standard(), rules.Blitz()} {
		problems := Problems(v)
		if testing.Short() {
			problems = problems[:40]
		}
		answers := map[rules.Position][]rules.Move{}
		for _, p := range problems {
			answers[p.Pos] = p.Moves
		}
		first, last := -1, -1
		for _, n := range []int{1, 32, 200} {
			solved, err := Share(t.Context(), mcts.New(mcts.Uniform{}, params), problems, n)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%v: uniform, %d simulations: %d of %d", v, n, solved, len(problems))
			if solved < last || solved == len(problems) {
				t.Errorf("%v, %d simulations: %d of %d solved, with fewer simulations %d", v, n, solved, len(problems), last)
			}
			if last = solved; first < 0 {
				first = solved
			}
			knows := mcts.New(oracle(answers), params)
			if solved, err := Share(t.Context(), knows, problems, n); err != nil || solved != len(problems) {
				t.Errorf("%v, %d simulations, who knows: %d of %d solved, %v", v, n, solved, len(problems), err)
			}
		}
		if last <= first {
			t.Errorf("%v: %d of %d solved, and %d with one simulation", v, last, len(problems), first)
		}
	}
	for _, p := range Problems(rules.Standard())[:20] { // what the Searcher did before does not count
		s := mcts.New(mcts.Uniform{}, params)
		fresh, err := Share(t.Context(), s, []Problem{p}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Search(t.Context(), p.Pos, mcts.Budget{Simulations: 1000}, nil); err != nil {
			t.Fatal(err)
		}
		if solved, err := Share(t.Context(), s, []Problem{p}, 1); err != nil || solved != fresh {
			t.Errorf("%v: solved %d on a tree, %d without, %v", &p.Pos, solved, fresh, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Share(ctx, mcts.New(mcts.Uniform{}, params), Problems(rules.Blitz()), 1); err == nil {
		t.Error("ctx ended: want an error")
	}
}

// An oracle knows the Moves that win.
type oracle map[rules.Position][]rules.Move

func (o oracle) Evaluate(_ context.Context, batch []*mcts.Query) error {
	for _, q := range batch {
		moves, ok := o[q.Pos]
		if !ok {
			moves = q.Legal
		}
		for i, m := range q.Legal {
			if q.Prior[i] = 0; slices.Contains(moves, m) {
				q.Prior[i] = 1 / float32(len(moves))
			}
		}
		q.Value = 0
	}
	return nil
}

func TestProblemFaults(t *testing.T) {
	p := Problems(rules.Blitz())[0]
	good := string(p.appendText(nil))
	f := strings.Fields(good)
	join := func(i int, word string) string {
		g := slices.Clone(f)
		g[i] = word
		return strings.Join(g, " ")
	}
	for _, c := range []struct{ line, want string }{
		{strings.Join(f[:4], " "), "4 fields"},
		{join(0, "xyz"), "position"},
		{join(1, "draw"), "outcome"},
		{join(2, "0"), "plies"},
		{join(3, "x"), "plies"},
		{join(3, "1"), "horizon"},
		{join(4, "a2"), "not legal"},
		{join(4, "what"), "no move"},
		{join(4, f[4]+","+f[4]), "not in order"},
	} {
		if _, err := parseProblems("# first\n\n" + c.line + "\n"); err == nil || !strings.Contains(err.Error(), "line 3: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.line, err, c.want)
		}
	}
	if got, err := parseProblems(good + " # why\n"); err != nil || len(got) != 1 || got[0].Pos != p.Pos {
		t.Errorf("got %v, %v", got, err)
	}
}
