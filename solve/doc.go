// Package solve finds the exact value of late Positions: who wins under best play, in how many plies, and by which Moves.
//
// Its types are Solver with Params and Method, Budget (what one Solve may spend), Result with its Value and MoveValues,
// and Problem (a Position with its solution):
//
//	s := solve.New(solve.DefaultParams())
//	r, err := s.Solve(ctx, pos, solve.Budget{Nodes: 10_000_000, Moves: true})
//	if err != nil {
//		return err
//	}
//	fmt.Println(r.Outcome, r.Plies, r.Line)
//
// There are two Methods, which share no code and check each other. AlphaBeta asks "does this side win within so many
// plies?" with ever more plies, for either side in turn: alpha-beta with a window around one question, so that every node
// has a proof or a refutation. As a player may make several Moves in a row, a node asks of the Position who moves; no
// value is negated from ply to ply. Search is the solver of package mcts with an Evaluator that knows nothing.
//
// A game of YINSH cannot return to a Position: every proof is about a tree that ends, and the transposition table needs
// no history. Its entries are told apart by 64 bits of hash: among n Positions two share one with a chance of n²/2⁶⁵,
// one in a million for six million.
//
// Problems is a fixed set of Positions in which a Move wins by force and most do not, a yardstick for searches and
// models: Share is how many of them a Searcher solves. It is made by this package's generator from random games; nothing
// in it comes from games that people or programs have played.
//
// The package knows no network, no clock and no files but the embedded set.
package solve
