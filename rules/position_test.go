package rules_test

import (
	"strings"
	"testing"

	"yinshzero/internal/rulestest"
	"yinshzero/rules"
)

// drawn is the Position of a Drawing that must be allowed.
func drawn(t *testing.T, d rulestest.Drawing) rules.Position {
	t.Helper()
	p, err := d.Position()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func variant(t *testing.T, s string) rules.Variant {
	t.Helper()
	v, err := rules.ParseVariant(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// legal is the legal Moves of p in notation.
func legal(p *rules.Position) string {
	var texts []string
	for _, m := range p.AppendMoves(nil) {
		texts = append(texts, p.Variant().MoveText(m))
	}
	return strings.Join(texts, " ")
}

// from is the legal Moves of p that begin with prefix.
func from(p *rules.Position, prefix string) string {
	var texts []string
	for s := range strings.FieldsSeq(legal(p)) {
		if strings.HasPrefix(s, prefix) {
			texts = append(texts, s)
		}
	}
	return strings.Join(texts, " ")
}

// play makes Moves in notation, which must be legal.
func play(t *testing.T, p *rules.Position, moves string) {
	t.Helper()
	for s := range strings.FieldsSeq(moves) {
		m, err := p.Variant().ParseMove(s)
		if err != nil {
			t.Fatal(err)
		}
		if !p.IsLegal(m) {
			t.Fatalf("%s is not legal: want one of %s\n%s", s, legal(p), p.Draw())
		}
		p.Play(m)
	}
}

func wantText(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s\ngot  %s\nwant %s", what, got, want)
	}
}

// wantNext checks who decides next, and what.
func wantNext(t *testing.T, p *rules.Position, side rules.Color, phase rules.Phase) {
	t.Helper()
	if p.ToMove() != side || p.Phase() != phase {
		t.Fatalf("got %v, %v: want %v, %v\n%s", p.ToMove(), p.Phase(), side, phase, p.Draw())
	}
}

func wantResult(t *testing.T, p *rules.Position, outcome rules.Outcome, reason rules.Reason) {
	t.Helper()
	res, over := p.Result()
	if !over || res != (rules.Result{Outcome: outcome, Reason: reason}) {
		t.Fatalf("got %v (%v), over %v: want %v (%v)\n%s", res.Outcome, res.Reason, over, outcome, reason, p.Draw())
	}
	if moves := legal(p); moves != "" {
		t.Errorf("legal moves after the end: %s", moves)
	}
}

func TestStart(t *testing.T) {
	p := rules.New(rules.Standard())
	for i := range 10 {
		wantNext(t, &p, rules.Color(i%2), rules.PhasePlaceRing)
		if got := p.NumMoves(); got != rules.NumPoints-i {
			t.Errorf("ring %d: %d moves, want %d", i, got, rules.NumPoints-i)
		}
		play(t, &p, strings.Fields("a2 k10 f6 f7 e1 j11 b7 g11 d9 h3")[i])
	}
	wantNext(t, &p, rules.White, rules.PhaseMoveRing)
	if p.Pool() != 51 || p.Hand(rules.White) != 0 || p.Hand(rules.Black) != 0 {
		t.Errorf("pool %d, hands %d %d: want 51, 0, 0", p.Pool(), p.Hand(rules.White), p.Hand(rules.Black))
	}
}

// The other rings stand out of the way of what a test shows.
const (
	whiteCorner = "Wj11 Wk10 Wj10 Wk9 "
	blackCorner = "Ba2 Ba3 Bb1 Bb2 Bb3 "
)

func TestRingMoves(t *testing.T) {
	for _, test := range []struct {
		name, pieces, ring, want string
	}{
		{"over empty points, as far as the edge", "", "f6-",
			"f6-b6 f6-c3 f6-c6 f6-d4 f6-d6 f6-e5 f6-e6 f6-f2 f6-f3 f6-f4 f6-f5 f6-f7 f6-f8 f6-f9 f6-f10 " +
				"f6-g6 f6-g7 f6-h6 f6-h8 f6-i6 f6-i9 f6-j6"},
		{"a group is jumped to the first point behind it", "wf7-f8 bf9 wg6 we6 bd6 bg7 wh8 wf5 we5", "f6-",
			"f6-c6 f6-d4 f6-f4 f6-f10 f6-h6 f6-i9"},
		{"empty points, then one group, then no farther", "wf8 wf10", "f6-f", "f6-f2 f6-f3 f6-f4 f6-f5 f6-f7 f6-f9"},
		{"no landing behind a group at the edge", "wf8-f10", "f6-f", "f6-f2 f6-f3 f6-f4 f6-f5 f6-f7"},
		{"never over a ring", "Bf8", "f6-f", "f6-f2 f6-f3 f6-f4 f6-f5 f6-f7"},
		{"no landing on a ring behind a group", "wf7 Wf8", "f6-f", "f6-f2 f6-f3 f6-f4 f6-f5"},
		{"no ring between markers", "wf7 Bf8 wf9", "f6-f", "f6-f2 f6-f3 f6-f4 f6-f5"},
	} {
		t.Run(test.name, func(t *testing.T) {
			pieces := "Wf6 " + test.pieces
			// Five rings in all: fewer in the corner if the test has its own.
			white := strings.Fields(whiteCorner)[:4-strings.Count(test.pieces, "W")]
			black := strings.Fields(blackCorner)[:5-strings.Count(test.pieces, "B")]
			p := drawn(t, rulestest.Drawing{
				Pieces: pieces + " " + strings.Join(white, " ") + " " + strings.Join(black, " "),
				Phase:  rules.PhaseMoveRing,
			})
			wantText(t, "moves", from(&p, test.ring), test.want)
		})
	}
}

// A ring that cannot move gets no marker; the others move on.
func TestBlockedRing(t *testing.T) {
	p := drawn(t, rulestest.Drawing{
		Pieces: "Wa2 Ba3 Bb2 Bb3 Wf6 Wj11 Wk10 Wk9 Be1 Bg2",
		Phase:  rules.PhaseMoveRing,
	})
	wantText(t, "moves of a2", from(&p, "a2-"), "")
	if from(&p, "f6-") == "" {
		t.Error("f6 cannot move")
	}
}

// Every jumped marker turns over, the marker just laid does not.
func TestFlip(t *testing.T) {
	p := drawn(t, rulestest.Drawing{
		Pieces: "Wf4 wf6 bf7 wf8 bf10 " + whiteCorner + blackCorner, Phase: rules.PhaseMoveRing,
	})
	play(t, &p, "f4-f9")
	want := drawn(t, rulestest.Drawing{
		Pieces: "wf4 bf6 wf7 bf8 Wf9 bf10 " + whiteCorner + blackCorner, Phase: rules.PhaseMoveRing, ToMove: rules.Black,
	})
	if p != want {
		t.Errorf("got\n%swant\n%s", p.Draw(), want.Draw())
	}
}

// Five adjacent markers of one colour are a row; the owner takes them and then any of his rings, the one just moved too.
func TestRowAndRing(t *testing.T) {
	p := drawn(t, rulestest.Drawing{
		Picture: `
                .       .
            .       .       .
        .       .       .       .
    .       .       .       .       W
        .       .       .       .
    .       .       w       .       W
.       .       w       .       .       W
    .       b       .       .       .
.       w       .       .       .       W
    w       W       .       .       .
B       .       .       .       .       .
    B       .       .       .       .
B       .       .       .       .       .
    B       .       .       .       .
a2      .       .       .       .       k7
    B       .       .       .       .
        .       .       .       .
    b1      .       .       .       j5
        c1      .       .       i4
            d1      f2      h3
                e1      g2`,
		Phase: rules.PhaseMoveRing,
	})
	play(t, &p, "d5-d7")
	wantNext(t, &p, rules.White, rules.PhaseRemoveRow)
	wantText(t, "rows", legal(&p), "xb4-f8")
	pool := p.Pool()
	play(t, &p, "xb4-f8")
	wantNext(t, &p, rules.White, rules.PhaseRemoveRing)
	if p.Pool() != pool+5 {
		t.Errorf("pool %d: want %d", p.Pool(), pool+5)
	}
	wantText(t, "rings", legal(&p), "xd7 xj10 xj11 xk9 xk10")
	play(t, &p, "xd7")
	wantNext(t, &p, rules.Black, rules.PhaseMoveRing)
	if p.Taken(rules.White) != 1 || p.Taken(rules.Black) != 0 {
		t.Errorf("taken %d-%d: want 1-0", p.Taken(rules.White), p.Taken(rules.Black))
	}
	var markers []string
	for _, pt := range p.AppendMarkers(nil, rules.White) {
		markers = append(markers, pt.String())
	}
	wantText(t, "markers left", strings.Join(markers, " "), "d5")
}

// On a small board without rows White's only ring is walled in by markers that reach the edge.
const walledIn = "Wc4 wc5 wd4-g4 bd5-h9 "

// A side that can move no ring passes; the other goes on.
func TestPass(t *testing.T) {
	p := drawn(t, rulestest.Drawing{
		Variant: variant(t, "3-1-30-7-1"), Pieces: walledIn + "Bi8", Phase: rules.PhaseMoveRing,
	})
	wantText(t, "moves", legal(&p), "pass")
	play(t, &p, "pass")
	wantNext(t, &p, rules.Black, rules.PhaseMoveRing)
	if p.Passes() != 1 || p.LastMover() != rules.White {
		t.Errorf("%d passes, last %v: want 1, W", p.Passes(), p.LastMover())
	}
	if p.IsLegal(rules.Pass) {
		t.Error("Black may pass though he can move")
	}
	play(t, &p, from(&p, "i8-i7"))
	wantNext(t, &p, rules.White, rules.PhaseMoveRing)
	if p.Passes() != 0 {
		t.Errorf("%d passes after a ring move: want 0", p.Passes())
	}
}

// If both pass in turn, the rings taken are counted.
func TestBothBlocked(t *testing.T) {
	for _, test := range []struct {
		name, variant string
		outcome       rules.Outcome
	}{
		{"draw", "3-1-30-7-1", rules.Draw},
		{"White ahead", "3-2-30-7-2", rules.WhiteWins},
		{"Black ahead", "3-2-30-7-2", rules.BlackWins},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := variant(t, test.variant)
			p := full(t, v, test.outcome)
			for _, side := range []rules.Color{rules.White, rules.Black} {
				wantNext(t, &p, side, rules.PhaseMoveRing)
				wantText(t, "moves", legal(&p), "pass")
				play(t, &p, "pass")
			}
			wantResult(t, &p, test.outcome, rules.Blocked)
		})
	}
}

// full is a Position on a board with no empty Point, in a game without rows; the side that is to be ahead has a ring less.
func full(t *testing.T, v rules.Variant, ahead rules.Outcome) rules.Position {
	t.Helper()
	rings := [2]int8{v.Rings, v.Rings}
	if ahead != rules.Draw {
		rings[ahead-rules.WhiteWins]--
	}
	var pieces []string
	empty := rules.New(v)
	for i, pt := range empty.AppendBoard(nil) {
		piece := "wb"[i%2 : i%2+1]
		for c, name := range [2]string{"W", "B"} {
			if rings[c] > 0 {
				rings[c]--
				piece = name
				break
			}
		}
		pieces = append(pieces, piece+pt.String())
	}
	return drawn(t, rulestest.Drawing{Variant: v, Pieces: strings.Join(pieces, " "), Phase: rules.PhaseMoveRing})
}
