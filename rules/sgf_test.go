package rules_test

import (
	"bytes"
	"errors"
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

// Games written by hand: the dialect with Done, and the old one.
func TestSGFByHand(t *testing.T) {
	for _, name := range []string{"done", "old"} {
		sgf, err := os.ReadFile("testdata/sgf/" + name + ".sgf")
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile("testdata/sgf/" + name + ".moves")
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range []string{string(sgf), strings.ReplaceAll(string(sgf), "\n", "\r\n")} {
			var got bytes.Buffer
			_, bad, err := rules.Convert(&got, rules.FormatMoves, strings.NewReader(in), rules.FormatSGF, noFault(t))
			if bad != 0 || err != nil {
				t.Errorf("%s: bad=%d, %v", name, bad, err)
			}
			wantText(t, name, got.String(), string(want))
		}
	}
}

// readSGF reads one game.
func readSGF(sgf string) (g rules.Game, err error) {
	_, _, _ = rules.ReadSGF(strings.NewReader(sgf), 1, func(r *rules.Game) error {
		g = *r
		return nil
	}, func(f rules.Fault) { err = f })
	return g, err
}

// whims writes g as players with second thoughts do: with and without Done, indices and times, with steps that are taken
// back, in upper and lower case.
func whims(g *rules.Game, rng *rand.Rand) string {
	var b strings.Builder
	old := rng.IntN(2) == 0
	fmt.Fprintf(&b, "(;SU[%s]GN[%s]XX[a][b]\r\n", map[string]string{"standard": "Yinsh", "blitz": "yinsh-blitz"}[g.Variant.Name], g.ID)
	n := 0
	command := func(side rules.Color, format string, args ...any) {
		s := fmt.Sprintf(format, args...)
		if rng.IntN(2) == 0 {
			s = fmt.Sprintf("%d %s", n, s)
		}
		fmt.Fprintf(&b, ";P%d[%s]", side, s)
		if rng.IntN(4) == 0 {
			fmt.Fprintf(&b, "TM[%d]C[x\\]y]\n", n)
		}
		n++
	}
	point := func(p rules.Point) string { return fmt.Sprintf("%c %d", 'A'+p.Column(), p.Number()) }
	p := rules.New(g.Variant)
	for _, m := range g.Moves {
		side := p.ToMove()
		own := strings.ToLower(side.String())
		all := p.AppendMoves(nil)
		for _, try := range []rules.Move{all[rng.IntN(len(all))], m} {
			last := try == m
			if !last && rng.IntN(3) > 0 {
				continue
			}
			switch try.Kind() {
			case rules.PlaceRing:
				command(side, "place %sr  %s", own, point(try.Point()))
			case rules.MoveRing:
				if last && rng.IntN(2) == 0 {
					command(side, "move %s %s", point(try.From()), point(try.To()))
					break
				}
				command(side, "place %s %s", own, point(try.From()))
				if rng.IntN(3) == 0 {
					command(side, "drop board k 7")
					command(side, "pick board  k 7")
				}
				command(side, "drop board  %s", point(try.To()))
			case rules.RemoveRow:
				end, _ := try.Row().Last(p.RowLength())
				a, z := try.Row().First(), end
				if rng.IntN(2) == 0 {
					a, z = z, a
				}
				command(side, "remove %s %s %s", own, point(a), point(z))
			case rules.RemoveRing:
				command(side, "remove %sr %s", own, point(try.Point()))
			case rules.PassTurn:
				command(side, "pass")
			}
		}
		if !old {
			command(side, "Done ")
		}
		p.Play(m)
	}
	if g.Resigned && g.Outcome != rules.Unfinished {
		loser := rules.White
		if g.Outcome == rules.WhiteWins {
			loser = rules.Black
		}
		command(loser, "Resign ")
	}
	return b.String() + ")"
}

// Random games come back from both dialects, and from what players with second thoughts make of them.
func TestSGFRoundTrip(t *testing.T) {
	for _, v := range []rules.Variant{rules.Standard(), rules.Blitz()} {
		for i := range 40 {
			rng := rand.New(rand.NewPCG(11, uint64(i)))
			g := rules.RandomGame(v, rules.RandomKind(i%3), rng)
			g.ID = fmt.Sprintf("a]b\\%d\\", i)
			if i%4 == 3 {
				g.Moves, g.Resigned = g.Moves[:rng.IntN(len(g.Moves))], true
				g.Outcome = []rules.Outcome{rules.Unfinished, rules.WhiteWins, rules.BlackWins}[rng.IntN(3)]
			}
			var b bytes.Buffer
			if err := rules.WriteSGF(&b, &g); err != nil {
				t.Fatal(err)
			}
			if back, err := readSGF(b.String()); err != nil || !reflect.DeepEqual(back, g) {
				t.Fatalf("%s\nis read as %s, %v: want %s", b.String(), back.AppendText(nil), err, g.AppendText(nil))
			}
			g.ID = "x"
			for range 5 {
				sgf := whims(&g, rng)
				if back, err := readSGF(sgf); err != nil || !reflect.DeepEqual(back, g) {
					t.Fatalf("%s\nis read as %s, %v: want %s", sgf, back.AppendText(nil), err, g.AppendText(nil))
				}
			}
		}
	}
}

// A game in which White must pass. A search that moves both sides so as to hem White in found it.
const passGame = "pass unknown resign standard a2 b3 a3 b1 g9 c6 h10 h9 g10 g8 g10-h11 c6-d6 g9-g11 b1-b2 h10-i11 h9-i10 g11-b6 g8-d8 " +
	"b6-b4 b3-c4 b4-a4 d6-f8 i11-j11 b2-j10 h11-f9 d8-e8 f9-f10 e8-b5 a4-a5 c4-c7 f10-e9 f8-c5 e9-e10 c7-c8 e10-d9 b5-d7 " +
	"a2-d5 j10-e5 d5-e6 e5-f6 e6-f7 xa2-e6 xf7 c5-c3 a3-a2 c3-b3 a5-d5 f6-d4 d5-c4 xa5-e5 xc4 d7-d5 a2-a5 b3-b5 d9-i9 c8-h8 i9-i4 " +
	"h8-h4 i4-h3 h4-g3 h3-g2 g3-f2 g2-j5 d5-i5 j5-j6 i5-i6 j6-j7 i6-i7 j7-k7 i7-k9 k7-k8 k9-j8 k8-k10 j8-j9 pass"

func TestSGFPass(t *testing.T) {
	g, err := rules.ParseGame(passGame)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := rules.WriteSGF(&b, &g); err != nil || !strings.Contains(b.String(), " Pass]\n; P0[") {
		t.Fatalf("%s\n%v", b.String(), err)
	}
	if back, err := readSGF(b.String()); err != nil || !reflect.DeepEqual(back, g) {
		t.Fatalf("is read as %s, %v: want %s", back.AppendText(nil), err, g.AppendText(nil))
	}
}

func TestSGFOutcome(t *testing.T) {
	names := `P0[id "Bob"]P1[id "Bobby"]`
	for _, test := range []struct{ in, want string }{
		{names + `RE[Game won by Bob]`, "W resign"},
		{names + `RE[Game won by Bobby]`, "B resign"},
		{names + `RE[Bobby.]`, "B resign"},
		{`P0[id "Bobby"]P1[id "Bob"]RE[Game won by Bobby]`, "W resign"},
		{names + `RE[Game won by Carl]`, "unknown resign"},
		{names + `RE[Game won by Bobbyson]`, "unknown resign"},
		{`P0[id "Al"]P1[id "Bo"]RE[Alas, won by Bo]`, "B resign"},
		{`P0[id "Al"]P1[id "all"]RE[all, Alas, Al!]`, "B resign"},
		{`P0[id "aa"]P1[id "Bo"]RE[aaa won]`, "unknown resign"},
		{`P0[id "Bé"]P1[id "Bo"]RE[Béla won]`, "unknown resign"},
		{`P0[id "Bé"]P1[id "Bo"]RE[勝者はBéです]`, "W resign"},
		{names + `RE[B+Resign]`, "B resign"},
		{`RE[W+3]`, "W resign"},
		{`P0[0 ID Bob]P1[id ""]RE[won: Bob]`, "W resign"},
		{`P0[id "Bob"]P1[id "Bob"]RE[Game won by Bob]`, "unknown resign"},
		{names + `RE[Game won by Bobby];P0[Resign ];P0[Done]`, "B resign"},
		{`;P0[place wr A 2];P0[Resign];P0[Done]`, "B resign"},
		{`;P0[Resign];P0[place wr A 2]`, "unknown resign"}, // a second thought
		{``, "unknown resign"},
	} {
		g, err := readSGF("(;GM[24]" + test.in + ")")
		g.Moves = nil
		if got := string(g.AppendText(nil)); err != nil || got != "sgf1 "+test.want+" standard" {
			t.Errorf("%s is %s, %v: want %s", test.in, got, err, test.want)
		}
	}
}

// What is picked up beside the board and put on it is placed; what is put back is not.
func TestSGFPicked(t *testing.T) {
	const placed = ";P0[pick wr];P0[pick wr];P0[drop board A 2];P0[pick board A 2];P0[drop board E 1];P1[pick br];P1[drop br];P1[place br K 7]" +
		";P0[place wr B 1];P1[place br J 11];P0[place wr C 1];P1[place br I 11];P0[place wr D 1];P1[place br H 11]" +
		";P0[place wr F 2];P1[place br G 11]"
	g, err := readSGF("(;GM[24]" + placed + ";P0[pick w];P0[drop board B 1];P0[pick board];P0[drop w];P0[pick w]" +
		";P0[drop board E 1];P0[drop board E 2];P1[place b K 7])")
	const want = "sgf1 unknown resign standard e1 k7 b1 j11 c1 i11 d1 h11 f2 g11 e1-e2"
	if got := string(g.AppendText(nil)); err != nil || got != want {
		t.Errorf("got %s, %v: want %s", got, err, want)
	}
}

func TestSGFFaults(t *testing.T) {
	sgf, err := os.ReadFile("testdata/sgf/done.sgf")
	if err != nil {
		t.Fatal(err)
	}
	good := string(sgf)
	edit := func(from, to string) string { return strings.Replace(good, from, to, 1) }
	for _, test := range []struct {
		name, in string
		line     int // of the file
		ply      int
		want     []string
	}{
		{"another game", edit("GM[24]", "GM[1]"), 2, -1, []string{"GM", "want 24"}},
		{"another setup", edit("SU[Yinsh]", "SU[Zertz]"), 3, -1, []string{"SU", "yinsh-blitz"}},
		{"late setup", edit("C[first", "SU[Yinsh]C[first"), 19, -1, []string{"SU comes after"}},
		{"taken point", edit("K 7]", "E 1]"), 13, 1, []string{"e1 is not legal", "B to move", "84 legal moves: a2"}},
		{"no point", edit("K 7]", "K 11]"), 13, 1, []string{"k11", "84 legal moves"}},
		{"wrong command", edit("place br  K 7", "put br  K 7"), 13, 1, []string{"put br", "want place wr", "84 legal moves"}},
		{"half a command", edit("place br  K 7", "place br K"), 13, 1, []string{"place br K", "want place wr"}},
		{"the other's ring", edit("place br  K 7", "place wr K 7"), 13, 1, []string{"wr", "want a marker or ring of B"}},
		{"wrong side", edit("; P1[3 pick br]TM[100]\n; P1[4 place br", ";\n; P0[4 place wr"), 13, 1, []string{"not legal for W", "B to move"}},
		{"black starts", edit("Start White", "Start Black"), 9, 0, []string{"White begins"}},
		{"ring not moved", edit("; P0[25 drop board  E 2]TM[20057]\n", "\n"), 24, 10, []string{"ring on e1 was not moved"}},
		{"nothing to drop", edit("place w  E 1]", "pick board E 1]"), 25, 10, []string{"no ring in hand", "W to move"}},
		{"ring stays", edit("drop board  E 2]", "drop board  E 1]"), 25, 10, []string{"ring on e1 was not moved"}},
		{"not from this ring", edit("27 move K 7 K 8", "27 move K 7 E 1"), 27, 11, []string{"k7-e1 is not legal", " k7-"}},
		{"no line", edit("27 move K 7 K 8", "27 move K 7 A 3"), 27, 11, []string{"not two points of a line"}},
		{"no row", edit("remove w E 5 E 1", "remove w E 6 E 2"), 40, 19, []string{"xe2-e6 is not legal", "1 legal move: xe1-e5"}},
		{"half a row", edit("remove w E 5 E 1", "remove w E 5"), 40, 19, []string{"remove w E 5"}},
		{"the other has won", edit("RE[Game won by Béla ő]", "RE[Game won by Ada]"), 7, -1, []string{"RE", "ends in B"}},
		{"no draw", strings.NewReplacer("RE[Game won by Béla ő]", "RE[The game is a draw]", "P0[56 place w  E 6]", "C[]", "P0[57 Resign ]", "C[]").Replace(good), 7, -1,
			[]string{"RE", "not over", "W to move"}},
		{"not closed", strings.TrimSuffix(good, ")\n"), 1, -1, []string{"no closing parenthesis"}},
		{"long value", edit("58 Done ", strings.Repeat("x", 1<<17)), 45, -1, []string{"65536 characters"}},
		{"after the resignation", edit("58 Done ]", "58 Done ];P1[move J 9 J 8]"), 45, 22, []string{"after the resignation"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var faults []rules.Fault
			// The game before and the one after are read all the same.
			before := strings.Count(good, "\n")
			in := strings.ReplaceAll(good+test.in+good, "\n", "\r\n")
			ok, bad, err := rules.ReadSGF(strings.NewReader(in), 1, func(*rules.Game) error { return nil },
				func(f rules.Fault) { faults = append(faults, f) })
			if ok != 2 || bad != 1 || err != nil || len(faults) != 1 {
				t.Fatalf("ok=%d bad=%d, %v, faults %v: want ok=2 bad=1", ok, bad, err, faults)
			}
			f := faults[0]
			if f.Line != before+test.line || f.Ply != test.ply {
				t.Errorf("fault at line %d, ply %d: want %d, %d: %v", f.Line-before, f.Ply, test.line, test.ply, f)
			}
			for _, want := range test.want {
				if !strings.Contains(f.Error(), want) {
					t.Errorf("got %v: want a word about %q", f, want)
				}
			}
		})
	}
	if _, err := readSGF("(;C[not closed"); err == nil || !strings.Contains(err.Error(), "no closing bracket") {
		t.Errorf("got %v", err)
	}
	old, err := os.ReadFile("testdata/sgf/old.sgf")
	if err != nil {
		t.Fatal(err)
	}
	won, _, _ := strings.Cut(string(old), "\n)\n")
	for after, want := range map[string]string{"Resign": "was over", "move E 6 E 7": "e6-e7 is not legal: the game is over, W"} {
		if _, err := readSGF(won + ";P0[" + after + "])"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s after the end: got %v: want a word about %q", after, err, want)
		}
	}
	broken := errors.New("broken")
	if _, _, err := rules.ReadSGF(io.MultiReader(strings.NewReader("(;"), iotest.ErrReader(broken)), 1, func(*rules.Game) error { return nil },
		func(rules.Fault) {}); !errors.Is(err, broken) {
		t.Errorf("got %v: want %v", err, broken)
	}
}

// Every byte of a value beyond the longest costs nothing.
func TestSGFLongValue(t *testing.T) {
	long := "(;C[" + strings.Repeat("x", 1<<20) + "])"
	if n := testing.AllocsPerRun(1, func() {
		if _, err := readSGF(long); err == nil {
			t.Error("no fault")
		}
	}); n > 200 {
		t.Errorf("%v allocations: want at most 200", n)
	}
}

// What is no game is skipped, whatever parentheses it has; a text without a game is a fault.
func TestSGFNoGame(t *testing.T) {
	const first, second = "(;GM[24]GN[a]P0[place wr A 2])", "(;GM[24]GN[b];P0[place wr A 3])"
	for _, noise := range []string{"", " (;) ", "(;;)", "(note; see)", "(; see)", "(", " see (1) and ( ", ")", "))", "[(;]", "; a [ ) (x;y"} {
		for _, in := range []string{noise + first + second, first + noise + "\n" + second, first + second + noise} {
			var ids string
			ok, bad, err := rules.ReadSGF(strings.NewReader(in), 1, func(g *rules.Game) error {
				ids += fmt.Sprint(g.ID, g.Moves, " ")
				return nil
			}, noFault(t))
			if ok != 2 || bad != 0 || err != nil || ids != "a[a2] b[a3] " {
				t.Errorf("%q: ok=%d bad=%d, %v, games %s: want two", in, ok, bad, err, ids)
			}
		}
		var faults []string
		ok, bad, err := rules.ReadSGF(strings.NewReader(noise), 1, func(*rules.Game) error { return nil },
			func(f rules.Fault) { faults = append(faults, f.Error()) })
		want := "[line 1: no game found: want (;GM[24]SU[Yinsh] …)]"
		if noise == "" {
			want = "[]"
		}
		if got := fmt.Sprint(faults); ok != 0 || bad != len(faults) || err != nil || got != want {
			t.Errorf("%q: ok=%d bad=%d, %v, faults %s: want %s", noise, ok, bad, err, got, want)
		}
	}
	for _, blank := range []string{"", " \r\n\t"} {
		if ok, bad, err := rules.ReadSGF(strings.NewReader(blank), 1, nil, nil); ok != 0 || bad != 0 || err != nil {
			t.Errorf("%q: ok=%d bad=%d, %v: want none", blank, ok, bad, err)
		}
	}
}

// A game's number goes on where the last file ended, and an id is never a comment.
func TestSGFID(t *testing.T) {
	var ids []string
	ok, _, err := rules.ReadSGF(strings.NewReader("(;GM[24])(;GN[#7 of\x1b 8])(;GM[24])"), 5, func(g *rules.Game) error {
		ids = append(ids, g.ID)
		return errors.New("no")
	}, func(f rules.Fault) { ids = append(ids, f.Error()) })
	want := `[sgf5 line 1: game sgf5: no _7_of` + "\x1b" + `_8 line 1: game "_7_of\x1b_8": no sgf7 line 1: game sgf7: no]`
	if got := fmt.Sprint(ids); ok != 0 || err != nil || got != want {
		t.Errorf("got %q, %v: want %q", got, err, want)
	}
}

func TestWriteSGFFaults(t *testing.T) {
	for line, want := range map[string]string{
		"a unknown resign mini e6":        "has no SGF",
		"a unknown resign standard e6 e6": "ply 1",
		"a W played standard e6":          "not over",
	} {
		g, err := rules.ParseGame(line)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := rules.WriteSGF(&b, &g); err == nil || !strings.Contains(err.Error(), want) || b.Len() > 0 {
			t.Errorf("%s: got %v, %q: want %q and nothing written", line, err, b.String(), want)
		}
	}
}

// Whatever is read is written and read again as it was.
func FuzzReadSGF(f *testing.F) {
	for _, name := range []string{"done", "old"} {
		sgf, err := os.ReadFile("testdata/sgf/" + name + ".sgf")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(sgf))
	}
	f.Add("(;GM[24](;GM[24]GN[\\]]P1[id \"\\\"]RE[\"];P0[place wr G 11];P1[Resign])")
	f.Fuzz(func(t *testing.T, s string) {
		good, faults := 0, 0
		ok, bad, err := rules.ReadSGF(strings.NewReader(s), 1, func(g *rules.Game) error {
			good++
			var b bytes.Buffer
			if err := rules.WriteSGF(&b, g); err != nil {
				t.Fatalf("%s: %v", g.AppendText(nil), err)
			}
			back, err := readSGF(b.String())
			if err != nil || !reflect.DeepEqual(back, *g) {
				t.Fatalf("%s\nis read as %s, %v: want %s", b.String(), back.AppendText(nil), err, g.AppendText(nil))
			}
			return nil
		}, func(rules.Fault) { faults++ })
		if err != nil || ok != good || bad != faults {
			t.Fatalf("ok=%d bad=%d, %v: want %d and %d", ok, bad, err, good, faults)
		}
	})
}

// Names are written, whatever is in them, and read back; those that stand for none are none.
func TestSGFNames(t *testing.T) {
	won := rules.RandomGame(rules.Blitz(), rules.Rows, rand.New(rand.NewPCG(1, 1)))
	won.ID = "a"
	open := won
	open.Moves, open.Outcome, open.Resigned = won.Moves[:20], rules.WhiteWins, true
	for _, names := range [][2]string{
		{}, {"Ann", "Bob"}, {"same", "same"}, {"a]b", `c\d"e`}, {`"`, "Game won by Ann."}, {"", "Bob"}, {"line\nline", "tab\tid"}, {"White", "Black"},
	} {
		for _, g := range []rules.Game{won, open} {
			g.Names = names
			var b bytes.Buffer
			if err := rules.WriteSGF(&b, &g); err != nil {
				t.Fatal(err)
			}
			want := names
			for c := range want {
				want[c] = strings.Map(func(r rune) rune {
					if r < ' ' {
						return ' '
					}
					return r
				}, want[c])
			}
			switch names {
			case [2]string{"White", "Black"}:
				want = [2]string{}
			case [2]string{"", "Bob"}:
				want[0] = "White"
			}
			_, _, err := rules.ReadSGF(&b, 1, func(back *rules.Game) error {
				if back.Names != want || back.Outcome != g.Outcome || back.Resigned != g.Resigned || !slices.Equal(back.Moves, g.Moves) {
					t.Errorf("%q: got %q, %v", names, back.Names, back.Outcome)
				}
				return nil
			}, noFault(t))
			if err != nil {
				t.Error(err)
			}
		}
	}
}
