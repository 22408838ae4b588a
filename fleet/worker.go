package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/singleflight"

	"yinshzero/data"
	"yinshzero/registry"
)

// WorkerParams says who a worker is and where it keeps things.
type WorkerParams struct {
	Run   string // the run's name; Hub.Join and Creds fill it in
	Name  string // the worker's own, unique in the run: letters, digits, - and _; Creds fill it in
	URL   string // the hub's address, such as tls://host:4222; not for Hub.Join
	Creds string // file of Credentials; empty for a server that asks for none. Not for Hub.Join

	Models     string // directory for models, in the registry's naming, which may be the registry's own; empty keeps none
	ModelBytes int64  // what Models may hold: the models fetched longest ago go first; 0 keeps all, as a registry must
	Spool      string // directory for games while the hub is out of reach; empty keeps none, and Put waits
	SpoolBytes int64  // what Spool may hold; 0 means 64 MiB

	Log *slog.Logger // nil drops everything
}

// Validate returns every fault of p.
func (p *WorkerParams) Validate() error {
	errs := []error{CheckName("run", p.Run), CheckName("name", p.Name)}
	if p.SpoolBytes < 0 || p.ModelBytes < 0 {
		errs = append(errs, fmt.Errorf("spool bytes %d, model bytes %d: want 0 or more", p.SpoolBytes, p.ModelBytes))
	}
	return errors.Join(errs...)
}

// ErrClosed reports a worker that was closed, or that the hub turned away for good.
var ErrClosed = errors.New("the worker is closed")

// workerPrefix begins the name of a worker's connection.
const workerPrefix = "worker "

// A Worker is the other end of the fleet: it learns what to play, delivers games and takes jobs. Its methods may be called
// from any goroutine. When the hub is out of reach a Worker goes on with what it knows and connects again by itself.
type Worker struct {
	p     WorkerParams
	n     names
	nc    *nats.Conn
	js    jetstream.JetStream
	keys  jetstream.KeyValue
	store jetstream.ObjectStore
	jobs  jetstream.Consumer
	spool *spool
	pulse *pulse

	life    context.Context // ends with Close: for the goroutines and to wake those who wait
	stop    context.CancelFunc
	wg      sync.WaitGroup
	rewatch chan struct{} // one message after each reconnection
	fetches singleflight.Group
	respite time.Duration // from Release until the job is handed out again

	mu       sync.Mutex
	lost     chan struct{} // closed and replaced when the connection is lost
	warned   time.Time     // when complain last logged
	manifest Manifest
	err      error // why the manifest does not want this worker
	best     data.ModelID
	ready    bool          // a manifest has come
	changed  chan struct{} // closed and replaced when one of the four above changes
	rng      *rand.Rand    // of waits; seeded by the name, so that workers spread out
}

// Join connects to a hub and waits, until ctx is done, for the run and its manifest. It fails with ErrTooOld if the run
// does not want this program. Close ends it.
func Join(ctx context.Context, p WorkerParams) (*Worker, error) {
	if p.URL == "" {
		return nil, errors.New("join: want the hub's URL")
	}
	opts := []nats.Option{nats.RetryOnFailedConnect(true)}
	if p.Creds != "" {
		c, err := ReadCredentials(p.Creds)
		if err != nil {
			return nil, fmt.Errorf("join: %w", err)
		}
		if (p.Run != "" && p.Run != c.Run) || (p.Name != "" && p.Name != c.Worker) {
			return nil, fmt.Errorf("join: credentials %s are for worker %s of run %s, not for %s of %s", p.Creds, c.Worker, c.Run, p.Name, p.Run)
		}
		p.Run, p.Name = c.Run, c.Worker
		secret, err := c.options()
		if err != nil {
			return nil, fmt.Errorf("join: %w", err)
		}
		opts = append(opts, secret...)
	}
	return join(ctx, p, opts...)
}

// Join connects a worker of the hub's own process.
func (h *Hub) Join(ctx context.Context, p WorkerParams) (*Worker, error) {
	p.Run, p.URL = h.p.Run, h.p.URL
	if p.Log == nil {
		p.Log = h.p.Log
	}
	return join(ctx, p, h.own...)
}

func join(ctx context.Context, p WorkerParams, opts ...nats.Option) (*Worker, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	if p.SpoolBytes == 0 {
		p.SpoolBytes = 64 << 20
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	seed := fnv.New64a()
	seed.Write([]byte(p.Name))
	w := &Worker{
		p: p, n: names{p.Run}, pulse: newPulse(),
		rewatch: make(chan struct{}, 1),
		changed: make(chan struct{}),
		lost:    make(chan struct{}),
		respite: releaseDelay,
		rng:     rand.New(rand.NewPCG(seed.Sum64(), 0)),
	}
	w.life, w.stop = context.WithCancel(context.Background())
	if err := w.open(ctx, opts); err != nil {
		return nil, errors.Join(fmt.Errorf("join run %s: %w", p.Run, err), w.Close())
	}
	return w, nil
}

func (w *Worker) open(ctx context.Context, opts []nats.Option) error {
	var err error
	if w.p.Spool != "" {
		if w.spool, err = openSpool(w.p.Spool, w.p.SpoolBytes); err != nil {
			return err
		}
	}
	opts = slices.Concat(connOptions(workerPrefix+w.p.Name), opts, []nats.Option{
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { w.disconnected(err) }),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
			if w.life.Err() == nil && !errors.Is(err, nats.ErrNoServers) { // which does not tell why, as the next will
				w.complain("the hub is out of reach", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			w.p.Log.Info("connected to the hub again")
			select {
			case w.rewatch <- struct{}{}:
			default:
			}
		}),
		nats.ClosedHandler(func(*nats.Conn) { w.stop() }),
	})
	if w.nc, err = nats.Connect(w.p.URL, opts...); err != nil {
		return err
	}
	if w.js, err = jetstream.New(w.nc); err != nil {
		return err
	}
	// The hub may be started later than its workers.
	var info *jetstream.ConsumerInfo
	for wait := minWait; ; wait = w.longer(wait) {
		if info, err = w.bind(ctx); err == nil {
			break
		}
		if w.nc.LastError() != nil {
			err = errors.Join(err, w.nc.LastError())
		}
		if w.nc.IsConnected() { // else each attempt to connect tells why not
			w.complain("the hub does not have the run yet", err)
		}
		if werr := w.wait(ctx, wait); werr != nil {
			return errors.Join(werr, err)
		}
	}
	w.wg.Go(func() { w.pulse.run(w.life, info.Config.AckWait/3) })
	w.wg.Go(func() { w.watch(w.life) })
	for {
		w.mu.Lock()
		ready, bad, changed := w.ready, w.err, w.changed
		w.mu.Unlock()
		if bad != nil {
			return bad
		}
		if ready {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the run has no manifest: %w", ctx.Err())
		case <-w.life.Done():
			return w.closed()
		}
	}
}

// bind finds the run's stores.
func (w *Worker) bind(ctx context.Context) (*jetstream.ConsumerInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var err error
	if w.keys, err = w.js.KeyValue(ctx, w.n.keys()); err != nil {
		return nil, fmt.Errorf("find the run's keys: %w", err)
	}
	if w.store, err = w.js.ObjectStore(ctx, w.n.models()); err != nil {
		return nil, fmt.Errorf("find the run's models: %w", err)
	}
	if w.jobs, err = w.js.Consumer(ctx, w.n.jobs(), workers); err != nil {
		return nil, fmt.Errorf("find the run's jobs: %w", err)
	}
	return w.jobs.CachedInfo(), nil
}

const (
	callTimeout = 5 * time.Second // for the hub's word on one message
	minWait     = 20 * time.Millisecond
	maxWait     = 5 * time.Second
)

// complainEvery is the time between two lines about a trouble that lasts.
const complainEvery = time.Minute

// complain logs that the hub does not do as it should, at once and then every minute.
func (w *Worker) complain(what string, err error) {
	w.mu.Lock()
	now := time.Now()
	due := w.warned.IsZero() || now.Sub(w.warned) >= complainEvery
	if due {
		w.warned = now
	}
	w.mu.Unlock()
	if due {
		w.p.Log.Warn(what, "error", err)
	}
}

// disconnected wakes those who wait for a download.
func (w *Worker) disconnected(err error) {
	if w.life.Err() != nil {
		return
	}
	w.p.Log.Warn("the connection to the hub is lost", "error", err)
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.lost)
	w.lost = make(chan struct{})
}

// longer returns the next wait of a series: doubled, within bounds.
func (w *Worker) longer(wait time.Duration) time.Duration { return min(2*wait, maxWait) }

// wait waits between half of d and d, or fails when ctx or the worker ends.
func (w *Worker) wait(ctx context.Context, d time.Duration) error {
	w.mu.Lock()
	d = d/2 + time.Duration(w.rng.Int64N(int64(d/2)+1))
	w.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-w.life.Done():
		return w.closed()
	}
}

// closed says why the worker is at its end.
func (w *Worker) closed() error {
	if w.nc != nil {
		if err := w.nc.LastError(); err != nil {
			return fmt.Errorf("%w: %w", ErrClosed, err)
		}
	}
	return ErrClosed
}

// watch follows the manifest and the best model until ctx is done. It starts anew after each reconnection, because the
// server may have started with an empty store.
func (w *Worker) watch(ctx context.Context) {
	for wait := minWait; ctx.Err() == nil; {
		watcher, err := w.keys.WatchAll(ctx)
		if err != nil {
			select {
			case <-w.rewatch:
			default:
				if w.wait(ctx, wait) != nil {
					return
				}
				wait = w.longer(wait)
			}
			continue
		}
		wait = minWait
		w.follow(ctx, watcher)
		_ = watcher.Stop() // its end is all that matters
	}
}

// follow takes a watcher's updates until ctx is done, the watcher ends or the connection was renewed.
func (w *Worker) follow(ctx context.Context, watcher jetstream.KeyWatcher) {
	for {
		select {
		case e, ok := <-watcher.Updates():
			if !ok {
				return
			}
			if e != nil { // nil separates what was there from what comes
				w.update(e)
			}
		case <-w.rewatch:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (w *Worker) update(e jetstream.KeyValueEntry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case e.Operation() != jetstream.KeyValuePut:
		return // the run deletes nothing; keep what is known
	case e.Key() == manifestKey:
		var m Manifest
		if err := json.Unmarshal(e.Value(), &m); err != nil {
			w.err = fmt.Errorf("read manifest: %w", err)
		} else {
			w.manifest, w.err, w.ready = m, m.check(), true
		}
	case e.Key() == bestKey:
		id, err := data.ParseModelID(string(e.Value()))
		if err != nil {
			w.p.Log.Warn("best model is unreadable", "error", err)
			return
		}
		w.best = id
	default:
		return
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// Close gives back the jobs in hand and ends the connection. Games in the spool stay there.
func (w *Worker) Close() error {
	w.stop()
	w.wg.Wait()
	if w.nc == nil || w.nc.IsClosed() {
		return nil
	}
	defer w.nc.Close()
	w.pulse.release()
	if w.nc.IsConnected() {
		if err := w.nc.FlushTimeout(callTimeout); err != nil {
			return fmt.Errorf("close worker: %w", err)
		}
	}
	return nil
}

// Name returns the worker's name.
func (w *Worker) Name() string { return w.p.Name }

// Manifest returns what to play.
func (w *Worker) Manifest() Manifest {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.manifest
}

// Best returns the model to play the next game with. The zero ID says that there is no model yet: play with the uniform
// evaluator.
func (w *Worker) Best() data.ModelID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.best
}

// WaitBest waits until the best model is another than was, and returns it.
func (w *Worker) WaitBest(ctx context.Context, was data.ModelID) (data.ModelID, error) {
	for {
		w.mu.Lock()
		best, changed := w.best, w.changed
		w.mu.Unlock()
		if best != was {
			return best, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return data.ModelID{}, ctx.Err()
		case <-w.life.Done():
			return data.ModelID{}, w.closed()
		}
	}
}

// Err returns why the worker should stop: ErrTooOld once the run asks for a newer program, ErrClosed at its end, else nil.
func (w *Worker) Err() error {
	if w.life.Err() != nil {
		return w.closed()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// downloadTimeout bounds the download of a model, which may be large and the line slow.
const downloadTimeout = 10 * time.Minute

// Model returns a model's bytes, checked against its ID: from the worker's disk if it has them, else from the hub. Callers
// that ask for the same model at the same time share one download and its bytes, which must not be changed. It fails when
// the hub is out of reach; a download that takes ten minutes is given up.
func (w *Worker) Model(ctx context.Context, id data.ModelID) ([]byte, error) {
	w.mu.Lock()
	lost := w.lost
	w.mu.Unlock()
	rid := registry.ID(id)
	key := rid.String()
	fetched := w.fetches.DoChan(key, func() (any, error) { return w.fetch(rid) })
	var err error
	select {
	case f := <-fetched:
		if f.Err != nil {
			return nil, f.Err
		}
		return f.Val.([]byte), nil
	case <-lost:
		w.fetches.Forget(key) // what hangs is not waited for again
		err = nats.ErrDisconnected
	case <-ctx.Done():
		err = ctx.Err()
	case <-w.life.Done():
		err = w.closed()
	}
	return nil, fmt.Errorf("fetch model %s: %w", rid.Short(), err)
}

// fetch is Model for all who ask at the same time.
func (w *Worker) fetch(rid registry.ID) ([]byte, error) {
	if w.p.Models != "" {
		b, err := registry.ReadFile(w.p.Models, rid)
		if err == nil {
			return b, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			w.p.Log.Warn("model on disk is unusable; fetching it again", "error", err)
		}
	}
	ctx, cancel := context.WithTimeout(w.life, downloadTimeout) // without a deadline the store gives up after seconds
	defer cancel()
	b, err := w.store.GetBytes(ctx, rid.String())
	if err != nil {
		return nil, fmt.Errorf("fetch model %s: %w", rid.Short(), err)
	}
	if got := registry.IDOf(b); got != rid {
		return nil, fmt.Errorf("fetch model %s: the hub's bytes hash to %s: they were tampered with or damaged", rid.Short(), got.Short())
	}
	if w.p.Models != "" {
		if _, err := registry.WriteFile(w.p.Models, b); err != nil {
			w.p.Log.Warn("model cannot be kept on disk", "error", err)
		} else if err := w.forget(rid); err != nil {
			w.p.Log.Warn("old models cannot be removed from disk", "error", err)
		}
	}
	return b, nil
}

// forget removes the models fetched longest ago, though not keep, until the others fit.
func (w *Worker) forget(keep registry.ID) error {
	if w.p.ModelBytes == 0 {
		return nil
	}
	entries, err := os.ReadDir(w.p.Models)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !registry.IsFileName(e.Name()) {
			continue // gone, or not ours
		}
		total += info.Size()
		if e.Name() != registry.FileName(keep) {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range files {
		if total <= w.p.ModelBytes {
			break
		}
		if err := os.Remove(filepath.Join(w.p.Models, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= f.Size()
	}
	return nil
}

// Put delivers a game. It returns nil when the hub has it on disk, or when it is in the worker's spool because the hub is
// out of reach, in trouble of its own (its disk is full) or refused the game, or because ctx is done: a later Put or Flush
// delivers it. While the hub is full, or out of reach or in trouble with no room in the spool, Put waits. The same game put
// twice arrives once.
func (w *Worker) Put(ctx context.Context, r *data.Record) error {
	b, hash, err := encodeGame(r)
	if err != nil {
		return err
	}
	if err := w.spool.drain(func(hash string, b []byte) error { return w.send(ctx, hash, b) }); err != nil && !isAway(err) {
		w.complain("spooled games cannot be delivered", err)
	}
	for wait := minWait; ; wait = w.longer(wait) {
		err := w.send(ctx, hash, b)
		if err == nil {
			return nil
		}
		w.complain("the hub does not take games", err)
		if isFull(err) || isAway(err) {
			if !isFull(err) && w.keep(hash, b) {
				return nil
			}
			if err = w.wait(ctx, wait); err == nil {
				continue
			}
		}
		if w.keep(hash, b) {
			return nil
		}
		return fmt.Errorf("deliver game: %w", err)
	}
}

// keep puts a game into the spool if it can.
func (w *Worker) keep(hash string, b []byte) bool {
	kept, err := w.spool.add(hash, b)
	if err != nil {
		w.complain("game cannot be spooled", err)
	}
	return kept
}

// Flush delivers the games in the spool, and waits for the hub until ctx is done.
func (w *Worker) Flush(ctx context.Context) error {
	for wait := minWait; ; wait = w.longer(wait) {
		err := w.spool.drain(func(hash string, b []byte) error { return w.send(ctx, hash, b) })
		n := w.spool.count()
		if n == 0 {
			return nil
		}
		if werr := w.wait(ctx, wait); werr != nil {
			return fmt.Errorf("flush spool: %d games are left: %w", n, errors.Join(werr, err))
		}
	}
}

// Spooled returns how many games are in the spool.
func (w *Worker) Spooled() int { return w.spool.count() }

// send tries once to deliver a game.
func (w *Worker) send(ctx context.Context, hash string, b []byte) error {
	return w.publish(ctx, w.n.gameSubject(w.p.Name), hash, b)
}

func (w *Worker) publish(ctx context.Context, subject, msgID string, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := w.js.Publish(ctx, subject, b, jetstream.WithMsgID(msgID), jetstream.WithRetryAttempts(0))
	return err
}

// isAway reports whether an error says that the hub is out of reach, or may be, or has a trouble of its own, such as a full
// disk, rather than that it refused.
func isAway(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) && api.Code >= 500 && !isFull(err) {
		return true
	}
	for _, e := range []error{
		context.DeadlineExceeded, context.Canceled, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrConnectionClosed,
		nats.ErrReconnectBufExceeded, nats.ErrDisconnected, nats.ErrConnectionReconnecting, jetstream.ErrNoStreamResponse,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// A Lease is a job in a worker's hands. Heartbeats keep it until Done or Release.
type Lease struct {
	Job Job

	w   *Worker
	d   Delivery
	key string // names this putting of the job: its results are the same result
}

// NextJob takes a job. It returns false at once if none is waiting or the hub is out of reach; a job just put may take a
// moment to be handed out. It fails when the worker should stop: see Err.
func (w *Worker) NextJob(ctx context.Context) (*Lease, bool, error) {
	for {
		if err := errors.Join(ctx.Err(), w.Err()); err != nil {
			return nil, false, fmt.Errorf("next job: %w", err)
		}
		if !w.nc.IsConnected() {
			return nil, false, nil
		}
		batch, err := w.jobs.FetchNoWait(1)
		if err != nil {
			return nil, false, nil
		}
		msg, ok := <-batch.Messages()
		if !ok {
			return nil, false, nil
		}
		l := &Lease{w: w, d: newDelivery(msg, w.pulse)}
		meta, err := msg.Metadata()
		if err == nil {
			err = json.Unmarshal(msg.Data(), &l.Job)
		}
		if err == nil {
			err = l.Job.Validate()
		}
		if err == nil {
			l.key = fmt.Sprintf("%s.%d", l.Job.ID, meta.Sequence.Stream)
			return l, true, nil
		}
		w.p.Log.Warn("job is unreadable", "error", err)
		if err := l.d.Term(clip(err.Error())); err != nil {
			return nil, false, nil
		}
	}
}

// Done sends the job's result and gives the lease up. The result's Job and Worker are filled in. It waits for the hub until
// ctx is done; then the job is lost to this worker and another will play it.
func (l *Lease) Done(ctx context.Context, r JobResult) error {
	r.Job, r.Worker = l.Job, l.w.p.Name
	if err := r.Validate(); err != nil {
		return errors.Join(fmt.Errorf("job %s: %w", l.Job.ID, err), l.Release())
	}
	b, err := json.Marshal(r)
	if err != nil {
		return errors.Join(fmt.Errorf("job %s: %w", l.Job.ID, err), l.Release())
	}
	for wait := minWait; ; wait = l.w.longer(wait) {
		err := l.w.publish(ctx, l.w.n.resultSubject(l.w.p.Name), l.key, b)
		if err == nil {
			break
		}
		l.w.complain("the hub does not take results", err)
		if !isFull(err) && !isAway(err) {
			return errors.Join(fmt.Errorf("job %s: send result: %w", l.Job.ID, err), l.Release())
		}
		if werr := l.w.wait(ctx, wait); werr != nil {
			return errors.Join(fmt.Errorf("job %s: send result: %w", l.Job.ID, werr), l.Release())
		}
	}
	if err := l.d.Ack(ctx); err != nil {
		l.w.p.Log.Debug("job is done but not acknowledged; it may be played again", "job", l.Job.ID, "error", err)
	}
	return nil
}

// releaseDelay keeps a job that always fails from being taken again and again without a pause.
const releaseDelay = 2 * time.Second

// Release gives the job back, for another worker or a later time: it is handed out again after two seconds. Worker.Close
// gives back what is still held at once.
func (l *Lease) Release() error { return l.d.nakAfter(l.w.respite) }
