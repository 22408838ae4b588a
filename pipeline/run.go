package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sync/errgroup"

	"yinshzero/data"
	"yinshzero/fleet"
	"yinshzero/internal/atomicfile"
	"yinshzero/internal/seed"
	"yinshzero/metrics"
	"yinshzero/net"
	"yinshzero/registry"
	"yinshzero/train"
)

// The folders of a run directory.
const (
	modelsDir     = "models"
	recordsDir    = "records"
	matchesDir    = "matches"
	checkpointDir = "checkpoint"
	quarantineDir = "quarantine"
	metricsDir    = "metrics"
	hubDir        = "hub"
	lockName      = "lock"
	nameName      = "name"
)

// A Run is a training run that this process holds.
type Run struct {
	params   Params
	lock     *flock.Flock
	hub      *fleet.Hub
	ladder   ladder          // judge's own
	rejected registry.ID     // the newest rejected model, which the hub still has; judge's own
	former   data.ModelID    // the best one before, which the hub still has; judge's own
	returned registry.ID     // the rejected candidate because of which training has gone back to the best model; learn's own
	asked    map[string]bool // models that have been asked to solve problems, nil before the metrics are read; judge's own
	registry *registry.Registry
	window   *data.Window
	trainer  *train.Trainer
	metrics  *metrics.Log
	shard    string                // the newest one, whether it is still there or not, empty for none; ingest's own
	known    map[[32]byte]struct{} // hashes of the games in the newest shard when the run was opened

	grown      chan struct{} // holds a token when games or a verdict have come in since learn last looked
	candidates chan struct{} // holds a token when a candidate may have come since judge last looked

	counts Counts
	wrap   wrapper
	mishap func() error // in tests: a training step fails with its error, if there is one

	refused int // training steps in this process; learn's own

	mu     sync.Mutex // guards what follows
	status Status
	begun  time.Time
	plan   Plan
	dead   map[string]int // jobs given up, by match
}

// Open takes up the run in p.Dir, or begins it. Nothing runs until Run is called. A directory that another process holds
// is an error.
func Open(ctx context.Context, p Params) (*Run, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("open run: %w", err)
	}
	r := &Run{
		params: p, grown: make(chan struct{}, 1), candidates: make(chan struct{}, 1), dead: make(map[string]int), ladder: make(ladder),
		status: Status{Dir: p.Dir, Name: filepath.Base(p.Dir)},
	}
	r.metrics = metrics.Open(r.dir(metricsDir), p.TensorBoard)
	if err := r.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open run %s: %w", p.Dir, err), r.Close())
	}
	return r, nil
}

func (r *Run) dir(name string) string { return filepath.Join(r.params.Dir, name) }

func (r *Run) open(ctx context.Context) error {
	for _, d := range []string{modelsDir, recordsDir, matchesDir, checkpointDir, quarantineDir, metricsDir, hubDir} {
		if err := os.MkdirAll(r.dir(d), 0o755); err != nil {
			return err
		}
	}
	r.lock = flock.New(r.dir(lockName))
	switch ok, err := r.lock.TryLock(); {
	case err != nil:
		return err
	case !ok:
		return errors.New("another process holds this run: stop it first, or choose another directory")
	}
	for _, d := range []string{modelsDir, recordsDir, checkpointDir, quarantineDir} {
		if _, err := atomicfile.RemoveTemps(r.dir(d)); err != nil {
			return err
		}
	}
	if err := r.openName(); err != nil {
		return err
	}
	if err := r.openModels(); err != nil {
		return err
	}
	if err := r.openRecords(); err != nil {
		return err
	}
	if err := r.openTrainer(); err != nil {
		return err
	}
	r.rate()
	r.checkMemory()
	return r.openHub(ctx)
}

// RunName is the name by which the hub and the credentials of workers know the run in dir. It lies in the directory, so that
// the games that wait in the hub are found when the directory is renamed or copied; a run that has not begun is named by its
// directory.
func RunName(dir string) (string, error) {
	path := filepath.Join(dir, nameName)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return filepath.Base(dir), nil
	}
	if err != nil {
		return "", err
	}
	name := strings.TrimSpace(string(b))
	if err := fleet.CheckName("the run's name", name); err != nil {
		return "", fmt.Errorf("%s: %w: write the run's first name into it", path, err)
	}
	return name, nil
}

// openName gives a new run its name. One that has begun keeps its own.
func (r *Run) openName() error {
	_, err := os.Stat(r.dir(nameName))
	if errors.Is(err, fs.ErrNotExist) {
		return atomicfile.WriteBytes(r.dir(nameName), []byte(r.params.Hub.Run+"\n"))
	}
	if err != nil {
		return err
	}
	r.params.Hub.Run, err = RunName(r.params.Dir)
	return err
}

// openModels opens the registry. A new run begins with random weights as its best model.
func (r *Run) openModels() (err error) {
	if r.registry, err = registry.Open(r.dir(modelsDir)); err != nil {
		return err
	}
	if err := r.registry.Torn(); err != nil {
		r.params.Log.Warn("what a kill has cut short is cut off", "error", err)
	}
	if best, ok := r.registry.Best(); ok {
		if best.Meta.Arch != r.params.Arch.String() {
			return fmt.Errorf("the run's models have the arch %s and the config says %v: keep the arch of a run, or begin a new one",
				best.Meta.Arch, r.params.Arch)
		}
		return nil
	}
	if err := r.isNew(); err != nil {
		return err
	}
	w := net.Init(r.params.Arch, seed.New(r.params.Seed).Child("weights", 0).Rand())
	id, err := r.addModel(w, registry.ID{})
	if err != nil {
		return err
	}
	return r.registry.Promote(id, registry.Verdict{At: time.Now(), Reason: "random weights: the start of the run"})
}

// isNew returns an error if the run has work to show although its registry knows of no best model.
func (r *Run) isNew() error {
	for _, d := range []string{checkpointDir, recordsDir, matchesDir} {
		entries, err := os.ReadDir(r.dir(d))
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			return fmt.Errorf("%s names no best model, but there is %s: restore the folder %s from a copy, or begin a new run in another directory",
				r.dir(modelsDir), filepath.Join(r.dir(d), entries[0].Name()), modelsDir)
		}
	}
	return nil
}

// addModel makes w a candidate.
func (r *Run) addModel(w *net.Weights, parent registry.ID) (registry.ID, error) {
	b, err := w.Bytes()
	if err != nil {
		return registry.ID{}, err
	}
	meta := registry.Meta{Parent: parent, Arch: w.Arch().String(), Created: time.Now()}
	if r.trainer != nil {
		meta.Step = r.trainer.Steps()
	}
	return r.registry.Add(b, meta)
}

// openTrainer goes on from the newest checkpoint or, without one, begins from the best model.
func (r *Run) openTrainer() error {
	t, damage, err := train.Resume(r.dir(checkpointDir), r.params.Arch, r.params.Train, r.trainSeed())
	if err != nil {
		return err
	}
	for _, d := range damage {
		r.params.Log.Warn("checkpoint is damaged: going on from the one before", "error", d)
	}
	if t == nil {
		if t, err = r.trainBest(); err != nil {
			return err
		}
		if best, _ := r.registry.Best(); best.Meta.Step > 0 { // the checkpoints are lost: positions that were drawn often enough are not drawn again
			t.Begin(best.Meta.Step, int64(r.params.Passes*float64(r.window.Total()))/int64(r.params.Train.Graph.Batch))
		}
	}
	r.trainer = t
	return nil
}

// openHub opens the transport and tells it what the files say: models, plan, best.
func (r *Run) openHub(ctx context.Context) (err error) {
	if r.hub, err = fleet.OpenHub(ctx, r.params.Hub); err != nil {
		if r.params.Hub.Dir != "" && ctx.Err() == nil {
			return fmt.Errorf("%w; if %s is damaged, delete it: it is made anew from the rest of the run", err, r.params.Hub.Dir)
		}
		return err
	}
	if err := r.announce(ctx, r.params.planAt(r.window.Total())); err != nil {
		return err
	}
	best, _ := r.registry.Best()
	if err := r.publishBest(ctx, best.ID); err != nil {
		return err
	}
	r.tolerate("dropping models", r.dropModels(ctx))
	return nil
}

// dropModels takes off the hub what an earlier process has left there: models that have their verdict, but for the best.
func (r *Run) dropModels(ctx context.Context) error {
	ids, err := r.hub.Models(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		switch e, _ := r.registry.Entry(registry.ID(id)); e.Standing {
		case registry.Best, registry.Candidate:
		default:
			if err := r.hub.DropModel(ctx, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// announce tells workers how to play from their next game on.
func (r *Run) announce(ctx context.Context, p Plan) error {
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := r.hub.SetManifest(ctx, fleet.Manifest{MinWorker: fleet.Version, Variant: r.params.Variant, Search: b}); err != nil {
		return err
	}
	r.mu.Lock()
	r.plan, r.status.Simulations = p, p.SelfPlay.Simulations
	r.mu.Unlock()
	return nil
}

// publish gives a model's bytes to the workers.
func (r *Run) publish(ctx context.Context, id registry.ID) error {
	b, err := r.registry.Bytes(id)
	if err != nil {
		return err
	}
	_, err = r.hub.PublishModel(ctx, b)
	return err
}

// publishBest makes workers play with a model from their next game on. Of those that were the best before, the hub keeps the
// newest: a worker may be about to fetch it.
func (r *Run) publishBest(ctx context.Context, id registry.ID) error {
	if err := r.publish(ctx, id); err != nil {
		return err
	}
	was, err := r.hub.Best(ctx)
	if err != nil {
		return err
	}
	if err := r.hub.SetBest(ctx, was, data.ModelID(id)); err != nil {
		return err
	}
	if was != data.ModelID(id) {
		if r.former != data.ModelID(id) {
			r.tolerate("dropping a model", r.hub.DropModel(ctx, r.former))
		}
		r.former = was
	}
	return nil
}

// Run plays, trains and judges until ctx is done, and then finishes what is in hand: games that have arrived are written
// and the trainer is saved. It returns nil if ctx ended it, else what went wrong. A full disk is waited for. A panic in a
// game costs that game and one in the gradients of a training step that step, until ten come without one that is finished
// between them; any other ends the run with a *crash.Error.
func (r *Run) Run(ctx context.Context) error {
	r.mu.Lock()
	r.begun = time.Now()
	r.mu.Unlock()
	g, inner := errgroup.WithContext(ctx)
	loop := func(f func(context.Context) error) {
		g.Go(func() error {
			err := guard(r.params.Log, func() error { return f(inner) })
			if inner.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
				return nil // it was told to end; what else goes wrong then is told
			}
			return err
		})
	}
	loop(r.ingest)
	loop(r.learn)
	loop(r.judge)
	loop(r.watch)
	if r.params.Workers > 0 {
		loop(r.work)
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("run %s: %w", r.params.Dir, err)
	}
	return nil
}

// work lets this process play, by the same way as any other.
func (r *Run) work(ctx context.Context) error {
	w, err := r.hub.Join(ctx, fleet.WorkerParams{Name: "local", Models: r.dir(modelsDir)})
	if err != nil {
		return err
	}
	c := crew{worker: w, build: r.params.Build, counts: &r.counts, log: r.params.Log, tell: r.note, wrap: r.wrap}
	return errors.Join(c.work(ctx, r.params.Workers), w.Close())
}

// Close gives the run directory back. It waits for nothing: call it when Run has returned.
func (r *Run) Close() error {
	errs := []error{r.metrics.Close()}
	if r.hub != nil {
		errs = append(errs, r.hub.Close())
	}
	if r.lock != nil {
		errs = append(errs, r.lock.Unlock())
	}
	return errors.Join(errs...)
}

// note writes an event to the log and shows it in the status.
func (r *Run) note(text string, args ...any) {
	r.params.Log.Info(text, args...)
	line := text
	for i := 0; i+1 < len(args); i += 2 {
		line += fmt.Sprintf(" %v=%v", args[i], args[i+1])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	events := append(r.status.Events, Event{time.Now(), line})
	r.status.Events = events[max(0, len(events)-MaxEvents):]
}

// nudge puts a token into c unless it holds one.
func nudge(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
