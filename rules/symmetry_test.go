package rules_test

import (
	"slices"
	"testing"

	"yinshzero/rules"
)

// onBoard reports whether m can stand in some Position with Rows of the given length.
func onBoard(m rules.Move, length int) bool {
	if m.Kind() != rules.RemoveRow {
		return true
	}
	_, ok := m.Row().Last(length)
	return ok
}

// compose is the Symmetry that does t and then s.
func compose(s, t rules.Symmetry) (rules.Symmetry, bool) {
	for u := range rules.Symmetry(rules.NumSymmetries) {
		same := true
		for p := range rules.Point(rules.NumPoints) {
			same = same && u.Point(p) == s.Point(t.Point(p))
		}
		if same {
			return u, true
		}
	}
	return 0, false
}

func TestSymmetryGroup(t *testing.T) {
	for s := range rules.Symmetry(rules.NumSymmetries) {
		seen := map[rules.Point]bool{}
		for p := range rules.Point(rules.NumPoints) {
			seen[s.Point(p)] = true
			if s == 0 && s.Point(p) != p {
				t.Errorf("the zero symmetry moves %v to %v", p, s.Point(p))
			}
		}
		if len(seen) != rules.NumPoints {
			t.Errorf("symmetry %d has %d images", s, len(seen))
		}
		if u, ok := compose(s, s.Inverse()); !ok || u != 0 {
			t.Errorf("symmetry %d and its inverse %d are %d", s, s.Inverse(), u)
		}
		products := map[rules.Symmetry]bool{}
		for r := range rules.Symmetry(rules.NumSymmetries) {
			u, ok := compose(s, r)
			if !ok {
				t.Fatalf("%d after %d is no symmetry", s, r)
			}
			products[u] = true
		}
		if len(products) != rules.NumSymmetries {
			t.Errorf("symmetry %d has %d products", s, len(products))
		}
	}
}

// Moves are mapped one to one, inverses undo and products compose, for Rows of every length.
func TestSymmetryOfMoves(t *testing.T) {
	var products [rules.NumSymmetries][rules.NumSymmetries]rules.Symmetry // by first, then second
	for s := range products {
		for r := range products[s] {
			products[s][r], _ = compose(rules.Symmetry(r), rules.Symmetry(s))
		}
	}
	for length := 3; length <= 7; length++ {
		for s := range rules.Symmetry(rules.NumSymmetries) {
			seen := map[rules.Move]bool{}
			for m := range rules.Move(rules.NumMoves) {
				if !onBoard(m, length) {
					continue
				}
				image := s.Move(m, length)
				seen[image] = true
				if !onBoard(image, length) || image.Kind() != m.Kind() {
					t.Fatalf("length %d: symmetry %d maps %v to %v", length, s, m, image)
				}
				if back := s.Inverse().Move(image, length); back != m {
					t.Fatalf("length %d: symmetry %d maps %v to %v and back to %v", length, s, m, image, back)
				}
				switch m.Kind() {
				case rules.RemoveRow:
					var points, images []rules.Point
					for _, p := range m.Row().AppendPoints(nil, length) {
						points = append(points, s.Point(p))
					}
					images = s.Row(m.Row(), length).AppendPoints(nil, length)
					slices.Sort(points)
					slices.Sort(images)
					if !slices.Equal(points, images) {
						t.Fatalf("length %d: symmetry %d maps the row %v to %v: want %v", length, s, m, images, points)
					}
				case rules.MoveRing:
					if image.From() != s.Point(m.From()) || image.To() != s.Point(m.To()) {
						t.Fatalf("symmetry %d maps %v to %v", s, m, image)
					}
				}
				for r, u := range products[s] {
					if r := rules.Symmetry(r); r.Move(image, length) != u.Move(m, length) {
						t.Fatalf("length %d: %d after %d maps %v to %v, %d to %v",
							length, r, s, m, r.Move(image, length), u, u.Move(m, length))
					}
				}
			}
			want := 0
			for m := range rules.Move(rules.NumMoves) {
				if onBoard(m, length) {
					want++
				}
			}
			if len(seen) != want {
				t.Errorf("length %d: symmetry %d has %d images of %d moves", length, s, len(seen), want)
			}
		}
	}
}
