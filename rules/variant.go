package rules

import (
	"errors"
	"fmt"
	"strings"
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

// unnamed is the Name of a Variant that is none of the known ones.
const unnamed = "custom"

// Standard is the game of the official rules.
func Standard() Variant { return Variant{"standard", 5, 5, 51, 5, 3} }

// Blitz is the short game of the official rules: the first ring taken wins.
func Blitz() Variant { return Variant{"blitz", 5, 5, 51, 5, 1} }

// Mini is a small game for research and tests: 31 Points, three rings a side, rows of four, one ring wins.
func Mini() Variant { return Variant{"mini", 3, 3, 21, 4, 1} }

// Variants lists the Variants that have names.
func Variants() []Variant { return []Variant{Standard(), Blitz(), Mini()} }

// String is the text of v: the name of the known Variant with the same numbers, else its numbers, such as 4-4-35-5-2:
// radius, rings, markers, row length, rings to win.
func (v Variant) String() string {
	if w := v.named(); w.Name != unnamed {
		return w.Name
	}
	return fmt.Sprintf("%d-%d-%d-%d-%d", v.Radius, v.Rings, v.Markers, v.RowLength, v.RingsToWin)
}

// ParseVariant reads a Variant as String writes it and checks its numbers. One without a name is called "custom".
func ParseVariant(s string) (Variant, error) {
	for _, v := range Variants() {
		if v.Name == s {
			return v, nil
		}
	}
	v := Variant{Name: unnamed}
	numbers := []*int8{&v.Radius, &v.Rings, &v.Markers, &v.RowLength, &v.RingsToWin}
	fields := strings.Split(s, "-")
	if len(s) > 20 || len(fields) != len(numbers) {
		return Variant{}, fmt.Errorf("variant %q: want standard, blitz, mini or five numbers "+
			"radius-rings-markers-row-win, such as 4-4-35-5-2", abridge(s))
	}
	for i, f := range fields {
		var err error
		if *numbers[i], err = parseCount("number", f, 99); err != nil {
			return Variant{}, fmt.Errorf("variant %q: %w", s, err)
		}
	}
	if err := v.Validate(); err != nil {
		return Variant{}, fmt.Errorf("variant %q: %w", s, err)
	}
	return v.named(), nil
}

// named is v with the name of the known Variant that has the same numbers, or unnamed.
func (v Variant) named() Variant {
	v.Name = unnamed
	for _, w := range Variants() {
		if v.Same(w) {
			return w
		}
	}
	return v
}

// Same reports whether two Variants have the same numbers.
func (v Variant) Same(w Variant) bool {
	v.Name = w.Name
	return v == w
}

// Validate returns every number of v that is out of range, on one line.
func (v Variant) Validate() error {
	var faults []string
	check := func(name string, got int8, lo, hi int8) {
		if got < lo || got > hi {
			faults = append(faults, fmt.Sprintf("%s is %d: want %d to %d", name, got, lo, hi))
		}
	}
	check("radius", v.Radius, 3, MaxRadius)
	check("rings", v.Rings, 1, 5)
	check("markers", v.Markers, 1, 99)
	check("row length", v.RowLength, 3, 7)
	check("rings to win", v.RingsToWin, 1, max(1, v.Rings))
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "; "))
	}
	return nil
}

// MaxPlies bounds the number of Moves in a game of v. A ring move spends a marker of the pool; a Row gives RowLength
// back and costs its owner a ring, and each side takes at most RingsToWin − 1 before the one that ends the game. A pass
// is followed by a ring move or the end.
func (v Variant) MaxPlies() int {
	rows := 2*(int(v.RingsToWin)-1) + 1
	moves := int(v.Markers) + int(v.RowLength)*(rows-1)
	return 2*int(v.Rings) + 2*rows + 2*moves + 2
}
