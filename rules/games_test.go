package rules_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"yinshzero/rules"
)

// someGames are random games of every kind and Variant, as a move list.
func someGames(t testing.TB) string {
	var b []byte
	for _, v := range rules.Variants() {
		for i := range 6 {
			g := rules.RandomGame(v, rules.RandomKind(i%3), rand.New(rand.NewPCG(3, uint64(i))))
			g.ID = fmt.Sprintf("%v%d", v, i)
			b = append(g.AppendText(b), '\n')
		}
	}
	return string(b)
}

func noFault(t *testing.T) func(rules.Fault) {
	return func(f rules.Fault) { t.Error(f) }
}

func TestGameText(t *testing.T) {
	for line := range strings.Lines(someGames(t)) {
		line = strings.TrimSpace(line)
		g, err := rules.ParseGame(line)
		if err != nil {
			t.Fatal(err)
		}
		wantText(t, "line", string(g.AppendText(nil)), line)
		if _, err := g.Replay(); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		g.Moves, g.Outcome, g.Resigned = g.Moves[:len(g.Moves)/2], rules.BlackWins, true
		back, err := rules.ParseGame(string(g.AppendText(nil)))
		if err != nil || !reflect.DeepEqual(back, g) {
			t.Errorf("got %v, %v: want %v", back, err, g)
		}
		if _, err := g.Replay(); err != nil {
			t.Errorf("%s: %v", g.AppendText(nil), err)
		}
	}
}

func TestReplayFaults(t *testing.T) {
	games := strings.Split(strings.TrimSpace(someGames(t)), "\n")
	won := games[0]
	for _, g := range games {
		if strings.Contains(g, " W played standard") {
			won = g
		}
	}
	f := strings.Fields(won)
	head, moves := strings.Join(f[:4], " "), f[4:]
	for _, test := range []struct {
		name, line string
		ply        int
		want       []string
	}{
		{"too few words", "a W", -1, []string{"2 words", "<id>"}},
		{"outcome", "a X played standard", -1, []string{"outcome", "draw or unknown"}},
		{"ending", "a W won standard", -1, []string{"played or resign"}},
		{"variant", "a W played chess", -1, []string{"variant"}},
		{"unreadable move", head + " e5 e55", 1, []string{"no move", "B to move", "84 legal moves", "a2"}},
		{"unreadable after the end", won + " e55", len(moves), []string{"no move", "the game is over, W"}},
		{"unreadable after an illegal one", head + " e5 e5 e55", 1, []string{"e5 is not legal", "84 legal moves"}},
		{"not legal", head + " e5 e5", 1, []string{"e5 is not legal", "B to move", "84 legal moves", "a2"}},
		{"not legal from this ring", "a W played standard f6 a2 f8 a3 b1 b2 c1 c2 d1 d2 f6-f9", 10,
			[]string{"f6-f9 is not legal", "f6-c3 f6-c6", "…"}},
		{"beyond the end", won + " e5", len(moves), []string{"the game is over"}},
		{"cut short", strings.Join(f[:len(f)-1], " "), -1, []string{"not over"}},
		{"wrong winner", strings.Replace(won, " W ", " B ", 1), -1, []string{"outcome B", "W"}},
		{"resigned after the end", strings.Replace(won, "played", "resign", 1), -1, []string{"was over"}},
		{"resigned draw", "a draw resign standard e5", -1, []string{"draw"}},
		{"too long", strings.Repeat("x", 1<<17), -1, []string{"characters"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var faults []rules.Fault
			in := won + "\n\n" + test.line + "\n" + won
			ok, bad, err := rules.ReplayGames(strings.NewReader(in), func(f rules.Fault) { faults = append(faults, f) })
			if ok != 2 || bad != 1 || err != nil || len(faults) != 1 {
				t.Fatalf("ok=%d bad=%d, %v, faults %v: want ok=2 bad=1", ok, bad, err, faults)
			}
			if faults[0].Line != 3 || faults[0].Ply != test.ply {
				t.Errorf("fault at line %d, ply %d: want 3, %d: %v", faults[0].Line, faults[0].Ply, test.ply, faults[0])
			}
			for _, want := range test.want {
				if !strings.Contains(faults[0].Error(), want) {
					t.Errorf("got %v: want a word about %q", faults[0], want)
				}
			}
		})
	}
}

// Lines that begin with # are comments in every format of lines.
func TestComments(t *testing.T) {
	const in = "# one game\na unknown resign mini e6 f5\n  # and no more\n#"
	for _, f := range []rules.Format{rules.FormatMoves, rules.FormatTurns} {
		var b bytes.Buffer
		ok, bad, err := rules.Convert(&b, rules.FormatTrace, strings.NewReader(in), f, noFault(t))
		if ok != 1 || bad != 0 || err != nil {
			t.Errorf("%v: ok=%d bad=%d, %v: want ok=1", f, ok, bad, err)
		}
		trace := "# a trace\n" + strings.ReplaceAll(b.String(), "\n", "\n# and more\n")
		if ok, bad, err := rules.CheckTrace(strings.NewReader(trace), nil, noFault(t)); ok != 1 || bad != 0 || err != nil {
			t.Errorf("trace: ok=%d bad=%d, %v: want ok=1", ok, bad, err)
		}
	}
}

// What a fault quotes has no control characters and is short.
func TestFaultText(t *testing.T) {
	const odd = "\x1b[2J\x07"
	long := strings.Repeat("x", 5000)
	p := rules.New(rules.Standard())
	var b bytes.Buffer
	if err := rules.WriteTrace(&b, &rules.Game{ID: "a", Variant: p.Variant(), Moves: p.AppendMoves(nil)[:1]}); err != nil {
		t.Fatal(err)
	}
	trace := strings.Fields(b.String())[:8]
	for _, word := range []string{odd, long} {
		for _, line := range []string{word, "W W played standard e5 e5", "a W played standard " + word, "a " + word + " played standard",
			"a W " + word + " standard", "a W played " + word, word + " W played standard z", "a END " + word} {
			for _, f := range []rules.Format{rules.FormatMoves, rules.FormatTurns, rules.FormatTrace} {
				_, bad, _ := rules.Convert(io.Discard, rules.FormatMoves, strings.NewReader(line), f, func(f rules.Fault) {
					if text := f.Error(); strings.ContainsAny(text, "\x1b\x07") || len(text) > 1000 {
						t.Errorf("%.50q is told as %d bytes, %.100q", line, len(text), text)
					}
				})
				if bad == 0 {
					t.Errorf("%v: %.50q is no fault", f, line)
				}
			}
		}
		for i := range trace {
			line := slices.Clone(trace)
			line[i] = word
			if _, bad, _ := rules.CheckTrace(strings.NewReader(strings.Join(line, " ")), nil, func(f rules.Fault) {
				if text := f.Error(); strings.ContainsAny(text, "\x1b\x07") || len(text) > 1000 {
					t.Errorf("word %d of a trace is told as %d bytes, %.100q", i, len(text), text)
				}
			}); bad != 1 {
				t.Errorf("word %d of a trace: bad=%d, want 1", i, bad)
			}
		}
	}
}

func TestReplayReadError(t *testing.T) {
	broken := errors.New("broken")
	_, _, err := rules.ReplayGames(io.MultiReader(strings.NewReader("\n"), iotest.ErrReader(broken)), noFault(t))
	if !errors.Is(err, broken) {
		t.Errorf("got %v: want %v", err, broken)
	}
}

// Random games of every kind are told and checked, and equal arguments give equal games.
func TestRandomTrace(t *testing.T) {
	for _, v := range rules.Variants() {
		for _, kind := range []rules.RandomKind{rules.Uniform, rules.Rows, rules.Cramp} {
			if k, err := rules.ParseRandomKind(kind.String()); err != nil || k != kind {
				t.Errorf("%v is read as %v, %v", kind, k, err)
			}
			var a, b bytes.Buffer
			if err := errors.Join(rules.RandomTrace(&a, 10, 5, kind, v), rules.RandomTrace(&b, 10, 5, kind, v)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(a.Bytes(), b.Bytes()) {
				t.Errorf("%v: two traces differ", kind)
			}
			ok, bad, err := rules.CheckTrace(&a, rules.Variants(), noFault(t))
			if ok != 10 || bad != 0 || err != nil {
				t.Errorf("%v, %v: ok=%d bad=%d, %v: want ok=10", v, kind, ok, bad, err)
			}
		}
	}
	if _, err := rules.ParseRandomKind("odd"); err == nil {
		t.Error("odd is a kind")
	}
	if err := rules.RandomTrace(io.Discard, 1, 1, rules.Uniform, rules.Variant{}); err == nil {
		t.Error("no fault in a variant of zeros")
	}
}

var update = flag.Bool("update", false, "write the golden files anew")

// Two random games, whose Moves and traces may not change: a seed names its game.
func TestGoldenTrace(t *testing.T) {
	var b bytes.Buffer
	err := errors.Join(rules.RandomTrace(&b, 1, 2, rules.Rows, rules.Standard()),
		rules.RandomTrace(&b, 1, 2, rules.Cramp, rules.Mini()), rules.RandomTrace(&b, 1, 2, rules.Uniform, rules.Mini()))
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/random.golden"
	if *update {
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, "trace", b.String(), string(want))
}

// The trace of a move list is the trace of its games; a game that is not legal has none.
func TestTraceGames(t *testing.T) {
	var b bytes.Buffer
	bad := 0
	in := someGames(t) + "a W played standard e5 e5\n"
	ok, n, err := rules.Convert(&b, rules.FormatTrace, strings.NewReader(in), rules.FormatMoves, func(f rules.Fault) {
		if bad++; f.Game != "a" || f.Ply != 1 {
			t.Errorf("fault %v", f)
		}
	})
	if ok != 18 || n != 1 || bad != 1 || err != nil {
		t.Fatalf("ok=%d bad=%d, %v: want ok=18 bad=1", ok, n, err)
	}
	if ok, bad, err := rules.CheckTrace(&b, rules.Variants(), noFault(t)); ok != 18 || bad != 0 || err != nil {
		t.Errorf("ok=%d bad=%d, %v: want ok=18", ok, bad, err)
	}
	if ok, bad, err := rules.Convert(brokenWriter{}, rules.FormatTrace, strings.NewReader(in), rules.FormatMoves, func(rules.Fault) {}); ok != 18 || bad != 1 || err == nil {
		t.Errorf("broken writer: ok=%d bad=%d, %v: want ok=18 bad=1 and an error", ok, bad, err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestCheckTraceFaults(t *testing.T) {
	var b bytes.Buffer
	if err := rules.RandomTrace(&b, 1, 5, rules.Rows, rules.Standard()); err != nil {
		t.Fatal(err)
	}
	good := strings.Split(strings.TrimSpace(b.String()), "\n")
	last := len(good) - 1
	// edit changes the nth word of a line.
	edit := func(line, word int, to string) []string {
		lines := append([]string(nil), good...)
		f := strings.Fields(lines[line])
		f[word] = to
		lines[line] = strings.Join(f, " ")
		return lines
	}
	for _, test := range []struct {
		name  string
		lines []string
		line  int // from 1
		want  string
	}{
		{"ply", edit(3, 1, "4"), 4, "want 3"},
		{"side", edit(3, 2, "W"), 4, "want B"},
		{"phase", edit(3, 3, "move"), 4, "want place"},
		{"number", edit(12, 4, "1"), 13, "number of legal moves"},
		{"hash", edit(12, 5, "0123456789abcdef"), 13, "hash"},
		{"unreadable move", edit(12, 6, "z"), 13, "no move"},
		{"move not legal", edit(12, 6, "e5"), 13, "not legal"},
		{"board", edit(12, 7, "."), 13, "board"},
		{"a word missing", append(append([]string(nil), good[:2]...), "r0 2 W place"), 3, "words"},
		{"two words", append(append([]string(nil), good[:2]...), "r0 2"), 3, "2 words"},
		{"outcome", edit(last, 2, "unfinished"), last + 1, "outcome unfinished"},
		{"no such outcome", edit(last, 2, "white"), last + 1, "outcome"},
		{"no end", good[:20], 20, "no END line"},
		{"a line left out", append(append([]string(nil), good[:5]...), good[6:]...), 6, "want 5"},
		{"beyond the end", append(append(append([]string(nil), good[:last]...), good[last-1]), good[last]), last + 1, "over"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var faults []rules.Fault
			after := strings.ReplaceAll(strings.Join(good, "\n"), "r0 ", "next ")
			in := strings.Join(test.lines, "\n") + "\n" + after
			ok, bad, err := rules.CheckTrace(strings.NewReader(in), rules.Variants(), func(f rules.Fault) { faults = append(faults, f) })
			if ok != 1 || bad != 1 || err != nil || len(faults) != 1 {
				t.Fatalf("ok=%d bad=%d, %v, faults %v: want ok=1 bad=1", ok, bad, err, faults)
			}
			if faults[0].Line != test.line || !strings.Contains(faults[0].Error(), test.want) {
				t.Errorf("got %v: want line %d and a word about %q", faults[0], test.line, test.want)
			}
		})
	}
	// A game that is over but has no END line is good as far as it goes.
	ok, bad, err := rules.CheckTrace(strings.NewReader(strings.Join(good[:last], "\n")), rules.Variants(), noFault(t))
	if ok != 0 || bad != 0 || err != nil {
		t.Errorf("ok=%d bad=%d, %v: want none counted", ok, bad, err)
	}
	// A blitz game is no standard game.
	b.Reset()
	if err := rules.RandomTrace(&b, 3, 5, rules.Rows, rules.Blitz()); err != nil {
		t.Fatal(err)
	}
	if ok, bad, _ := rules.CheckTrace(&b, []rules.Variant{rules.Standard()}, func(rules.Fault) {}); ok != 0 || bad != 3 {
		t.Errorf("blitz as standard: ok=%d bad=%d, want bad=3", ok, bad)
	}
}

func FuzzParseGame(f *testing.F) {
	f.Add("a W played standard e5 e6")
	f.Add("b draw resign 4-4-35-5-2 e5-e6 xe5-e9")
	f.Fuzz(func(t *testing.T, line string) {
		g, err := rules.ParseGame(line)
		if err != nil {
			return
		}
		back, err := rules.ParseGame(string(g.AppendText(nil)))
		if err != nil || !reflect.DeepEqual(back, g) {
			t.Fatalf("%q is read as %v and then as %v, %v", line, g, back, err)
		}
		if _, err := g.Replay(); err == nil {
			var b bytes.Buffer
			if err := rules.WriteTrace(&b, &g); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func FuzzCheckTrace(f *testing.F) {
	var b bytes.Buffer
	if err := rules.RandomTrace(&b, 2, 5, rules.Uniform, rules.Mini()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.String()[:1000])
	f.Add("a 0 W place 85\na END W\na")
	f.Fuzz(func(t *testing.T, s string) {
		faults := 0
		_, bad, err := rules.CheckTrace(strings.NewReader(s), rules.Variants(), func(rules.Fault) { faults++ })
		if err != nil || bad != faults {
			t.Fatalf("%d bad games, %d faults, %v", bad, faults, err)
		}
	})
}
