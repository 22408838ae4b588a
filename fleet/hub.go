package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"yinshzero/data"
	"yinshzero/registry"
)

// HubParams says where a run's hub is and how much it holds.
type HubParams struct {
	Run string // the run's name: letters, digits, - and _

	Dir    string // the embedded server's store; made if need be. One process at a time may use it
	Listen string // host:port for workers of other machines; empty opens no port
	Keys   string // directory of the hub's certificate and of the list of workers allowed in; needed to listen

	URL   string // an existing NATS server instead of the embedded one; excludes Dir and Listen
	Creds string // file of Credentials for that server; empty for none

	Replicas   int           // copies of everything: 1, or 3 with a URL of three or more servers
	MaxGames   int64         // bytes of games waiting to be taken in; when they are reached workers wait. 1 MiB to 1 EiB
	AckWait    time.Duration // a message is delivered again if its holder is silent for so long; at least 100 ms
	MaxDeliver int           // after so many deliveries a message is a dead letter; at least 1

	Log *slog.Logger // nil drops everything
}

// DefaultHubParams returns HubParams in which only Run and Dir or URL are missing.
func DefaultHubParams() HubParams {
	return HubParams{Replicas: 1, MaxGames: 256 << 20, AckWait: 30 * time.Second, MaxDeliver: 20}
}

// Validate returns every fault of p.
func (p *HubParams) Validate() error {
	errs := []error{CheckName("run", p.Run)}
	if (p.Dir == "") == (p.URL == "") {
		errs = append(errs, fmt.Errorf("dir %q, URL %q: want one of the two", p.Dir, p.URL))
	}
	if p.URL != "" && p.Listen != "" {
		errs = append(errs, errors.New("URL and listen: want at most one; an existing server opens its own ports"))
	}
	if p.Listen != "" && p.Keys == "" {
		errs = append(errs, errors.New("listen: want a directory of keys as well"))
	}
	if p.Replicas < 1 || p.Replicas > 5 || (p.URL == "" && p.Replicas != 1) {
		errs = append(errs, fmt.Errorf("replicas %d: want 1, or up to 5 with a URL", p.Replicas))
	}
	if p.MaxGames < 1<<20 || p.MaxGames > 1<<60 {
		errs = append(errs, fmt.Errorf("max games %d bytes: want 1 MiB to 1 EiB", p.MaxGames))
	}
	if p.AckWait < 100*time.Millisecond {
		errs = append(errs, fmt.Errorf("ack wait %v: want at least 100ms", p.AckWait))
	}
	if p.MaxDeliver < 1 {
		errs = append(errs, fmt.Errorf("max deliver %d: want at least 1", p.MaxDeliver))
	}
	return errors.Join(errs...)
}

// ErrBestChanged reports that another process set the best model in between.
var ErrBestChanged = errors.New("the best model is another than expected")

// A Hub is the training run's end of the fleet. Its methods may be called from any goroutine.
type Hub struct {
	p   HubParams
	n   names
	srv *server.Server // nil with a URL
	log *serverLog     // of srv
	own []nats.Option  // what proves that a connection is the hub's own
	nc  *nats.Conn
	js  jetstream.JetStream

	keys   jetstream.KeyValue
	models jetstream.ObjectStore
	jobs   jetstream.Stream

	door  *doorkeeper // nil if no port is open
	pulse *pulse
	stop  context.CancelFunc
	wg    sync.WaitGroup

	mu   sync.Mutex
	open map[jetstream.MessagesContext]struct{} // what takes messages in
}

// OpenHub starts the embedded server or connects to the one at p.URL, and makes what is missing of the run's streams and
// stores. Close ends it. One process at a time may open a run's hub.
func OpenHub(ctx context.Context, p HubParams) (*Hub, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("open hub: %w", err)
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	h := &Hub{p: p, n: names{p.Run}, pulse: newPulse(), open: map[jetstream.MessagesContext]struct{}{}}
	if err := h.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open hub: %w", err), h.Close())
	}
	beat, stop := context.WithCancel(context.Background())
	h.stop = stop
	h.wg.Go(func() { h.pulse.run(beat, p.AckWait/3) })
	if h.door != nil {
		h.wg.Go(func() { h.guard(beat) })
	}
	return h, nil
}

func (h *Hub) start(ctx context.Context) error {
	var err error
	switch {
	case h.p.URL == "":
		if h.srv, h.log, h.door, err = startServer(h.p); err != nil {
			return err
		}
		h.pulse.failed = h.log.failed
		h.own = []nats.Option{nats.InProcessServer(h.srv)}
		if h.door != nil {
			h.own = append(h.own, h.door.options()...)
		}
	case h.p.Creds != "":
		c, err := ReadCredentials(h.p.Creds)
		if err != nil {
			return err
		}
		if h.own, err = c.options(); err != nil {
			return err
		}
	}
	if h.nc, err = nats.Connect(h.p.URL, slices.Concat(connOptions("hub"), h.own)...); err != nil {
		return fmt.Errorf("connect to NATS: %w", err)
	}
	if h.js, err = jetstream.New(h.nc); err != nil {
		return err
	}
	return h.makeStores(ctx)
}

// Failed is closed when the embedded server's store could not be written, because its disk is full or broken: the hub then
// takes nothing more, and Err says why. It must be closed and opened again.
func (h *Hub) Failed() <-chan struct{} { return h.pulse.failed }

// Err returns why the hub takes nothing more, with the remedy, nil as long as Failed is open.
func (h *Hub) Err() error {
	if h.log == nil {
		return nil
	}
	return h.log.failure()
}

// sweepEvery is how soon a revoked worker's connection is cut.
const sweepEvery = 5 * time.Second

// guard cuts the connections of revoked workers until ctx is done.
func (h *Hub) guard(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			h.door.sweep(h.srv)
		}
	}
}

// URL returns the address that workers of other machines connect to; empty if the hub does not listen.
func (h *Hub) URL() string {
	if h.door != nil {
		return "tls://" + h.srv.Addr().String()
	}
	return h.p.URL
}

// connOptions returns the options of every connection: it never gives up, and keeps nothing back while it is down, so
// that a loss is seen at once.
func connOptions(name string) []nats.Option {
	return []nats.Option{
		nats.Name(name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(500*time.Millisecond, time.Second),
		nats.ReconnectBufSize(-1),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // each call reports its own error
	}
}

// maxPending is how many games may be in hand at once. It must exceed a shard's, which is acknowledged as a whole.
const maxPending = 50_000

func (h *Hub) makeStores(ctx context.Context) error {
	n, p := h.n, h.p
	streams := []jetstream.StreamConfig{{
		Name: n.games(), Subjects: []string{n.gameSubject("*")}, Retention: jetstream.WorkQueuePolicy,
		Discard: jetstream.DiscardNew, MaxBytes: p.MaxGames, MaxMsgSize: MaxGame, Duplicates: 10 * time.Minute,
	}, {
		Name: n.jobs(), Subjects: []string{n.jobSubject("*", "*")}, Retention: jetstream.WorkQueuePolicy,
		Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1, MaxMsgSize: maxJob,
	}, {
		Name: n.results(), Subjects: []string{n.resultSubject("*")}, Retention: jetstream.WorkQueuePolicy,
		Discard: jetstream.DiscardNew, MaxBytes: p.MaxGames, MaxMsgSize: maxResult, Duplicates: 10 * time.Minute,
	}, {
		Name: n.dead(), Subjects: []string{n.notice(n.games()), n.notice(n.jobs()), n.notice(n.results())},
		Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew, MaxMsgs: 100_000,
	}}
	for _, s := range streams {
		s.Storage, s.Replicas = jetstream.FileStorage, p.Replicas
		if _, err := h.js.CreateOrUpdateStream(ctx, s); err != nil {
			var api *jetstream.APIError
			if errors.As(err, &api) && api.ErrorCode == noStorage {
				err = fmt.Errorf("%w: the server must be allowed to store %d MiB of games and results: give it more, or lower the most bytes of games",
					err, 2*p.MaxGames>>20)
			}
			return fmt.Errorf("make stream %s: %w", s.Name, err)
		}
	}
	// Games and results are taken in by this process alone. Its consumers are made anew, so that what an earlier process
	// had in hand comes at once and first, before anything new.
	for stream, durable := range map[string]string{n.games(): ingest, n.results(): ingest, n.jobs(): workers, n.dead(): notices} {
		c := jetstream.ConsumerConfig{
			Durable: durable, AckPolicy: jetstream.AckExplicitPolicy, AckWait: p.AckWait,
			MaxDeliver: p.MaxDeliver, MaxAckPending: maxPending,
		}
		if durable == notices {
			c.MaxDeliver = -1
		}
		if durable == ingest {
			if err := h.js.DeleteConsumer(ctx, stream, durable); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
				return fmt.Errorf("renew consumer of %s: %w", stream, err)
			}
		}
		if _, err := h.js.CreateOrUpdateConsumer(ctx, stream, c); err != nil {
			return fmt.Errorf("make consumer of %s: %w", stream, err)
		}
	}
	var err error
	if h.keys, err = h.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: n.keys(), Storage: jetstream.FileStorage, Replicas: p.Replicas,
	}); err != nil {
		return fmt.Errorf("make bucket %s: %w", n.keys(), err)
	}
	if h.models, err = h.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
		Bucket: n.models(), Storage: jetstream.FileStorage, Replicas: p.Replicas,
	}); err != nil {
		return fmt.Errorf("make object store %s: %w", n.models(), err)
	}
	if h.jobs, err = h.js.Stream(ctx, n.jobs()); err != nil {
		return fmt.Errorf("find stream %s: %w", n.jobs(), err)
	}
	return nil
}

// Close gives back what was taken and not acknowledged, and ends the connection and the embedded server. Workers in the
// same process should be closed before.
func (h *Hub) Close() error {
	if h.stop != nil {
		h.stop()
		h.wg.Wait()
	}
	h.mu.Lock()
	for iter := range h.open {
		iter.Stop()
	}
	clear(h.open)
	h.mu.Unlock()
	var err error
	if h.nc != nil && !h.nc.IsClosed() {
		h.pulse.release()
		if h.nc.IsConnected() {
			err = h.nc.FlushTimeout(ackTimeout)
		}
		h.nc.Close()
	}
	if h.srv != nil {
		h.srv.Shutdown()
		h.srv.WaitForShutdown()
	}
	if err != nil {
		return fmt.Errorf("close hub: %w", err)
	}
	return nil
}

// PublishModel makes a model's bytes available to workers. A model published before changes nothing.
func (h *Hub) PublishModel(ctx context.Context, b []byte) (data.ModelID, error) {
	id := registry.IDOf(b)
	if len(b) == 0 || len(b) > maxModel {
		return data.ModelID{}, fmt.Errorf("publish model: %d bytes: want 1 to %d", len(b), maxModel)
	}
	if _, err := h.models.GetInfo(ctx, id.String()); err == nil {
		return data.ModelID(id), nil
	} else if !errors.Is(err, jetstream.ErrObjectNotFound) {
		return data.ModelID{}, fmt.Errorf("publish model %s: %w", id.Short(), err)
	}
	if _, err := h.models.Put(ctx, jetstream.ObjectMeta{Name: id.String()}, bytes.NewReader(b)); err != nil {
		if ctx.Err() != nil { // which the store tells as a timeout
			err = ctx.Err()
		}
		return data.ModelID{}, fmt.Errorf("publish model %s: %w", id.Short(), err)
	}
	return data.ModelID(id), nil
}

// DropModel removes a model's bytes from the hub, for models no longer played. Workers that have them keep them. A model
// that is not there is no error.
func (h *Hub) DropModel(ctx context.Context, id data.ModelID) error {
	err := h.models.Delete(ctx, id.String())
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("drop model %s: %w", registry.ID(id).Short(), err)
	}
	return nil
}

// Models returns the models that the hub has, in no order. Objects that are no models are left out.
func (h *Hub) Models(ctx context.Context) (ids []data.ModelID, err error) {
	all, err := h.models.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list models: %w", err)
	}
	for _, info := range all {
		if id, err := data.ParseModelID(info.Name); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// SetManifest tells workers what to play. Setting what is set changes nothing.
func (h *Hub) SetManifest(ctx context.Context, m Manifest) error {
	m.Protocol = Protocol
	if err := m.check(); err != nil {
		return fmt.Errorf("set manifest: %w", err)
	}
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("set manifest: %w", err)
	}
	if e, err := h.keys.Get(ctx, manifestKey); err == nil && bytes.Equal(e.Value(), b) {
		return nil
	}
	if _, err := h.keys.Put(ctx, manifestKey, b); err != nil {
		return fmt.Errorf("set manifest: %w", err)
	}
	return nil
}

// Best returns the model workers are told to play with; the zero ID if there is none yet.
func (h *Hub) Best(ctx context.Context) (data.ModelID, error) {
	id, _, err := h.best(ctx)
	if err != nil {
		return data.ModelID{}, fmt.Errorf("read best: %w", err)
	}
	return id, nil
}

func (h *Hub) best(ctx context.Context) (data.ModelID, uint64, error) {
	e, err := h.keys.Get(ctx, bestKey)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return data.ModelID{}, 0, nil
	}
	if err != nil {
		return data.ModelID{}, 0, err
	}
	id, err := data.ParseModelID(string(e.Value()))
	return id, e.Revision(), err
}

// SetBest tells workers to play with the model id from their next game on, provided the best is still was (the zero ID if
// there is none); otherwise it fails with ErrBestChanged. The model must have been published. Setting what is set changes
// nothing.
func (h *Hub) SetBest(ctx context.Context, was, id data.ModelID) error {
	short := registry.ID(id).Short()
	now, revision, err := h.best(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("set best %s: %w", short, err)
	case now == id:
		return nil
	case now != was:
		return fmt.Errorf("set best %s: %w: it is %s, not %s", short, ErrBestChanged, registry.ID(now).Short(), registry.ID(was).Short())
	}
	if _, err := h.models.GetInfo(ctx, id.String()); err != nil {
		return fmt.Errorf("set best %s: publish the model first: %w", short, err)
	}
	_, err = h.keys.Update(ctx, bestKey, []byte(id.String()), revision)
	if errors.Is(err, jetstream.ErrKeyRevisionMismatch) || errors.Is(err, jetstream.ErrKeyExists) {
		return fmt.Errorf("set best %s: %w", short, ErrBestChanged)
	}
	if err != nil {
		return fmt.Errorf("set best %s: %w", short, err)
	}
	return nil
}

// PutJobs hands jobs to the workers. A job that is waiting or being played already is left as it is, so putting the same
// jobs again is harmless; a job whose result has arrived is played again.
func (h *Hub) PutJobs(ctx context.Context, jobs ...Job) error {
	for i := range jobs {
		j := &jobs[i]
		if err := j.Validate(); err != nil {
			return fmt.Errorf("put job: %w", err)
		}
		b, err := json.Marshal(j)
		if err != nil {
			return fmt.Errorf("put job %s: %w", j.ID, err)
		}
		if _, err := h.js.Publish(ctx, h.n.jobSubject(j.Gate, j.ID), b); err != nil && !isFull(err) {
			return fmt.Errorf("put job %s: %w", j.ID, err)
		}
	}
	return nil
}

// PurgeJobs takes back all jobs of a gate that is decided. Workers in the middle of one may still send its result.
func (h *Hub) PurgeJobs(ctx context.Context, gate string) error {
	if err := CheckName("gate", gate); err != nil {
		return fmt.Errorf("purge jobs: %w", err)
	}
	if err := h.jobs.Purge(ctx, jetstream.WithPurgeSubject(h.n.jobSubject(gate, "*"))); err != nil {
		return fmt.Errorf("purge jobs of gate %s: %w", clip(gate), err)
	}
	return nil
}

// Codes of the server.
const (
	storeFailed = 10077 // a message could not be stored; a stream's limits are one reason
	noStorage   = 10047 // a stream may become larger than the server's limit leaves room for
)

// isFull reports whether a stream refused a message because of its limits.
func isFull(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && api.ErrorCode == storeFailed && strings.HasPrefix(api.Description, "maximum ")
}

// Status is what a hub holds at a moment.
type Status struct {
	Games, GamesHeld     int      `json:",omitempty"` // waiting or in hand; of these, taken and not acknowledged
	GameBytes            int64    `json:",omitempty"`
	Jobs, JobsHeld       int      `json:",omitempty"` // waiting or being played; of these, being played
	Results, ResultsHeld int      `json:",omitempty"`
	Workers              []string // names of the connected workers, of an embedded server only
}

// Status asks the server.
func (h *Hub) Status(ctx context.Context) (Status, error) {
	var s Status
	for _, q := range []struct {
		stream, durable string
		all, held       *int
		bytes           *int64
	}{
		{h.n.games(), ingest, &s.Games, &s.GamesHeld, &s.GameBytes},
		{h.n.jobs(), workers, &s.Jobs, &s.JobsHeld, nil},
		{h.n.results(), ingest, &s.Results, &s.ResultsHeld, nil},
	} {
		stream, err := h.js.Stream(ctx, q.stream)
		if err != nil {
			return Status{}, fmt.Errorf("hub status: %s: %w", q.stream, err)
		}
		state := stream.CachedInfo().State
		*q.all = int(state.Msgs)
		if q.bytes != nil {
			*q.bytes = int64(state.Bytes)
		}
		c, err := stream.Consumer(ctx, q.durable)
		if err != nil {
			return Status{}, fmt.Errorf("hub status: %s: %w", q.stream, err)
		}
		*q.held = c.CachedInfo().NumAckPending
	}
	if h.srv != nil {
		conns, err := h.srv.Connz(&server.ConnzOptions{Limit: 10_000})
		if err != nil {
			return Status{}, fmt.Errorf("hub status: %w", err)
		}
		for _, c := range conns.Conns {
			if name, ok := strings.CutPrefix(c.Name, workerPrefix); ok {
				s.Workers = append(s.Workers, name)
			}
		}
	}
	return s, nil
}
