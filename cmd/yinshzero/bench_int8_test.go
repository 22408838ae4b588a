package main

import (
	"path/filepath"
	"slices"
	"testing"

	"yinshzero/internal/seed"
	"yinshzero/net"
	"yinshzero/rules"
)

// TestInt8Player: a model with ,int8 plays, and one whose file has no such name is named in the error without it.
func TestInt8Player(t *testing.T) {
	t.Setenv("YINSHZERO_ISA", "generic")
	rng := seed.New(1).Rand()
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := net.Init(net.Arch{Channels: 32, Blocks: 1}, rng).Save(path); err != nil {
		t.Fatal(err)
	}
	v := rules.Mini()
	makePlayer, err := player(t.Context(), "model:"+path+",int8@2", "", v)
	if err != nil {
		t.Fatal(err)
	}
	p, err := makePlayer()
	if err != nil {
		t.Fatal(err)
	}
	pos := rules.New(v)
	m, err := p.Move(t.Context(), pos, rng)
	if err != nil || !slices.Contains(pos.AppendMoves(nil), m) {
		t.Errorf("plays %v, %v", m, err)
	}
	t.Setenv("YINSHZERO_ISA", "avx2")
	if _, err := player(t.Context(), "model:"+path+",int8", "", v); err == nil {
		t.Error("plays without the instructions")
	}
}
