// Package data keeps games on disk and draws training samples from the newest of them.
//
// Its types are Record (a game that replays and proves itself), Ply (a Move with its search), Sample (one position with
// what is to be learnt from it), Shard (a file of Records) and Window (the newest Samples of a directory of shards). A
// game goes through it like this:
//
//	b, err := rec.AppendBinary(nil)          // where it was played: one message
//	rec, err := data.DecodeRecord(b)         // where it arrives, from anywhere: valid, or an error
//	path, err := data.NextShard(dir)         // records/00000042.shard
//	info, err := data.WriteShard(path, recs) // on the disk when it returns
//	err = window.Add(path)
//	err = window.Draw(rng, samples)          // a batch for training
//
// Records hold Moves and what the search said, never what a network reads: planes, symmetries and targets are derived
// when a Sample is drawn. Every Record that comes out of the package has been replayed Move by Move. Of a damaged shard
// only the damaged block is lost; CorruptError names it.
//
// The functions on paths, Verify, Dump, Export, Import and Repair, are for people.
//
// The package does not decide when to write, which games to trust or how to learn. docs/format.md describes the bytes.
package data
