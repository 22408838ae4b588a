package pipeline

import (
	"sync"
	"testing"

	"yinshzero/data"
	"yinshzero/fleet"
	"yinshzero/infer"
)

// TestPrograms: the seats of a process compile a model once between them, for floats and for 8-bit integers apart, and keep
// only the newest models.
func TestPrograms(t *testing.T) {
	r := open(t, quiet(t))
	defer closeRun(t, r)
	w, err := r.hub.Join(t.Context(), fleet.WorkerParams{Name: "w"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	c := &crew{worker: w}
	id := w.Best()
	var seats sync.WaitGroup
	for range 3 {
		seats.Go(func() {
			for range 3 {
				if _, err := c.program(t.Context(), id, infer.Params{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	seats.Wait()
	if len(c.programs) != 1 {
		t.Errorf("%d programs of one model", len(c.programs))
	}
	first := c.programs[0].program
	if p, err := c.program(t.Context(), id, infer.Params{}); err != nil || p == first {
		t.Errorf("the program that is kept is given away: %v", err)
	}
	if _, err := c.program(t.Context(), id, infer.Params{Int8: true}); err != nil || len(c.programs) != 2 {
		t.Errorf("%d programs in floats and 8 bits: %v", len(c.programs), err)
	}
	for i := range byte(keptPrograms) {
		c.programs[0].id[0], c.programs[len(c.programs)-1].id[0] = i, i // as if of other models
		if _, err := c.program(t.Context(), id, infer.Params{}); err != nil {
			t.Fatal(err)
		}
		if len(c.programs) > keptPrograms {
			t.Fatalf("%d programs are kept", len(c.programs))
		}
	}
	if _, err := c.program(t.Context(), data.ModelID{1}, infer.Params{}); err == nil {
		t.Error("a program of no model")
	}
}
