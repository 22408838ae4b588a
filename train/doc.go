// Package train turns records into better weights.
//
// A Trainer owns the weights under training, their average, the optimiser and the step count; Params say how it trains: a
// Schedule gives the learning rate of every step, an Average says what candidates are made of. Every Step draws a batch
// from a data.Window and moves the weights once:
//
//	t, err := train.New(weights, params, seed.New(1))
//	for t.Steps() < 1000 {
//		losses, err := t.Step(ctx, window)
//	}
//	err = t.Save(dir)
//
// Measure tells what a candidate costs on games that are held out, and on games that are not.
//
// A Checkpoint is all of that in one file, so that a Trainer goes on from it as if it had never stopped: the batch of a
// step depends on the seed and the number of the step alone, so there is no random state to keep.
//
// The package does not know where games come from, nor whether the new weights are any good: arena finds out.
package train
