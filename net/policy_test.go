package net

import (
	"testing"

	"yinshzero/rules"
)

// TestPolicyIndex: every Move has a place of its own, on a Point.
func TestPolicyIndex(t *testing.T) {
	seen := map[[2]int]rules.Move{}
	for m := range rules.Move(rules.NumMoves) {
		plane, cell := PolicyIndex(m)
		if plane < 0 || plane >= planesInUse || planesInUse > PolicyPlanes {
			t.Fatalf("%v: plane %d", m, plane)
		}
		if _, ok := rules.PointAt(cell/rules.GridSize, cell%rules.GridSize+1); !ok {
			t.Errorf("%v: cell %d is no point", m, cell)
		}
		if other, ok := seen[[2]int{plane, cell}]; ok {
			t.Errorf("%v and %v share plane %d, cell %d", m, other, plane, cell)
		}
		seen[[2]int{plane, cell}] = m
	}
}

// TestPolicyIndexGolden pins places: they give the weights their meaning.
func TestPolicyIndexGolden(t *testing.T) {
	for _, test := range []struct {
		move        string
		plane, cell int
	}{
		{"a2", 0, 1}, {"k10", 0, 119}, {"xf6", 1, 60},
		{"f6-f7", 2, 60}, {"f6-f10", 5, 60}, {"f6-f5", 11, 60}, {"f6-g6", 20, 60}, {"f6-e6", 29, 60},
		{"f6-g7", 38, 60}, {"b2-j10", 45, 12}, {"f6-e5", 47, 60}, {"j10-b2", 54, 108},
		{"xf6-f10", 56, 60}, {"xf6-j6", 57, 60}, {"xf6-j10", 58, 60}, {"pass", 59, 60},
	} {
		m, err := rules.Standard().ParseMove(test.move)
		if err != nil {
			t.Fatal(err)
		}
		if plane, cell := PolicyIndex(m); plane != test.plane || cell != test.cell {
			t.Errorf("%s: plane %d, cell %d, want %d, %d", test.move, plane, cell, test.plane, test.cell)
		}
	}
}

// TestPolicyIndexSymmetry: a symmetry moves the cell as it moves the Point, and gives each direction one image, whatever
// the Point and the distance.
func TestPolicyIndexSymmetry(t *testing.T) {
	for s := range rules.Symmetry(rules.NumSymmetries) {
		image := map[int]int{}
		for m := range rules.Move(rules.NumMoves) {
			if m.Kind() != rules.MoveRing {
				continue
			}
			plane, cell := PolicyIndex(m)
			plane2, cell2 := PolicyIndex(s.Move(m, 5))
			from, _ := rules.PointAt(cell/rules.GridSize, cell%rules.GridSize+1)
			if s.Point(from).Grid() != cell2 {
				t.Fatalf("symmetry %d: cell of %v", s, m)
			}
			d, d2 := plane-movePlane, plane2-movePlane
			if d%distances != d2%distances {
				t.Fatalf("symmetry %d: distance of %v", s, m)
			}
			if want, ok := image[d/distances]; ok && want != d2/distances {
				t.Fatalf("symmetry %d: direction of %v", s, m)
			}
			image[d/distances] = d2 / distances
		}
		if len(image) != 6 {
			t.Errorf("symmetry %d: %d directions", s, len(image))
		}
	}
}
