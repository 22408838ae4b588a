// Package sweep compares configurations: each has trained a run with each of some seeds, and a table tells them apart.
//
// A [Run] is one of these runs and [Budget] when it ends; [Progress], a file in its directory, is what it has used up, over all
// the times that it was taken up. A [Match] is one between two of the runs' best models, or with a fixed player, and its file.
// [Results] are the figures of all, whose Tables are for people:
//
//	score, err := sweep.Match{Dir: "runs/heads/matches", A: a, B: b, Seed: 1, Pairs: 50}.Play(ctx)
//	outcome, curves := run.Read("runs/heads/plain-1", report.Params{MaxGames: 20_000}, budget)
//	results, err := sweep.New(outcomes, []sweep.Played{{A: "plain-1", B: "wide-1", Score: score}, …})
//	for _, t := range results.Tables() { … }
//
// # What the figures mean
//
// All best models and the fixed players stand on one ladder, the player random at 0, by the matches of the sweep alone. Of a
// configuration with several seeds the mean over its runs is told with its standard error, s/√n for n runs whose standard
// deviation is s: it holds all that chance did, in the runs and in the matches. Of one run there is no such error: then the 95 %
// interval of the rating is told, which knows of the matches' chance only. Matches between two configurations are between runs
// of the same seed; the interval of all of them together also knows of the matches' chance only.
//
// The package trains nothing and knows no network: whoever calls it makes the players.
package sweep
