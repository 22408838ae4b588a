// Package fleet carries games, models and jobs between the process that trains and the workers that play: in the same
// process, or on other machines.
//
// Its main types are four. A [Hub] belongs to the training run: it takes games in, hands jobs out and says which model is
// best. A [Worker] is the other end: it fetches models, delivers games and takes jobs. A [Job] is one pair of games to
// play for a gate or for the ladder, and a [Lease] is a job taken by a worker, who must finish or release it. A
// [Manifest] tells every worker what to play.
//
// Underneath is NATS JetStream. By default the server runs inside the process, opens no port, and workers of the same
// process connect to it in memory; with HubParams.Listen other machines may join, and with HubParams.URL an existing
// cluster is used. The code is the same in all three cases. A run named r has
//
//	GAMES_r    games.r.<worker>      records; refuses more when full, knows a game again for ten minutes
//	JOBS_r     jobs.r.<gate>.<id>    jobs; one message each, removed when done
//	RESULTS_r  results.r.<worker>    results of jobs
//	DEAD_r                           notices of messages delivered too often
//	KV run_r, objects models_r       manifest and best; models by SHA-256
//
// The server's store is transport, not truth. A game is gone from it only when its taker acknowledges it, which the
// training run does after the shard holding the game is on disk. If the store is wiped, opening the hub makes it anew, and
// publishing the models, the manifest and the best again, and putting the jobs again, restores it: all these calls may be
// repeated at will.
//
//	p := fleet.DefaultHubParams()
//	p.Run, p.Dir = "r", "run/hub"
//	hub, err := fleet.OpenHub(ctx, p)
//	err = hub.SetManifest(ctx, manifest)
//	w, err := hub.Join(ctx, fleet.WorkerParams{Name: "local"})
//	err = w.Put(ctx, record)        // from the worker's side
//	games, err := hub.Games(ctx)
//	g, err := games.Next(ctx)       // g.Record(), then g.Ack(ctx)
//
// A hub that listens does so with TLS, and lets in only workers whose public nkey is on its list: [Keygen] makes a worker's
// [Credentials], [Allow] and [Revoke] keep the list. A worker may send games and results under its own name, take jobs and
// read models, and nothing else.
//
// Those let in are trusted half way. What they send is checked, and none can read or forge another's messages; but one may
// take jobs and never finish them, fill the stream of games, or make the server keep many readers of its keys and models,
// since reading them makes a consumer. The remedy is [Revoke].
//
// The package does not judge what arrives: replaying games, checking results and keeping what fails is the training run's.
// It writes nothing to the run directory but the server's store and the keys.
package fleet
