package pipeline

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"yinshzero/arena"
	"yinshzero/data"
	"yinshzero/fleet"
	"yinshzero/infer"
	"yinshzero/internal/crash"
	"yinshzero/internal/seed"
	"yinshzero/mcts"
	"yinshzero/net"
	"yinshzero/registry"
	"yinshzero/rules"
	"yinshzero/selfplay"
)

// Counts is what a process's workers have done. Any goroutine may read it.
type Counts struct {
	Games       atomic.Int64 // of self-play, finished and delivered
	Pairs       atomic.Int64
	Evaluations atomic.Int64 // by networks
	Panics      atomic.Int64 // games and pairs that were lost to one

	lost atomic.Int64 // of Panics, those since the last game or pair that was finished
}

// Work plays for a run until ctx is done: pairs that wait to be played come first, else self-play with the best model. So
// many games are played at once, each in a goroutine with its own network and search. A pair that cannot be played is given
// back and logged; a model that cannot be fetched leaves the one before in place. A panic costs the game or pair it comes in,
// until ten come without one that is finished. It returns nil if ctx ended it.
func Work(ctx context.Context, w *fleet.Worker, parallel int, build string, c *Counts, log *slog.Logger) error {
	return (&crew{worker: w, build: build, counts: c, log: log, tell: log.Info}).work(ctx, parallel)
}

// A crew is what the seats of a process share.
type crew struct {
	worker *fleet.Worker
	build  string
	counts *Counts
	log    *slog.Logger
	tell   func(text string, args ...any) // of what people will want to know of
	wrap   wrapper

	mu       sync.Mutex
	programs []compiled // under mu; the oldest first
}

// A wrapper stands between a search and its evaluator, which is of a game or a pair, in tests. Nil changes nothing.
type wrapper func(e mcts.Evaluator, of string) mcts.Evaluator

func (w wrapper) around(e mcts.Evaluator, of string) mcts.Evaluator {
	if w == nil {
		return e
	}
	return w(e, of)
}

func (c *crew) work(ctx context.Context, parallel int) error {
	var session [8]byte // drawn, so that a worker that starts again plays other games; each game's record has its seed
	rand.Read(session[:])
	games := seed.New(binary.LittleEndian.Uint64(session[:]))
	g, inner := errgroup.WithContext(ctx)
	for i := range parallel {
		s := &seat{crew: c, games: games.Child("seat", uint64(i))}
		g.Go(func() error { return guard(c.log, func() error { return s.run(inner) }) })
	}
	if err := g.Wait(); ctx.Err() == nil {
		return err
	}
	return nil
}

// A seat plays one game at a time.
type seat struct {
	*crew
	games seed.Seed // the seat's own
	n     uint64    // games begun

	plan    Plan
	model   data.ModelID
	player  *selfplay.Player // of plan and model
	eval    *infer.Evaluator
	counted int64 // evaluations of eval that are counted
}

func (s *seat) run(ctx context.Context) error {
	for ctx.Err() == nil {
		lease, ok, err := s.worker.NextJob(ctx)
		if err != nil {
			return err
		}
		if ok {
			err := s.try("pair", func() error { return s.pair(ctx, lease) })
			if errors.As(err, new(*crash.Error)) {
				err = errors.Join(err, lease.Release())
			}
			if err != nil && ctx.Err() == nil {
				s.log.Warn("pair is given back", "job", lease.Job.ID, "error", err)
			}
		} else if err := s.try("game", func() error { return s.game(ctx) }); err != nil && !errors.As(err, new(*crash.Error)) {
			return err
		}
		if n := s.counts.lost.Load(); n >= maxPanics {
			return fmt.Errorf("%d games ended in a panic and none was finished between them: see the stacks in the log", n)
		}
	}
	return nil
}

// maxPanics is how many games may be lost to panics without one that is finished: a worker with more gets nowhere.
const maxPanics = 10

// try plays with f. A panic is logged, counted and told; what it happened in is not used again.
func (s *seat) try(what string, f func() error) error {
	err := guard(s.log, f)
	if p := (*crash.Error)(nil); errors.As(err, &p) {
		s.player = nil
		s.counts.Panics.Add(1)
		s.counts.lost.Add(1)
		s.tell(what+" lost", "error", p)
	} else if err == nil {
		s.counts.lost.Store(0)
	}
	return err
}

// game plays one game of self-play and delivers it.
func (s *seat) game(ctx context.Context) error {
	m, id := s.worker.Manifest(), s.worker.Best()
	if err := s.prepare(ctx, m, id); err != nil {
		return err
	}
	id = s.model
	s.n++
	rec, err := s.player.Game(ctx, m.Variant, s.games.Child("game", s.n).Uint64())
	if err != nil {
		return err
	}
	s.count(s.eval, &s.counted)
	rec.White, rec.Black, rec.Build, rec.Worker = id, id, s.build, s.worker.Name()
	if err := s.worker.Put(ctx, rec); err != nil {
		return err
	}
	s.counts.Games.Add(1)
	return nil
}

// count adds to the total what an evaluator, if any, has done since it was last counted.
func (s *seat) count(e *infer.Evaluator, counted *int64) {
	if e == nil {
		return
	}
	n, _ := e.Counts()
	s.counts.Evaluations.Add(n - *counted)
	*counted = n
}

// prepare makes the player that the plan and the best model ask for, unless it is there.
func (s *seat) prepare(ctx context.Context, m fleet.Manifest, id data.ModelID) error {
	plan, err := planOf(m)
	if err != nil {
		return err
	}
	if s.player != nil && id == s.model && plan == s.plan {
		return nil
	}
	var judge mcts.Evaluator = mcts.Uniform{} // while there is no model
	var eval *infer.Evaluator
	if id != (data.ModelID{}) {
		p := plan.Infer
		p.Seed = s.games.Child("symmetry", s.n).Uint64() // seats and models differ in how they see a position
		eval, err = s.evaluator(ctx, id, p)
		switch {
		case err != nil && s.player != nil && ctx.Err() == nil:
			s.log.Warn("the best model is out of reach: playing on with the one before", "model", registry.ID(id).Short(), "error", err)
			return nil
		case err != nil:
			return err
		}
		judge = eval
	}
	player, err := selfplay.New(mcts.New(s.wrap.around(judge, "game"), plan.Search), plan.SelfPlay)
	if err != nil {
		return err
	}
	s.plan, s.model, s.player, s.eval, s.counted = plan, id, player, eval, 0
	return nil
}

// evaluator makes a network of a model.
func (s *seat) evaluator(ctx context.Context, id data.ModelID, p infer.Params) (*infer.Evaluator, error) {
	program, err := s.program(ctx, id, p)
	if err != nil {
		return nil, err
	}
	return infer.New(program, p), nil
}

// keptPrograms is how many compiled models a process keeps: the best one, the candidate, and the two that they replace.
const keptPrograms = 4

// A compiled is a model as a Program for games of a Variant. The Program is cloned only, never run.
type compiled struct {
	id      data.ModelID
	variant rules.Variant
	int8    bool
	program *net.Program
}

// program returns a model's Program, which the caller may use alone. Compiling in 8-bit integers takes as long as some
// games of a pair do, so that a model is compiled once and not for every pair and seat.
func (c *crew) program(ctx context.Context, id data.ModelID, p infer.Params) (*net.Program, error) {
	want := compiled{id: id, variant: c.worker.Manifest().Variant, int8: p.Int8}
	find := func() *net.Program {
		for _, k := range c.programs {
			if k.id == want.id && k.variant == want.variant && k.int8 == want.int8 {
				return k.program.Clone()
			}
		}
		return nil
	}
	c.mu.Lock()
	program := find()
	c.mu.Unlock()
	if program != nil {
		return program, nil
	}
	b, err := c.worker.Model(ctx, id)
	if err != nil {
		return nil, err
	}
	w, err := net.Read(b)
	if err == nil {
		want.program, err = p.Compile(w, want.variant)
	}
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", registry.ID(id).Short(), err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if program := find(); program != nil { // another seat was faster
		return program, nil
	}
	if len(c.programs) == keptPrograms {
		c.programs = slices.Delete(c.programs, 0, 1)
	}
	c.programs = append(c.programs, want)
	return want.program.Clone(), nil
}

// pair plays a job's pair and delivers it. A pair that ctx interrupts is given back.
func (s *seat) pair(ctx context.Context, lease *fleet.Lease) (err error) {
	job := lease.Job
	plan, err := planOf(s.worker.Manifest())
	if err != nil {
		return err
	}
	var evals []*infer.Evaluator
	seat := func(name string) (arena.Player, error) {
		if id, err := data.ParseModelID(name); err == nil {
			p := plan.Infer
			p.Symmetry = false
			eval, err := s.evaluator(ctx, id, p)
			if err != nil {
				return nil, err
			}
			evals = append(evals, eval)
			return arena.NewSearch(mcts.New(s.wrap.around(eval, "pair"), plan.Match), job.Simulations)
		}
		spec, err := arena.ParseSpec(name)
		if err != nil {
			return nil, err
		}
		maker, err := spec.Maker(func(arena.Spec) (arena.Maker, error) {
			return nil, fmt.Errorf("player %s: want a model's id, random, greedy or uct:SIMULATIONS", name)
		})
		if err != nil {
			return nil, err
		}
		return maker()
	}
	a, err := seat(job.A)
	if err != nil {
		return errors.Join(err, lease.Release())
	}
	b, err := seat(job.B)
	if err != nil {
		return errors.Join(err, lease.Release())
	}
	opening, games := arena.NewPair(job.Variant, job.Seed, job.Pair)
	res, err := arena.PlayPair(ctx, a, b, job.Variant, games, opening)
	for _, e := range evals {
		s.count(e, new(int64))
	}
	if err != nil {
		return errors.Join(err, lease.Release())
	}
	out := fleet.JobResult{Job: job, Points: res.Points()}
	for i, g := range res.Games {
		b, err := gameRecord(job, g, i, s.build, s.worker.Name()).AppendBinary(nil)
		if err != nil {
			return errors.Join(err, lease.Release())
		}
		out.Games = append(out.Games, b)
	}
	if err := lease.Done(ctx, out); err != nil {
		return err
	}
	s.counts.Pairs.Add(1)
	return nil
}

// gameRecord is a game of a pair in the form in which games travel. A has White in the first.
func gameRecord(job fleet.Job, g arena.Game, i int, build, worker string) *data.Record {
	r := &data.Record{Variant: job.Variant, Seed: job.Seed, Build: build, Worker: worker, Result: g.Result}
	r.White, _ = data.ParseModelID(job.A) // a player that is no model has no ID
	r.Black, _ = data.ParseModelID(job.B)
	if i == 1 {
		r.White, r.Black = r.Black, r.White
	}
	pos := rules.New(job.Variant)
	for _, m := range g.Moves {
		r.Plies = append(r.Plies, data.Ply{Move: m, Kind: data.Opening})
		pos.Play(m)
	}
	r.Final = pos.Hash()
	return r
}
