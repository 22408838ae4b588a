// Package rules is the game of YINSH: board, Moves, Positions and their text.
//
// Its types are Point (one of the board's intersections), Row (adjacent Points on a line), Move (one decision by one
// player), Variant (the numbers that differ between rule sets), Position (all that decides what may follow), Result and
// Symmetry (one of the twelve). A game is a loop:
//
//	pos := rules.New(rules.Standard())
//	for {
//		if res, over := pos.Result(); over {
//			return res
//		}
//		moves = pos.AppendMoves(moves[:0])
//		pos.Play(moves[rng.IntN(len(moves))])
//	}
//
// Everything has a text that is read back as it was: Moves, turns, Variants, Positions and Games, the lines of move
// lists. ReplayGames and CheckTrace read files of them and tell every Fault; a Converter reads games in one Format,
// such as Boardspace SGF, and writes them in another. Perft, RandomGame and RandomTrace are for checks and measurements.
// Position.Draw and Position.SVG are pictures for people.
//
// A turn is several Moves, so the player to move does not alternate: Position.ToMove says whose decision it is. The
// rules, their sources and the text formats are in docs/rules.md.
//
// The package knows no search, no network and no files by name, and imports the standard library only.
package rules
