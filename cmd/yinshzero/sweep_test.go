package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"yinshzero/sweep"
)

// A trigger is a log that calls fire when a line holds its text.
type trigger struct {
	bytes.Buffer
	text string
	fire func()
}

func (w *trigger) Write(b []byte) (int, error) {
	if w.text != "" && bytes.Contains(b, []byte(w.text)) {
		w.fire()
	}
	return w.Buffer.Write(b)
}

// sweepOf calls yinshzero sweep with one tiny configuration, until it has ended or logs text, and returns what it logs.
func sweepOf(t *testing.T, dir string, games int64, text string) (sweep.Results, string, error) {
	t.Helper()
	base, err := filepath.Abs("../../configs/smoke.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "sweep.yaml")
	yaml := fmt.Sprintf("base: '%s'\nseeds: [4]\ngames: %d\ncommon: {selfplay: {workers: 2}}\nconfigurations: {one: {}}\n", base, games)
	if err := os.WriteFile(file, []byte(yaml), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	root, out, log := newRoot(), &bytes.Buffer{}, &trigger{text: text, fire: cancel}
	root.SetOut(out)
	root.SetErr(log)
	root.SetArgs([]string{"sweep", file, "--dir", dir, "--pairs", "1", "--json"})
	err = root.ExecuteContext(ctx)
	var r sweep.Results
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Error(err)
		}
	}
	return r, log.String(), err
}

// An interrupt in a run, or in a match, finishes what is in hand, and the same command goes on from there.
func TestInterruptedSweep(t *testing.T) {
	if testing.Short() {
		t.Skip("plays for seconds")
	}
	dir := filepath.Join(t.TempDir(), "runs")
	if _, _, err := sweepOf(t, dir, 1_000_000, "msg=candidate"); err == nil || err.Error() != "interrupted in the run one-4: the same command goes on" {
		t.Fatalf("got %v, want to be interrupted in the run", err)
	}
	p, err := sweep.ReadProgress(filepath.Join(dir, "one-4"))
	if err != nil || p.Games == 0 || p.Seconds <= 0 || p.Evaluations == 0 || p.Steps == 0 {
		t.Fatalf("progress %+v, %v", p, err)
	}
	_, log, err := sweepOf(t, dir, p.Games+1, "msg=match")
	if err == nil || !strings.HasPrefix(err.Error(), "interrupted in the match one-4 against random") {
		t.Fatalf("got %v, want to be interrupted in the match", err)
	}
	if want := fmt.Sprintf(`msg="run begins" run=one-4 number=1 of=1 games=%d `, p.Games); !strings.Contains(log, want) {
		t.Errorf("the log does not hold %s:\n%s", want, log)
	}
	r, log, err := sweepOf(t, dir, p.Games+1, "")
	if err != nil || len(r.Runs) != 1 || !r.Runs[0].Finished || r.Runs[0].Rating == nil || r.Runs[0].Games <= p.Games || r.Runs[0].Seconds <= p.Seconds {
		t.Errorf("results %+v, %v", r, err)
	}
	if strings.Contains(log, "run begins") {
		t.Errorf("a finished run is taken up:\n%s", log)
	}
}
