package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"yinshzero/metrics"
	"yinshzero/rules"
)

// The most points that a curve has: of means over training steps, and of rates, which need longer spans.
const (
	maxTraining = 400
	maxPace     = 32
)

// Params say how much of a run is read.
type Params struct {
	MaxGames int // of self-play, from evenly chosen shards; at least 1
}

// Validate returns what is out of range.
func (p Params) Validate() error {
	if p.MaxGames < 1 {
		return fmt.Errorf("max games is %d: want at least 1", p.MaxGames)
	}
	return nil
}

// A Run is what a run's directory tells. Hours are wall time since the first model was made, pauses included.
type Run struct {
	Name   string            `json:"name"`
	Dir    string            `json:"dir"`
	Config map[string]string `json:"config"` // the effective configuration, by path, such as search.simulations
	Begun  time.Time         `json:"begun"`  // when the first model was made; zero if unknown

	Training []Training         `json:"training"`
	HeldOut  []metrics.HeldOut  `json:"held_out"` // of the candidates; means over neighbours if there are many
	Pace     []Pace             `json:"pace"`
	Models   []Model            `json:"models"` // in the order in which they were made
	Anchors  []Anchor           `json:"anchors"`
	Problems []metrics.Problems `json:"problems"`
	Games    Games              `json:"games"`

	Missing []string `json:"missing"` // what is not there (yet), in words
	Faults  []string `json:"faults"`  // what is damaged: the file and the reason
}

// Training is the mean over some lines of train.jsonl, and the counts of the last of them.
type Training struct {
	Hours        float64 `json:"hours"`
	Step         int64   `json:"step"`
	Games        int64   `json:"games"`
	Positions    int64   `json:"positions"`
	Window       int64   `json:"window"`
	LearningRate float64 `json:"learning_rate"`
	metrics.Losses

	lines float64 // that the means are over
}

func (t *Training) merge(next Training) {
	share := next.lines / (t.lines + next.lines)
	t.LearningRate = mix(t.LearningRate, next.LearningRate, share)
	t.Losses = mixLosses(t.Losses, next.Losses, share)
	t.Hours, t.Step, t.Games, t.Positions, t.Window = next.Hours, next.Step, next.Games, next.Positions, next.Window
	t.lines += next.lines
}

// mix is a mean of a and b in which b has a share.
func mix(a, b, share float64) float64 { return a + (b-a)*share }

func mixLosses(a, b metrics.Losses, share float64) metrics.Losses {
	return metrics.Losses{
		Loss: mix(a.Loss, b.Loss, share), Policy: mix(a.Policy, b.Policy, share), Value: mix(a.Value, b.Value, share), Rings: mix(a.Rings, b.Rings, share),
		Reply: mix(a.Reply, b.Reply, share), Ownership: mix(a.Ownership, b.Ownership, share), Plies: mix(a.Plies, b.Plies, share),
	}
}

// Pace is how fast a run was over some time, the breaks between processes left out.
type Pace struct {
	Hours       float64 `json:"hours"`   // at the end
	Seconds     float64 `json:"seconds"` // measured
	Games       float64 `json:"games_per_second"`
	Positions   float64 `json:"positions_per_second"`
	Evaluations float64 `json:"evaluations_per_second"`
	Steps       float64 `json:"steps_per_second"`
}

func (p *Pace) merge(next Pace) {
	all := p.Seconds + next.Seconds
	share := next.Seconds / all
	p.Games, p.Positions = mix(p.Games, next.Games, share), mix(p.Positions, next.Positions, share)
	p.Evaluations, p.Steps = mix(p.Evaluations, next.Evaluations, share), mix(p.Steps, next.Steps, share)
	p.Hours, p.Seconds = next.Hours, all
}

// Read reads the run in dir. Its error is that dir holds no run at all: everything else that cannot be read is in the Run.
func Read(dir string, p Params) (*Run, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	config := filepath.Join(dir, configName)
	if !info.IsDir() {
		return nil, fmt.Errorf("read run: %s is a file: want a run's directory", dir)
	}
	if _, err := os.Stat(config); err != nil {
		return nil, fmt.Errorf("%s holds no run: %w", dir, err)
	}
	whole, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	r := &Run{
		Name: filepath.Base(whole), Dir: dir, Training: []Training{}, HeldOut: []metrics.HeldOut{}, Pace: []Pace{}, Models: []Model{}, Anchors: []Anchor{},
		Problems: []metrics.Problems{}, Missing: []string{}, Faults: []string{},
	}
	r.readConfig(config)
	r.readModels(filepath.Join(dir, "models"))
	r.readMatches(filepath.Join(dir, "matches"))
	r.readTraining(filepath.Join(dir, "metrics", metrics.TrainName))
	r.readHeldOut(filepath.Join(dir, "metrics", metrics.HeldOutName))
	r.readProblems(filepath.Join(dir, "metrics", metrics.ProblemsName))
	r.readGames(filepath.Join(dir, "records"), p.MaxGames)
	return r, nil
}

// maxFaults is how many faults of a file are told; the rest are counted.
const maxFaults = 5

// A faultList collects the faults of one source.
type faultList struct {
	run  *Run
	name string
	n    int
}

func (f *faultList) add(err error) {
	if f.n++; f.n <= maxFaults {
		f.run.Faults = append(f.run.Faults, err.Error())
	}
}

// rest says how many faults were not told.
func (f *faultList) rest() {
	if f.n > maxFaults {
		f.run.Faults = append(f.run.Faults, fmt.Sprintf("%s: %d faults more", f.name, f.n-maxFaults))
	}
}

func (r *Run) fault(err error) { r.Faults = append(r.Faults, err.Error()) }

func (r *Run) missing(format string, args ...any) {
	r.Missing = append(r.Missing, fmt.Sprintf(format, args...))
}

// hours is wall time since the run began. A run whose registry is lost begins with its first line of metrics.
func (r *Run) hours(t time.Time) float64 {
	if r.Begun.IsZero() {
		r.Begun = t
	}
	return t.Sub(r.Begun).Hours()
}

func (r *Run) readTraining(path string) {
	training := newSampler(maxTraining, each, (*Training).merge)
	pace := newSampler(maxPace, func(p Pace) float64 { return p.Seconds }, (*Pace).merge)
	faults := faultList{run: r, name: path}
	defer faults.rest()
	var before metrics.Train
	model := 0 // the first one whose games are not known
	for l, err := range metrics.Lines[metrics.Train](path) {
		if errors.Is(err, fs.ErrNotExist) {
			r.missing("no training step yet: there is no %s", path)
			return
		}
		if err != nil {
			faults.add(err)
			continue
		}
		hours := r.hours(l.Time)
		training.add(Training{
			hours, l.Step, l.Games, l.Positions, l.Window, l.LearningRate, l.Losses, 1,
		})
		for model < len(r.Models) && r.Models[model].Step <= l.Step {
			if r.Models[model].Step > 0 {
				r.Models[model].Games = l.Games
			}
			model++
		}
		// A process counts evaluations from 0: if they are fewer, the run was taken up again in between.
		seconds := l.Time.Sub(before.Time).Seconds()
		if !before.Time.IsZero() && seconds > 0 && l.Evaluations >= before.Evaluations {
			per := func(now, then int64) float64 { return float64(now-then) / seconds }
			pace.add(Pace{
				hours, seconds, per(l.Games, before.Games), per(l.Positions, before.Positions),
				per(l.Evaluations, before.Evaluations), per(l.Step, before.Step),
			})
		}
		before = l
	}
	r.Training = append(r.Training, training.all()...)
	r.Pace = append(r.Pace, pace.all()...)
	for ; model < len(r.Models) && len(r.Training) > 0; model++ { // made after the last line
		r.Models[model].Games = before.Games
	}
}

func (r *Run) readHeldOut(path string) {
	type mean struct { // of some lines
		metrics.HeldOut
		lines float64
	}
	held := newSampler(maxTraining, each, func(into *mean, next mean) {
		share := next.lines / (into.lines + next.lines)
		next.HeldOut.HeldOut = mixLosses(into.HeldOut.HeldOut, next.HeldOut.HeldOut, share)
		next.Trained = mixLosses(into.Trained, next.Trained, share)
		next.lines += into.lines
		*into = next
	})
	faults := faultList{run: r, name: path}
	defer faults.rest()
	for l, err := range metrics.Lines[metrics.HeldOut](path) {
		if errors.Is(err, fs.ErrNotExist) {
			r.missing("no candidate measured on games held out: there is no %s", path)
			return
		}
		if err != nil {
			faults.add(err)
			continue
		}
		held.add(mean{l, 1})
	}
	for _, m := range held.all() {
		r.HeldOut = append(r.HeldOut, m.HeldOut)
	}
}

func (r *Run) readProblems(path string) {
	solved := newSampler(maxTraining, each, func(into *metrics.Problems, next metrics.Problems) { *into = next })
	faults := faultList{run: r, name: path}
	defer faults.rest()
	for l, err := range metrics.Lines[metrics.Problems](path) {
		if errors.Is(err, fs.ErrNotExist) {
			if v, err := rules.ParseVariant(r.Config["variant"]); err == nil && !v.Same(rules.Standard()) && !v.Same(rules.Blitz()) {
				r.missing("no problems: there are none of the variant %s", v)
			} else {
				r.missing("no problems solved yet: there is no %s", path)
			}
			return
		}
		if err != nil {
			faults.add(err)
			continue
		}
		solved.add(l)
	}
	r.Problems = append(r.Problems, solved.all()...)
}
