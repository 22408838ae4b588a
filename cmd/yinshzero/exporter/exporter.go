package exporter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"yinshzero/net/graph"
	"yinshzero/pipeline"
)

// Address reads what a user gives for an address: HOST:PORT, or a port alone, which this machine only can reach.
func Address(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil && !strings.ContainsAny(text, ":[]") {
		host, port, err = "", text, nil
	}
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "", fmt.Errorf("%q: want a port, such as 9090, or HOST:PORT, such as 0.0.0.0:9090", text)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// Serve answers at l until ctx is done, and closes l: the figures of status are at /metrics.
func Serve(ctx context.Context, l net.Listener, build string, status func() pipeline.Status, log *slog.Logger) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", Handler(build, status))
	s := &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	stop := context.AfterFunc(ctx, func() { s.Close() }) // nothing that is asked for takes long
	defer stop()
	if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
}

// Handler answers with the figures of status.
func Handler(build string, status func() pipeline.Status) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), run{build, status})
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// A run is a prometheus.Collector of one Status at a time, so that the figures of a page belong together.
type run struct {
	build  string
	status func() pipeline.Status
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("yinshzero_"+name, help, labels, nil)
}

// The figures. Counters count over the run's whole life unless their help says otherwise.
var (
	buildInfo   = desc("build_info", "Always 1: the program's version.", "version")
	games       = desc("games_total", "Games of self-play taken into the records.")
	positions   = desc("positions_total", "Positions of these games that training may draw.")
	evaluations = desc("evaluations_total", "Positions that networks have judged, since the process started.")
	quarantined = desc("quarantined_games_total", "Games refused, since the process started.")
	panics      = desc("panics_total", "Games and pairs that this process's workers have lost to a panic, since it started.")
	gameRate    = desc("games_per_second", "Games of self-play a second, over the last half minute or so.")
	posRate     = desc("positions_per_second", "Such positions a second, over the last half minute or so.")
	evalRate    = desc("evaluations_per_second", "Positions that networks judge a second, over the last half minute or so.")
	window      = desc("window_positions", "Positions that are trained on.")
	windowMin   = desc("window_min_positions", "Positions needed before the first training step.")
	waiting     = desc("training_waiting", "1 while training waits for positions.")
	steps       = desc("training_steps_total", "Training steps.")
	stepRate    = desc("training_steps_per_second", "Training steps a second, over the last half minute or so.")
	rate        = desc("learning_rate", "The learning rate.")
	loss        = desc("loss", "Mean loss over the last training steps.", "head")
	heldOut     = desc("held_out_loss", "Loss of the newest candidate on games that are held out.", "head")
	heldOutStep = desc("held_out_step", "Training step at which that candidate was made.")
	simulations = desc("simulations", "Simulations of a full search in self-play.")
	promotions  = desc("promotions_total", "Candidates promoted.")
	rejections  = desc("rejections_total", "Candidates rejected.")
	bestStep    = desc("best_step", "Training step at which the best model was made.")
	bestElo     = desc("best_elo", "Elo of the best model over the player random.")
	bestLow     = desc("best_elo_low", "Lower end of its 95 % interval.")
	bestHigh    = desc("best_elo_high", "Upper end of its 95 % interval.")
	gatePairs   = desc("gate_pairs", "Pairs that the candidate on trial has played.")
	gateElo     = desc("gate_elo", "Elo of the candidate on trial over the best model.")
	gateLLR     = desc("gate_llr", "Log-likelihood ratio of the sequential test.")
)

// Describe sends nothing: which figures there are depends on how the run stands.
func (run) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (r run) Collect(out chan<- prometheus.Metric) {
	s := r.status()
	gauge := func(d *prometheus.Desc, x float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, x, labels...)
	}
	count := func(d *prometheus.Desc, n int64) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n))
	}
	gauge(buildInfo, 1, r.build)
	count(games, s.Games)
	count(positions, s.Positions)
	count(evaluations, s.Evaluations)
	count(quarantined, s.Quarantined)
	count(panics, s.Panics)
	gauge(gameRate, s.GamesPerSecond)
	gauge(posRate, s.PositionsPerSecond)
	gauge(evalRate, s.EvaluationsPerSecond)
	gauge(window, float64(s.WindowSize))
	gauge(windowMin, float64(s.WindowMin))
	wait := 0.0
	if s.Waiting != "" {
		wait = 1
	}
	gauge(waiting, wait)
	count(steps, s.Step)
	gauge(stepRate, s.StepsPerSecond)
	gauge(rate, s.LearningRate)
	heads := func(d *prometheus.Desc, l graph.Losses) {
		for _, h := range []struct {
			name string
			loss float64
		}{
			{"total", l.Total}, {"policy", l.Policy}, {"value", l.Value}, {"rings", l.Rings}, {"reply", l.Reply},
			{"ownership", l.Ownership}, {"plies", l.Plies},
		} {
			gauge(d, h.loss, h.name)
		}
	}
	if s.Losses.Total != 0 {
		heads(loss, s.Losses)
	}
	if s.HeldOut.Total != 0 {
		heads(heldOut, s.HeldOut)
		gauge(heldOutStep, float64(s.HeldOutStep))
	}
	gauge(simulations, float64(s.Simulations))
	count(promotions, int64(max(0, s.Promotions)))
	count(rejections, int64(s.Rejections))
	gauge(bestStep, float64(s.Best.Step))
	if b := s.Best; b.Measured {
		gauge(bestElo, b.Elo)
		gauge(bestLow, b.EloLow)
		gauge(bestHigh, b.EloHigh)
	}
	if g := s.Gate; g != nil {
		gauge(gatePairs, float64(g.Score.N()))
		gauge(gateElo, g.Elo)
		gauge(gateLLR, g.LLR)
	}
}
