// Package infer is where the search meets the network: it answers a query about a Position with the network's priors and
// value.
//
// Its one type is Evaluator, an mcts.Evaluator over a net.Program: it encodes the Position, perhaps turned by one of the
// twelve symmetries, runs the Program, takes the softmax over the legal Moves, turns the value to White's view and
// remembers the answer.
//
//	w, err := net.Load("best.safetensors")
//	params := infer.DefaultParams()
//	p, err := params.Compile(w, rules.Standard())
//	eval := infer.New(p, params)
//	search := mcts.New(eval, mcts.DefaultParams())
//
// An answer depends on the Program, the Position and Params.Seed alone, never on what was asked before: games can be
// played again, with or without a cache, on one goroutine or on many.
//
// For a tree that is searched on several cores (mcts.Params.Batch) an Evaluator shares a batch out to Params.Cores
// goroutines; the cache and the answers are the same as on one.
//
// The package knows no tree, no games and no files.
package infer
