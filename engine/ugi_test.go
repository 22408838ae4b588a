package engine

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"yinshzero/mcts"
	"yinshzero/rules"
)

// bestMove sends go and returns the move.
func (e *end) bestMove(limits string) string {
	e.t.Helper()
	e.send("go " + limits)
	return strings.TrimPrefix(e.until("bestmove "), "bestmove ")
}

func (e *end) query(what string) string {
	e.t.Helper()
	e.send("query " + what)
	return strings.TrimPrefix(e.until("response "), "response ")
}

// A tournament program that knows nothing of YINSH plays two engines by questions alone, and the game is one.
func TestTournament(t *testing.T) {
	for _, format := range []string{formatTurn, formatPly} {
		for _, v := range []rules.Variant{rules.Mini(), {Radius: 3, Rings: 2, Markers: 20, RowLength: 4, RingsToWin: 2}} {
			var engines [2]*end
			for i := range engines {
				e := begin(t, UGI, uniform())
				e.send("ugi")
				e.until("ugiok")
				e.send("setoption name Variant value "+v.String(), "setoption name MoveFormat value "+format,
					"setoption name Temperature value 1", "setoption name Seed value "+strconv.Itoa(i), "uginewgame", "isready")
				e.until("readyok")
				engines[i] = e
			}
			var moves []string
			for {
				line := "position startpos"
				if len(moves) > 0 {
					line += " moves " + strings.Join(moves, " ")
				}
				engines[0].send(line)
				engines[1].send(line)
				over := engines[0].query("gameover")
				if other := engines[1].query("gameover"); other != over {
					t.Fatalf("%v: one says gameover %s, the other %s", moves, over, other)
				}
				if over == "true" {
					break
				}
				i := 1
				if engines[0].query("p1turn") == "true" {
					i = 0
				}
				if format == formatTurn && i != len(moves)%2 {
					t.Fatalf("%v: player %d is to move", moves, i+1)
				}
				moves = append(moves, engines[i].bestMove([]string{"nodes 20", "movetime 5", "p1time 300 p2time 300 p1inc 1 p2inc 1", "depth 2"}[len(moves)%4]))
			}
			pos := rules.New(v)
			for i, text := range moves {
				turn, err := pos.ParseTurn(text)
				if format == formatPly {
					turn = make([]rules.Move, 1)
					turn[0], err = pos.ParseMove(text)
				}
				if err != nil {
					t.Fatalf("move %d: %v", i, err)
				}
				for _, m := range turn {
					pos.Play(m)
				}
			}
			res, over := pos.Result()
			want := map[rules.Outcome]string{rules.WhiteWins: "p1win", rules.BlackWins: "p2win", rules.Draw: "draw"}[res.Outcome]
			if got := engines[1].query("result"); !over || got != want {
				t.Errorf("result %s, want %s", got, want)
			}
		}
	}
}

// The engine plays what a Searcher plays that follows the game Move by Move: turns and positions lose nothing of the tree.
func TestPlaysAsSearcher(t *testing.T) {
	v := rules.Variant{Radius: 3, Rings: 3, Markers: 21, RowLength: 4, RingsToWin: 2}
	for _, format := range []string{formatTurn, formatPly} {
		p := tiny(t, "32x1")
		e := begin(t, UGI, p)
		e.send("setoption name Variant value "+v.String(), "setoption name MoveFormat value "+format)
		model, _ := p.Load("tiny", v)
		search := p.Search
		search.MaxNodes = nodesIn(defaultHash)
		s := mcts.New(model.evaluator(p.Infer), search)
		pos := rules.New(v)
		line, several := "position startpos moves", 0
		for {
			if _, over := pos.Result(); over {
				break
			}
			var turn []rules.Move
			side := pos.ToMove()
			for {
				root, err := s.Search(t.Context(), pos, mcts.Budget{Simulations: 40}, nil)
				if err != nil {
					t.Fatal(err)
				}
				turn = append(turn, root.Best)
				s.Advance(root.Best)
				pos.Play(root.Best)
				if _, over := pos.Result(); over || format == formatPly || pos.ToMove() != side {
					break
				}
			}
			if len(turn) > 1 {
				several++
			}
			want := string(v.AppendTurn(nil, turn))
			if got := e.bestMove("nodes 40"); got != want {
				t.Fatalf("%s: got %s, want %s", line, got, want)
			}
			line += " " + want
			e.send(line)
		}
		if format == formatTurn && several == 0 {
			t.Error("no turn had several Moves")
		}
	}
}

// What is wrong is told and changes nothing.
func TestUGIFaults(t *testing.T) {
	e := begin(t, UGI, uniform())
	e.send("position startpos moves e5")
	for line, want := range map[string]string{
		"hello":                                    `unknown command "hello"`,
		"position":                                 "want startpos or fen F",
		"position fen":                             "want startpos or fen F",
		"position fen x":                           "9",
		"position startpos e5":                     `"e5": want moves`,
		"position startpos moves e5 x":             "move 2",
		"position startpos moves z1":               "move 1",
		"query":                                    "want gameover, p1turn or result",
		"go fast":                                  `"fast": want p1time`,
		"go nodes":                                 "want a number after it",
		"go nodes 0":                               "want a whole number from 1",
		"go nodes 1 nodes 2":                       "nodes is there twice",
		"go movetime -1":                           "want a whole number from 1",
		"go depth x":                               "want a whole number from 0",
		"go p1time 1000":                           "want p2time",
		"setoption":                                "want setoption name N value V",
		"setoption name Hash":                      "want setoption name N value V",
		"setoption name Speed value 9":             "no option \"Speed\": want Model, Variant",
		"setoption name Hash value 0":              "option Hash: value \"0\": want a whole number from 1 to 15625",
		"setoption name Variant value go":          "standard, blitz, mini",
		"setoption name Temperature value -1":      "want 0",
		"setoption name Temperature value NaN":     "want 0",
		"setoption name Symmetries value all":      "want none or random or root",
		"setoption name MoveFormat value sentence": "want turn or ply",
		"setoption name Seed value -1":             "want a whole number",
		"setoption name Threads value 1000":        "from 1 to 256",
		strings.Repeat("x", maxUGILine+10):         "a line of more than 65536 bytes",
	} {
		e.send(line)
		if got := e.next(); !strings.HasPrefix(got, "info string error ") || !strings.Contains(got, want) {
			t.Errorf("%.80q: got %q, want %s", line, got, want)
		}
		if got := e.query("p1turn"); got != "false" {
			t.Errorf("%.80q: the position has changed", line)
		}
	}
	e.send("setoption name model value bad", "isready")
	if got := e.next(); got != "info string error there is no model bad" {
		t.Errorf("got %q", got)
	}
	if e.next() != "readyok" {
		t.Error("it is not ready")
	}
	if got := e.bestMove("nodes 1"); got != "a2" {
		t.Errorf("plays %s", got)
	}
	e.send("quit")
	if err := e.ended(); err != nil {
		t.Error(err)
	}
}

// A search can be stopped, and until it is only some lines are taken.
func TestStop(t *testing.T) {
	p := uniform()
	p.Report = time.Millisecond
	e := begin(t, UGI, p)
	for range 3 {
		e.send("go infinite")
		e.until("info depth")
		e.send("position startpos moves e5")
		if got := e.until("info string"); !strings.Contains(got, `error "position" while a search is under way`) {
			t.Errorf("got %q", got)
		}
		e.send("isready")
		e.until("readyok")
		if e.query("p1turn") != "true" {
			t.Error("the position has changed")
		}
		e.send("stop")
		e.until("bestmove ")
	}
	e.send("stop", "isready") // nothing to stop
	if got := e.next(); got != "readyok" {
		t.Errorf("got %q", got)
	}
	e.send("go infinite", "quit")
	e.until("bestmove ")
	if err := e.ended(); err != nil {
		t.Error(err)
	}
}

// The end of the input stops a search without limits and waits for one with.
func TestUGIInputEnds(t *testing.T) {
	for limits, want := range map[string]string{"infinite": "info", "nodes 3000": "nodes 3000 "} {
		e := begin(t, UGI, uniform())
		e.send("go " + limits)
		if _, err := e.in.Write([]byte("isready")); err != nil { // without the end of the line
			t.Fatal(err)
		}
		e.in.Close()
		if got := e.until("info"); !strings.Contains(got, want) {
			t.Errorf("%s: got %q", limits, got)
		}
		e.until("bestmove ")
		if err := e.ended(); err != nil {
			t.Error(err)
		}
	}
}

// Options of all kinds are heeded, and the same seed draws the same Moves.
func TestOptions(t *testing.T) {
	play := func(p Params, options ...string) (moves string) {
		e := begin(t, UGI, p)
		for _, o := range options {
			e.send("setoption name " + o)
		}
		for range 6 {
			e.send("position startpos" + moves)
			if moves == "" {
				moves = " moves"
			}
			moves += " " + e.bestMove("nodes 12")
		}
		e.send("ugi")
		for _, o := range options {
			name, value, _ := strings.Cut(o, " value ")
			e.send("ugi")
			if l := e.until("option name " + name + " "); !strings.Contains(l, " default "+value) {
				t.Errorf("got %q, want %s", l, value)
			}
			e.until("ugiok")
		}
		return moves
	}
	a := play(uniform(), "Temperature value 1", "Seed value 7")
	if b := play(uniform(), "Seed value 7", "Temperature value 1"); b != a {
		t.Errorf("the same seed plays %s and %s", a, b)
	}
	if b := play(uniform(), "Temperature value 1", "Seed value 8"); b == a {
		t.Errorf("another seed plays %s too", b)
	}
	p := tiny(t, "32x1")
	if a, b := play(p), play(p, "Symmetries value root"); a == b {
		t.Errorf("averaged over symmetries it plays %s too", a)
	}
	if a, b := play(p, "Symmetries value random", "Seed value 1"), play(p, "Symmetries value random", "Seed value 2"); a == b {
		t.Errorf("under other symmetries it plays %s too", a)
	}
	play(p, "Threads value 3", "Hash value 1", "Simulations value 5")
	e := begin(t, UGI, p)
	e.send("setoption name MultiPV value 5", "go nodes 100")
	for i := range 5 {
		if l := e.next(); !strings.Contains(l, fmt.Sprintf(" multipv %d ", i+1)) {
			t.Errorf("line %d: %s", i+1, l)
		}
	}
	e.until("bestmove")
	e.send("setoption name Hash value 1", "go infinite") // ends as the tree is full
	e.until("bestmove")
}

// The time for a turn leaves enough for the next ones.
func TestAllot(t *testing.T) {
	for _, v := range rules.Variants() {
		for _, left := range []time.Duration{time.Millisecond, 100 * time.Millisecond, time.Minute, time.Hour} {
			for _, increment := range []time.Duration{0, 10 * time.Millisecond, time.Minute} {
				c := clock{left, increment}
				pos := rules.New(v)
				for range v.MaxPlies() {
					d := c.allot(&pos)
					if d < time.Millisecond || d > time.Millisecond && d > c.left/3 {
						t.Fatalf("%+v: %v", c, d)
					}
					c.left = max(c.left-d+increment, time.Millisecond)
				}
			}
		}
	}
	for ph := rules.PhasePlaceRing; ph < rules.PhaseOver; ph++ {
		if d := share(time.Second, ph); d <= 0 || d > time.Second {
			t.Errorf("%v: %v", ph, d)
		}
	}
}

// Scores are those of the side to move.
func TestScore(t *testing.T) {
	for _, c := range []struct {
		edge mcts.RootEdge
		side rules.Color
		want string
	}{
		{mcts.RootEdge{Value: 0.256}, rules.White, "cp 26"},
		{mcts.RootEdge{Value: 0.256}, rules.Black, "cp -26"},
		{mcts.RootEdge{Value: float32(math.Copysign(0, -1))}, rules.Black, "cp 0"},
		{mcts.RootEdge{Value: 1, Proven: rules.WhiteWins, Plies: 3}, rules.White, "mate 3"},
		{mcts.RootEdge{Value: 1, Proven: rules.WhiteWins, Plies: 3}, rules.Black, "mate -3"},
		{mcts.RootEdge{Proven: rules.Draw, Plies: 3}, rules.Black, "cp 0"},
	} {
		if got := score(&c.edge, c.side); got != c.want {
			t.Errorf("%+v: %s, want %s", c.edge, got, c.want)
		}
	}
}

// Whatever comes in, lines of the protocol go out and the engine ends well.
func FuzzUGI(f *testing.F) {
	for _, s := range []string{
		"ugi\nisready\nuginewgame\nposition startpos moves e5\ngo nodes 3\nstop\nquery result\n",
		"setoption name Variant value mini\nposition fen " + strings.Repeat(".", rules.NumPoints) + "/W/place/21/0-0/3-3/B/0/mini moves c4\ngo infinite\n",
		"setoption name MoveFormat value ply\ngo depth 1 movetime 5\nposition startpos moves a2 a3\n", "\x00\r\n\t\ngo\n",
	} {
		f.Add([]byte(s))
	}
	words := []string{"id", "option", "ugiok", "readyok", "info", "bestmove", "response"}
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		p := uniform()
		p.Simulations = 10
		if err := UGI(t.Context(), strings.NewReader(string(in)+"\nquit\n"), &out, p); err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(out.String()) {
			if word, _, _ := strings.Cut(strings.TrimSpace(l), " "); !slices.Contains(words, word) {
				t.Fatalf("it says %q", l)
			}
		}
	})
}
