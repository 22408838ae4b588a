package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"yinshzero/data"
	"yinshzero/fleet"
	"yinshzero/internal/atomicfile"
	"yinshzero/internal/crash"
	"yinshzero/internal/seed"
	"yinshzero/mcts"
	"yinshzero/net"
	"yinshzero/registry"
	"yinshzero/selfplay"
	"yinshzero/train"
)

// A memo keeps what is logged.
type memo struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (m *memo) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text.Write(b)
}

func (m *memo) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text.String()
}

// wants fails unless every part was logged.
func (m *memo) wants(t *testing.T, parts ...string) {
	t.Helper()
	log := m.String()
	for _, part := range parts {
		if !strings.Contains(log, part) {
			t.Errorf("nothing says %q in the log:\n%s", part, log)
		}
	}
}

// logTo makes p log to a memo. Every message goes to heard, too, before it is written.
func logTo(p *Params, heard func(msg string)) *memo {
	m := &memo{}
	p.Log = slog.New(&listener{Handler: slog.NewTextHandler(m, nil), heard: heard})
	p.Hub.Log = p.Log
	return m
}

// try runs p, after prepare has had the open run, until stop says so of a message, and returns what came of it.
func try(t *testing.T, p Params, prepare func(*Run), stop func(msg string) bool) (Status, *memo, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m := logTo(&p, func(msg string) {
		if stop(msg) {
			cancel()
		}
	})
	r, err := Open(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	if prepare != nil {
		prepare(r)
	}
	ended := r.Run(ctx)
	s := r.Status()
	closeRun(t, r)
	return s, m, ended
}

// is is a stop at a message.
func is(text string) func(string) bool { return func(msg string) bool { return msg == text } }

// verdict is a stop at the first verdict.
func verdict(msg string) bool { return msg == "promoted" || msg == "rejected" }

func fresh(t *testing.T) Params { return tiny(filepath.Join(t.TempDir(), "run"), nil) }

// sound fails unless a run's files are as if nothing had happened, and opens it once more.
func sound(t *testing.T, p Params) {
	t.Helper()
	if _, err := audit(p.Dir); err != nil {
		t.Error(err)
	}
	m := logTo(&p, func(string) {})
	r, err := Open(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
	closeRun(t, r)
	if log := m.String(); strings.Contains(log, "damaged") || strings.Contains(log, "cut short") {
		t.Errorf("the run is not whole:\n%s", log)
	}
}

// A bomb is an evaluator that panics as long as lit says so.
type bomb struct {
	mcts.Evaluator
	lit func() bool
}

func (b bomb) Evaluate(ctx context.Context, batch []*mcts.Query) error {
	if b.lit() {
		panic("broken network")
	}
	return b.Evaluator.Evaluate(ctx, batch)
}

// times is a function that is true so many times.
func times(n int64) func() bool {
	var left atomic.Int64
	left.Store(n)
	return func() bool { return left.Add(-1) >= 0 }
}

// TestPanicInAGame: two games and a pair panic. They are lost, counted and told, and the run comes to a verdict.
func TestPanicInAGame(t *testing.T) {
	lit := map[string]func() bool{"game": times(2), "pair": times(1)}
	s, m, err := try(t, fresh(t), func(r *Run) {
		r.wrap = func(e mcts.Evaluator, of string) mcts.Evaluator { return bomb{e, lit[of]} }
	}, verdict)
	if err != nil || s.Panics != 3 || s.Games == 0 {
		t.Errorf("the run ended with %v after %d panics and %d games", err, s.Panics, s.Games)
	}
	m.wants(t, "game lost", "pair lost", "pair is given back", "broken network", "fault_test.go")
	told := 0
	for _, e := range s.Events {
		if strings.Contains(e.Text, "lost error=panic: broken network") {
			told++
		}
	}
	if told != 3 {
		t.Errorf("%d events tell of a panic, want 3: %+v", told, s.Events)
	}
}

// TestPanicsWithoutEnd: games that panic again and again end the run with an error, not with a busy loop. So they do in a
// process that is a worker only.
func TestPanicsWithoutEnd(t *testing.T) {
	p := fresh(t)
	always := func(r *Run) {
		r.wrap = func(e mcts.Evaluator, _ string) mcts.Evaluator { return bomb{e, func() bool { return true }} }
	}
	s, _, err := try(t, p, always, is("never"))
	if err == nil || !strings.Contains(err.Error(), "ended in a panic") || s.Panics < maxPanics || s.Panics > maxPanics+int64(p.Workers) {
		t.Errorf("after %d panics: %v", s.Panics, err)
	}
	sound(t, p)

	m := logTo(&p, func(string) {})
	r := open(t, p)
	defer closeRun(t, r)
	w, err := r.hub.Join(t.Context(), fleet.WorkerParams{Name: "w"})
	if err != nil {
		t.Fatal(err)
	}
	var c Counts
	always(r)
	err = (&crew{worker: w, counts: &c, log: p.Log, tell: p.Log.Info, wrap: r.wrap}).work(t.Context(), 1)
	if err == nil || c.Panics.Load() != maxPanics {
		t.Errorf("a worker ended with %v after %d panics", err, c.Panics.Load())
	}
	m.wants(t, "game lost", "fault_test.go")
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// TestPanicInALoop lets the log panic in the midst of learn and of judge. The run ends with an error and a checkpoint, and can
// be taken up.
func TestPanicInALoop(t *testing.T) {
	for _, at := range []string{"candidate", "promoted", "rejected"} {
		t.Run(at, func(t *testing.T) {
			if testing.Short() && at != "candidate" {
				t.Skip("the short tests panic in one place of three")
			}
			p := fresh(t)
			p.Gate.MaxPairs = 8
			if at == "rejected" { // nobody is so much stronger
				p.Gate.Elo0, p.Gate.Elo1 = 2000, 2100
			}
			s, m, err := try(t, p, nil, func(msg string) bool {
				if msg == at {
					panic("loop")
				}
				return false
			})
			var caught *crash.Error
			if !errors.As(err, &caught) || !strings.Contains(err.Error(), "this is a bug") || caught.Value != "loop" {
				t.Fatalf("got %v, want the panic", err)
			}
			m.wants(t, "msg=panic", "fault_test.go")
			p.Log = slog.New(slog.DiscardHandler)
			r := open(t, p)
			if want := max(s.Step, p.CandidateSteps); r.trainer.Steps() < want {
				t.Errorf("the checkpoint is of step %d, the run came to %d at least", r.trainer.Steps(), want)
			}
			closeRun(t, r)
			sound(t, p)
		})
	}
}

// TestPanicInAStep: training steps whose gradients panic, which the graph returns as an error, cost those steps. Their batches
// are kept, they are told with the stack, and the run comes to a verdict; when it goes on and on the run ends with a checkpoint.
func TestPanicInAStep(t *testing.T) {
	fall := func() error { return fmt.Errorf("gradients: %w", crash.Catch(func() error { panic("broken graph") })) }
	p := fresh(t)
	few := times(maxRefused - 1)
	s, m, err := try(t, p, func(r *Run) {
		r.mishap = func() error {
			if few() {
				return fall()
			}
			return nil
		}
	}, verdict)
	if err != nil || s.Promotions+s.Rejections == 0 {
		t.Errorf("the run ended with %v and %+v", err, s)
	}
	m.wants(t, "training step refused", "msg=panic", "broken graph", "fault_test.go")
	if kept, err := filepath.Glob(filepath.Join(p.Dir, quarantineDir, "batch-*.txt")); err != nil || len(kept) == 0 {
		t.Errorf("%d batches are kept, %v", len(kept), err)
	}
	_, m, err = try(t, p, func(r *Run) { r.mishap = fall }, is("never"))
	if err == nil || !strings.Contains(err.Error(), "see the stacks in the log") {
		t.Errorf("panics without end: the run ended with %v", err)
	}
	m.wants(t, "broken graph")
	r := open(t, quietly(p))
	if r.trainer.Steps() < s.Step {
		t.Errorf("the checkpoint is of step %d, the run came to %d", r.trainer.Steps(), s.Step)
	}
	closeRun(t, r)
	sound(t, p)
}

// TestBatchesKept: a run that refuses step after step, with some that succeed between them, does not fill the disk.
func TestBatchesKept(t *testing.T) {
	p := quiet(t)
	m := logTo(&p, func(string) {})
	r := open(t, p)
	defer closeRun(t, r)
	for i := range 3 {
		r.refused += (maxBatches - 2) * min(i, 1)
		r.trainer.Begin(0, int64(i))
		if err := r.keepBatch(t.Context(), errors.New("broken")); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := filepath.Glob(filepath.Join(p.Dir, quarantineDir, "batch-*.txt")); err != nil || len(kept) != 2 {
		t.Errorf("%d batches are kept, %v: want the first two", len(kept), err)
	}
	m.wants(t, "quarantine is full")
}

// kinds are the files that a run writes, by a part of their path.
var kinds = map[string]string{
	"shard": data.ShardExt, "checkpoint": string(filepath.Separator) + checkpointDir + string(filepath.Separator), "model": modelsDir + string(filepath.Separator),
	"log of the registry": "registry.log", "match": matchExtension,
}

// some are the kinds, one of them in short tests.
func some() map[string]string {
	if testing.Short() {
		return map[string]string{"shard": kinds["shard"]}
	}
	return kinds
}

// TestDiskFull lets the disk be full three times for one kind of file after another, with half of it written. The run says
// which it was and what to do, waits, and goes on to a verdict as soon as there is room.
func TestDiskFull(t *testing.T) {
	for kind, part := range some() {
		t.Run(kind, func(t *testing.T) {
			p := fresh(t)
			full := times(3)
			s, m, err := try(t, p, func(*Run) {
				t.Cleanup(atomicfile.Inject(func(step atomicfile.Step, path string) error {
					if step == atomicfile.Half && strings.Contains(path, part) && full() {
						return syscall.ENOSPC
					}
					return nil
				}))
			}, verdict)
			if err != nil || s.Promotions+s.Rejections == 0 {
				t.Errorf("the run ended with %v and %+v", err, s)
			}
			m.wants(t, "disk is full: waiting for room", part, "make room on the disk of "+p.Dir, "disk has room again")
			sound(t, p)
		})
	}
}

// refuse makes a step of writing the files whose paths hold part fail, until end is called.
func refuse(at atomicfile.Step, part string, err error) (end func()) {
	return atomicfile.Inject(func(step atomicfile.Step, path string) error {
		if step == at && strings.Contains(path, part) {
			return err
		}
		return nil
	})
}

// TestEndOnAFullDisk ends a run that waits for room. It says what was not written, and when there is room nothing is lost:
// games that are in no shard wait in the hub.
func TestEndOnAFullDisk(t *testing.T) {
	for kind, part := range some() {
		t.Run(kind, func(t *testing.T) {
			p := fresh(t)
			var end func()
			_, m, err := try(t, p, func(*Run) {
				end = refuse(atomicfile.Half, part, syscall.ENOSPC)
			}, is("disk is full: waiting for room"))
			end()
			if err == nil || !atomicfile.Full(err) || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), "make room") {
				t.Errorf("got %v, want the file and the remedy\n%s", err, m)
			}
			sound(t, p)
			p.Log = slog.New(slog.DiscardHandler)
			before, err := audit(p.Dir)
			if err != nil {
				t.Fatal(err)
			}
			drain(t, p)
			if after, err := audit(p.Dir); err != nil || kind == "shard" && after == before {
				t.Errorf("%d games, %d when the disk was full: %v", after, before, err)
			}
		})
	}
}

// TestReadOnly: a folder that does not let itself be written is not waited for. The run ends, says which file and what to do,
// and goes on later.
func TestReadOnly(t *testing.T) {
	for kind, part := range some() {
		t.Run(kind, func(t *testing.T) {
			p := fresh(t)
			var end func()
			_, _, err := try(t, p, func(*Run) {
				end = refuse(atomicfile.Create, part, syscall.EACCES)
			}, is("never"))
			end()
			if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), "writable") {
				t.Errorf("got %v, want the file and the remedy", err)
			}
			sound(t, p)
		})
	}
	t.Run("directory", func(t *testing.T) {
		if runtime.GOOS == "windows" || os.Getuid() == 0 {
			t.Skip("permissions do not bind root, and Windows has none")
		}
		p := quiet(t)
		if err := os.Mkdir(p.Dir, 0o555); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(context.Background(), p); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), p.Dir) {
			t.Errorf("got %v", err)
		}
	})
}

// TestDiskFullAtTheStart: a run that cannot write its first files does not open, says why, and begins when there is room.
func TestDiskFullAtTheStart(t *testing.T) {
	for _, part := range []string{nameName, ".safetensors", "registry.log"} {
		p := quiet(t)
		end := atomicfile.Inject(func(step atomicfile.Step, path string) error {
			if step == atomicfile.Half && strings.HasSuffix(path, part) {
				return syscall.ENOSPC
			}
			return nil
		})
		_, err := Open(context.Background(), p)
		end()
		if err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), "make room") {
			t.Errorf("%s: got %v", part, err)
		}
		sound(t, p)
	}
}

// TestMetricsOnAFullDisk: what the run can do without is left out, with a warning.
func TestMetricsOnAFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	p := fresh(t)
	closeRun(t, open(t, quietly(p)))
	if err := os.Symlink("/dev/full", filepath.Join(p.Dir, metricsDir, "train.jsonl")); err != nil {
		t.Fatal(err)
	}
	s, m, err := try(t, p, nil, verdict)
	if err != nil || s.Step == 0 {
		t.Errorf("the run ended with %v at step %d", err, s.Step)
	}
	m.wants(t, "metrics of training are not written: make room", "train.jsonl")
}

// quietly is p without a log and workers.
func quietly(p Params) Params {
	p.Log = slog.New(slog.DiscardHandler)
	p.Hub.Log, p.Workers = p.Log, 0
	return p
}

// TestDamagedCheckpoint damages the newest checkpoint in several ways. The run says so and goes on from the one before.
func TestDamagedCheckpoint(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"cut short":     func(b []byte) []byte { return b[:len(b)/2] },
		"empty":         func([]byte) []byte { return nil },
		"a bit flipped": func(b []byte) []byte { b[len(b)-100] ^= 4; return b },
		"zeros":         func(b []byte) []byte { clear(b[len(b)/2:]); return b },
		"of another version": func(b []byte) []byte {
			tensors, meta, err := net.ReadTensors(b)
			if err != nil {
				t.Fatal(err)
			}
			meta["yinshzero.encoder"] = "999"
			var other bytes.Buffer
			if err := net.WriteTensors(&other, tensors, meta); err != nil {
				t.Fatal(err)
			}
			return other.Bytes()
		},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "a bit flipped" {
				t.Skip("the short tests damage in one way")
			}
			p := quiet(t)
			r := open(t, p)
			dir := r.dir(checkpointDir)
			for step := int64(1); step <= 2; step++ {
				r.trainer.Begin(step, step)
				if err := r.trainer.Save(dir); err != nil {
					t.Fatal(err)
				}
			}
			closeRun(t, r)
			files, err := filepath.Glob(filepath.Join(dir, "step-*"))
			if err != nil || len(files) != 2 {
				t.Fatalf("%v, %v: want two checkpoints", files, err)
			}
			b, err := os.ReadFile(files[1])
			if err == nil {
				err = os.WriteFile(files[1], damage(b), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			m := logTo(&p, func(string) {})
			r = open(t, p)
			closeRun(t, r)
			m.wants(t, "checkpoint is damaged: going on from the one before", files[1])
			if r.trainer.Steps() != 1 {
				t.Errorf("step %d, want 1", r.trainer.Steps())
			}
			if _, err := os.Stat(files[1] + ".damaged"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDamagedFiles damages files without which a run cannot go on. It does not open, and says which file it is, where it is
// damaged and what to do; with the file as it was it opens.
func TestDamagedFiles(t *testing.T) {
	p := quiet(t)
	r := open(t, p)
	best, _ := r.registry.Best()
	closeRun(t, r)
	model := r.registry.Path(best.ID)
	log := filepath.Join(p.Dir, modelsDir, "registry.log")
	flip := func(b []byte) []byte { b[len(b)/2] ^= 1; return b }
	for _, c := range []struct {
		path   string
		damage func(b []byte) []byte
		wants  []string
	}{
		{log, flip, []string{log + ":2: checksum", "restore it from a copy"}},
		{log, func(b []byte) []byte { return b[bytes.IndexByte(b, '\n')+1:] }, []string{log + ":1: ", "restore it from a copy"}},
		{log, func([]byte) []byte { return nil }, []string{log + ":1: ", "restore it from a copy"}},
		{model, flip, []string{model, "restore it from a copy"}},
		{model, func(b []byte) []byte { return b[:100] }, []string{model, "restore it from a copy"}},
		{model, nil, []string{model, "restore it from a copy"}},
		{filepath.Join(p.Dir, nameName), func([]byte) []byte { return nil }, []string{nameName, "write the run's first name into it"}},
	} {
		whole, err := os.ReadFile(c.path)
		if err != nil {
			t.Fatal(err)
		}
		if c.damage == nil {
			err = os.Remove(c.path)
		} else {
			err = os.WriteFile(c.path, c.damage(bytes.Clone(whole)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := Open(t.Context(), p)
		if err == nil {
			t.Errorf("%s is damaged and the run opens", c.path)
			closeRun(t, r)
		}
		for _, want := range c.wants {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		}
		if err := os.WriteFile(c.path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sound(t, p)
}

// TestShardsDeleted deletes every shard of a run as soon as it is written. The run, which has the games in memory, goes on, and
// the names of the shards do not come again.
func TestShardsDeleted(t *testing.T) {
	p := quiet(t)
	p.ShardGames = 1
	player, err := selfplay.New(mcts.New(mcts.Uniform{}, mcts.DefaultParams()), p.Plan.SelfPlay)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first, err := player.Game(ctx, p.Variant, 99)
	if err != nil {
		t.Fatal(err)
	}
	there := filepath.Join(p.Dir, recordsDir, "00000001"+data.ShardExt) // when the run is opened
	closeRun(t, open(t, p))
	if _, err := data.WriteShard(there, []*data.Record{first}); err != nil {
		t.Fatal(err)
	}
	r := open(t, p)
	if err := os.Remove(there); err != nil {
		t.Fatal(err)
	}
	w, err := r.hub.Join(ctx, fleet.WorkerParams{Name: "w"})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- r.ingest(ctx) }()
	names := map[string]bool{there: true}
	for i := range 3 {
		rec, err := player.Game(ctx, p.Variant, uint64(i))
		if err := errors.Join(err, w.Put(ctx, rec)); err != nil {
			t.Fatal(err)
		}
		select {
		case <-r.grown:
		case err := <-done:
			t.Fatalf("after %d shards: %v", len(names), err)
		}
		paths, err := data.Shards(r.dir(recordsDir))
		if err != nil || len(paths) != 1 || names[paths[0]] {
			t.Fatalf("shards %v, %v after %v: want one with a new name", paths, err, names)
		}
		names[paths[0]] = true
		if err := os.Remove(paths[0]); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.window.Games(); n != len(names) {
		t.Errorf("%d games are in the window, want %d", n, len(names))
	}
	cancel()
	if err := errors.Join(<-done, w.Close()); err != nil {
		t.Error(err)
	}
	closeRun(t, r)
	sound(t, p)
}

// TestHubDeleted ends a run in the midst of a gate's pair, with a game in the hub that is in no shard, and deletes the hub's
// store. The next run makes it anew from the files, hands the pairs that are missing out again, and comes to a verdict. Deleted
// while a run goes on, the store ends it at the latest when its next file is due, with what to do, which helps.
func TestHubDeleted(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	p := fresh(t)
	var trial atomic.Bool // there is a candidate
	_, _, err := try(t, p, func(r *Run) {
		r.wrap = func(e mcts.Evaluator, of string) mcts.Evaluator {
			return bomb{e, func() bool {
				if of == "pair" && trial.Load() {
					r.params.Log.Info("pair begun")
				}
				return false
			}}
		}
	}, func(msg string) bool {
		trial.CompareAndSwap(false, msg == "candidate")
		return msg == "pair begun"
	})
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, quietly(p))
	w, err := r.hub.Join(t.Context(), fleet.WorkerParams{Name: "w"})
	if err != nil {
		t.Fatal(err)
	}
	player, err := selfplay.New(mcts.New(mcts.Uniform{}, mcts.DefaultParams()), p.Plan.SelfPlay)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := player.Game(t.Context(), p.Variant, 1)
	if err := errors.Join(err, w.Put(t.Context(), rec), w.Close()); err != nil {
		t.Fatal(err)
	}
	step := r.trainer.Steps()
	candidate, ok := r.candidate()
	if s, err := r.hub.Status(t.Context()); err != nil || !ok || s.Jobs == 0 || s.Games == 0 {
		t.Fatalf("%+v, %v: want a candidate on trial, pairs and games in the hub", s, err)
	}
	closeRun(t, r)
	if err := os.RemoveAll(r.dir(hubDir)); err != nil {
		t.Fatal(err)
	}
	s, m, err := try(t, p, nil, verdict)
	if err != nil || s.Step < step {
		t.Errorf("the run ended with %v at step %d, it was at %d\n%s", err, s.Step, step, m)
	}
	models, err := registry.Open(r.dir(modelsDir))
	if err != nil {
		t.Fatal(err)
	}
	if e, _ := models.Entry(candidate.ID); e.Standing == registry.Candidate {
		t.Error("the candidate has no verdict")
	}
	sound(t, p)

	deleted := false
	_, _, err = try(t, p, nil, func(msg string) bool {
		if msg == "candidate" && !deleted {
			deleted = true
			if err := os.Rename(r.dir(hubDir), p.Dir+" hub"); err != nil { // at once, files are being made in it
				t.Error(err)
			}
		}
		return verdict(msg)
	})
	if err != nil && (!strings.Contains(err.Error(), r.dir(hubDir)) || !strings.Contains(err.Error(), "start the run again")) {
		t.Errorf("the run ended with %v: want what to do", err)
	}
	sound(t, p)
	if _, _, err := try(t, p, nil, verdict); err != nil {
		t.Error(err)
	}
	sound(t, p)
}

// TestStepsRefused trains weights that are not finite. Every step is refused and its batch kept; after so many the run ends
// with the remedy.
func TestStepsRefused(t *testing.T) {
	p := fresh(t)
	s, m, err := try(t, p, func(r *Run) {
		w := net.Init(p.Arch, rand.New(rand.NewPCG(1, 1)))
		w.Tensors()[0].Data[0] = float32(math.NaN())
		var err error
		if r.trainer, err = train.New(w, p.Train, seed.New(1)); err != nil {
			t.Fatal(err)
		}
	}, is("never"))
	if err == nil || !strings.Contains(err.Error(), "lower training.learning_rate") {
		t.Fatalf("the run ended with %v", err)
	}
	m.wants(t, "training step refused")
	kept, err := filepath.Glob(filepath.Join(p.Dir, quarantineDir, "batch-*.txt"))
	if err != nil || len(kept) != maxRefused {
		t.Errorf("%d batches are kept, %v: want %d; status %+v", len(kept), err, maxRefused, s)
	}
}

// TestTornLines cuts the last lines of the registry's log and of a match short. The run says what it cuts off.
func TestTornLines(t *testing.T) {
	p := quiet(t)
	r := open(t, p)
	m, err := r.openMatch(t.Context(), "test", newMatch())
	if err != nil {
		t.Fatal(err)
	}
	for pair := range 2 {
		res := pairOf(t, m.job(r.params, pair))
		e, err := m.entry(r.params, &res)
		if err := errors.Join(err, m.add(e)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.close(); err != nil {
		t.Fatal(err)
	}
	closeRun(t, r)
	match := filepath.Join(p.Dir, matchesDir, "test"+matchExtension)
	whole, err := os.ReadFile(match)
	if err != nil {
		t.Fatal(err)
	}
	first := bytes.IndexByte(whole, '\n') + 1
	log := filepath.Join(p.Dir, modelsDir, "registry.log")
	f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`00000000 {"promote":{"id":"1234`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for name, torn := range map[string][]byte{
		"cut short":          whole[:first+20],
		"without its middle": append(append(bytes.Clone(whole[:first+20]), make([]byte, 40)...), '\n'),
	} {
		if err := os.WriteFile(match, torn, 0o644); err != nil {
			t.Fatal(err)
		}
		said := logTo(&p, func(string) {})
		r := open(t, p)
		m, err := r.openMatch(t.Context(), "test", newMatch())
		if err != nil {
			t.Fatal(err)
		}
		said.wants(t, match, "line=2", "cut=\""+strings.ReplaceAll(string(whole[first:first+6]), "\t", `\t`), log+":4: ", `{\\\"promote\\\"`)
		if b, err := os.ReadFile(match); err != nil || !bytes.Equal(b, whole[:first]) || m.tally.Score.N() != 1 {
			t.Errorf("%s: %d pairs and the file %q, %v: want the first line", name, m.tally.Score.N(), b, err)
		}
		if err := m.close(); err != nil {
			t.Fatal(err)
		}
		closeRun(t, r)
	}
	if err := os.WriteFile(match, append(bytes.Clone(whole[first:first+20]), whole[first-1:]...), 0o644); err != nil {
		t.Fatal(err)
	}
	r = open(t, p)
	defer closeRun(t, r)
	if _, err := r.openMatch(t.Context(), "test", newMatch()); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a damaged line before the last: %v", err)
	}
}

// TestRenamed puts games into the hub, closes the run before it takes them in, and opens it again under another name, and a
// copy of it. Both find the games.
func TestRenamed(t *testing.T) {
	p := quiet(t)
	p.Hub.Run = filepath.Base(p.Dir)
	r := open(t, p)
	w, err := r.hub.Join(t.Context(), fleet.WorkerParams{Name: "w"})
	if err != nil {
		t.Fatal(err)
	}
	player, err := selfplay.New(mcts.New(mcts.Uniform{}, mcts.DefaultParams()), p.Plan.SelfPlay)
	if err != nil {
		t.Fatal(err)
	}
	const games = 3
	for i := range games {
		rec, err := player.Game(t.Context(), p.Variant, uint64(i))
		if err := errors.Join(err, w.Put(t.Context(), rec)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	closeRun(t, r)
	copied, renamed := filepath.Join(t.TempDir(), "a copy of it"), filepath.Join(t.TempDir(), "elsewhere")
	if err := os.CopyFS(copied, os.DirFS(p.Dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(p.Dir, renamed); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{copied, renamed} {
		name, err := RunName(dir)
		if err != nil || name != "run" {
			t.Errorf("the run in %s is called %q, %v: want its first name", dir, name, err)
		}
		q := p
		q.Dir, q.Hub.Dir, q.Hub.Run = dir, filepath.Join(dir, hubDir), "elsewhere"
		drain(t, q)
		if n, err := audit(dir); err != nil || n != games {
			t.Errorf("%s: %d games, %v: want those that waited in the hub", dir, n, err)
		}
	}
	if err := os.WriteFile(filepath.Join(copied, nameName), []byte("no name"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.Dir = copied
	if _, err := Open(t.Context(), p); err == nil || !strings.Contains(err.Error(), filepath.Join(copied, nameName)) {
		t.Errorf("a name that cannot be: %v", err)
	}
	if name, err := RunName(filepath.Join(copied, "new")); err != nil || name != "new" {
		t.Errorf("a run that has not begun is called %q, %v", name, err)
	}
}
