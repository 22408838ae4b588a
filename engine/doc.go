// Package engine speaks with front ends: it plays and analyses for other programs over lines of text, and plays against
// engines that other programs are.
//
// UGI is the Universal Game Interface, by which a tournament program plays matches of a game it knows nothing of. JSON is
// one object a line, after KataGo's analysis engine: many queries at once, answered in any order. Both read until their
// reader ends and judge Positions with a Model that Params.Load finds:
//
//	p := engine.DefaultParams()
//	p.Load = func(string, rules.Variant) (engine.Model, error) { return engine.Model{Name: "uniform"}, nil }
//	p.Model = "uniform"
//	err := engine.UGI(ctx, os.Stdin, os.Stdout, p)
//
// A Player is the other end of UGI: a player of matches (arena.Follower) that is an engine in another process, which it
// starts, asks and, if it hangs, kills.
//
// Decide decides one turn, for a page that asks for it (web/desk). Remember keeps the models that a Load has loaded.
//
// The protocols are in docs/protocol.md, whose transcripts are tests. What comes in is bounded: the length of a line, the
// queries that wait, the simulations of a search and the memory of its tree. What is wrong with a line is told, and changes
// nothing.
//
// The package knows no files, no flags and no matches.
package engine
