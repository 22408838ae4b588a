// Package graph trains a network: the Gorgonia graph of its forward pass and losses, the gradients, and the solver.
//
// It has four types. A [Graph] holds a batch of training examples and the gradients of its loss with respect to the
// tensors of a net.Weights, which it reads and writes in place. An [Example] is one row of the batch, [Losses] what
// the last batch cost, and a [Solver] turns gradients into new weights (AdamW, or SGD with momentum). The network
// computed is the one that package net documents.
//
//	g, err := graph.New(w, graph.Params{Batch: 256, Replicas: 2, PolicyLoss: 1, ValueLoss: 1, OwnershipLoss: 0.25})
//	solver, err := graph.NewSolver(w, graph.DefaultSolverParams())
//	for i := range examples {
//		g.Set(i, &examples[i])
//	}
//	losses, err := g.Gradients(ctx)
//	solver.LR = 1e-3
//	norm, err := g.Step(solver) // w has changed
//
// A Graph that goes forward only tells what a batch costs by Losses and changes nothing.
//
// # The loss
//
// Over a batch of B rows with the weights p of the policy, v of the value, r of the reply and e of the game's end
//
//	Total = 1/B Σ (PolicyLoss p H(policy) + ValueLoss v H(wdl) + RingsLoss v H(rings) +
//	               ReplyLoss r H(reply) + OwnershipLoss e mean H(owner of a Point) + PliesLoss e H(plies))
//
// where H is the cross-entropy of the target and the softmax of the logits, for the policy and the reply over the legal
// Moves only, and the mean is over the Points of the row's board. What the Arch has no head for is left out.
//
// # How it runs
//
// One Gorgonia operation is one layer: a 3x3 convolution with scale, bias, optional residual and ReLU, over the
// Winograd kernels of net/kernel; its backward pass is an operation for the input's gradient and one for that of the
// packed weights, which sums up over the micro-batches of a lane and is then unpacked and split into the gradients of
// weight and scale. Pooling, the large dense layers, the heads at the Points and the cross-entropy are operations too;
// the last layers of the heads on the value's hidden layer and all sums are Gorgonia's own.
//
// Activations are never negative, and where one is zero the ReLU below stops the gradient. So whoever uses an
// activation hands down a gradient that is already zero where the activation is: the convolution does so in its
// output transform for nothing. The skip connection's gradient takes the same way: the block's first convolution adds
// it there.
//
// A batch runs as micro-batches of at most 16 rows, or 32 if the network is 64 channels wide or wider, on Replicas
// goroutines, each with a graph and a tape machine of its own over shared weights. The gradients of at least 32 rows are
// summed up in one lane, and those of at most four lanes in the end. How rows are cut into micro-batches and in which
// order gradients are summed depends on the batch and the network's width alone: the same examples give the same bits,
// whatever the number of replicas, on one instruction set.
//
// # What it does not do
//
// It knows no files, no records, no learning-rate schedule; and it is not for play: net.Program is several times
// faster on one Position. No other package imports Gorgonia.
package graph
