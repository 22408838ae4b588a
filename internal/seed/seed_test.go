package seed

import (
	"fmt"
	"testing"
)

// TestGolden pins the streams: records name a game by its seed, so they must not change from version to version.
func TestGolden(t *testing.T) {
	s := New(1)
	game := s.Child("game", 17)
	tests := []struct {
		name string
		in   Seed
		want string
	}{
		{"root", s, "93cdf40105ea5e6f b70d0e43cf717fe9 eed4a0f46d8434c0 562"},
		{"child", game, "71b51a948632c6f8 4e3af917ca1b865e 9709e4ac47976e6d 275"},
		{"grandchild", game.Child("noise", 0), "5d24c484d8e40156 b9582f5f05d571d1 a7652e2d57a23ed1 947"},
	}
	for _, test := range tests {
		r := test.in.Rand()
		got := fmt.Sprintf("%016x %016x %016x %d", test.in.Uint64(), r.Uint64(), r.Uint64(), r.IntN(1000))
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// TestChildrenDiffer checks that label, number and parent each decide the child.
func TestChildrenDiffer(t *testing.T) {
	seen := map[Seed]string{}
	for _, root := range []uint64{0, 1, 1 << 63} {
		for _, label := range []string{"", "a", "game", "games"} {
			for n := range uint64(300) {
				name := fmt.Sprintf("New(%d).Child(%q, %d)", root, label, n)
				c := New(root).Child(label, n)
				if other, ok := seen[c]; ok {
					t.Fatalf("%s equals %s", name, other)
				}
				seen[c] = name
			}
		}
	}
}

// TestRandRestarts checks that Rand always begins at the start of the stream.
func TestRandRestarts(t *testing.T) {
	s := New(7)
	a, b := s.Rand(), s.Rand()
	for range 100 {
		if x, y := a.Uint64(), b.Uint64(); x != y {
			t.Fatalf("got %x, want %x", y, x)
		}
	}
}
