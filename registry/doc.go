// Package registry keeps a run's models: which exist, which is best, and why.
//
// It has four types. An [ID] names a model: the SHA-256 of its bytes. An [Entry] says what is known of one: its [Meta]
// (training step, parent, architecture, time) and its [Standing], with the [Verdict] that gave it. A [Registry] is the
// directory that holds them:
//
//	models/
//	    <64 hex digits>.safetensors   the bytes of one model; never changed once written
//	    registry.log                  what happened, one event a line; only ever appended to
//
// A line of the log is the CRC-32C of the event as eight hex digits, a space, the event as JSON and a newline; the first
// line names the format. Weight files appear whole or not at all, and before the event that mentions them; an event is on
// disk before the call that caused it returns. So the directory can be read after a kill at any moment: a last line that
// is torn was never acknowledged, is ignored by readers and cut off by the next append.
//
//	r, err := registry.Open("run/models")
//	id, err := r.Add(weights, registry.Meta{Step: 4000, Arch: "32x4", Created: time.Now()})
//	err = r.Promote(id, registry.Verdict{At: time.Now(), Reason: "gate accepted", Score: "+31 =0 -12"})
//	best, ok := r.Best()
//	b, err := r.Bytes(best.ID)
//
// One process appends to a directory at a time; any number may read it. The package knows nothing of networks: a model is
// bytes to it. It judges nothing: verdicts come from the arena.
package registry
