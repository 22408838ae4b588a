package net

import (
	"strings"
	"testing"
)

func TestParseArch(t *testing.T) {
	for _, test := range []struct {
		in   string
		want Arch
		err  string // part of the error, "" if none
	}{
		{"32x4", Arch{32, 4, false}, ""},
		{"64x6p", Arch{64, 6, true}, ""},
		{"512x40", Arch{512, 40, false}, ""},
		{"", Arch{}, "no arch"},
		{"32", Arch{}, "no arch"},
		{"32x4q", Arch{}, "no arch"},
		{"+32x4", Arch{}, "no arch"},
		{"32x4p ", Arch{}, "no arch"},
		{"99999999999999999999x4", Arch{}, "no arch"},
		{"33x4", Arch{}, "multiple of 32"},
		{"0x4", Arch{}, "multiple of 32"},
		{"544x4", Arch{}, "multiple of 32 up to 512"},
		{"32x0", Arch{}, "0 blocks"},
		{"32x41", Arch{}, "41 blocks"},
	} {
		got, err := ParseArch(test.in)
		if test.err == "" {
			if err != nil || got != test.want || got.String() != test.in {
				t.Errorf("%q: got %v, %v", test.in, got, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), test.err) {
			t.Errorf("%q: error %v, want one with %q", test.in, err, test.err)
		}
	}
}

func TestSpecs(t *testing.T) {
	names := map[string]bool{}
	for _, s := range (Arch{64, 6, true}).Specs() {
		if names[s.Name] {
			t.Errorf("%s comes twice", s.Name)
		}
		names[s.Name] = true
	}
	// Two tensors a head, four of the input, six a block and three poolings.
	if want := 4*2 + 4 + 6*6 + 3; len(names) != want {
		t.Errorf("%d tensors, want %d", len(names), want)
	}
	for i, want := range []bool{false, true, false, true, false, true} {
		if got := names[Block(i)+PoolFC]; got != want {
			t.Errorf("block %d pools: %v, want %v", i, got, want)
		}
	}
}
