package rules_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"yinshzero/internal/rulestest"
	"yinshzero/rules"
)

// The corners of the rules are files in testdata/corners. Each begins with a comment of lines with a #, which says what
// it shows and where the rule comes from, in the marks of docs/rules.md. Then a line
//
//	position <side> <phase> [gift] [<variant>]
//
// and a picture as Position.Draw shows it, without its last line, and what to do and to find, a line each:
//
//	start [<variant>]          go back to the picture, perhaps by the numbers of another Variant
//	play <move> …              make legal Moves
//	next <side> <phase>        who decides now, and what
//	legal <move> …             all legal Moves, in any order
//	from <point> [<point> …]   where the ring on the first Point may go; nowhere without others
//	at <piece> [<point> …]     all Points with that piece: W and B rings, w and b markers
//	has <piece> <point> …      some Points with that piece
//	pool <n>                   the markers off the board
//	taken <white>-<black>      the rings taken
//	over <outcome> <reason>    how the game ended
type corner struct {
	start rulestest.Drawing
	now   rules.Position
}

func TestCorners(t *testing.T) {
	files, err := filepath.Glob("testdata/corners/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no corners: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			head, rest, _ := strings.Cut(string(text), "\nposition ")
			head = strings.TrimSpace(head)
			if source := head[strings.LastIndexByte(head, '['):]; len(source) < 3 || !strings.HasSuffix(head, "]") {
				t.Error("the comment names no source")
			}
			first, rest, _ := strings.Cut(rest, "\n")
			picture, script, _ := strings.Cut(rest, "\nstart")
			c := corner{start: drawing(t, strings.Fields(first), picture)}
			for line := range strings.Lines("start" + script) {
				c.do(t, strings.Fields(line))
				if t.Failed() {
					t.Fatalf("at %q\n%s", strings.TrimSpace(line), c.now.Draw())
				}
			}
		})
	}
}

// drawing reads the line of the position.
func drawing(t *testing.T, words []string, picture string) rulestest.Drawing {
	d := rulestest.Drawing{Picture: picture, ToMove: side(words[0])}
	for d.Phase.String() != words[1] {
		d.Phase++
	}
	for _, word := range words[2:] {
		if word == "gift" {
			d.Gift = true
		} else {
			d.Variant = variant(t, word)
		}
	}
	return d
}

func side(s string) rules.Color {
	if s == "B" {
		return rules.Black
	}
	return rules.White
}

// do makes or checks what a line says.
func (c *corner) do(t *testing.T, words []string) {
	if len(words) == 0 {
		return
	}
	args := words[1:]
	switch words[0] {
	case "start":
		d := c.start
		if len(args) > 0 {
			d.Variant = variant(t, args[0])
		}
		c.now = drawn(t, d)
	case "play":
		play(t, &c.now, strings.Join(args, " "))
	case "next":
		wantText(t, "next", c.now.ToMove().String()+" "+c.now.Phase().String(), strings.Join(args, " "))
	case "legal":
		wantText(t, "legal", sorted(strings.Fields(legal(&c.now))), sorted(args))
	case "from":
		var to []string
		for _, move := range strings.Fields(from(&c.now, args[0]+"-")) {
			_, end, _ := strings.Cut(move, "-")
			to = append(to, end)
		}
		wantText(t, "destinations", sorted(to), sorted(args[1:]))
	case "at":
		wantText(t, args[0], sorted(c.points(args[0])), sorted(args[1:]))
	case "has":
		for _, point := range args[1:] {
			if !slices.Contains(c.points(args[0]), point) {
				t.Errorf("no %s on %s", args[0], point)
			}
		}
	case "pool":
		wantText(t, "pool", strconv.Itoa(c.now.Pool()), args[0])
	case "taken":
		wantText(t, "taken", strconv.Itoa(c.now.Taken(rules.White))+"-"+strconv.Itoa(c.now.Taken(rules.Black)), args[0])
	case "over":
		res, over := c.now.Result()
		if !over || c.now.NumMoves() != 0 {
			t.Error("not over")
		}
		wantText(t, "result", res.Outcome.String()+" "+res.Reason.String(), strings.Join(args, " "))
	default:
		t.Errorf("%s: nothing to do by that name", words[0])
	}
}

// points is the names of the Points with a piece.
func (c *corner) points(piece string) (names []string) {
	owner := side(strings.ToUpper(piece))
	points := c.now.AppendRings(nil, owner)
	if piece != strings.ToUpper(piece) {
		points = c.now.AppendMarkers(nil, owner)
	}
	for _, p := range points {
		names = append(names, p.String())
	}
	return names
}

func sorted(words []string) string {
	words = slices.Clone(words)
	slices.Sort(words)
	return strings.Join(words, " ")
}

// A ring may be placed on every free Point, edges included, by either side. [F]
func TestPlacementOnEveryPoint(t *testing.T) {
	for _, v := range rules.Variants() {
		empty := rules.New(v)
		board := empty.AppendBoard(nil)
		for _, first := range board {
			p := empty
			p.Play(rules.PlaceRingAt(first))
			wantNext(t, &p, rules.Black, rules.PhasePlaceRing)
			for _, second := range board {
				if got, want := p.IsLegal(rules.PlaceRingAt(second)), second != first; got != want {
					t.Fatalf("%v: Black on %v after White on %v: legal %v, want %v", v, second, first, got, want)
				}
				if second != first {
					q := p
					q.Play(rules.PlaceRingAt(second))
					if q.At(first) != rules.WhiteRing || q.At(second) != rules.BlackRing {
						t.Fatalf("%v: rings on %v and %v are not there\n%s", v, first, second, q.Draw())
					}
				}
			}
		}
	}
}
