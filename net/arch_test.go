package net

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestParseArch(t *testing.T) {
	for _, test := range []struct {
		in   string
		want Arch
		err  string // part of the error, "" if none
	}{
		{"32x4", Arch{Channels: 32, Blocks: 4}, ""},
		{"64x6p", Arch{Channels: 64, Blocks: 6, Pooling: true}, ""},
		{"512x40", Arch{Channels: 512, Blocks: 40}, ""},
		{"32x4p-rings", Arch{Channels: 32, Blocks: 4, Pooling: true, Without: Rings}, ""},
		{"32x4-reply-plies", Arch{Channels: 32, Blocks: 4, Without: Reply | Plies}, ""},
		{"96x8p-rings-reply-ownership-plies", Arch{Channels: 96, Blocks: 8, Pooling: true, Without: Rings | Reply | Ownership | Plies}, ""},
		{"32x4-", Arch{}, "no arch"},
		{"32x4-Rings", Arch{}, "no arch"},
		{"32x4--rings", Arch{}, "no arch"},
		{"32x4-policy", Arch{}, `no "policy" here`},
		{"32x4-plies-rings", Arch{}, `no "rings" here: the heads to leave out are rings, reply, ownership, plies, each once and in this order`},
		{"32x4-rings-rings", Arch{}, `no "rings" here`},
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

// TestWithout: an Arch made of numbers that are no set of heads is refused.
func TestWithout(t *testing.T) {
	if err := (Arch{Channels: 32, Blocks: 1, Without: 16}).Validate(); err == nil || !strings.Contains(err.Error(), "without heads 0x10") {
		t.Errorf("got error %v", err)
	}
}

// everyArch is a small Arch without each set of heads.
func everyArch() (all []Arch) {
	for h := range Heads(1 << len(headNames)) {
		all = append(all, Arch{Channels: 32, Blocks: 2, Pooling: true, Without: h})
	}
	return all
}

// TestHeads: what is left out has no tensors, all else has the same.
func TestHeads(t *testing.T) {
	for _, a := range everyArch() {
		if b, err := ParseArch(a.String()); err != nil || b != a {
			t.Errorf("%v: read back as %v, %v", a, b, err)
		}
		want := Arch{Channels: 32, Blocks: 2, Pooling: true}.Specs()
		for i, name := range headNames {
			if !a.Has(1 << i) {
				want = slices.DeleteFunc(want, func(s Spec) bool { return strings.HasPrefix(s.Name, name+".") })
			}
		}
		if got := a.Specs(); !reflect.DeepEqual(got, want) {
			t.Errorf("%v: tensors %v, want %v", a, got, want)
		}
	}
}

func TestSpecs(t *testing.T) {
	names := map[string]bool{}
	for _, s := range (Arch{Channels: 64, Blocks: 6, Pooling: true}).Specs() {
		if names[s.Name] {
			t.Errorf("%s comes twice", s.Name)
		}
		names[s.Name] = true
	}
	// Two tensors a head and of the value's dense layer, four of the input, six a block and three poolings.
	if want := 7*2 + 4 + 6*6 + 3; len(names) != want {
		t.Errorf("%d tensors, want %d", len(names), want)
	}
	for i, want := range []bool{false, true, false, true, false, true} {
		if got := names[Block(i)+PoolFC]; got != want {
			t.Errorf("block %d pools: %v, want %v", i, got, want)
		}
	}
}
