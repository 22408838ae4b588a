package rules

import (
	"math/rand/v2"
	"testing"
)

// Games that were kept are known by the hash of their last Position, so that it must never change.
func TestHashIsForGood(t *testing.T) {
	for _, test := range []struct {
		v                 Variant
		start, tenth, end uint64
	}{
		{Standard(), 0xe29fbac0c9e51234, 0x905c2ccc78f78792, 0x123c44c8fff8e7cc},
		{Blitz(), 0xf61fbb50a2fd29dc, 0x84dc2d5c13efbc7a, 0x4a99869b64f87474},
		{Mini(), 0xab0ffc9464f8377, 0x709c6be05db139c3, 0xb8ffbbc777f98920},
	} {
		p := New(test.v)
		if got := p.Hash(); got != test.start {
			t.Errorf("%v: the start's hash is %#x, want %#x", test.v, got, test.start)
		}
		for i, m := range RandomGame(test.v, Rows, rand.New(rand.NewPCG(1, 1))).Moves {
			if p.Play(m); i == 9 && p.Hash() != test.tenth {
				t.Errorf("%v: after ten Moves the hash is %#x, want %#x", test.v, p.Hash(), test.tenth)
			}
		}
		if got := p.Hash(); got != test.end {
			t.Errorf("%v: at the end the hash is %#x, want %#x", test.v, got, test.end)
		}
	}
}

// Whatever Positions differ by, their hashes do: each field by itself, to each of its values, and each Point to each of
// its pieces.
func TestHashOfEveryField(t *testing.T) {
	for _, v := range Variants() {
		p := New(v)
		for ply, m := range RandomGame(v, Rows, rand.New(rand.NewPCG(2, 2))).Moves {
			p.Play(m)
			seen := map[uint64]string{p.Hash(): "as it is"}
			check := func(what string, q Position) {
				if q == p {
					return
				}
				if other, ok := seen[q.Hash()]; ok {
					t.Fatalf("%v, ply %d: %s and %s have one hash", v, ply, what, other)
				}
				seen[q.Hash()] = what
			}
			for n := range int8(100) {
				for _, field := range []struct {
					name string
					top  int8
					of   func(*Position) *int8
				}{
					{"radius", MaxRadius, func(q *Position) *int8 { return &q.radius }},
					{"rings", 5, func(q *Position) *int8 { return &q.ringsEach }},
					{"markers", 99, func(q *Position) *int8 { return &q.markersAll }},
					{"row length", maxRow, func(q *Position) *int8 { return &q.rowLength }},
					{"rings to win", 5, func(q *Position) *int8 { return &q.ringsToWin }},
					{"pool", 99, func(q *Position) *int8 { return &q.pool }},
					{"White's taken", 5, func(q *Position) *int8 { return &q.taken[White] }},
					{"Black's taken", 5, func(q *Position) *int8 { return &q.taken[Black] }},
					{"White's hand", 5, func(q *Position) *int8 { return &q.hand[White] }},
					{"Black's hand", 5, func(q *Position) *int8 { return &q.hand[Black] }},
					{"passes", 2, func(q *Position) *int8 { return &q.passes }},
				} {
					if q := p; n <= field.top {
						*field.of(&q) = n
						check(field.name, q)
					}
				}
			}
			for phase := range PhaseOver + 1 {
				q := p
				q.phase = phase
				check("phase", q)
			}
			for c := range Black + 1 {
				q, r := p, p
				q.toMove, r.last = c, c
				check("side", q)
				check("last", r)
			}
			for outcome := range Draw + 1 {
				for reason := range Blocked + 1 {
					q := p
					q.result = Result{outcome, reason}
					check("result", q)
				}
			}
			for b := boards[MaxRadius]; !b.empty(); {
				i := bit(b.next())
				for kind := range 5 {
					q := p
					for c := range 2 {
						q.rings[c], q.markers[c] = q.rings[c].andNot(i), q.markers[c].andNot(i)
					}
					switch kind {
					case 1, 2:
						q.rings[kind-1] = q.rings[kind-1].or(i)
					case 3, 4:
						q.markers[kind-3] = q.markers[kind-3].or(i)
					}
					check("board", q)
				}
			}
		}
	}
}
