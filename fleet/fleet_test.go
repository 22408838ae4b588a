package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"yinshzero/data"
	"yinshzero/registry"
	"yinshzero/rules"
)

// record returns a short random game, another for each seed.
func record(t testing.TB, seed uint64) *data.Record {
	t.Helper()
	v := rules.Mini()
	rng := rand.New(rand.NewPCG(seed, 1))
	r := &data.Record{Variant: v, Seed: seed, Build: "test", Worker: "w"}
	pos := rules.New(v)
	var moves []rules.Move
	for {
		if res, over := pos.Result(); over {
			r.Result, r.Final = res, pos.Hash()
			break
		}
		moves = pos.AppendMoves(moves[:0])
		m := moves[rng.IntN(len(moves))]
		r.Plies = append(r.Plies, data.Ply{Move: m, Kind: data.Opening})
		pos.Play(m)
	}
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	return r
}

// deadline is for tests that would otherwise hang; nothing is timed.
func deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t testing.TB, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("got error %v, want one with %q", err, part)
	}
}

func params(dir string) HubParams {
	p := DefaultHubParams()
	p.Run, p.Dir = "test", dir
	p.MaxGames = 1 << 20
	return p
}

func openHub(t testing.TB, p HubParams) *Hub {
	t.Helper()
	h, err := OpenHub(deadline(t), p)
	must(t, err)
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

var manifest = Manifest{Variant: rules.Mini(), Search: []byte(`{"simulations":16}`)}

// startRun opens a hub with a manifest.
func startRun(t testing.TB, p HubParams) *Hub {
	t.Helper()
	h := openHub(t, p)
	must(t, h.SetManifest(deadline(t), manifest))
	return h
}

func joinHub(t testing.TB, h *Hub, name string) *Worker {
	t.Helper()
	w, err := h.Join(deadline(t), WorkerParams{Name: name})
	must(t, err)
	w.respite = time.Millisecond
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func games(t testing.TB, h *Hub) *Games {
	t.Helper()
	g, err := h.Games(deadline(t))
	must(t, err)
	t.Cleanup(g.Close)
	return g
}

func next(t testing.TB, g *Games) *Game {
	t.Helper()
	game, err := g.Next(deadline(t))
	must(t, err)
	return game
}

func status(t testing.TB, h *Hub) Status {
	t.Helper()
	s, err := h.Status(deadline(t))
	must(t, err)
	return s
}

// noLeak fails the test if goroutines of the fleet or of NATS are left when all else is cleaned up.
func noLeak(t *testing.T) {
	t.Cleanup(func() {
		var left string
		for range 500 {
			left = ""
			buf := make([]byte, 1<<20)
			for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
				if strings.Contains(g, "nats") && !strings.Contains(g, "noLeak") {
					left = g
				}
			}
			if left == "" {
				return
			}
			<-time.After(10 * time.Millisecond)
		}
		t.Errorf("a goroutine is left: %s", left)
	})
}

func TestGameArrivesOnce(t *testing.T) {
	noLeak(t)
	ctx := deadline(t)
	h := startRun(t, params(t.TempDir()))
	w := joinHub(t, h, "w1")
	want := record(t, 1)
	must(t, w.Put(ctx, want))
	must(t, w.Put(ctx, want))
	must(t, w.Put(ctx, record(t, 2)))
	if s := status(t, h); s.Games != 2 || s.GamesHeld != 0 || s.GameBytes == 0 || len(s.Workers) != 1 || s.Workers[0] != "w1" {
		t.Errorf("status %+v", s)
	}
	in := games(t, h)
	g := next(t, in)
	got, err := g.Record()
	must(t, err)
	if !reflect.DeepEqual(got, want) || g.Worker != "w1" || g.Deliveries != 1 {
		t.Errorf("got  %+v\nwant %+v\nfrom %s, delivery %d", got, want, g.Worker, g.Deliveries)
	}
	must(t, g.Ack(ctx))
	must(t, next(t, in).Ack(ctx))
	if s := status(t, h); s.Games != 0 {
		t.Errorf("status %+v", s)
	}
	// The game is known even after it was taken in.
	must(t, w.Put(ctx, want))
	if s := status(t, h); s.Games != 0 {
		t.Errorf("after putting the game again: status %+v", s)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := in.Next(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("next after cancel: %v", err)
	}
}

// hashes takes n games in and returns their content hashes and the games.
func take(t *testing.T, in *Games, n int) map[[32]byte]*Game {
	t.Helper()
	all := map[[32]byte]*Game{}
	for range n {
		g := next(t, in)
		r, err := g.Record()
		must(t, err)
		all[r.Hash()] = g
	}
	return all
}

func TestRestart(t *testing.T) {
	noLeak(t)
	for _, tt := range []struct {
		name string
		stop func(*Hub) // ends the first hub
	}{
		{"close", func(h *Hub) { must(t, h.Close()) }},
		{"kill", func(h *Hub) { h.srv.Shutdown(); h.srv.WaitForShutdown() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx := deadline(t)
			p := params(t.TempDir())
			p.AckWait = 200 * time.Millisecond
			h, err := OpenHub(ctx, p)
			must(t, err)
			must(t, h.SetManifest(ctx, manifest))
			w, err := h.Join(ctx, WorkerParams{Name: "w1"})
			must(t, err)
			for seed := range uint64(6) {
				must(t, w.Put(ctx, record(t, seed)))
			}
			in, err := h.Games(ctx)
			must(t, err)
			first := take(t, in, 4)
			acked := 0
			for _, g := range first {
				if acked < 2 {
					must(t, g.Ack(ctx))
					acked++
				}
			}
			tt.stop(h)
			_ = w.Close()
			_ = h.Close()

			h = openHub(t, p)
			if s := status(t, h); s.Games != 4 {
				t.Fatalf("status %+v", s)
			}
			if again := take(t, games(t, h), 4); len(again) != 4 {
				t.Errorf("%d different games, want 4", len(again))
			}
		})
	}
}

// A copy of the store taken while the server runs is what a power failure at that moment leaves.
func TestPowerFailure(t *testing.T) {
	noLeak(t)
	ctx := deadline(t)
	p := params(t.TempDir())
	h := startRun(t, p)
	w := joinHub(t, h, "w1")
	var want [][32]byte
	for seed := range uint64(5) {
		r := record(t, seed)
		must(t, w.Put(ctx, r))
		want = append(want, r.Hash())
	}
	id, err := h.PublishModel(ctx, []byte("weights"))
	must(t, err)
	must(t, h.SetBest(ctx, data.ModelID{}, id))
	must(t, h.PutJobs(ctx, job("g1", 0)))

	p.Dir = filepath.Join(t.TempDir(), "copy")
	must(t, os.CopyFS(p.Dir, os.DirFS(h.p.Dir)))
	h = openHub(t, p)
	got := take(t, games(t, h), len(want))
	for _, hash := range want {
		if got[hash] == nil {
			t.Errorf("game %x is lost", hash[:4])
		}
	}
	if best, err := h.Best(ctx); err != nil || best != id {
		t.Errorf("best is %v, %v", best, err)
	}
	w = joinHub(t, h, "w2")
	if b, err := w.Model(ctx, id); err != nil || string(b) != "weights" {
		t.Errorf("model is %q, %v", b, err)
	}
	if _, ok, err := w.NextJob(ctx); !ok || err != nil {
		t.Errorf("no job: %v", err)
	}
}

func TestWipedStoreIsRebuilt(t *testing.T) {
	noLeak(t)
	ctx := deadline(t)
	p := params(filepath.Join(t.TempDir(), "hub"))
	for range 2 { // the second time over an empty directory
		h := openHub(t, p)
		for range 2 { // each call may be repeated
			must(t, h.SetManifest(ctx, manifest))
			id, err := h.PublishModel(ctx, []byte("weights"))
			must(t, err)
			was, err := h.Best(ctx)
			must(t, err)
			must(t, h.SetBest(ctx, was, id))
			must(t, h.PutJobs(ctx, job("g1", 0), job("g1", 1)))
		}
		w := joinHub(t, h, "w1")
		if got := w.Manifest(); !reflect.DeepEqual(got.Variant, manifest.Variant) || !bytes.Equal(got.Search, manifest.Search) {
			t.Errorf("manifest %+v", got)
		}
		best, err := w.WaitBest(ctx, data.ModelID{})
		must(t, err)
		if b, err := w.Model(ctx, best); err != nil || string(b) != "weights" {
			t.Errorf("model is %q, %v", b, err)
		}
		if s := status(t, h); s.Jobs != 2 {
			t.Errorf("status %+v", s)
		}
		must(t, w.Close())
		must(t, h.Close())
		must(t, os.RemoveAll(p.Dir))
	}
}

func TestRefusedGame(t *testing.T) {
	noLeak(t)
	h := startRun(t, params(t.TempDir()))
	_, err := h.js.Publish(deadline(t), h.n.gameSubject("rogue"), []byte("no game"))
	must(t, err)
	g := next(t, games(t, h))
	if _, err := g.Record(); err == nil || g.Worker != "rogue" {
		t.Errorf("decoded, or from %q", g.Worker)
	}
	must(t, g.Term("no game"))
	must(t, h.nc.FlushWithContext(deadline(t)))
	waitStatus(t, h, func(s Status) bool { return s.Games == 0 })
}

// waitStatus asks until the status is as wanted: refusals have no answer to wait for.
func waitStatus(t *testing.T, h *Hub, ok func(Status) bool) {
	t.Helper()
	var s Status
	for range 1000 {
		if s = status(t, h); ok(s) {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatalf("status stays %+v", s)
}

func TestDeadLetter(t *testing.T) {
	noLeak(t)
	ctx := deadline(t)
	p := params(t.TempDir())
	p.MaxDeliver = 3
	h := startRun(t, p)
	notice, err := h.nc.SubscribeSync(h.n.notice(h.n.games()))
	must(t, err)
	_, err = h.js.Publish(ctx, h.n.gameSubject("rogue"), []byte("poison"))
	must(t, err)
	w := joinHub(t, h, "w1")
	must(t, w.Put(ctx, record(t, 1)))
	in := games(t, h)
	sound, seen := 0, 0
	for seen < p.MaxDeliver {
		g := next(t, in)
		if g.Worker == "w1" {
			sound++
			must(t, g.Ack(ctx))
			continue
		}
		seen++
		if g.Deliveries != seen {
			t.Errorf("delivery %d says %d", seen, g.Deliveries)
		}
		must(t, g.Nak())
	}
	_, err = notice.NextMsgWithContext(ctx)
	must(t, err)
	// What cannot be kept is not deleted.
	full := errors.New("disk full")
	for n, err := h.DeadLetters(ctx, func(DeadLetter) error { return full }); !errors.Is(err, full); n, err = h.DeadLetters(ctx, func(DeadLetter) error { return full }) {
		if n != 0 || err != nil {
			t.Fatalf("kept %d, %v", n, err)
		}
	}
	var kept []DeadLetter
	for len(kept) == 0 {
		_, err := h.DeadLetters(ctx, func(d DeadLetter) error { kept = append(kept, d); return nil })
		must(t, err)
	}
	if d := kept[0]; len(kept) != 1 || d.Stream != "games" || string(d.Data) != "poison" || workerOf(d.Subject) != "rogue" || d.Deliveries != 3 {
		t.Errorf("got %+v", kept)
	}
	if sound == 0 {
		must(t, next(t, in).Ack(ctx))
	}
	if s := status(t, h); s.Games != 0 {
		t.Errorf("status %+v", s)
	}
}

func TestFullHubMakesWorkersWait(t *testing.T) {
	noLeak(t)
	ctx := deadline(t)
	h := startRun(t, params(t.TempDir()))
	full := false
	for i := 0; !full; i++ {
		b := bytes.Repeat([]byte{byte(i)}, MaxGame-1024)
		_, err := h.js.Publish(ctx, h.n.gameSubject("filler"), b)
		if full = err != nil; full && !isFull(err) {
			t.Fatal(err)
		}
	}
	for { // up to the last byte
		_, err := h.js.Publish(ctx, h.n.gameSubject("filler"), make([]byte, 1024))
		if err != nil {
			break
		}
	}
	for {
		_, err := h.js.Publish(ctx, h.n.gameSubject("filler"), nil)
		if err != nil {
			break
		}
	}
	w := joinHub(t, h, "w1")
	short, cancel := context.WithCancel(ctx)
	refused := make(chan error)
	go func() { refused <- w.Put(short, record(t, 1)) }()
	put := make(chan error)
	go func() { put <- w.Put(ctx, record(t, 2)) }()
	cancel()
	if err := <-refused; !errors.Is(err, context.Canceled) {
		t.Errorf("put to a full hub: %v", err)
	}
	select {
	case err := <-put:
		t.Fatalf("put to a full hub returned: %v", err)
	default:
	}
	in := games(t, h)
	for done := false; !done; {
		select {
		case err := <-put:
			must(t, err)
			done = true
		default:
			g := next(t, in)
			must(t, g.Ack(ctx))
			done = g.Worker == "w1"
			if done {
				must(t, <-put)
			}
		}
	}
}

func TestBestIsSetByCompareAndSet(t *testing.T) {
	noLeak(t)
	ctx := deadline(t)
	h := startRun(t, params(t.TempDir()))
	w := joinHub(t, h, "w1")
	none := data.ModelID{}
	if w.Best() != none {
		t.Error("there is a best model at the start")
	}
	a, err := h.PublishModel(ctx, []byte("a"))
	must(t, err)
	b, err := h.PublishModel(ctx, []byte("b"))
	must(t, err)
	wantError(t, h.SetBest(ctx, none, data.ModelID{1}), "publish the model first")
	must(t, h.SetBest(ctx, none, a))
	must(t, h.SetBest(ctx, none, a))
	if got, err := w.WaitBest(ctx, none); err != nil || got != a {
		t.Errorf("best is %v, %v", got, err)
	}
	if err := h.SetBest(ctx, none, b); !errors.Is(err, ErrBestChanged) {
		t.Errorf("set over an unexpected best: %v", err)
	}
	// Of two that both expect a, one wins.
	c, err := h.PublishModel(ctx, []byte("c"))
	must(t, err)
	errs := make(chan error)
	for _, id := range []data.ModelID{b, c} {
		go func() { errs <- h.SetBest(ctx, a, id) }()
	}
	one, two := <-errs, <-errs
	if (one == nil) == (two == nil) || !errors.Is(errors.Join(one, two), ErrBestChanged) {
		t.Errorf("two at once: %v, %v", one, two)
	}
	if got, err := w.WaitBest(ctx, a); err != nil || (got != b && got != c) {
		t.Errorf("best is %v, %v", got, err)
	}
}

func TestModels(t *testing.T) {
	noLeak(t)
	ctx := deadline(t)
	h := startRun(t, params(t.TempDir()))
	cache := filepath.Join(t.TempDir(), "models")
	w, err := h.Join(ctx, WorkerParams{Name: "w1", Models: cache})
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	weights := bytes.Repeat([]byte("weights "), 1<<17) // several chunks
	id, err := h.PublishModel(ctx, weights)
	must(t, err)
	fetch := func() {
		t.Helper()
		if b, err := w.Model(ctx, id); err != nil || !bytes.Equal(b, weights) {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
	}
	fetch()
	path := filepath.Join(cache, registry.FileName(registry.ID(id)))
	must(t, os.WriteFile(path, []byte("damaged"), 0o644))
	fetch() // replaces it
	has := func(want ...data.ModelID) {
		t.Helper()
		if got, err := h.Models(ctx); err != nil || !slices.Equal(got, want) {
			t.Errorf("the hub has the models %v, %v, want %v", got, err, want)
		}
	}
	has(id)
	must(t, h.DropModel(ctx, id))
	must(t, h.DropModel(ctx, id))
	has()
	fetch() // from disk
	must(t, os.Remove(path))
	if _, err := w.Model(ctx, id); !errors.Is(err, jetstream.ErrObjectNotFound) {
		t.Errorf("dropped model: %v", err)
	}
	// A dropped model may come back.
	_, err = h.PublishModel(ctx, weights)
	must(t, err)
	fetch()

	evil := registry.IDOf([]byte("what it should be"))
	_, err = h.models.PutBytes(ctx, evil.String(), []byte("what it is"))
	must(t, err)
	_, err = w.Model(ctx, data.ModelID(evil))
	wantError(t, err, "tampered")
}

// Seats that ask for a model at the same time share one download, which has no short deadline.
func TestModelIsFetchedOnce(t *testing.T) {
	noLeak(t)
	ctx := deadline(t)
	h := startRun(t, params(t.TempDir()))
	w := joinHub(t, h, "w1")
	id, err := h.PublishModel(ctx, []byte("weights"))
	must(t, err)
	slow := &slowStore{ObjectStore: w.store, asked: make(chan time.Time, 10), open: make(chan struct{})}
	w.store = slow
	given, cancel := context.WithCancel(ctx)
	gone := make(chan error)
	go func() { _, err := w.Model(given, id); gone <- err }()
	if until := <-slow.asked; time.Until(until) < time.Minute {
		t.Errorf("the download must end by %v", until)
	}
	cancel() // who leaves does not end the download
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for range 3 {
		if _, err := w.Model(given, id); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
	if n := len(slow.asked); n != 0 {
		t.Errorf("%d more downloads", n)
	}
	close(slow.open)
	if b, err := w.Model(ctx, id); err != nil || string(b) != "weights" {
		t.Errorf("got %q, %v", b, err)
	}

	// The loss of the hub ends the wait.
	for len(slow.asked) > 0 { // the first download may have ended before the last call
		<-slow.asked
	}
	slow.open = make(chan struct{})
	go func() { _, err := w.Model(ctx, id); gone <- err }()
	<-slow.asked
	w.disconnected(nats.ErrDisconnected)
	if err := <-gone; !errors.Is(err, nats.ErrDisconnected) {
		t.Errorf("the hub is lost: %v", err)
	}
	close(slow.open)
}

// slowStore holds downloads up until open is closed.
type slowStore struct {
	jetstream.ObjectStore
	asked chan time.Time // deadlines
	open  chan struct{}
}

func (s *slowStore) GetBytes(ctx context.Context, name string, opts ...jetstream.GetObjectOpt) ([]byte, error) {
	until, _ := ctx.Deadline()
	open := s.open
	s.asked <- until
	<-open
	return s.ObjectStore.GetBytes(ctx, name, opts...)
}

func TestOldModelsAreForgotten(t *testing.T) {
	noLeak(t)
	ctx := deadline(t)
	h := startRun(t, params(t.TempDir()))
	cache := t.TempDir()
	w, err := h.Join(ctx, WorkerParams{Name: "w1", Models: cache, ModelBytes: 250})
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	note := filepath.Join(cache, "note")
	must(t, os.WriteFile(note, make([]byte, 1000), 0o644))
	var paths []string
	for i := range 4 {
		id, err := h.PublishModel(ctx, bytes.Repeat([]byte{byte(i)}, 100))
		must(t, err)
		_, err = w.Model(ctx, id)
		must(t, err)
		path := filepath.Join(cache, registry.FileName(registry.ID(id)))
		when := time.Unix(int64(i), 0)
		must(t, os.Chtimes(path, when, when))
		paths = append(paths, path)
	}
	for i, path := range append(paths, note) {
		if _, err := os.Stat(path); (err == nil) != (i >= 2) {
			t.Errorf("file %d: %v", i, err)
		}
	}
}

func job(gate string, pair int) Job {
	return Job{
		ID: fmt.Sprintf("%s-%d", gate, pair), Gate: gate, Kind: GateJob, A: strings.Repeat("ab", 32), B: "uct:200",
		Variant: rules.Mini(), Seed: uint64(pair), Simulations: 32, Pair: pair,
	}
}

// lease asks until there is a job: one put or given back takes a moment to be handed out.
func lease(t *testing.T, w *Worker) *Lease {
	t.Helper()
	for {
		l, ok, err := w.NextJob(deadline(t))
		must(t, err)
		if ok {
			return l
		}
	}
}

func noJob(t *testing.T, w *Worker) {
	t.Helper()
	if l, ok, err := w.NextJob(deadline(t)); ok || err != nil {
		t.Fatalf("got %+v, %v, want no job", l, err)
	}
}

func result(t *testing.T) JobResult {
	a, _, err := encodeGame(record(t, 1))
	must(t, err)
	b, _, err := encodeGame(record(t, 2))
	must(t, err)
	return JobResult{Games: [][]byte{a, b}, Points: 1.5}
}

func TestJobs(t *testing.T) {
	noLeak(t)
	ctx := deadline(t)
	h := startRun(t, params(t.TempDir()))
	one, two := joinHub(t, h, "one"), joinHub(t, h, "two")
	noJob(t, one)
	jobs := []Job{job("g1", 0), job("g1", 1), job("g2", 0)}
	must(t, h.PutJobs(ctx, jobs...))
	must(t, h.PutJobs(ctx, jobs...))
	if s := status(t, h); s.Jobs != 3 {
		t.Errorf("status %+v", s)
	}
	l := lease(t, one)
	if l.Job != jobs[0] {
		t.Errorf("got %+v, want %+v", l.Job, jobs[0])
	}
	must(t, h.PutJobs(ctx, jobs[0])) // being played
	if s := status(t, h); s.Jobs != 3 || s.JobsHeld != 1 {
		t.Errorf("status %+v", s)
	}
	must(t, l.Release())
	seen := map[string]*Lease{}
	for len(seen) < 3 {
		if l, ok, err := two.NextJob(ctx); err != nil {
			t.Fatal(err)
		} else if ok {
			seen[l.Job.ID] = l
		}
	}
	want := result(t)
	must(t, seen["g1-0"].Done(ctx, want))
	must(t, seen["g1-0"].Done(ctx, want)) // as another worker would that had it before

	in, err := h.Results(ctx)
	must(t, err)
	t.Cleanup(in.Close)
	if s := status(t, h); s.Results != 1 {
		t.Errorf("status %+v", s)
	}
	got, err := in.Next(ctx)
	must(t, err)
	want.Job, want.Worker = jobs[0], "two"
	if !reflect.DeepEqual(got.JobResult, want) {
		t.Errorf("got  %+v\nwant %+v", got.JobResult, want)
	}
	must(t, got.Ack(ctx))

	must(t, h.PurgeJobs(ctx, "g1"))
	if s := status(t, h); s.Jobs != 1 {
		t.Errorf("after the purge: status %+v", s)
	}
	must(t, seen["g1-1"].Done(ctx, result(t))) // too late, and harmless
	late, err := in.Next(ctx)
	must(t, err)
	must(t, late.Ack(ctx))
	must(t, seen["g2-0"].Done(ctx, result(t)))

	// A job put again after its result came is played again.
	must(t, h.PutJobs(ctx, jobs[0]))
	must(t, lease(t, one).Done(ctx, result(t)))
	for range 2 {
		got, err := in.Next(ctx)
		must(t, err)
		must(t, got.Ack(ctx))
	}
	if s := status(t, h); s.Jobs != 0 || s.Results != 0 {
		t.Errorf("at the end: status %+v", s)
	}
}

// A job given back waits a little, so that one that always fails is not taken without a pause.
func TestReleaseIsDelayed(t *testing.T) {
	noLeak(t)
	ctx := deadline(t)
	h := startRun(t, params(t.TempDir()))
	w, err := h.Join(ctx, WorkerParams{Name: "w1"})
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	must(t, h.PutJobs(ctx, job("g1", 0)))
	answers, err := h.nc.SubscribeSync("$JS.ACK." + h.n.jobs() + ".>")
	must(t, err)
	must(t, h.nc.Flush())
	must(t, lease(t, w).Release())
	msg, err := answers.NextMsgWithContext(ctx)
	must(t, err)
	if want := `-NAK {"delay": 2000000000}`; string(msg.Data) != want {
		t.Errorf("the job is given back with %q, want %q", msg.Data, want)
	}
}

// Of a worker that closes, the jobs go to another.
func TestClosingWorkerGivesJobsBack(t *testing.T) {
	noLeak(t)
	ctx := deadline(t)
	h := startRun(t, params(t.TempDir()))
	one, two := joinHub(t, h, "one"), joinHub(t, h, "two")
	must(t, h.PutJobs(ctx, job("g1", 0)))
	lease(t, one)
	must(t, one.Close())
	if err := one.Err(); !errors.Is(err, ErrClosed) {
		t.Errorf("after close: %v", err)
	}
	if l := lease(t, two); l.d.Deliveries != 2 {
		t.Errorf("delivery %d", l.d.Deliveries)
	}
}

// Heartbeats keep a lease longer than the server would wait without them.
func TestHeartbeats(t *testing.T) {
	noLeak(t)
	ctx := deadline(t)
	p := params(t.TempDir())
	p.AckWait = 300 * time.Millisecond
	h := startRun(t, p)
	one, two := joinHub(t, h, "one"), joinHub(t, h, "two")
	must(t, h.PutJobs(ctx, job("g1", 0)))
	beats, err := h.nc.SubscribeSync("$JS.ACK." + h.n.jobs() + ".>")
	must(t, err)
	must(t, h.nc.Flush())
	l := lease(t, one)
	for n := 0; n < 7; {
		msg, err := beats.NextMsgWithContext(ctx)
		must(t, err)
		if string(msg.Data) == "+WPI" {
			n++
		}
	}
	noJob(t, two)
	must(t, l.Done(ctx, result(t)))
}

func TestUnreadableMessagesAreLeftOut(t *testing.T) {
	noLeak(t)
	ctx := deadline(t)
	h := startRun(t, params(t.TempDir()))
	w := joinHub(t, h, "w1")
	for _, bad := range []string{"", "{", `{"id":"x"}`, `null`} {
		_, err := h.js.Publish(ctx, h.n.jobSubject("g1", fmt.Sprintf("bad%d", len(bad))), []byte(bad))
		must(t, err)
		_, err = h.js.Publish(ctx, h.n.resultSubject("rogue"), []byte(bad))
		must(t, err)
	}
	must(t, h.PutJobs(ctx, job("g1", 0)))
	l := lease(t, w)
	r := result(t)
	r.Points = 0.75
	wantError(t, l.Done(ctx, r), "points 0.75")
	must(t, lease(t, w).Done(ctx, result(t)))
	in, err := h.Results(ctx)
	must(t, err)
	t.Cleanup(in.Close)
	got, err := in.Next(ctx)
	must(t, err)
	if got.Job.ID != "g1-0" || got.JobResult.Worker != "w1" {
		t.Errorf("got %+v", got.JobResult)
	}
	must(t, got.Ack(ctx))
}

func TestManifest(t *testing.T) {
	noLeak(t)
	ctx := deadline(t)
	h := openHub(t, params(t.TempDir()))
	early, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := h.Join(early, WorkerParams{Name: "early"}); !errors.Is(err, context.Canceled) {
		t.Errorf("join without a manifest: %v", err)
	}
	waiting := make(chan *Worker)
	go func() {
		w, err := h.Join(ctx, WorkerParams{Name: "patient"})
		if err != nil {
			t.Error(err)
		}
		waiting <- w
	}()
	must(t, h.SetManifest(ctx, manifest))
	w := <-waiting
	if w == nil {
		t.FailNow()
	}
	t.Cleanup(func() { must(t, w.Close()) })
	newer := manifest
	newer.MinWorker = Version + 1
	// This program would not set such a manifest; a newer one would.
	wantError(t, h.SetManifest(ctx, newer), "install a newer one")
	_, err := h.keys.Put(ctx, manifestKey, []byte(fmt.Sprintf(`{"protocol":%d,"min_worker":%d}`, Protocol, Version+1)))
	must(t, err)
	for w.Err() == nil {
		runtime.Gosched()
	}
	if _, _, err := w.NextJob(ctx); !errors.Is(err, ErrTooOld) {
		t.Errorf("next job: %v", err)
	}
	if _, err := h.Join(ctx, WorkerParams{Name: "old"}); !errors.Is(err, ErrTooOld) {
		t.Errorf("join: %v", err)
	}
}

func TestParams(t *testing.T) {
	ctx := deadline(t)
	for _, tt := range []struct {
		name   string
		change func(*HubParams)
		want   string
	}{
		{"run", func(p *HubParams) { p.Run = "a.b" }, "run"},
		{"no dir", func(p *HubParams) { p.Dir = "" }, "want one of the two"},
		{"both", func(p *HubParams) { p.URL = "nats://localhost:1" }, "want one of the two"},
		{"replicas", func(p *HubParams) { p.Replicas = 3 }, "replicas"},
		{"games", func(p *HubParams) { p.MaxGames = 1 }, "max games"},
		{"more games", func(p *HubParams) { p.MaxGames = math.MaxInt64 }, "max games"},
		{"wait", func(p *HubParams) { p.AckWait = 1 }, "ack wait"},
		{"deliver", func(p *HubParams) { p.MaxDeliver = 0 }, "max deliver"},
	} {
		p := params(t.TempDir())
		tt.change(&p)
		_, err := OpenHub(ctx, p)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
	_, err := Join(ctx, WorkerParams{Run: "r", Name: "n"})
	wantError(t, err, "URL")
	_, err = Join(ctx, WorkerParams{Run: "r", Name: "*", URL: "nats://localhost:1"})
	wantError(t, err, "name")
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o644))
	_, err = OpenHub(ctx, params(file))
	wantError(t, err, "start server")
}

// external starts a server of its own, as a cluster would be, at a port of the loopback interface; 0 takes any.
func external(t *testing.T, dir string, port int) (*server.Server, string, int) {
	t.Helper()
	if port == 0 {
		port = -1
	}
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true, SyncAlways: true,
	})
	must(t, err)
	srv.Start()
	if !srv.ReadyForConnections(startTimeout) {
		t.Fatal("the server does not start")
	}
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	addr := srv.Addr().String()
	_, err = fmt.Sscanf(addr[strings.LastIndexByte(addr, ':')+1:], "%d", &port)
	must(t, err)
	return srv, "nats://" + addr, port
}

// A worker of another process plays on while the hub is away, and with a hub that comes back empty.
func TestLosingTheHub(t *testing.T) {
	noLeak(t)
	ctx := deadline(t)
	srv, url, port := external(t, t.TempDir(), 0)
	p := DefaultHubParams()
	p.Run, p.URL = "test", url
	h := startRun(t, p)
	a, err := h.PublishModel(ctx, []byte("a"))
	must(t, err)
	must(t, h.SetBest(ctx, data.ModelID{}, a))
	spoolDir := t.TempDir()
	var log lines
	wp := WorkerParams{Run: "test", Name: "w1", URL: url, Models: t.TempDir(), Spool: spoolDir, Log: log.logger()}
	w, err := Join(ctx, wp)
	must(t, err)
	t.Cleanup(func() { must(t, w.Close()) })
	if best, err := w.WaitBest(ctx, data.ModelID{}); err != nil || best != a {
		t.Fatalf("best is %v, %v", best, err)
	}
	_, err = w.Model(ctx, a)
	must(t, err)

	srv.Shutdown()
	srv.WaitForShutdown()
	for w.nc.IsConnected() {
		runtime.Gosched()
	}
	want := map[[32]byte]bool{}
	for seed := range uint64(3) {
		r := record(t, seed)
		want[r.Hash()] = true
		must(t, w.Put(ctx, r))
		must(t, w.Put(ctx, r))
	}
	if n := w.Spooled(); n != 3 {
		t.Errorf("%d games in the spool, want 3", n)
	}
	noJob(t, w)
	if _, err := w.Model(ctx, w.Best()); err != nil {
		t.Error(err)
	}
	must(t, h.Close())

	external(t, t.TempDir(), port)
	h = startRun(t, p)
	b, err := h.PublishModel(ctx, []byte("b"))
	must(t, err)
	must(t, h.SetBest(ctx, data.ModelID{}, b))
	if best, err := w.WaitBest(ctx, a); err != nil || best != b {
		t.Fatalf("best is %v, %v", best, err)
	}
	last := record(t, 99)
	want[last.Hash()] = true
	must(t, w.Put(ctx, last))
	must(t, w.Flush(ctx))
	if files, err := os.ReadDir(spoolDir); err != nil || len(files) != 0 {
		t.Errorf("left in the spool: %v, %v", files, err)
	}
	for hash, g := range take(t, games(t, h), 4) {
		if !want[hash] {
			t.Errorf("game %x was not put", hash[:4])
		}
		must(t, g.Ack(ctx))
	}
	must(t, h.PutJobs(ctx, job("g1", 0)))
	must(t, lease(t, w).Done(ctx, result(t)))
	for _, want := range []string{"connection to the hub is lost", "connected to the hub again"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, log.String())
		}
	}
}

// lines keeps what is logged.
type lines struct {
	mu  sync.Mutex
	b   bytes.Buffer
	add func() // called for each line
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.add != nil {
		l.add()
	}
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// A worker that finds no hub says so, once, and goes on trying.
func TestNoHubIsLogged(t *testing.T) {
	noLeak(t)
	ctx, cancel := context.WithCancel(deadline(t))
	log := lines{add: cancel}
	_, err := Join(ctx, WorkerParams{Run: "test", Name: "w1", URL: "nats://127.0.0.1:1", Log: log.logger()})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("join: %v", err)
	}
	if got := log.String(); strings.Count(got, "the hub is out of reach") != 1 || !strings.Contains(got, "dial tcp") {
		t.Errorf("the log is %q", got)
	}
}

// answer makes the server's answers on a subject those given, the last of them for ever. It takes a stream's place.
func answer(t *testing.T, h *Hub, stream, subject string, answers ...string) {
	t.Helper()
	must(t, h.js.DeleteStream(deadline(t), stream))
	n := 0
	sub, err := h.nc.Subscribe(subject, func(m *nats.Msg) {
		if err := m.Respond([]byte(answers[min(n, len(answers)-1)])); err != nil {
			t.Error(err)
		}
		n++
	})
	must(t, err)
	must(t, h.nc.Flush())
	t.Cleanup(func() { must(t, sub.Unsubscribe()) })
}

const (
	diskFull = `{"error":{"code":503,"err_code":10077,"description":"no space left on device"}}`
	noMeans  = `{"error":{"code":503,"err_code":10023,"description":"insufficient resources"}}`
	refused  = `{"error":{"code":400,"err_code":10054,"description":"message size exceeds maximum allowed"}}`
	stored   = `{"stream":"S","seq":1}`
)

// A hub in trouble of its own is like one out of reach: games and results are kept.
func TestHubInTrouble(t *testing.T) {
	noLeak(t)
	ctx := deadline(t)
	h := startRun(t, params(t.TempDir()))
	must(t, h.PutJobs(ctx, job("g1", 0)))
	w := joinHub(t, h, "w1")
	l := lease(t, w)
	answer(t, h, h.n.results(), h.n.resultSubject("w1"), diskFull, noMeans, stored)
	must(t, l.Done(ctx, result(t)))

	answer(t, h, h.n.games(), h.n.gameSubject("*"), diskFull, noMeans, stored, refused, diskFull, noMeans, refused, stored)
	must(t, w.Put(ctx, record(t, 1)))
	wantError(t, w.Put(ctx, record(t, 1)), "exceeds maximum") // there is no spool

	spooling, err := h.Join(ctx, WorkerParams{Name: "w2", Spool: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { must(t, spooling.Close()) })
	must(t, spooling.Put(ctx, record(t, 2))) // disk full
	if n := spooling.Spooled(); n != 1 {
		t.Errorf("%d games in the spool, want 1", n)
	}
	must(t, spooling.Put(ctx, record(t, 3))) // the first fails again, this one is refused
	if n := spooling.Spooled(); n != 2 {
		t.Errorf("%d games in the spool, want 2", n)
	}
	must(t, spooling.Flush(ctx))
}

// A hub opens however little of the disk is free: what it may store takes no room yet. The most bytes of games may be lowered later.
func TestLargeHubOpens(t *testing.T) {
	noLeak(t)
	p := params(t.TempDir())
	p.MaxGames = 1 << 55 // more than any disk
	must(t, openHub(t, p).Close())
	p.MaxGames = 1 << 20
	openHub(t, p)
}

// A server whose limits are too low for the hub is told of with what is needed.
func TestNoStorage(t *testing.T) {
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), JetStreamMaxStore: 100 << 20, NoSigs: true, NoLog: true,
	})
	must(t, err)
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(startTimeout) {
		t.Fatal("the server does not start")
	}
	p := DefaultHubParams()
	p.Run, p.URL = "test", srv.ClientURL()
	_, err = OpenHub(deadline(t), p)
	wantError(t, err, "512 MiB of games and results")
}

func TestSpool(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	s, err := openSpool(dir, 10)
	must(t, err)
	for _, tt := range []struct {
		hash, game string
		want       bool
	}{{"a", "12345", true}, {"a", "12345", true}, {"b", "123456", false}, {"c", "1234", true}} {
		if got, err := s.add(tt.hash, []byte(tt.game)); got != tt.want || err != nil {
			t.Errorf("add %s: %v, %v", tt.hash, got, err)
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, "note"), nil, 0o644))
	s, err = openSpool(dir, 10)
	must(t, err)
	if s.count() != 2 || s.size != 9 {
		t.Errorf("%d games, %d bytes", s.count(), s.size)
	}
	away := errors.New("away")
	if err := s.drain(func(string, []byte) error { return away }); !errors.Is(err, away) || s.count() != 2 {
		t.Errorf("%v, %d games", err, s.count())
	}
	must(t, os.Remove(s.path("a"))) // by hand
	must(t, s.drain(func(_ string, b []byte) error {
		if string(b) != "1234" {
			t.Errorf("got %q", b)
		}
		return nil
	}))
	if s.count() != 0 || s.size != 0 {
		t.Errorf("%d games, %d bytes are left", s.count(), s.size)
	}
	var none *spool
	if ok, err := none.add("a", nil); ok || err != nil || none.count() != 0 || none.drain(nil) != nil {
		t.Error("a nil spool keeps something")
	}
}

func BenchmarkPut(b *testing.B) {
	ctx := context.Background()
	h := startRun(b, func() HubParams { p := params(b.TempDir()); p.MaxGames = 1 << 30; return p }())
	w := joinHub(b, h, "w1")
	r := record(b, 1)
	for b.Loop() {
		r.Seed++
		must(b, w.Put(ctx, r))
	}
}

func BenchmarkTake(b *testing.B) {
	ctx := context.Background()
	h := startRun(b, func() HubParams { p := params(b.TempDir()); p.MaxGames = 1 << 30; return p }())
	nc := h.js
	for i := range b.N {
		_, err := nc.PublishAsync(h.n.gameSubject("w"), fmt.Appendf(nil, "game %d", i))
		must(b, err)
	}
	<-nc.PublishAsyncComplete()
	g := games(b, h)
	b.ResetTimer()
	for range b.N {
		must(b, next(b, g).Ack(ctx))
	}
}
