package pipeline

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"yinshzero/metrics"
)

// TestCandidateIsMeasured trains past a candidate with games held out, without a break and with one just before the candidate
// would be measured: a line says what it cost, and the weights that follow are the same, measured or not.
func TestCandidateIsMeasured(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	p := quiet(t)
	p.Window.HoldOut, p.CandidateSteps = 0.3, 12
	w := shardOf(t, p, 40)
	p.Passes = 18.5 * float64(p.Train.Graph.Batch) / float64(w.Total())
	broken := copyOf(t, p)
	learnUntil(t, p, "")
	learnUntil(t, broken, "candidate")
	learnUntil(t, broken, "")

	var lines []metrics.HeldOut
	for l, err := range metrics.Lines[metrics.HeldOut](filepath.Join(p.Dir, metricsDir, metrics.HeldOutName)) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	if len(lines) != 1 || lines[0].Step != 12 || lines[0].Games != w.HoldOutGames() || lines[0].Games == 0 {
		t.Fatalf("lines %+v: want one of the candidate of step 12, and %d games held out", lines, w.HoldOutGames())
	}
	for name, l := range map[string]metrics.Losses{"held out": lines[0].HeldOut, "trained": lines[0].Trained} {
		if !(l.Policy > 0.5 && l.Policy < 5 && l.Value > 0.2 && l.Value < 2 && l.Loss > l.Policy) {
			t.Errorf("%s: losses %+v", name, l)
		}
	}
	if _, err := os.Stat(filepath.Join(broken.Dir, metricsDir, metrics.HeldOutName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the run with a break has measured its candidate, too: %v", err)
	}
	var ends [2][]byte
	for i, dir := range []string{p.Dir, broken.Dir} {
		files, err := filepath.Glob(filepath.Join(dir, checkpointDir, "*"))
		if err != nil || len(files) != 2 || !strings.Contains(files[1], "18.") {
			t.Fatalf("%v, %v: want the checkpoints of steps 12 and 18", files, err)
		}
		if ends[i], err = os.ReadFile(files[1]); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(ends[0], ends[1]) {
		t.Error("measuring a candidate changes what is learnt after it")
	}
}
