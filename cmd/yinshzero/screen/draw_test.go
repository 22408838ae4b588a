package screen

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"yinshzero/arena"
	"yinshzero/net/graph"
	"yinshzero/pipeline"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func early() pipeline.Status {
	return pipeline.Status{
		Dir: "runs/mini", Elapsed: 75*time.Second + 400*time.Millisecond, Games: 57, Positions: 4120, WindowSize: 4120, WindowMin: 20000,
		GamesPerSecond: 0.75, PositionsPerSecond: 54.9, EvaluationsPerSecond: 2310.2, Simulations: 16,
		Waiting: "4,120 of 20,000 positions", NextCandidate: 500,
		Best: pipeline.ModelStatus{ID: strings.Repeat("0123456789abcdef", 4)},
	}
}

func late() pipeline.Status {
	s := early()
	s.Elapsed, s.Games, s.Positions, s.WindowSize, s.Waiting = 26*time.Hour, 1_234_567, 98_765_432, 2_000_000, ""
	s.Quarantined, s.Step, s.NextCandidate, s.StepsPerSecond, s.LearningRate, s.Simulations = 3, 41_250, 41_500, 8.25, 0.00035, 64
	s.Losses = graph.Losses{Total: 2.1234, Policy: 1.5, Value: 0.5934, Rings: 0.12, Reply: 1.6, Ownership: 0.7123, Plies: 1.95}
	s.HeldOut, s.HeldOutStep = graph.Losses{Total: 2.2345, Policy: 1.55, Value: 0.6543}, 41_000
	score := arena.Score{Wins: 14, Draws: 2, Losses: 8}
	score.Pairs = [5]int{1, 1, 6, 2, 2}
	s.Gate = &pipeline.GateStatus{
		Candidate: strings.Repeat("fedcba9876543210", 4), Step: 41_000, Score: score, Elo: 88.7, EloLow: -40, EloHigh: 230,
		LLR: 1.07, Lower: -2.94, Upper: 2.94, MaxPairs: 100,
	}
	s.Best = pipeline.ModelStatus{ID: s.Best.ID, Step: 39_500, Measured: true, Elo: 812.4, EloLow: 760, EloHigh: 868}
	s.Promotions, s.Rejections = 31, 44
	for i := range 30 {
		at := time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC)
		s.Events = append(s.Events, pipeline.Event{Time: at, Text: "promoted model=fedcba987654 score=\"+14 =2 -8 in 12 pairs\" reason=\"stronger\""})
	}
	return s
}

// troubled has a last event longer than a line, of an error of two lines.
func troubled() pipeline.Status {
	s := late()
	s.Panics = 2
	s.Events = append(s.Events, pipeline.Event{
		Time: time.Date(2026, 1, 2, 4, 5, 6, 0, time.UTC),
		Text: "disk is full: waiting for room error=write runs/mini/records/00000017.shard: no space left on device: make room on the disk of runs/mini/records\nremove runs/mini/records/.tmp-1: no such file",
	})
	return s
}

func TestDraw(t *testing.T) {
	for _, tt := range []struct {
		name          string
		in            pipeline.Status
		width, height int
	}{
		{"early", early(), 100, 30},
		{"late", late(), 120, 24},
		{"narrow", late(), 40, 16},
		{"wrapped", troubled(), 60, 26},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Draw(tt.in, tt.width, tt.height, "q or Ctrl-C: finish and end")
			lines := strings.Split(got, "\n")
			if len(lines) > tt.height {
				t.Errorf("%d lines, want at most %d", len(lines), tt.height)
			}
			for _, l := range lines {
				if w := lipgloss.Width(l); w > tt.width {
					t.Errorf("%d columns, want at most %d: %q", w, tt.width, l)
				}
			}
			path := filepath.Join("testdata", tt.name+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// A picture of a size that no terminal has does not fail.
func TestDrawTiny(t *testing.T) {
	for size := range 12 {
		Draw(late(), size, size, "foot")
	}
}

func TestKeys(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := &model{ctx: ctx, cancel: cancel, status: early, width: 80, height: 24}
	m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("x")})
	if ctx.Err() != nil {
		t.Fatal("the key x ended the run")
	}
	if _, cmd := m.Update(tea.KeyMsg{Type: tea.KeyCtrlC}); ctx.Err() == nil || cmd != nil {
		t.Fatalf("after Ctrl-C: context %v, command %v: want it to end and the screen to stay", ctx.Err(), cmd)
	}
	if !strings.Contains(m.View(), "finishing") {
		t.Errorf("the screen does not say that the run is finishing:\n%s", m.View())
	}
	if _, cmd := m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("q")}); cmd == nil || !m.left {
		t.Errorf("the second key: command %v, left %v: want to leave", cmd, m.left)
	}
}

func TestEnded(t *testing.T) {
	m := &model{ctx: t.Context(), status: early}
	if _, cmd := m.Update(ended{}); cmd == nil {
		t.Error("the screen stays when the run has ended")
	}
}

// failing is an input that fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// However the screen ends, Show waits for the run.
func TestShowWaits(t *testing.T) {
	broken := errors.New("no terminal")
	for _, tt := range []struct {
		name  string
		input io.Reader
		want  error
	}{
		{"second key", iotest.OneByteReader(strings.NewReader("qq")), nil},
		{"input fails", failing{broken}, broken},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var shown atomic.Bool // show has returned
			full := errors.New("no space")
			err := show(t.Context(), io.Discard, early, func(ctx context.Context) error {
				<-ctx.Done()
				for range 1000 {
					runtime.Gosched()
				}
				if shown.Load() {
					t.Error("Show returned before the run")
				}
				return full
			}, tea.WithInput(tt.input))
			shown.Store(true)
			if !errors.Is(err, full) || (tt.want != nil && !errors.Is(err, tt.want)) {
				t.Errorf("got %v, want %v and %v", err, full, tt.want)
			}
		})
	}
}
