package rules_test

import (
	"slices"
	"strings"
	"testing"

	"yinshzero/internal/rulestest"
	"yinshzero/rules"
)

// Every Move is read back from its text, in every Variant's row length.
func TestMoveText(t *testing.T) {
	for _, v := range someVariants(t) {
		for m := range rules.Move(rules.NumMoves) {
			if !onBoard(m, int(v.RowLength)) {
				continue
			}
			text := v.MoveText(m)
			got, err := v.ParseMove(text)
			if err != nil || got != m {
				t.Fatalf("%v: %s is read as %v, %v: want %v", v, text, got, err, m)
			}
			if m.Kind() == rules.RemoveRow {
				a, b, _ := strings.Cut(text[1:], "-")
				if got, err := v.ParseMove("x" + b + "-" + a); err != nil || got != m {
					t.Fatalf("%v: x%s-%s is read as %v, %v: want %v", v, b, a, got, err, m)
				}
			}
		}
	}
}

func TestParseMove(t *testing.T) {
	v := rules.Standard()
	for _, test := range []struct{ in, want string }{
		{"e5", "e5"}, {"a2-h9", "a2-h9"}, {"xc4-g8", "xc4-g8"}, {"xg8-c4", "xc4-g8"}, {"xe3", "xe3"}, {"pass", "pass"},
		{"j11", "j11"}, {"xj11-j7", "xj7-j11"},
	} {
		if m, err := v.ParseMove(test.in); err != nil || v.MoveText(m) != test.want {
			t.Errorf("%q: got %v, %v: want %s", test.in, m, err, test.want)
		}
	}
	for _, bad := range []string{
		"", "x", "-", "e", "5", "e0", "e05", "e5 ", " e5", "E5", "a1", "a6", "k11", "l5", "e5-", "e5-e5", "a2-c3", "xe5-",
		"xe5-e5", "xc4-g9", "xc4-f7", "xc4-h9", "xx", "xpass", "Pass", "e5-e6-e7", "e55", "e111", "e5x", "x-e5", "é5",
	} {
		if m, err := v.ParseMove(bad); err == nil {
			t.Errorf("%q is read as %v", bad, m)
		}
	}
}

// Every turn of random games is read back from its full text, from its short text where a row is unique, and with the
// ends of its rows swapped.
func TestTurnText(t *testing.T) {
	for _, v := range someVariants(t) {
		var start rules.Position
		var turn []rules.Move
		var before *rules.Position
		turns := 0
		check := func() {
			text := string(v.AppendTurn(nil, turn))
			got, err := start.ParseTurn(text)
			if err != nil || !slices.Equal(got, turn) {
				t.Fatalf("%s: got %v, %v: want %v\n%s", text, got, err, turn, start.Draw())
			}
			short, swapped := shortTurn(v, start, turn)
			for _, s := range []string{short, swapped} {
				if got, err := start.ParseTurn(s); err != nil || !slices.Equal(got, turn) {
					t.Fatalf("%s: got %v, %v: want %v\n%s", s, got, err, turn, start.Draw())
				}
			}
			turns++
		}
		rulestest.Walk(v, 30, 5, func(_ int, p rules.Position) {
			if before != nil && p != rules.New(v) {
				m := played(*before, p)
				if len(turn) == 0 {
					start = *before
				}
				turn = append(turn, m)
				if _, over := p.Result(); over || p.ToMove() != start.ToMove() {
					check()
					turn = turn[:0]
				}
			}
			before = &p
		})
		if turns < 100 {
			t.Errorf("%v: %d turns", v, turns)
		}
	}
}

// played is the Move that leads from p to q.
func played(p, q rules.Position) rules.Move {
	for _, m := range p.AppendMoves(nil) {
		next := p
		if next.Play(m); next == q {
			return m
		}
	}
	panic("no move leads there")
}

// shortTurn is the text of a turn without its unique rows, and with the ends of all rows swapped.
func shortTurn(v rules.Variant, p rules.Position, turn []rules.Move) (short, swapped string) {
	for i, m := range turn {
		text := v.MoveText(m)
		unique := p.Phase() == rules.PhaseRemoveRow && p.NumMoves() == 1
		if i > 0 && m.Kind() != rules.RemoveRing {
			short, swapped = short+";", swapped+";"
		}
		if m.Kind() == rules.RemoveRow {
			a, b, _ := strings.Cut(text[1:], "-")
			swapped += "x" + b + "-" + a
		} else {
			swapped += text
		}
		if !unique {
			short += text
		}
		p.Play(m)
	}
	return short, swapped
}

func TestStrings(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{rules.Pass.String(), "pass"}, {rules.Move(rules.NumMoves).String(), "Move(2274)"},
		{rules.RemoveRowAt(rules.RowAt(84, rules.AxisBoth)).String(), "xk10-?"}, {rules.Point(85).String(), "?"},
		{rules.Resigned.String(), "resigned"}, {rules.Unfinished.String(), "unfinished"}, {rules.Black.String(), "B"},
	} {
		wantText(t, "text", test.got, test.want)
	}
}

func TestParseTurn(t *testing.T) {
	mover := rulestest.Drawing{
		Pieces: "We4 bf4 wg4 wf5-f8 bg5-g8 Wk8 Wk9 Wk10 Wj11 " + blackCorner, Phase: rules.PhaseMoveRing,
	}
	own := rulestest.Drawing{
		Pieces: "wf4-f9 wh5-h9 Wk8 Wk9 Wk10 Wj11 Wj10 " + blackCorner, Phase: rules.PhaseRemoveRow,
	}
	gift := rulestest.Drawing{
		Pieces: "wf4-f8 Wk8 Wk9 Wk10 Wj11 Wj10 " + blackCorner, Phase: rules.PhaseRemoveRow, Gift: true,
	}
	giftWins := rulestest.Drawing{
		Pieces: "wf4-f8 Wk8 Wk9 Wk10 " + blackCorner, Phase: rules.PhaseRemoveRow, Gift: true,
	}
	for _, test := range []struct {
		name     string
		d        rulestest.Drawing
		in, want string // want empty: an error
	}{
		{"move, row and ring", mover, "e4-h4;xf4-f8xh4", "e4-h4;xf4-f8xh4"},
		{"short", mover, "e4-h4;xh4", "e4-h4;xf4-f8xh4"},
		{"without semicolons", mover, "e4-h4xf4-f8xh4", "e4-h4;xf4-f8xh4"},
		{"no row taken", mover, "e4-h4", ""},
		{"no ring taken", mover, "e4-h4;xf4-f8", ""},
		{"on into the opponent's turn", mover, "e4-h4;xf4-f8xh4;xg4-g8xa2", ""},
		{"two rows", own, "xh5-h9xk8;xf5-f9xk9", "xh5-h9xk8;xf5-f9xk9"},
		{"short where it is open", own, "xk8;xk9", ""},
		{"one row left out", own, "xf4-f8xk8;xk9", "xf4-f8xk8;xh5-h9xk9"},
		{"gift and no move", gift, "xf4-f8xk8;k9-k10", ""},
		{"gift and move", gift, "xf4-f8xk8;k9-i7", "xf4-f8xk8;k9-i7"},
		{"gift, short", gift, "xk8;k9-i7", "xf4-f8xk8;k9-i7"},
		{"gift without a move", gift, "xf4-f8xk8", ""},
		{"gift that wins", giftWins, "xf4-f8xk8", "xf4-f8xk8"},
		{"beyond the end", giftWins, "xf4-f8xk8;k9-i7", ""},
		{"empty", mover, "", ""},
		{"semicolons only", mover, ";;", ""},
		{"no move", mover, "e4?h4", ""},
		{"not legal", mover, "e4-f4", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := drawn(t, test.d)
			turn, err := p.ParseTurn(test.in)
			if (err == nil) != (test.want != "") {
				t.Fatalf("got %v, %v: want %q\n%s", turn, err, test.want, p.Draw())
			}
			if err == nil {
				wantText(t, "turn", string(p.Variant().AppendTurn(nil, turn)), test.want)
			}
		})
	}
}

func TestVariantText(t *testing.T) {
	for _, v := range append(someVariants(t), rules.Variant{Name: "custom", Radius: 3, Rings: 1, Markers: 1, RowLength: 3, RingsToWin: 1}) {
		got, err := rules.ParseVariant(v.String())
		if err != nil || got != v {
			t.Errorf("%+v is read as %+v, %v", v, got, err)
		}
	}
	for in, want := range map[string]string{
		"standard": "standard", "5-5-51-5-3": "standard", "5-5-51-5-1": "blitz", "3-3-21-4-1": "mini", "4-4-35-5-2": "4-4-35-5-2",
	} {
		if v, err := rules.ParseVariant(in); err != nil || v.String() != want {
			t.Errorf("%q: got %v, %v: want %s", in, v, err, want)
		}
	}
	for _, bad := range []string{
		"", "Standard", "5-5-51-5", "5-5-51-5-3-1", "6-5-51-5-3", "2-5-51-5-3", "5-0-51-5-3", "5-6-51-5-3", "5-5-0-5-3",
		"5-5-100-5-3", "5-5-51-2-3", "5-5-51-8-3", "5-5-51-5-0", "5-5-51-5-6", "5-2-51-5-3", "05-5-51-5-3", "+5-5-51-5-3",
		"5-5-51-5-", "-5-5-51-5-3", strings.Repeat("5-", 1000),
	} {
		if v, err := rules.ParseVariant(bad); err == nil {
			t.Errorf("%q is read as %v", bad, v)
		}
	}
}

// A Position of every kind, the ends included, is read back from its text as it was.
func TestPositionText(t *testing.T) {
	phases := map[rules.Phase]int{}
	walk(t, 30, func(p rules.Position) {
		text := p.String()
		q, err := rules.ParsePosition(text)
		if err != nil || q != p {
			t.Fatalf("%s is read as %s, %v\n%s", text, q.String(), err, p.Draw())
		}
		phases[p.Phase()]++
	})
	if len(phases) != 5 {
		t.Errorf("phases %v: want all five", phases)
	}
	wantText(t, "start", func() string { p := rules.New(rules.Standard()); return p.String() }(),
		strings.Repeat(".", rules.NumPoints)+"/W/place/51/0-0/5-5/B/0/standard")
}

func TestParsePositionRejects(t *testing.T) {
	base := drawn(t, rulestest.Drawing{Pieces: "wf4-f8 Wk8 Wk9 Wk10 Wj11 " + blackCorner, Phase: rules.PhaseRemoveRow})
	text := base.String()
	board := text[:rules.NumPoints]
	plain := strings.Replace(board, "wwwww", "wwbww", 1)
	empty := strings.Repeat(".", rules.NumPoints)
	for _, test := range []struct{ name, in, want string }{
		{"nothing", "", "1 fields"},
		{"a board alone", board, "1 fields"},
		{"too many fields", text + "/x", "10 fields"},
		{"short board", "./W/place/51/0-0/5-5/B/0/standard", "1 characters"},
		{"strange piece", "?" + empty[1:] + "/W/place/51/0-0/5-5/B/0/standard", "on a2"},
		{"side", board + "/w/row/46/1-0/0-0/W/0/standard", "want W or B"},
		{"phase", board + "/W/rows/46/1-0/0-0/W/0/standard", "phase"},
		{"pool", board + "/W/row/046/1-0/0-0/W/0/standard", "pool"},
		{"pool too large", board + "/W/row/52/1-0/0-0/W/0/standard", "pool"},
		{"pool and markers", board + "/W/row/45/1-0/0-0/W/0/standard", "45 in the pool"},
		{"taken", board + "/W/row/46/1/0-0/W/0/standard", "taken"},
		{"taken, second", board + "/W/row/46/1-x/0-0/W/0/standard", "taken"},
		{"rings and taken", board + "/W/row/46/2-0/0-0/W/0/standard", "together 6"},
		{"hand", board + "/W/row/46/1-0/0-9/W/0/standard", "hand"},
		{"last", board + "/W/row/46/1-0/0-0/-/0/standard", "last"},
		{"passes", board + "/W/row/46/1-0/0-0/W/3/standard", "passes"},
		{"passes with a row", board + "/W/row/46/1-0/0-0/W/1/standard", "a pass makes no row"},
		{"variant", board + "/W/row/46/1-0/0-0/W/0/chess", "variant"},
		{"off the small board", board + "/W/row/46/1-0/0-0/W/0/mini", "radius 3"},
		{"row of the wrong side", board + "/B/row/46/1-0/0-0/W/0/standard", "has no row"},
		{"no row", plain + "/W/row/46/1-0/0-0/W/0/standard", "has no row"},
		{"move with a row", board + "/W/move/46/1-0/0-0/B/0/standard", "with a row"},
		{"opponent's ring before the mover's row", board + "/B/ring/46/1-0/0-0/W/0/standard", "comes first"},
		{"ring without a row in the pool", plain + "/W/ring/4/1-0/0-0/W/0/5-5-9-5-3", "just taken"},
		{"move twice", plain + "/W/move/46/1-0/0-0/W/0/standard", "two sides"},
		{"passed but can move", plain + "/W/move/46/1-0/0-0/B/1/standard", "B passed"},
		{"over for nothing", plain + "/W/over/46/1-0/0-0/B/0/standard", "no winner"},
		{"not over with an empty pool", plain + "/W/move/0/1-0/0-0/B/0/5-5-5-5-3", "no winner"},
		{"passes before an empty pool", plain + "/W/over/0/1-0/0-0/B/1/5-5-5-5-3", "the game was over"},
		{"place with markers", plain + "/W/place/46/0-0/1-0/B/0/standard", "markers on the board"},
		{"place with no rings in hand", empty + "/W/place/51/3-3/2-2/B/0/standard", "rings taken"},
		{"place out of turn", empty + "/B/place/51/0-0/5-5/W/0/standard", "take turns"},
		{"place after oneself", empty + "/W/place/51/0-0/5-5/W/0/standard", "last W"},
		{"move with rings in hand", empty + "/W/move/51/0-0/5-5/B/0/standard", "want place"},
		{"rings neither here nor there", empty + "/W/move/51/0-0/0-0/B/0/standard", "together 0"},
		{"won and on", strings.Replace(plain, "W", ".", 2) + "/W/move/46/3-0/0-0/B/0/standard", "want over"},
		{"won, but the loser to move", strings.Replace(plain, "W", ".", 2) + "/B/over/46/3-0/0-0/B/0/standard", "the winner"},
		{"won by both", strings.Replace(strings.Replace(plain, "W", ".", 2), "B", ".", 3) +
			"/W/over/46/3-3/0-0/W/0/standard", "both sides"},
		{"won after a pass", strings.Replace(plain, "W", ".", 2) + "/W/over/46/3-0/0-0/W/1/standard", "a pass makes no row"},
		{"more rows than one move can make", strings.Repeat("w", rules.NumPoints-2) + "WB/W/row/16/0-0/0-0/W/0/5-1-99-3-1",
			"more rows"},
		{"won with an empty pool", strings.Replace(plain, "W", ".", 2) + "/W/over/0/3-0/0-0/W/0/5-5-5-5-3", "just taken"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := rules.ParsePosition(test.in)
			if err == nil {
				t.Fatalf("read as %s", p.String())
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v: want a word about %q", err, test.want)
			}
		})
	}
}

func FuzzParseMove(f *testing.F) {
	for _, s := range []string{"e5", "a2-h9", "xc4-g8", "xe3", "pass", "x-", "j11-k10"} {
		f.Add(s, uint8(5))
	}
	f.Fuzz(func(t *testing.T, s string, length uint8) {
		v := rules.Standard()
		v.RowLength = int8(3 + length%5)
		m, err := v.ParseMove(s)
		if err != nil {
			return
		}
		if back, err := v.ParseMove(v.MoveText(m)); err != nil || back != m {
			t.Fatalf("%q is read as %d, written as %s and read as %d, %v", s, m, v.MoveText(m), back, err)
		}
	})
}

func FuzzParseVariant(f *testing.F) {
	for _, s := range []string{"standard", "mini", "4-4-35-5-2", "5-5-51-5-3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := rules.ParseVariant(s)
		if err != nil {
			return
		}
		if back, err := rules.ParseVariant(v.String()); err != nil || back != v || v.Validate() != nil {
			t.Fatalf("%q is read as %+v, written as %v and read as %+v, %v", s, v, v, back, err)
		}
	})
}

// Whatever Position is read is written and read back alike, and can be played to an end.
func FuzzParsePosition(f *testing.F) {
	n := 0
	walk(f, 1, func(p rules.Position) {
		if n++; n%7 == 0 {
			f.Add(p.String())
		}
	})
	f.Fuzz(func(t *testing.T, s string) {
		p, err := rules.ParsePosition(s)
		if err != nil {
			return
		}
		if p.String() != s {
			back, err := rules.ParsePosition(p.String())
			if err != nil || back != p {
				t.Fatalf("%q is written as %q and read as %q, %v", s, p.String(), back.String(), err)
			}
		}
		_ = p.Draw()
		for range p.Variant().MaxPlies() {
			moves := p.AppendMoves(nil)
			if len(moves) > rules.MaxMoves {
				t.Fatalf("%d moves", len(moves))
			}
			if len(moves) == 0 {
				break
			}
			p.Play(moves[len(moves)/2])
			if _, err := rules.ParsePosition(p.String()); err != nil {
				t.Fatalf("%s leads to %v", s, err)
			}
		}
		if _, over := p.Result(); !over {
			t.Fatalf("%s never ends", s)
		}
	})
}

func FuzzParseTurn(f *testing.F) {
	gift := rulestest.Drawing{
		Pieces: "wf4-f8 Wk8 Wk9 Wk10 Wj11 Wj10 " + blackCorner, Phase: rules.PhaseRemoveRow, Gift: true,
	}
	p, err := gift.Position()
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"xf4-f8xk8;k9-i7", "xk8;k9-i7", "", ";x", "pass"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		turn, err := p.ParseTurn(s)
		if err != nil {
			return
		}
		text := string(p.Variant().AppendTurn(nil, turn))
		if back, err := p.ParseTurn(text); err != nil || !slices.Equal(back, turn) {
			t.Fatalf("%q is written as %q and read as %v, %v", s, text, back, err)
		}
	})
}
