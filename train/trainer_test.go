package train

import (
	"context"
	"errors"
	"testing"
)

// TestCancelledStep: a step that was cancelled has not been: what follows is the same, to the bit.
func TestCancelledStep(t *testing.T) {
	w := window(t)
	plain, cancelled := trainer(t, params()), trainer(t, params())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 3 {
		steps(t, plain, w, 1)
		if _, err := cancelled.Step(ctx, w); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want that the context is done", err)
		}
		steps(t, cancelled, w, 1)
	}
	if cancelled.Drawn() != 3 || !plain.weights.Equal(cancelled.weights) || !plain.Candidate().Equal(cancelled.Candidate()) {
		t.Errorf("%d batches drawn in 3 steps: the weights are others than without breaks", cancelled.Drawn())
	}
}
