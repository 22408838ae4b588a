package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"yinshzero/fleet"
	"yinshzero/pipeline"
)

// modelBytes bounds the models that a worker keeps on disk.
const modelBytes = 256 << 20

func newWorker() *cobra.Command {
	c := &cobra.Command{
		Use:   "worker",
		Short: "Play self-play and gate games for a run elsewhere",
		Long: `Play for a run on another machine, which was started with --listen and has let this worker in (yinshzero fleet). The
worker keeps models, and games that it cannot deliver, in a folder of the run's and its own name below its directory.
Ctrl-C ends it.`,
		Example: "  yinshzero worker --nats tls://trainer:4222 --creds anna.creds --parallel 8",
		Args:    cobra.NoArgs,
	}
	var p fleet.WorkerParams
	c.Flags().StringVar(&p.URL, "nats", "", "the hub's `URL`")
	c.Flags().StringVar(&p.Creds, "creds", "", "the `FILE` that yinshzero fleet keygen made")
	dir := c.Flags().String("dir", "worker", "directory for models and undelivered games")
	parallel := c.Flags().Int("parallel", runtime.NumCPU(), "games at once, 1 to 1024")
	c.RunE = func(c *cobra.Command, _ []string) (err error) {
		if p.URL == "" || p.Creds == "" {
			return usagef("want --nats URL and --creds FILE")
		}
		if err := inRange("parallel", *parallel, 1, maxThreads); err != nil {
			return err
		}
		ctx, stop := untilSignal(c)
		defer stop()
		if err := notFile(*dir); err != nil {
			return err
		}
		p.ModelBytes = modelBytes
		p.Log = slog.New(slog.NewTextHandler(c.ErrOrStderr(), nil))
		creds, err := fleet.ReadCredentials(p.Creds)
		if err != nil {
			return err
		}
		own := filepath.Join(*dir, creds.Run, creds.Worker)
		lock, err := hold(own)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, lock.Unlock()) }()
		p.Models, p.Spool = filepath.Join(own, "models"), filepath.Join(own, "spool")
		w, err := fleet.Join(ctx, p)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.Close()) }()
		p.Log.Info("joined", "worker", w.Name(), "variant", w.Manifest().Variant)
		var counts pipeline.Counts
		err = pipeline.Work(ctx, w, *parallel, build(), &counts, p.Log)
		p.Log.Info("ended", "games", counts.Games.Load(), "pairs", counts.Pairs.Load(), "panics", counts.Panics.Load(), "spooled", w.Spooled())
		return err
	}
	return c
}

// hold makes a worker's directory if need be and takes it for this process.
func hold(dir string) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make worker directory: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	switch ok, err := lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("lock worker directory: %w", err)
	case !ok:
		return nil, fmt.Errorf("another process is the worker in %s: end it first, or make credentials of another name", dir)
	}
	return lock, nil
}
