package pipeline

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"yinshzero/fleet"
	"yinshzero/internal/atomicfile"
	"yinshzero/internal/seed"
	"yinshzero/mcts"
	"yinshzero/registry"
	"yinshzero/rules"
	"yinshzero/selfplay"
	"yinshzero/train"
)

var kills = flag.Int("kills", 10, "how often TestKilled kills its run")

// What a child process of this test finds in its environment.
const (
	childDir  = "YINSHZERO_TEST_RUN"  // the run directory that it runs
	childKill = "YINSHZERO_TEST_KILL" // a moment at which it kills itself, if it is to
)

// A moment is the nth time that a file with part in its path comes to a step.
type moment struct {
	part string
	step atomicfile.Step
	n    int
}

func (m moment) String() string { return fmt.Sprintf("%s %s %d", m.step, m.part, m.n) }

// moments are the steps of every kind of file that a run writes: in the midst of ingest, of training, of gating and promotion.
func moments() (all []moment) {
	for _, part := range []string{
		"/" + checkpointDir + "/", "registry.log", ".shard", matchExtension, "/" + modelsDir + "/",
	} {
		for _, step := range []atomicfile.Step{atomicfile.Create, atomicfile.Half, atomicfile.Rename, atomicfile.Done} {
			if step != atomicfile.Rename || part != "registry.log" && part != matchExtension {
				all = append(all, moment{part: part, step: step})
			}
		}
	}
	return all
}

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(dir, os.Getenv(childKill)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// killAt kills this process at a moment, given as text.
func killAt(text string) error {
	var m moment
	if _, err := fmt.Sscan(text, &m.step, &m.part, &m.n); err != nil {
		return fmt.Errorf("moment %q: %w", text, err)
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	due := times(int64(m.n - 1))
	atomicfile.Inject(func(step atomicfile.Step, path string) error {
		if step == m.step && strings.Contains(filepath.ToSlash(path), m.part) && !due() {
			self.Kill()
			select {} // nothing more is done
		}
		return nil
	})
	return nil
}

// child takes a run up until it is interrupted, or comes to the moment, if that is not empty, at which it kills itself. A
// line "game HASH" on standard output follows every game that one more worker has had acknowledged, and "event TEXT" every
// event.
func child(dir, moment string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p := tiny(dir, slog.New(&listener{Handler: slog.DiscardHandler, heard: func(msg string) { fmt.Printf("event %s\n", msg) }}))
	p.Hub.Log = slog.New(slog.DiscardHandler)
	p.Hub.AckWait = time.Second // pairs that a killed worker had in hand are given out again after so long
	r, err := Open(ctx, p)
	if err != nil {
		return err
	}
	if moment != "" {
		if err := killAt(moment); err != nil {
			return err
		}
	}
	w, err := r.hub.Join(ctx, fleet.WorkerParams{Name: "extra"})
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- deliver(ctx, w) }()
	if err := r.Run(ctx); err != nil {
		return err
	}
	if err := <-done; err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return r.Close()
}

// deliver plays without a model and tells of every game that is acknowledged.
func deliver(ctx context.Context, w *fleet.Worker) error {
	p := selfplay.DefaultParams()
	p.Simulations, p.FastSimulations = 2, 2
	player, err := selfplay.New(mcts.New(mcts.Uniform{}, mcts.DefaultParams()), p)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		rec, err := player.Game(ctx, rules.Mini(), rand.Uint64())
		if err != nil {
			break
		}
		rec.Worker = w.Name()
		if err := w.Put(ctx, rec); err != nil {
			break
		}
		fmt.Printf("game %x\n", rec.Hash())
	}
	return nil
}

// TestKilled kills a run again and again: in turn in the midst of writing a file of every kind, and after a random number of
// acknowledged games and events. After each kill the files must be whole and go on where they were. Then the run goes on to a
// promotion and is interrupted: every acknowledged game must be in exactly one shard.
func TestKilled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows has no interrupt for child processes")
	}
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	dir := filepath.Join(t.TempDir(), "run")
	acknowledged := map[string]bool{}
	rng := rand.New(rand.NewPCG(1, 1))
	all := moments()
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var was files
	for i := range *kills {
		at, lines := "", 1+rng.IntN(60)
		if i%2 == 1 {
			m := all[i/2%len(all)]
			m.n = 1 + rng.IntN(3)
			at, lines = m.String(), -1
		}
		runChild(t, dir, at, acknowledged, os.Kill, func(string) bool {
			lines--
			return lines == 0
		})
		now := read(t, dir)
		when := fmt.Sprintf("kill %d, at %q", i, at)
		t.Logf("%s: %d games, step %d, %d models, %d matches", when, len(now.games), now.step, len(now.models), len(now.matches))
		now.follows(t, was, when)
		was = now
	}
	runChild(t, dir, "", acknowledged, os.Interrupt, func(line string) bool { return line == "event promoted" })
	read(t, dir).follows(t, was, "the end")
	drain(t, tiny(dir, slog.New(slog.DiscardHandler)))
	hashes, err := gameHashes(dir)
	if err != nil {
		t.Fatal(err)
	}
	for h := range acknowledged {
		if hashes[h] != 1 {
			t.Errorf("acknowledged game %s is in the shards %d times", h, hashes[h])
		}
	}
	for h, n := range hashes {
		if n > 1 {
			t.Errorf("game %s is in the shards %d times", h, n)
		}
	}
	now := read(t, dir)
	t.Logf("%d kills, %d acknowledged games, %d games in the shards, %d models, step %d", *kills, len(acknowledged), len(hashes), len(now.models), now.step)
	reg, err := registry.Open(filepath.Join(dir, modelsDir))
	if err != nil {
		t.Fatal(err)
	}
	if best, ok := reg.Best(); !ok || best.Meta.Step == 0 {
		t.Errorf("best model %+v: want a promoted one", best)
	}
}

// files are what a killed run has left.
type files struct {
	games   map[string]int // by hash, in the shards
	models  []registry.Entry
	step    int64             // of the newest checkpoint
	drawn   int64             // batches, the same
	matches map[string][]byte // whole lines
}

// read reads what is in dir as the next process would, and fails where that would find damage.
func read(t *testing.T, dir string) (f files) {
	t.Helper()
	var err error
	if f.games, err = gameHashes(dir); err != nil {
		t.Fatal(err)
	}
	reg, err := registry.Open(filepath.Join(dir, modelsDir))
	if err != nil {
		t.Fatal(err)
	}
	f.models = reg.All()
	for _, e := range f.models {
		if _, err := reg.Bytes(e.ID); err != nil {
			t.Error(err)
		}
	}
	p := tiny(dir, nil)
	tr, damage, err := train.Resume(filepath.Join(dir, checkpointDir), p.Arch, p.Train, seed.New(1))
	if err != nil || len(damage) > 0 {
		t.Errorf("checkpoints: %v, %v", err, damage)
	}
	if tr != nil {
		f.step, f.drawn = tr.Steps(), tr.Drawn()
	}
	f.matches = map[string][]byte{}
	paths, err := filepath.Glob(filepath.Join(dir, matchesDir, "*"+matchExtension))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f.matches[path] = b[:bytes.LastIndexByte(b, '\n')+1]
	}
	return f
}

// follows fails unless f is what was, and perhaps more.
func (f files) follows(t *testing.T, was files, when string) {
	t.Helper()
	for h, n := range f.games {
		if n != 1 {
			t.Errorf("%s: game %s is there %d times", when, h, n)
		}
	}
	for h := range was.games {
		if f.games[h] == 0 {
			t.Errorf("%s: game %s is gone", when, h)
		}
	}
	if f.step < was.step || f.drawn < was.drawn {
		t.Errorf("%s: the checkpoint is of step %d and %d batches, it was of %d and %d", when, f.step, f.drawn, was.step, was.drawn)
	}
	for i, e := range was.models {
		if i >= len(f.models) || f.models[i].ID != e.ID || f.models[i].Meta != e.Meta {
			t.Errorf("%s: model %d was %+v and is not there", when, i, e)
		} else if e.Standing != registry.Candidate && f.models[i].Standing != e.Standing && (e.Standing != registry.Best || f.models[i].Standing != registry.Former) {
			t.Errorf("%s: model %d was %s and is %s", when, i, e.Standing, f.models[i].Standing)
		}
	}
	for _, e := range f.models {
		if e.Meta.Step > f.step {
			t.Errorf("%s: model %s of step %d is ahead of the checkpoint, %d", when, e.ID.Short(), e.Meta.Step, f.step)
		}
	}
	for path, lines := range was.matches {
		if !bytes.HasPrefix(f.matches[path], lines) {
			t.Errorf("%s: lines of match %s are gone", when, path)
		}
	}
}

// runChild starts a child, which kills itself at a moment unless that is empty, notes its acknowledged games, and sends it a
// signal when enough says so of a line.
func runChild(t *testing.T, dir, at string, acknowledged map[string]bool, s os.Signal, enough func(line string) bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, childKill+"="+at)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sent := at != ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if hash, ok := strings.CutPrefix(lines.Text(), "game "); ok && len(hash) == 64 {
			acknowledged[hash] = true
		}
		if !sent && enough(lines.Text()) {
			sent = true
			if err := cmd.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = cmd.Wait()
	if !sent || (s == os.Interrupt) != (err == nil) || stderr.Len() > 0 {
		t.Fatalf("the child ended with %v before or after the signal (sent: %v, moment: %q):\n%s", err, sent, at, stderr.String())
	}
}
