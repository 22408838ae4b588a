package net

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"yinshzero/rules"
)

var update = flag.Bool("update", false, "write the golden files anew")

var planeNames = [NumPlanes]string{"own rings", "other rings", "own markers", "other markers", "board", "own rows", "other rows"}

// TestPlanesGolden pins the encoder: planes by the Points where they are 1, then the globals.
func TestPlanesGolden(t *testing.T) {
	const file = "testdata/planes.golden"
	var got bytes.Buffer
	seen := map[string]bool{} // one of each phase and Variant
	for _, pos := range positions(rand.New(rand.NewPCG(7, 7)), 300) {
		kind := pos.Phase().String() + pos.Variant().Name
		if seen[kind] {
			continue
		}
		seen[kind] = true
		fmt.Fprintf(&got, "%v\n", &pos)
		x := AppendPlanes(nil, &pos)
		for plane, name := range planeNames {
			fmt.Fprintf(&got, "  %s:", name)
			for pt := range rules.Point(rules.NumPoints) {
				switch v := x[plane*Cells+pt.Grid()]; v {
				case 0:
				case 1:
					fmt.Fprintf(&got, " %v", pt)
				default:
					fmt.Fprintf(&got, " %v=%v", pt, v)
				}
			}
			got.WriteByte('\n')
		}
		fmt.Fprintf(&got, "  globals: %.4v\n", x[NumPlanes*Cells:])
	}
	if want := numPhases * len(rules.Variants()); len(seen) != want {
		t.Errorf("%d phases of Variants, want %d: %v", len(seen), want, seen)
	}
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the encoder has changed: raise EncoderVersion and run with -update\ngot:\n%s", got.Bytes())
	}
}

// TestPlanesLaws: for Positions of random games, numbers are in [−1, 1], zero off the board; symmetries carry over;
// exchanging the colours changes nothing; what was in dst stays.
func TestPlanesLaws(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, pos := range positions(rng, 300) {
		x := AppendPlanes([]float32{42}, &pos)
		if len(x) != 1+PlaneLen || x[0] != 42 {
			t.Fatalf("%v: %d numbers behind %v", &pos, len(x)-1, x[0])
		}
		x = x[1:]
		for i, v := range x {
			if v < -1 || v > 1 {
				t.Fatalf("%v: number %d is %v", &pos, i, v)
			}
			if cell := i % Cells; i < NumPlanes*Cells && v != 0 && x[PlaneBoard*Cells+cell] == 0 {
				t.Fatalf("%v: plane %d is %v off the board", &pos, i/Cells, v)
			}
		}
		s := rules.Symmetry(rng.IntN(rules.NumSymmetries))
		turned := s.Position(pos)
		dirty := slices.Repeat([]float32{7}, PlaneLen)
		y := AppendPlanes(dirty[:0], &turned)
		for pt := range rules.Point(rules.NumPoints) {
			for plane := range NumPlanes {
				if x[plane*Cells+pt.Grid()] != y[plane*Cells+s.Point(pt).Grid()] {
					t.Fatalf("%v: plane %d of the image under %d differs at %v", &pos, plane, s, pt)
				}
			}
		}
		if !slices.Equal(x[NumPlanes*Cells:], y[NumPlanes*Cells:]) {
			t.Fatalf("%v: globals of the image under %d differ", &pos, s)
		}
		if pos.Phase() != rules.PhasePlaceRing { // White begins: no such Position has its colours exchanged
			swapped := swap(t, pos)
			if z := AppendPlanes(nil, &swapped); !slices.Equal(x, z) {
				t.Fatalf("%v: with the colours exchanged the planes differ", &pos)
			}
		}
	}
}

// swap exchanges the colours in a Position's text.
func swap(t *testing.T, pos rules.Position) rules.Position {
	t.Helper()
	f := strings.Split(pos.String(), "/")
	colours := strings.NewReplacer("W", "B", "B", "W", "w", "b", "b", "w")
	f[0], f[1], f[6] = colours.Replace(f[0]), colours.Replace(f[1]), colours.Replace(f[6])
	white, black, _ := strings.Cut(f[4], "-")
	f[4] = black + "-" + white
	p, err := rules.ParsePosition(strings.Join(f, "/"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
