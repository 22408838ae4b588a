// Package desk answers the questions of the page on which people play and analyse: JSON comes in, JSON goes out, over HTTP
// (package web) or out of a Web Worker (web/wasm). This comment is the contract of both ends.
//
// A [Desk] has one method, Answer; Searches tells which questions cost a search. It keeps nothing between questions: every
// one brings its whole game along, so two pages are two games, and taking back is asking with fewer Moves.
//
//	d, err := desk.New(desk.Params{Engine: p, Models: models, Limits: desk.DefaultLimits()})
//	err = d.Answer(ctx, "position", []byte(`{"game":{"variant":"mini","moves":["c4"]}}`), w)
//
// A body is one object of the fields named here; an unknown field is an error. A game is
//
//	{"variant":"standard", "start":"…", "moves":["a2-h9","xc4-g8","xe3"]}
//
// with a Variant's name or its numbers, perhaps the text of the Position where it begins, and single Moves. All may be missing.
// An answer is one object and a line end. What cannot be answered is an [*Error]: {"error":"…","field":"game.moves","rule":"jump"}.
// A rule, here and in why, is the anchor of a section of the page on the rules, one of [Rules].
//
// position, {"game"}: where the game stands.
//
//	{"position":"…", "variant":"standard", "name":"standard", "ply":2, "toMove":"W", "phase":"place|move|row|ring|over",
//	 "points":["a2",…], "pieces":{"e5":"WR|BR|WM|BM",…}, "pool":51, "markers":51, "rowLength":5,
//	 "hand":{"W":4,"B":4}, "taken":{"W":0,"B":0}, "rings":5, "ringsToWin":3,
//	 "legal":[{"move":"e5-e9","kind":"place|move|row|ring|pass","at":"e5","to":"e9","points":["e6",…]},…],
//	 "last":{"move":"…","by":"B","kind":…,"at":…,"to":…,"points":…} or null,
//	 "turns":[{"text":"d3-d6;xa1-a5xa5","by":"W","ply":13},…], "over":false, "result":{"winner":"W|B|draw","reason":"…"} or null}
//
// The points of a move are the markers that it turns over, those of a row its markers; at and to of a row are its ends. The
// ply of a turn counts the Moves up to its end; the last turn may be under way. Where the game is over, toMove has no meaning.
//
// why, {"game","at":"e5","to":"e9"}: why a click on at, or a ring drawn or a row marked from at to to, is no legal Move.
//
//	{"reason":"a ring may not jump over a ring, and one stands on e7","rule":"jump"}
//
// Both are empty if there is such a Move. Without to a ring that can move is one to click on, and so is each marker of a row
// that may be taken; with to, a row is named by its ends in either order.
//
// read, {"text":"…","name":"file.sgf"}: the games of a text as package rules reads them: SGF, traces, turn lists, move lists.
//
//	{"games":[{"id":"…","variant":"standard","moves":[…],"names":{"W":"…","B":"…"},"result":"W|B|draw|unknown","resigned":true},…],
//	 "faults":["file.sgf: line 3: …",…]}
//
// Resigned says that the Moves stop before the end. There are at most MaxGames games, and MaxFaults faults.
//
// write, {"game","format":"sgf|turns|moves|trace","id":"…","names":{"W":"…","B":"…"},"result":"W|B"}: the game as text,
//
//	{"text":"…"}
//
// The id is a word, "game" if missing. Names are for SGF alone. Result is who has won a game that is not over, as the other
// side resigned.
//
// move, {"game","simulations":800,"temperature":0,"seed":1,"model":"…"}: the rest of the turn of the side to move, decided by
// a search of so many simulations for each Move and, above 0, by chance of that temperature (docs/protocol.md).
//
//	{"moves":["e5-e9","xe5-e9","xa2"], "winrate":0.61, "proven":"W|B|draw", "simulations":812, "cut":false, "model":"…"}
//
// The same question has the same answer, whatever was asked before, unless the search was cut short by its time. With 0
// simulations the network's policy decides alone. The winrate is that of the side to move before the turn; proven is there
// if the result is. The first of about's models is taken if none is named. Levels of about are meant for these fields.
//
// analyse: one query of the JSON engine (docs/protocol.md), which may name a "model" as well; maxVisits and maxTime have the
// limits of about. The answer is a stream of the engine's lines, each written whole in one call of Write. It ends early when
// ctx does.
//
// about, no body or {}: what there is.
//
//	{"version":"…", "static":false, "run":true, "variant":"standard",
//	 "models":[{"name":"best","variant":"standard"},…], "levels":[{"name":"beginner","simulations":0,"temperature":4},…],
//	 "variants":[{"name":"standard","text":"standard","radius":5,"rings":5,"markers":51,"rowLength":5,"ringsToWin":3},…],
//	 "limits":{"simulations":100000,"seconds":60,"body":1048576}}
//
// The variant is that of a new game; static says that there is no server; run that there is a page about a training run.
//
// The package knows no HTTP, no files and no clock but that of the engine. It compiles for js/wasm.
package desk
