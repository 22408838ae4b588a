package desk

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"yinshzero/rules"
)

// A picture is a Position read from its text, in coordinates of its own: it shares no code with what it checks.
type picture struct {
	pieces map[string]byte // of the Variant's board: . W B w b
	mover  byte
	phase  string
	legal  []string
	row    int
}

func pictureOf(p *rules.Position) *picture {
	f := strings.Split(p.String(), "/")
	c := &picture{pieces: map[string]byte{}, mover: f[1][0], phase: f[2], row: p.RowLength()}
	radius := int(p.Variant().Radius)
	i := 0
	for letter := range 11 {
		for number := range 11 {
			x, y := letter-5, number-5
			d := max(x, -x, y, -y, x-y, y-x)
			corner := d > 0 && (x == 0 || y == 0 || x == y)
			full := d < 5 || d == 5 && !corner
			if !full {
				continue
			}
			if d < radius || d == radius && !corner {
				c.pieces[name(letter, number)] = f[0][i]
			}
			i++
		}
	}
	for _, m := range p.AppendMoves(nil) {
		c.legal = append(c.legal, p.Variant().MoveText(m))
	}
	return c
}

func name(letter, number int) string { return fmt.Sprintf("%c%d", 'a'+letter, number+1) }

func place(s string) (letter, number int) {
	fmt.Sscanf(s, "%c%d", &letter, &number)
	return letter - 'a', number - 1
}

// way is the step from a towards b and the number of steps, 0 if they share no line.
func way(a, b string) (dx, dy, n int) {
	ax, ay := place(a)
	bx, by := place(b)
	x, y := bx-ax, by-ay
	if n = max(x, -x, y, -y); n == 0 || x != 0 && y != 0 && x != y {
		return 0, 0, 0
	}
	return x / n, y / n, n
}

// inside lists the points strictly between a and b.
func inside(a, b string) (list []string) {
	dx, dy, n := way(a, b)
	x, y := place(a)
	for i := 1; i < n; i++ {
		list = append(list, name(x+i*dx, y+i*dy))
	}
	return list
}

// rowPoints lists the points of a legal row.
func rowPoints(move string) []string {
	a, b, _ := strings.Cut(move[1:], "-")
	return append(append([]string{a}, inside(a, b)...), b)
}

// fits reports whether a legal Move is meant by a click on at or, with to, by a line from at to it.
func (c *picture) fits(at, to string) bool {
	return slices.ContainsFunc(c.legal, func(m string) bool {
		isRow := c.phase == "row"
		switch {
		case to != "" && isRow:
			return m == "x"+at+"-"+to || m == "x"+to+"-"+at
		case to != "":
			return m == at+"-"+to
		case isRow:
			return slices.Contains(rowPoints(m), at)
		}
		return m == at || m == "x"+at || strings.HasPrefix(m, at+"-")
	})
}

// holds reports whether a cause that was told of is the case. at and to are what was asked, about is what was told of.
func (c *picture) holds(b cause, at, to, about string) bool {
	on := func(s string, kinds string) bool {
		return c.pieces[s] != 0 && strings.IndexByte(kinds, c.pieces[s]) >= 0
	}
	own, other := string(c.mover), map[byte]string{'W': "B", 'B': "W"}[c.mover]
	mid := inside(at, to)
	switch b {
	case gameOver:
		return c.phase == "over" && len(c.legal) == 0
	case offBoard:
		return c.pieces[about] == 0 && (about == at || about == to)
	case fullPoint:
		return c.phase == "place" && to == "" && about == at && on(at, "WBwb")
	case stillPlacing:
		return c.phase == "place" && to != ""
	case mustPass:
		return len(c.legal) == 1 && c.legal[0] == "pass"
	case noRing:
		return c.phase == "move" && about == at && on(at, ".")
	case markerThere:
		return c.phase == "move" && about == at && on(at, "wb")
	case otherRing:
		return c.phase == "move" && about == at && on(at, other)
	case stuckRing:
		return c.phase == "move" && about == at && on(at, own) && !slices.ContainsFunc(c.legal, func(m string) bool { return strings.HasPrefix(m, at+"-") })
	case samePoint:
		return c.phase == "move" && at == to && on(at, own)
	case offLine:
		_, _, n := way(at, to)
		return c.phase == "move" && at != to && n == 0 && on(at, own)
	case ringBetween:
		return c.phase == "move" && on(at, own) && slices.Contains(mid, about) && on(about, "WB")
	case pastLanding: // about is the first empty point behind the first marker on the way
		i := slices.IndexFunc(mid, func(s string) bool { return on(s, "wb") })
		if i < 0 {
			return false
		}
		k := slices.IndexFunc(mid[i:], func(s string) bool { return on(s, ".") })
		return c.phase == "move" && on(at, own) && k >= 0 && mid[i+k] == about && on(to, ".")
	case fullLanding:
		return c.phase == "move" && on(at, own) && about == to && on(to, "WBwb")
	case rowFirst:
		return c.phase == "row" && about == at && on(at, "WB.")
	case otherMarker:
		return c.phase == "row" && about == at && on(at, strings.ToLower(other))
	case notInRow:
		return c.phase == "row" && about == at && on(at, strings.ToLower(own))
	case notRow:
		if c.phase != "row" || to == "" {
			return false
		}
		all := append(append([]string{at}, mid...), to)
		return len(all) != c.row || at == to || slices.ContainsFunc(all, func(s string) bool { return !on(s, strings.ToLower(own)) }) || len(mid) != c.row-2
	case ringFirst:
		return c.phase == "ring" && to == "" && about == at && !on(at, own)
	case ringStays:
		return c.phase == "ring" && to != ""
	}
	return false
}

// visitPositions visits Positions of random games of several Variants, every kind of decision among them.
func visitPositions(t *testing.T, visit func(p *rules.Position)) {
	games := 6
	if testing.Short() {
		games = 2
	}
	for _, text := range []string{"standard", "mini", "3-2-20-4-2", "4-4-35-5-2"} {
		v, err := rules.ParseVariant(text)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range games {
			p := rules.New(v)
			kind := rules.RandomKind(i % 3)
			for {
				rare := p.Phase() != rules.PhasePlaceRing && p.Phase() != rules.PhaseMoveRing || p.IsLegal(rules.Pass)
				if rare || rng.IntN(12) == 0 {
					visit(&p)
				}
				if _, over := p.Result(); over {
					break
				}
				p.Play(rules.RandomMove(&p, kind, rng))
			}
		}
	}
	// A board that is full, where nobody can move.
	v, err := rules.ParseVariant("3-1-40-7-1")
	if err != nil {
		t.Fatal(err)
	}
	empty := rules.New(v)
	board := []byte(strings.Repeat(".", rules.NumPoints))
	for i, pt := range empty.AppendBoard(nil) {
		board[pt] = "WBwbbwwb"[min(i, 2+i%6)]
	}
	full, err := rules.ParsePosition(string(board) + "/W/move/11/0-0/0-0/B/0/3-1-40-7-1")
	if err != nil {
		t.Fatal(err)
	}
	visit(&full)
}

// There is a reason just where no legal Move is meant, it is the case, and its rule has a name. Every cause comes up.
func TestWhy(t *testing.T) {
	seen := [causes]int{}
	visitPositions(t, func(p *rules.Position) {
		c := pictureOf(p)
		check := func(at, to string, b ban) {
			seen[b.cause]++
			switch text := b.reason(p); {
			case (b.cause == allowed) != c.fits(at, to), (b.cause == allowed) != (text == ""):
				t.Fatalf("%v: from %s to %q: got %q: legal are %s", p, at, to, text, c.legal)
			case b.cause != allowed && !c.holds(b.cause, at, to, b.at.String()):
				t.Fatalf("%v: from %s to %q: got %q, which is not the case", p, at, to, text)
			case b.cause != allowed && !slices.Contains(Rules(), b.rule()):
				t.Fatalf("%q has the rule %q", text, b.rule())
			}
		}
		for at := range rules.Point(rules.NumPoints) {
			check(at.String(), "", click(p, at))
			for to := range rules.Point(rules.NumPoints) {
				check(at.String(), to.String(), drag(p, at, to))
			}
		}
		for m := range rules.Move(rules.NumMoves) {
			b := forbidden(p, m)
			seen[b.cause]++
			if legal := slices.Contains(c.legal, p.Variant().MoveText(m)); legal != (b.cause == allowed) || !legal && b.rule() == "" {
				t.Fatalf("%v: %v: got %q, legal: %v", p, m, b.reason(p), legal)
			}
		}
	})
	for c, n := range seen {
		if n == 0 {
			t.Errorf("cause %d has not come up", c)
		}
	}
}
