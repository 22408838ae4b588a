package mcts

import (
	"testing"

	"yinshzero/rules"
)

// Visits are those of the root's edges, sum up as N does, and end where the tree does.
func TestVisits(t *testing.T) {
	s := New(Uniform{}, DefaultParams())
	if s.Visits() != 0 {
		t.Error("an empty tree has visits")
	}
	pos := rules.New(rules.Mini())
	root, err := s.Search(t.Context(), pos, Budget{Simulations: 200}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sum := int32(1)
	for _, e := range root.Edges {
		if got := s.Visits(e.Move); got != e.Visits {
			t.Errorf("%v: %d visits, want %d", e.Move, got, e.Visits)
		}
		sum += e.Visits
	}
	if got := s.Visits(); got != sum {
		t.Errorf("the root has %d visits, want %d", got, sum)
	}
	line, before := s.AppendLine(nil), s.Visits()
	for i := range line {
		n := s.Visits(line[:i+1]...)
		if n < 1 || n > before {
			t.Errorf("%v: %d visits after %d", line[:i+1], n, before)
		}
		before = n
	}
	if got := s.Visits(rules.Pass); got != 0 {
		t.Errorf("a Move that is none has %d visits", got)
	}
}
