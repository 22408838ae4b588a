// Package selfplay lets one player play games against itself and makes a record of each.
//
// A Player owns a search and plays one game at a time; Params say how. Every game is decided by its seed, the evaluator
// and the Params alone, so the same game can be played again on any machine with the same instruction set:
//
//	p, err := selfplay.New(mcts.New(evaluator, mcts.DefaultParams()), selfplay.DefaultParams())
//	rec, err := p.Game(ctx, rules.Standard(), run.Child("game", 17).Uint64())
//	err = sink.Put(ctx, rec)
//
// Four kinds of plies make up a game (data.Kind): a few random ring placements in a share of the games (Opening), full
// searches with exploration, whose improved policy is a training target (Full), small searches that only play on
// (Fast), and Moves without a choice (Forced).
//
// The package knows no network, no files and no transport: it takes an mcts.Evaluator and gives records to a Sink.
package selfplay
