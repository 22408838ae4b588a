package exporter

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"yinshzero/arena"
	"yinshzero/net/graph"
	"yinshzero/pipeline"
)

// scrape reads the page as Prometheus does.
func scrape(t *testing.T, url string) map[string]*dto.MetricFamily {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("status %s", res.Status)
	}
	if got, want := res.Header.Get("Content-Type"), "text/plain; version=0.0.4; charset=utf-8"; !strings.HasPrefix(got, want) {
		t.Errorf("content type %q, want %s", got, want)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	all, err := parser.TextToMetricFamilies(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// figure is the value of a metric with one label at most, "" for none.
func figure(t *testing.T, all map[string]*dto.MetricFamily, name, label string) float64 {
	t.Helper()
	for _, m := range all[name].GetMetric() {
		if label == "" || m.GetLabel()[0].GetValue() == label {
			return m.GetGauge().GetValue() + m.GetCounter().GetValue() // one of them is 0
		}
	}
	t.Errorf("there is no %s %s", name, label)
	return 0
}

func TestScrape(t *testing.T) {
	s := pipeline.Status{
		Games: 6120, Quarantined: 3, Panics: 2, Positions: 489_600, Evaluations: 1 << 40, EvaluationsPerSecond: 2310.5, WindowSize: 92_000, Step: 9250,
		Waiting: "new games", LearningRate: 0.00073, Losses: graph.Losses{Total: 2.123, Policy: 1.3}, Promotions: 7, Rejections: 2,
		HeldOut: graph.Losses{Total: 2.25, Value: 0.6}, HeldOutStep: 9000,
		Best: pipeline.ModelStatus{Measured: true, Elo: 812, EloLow: 760, EloHigh: 868},
		Gate: &pipeline.GateStatus{Score: arena.Score{Pairs: [5]int{1, 0, 2, 0, 9}}, Elo: 89, LLR: 1.07},
	}
	server := httptest.NewServer(Handler("v1", func() pipeline.Status { return s }))
	defer server.Close()
	all := scrape(t, server.URL)
	for name, want := range map[string]float64{
		"games_total": 6120, "quarantined_games_total": 3, "panics_total": 2, "positions_total": 489_600, "evaluations_total": 1 << 40, "evaluations_per_second": 2310.5,
		"window_positions": 92_000, "training_steps_total": 9250, "training_waiting": 1, "learning_rate": 0.00073,
		"promotions_total": 7, "rejections_total": 2, "best_elo": 812, "best_elo_low": 760, "best_elo_high": 868,
		"held_out_step": 9000, "gate_pairs": 12, "gate_elo": 89, "gate_llr": 1.07,
	} {
		if got := figure(t, all, "yinshzero_"+name, ""); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if got := figure(t, all, "yinshzero_loss", "policy"); got != 1.3 {
		t.Errorf("the policy loss is %v, want 1.3", got)
	}
	if got := figure(t, all, "yinshzero_held_out_loss", "value"); got != 0.6 {
		t.Errorf("the value loss on games held out is %v, want 0.6", got)
	}
	if got := figure(t, all, "yinshzero_build_info", "v1"); got != 1 {
		t.Errorf("build info is %v, want 1", got)
	}
	if all["go_goroutines"] == nil {
		t.Error("the runtime's figures are not there")
	}
	for name, f := range all {
		if strings.HasPrefix(name, "yinshzero_") && (f.GetHelp() == "" || strings.HasSuffix(name, "_total") != (f.GetType() == dto.MetricType_COUNTER)) {
			t.Errorf("%s has the type %v and the help %q", name, f.GetType(), f.GetHelp())
		}
	}
}

// What is not known is not told.
func TestScrapeOfANewRun(t *testing.T) {
	server := httptest.NewServer(Handler("v1", func() pipeline.Status { return pipeline.Status{Promotions: -1} }))
	defer server.Close()
	all := scrape(t, server.URL)
	for _, name := range []string{"loss", "held_out_loss", "held_out_step", "best_elo", "best_elo_low", "gate_elo", "gate_pairs"} {
		if all["yinshzero_"+name] != nil {
			t.Errorf("%s is there", name)
		}
	}
	if got := figure(t, all, "yinshzero_games_total", ""); got != 0 {
		t.Errorf("%v games", got)
	}
}

func TestServe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	go func() { done <- Serve(ctx, l, "v1", func() pipeline.Status { return pipeline.Status{Games: 3} }, log) }()
	url := "http://" + l.Addr().String()
	if got := figure(t, scrape(t, url+"/metrics"), "yinshzero_games_total", ""); got != 3 {
		t.Errorf("%v games, want 3", got)
	}
	res, err := http.Get(url + "/")
	if err != nil || res.StatusCode != http.StatusNotFound {
		t.Errorf("elsewhere: got %v, %v", res, err)
	} else {
		res.Body.Close()
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := http.Get(url + "/metrics"); err == nil {
		t.Error("it answers after its end")
	}
}

func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		"9090": "127.0.0.1:9090", ":9090": "127.0.0.1:9090", "0": "127.0.0.1:0", "0.0.0.0:9090": "0.0.0.0:9090",
		"[::]:9090": "[::]:9090", "localhost:1": "localhost:1",
		"": "", "nine": "", "1:2:3": "", "70000": "", "host:": "", "host": "", "-1": "",
	} {
		got, err := Address(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q and %v, want %q", in, got, err, want)
		}
	}
}
