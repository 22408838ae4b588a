package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"yinshzero/internal/atomicfile"
)

// A Run is one of a sweep's runs.
type Run struct {
	Configuration string
	Seed          uint64
}

// Name is the run's, and that of its directory in the sweep's.
func (r Run) Name() string { return r.Configuration + "-" + strconv.FormatUint(r.Seed, 10) }

// A Budget is when a run ends: at the first of its bounds that are not 0.
type Budget struct {
	Time      time.Duration // of training, breaks left out
	Games     int64         // of self-play
	Positions int64         // of self-play, those that training draws from
}

// Spent reports whether p has come to a bound.
func (b Budget) Spent(p Progress) bool {
	return b.Time > 0 && p.Seconds >= b.Time.Seconds() || b.Games > 0 && p.Games >= b.Games || b.Positions > 0 && p.Positions >= b.Positions
}

// Progress is what a run has used up so far.
type Progress struct {
	Seconds     float64 `json:"seconds"` // of training, breaks left out
	Games       int64   `json:"games"`   // of self-play
	Positions   int64   `json:"positions"`
	Evaluations int64   `json:"evaluations"` // of networks, by this machine
	Steps       int64   `json:"steps"`       // of training
}

// progressName is the file in a run's directory. If it is lost the run's time counts from 0 again; the rest is in the run.
const progressName = "sweep.json"

// ReadProgress reads the Progress of the run in dir: none if it has not begun.
func ReadProgress(dir string) (p Progress, err error) {
	path := filepath.Join(dir, progressName)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Progress{}, nil
	}
	if err != nil {
		return Progress{}, fmt.Errorf("read progress: %w", err)
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return Progress{}, fmt.Errorf("read progress %s: %w: delete the file, and the run's time counts anew", path, err)
	}
	return p, nil
}

// Write makes p the Progress of the run in dir.
func (p Progress) Write(dir string) error {
	b, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("write progress: %w", err)
	}
	return atomicfile.WriteBytes(filepath.Join(dir, progressName), append(b, '\n'))
}
