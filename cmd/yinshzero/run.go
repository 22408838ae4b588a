package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"yinshzero/cmd/yinshzero/exporter"
	"yinshzero/cmd/yinshzero/screen"
	"yinshzero/fleet"
	"yinshzero/internal/atomicfile"
	"yinshzero/internal/config"
	"yinshzero/pipeline"
)

const (
	configName = "config.yaml" // the effective configuration, in the run's directory
	logName    = "log/run.log" // all that the run logs, in the run's directory
)

// progressEvery is how often a run without a screen says how it stands.
const progressEvery = 10 * time.Second

// runFlags are the flags of yinshzero run.
type runFlags struct {
	config, dir        string
	listen, url, creds string
	set                []string
	length             time.Duration
	plain              bool
	metrics            string
	tensorBoard        bool
}

func newRun() *cobra.Command {
	c := &cobra.Command{
		Use:   "run",
		Short: "Train: self-play, training, gating and promotion",
		Long: `Train a player in a run directory. The directory is made if need be, and what it holds is gone on with: a run may be
stopped and taken up again at any time. Without --config a run goes on as its own config.yaml says, and a new one begins
with the defaults, those of configs/standard.yaml.

Ctrl-C finishes what is in hand and ends; a second one ends at once, or closes the screen, and then a third one does.`,
		Example: `  yinshzero run --config configs/standard.yaml --dir runs/standard
  yinshzero run --config configs/mini.yaml --dir runs/mini --for 30m --set search.simulations=32
  yinshzero run --dir runs/mini --plain --metrics 9090 --tensorboard`,
		Args: cobra.NoArgs,
	}
	var f runFlags
	c.Flags().StringVar(&f.config, "config", "", "the configuration, a YAML file")
	c.Flags().StringVar(&f.dir, "dir", "runs/standard", "the run's directory")
	c.Flags().DurationVar(&f.length, "for", 0, "end after so long, such as 90s or 2h; 0 = go on")
	c.Flags().StringArrayVar(&f.set, "set", nil, "override a value of the configuration, `KEY=VALUE`; may be repeated")
	c.Flags().StringVar(&f.listen, "listen", "", "open `HOST:PORT` to workers of other machines")
	c.Flags().StringVar(&f.url, "nats", "", "use the NATS server at `URL` instead of one in this process")
	c.Flags().StringVar(&f.creds, "creds", "", "credentials for that server, a `FILE`")
	c.Flags().BoolVar(&f.plain, "plain", false, "log lines instead of a screen")
	c.Flags().StringVar(&f.metrics, "metrics", "", "show Prometheus how the run stands, at /metrics of a `PORT` of this machine, or HOST:PORT")
	c.Flags().BoolVar(&f.tensorBoard, "tensorboard", false, "write event files for TensorBoard in metrics/tensorboard as well")
	c.RunE = func(c *cobra.Command, _ []string) error { return f.run(c) }
	return c
}

func (f *runFlags) run(c *cobra.Command) (err error) {
	if f.listen != "" && f.url != "" {
		return usagef("--listen and --nats: want at most one; the server at the URL opens its own ports")
	}
	if f.length < 0 {
		return usagef("--for is %v: want 0, which is for ever, or more", f.length)
	}
	if f.listen != "" {
		if err := isAddress(f.listen); err != nil {
			return err
		}
	}
	if f.dir, err = filepath.Abs(f.dir); err != nil { // its last part names the run
		return err
	}
	if err := notFile(f.dir); err != nil {
		return err
	}
	if c.Flags().Changed("metrics") {
		if f.metrics, err = exporter.Address(f.metrics); err != nil {
			return usagef("--metrics is %v", err)
		}
	}
	cfg, begun, err := f.load()
	if err != nil {
		return err
	}
	ctx, cancel := untilSignal(c)
	defer cancel()
	if f.length > 0 {
		ctx, cancel = context.WithTimeout(ctx, f.length)
		defer cancel()
	}
	return f.hold(ctx, cfg, begun, c.ErrOrStderr(), func(r *pipeline.Run, log *slog.Logger) error {
		return f.serve(ctx, r, log, func(ctx context.Context) error {
			if f.screen() {
				return screen.Show(ctx, r.Status, r.Run)
			}
			return logged(ctx, r, log)
		})
	})
}

// hold opens the run of a configuration, which may have begun, and calls use while it holds it. If ctx is done before the run
// is open, use is not called.
func (f *runFlags) hold(ctx context.Context, cfg config.Config, begun bool, stderr io.Writer, use func(*pipeline.Run, *slog.Logger) error) (err error) {
	p, err := runParams(cfg, f.dir, f.hub())
	if err != nil {
		return &usageError{err}
	}
	log, file, err := f.openLog(stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	p.Log, p.Hub.Log, p.TensorBoard = log, log, f.tensorBoard
	if !begun { // a new run that ends while it opens is gone on with under the same configuration
		if err := f.keep(cfg); err != nil {
			return err
		}
	}
	r, err := pipeline.Open(ctx, p)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		log.Info("ended before the run was open")
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if begun {
		if err := f.keep(cfg); err != nil {
			return err
		}
	}
	return use(r, log)
}

// serve calls run, and while it runs shows Prometheus how r stands, if that is asked for.
func (f *runFlags) serve(ctx context.Context, r *pipeline.Run, log *slog.Logger, run func(context.Context) error) error {
	if f.metrics == "" {
		return run(ctx)
	}
	l, err := net.Listen("tcp", f.metrics)
	if err != nil {
		return fmt.Errorf("serve metrics: %w: want another --metrics", err)
	}
	log.Info("metrics for Prometheus", "url", "http://"+l.Addr().String()+"/metrics")
	g, inner := errgroup.WithContext(ctx)
	ended, end := context.WithCancel(inner)
	g.Go(func() error { return exporter.Serve(ended, l, build(), r.Status, log) })
	g.Go(func() error {
		defer end()
		return run(inner)
	})
	return g.Wait()
}

// isAddress returns an error unless text is HOST:PORT.
func isAddress(text string) error {
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return usagef("--listen is %q: want HOST:PORT, such as 0.0.0.0:4222", text)
	}
	return nil
}

// keep writes the configuration to the run's directory.
func (f *runFlags) keep(cfg config.Config) error {
	text := append([]byte("# The effective configuration, written by yinshzero "+build()+".\n"), cfg.YAML()...)
	return atomicfile.WriteBytes(filepath.Join(f.dir, configName), text)
}

// load reads the configuration: the file named, or the run's own, or the defaults. A run that has begun, which load
// reports, keeps its Variant.
func (f *runFlags) load() (cfg config.Config, begun bool, err error) {
	own := filepath.Join(f.dir, configName)
	_, err = os.Stat(own)
	begun = err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cfg, false, err
	}
	path := f.config
	if path == "" && begun {
		path = own
	}
	cfg, err = config.Load(path, f.set)
	var fault *config.Fault
	switch {
	case errors.As(err, &fault):
		return cfg, begun, &usageError{err}
	case err != nil || !begun:
		return cfg, begun, err
	}
	was, err := variantOf(own)
	if err != nil {
		return cfg, begun, err
	}
	if was != cfg.Variant {
		return cfg, begun, usagef("the run in %s plays %s and the configuration says %s: keep a run's variant, or begin a new run with another --dir",
			f.dir, was, cfg.Variant)
	}
	return cfg, begun, nil
}

// variantOf reads the Variant of a configuration, whatever else it holds: another version may have written it.
func variantOf(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	c := struct {
		Variant string `yaml:"variant"`
	}{config.Default().Variant}
	if err := yaml.Unmarshal(text, &c); err != nil {
		return "", fmt.Errorf("read the variant in %s: %w: if it is damaged, delete it and say --config FILE", path, err)
	}
	return c.Variant, nil
}

// hub says where the run meets its workers.
func (f *runFlags) hub() fleet.HubParams {
	p := fleet.DefaultHubParams()
	p.Listen, p.URL, p.Creds = f.listen, f.url, f.creds
	if f.url == "" {
		p.Dir = filepath.Join(f.dir, "hub")
	}
	if f.listen != "" {
		p.Keys = keysDir(f.dir)
	}
	return p
}

// screen reports whether the run is shown on a screen.
func (f *runFlags) screen() bool {
	return !f.plain && term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
}

// openLog returns a logger to the run's log file and, without a screen, to stderr as well.
func (f *runFlags) openLog(stderr io.Writer) (*slog.Logger, io.Closer, error) {
	path := filepath.Join(f.dir, logName)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, nil, fmt.Errorf("make run directory: %w", err)
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("open log: %w", err)
	}
	var w io.Writer = file
	if !f.screen() {
		w = io.MultiWriter(stderr, file)
	}
	return slog.New(slog.NewTextHandler(w, nil)), file, nil
}

// logged runs r and logs how it stands from time to time.
func logged(ctx context.Context, r *pipeline.Run, log *slog.Logger) error {
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	clock := time.NewTicker(progressEvery)
	defer clock.Stop()
	for {
		select {
		case err := <-done:
			if err != nil {
				log.Error("ended", append(progress(r.Status()), "error", err)...)
			} else {
				log.Info("ended", progress(r.Status())...)
			}
			return err
		case <-clock.C:
			log.Info("progress", progress(r.Status())...)
		}
	}
}

// progress is how a run stands, as attributes of a log line.
func progress(s pipeline.Status) []any {
	list := []any{
		"games", s.Games, "positions", s.Positions, "window", s.WindowSize, "games_per_hour", int(s.GamesPerSecond * 3600),
		"evaluations_per_second", int(s.EvaluationsPerSecond), "step", s.Step,
	}
	if s.Waiting != "" {
		list = append(list, "waiting", s.Waiting)
	}
	if s.Losses.Total != 0 {
		list = append(list, "policy_loss", round(s.Losses.Policy), "value_loss", round(s.Losses.Value))
	}
	return append(list, "best", s.Best.ID[:min(12, len(s.Best.ID))], "elo", int(s.Best.Elo),
		"promotions", s.Promotions, "rejections", s.Rejections)
}

// round keeps a loss to the digits that people read.
func round(x float64) float64 { return float64(int(x*1000)) / 1000 }
