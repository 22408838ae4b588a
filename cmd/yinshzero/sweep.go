package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"yinshzero/arena"
	"yinshzero/internal/config"
	"yinshzero/pipeline"
	"yinshzero/report"
	"yinshzero/rules"
	"yinshzero/sweep"
)

// The files of a sweep's directory, beside the runs' directories.
const (
	sweepMatches  = "matches"
	sweepResults  = "results.json"
	sweepMarkdown = "results.md"
	sweepPage     = "report.html"
)

// reportGames is how many games of each run a sweep's report reads.
const reportGames = 20_000

// A sweeper is yinshzero sweep at work.
type sweeper struct {
	config.Sweep
	dir             string
	pairs, parallel int
	tensorBoard     bool
	log             *slog.Logger
	stderr          io.Writer
}

func newSweep() *cobra.Command {
	c := &cobra.Command{
		Use:   "sweep FILE",
		Short: "Train several configurations under the same seeds, and compare them with error bars",
		Long: `Train several configurations, which a YAML file names, one after the other: each is a run of its own below the directory,
named by the configuration and its seed. Then their best models play each other and the fixed players, and a table tells them
apart; results.json, results.md and report.html in the directory hold it, the last with the curves of the runs.

Ctrl-C finishes what is in hand, and the same command goes on: what is finished is left as it is. A run that fails is told, and
the others go on; the next time it is tried again. Several processes may share one directory: each takes a run that no other
has in hand.`,
		Example: `  yinshzero sweep configs/sweeps/heads.yaml --dir runs/heads
  yinshzero sweep configs/sweeps/heads.yaml --dir runs/heads --pairs 200 --json`,
		Args: takes(1, 1),
	}
	var s sweeper
	c.Flags().StringVar(&s.dir, "dir", "runs/sweep", "the sweep's directory")
	c.Flags().IntVar(&s.pairs, "pairs", 50, "pairs of games in a match between two models, and of a model against a fixed player; 1 to 1000000")
	c.Flags().IntVar(&s.parallel, "parallel", runtime.NumCPU(), "games of a match at once, 1 to 1024")
	c.Flags().BoolVar(&s.tensorBoard, "tensorboard", false, "write event files for TensorBoard in each run's metrics/tensorboard as well")
	asJSON := addJSON(c)
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if err := errors.Join(inRange("pairs", s.pairs, 1, maxPairs), inRange("parallel", s.parallel, 1, maxThreads)); err != nil {
			return err
		}
		s.Sweep, err = config.LoadSweep(args[0])
		var fault *config.Fault
		if errors.As(err, &fault) {
			return &usageError{err}
		}
		if err != nil {
			return err
		}
		if s.dir, err = filepath.Abs(s.dir); err != nil {
			return err
		}
		if err := errors.Join(notFile(s.dir), os.MkdirAll(s.dir, 0o755)); err != nil {
			return err
		}
		ctx, stop := untilSignal(c)
		defer stop()
		s.stderr = c.ErrOrStderr()
		s.log = slog.New(slog.NewTextHandler(s.stderr, nil))
		failed, err := s.train(ctx)
		if err != nil {
			return err
		}
		results, err := s.results(ctx, failed)
		if err != nil {
			return err
		}
		if *asJSON {
			err = printJSON(c, results)
		} else {
			err = printTables(c.OutOrStdout(), results.Tables())
		}
		if n := len(failed); n > 0 {
			err = errors.Join(err, fmt.Errorf("%d of %d runs are not finished: the same command tries them again", n, len(s.runs())))
		}
		return err
	}
	return c
}

// runs are the sweep's, a seed of all configurations after the other, so that the first figures come early.
func (s *sweeper) runs() (list []sweep.Run) {
	for _, seed := range s.Seeds {
		for _, c := range s.Configurations {
			list = append(list, sweep.Run{Configuration: c.Name, Seed: seed})
		}
	}
	return list
}

func (s *sweeper) runDir(r sweep.Run) string { return filepath.Join(s.dir, r.Name()) }

func (s *sweeper) budget() sweep.Budget {
	return sweep.Budget{Time: s.For, Games: s.Games, Positions: s.Positions}
}

// train takes every run to its end. It returns why some are not there, by name; its error is that it was interrupted.
func (s *sweeper) train(ctx context.Context) (failed map[string]error, err error) {
	failed = map[string]error{}
	for i, r := range s.runs() {
		log := s.log.With("run", r.Name(), "number", i+1, "of", len(s.runs()))
		err := s.trainOne(ctx, r, log)
		if ctx.Err() != nil {
			return nil, errors.Join(fmt.Errorf("interrupted in the run %s: the same command goes on", r.Name()), err)
		}
		if err != nil {
			log.Error("run failed: going on with the others", "error", err)
			failed[r.Name()] = err
		}
	}
	return failed, nil
}

// trainOne takes one run to its end, unless it is there.
func (s *sweeper) trainOne(ctx context.Context, r sweep.Run, log *slog.Logger) error {
	dir := s.runDir(r)
	cfg, begun, err := s.configuration(r)
	if err != nil {
		return err
	}
	p, err := sweep.ReadProgress(dir)
	if err != nil {
		return err
	}
	if s.budget().Spent(p) {
		log.Info("run is finished")
		return nil
	}
	log.Info("run begins", "games", p.Games, "positions", p.Positions, "seconds", int(p.Seconds))
	spent, end := context.WithCancel(ctx)
	defer end()
	f := runFlags{dir: dir, plain: true, tensorBoard: s.tensorBoard}
	var held meter
	err = f.hold(spent, cfg, begun, s.stderr, func(run *pipeline.Run, log *slog.Logger) error {
		held = meter{dir: dir, budget: s.budget(), before: p, status: run.Status, log: log}
		return errors.Join(held.during(spent, end, func() error { return logged(spent, run, log) }), held.write())
	})
	if err == nil && ctx.Err() == nil && !s.budget().Spent(held.progress()) {
		err = errors.New("it ended before its budget was spent")
	}
	return err
}

// configuration is that of a run, and whether the run has begun, which must have been with the same.
func (s *sweeper) configuration(r sweep.Run) (cfg config.Config, begun bool, err error) {
	for _, c := range s.Configurations {
		if c.Name == r.Configuration {
			cfg = c.Config
		}
	}
	cfg.Seed = r.Seed
	path := filepath.Join(s.runDir(r), configName)
	if _, err := os.Stat(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return cfg, false, err
	}
	was, err := config.Load(path, nil)
	if keys := was.Differ(cfg); err == nil && len(keys) > 0 {
		err = fmt.Errorf("%s is not what the sweep's file now says: %s differ: choose another --dir, or delete the run's folder", path, strings.Join(keys, ", "))
	}
	return cfg, true, err
}

// A meter counts what a run uses up.
type meter struct {
	dir    string
	budget sweep.Budget
	before sweep.Progress
	status func() pipeline.Status // nil if the run was never open
	log    *slog.Logger
}

// How often a meter looks, and how often it writes down what it sees.
const (
	meterEvery = 200 * time.Millisecond
	writeEvery = 10 * time.Second
)

func (m *meter) progress() sweep.Progress {
	p := m.before
	if m.status == nil {
		return p
	}
	s := m.status()
	p.Seconds += s.Elapsed.Seconds()
	p.Evaluations += s.Evaluations
	p.Games, p.Positions, p.Steps = max(p.Games, s.Games), max(p.Positions, s.Positions), max(p.Steps, s.Step)
	return p
}

func (m *meter) write() error { return m.progress().Write(m.dir) }

// during calls run, and end as soon as the budget is spent.
func (m *meter) during(ctx context.Context, end func(), run func() error) error {
	done := make(chan error, 1)
	go func() { done <- run() }()
	look, write := time.NewTicker(meterEvery), time.NewTicker(writeEvery)
	defer look.Stop()
	defer write.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-look.C:
			if m.budget.Spent(m.progress()) {
				end()
			}
		case <-write.C:
			if err := m.write(); err != nil { // a full disk, which the run waits for
				m.log.Warn("progress is not written", "error", err)
			}
		}
	}
}

// results plays the matches between the finished runs, and writes the sweep's files.
func (s *sweeper) results(ctx context.Context, failed map[string]error) (*sweep.Results, error) {
	var outcomes []sweep.Outcome
	var curves []*report.Run
	for _, r := range s.runs() {
		o, c := r.Read(s.runDir(r), report.Params{MaxGames: reportGames}, s.budget())
		if err := failed[r.Name()]; err != nil {
			o.Finished, o.Error = false, err.Error()
		}
		outcomes = append(outcomes, o)
		if c != nil {
			curves = append(curves, c)
		}
	}
	matches, err := s.matches(ctx, outcomes)
	if err != nil {
		return nil, err
	}
	results, err := sweep.New(outcomes, matches)
	if err != nil {
		return nil, err
	}
	return results, s.write(results, curves)
}

// matches plays each finished run against the fixed players, and against the runs of other configurations with its seed.
func (s *sweeper) matches(ctx context.Context, outcomes []sweep.Outcome) (played []sweep.Played, err error) {
	variant, err := rules.ParseVariant(s.Common.Variant)
	if err != nil {
		return nil, err
	}
	m := sweep.Match{
		Dir:   filepath.Join(s.dir, sweepMatches),
		Match: arena.Match{Variant: variant, Seed: s.Seeds[0], Pairs: s.pairs, Parallel: s.parallel},
	}
	play := func(a, b string) error {
		s.log.Info("match", "a", a, "b", b, "pairs", s.pairs)
		score, err := m.Play(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted in the match %s against %s: the same command goes on", a, b)
		}
		played = append(played, sweep.Played{A: a, B: b, Score: score})
		return err
	}
	for i, a := range outcomes {
		if !a.Finished {
			continue
		}
		if m.A, err = s.player(a, variant); err != nil {
			return nil, err
		}
		for _, text := range s.anchors() {
			if m.B.Spec, err = arena.ParseSpec(text); err != nil {
				return nil, err
			}
			if m.B.Make, err = m.B.Spec.Maker(nil); err != nil {
				return nil, err
			}
			if err := play(a.Name, text); err != nil {
				return nil, err
			}
		}
		for _, b := range outcomes[i+1:] {
			if !b.Finished || b.Seed != a.Seed {
				continue
			}
			if m.B, err = s.player(b, variant); err != nil {
				return nil, err
			}
			if err := play(a.Name, b.Name); err != nil {
				return nil, err
			}
		}
	}
	return played, nil
}

// anchors are the fixed players: those of the common configuration, and random in any case.
func (s *sweeper) anchors() []string {
	random := arena.Spec{Kind: arena.SpecRandom}.String()
	list := []string{random}
	for _, p := range s.Common.Anchors.Players {
		if p != random {
			list = append(list, p)
		}
	}
	return list
}

// player is a finished run's best model, with the budget of gates.
func (s *sweeper) player(o sweep.Outcome, v rules.Variant) (p sweep.Player, err error) {
	p.Spec = arena.Spec{Kind: arena.SpecModel, Model: o.Best, Simulations: s.Common.Gate.Simulations}
	p.Make, err = player(p.Spec.String(), filepath.Join(s.dir, o.Name), v, "", 0)
	return p, err
}

// write writes the results, as JSON, as Markdown, and as a page with the curves of the first runs.
func (s *sweeper) write(results *sweep.Results, curves []*report.Run) error {
	tables := results.Tables()
	err := errors.Join(
		writePage(filepath.Join(s.dir, sweepResults), func(w io.Writer) error { return encodeJSON(w, results) }),
		writePage(filepath.Join(s.dir, sweepMarkdown), func(w io.Writer) error {
			for i, t := range tables {
				if i > 0 {
					if _, err := io.WriteString(w, "\n"); err != nil {
						return err
					}
				}
				if err := t.WriteMarkdown(w); err != nil {
					return err
				}
			}
			return nil
		}))
	if err != nil || len(curves) == 0 {
		return err
	}
	if len(curves) > report.MaxRuns {
		s.log.Info("the page draws the curves of the first runs only", "runs", report.MaxRuns)
		curves = curves[:report.MaxRuns]
	}
	page := report.New(curves...)
	page.Tables = tables
	return writePage(filepath.Join(s.dir, sweepPage), page.WriteHTML)
}

func printTables(w io.Writer, tables []report.Table) error {
	for i, t := range tables {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := t.WriteText(w); err != nil {
			return err
		}
	}
	return nil
}
