package pipeline

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"yinshzero/data"
	"yinshzero/fleet"
	"yinshzero/internal/atomicfile"
	"yinshzero/registry"
)

// ingest takes games in until ctx is done. A game that is sound goes into a shard and is acknowledged when the shard is on
// disk; one that is not goes to quarantine.
func (r *Run) ingest(ctx context.Context) error {
	games, err := r.hub.Games(ctx)
	if err != nil {
		return err
	}
	defer games.Close()
	var batch shardInHand
	for {
		g, err := next(ctx, games, batch.due)
		switch {
		case err == nil:
			if err := r.take(ctx, &batch, g); err != nil {
				return err
			}
		case ctx.Err() != nil: // what has arrived is kept
			return r.write(ctx, &batch)
		case !errors.Is(err, context.DeadlineExceeded):
			return err
		}
		if len(batch.games) >= r.params.ShardGames || len(batch.games) > 0 && !time.Now().Before(batch.due) {
			if err := r.write(ctx, &batch); err != nil {
				return err
			}
		}
	}
}

// next waits for a game, until due unless that is zero.
func next(ctx context.Context, games *fleet.Games, due time.Time) (*fleet.Game, error) {
	if !due.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, due)
		defer cancel()
	}
	return games.Next(ctx)
}

// A shardInHand is a shard that is not written yet.
type shardInHand struct {
	games   []*fleet.Game
	records []*data.Record
	hashes  map[[32]byte]struct{}
	path    string    // empty until it is to be written; the same at every try, so that its games are in no other
	due     time.Time // zero while there are no games
}

// take judges one game.
func (r *Run) take(ctx context.Context, s *shardInHand, g *fleet.Game) error {
	rec, err := g.Record()
	if err == nil {
		err = r.admissible(rec)
	}
	if err != nil {
		return r.quarantine(ctx, g, err)
	}
	hash := rec.Hash()
	if _, ok := r.known[hash]; ok || r.window.Contains(hash) {
		r.tolerate("acknowledging a game", g.Ack(context.WithoutCancel(ctx))) // it is in a shard
		return nil
	}
	if len(s.games) == 0 {
		s.due, s.hashes = time.Now().Add(r.params.ShardAge), make(map[[32]byte]struct{})
	}
	s.games = append(s.games, g) // delivered twice, it is acknowledged twice, and both when it is on disk
	if _, ok := s.hashes[hash]; !ok {
		s.records = append(s.records, rec)
		s.hashes[hash] = struct{}{}
	}
	return nil
}

// admissible returns what speaks against a game.
func (r *Run) admissible(rec *data.Record) error {
	if !rec.Variant.Same(r.params.Variant) {
		return fmt.Errorf("it is a game of %s, the run plays %s", rec.Variant, r.params.Variant)
	}
	for _, id := range []data.ModelID{rec.White, rec.Black} {
		if _, ok := r.registry.Entry(registry.ID(id)); !ok && id != (data.ModelID{}) {
			return fmt.Errorf("it was played with model %s, which the run does not have", registry.ID(id).Short())
		}
	}
	return rec.Validate()
}

// write makes a shard of what is in hand and acknowledges its games, whether ctx is done or not. While the disk is full the
// games stay in the hub.
func (r *Run) write(ctx context.Context, s *shardInHand) error {
	if len(s.games) == 0 {
		return nil
	}
	if s.path == "" {
		path, err := data.NextShard(r.dir(recordsDir), r.shard)
		if err != nil {
			return err
		}
		s.path, r.shard = path, path
	}
	err := r.toDisk(ctx, func() error {
		_, err := data.WriteShard(s.path, s.records)
		return err
	})
	if err != nil {
		return err
	}
	if err := r.window.Add(s.path); err != nil {
		return err
	}
	for _, g := range s.games {
		r.tolerate("acknowledging a game", g.Ack(context.WithoutCancel(ctx))) // delivered again, it is known
	}
	*s = shardInHand{}
	nudge(r.grown)
	if ctx.Err() != nil {
		return nil
	}
	return r.grow(ctx)
}

// grow raises the search's budget as the run goes on.
func (r *Run) grow(ctx context.Context) error {
	plan := r.params.planAt(r.window.Total())
	r.mu.Lock()
	same := plan == r.plan
	r.mu.Unlock()
	if same {
		return nil
	}
	return r.persist(ctx, "announcing the plan", func() error { return r.announce(ctx, plan) })
}

// maxQuarantined bounds the games that one process puts aside, so that a broken worker cannot fill the disk.
const maxQuarantined = 1000

// quarantine puts a game aside with the reason, and tells the hub not to deliver it again.
func (r *Run) quarantine(ctx context.Context, g *fleet.Game, reason error) error {
	r.mu.Lock()
	r.status.Quarantined++
	many := r.status.Quarantined > maxQuarantined
	r.mu.Unlock()
	if many {
		r.params.Log.Warn("game refused and dropped: quarantine is full", "worker", g.Worker, "reason", reason)
	} else {
		path := filepath.Join(r.dir(quarantineDir), registry.IDOf(g.Data).Short())
		err := r.toDisk(ctx, func() error {
			return errors.Join(atomicfile.WriteBytes(path+".game", g.Data),
				atomicfile.WriteBytes(path+".txt", fmt.Appendf(nil, "worker %s: %v\n", g.Worker, reason)))
		})
		if err != nil {
			return err
		}
		r.note("game refused", "worker", g.Worker, "file", path+".game", "reason", reason)
	}
	r.tolerate("refusing a game", g.Term(reason.Error()))
	return nil
}

// openRecords opens the window. The games of the newest shard are remembered: if a kill came between its writing and their
// acknowledgement they are delivered once more, before anything new.
func (r *Run) openRecords() (err error) {
	dir := r.dir(recordsDir)
	if r.window, err = data.OpenWindow(dir, r.params.Window); err != nil {
		return err
	}
	for _, fault := range r.window.Faults() {
		r.params.Log.Warn("shard is damaged: what is left of it is used; records repair sets the rest aside", "error", fault)
	}
	shards, err := data.Shards(dir)
	if err != nil || len(shards) == 0 {
		return err
	}
	r.shard = shards[len(shards)-1]
	newest, err := data.OpenShard(r.shard)
	if err != nil {
		return nil // it is among the window's faults, and nothing in it counts
	}
	r.known = make(map[[32]byte]struct{})
	for rec, err := range newest.Records() {
		if err != nil { // it is among the window's faults
			continue
		}
		if !rec.Variant.Same(r.params.Variant) {
			return errors.Join(fmt.Errorf("the run's games are of %s and the config says %s: keep the variant of a run, or begin a new one",
				rec.Variant, r.params.Variant), newest.Close())
		}
		r.known[rec.Hash()] = struct{}{}
	}
	return newest.Close()
}
