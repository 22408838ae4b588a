// Package pipeline is the training run: who plays, who trains, who is promoted, and when.
//
// A Run holds a run directory and everything in it that moves. Four loops share it: Work plays games and pairs (also in
// other processes), ingest turns games into shards, learn takes training steps, judge lets candidates play the best
// model and promotes those that are proved stronger. A Status is what all this looks like from outside.
//
//	run, err := pipeline.Open(ctx, pipeline.Params{Dir: "runs/standard", …})
//	err = run.Run(ctx) // until ctx is done
//	err = run.Close()
//
// The run directory:
//
//	models/      weights, named by their SHA-256, and the registry's log
//	records/     shards of games
//	matches/     the pairs of every gate and anchor match, one a line
//	checkpoint/  the newest states of the trainer
//	quarantine/  what was refused, each file with its reason
//	metrics/     one JSON object a line, and event files for TensorBoard
//	name         of the run, as the hub and the workers' credentials know it
//	hub/         the transport's store, made anew from the rest if it is gone
//
// Files are the truth: a game is acknowledged when a shard that holds it is on disk, a pair when its line is, and all
// counters are read off the files when a run is taken up again.
//
// The package decides nothing about YINSH, networks or statistics; it knows the order in which things happen.
package pipeline
