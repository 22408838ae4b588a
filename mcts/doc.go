// Package mcts is the search: from a Position and an Evaluator to a Move, a value and a better policy.
//
// Its types are Query and Evaluator (what judges a Position; Uniform knows nothing), Params with RootPolicy (the numbers
// of the search), Budget (what one search may spend), Searcher (the tree) and Root with its RootEdges (what was found):
//
//	s := mcts.New(mcts.Uniform{}, mcts.DefaultParams())
//	pos := rules.New(rules.Standard())
//	root, err := s.Search(ctx, pos, mcts.Budget{Simulations: 64, Noise: true}, rng)
//	if err != nil {
//		return err
//	}
//	pos.Play(root.Best)
//	s.Advance(root.Best) // keep what is known of the Position after it
//
// There are two policies over one tree. Gumbel (Danihelka et al., "Policy improvement by planning with Gumbel", 2022) is
// for self-play: the root's Moves are drawn without replacement from the priors and halved sequentially, the Moves below
// it follow the improved policy deterministically, and that policy is the training target. PUCT (Silver et al., 2018) is
// for matches and analysis.
//
// Values are White's everywhere and are backed up without a sign, for in YINSH a player may make several Moves in a row:
// whether a value is good is asked at selection only, of the Position, which knows who moves. With the solver, results
// climb from finished games: who has a proven winning Move has won, and whose Moves are all proven has the best of them.
//
// The same Evaluator answers, Params, Position, Budget and random source give the same Root, if the tree was Reset.
//
// One tree may be searched on several cores: with a Params.Batch above 1 the Searcher looks for several leaves, counting
// those under way as visits (Liu et al., 2020), before it asks the Evaluator about all of them, which may share them out.
// What is found does not depend on how fast the answers come.
//
// The package knows no network, no game record and no clock: a search that must end in time has a ctx with a deadline. It
// does not recognise Positions that are reached in two ways, and it starts no goroutines.
package mcts
