package arena

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"yinshzero/rules"
)

func entryOf(t testing.TB, v rules.Variant, pair int) Entry {
	t.Helper()
	o, s := NewPair(v, 17, pair)
	r, err := PlayPair(t.Context(), new(Greedy), new(Random), v, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return Entry{Kind: "gate", A: "model:3f9a@100", B: "cmd:./other --level 3", Variant: v, Seed: 17, Pair: pair, Result: r}
}

func TestEntryRoundTrip(t *testing.T) {
	custom := rules.Variant{Name: "custom", Radius: 4, Rings: 4, Markers: 30, RowLength: 4, RingsToWin: 2}
	var text []byte
	var want []Entry
	for i, v := range []rules.Variant{rules.Standard(), rules.Mini(), rules.Blitz(), custom} {
		e := entryOf(t, v, i)
		before := len(text)
		var err error
		if text, err = e.AppendText(text); err != nil {
			t.Fatal(err)
		}
		want = append(want, e)
		got, err := ParseEntry(string(text[before:]))
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%v: got %+v, %v, want %+v", v, got, err, e)
		}
	}
	var got []Entry
	for e, err := range Entries(bytes.NewReader(text)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %d entries, want %d as written", len(got), len(want))
	}
}

func TestEntryErrors(t *testing.T) {
	e := entryOf(t, rules.Mini(), 0)
	text, err := e.AppendText(nil)
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Split(strings.TrimSuffix(string(text), "\n"), "\t")
	with := func(i int, s string) string {
		f := slices.Clone(fields)
		f[i] = s
		return strings.Join(f, "\t")
	}
	otherPoints := "2"
	if fields[6] == otherPoints {
		otherPoints = "0"
	}
	second := strings.Split(fields[9], " ")
	for _, c := range []struct{ name, line, want string }{
		{"empty", "", "1 fields with tabs between them: want 10"},
		{"no kind", with(0, ""), `kind "": want text`},
		{"no player", with(2, ""), `player B "": want text`},
		{"variant", with(3, "chess"), `variant "chess"`},
		{"seed", with(4, "-1"), `seed "-1"`},
		{"seed form", with(4, "017"), `seed "017"`},
		{"pair", with(5, "x"), `pair "x": want a number from 0`},
		{"points", with(6, otherPoints), "the moves give"},
		{"points form", with(6, "1.50"), `points "1.50"`},
		{"opening", with(7, "-3"), `plies of the opening "-3"`},
		{"opening too long", with(7, "9999"), "plies of the opening 9999: the first game has"},
		{"opening of one game", with(7, "400"), "plies of the opening 400"},
		{"no moves", with(8, ""), "game 1: ply 0"},
		{"no move", with(8, "e5 zz"), `game 1: ply 1: "zz"`},
		{"unfinished", with(9, strings.Join(second[:len(second)-1], " ")), "game 2: the game is not over after"},
		{"illegal", with(9, "pass"), "game 2: ply 0: illegal move pass"},
		{"endless", with(9, strings.Repeat("pass ", 500)+"pass"), "game 2: 501 plies: no game of the variant has more than"},
	} {
		if _, err := ParseEntry(c.line); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want %s", c.name, err, c.want)
		}
	}
	for _, c := range []struct {
		name, text, want string
		torn             bool
	}{
		{"torn", string(text) + string(text[:len(text)-1]), "line 2: the last line is cut short", true},
		{"damaged", string(text) + "x\n" + string(text), "line 2: 1 fields", false},
		{"long", strings.Repeat("x", maxEntryLine+5), "line 1: longer than", false},
	} {
		whole := 0
		var last error
		for _, err := range Entries(strings.NewReader(c.text)) {
			if last = err; err == nil {
				whole++
			}
		}
		if last == nil || !strings.Contains(last.Error(), c.want) || errors.Is(last, ErrTorn) != c.torn {
			t.Errorf("%s: got %d entries and error %v, want %s", c.name, whole, last, c.want)
		}
	}

	bad := e
	bad.A = "a\tb"
	if _, err := bad.AppendText(nil); err == nil || !strings.Contains(err.Error(), "player A") {
		t.Errorf("a name with a tab: got error %v", err)
	}
	bad = e
	bad.Result.Games[1].Result.Outcome = rules.Unfinished
	if _, err := bad.AppendText(nil); err == nil || !strings.Contains(err.Error(), "game 2: the result is") {
		t.Errorf("a wrong result: got error %v", err)
	}
	bad = e
	bad.Result.Opening.Moves = []rules.Move{e.Result.Games[0].Moves[1]}
	if _, err := bad.AppendText(nil); err == nil || !strings.Contains(err.Error(), "game 1 does not begin with the opening") {
		t.Errorf("a wrong opening: got error %v", err)
	}
	bad = e
	bad.Pair = -1
	if _, err := bad.AppendText(nil); err == nil || !strings.Contains(err.Error(), "pair -1") {
		t.Errorf("a wrong pair: got error %v", err)
	}
}

func FuzzParseEntry(f *testing.F) {
	for i, v := range []rules.Variant{rules.Mini(), rules.Standard()} {
		e := entryOf(f, v, i)
		text, err := e.AppendText(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("gate\ta\tb\tmini\t1\t0\t1\t0\td4\td4")
	f.Fuzz(func(t *testing.T, line string) {
		e, err := ParseEntry(line)
		if err != nil {
			return
		}
		text, err := e.AppendText(nil)
		if err != nil {
			t.Fatalf("read but not written: %v", err)
		}
		again, err := ParseEntry(string(text))
		if err != nil || !reflect.DeepEqual(again, e) {
			t.Errorf("got %+v, %v, want %+v", again, err, e)
		}
	})
}
