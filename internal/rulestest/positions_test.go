package rulestest

import (
	"testing"

	"yinshzero/rules"
)

// A drawn Position is read back from its own drawing.
func TestDrawing(t *testing.T) {
	for _, v := range rules.Variants() {
		Walk(v, 6, 1, func(game int, p rules.Position) {
			if p.Phase() == rules.PhaseOver {
				return
			}
			picture := p.Draw()
			got, err := Drawing{
				Variant: v, Picture: picture[:lastLine(picture)], ToMove: p.ToMove(), Phase: p.Phase(),
				Gift: p.ToMove() != p.LastMover(), Passes: p.Passes(),
			}.Position()
			if err != nil || got != p {
				t.Fatalf("%s\ngot %v, %v: want %v", picture, got.String(), err, p.String())
			}
		})
	}
}

// lastLine is where the last line of s starts.
func lastLine(s string) int {
	n := 0
	for i := range len(s) - 1 {
		if s[i] == '\n' {
			n = i
		}
	}
	return n
}

func TestDrawingRejects(t *testing.T) {
	for _, d := range []Drawing{
		{Picture: ". . .\n"},
		{Pieces: "Wz9"},
		{Pieces: "Wa2-z9"},
		{Pieces: "Xa2"},
		{Phase: rules.PhaseMoveRing}, // all rings taken on both sides
	} {
		if p, err := d.Position(); err == nil {
			t.Errorf("%+v: got %v: want an error", d, p.String())
		}
	}
}
