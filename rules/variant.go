package rules

import (
	"errors"
	"fmt"
)

// A Variant is what differs between rule sets: plain numbers, compared by field, never by name.
// A smaller board is a part of the full one: the same Points and Moves, fewer of them in play.
type Variant struct {
	Name       string // for people
	Radius     int8   // of the board, corners cut: 3 to 5
	Rings      int8   // a side: 1 to 5
	Markers    int8   // in the shared pool: 1 to 99
	RowLength  int8   // markers in a Row: 3 to 7
	RingsToWin int8   // rings taken that win: 1 to Rings
}

// Standard is the game of the official rules.
func Standard() Variant { return Variant{"standard", 5, 5, 51, 5, 3} }

// Blitz is the short game of the official rules: the first ring taken wins.
func Blitz() Variant { return Variant{"blitz", 5, 5, 51, 5, 1} }

// Mini is a small game for research and tests: 31 Points, three rings a side, rows of four, one ring wins.
func Mini() Variant { return Variant{"mini", 3, 3, 21, 4, 1} }

// Variants lists the Variants that have names.
func Variants() []Variant { return []Variant{Standard(), Blitz(), Mini()} }

// VariantNamed returns the Variant with the given name.
func VariantNamed(name string) (Variant, error) {
	for _, v := range Variants() {
		if v.Name == name {
			return v, nil
		}
	}
	return Variant{}, fmt.Errorf("unknown variant %q: want standard, blitz or mini", name)
}

// Same reports whether two Variants have the same numbers.
func (v Variant) Same(w Variant) bool {
	v.Name = w.Name
	return v == w
}

// Validate returns every number of v that is out of range.
func (v Variant) Validate() error {
	var errs []error
	check := func(name string, got int8, lo, hi int8) {
		if got < lo || got > hi {
			errs = append(errs, fmt.Errorf("%s is %d: want %d to %d", name, got, lo, hi))
		}
	}
	check("radius", v.Radius, 3, MaxRadius)
	check("rings", v.Rings, 1, 5)
	check("markers", v.Markers, 1, 99)
	check("row length", v.RowLength, 3, 7)
	check("rings to win", v.RingsToWin, 1, max(1, v.Rings))
	return errors.Join(errs...)
}

// MaxPlies bounds the number of Moves in a game of v. A ring move spends a marker of the pool; a Row gives RowLength
// back and costs its owner a ring, and each side takes at most RingsToWin − 1 before the one that ends the game. A pass
// is followed by a ring move or the end.
func (v Variant) MaxPlies() int {
	rows := 2*(int(v.RingsToWin)-1) + 1
	moves := int(v.Markers) + int(v.RowLength)*(rows-1)
	return 2*int(v.Rings) + 2*rows + 2*moves + 2
}
