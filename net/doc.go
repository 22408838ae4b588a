// Package net turns Positions into priors and values: the input planes, the network's shapes and numbers, and inference.
//
// Its types are Arch (the shape of a network), Spec and Tensor (a named array and its shape), Weights (the numbers, with
// their safetensors file) and Program (Weights compiled for inference by one goroutine). AppendPlanes encodes a Position
// and PolicyIndex says where the policy head keeps a Move's logit.
//
//	w, err := net.Load("best.safetensors")
//	p, err := w.Compile()
//	planes = net.AppendPlanes(planes[:0], &pos)
//	legal = pos.AppendMoves(legal[:0])
//	out := net.Output{Logits: make([]float32, len(legal))}
//	p.Forward(planes, legal, &out)
//	p.Auxiliary(replies, &aux) // only to look at what else the network expects
//
// Weights.CompileInt8 makes a Program that is faster and less exact, on some machines; CompareInt8 measures both.
//
// # What the network computes
//
// Everything is from the side to move's view, over the 11 × 11 grid of rules.Point.Grid; cells that are no Points of the
// full board are exact zeros in every layer. conv is a 3×3 convolution with zero padding, · scales every channel, and the
// tensors are those of [Arch.Specs]:
//
//	x   = relu(input.scale·conv(planes, input.weight) + input.bias + globals × globals.weight)
//	for every block i:
//	  y = relu(conv1.scale·conv(x, conv1.weight) + conv1.bias)
//	  b = conv2.bias                                        in a block that pools: conv2.bias + pool(y) × pool.weight
//	  x = relu(conv2.scale·conv(y, conv2.weight) + b + x)
//	logit of a Move m at (plane, cell) = PolicyIndex(m):    policy.bias[plane] + Σ_c x[c][cell] policy.weight[c][plane]
//	h   = relu((pool(x), globals) × value.weight + value.bias)
//	WDL   = h × wdl.weight + wdl.bias                       logits of win, draw, loss
//	Rings = h × rings.weight + rings.bias                   logits of the final difference of rings taken
//	logit of a reply m at (plane, cell) = PolicyIndex(m):   reply.bias[plane] + Σ_c x[c][cell] reply.weight[c][plane]
//	Ownership of the Point at a cell, logits of class k:    ownership.bias[k] + Σ_c x[c][cell] ownership.weight[c][k]
//	Plies = h × plies.weight + plies.bias                   logits of the plies left in the game
//
// The last three and Rings serve training, which they give more to learn from ("auxiliary targets" in Wu, "Accelerating
// Self-Play Learning in Go", 2019, section 4); an Arch may be without any of them. The reply is the Move of the next
// Position of the game in which the opponent is to move; Ownership is whose marker, if any, is on a Point when the game
// ends. Forward computes policy, WDL and Rings, Auxiliary the rest.
//
// pool(x) is the mean of every channel over the Points of the Variant's board (where PlaneBoard is 1), then the maximum.
//
// The package knows no search and no game records; it does not train: net/graph does, on the same tensors.
package net
