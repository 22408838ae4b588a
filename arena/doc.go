// Package arena plays two players against each other and says which is stronger, and how sure that is.
//
// Its types: Player (chooses Moves; a Follower also hears what is played), the players Random, Greedy, UCT and Search,
// Opening (random first Moves), Game, PairResult (one opening played twice with colours swapped), Match (many pairs on
// several goroutines), Score (pairs counted by points), Estimate (Elo with a 95 % interval), Gate (a sequential test with
// its Verdict), Chances and Trial (what a Gate makes of players of known strength), Tally and Report (what is told of a
// match), Entry (a pair as a line of text), Ladder (Elo of many players over many matches, in a Table of Ratings and
// Pairings) and Spec (a player named in text).
//
//	m := arena.Match{A: newUCT, B: newRandom, Variant: rules.Mini(), Seed: 1, Pairs: 100, Parallel: 2}
//	gate := arena.Gate{Elo0: 0, Elo1: 35, Alpha: 0.05, Beta: 0.05, MaxPairs: 400}
//	var s arena.Score
//	for pair, err := range m.Play(ctx) {
//		if err != nil {
//			return err
//		}
//		s.Add(pair)
//		if gate.Judge(s) != arena.Continue {
//			break
//		}
//	}
//	fmt.Println(gate.Reason(s), s.Elo())
//
// A pair is the unit of everything: what an opening gives one side, the swapped game gives the other, so the five
// counts of pairs carry less noise than wins, draws and losses do. A match depends on its seed alone, never on how its
// pairs were spread over goroutines or machines.
//
// The package knows no network, no files and no other process: players that need them are made elsewhere and come as a
// Maker. It keeps no clock: a player's strength is set by simulations.
package arena
