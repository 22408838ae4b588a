package graph

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"yinshzero/internal/crash"
	"yinshzero/net"
	"yinshzero/rules"
)

// TestPanic lets an operation panic, which runs in Gorgonia's goroutine, and a replica, which runs in one of the Graph's. Both
// come back as an error with the stack, and the next gradients are those of a Graph to which nothing has happened.
func TestPanic(t *testing.T) {
	rng := newRand(9)
	w := randomWeights(t, "32x2p", rng)
	es := examples(rng, 70, rules.Standard(), small())
	for _, replicas := range []int{1, 2} {
		p := testLosses
		p.Replicas = replicas
		g := fill(t, w, p, es)
		losses, err := g.Gradients(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		want := gradients(g)
		last := len(g.micros) - 1
		whole := *g.micros[last]
		for stack, broken := range map[string]rows{
			"graph.ownerLoss":      {inputs: whole.inputs, data: whole.data, places: whole.places, cells: whole.cells, owners: foreign(whole.owners), weight: whole.weight},
			"graph.(*replica).run": {},
		} {
			*g.micros[last] = broken
			var caught *crash.Error
			if _, err := g.Gradients(context.Background()); !errors.As(err, &caught) || !strings.Contains(string(caught.Stack), stack) {
				t.Fatalf("%d replicas: got %v, want a panic in %s", replicas, err, stack)
			}
			if _, err := g.Step(nil); err == nil {
				t.Error("a step without gradients")
			}
			*g.micros[last] = whole
			got, err := g.Gradients(context.Background())
			if err != nil || got != losses {
				t.Errorf("%d replicas: after a panic in %s the losses are %+v, %v: want %+v", replicas, stack, got, err, losses)
			}
			for name, v := range gradients(g) {
				if !slices.Equal(v, want[name]) {
					t.Errorf("%d replicas: after a panic in %s the gradient of %s is another", replicas, stack, name)
				}
			}
		}
	}
}

// foreign is owners of a class that there is not.
func foreign(owners [][net.Cells]uint8) [][net.Cells]uint8 {
	owners = slices.Clone(owners)
	for i := range owners {
		for cell := range owners[i] {
			owners[i][cell] = net.NumOwners
		}
	}
	return owners
}

func gradients(g *Graph) map[string][]float32 {
	all := map[string][]float32{}
	for _, t := range g.weights.Tensors() {
		all[t.Name] = slices.Clone(g.Gradient(t.Name))
	}
	return all
}
