package engine

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"yinshzero/rules"
)

// A model is loaded once for a Variant, whoever asks; again when its name stands for another, when it has been pushed out, and
// when it could not be loaded.
func TestRemember(t *testing.T) {
	best := "a"
	var loads atomic.Int32
	load := Remember(2, func(name string) (string, error) {
		switch name {
		case "best":
			return best, nil
		case "none":
			return "", errors.New("there is none")
		}
		return name, nil
	}, func(name string, v rules.Variant) (Model, error) {
		if n := loads.Add(1); name == "panic" && n == 7 {
			panic("a fault of ours")
		}
		if name == "bad" {
			return Model{}, errors.New("it is bad")
		}
		return Model{Name: name + " " + v.String()}, nil
	})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if m, err := load("best", rules.Mini()); err != nil || m.Name != "a mini" {
				t.Errorf("got %v, %v", m, err)
			}
		})
	}
	all.Wait()
	for i, c := range []struct {
		name  string
		v     rules.Variant
		want  string
		loads int32
	}{
		{"a", rules.Mini(), "a mini", 1},
		{"best", rules.Blitz(), "a blitz", 2},
		{"a", rules.Mini(), "a mini", 2},
		{"b", rules.Mini(), "b mini", 3}, // pushes a blitz out
		{"a", rules.Mini(), "a mini", 3},
		{"a", rules.Blitz(), "a blitz", 4},
		{"bad", rules.Mini(), "", 5},
		{"bad", rules.Mini(), "", 6},
		{"none", rules.Mini(), "", 6},
	} {
		m, err := load(c.name, c.v)
		if m.Name != c.want || (err == nil) != (c.want != "") || loads.Load() != c.loads {
			t.Errorf("%d: got %v, %v after %d loads, want %+v", i, m, err, loads.Load(), c)
		}
	}
	func() {
		defer func() { _ = recover() }()
		load("panic", rules.Mini())
	}()
	if m, err := load("panic", rules.Mini()); err != nil || m.Name != "panic mini" {
		t.Errorf("after a panic: got %v, %v", m, err)
	}
	best = "b"
	if m, err := load("best", rules.Mini()); err != nil || m.Name != "b mini" {
		t.Errorf("got %v, %v", m, err)
	}
}
