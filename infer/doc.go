// Package infer is where the search meets the network: it answers a query about a Position with the network's priors and
// value.
//
// Its types are Evaluator, an mcts.Evaluator, and Network, what that asks: a net.Program, or what computes the same outside
// Go. An Evaluator encodes the Position, perhaps turned by one of the twelve symmetries, runs the Network, takes the softmax
// over the legal Moves, turns the value to White's view and remembers the answer.
//
//	w, err := net.Load("best.safetensors")
//	params := infer.DefaultParams()
//	p, err := params.Compile(w, rules.Standard())
//	eval := infer.New(p, params)
//	search := mcts.New(eval, mcts.DefaultParams())
//
// An answer depends on the Network, the Position and Params.Seed alone, never on what was asked before: games can be
// played again, with or without a cache, on one goroutine or on many.
//
// For a tree that is searched on several cores (mcts.Params.Batch) an Evaluator shares a batch out to Params.Cores
// goroutines; the cache and the answers are the same as on one.
//
// The package knows no tree, no games and no files.
package infer
