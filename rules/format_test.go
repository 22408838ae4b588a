package rules_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"yinshzero/rules"
)

var formats = []rules.Format{rules.FormatMoves, rules.FormatTurns, rules.FormatTrace, rules.FormatSGF}

// Games come back from every format by way of every other, if SGF has their Variant and a trace shows it.
func TestConvert(t *testing.T) {
	var in strings.Builder
	for line := range strings.Lines(someGames(t)) {
		// SGF has no mini, and the trace of a game without Rows might be standard.
		if strings.HasPrefix(line, "standard") || strings.HasPrefix(line, "blitz") && !strings.Contains(line, " draw ") {
			in.WriteString(line)
		}
	}
	in.WriteString(passGame + "\n")
	convert := func(to rules.Format, text string, from rules.Format) string {
		var b bytes.Buffer
		ok, bad, err := rules.Convert(&b, to, strings.NewReader(text), from, noFault(t))
		if ok != 11 || bad != 0 || err != nil {
			t.Fatalf("%v to %v: ok=%d bad=%d, %v: want ok=11", from, to, ok, bad, err)
		}
		return b.String()
	}
	for _, f := range formats {
		if back, err := rules.ParseFormat(f.String()); err != nil || back != f {
			t.Errorf("%v is read as %v, %v", f, back, err)
		}
		text := convert(f, in.String(), rules.FormatMoves)
		for _, to := range formats {
			if convert(to, text, f) != convert(to, in.String(), rules.FormatMoves) {
				t.Errorf("%v to %v is not moves to %v", f, to, to)
			}
		}
	}
	if _, err := rules.ParseFormat("pgn"); err == nil || !strings.Contains(err.Error(), "want moves, turns, trace, sgf") {
		t.Errorf("got %v", err)
	}
}

// A game that one format cannot hold, or that breaks the rules, is left out and told; the others are written.
func TestConvertFaults(t *testing.T) {
	const good = "good unknown resign standard e5 f6\n"
	for _, test := range []struct {
		in   string
		to   rules.Format
		want string
	}{
		{"a unknown resign mini e6", rules.FormatSGF, "line 2: game a: variant mini has no SGF"},
		{"a unknown resign mini e6 e6", rules.FormatTrace, "line 2: game a: ply 1: e6 is not legal"},
		{"a unknown resign mini e6 e6", rules.FormatTurns, "line 2: game a: ply 1: e6 is not legal"},
		{"a unknown resign mini e6 e6", rules.FormatMoves, "line 2: game a: ply 1: e6 is not legal"},
		{"a W played mini e6", rules.FormatMoves, "line 2: game a: outcome W"},
	} {
		var b bytes.Buffer
		var faults []string
		ok, bad, err := rules.Convert(&b, test.to, strings.NewReader(good+test.in+"\n"+good), rules.FormatMoves,
			func(f rules.Fault) { faults = append(faults, f.Error()) })
		if ok != 2 || bad != 1 || err != nil || len(faults) != 1 || !strings.HasPrefix(faults[0], test.want) {
			t.Errorf("%s to %v: ok=%d bad=%d, %v, %q: want ok=2 bad=1 and %q", test.in, test.to, ok, bad, err, faults, test.want)
		}
	}
}

// A Converter counts what a trace does not hold, and reads traces of the Variants it is told.
func TestConverterLosses(t *testing.T) {
	const blitz, other = "a unknown resign blitz e6 f5\n", "b W resign 3-3-20-4-1 e6 f5\n"
	var b bytes.Buffer
	c := rules.Converter{From: rules.FormatMoves, To: rules.FormatTrace, W: &b, Fault: noFault(t)}
	for _, in := range []string{"s unknown resign standard e6 f5\n" + blitz, "m B resign mini e6 f5\n" + other} {
		if err := c.Read(strings.NewReader(in)); err != nil {
			t.Fatal(err)
		}
	}
	if c.Good != 4 || c.Bad != 0 || c.NoOutcome != 2 || c.NoVariant != 2 || c.Err != nil {
		t.Errorf("got good %d, bad %d, no outcome %d, no variant %d, %v: want 4, 0, 2, 2", c.Good, c.Bad, c.NoOutcome, c.NoVariant, c.Err)
	}
	v, err := rules.ParseVariant("3-3-20-4-1")
	if err != nil {
		t.Fatal(err)
	}
	_, trace, _ := strings.Cut(b.String(), "\nb ")
	b.Reset()
	c = rules.Converter{From: rules.FormatTrace, To: rules.FormatMoves, Variants: []rules.Variant{v}, W: &b, Fault: noFault(t)}
	if err := c.Read(strings.NewReader("b " + trace)); err != nil {
		t.Fatal(err)
	}
	wantText(t, "game", b.String(), "b unknown resign 3-3-20-4-1 e6 f5\n")
}

// A game without an END line is told if it is over, and a game's error is that game's fault.
func TestReadTrace(t *testing.T) {
	var b bytes.Buffer
	if err := rules.RandomTrace(&b, 1, 5, rules.Rows, rules.Blitz()); err != nil {
		t.Fatal(err)
	}
	whole := b.String()
	lines := strings.SplitAfter(strings.TrimSpace(whole), "\n")
	var games []rules.Game
	tell := func(g *rules.Game) error {
		games = append(games, *g)
		return nil
	}
	more := strings.TrimSpace(whole) + " and more fields that may follow"
	for _, in := range []string{whole, strings.Join(lines[:len(lines)-1], ""), more} {
		if _, bad, err := rules.ReadTrace(strings.NewReader(in), rules.Variants(), tell, noFault(t)); bad != 0 || err != nil {
			t.Fatalf("bad=%d, %v", bad, err)
		}
	}
	if len(games) != 3 || !reflect.DeepEqual(games[0], games[1]) || !reflect.DeepEqual(games[0], games[2]) ||
		!games[0].Variant.Same(rules.Blitz()) {
		t.Errorf("got %v: want the same blitz game three times", games)
	}
	refuse := func(*rules.Game) error { return &rules.PlyError{Ply: 7, Err: bytes.ErrTooLarge} }
	for _, in := range []string{whole, strings.Join(lines[:len(lines)-1], "")} {
		ok, bad, _ := rules.ReadTrace(strings.NewReader(in), rules.Variants(), refuse, func(f rules.Fault) {
			if f.Ply != 7 || f.Game != "r0" {
				t.Errorf("fault %v", f)
			}
		})
		if ok != 0 || bad != 1 {
			t.Errorf("ok=%d bad=%d: want bad=1", ok, bad)
		}
	}
}

func TestReadTurns(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"a unknown resign 3-1-9-3-1 f6 e6 f6-f8 e6-e7 f8-e7", "ply 4: turn \"f8-e7\": f8-e7 is not legal"},
		{"a unknown resign 3-1-9-3-1 f6 ;", "ply 1: turn \";\": the turn is empty"},
		{"a unknown resign 3-1-9-3-1 f6;e6", "ply 1: turn \"f6;e6\": e6 comes after the end of the turn"},
		{"a unknown resign 3-1-9-3-1 f6 z9", "no move: want e5, a2-h9, xc4-g8, xe3 or pass; B to move, phase place, 30 legal moves:"},
		{"a unknown resign", "3 words"},
	} {
		var got []string
		ok, bad, err := rules.ReadTurns(strings.NewReader(test.in), func(*rules.Game) error { return nil },
			func(f rules.Fault) { got = append(got, f.Error()) })
		if ok != 0 || bad != 1 || err != nil || !strings.Contains(strings.Join(got, ""), test.want) {
			t.Errorf("%s: ok=%d bad=%d, %v, %q: want %q", test.in, ok, bad, err, got, test.want)
		}
	}
}

// What is read of a turn list is written and read again as it was.
func FuzzReadTurns(f *testing.F) {
	f.Add("a unknown resign 3-1-9-3-1 f6 e6 f6-f8")
	f.Add(passGame)
	f.Fuzz(func(t *testing.T, line string) {
		_, _, _ = rules.ReadTurns(strings.NewReader(line), func(g *rules.Game) error {
			var b bytes.Buffer
			if err := rules.WriteTurns(&b, g); err != nil {
				return err
			}
			if _, bad, _ := rules.ReadTurns(&b, func(back *rules.Game) error {
				if !reflect.DeepEqual(back, g) {
					t.Errorf("%q is read as %v, want %v", b.String(), back, g)
				}
				return nil
			}, noFault(t)); bad > 0 {
				t.Errorf("%q is not read", b.String())
			}
			return nil
		}, func(rules.Fault) {})
	})
}
