package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"

	"yinshzero/data"
	"yinshzero/rules"
)

const (
	// Protocol is the version of the messages between hub and worker. Both must have the same.
	Protocol = 1
	// Version is this program's version as a worker. It rises when an older worker's games would no longer be wanted;
	// a Manifest may ask for a least one.
	Version = 1

	// MaxGame bounds one game's record in bytes.
	MaxGame = 256 << 10
	// maxJob and maxResult bound the JSON of one job and of one result in bytes.
	maxJob    = 8 << 10
	maxResult = 2*MaxGame*4/3 + maxJob
	// maxModel bounds the bytes of one model.
	maxModel = 1 << 30
)

// ErrTooOld reports a worker that the manifest does not want: the remedy is a newer program.
var ErrTooOld = errors.New("this program is too old for the run")

// A Manifest tells workers what to play. It is JSON on the wire.
type Manifest struct {
	Protocol  int             `json:"protocol"`   // SetManifest fills it in
	MinWorker int             `json:"min_worker"` // the least Version wanted
	Variant   rules.Variant   `json:"variant"`
	Search    json.RawMessage `json:"search,omitempty"` // the self-play and search parameters; their owner reads them
}

// check reports why this program cannot work for m.
func (m *Manifest) check() error {
	switch {
	case m.Protocol != Protocol:
		return fmt.Errorf("%w: it speaks protocol %d, the hub %d; use the same version of the program on both", ErrTooOld, Protocol, m.Protocol)
	case m.MinWorker > Version:
		return fmt.Errorf("%w: it is worker version %d, the run asks for %d; install a newer one", ErrTooOld, Version, m.MinWorker)
	}
	if err := m.Variant.Validate(); err != nil {
		return fmt.Errorf("manifest: variant: %w", err)
	}
	return nil
}

// A JobKind says what a job's games are for.
type JobKind string

// The kinds of jobs.
const (
	GateJob   JobKind = "gate"   // a candidate against the best
	AnchorJob JobKind = "anchor" // a model against a fixed player, for the ladder
)

// A Job is one Pair of games to play: one opening, colours swapped.
type Job struct {
	ID          string        `json:"id"`   // unique in the run; letters, digits, - and _
	Gate        string        `json:"gate"` // what the job belongs to, such as the candidate's ID; like ID. Jobs are purged by it
	Kind        JobKind       `json:"kind"`
	A           string        `json:"a"` // a player: a model's 64 hex digits, or "uct:200" and the like
	B           string        `json:"b"`
	Variant     rules.Variant `json:"variant"`
	Seed        uint64        `json:"seed"`
	Simulations int           `json:"simulations"` // a Move, of players that are models
	Pair        int           `json:"pair"`        // the pair's number within the gate, from 0
}

// token is what may stand between two dots of a subject and in the names of streams.
var token = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// CheckName returns an error, which begins with what, unless s may name a run, a worker, a job or a gate.
func CheckName(what, s string) error {
	if !token.MatchString(s) {
		return fmt.Errorf("%s %q: want 1 to 128 letters, digits, - and _", what, clip(s))
	}
	return nil
}

// Validate returns every fault of j.
func (j *Job) Validate() error {
	errs := []error{CheckName("id", j.ID), CheckName("gate", j.Gate)}
	if j.Kind != GateJob && j.Kind != AnchorJob {
		errs = append(errs, fmt.Errorf("kind %q: want gate or anchor", clip(string(j.Kind))))
	}
	for _, p := range []string{j.A, j.B} {
		if p == "" || len(p) > 256 {
			errs = append(errs, fmt.Errorf("player %q: want 1 to 256 bytes", clip(p)))
		}
	}
	if err := j.Variant.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("variant: %w", err))
	}
	if j.Simulations < 0 || j.Pair < 0 {
		errs = append(errs, fmt.Errorf("simulations %d, pair %d: want none negative", j.Simulations, j.Pair))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("job %q: %w", clip(j.ID), err)
	}
	return nil
}

// A JobResult is what came of a Job.
type JobResult struct {
	Job    Job      `json:"job"`
	Worker string   `json:"worker"` // who played; the hub fills it in from the connection's own subject
	Games  [][]byte `json:"games"`  // the pair's two games as data.Record's binary form: A has White in the first
	Points float64  `json:"points"` // A's over both games: 0, 0.5, 1, 1.5 or 2
}

// Validate returns every fault of r's own numbers; it does not look into the games.
func (r *JobResult) Validate() error {
	errs := []error{r.Job.Validate()}
	if halves := 2 * r.Points; halves != math.Trunc(halves) || halves < 0 || halves > 4 {
		errs = append(errs, fmt.Errorf("points %v: want 0, 0.5, 1, 1.5 or 2", r.Points))
	}
	if len(r.Games) != 2 {
		errs = append(errs, fmt.Errorf("%d games: want 2", len(r.Games)))
	}
	for i, g := range r.Games {
		if len(g) == 0 || len(g) > MaxGame {
			errs = append(errs, fmt.Errorf("game %d has %d bytes: want 1 to %d", i+1, len(g), MaxGame))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("result: %w", err)
	}
	return nil
}

// encodeGame returns a record's message and its content hash, under which the hub knows it again.
func encodeGame(r *data.Record) (b []byte, hash string, err error) {
	b, err = r.AppendBinary(nil)
	if err != nil {
		return nil, "", fmt.Errorf("encode game: %w", err)
	}
	if len(b) > MaxGame {
		return nil, "", fmt.Errorf("encode game: %d bytes: want at most %d", len(b), MaxGame)
	}
	return b, fmt.Sprintf("%x", r.Hash()), nil
}

// names holds the names of a run's streams, buckets and subjects.
type names struct{ run string }

func (n names) games() string   { return "GAMES_" + n.run }
func (n names) jobs() string    { return "JOBS_" + n.run }
func (n names) results() string { return "RESULTS_" + n.run }
func (n names) dead() string    { return "DEAD_" + n.run }
func (n names) keys() string    { return "run_" + n.run }
func (n names) models() string  { return "models_" + n.run }

func (n names) gameSubject(worker string) string   { return "games." + n.run + "." + worker }
func (n names) resultSubject(worker string) string { return "results." + n.run + "." + worker }
func (n names) jobSubject(gate, id string) string  { return "jobs." + n.run + "." + gate + "." + id }

// The keys of the run's bucket and the durable consumers of its streams.
const (
	manifestKey = "manifest"
	bestKey     = "best"

	ingest  = "ingest"  // of games and of results: the training run's
	workers = "workers" // of jobs: shared by all workers
	notices = "notices" // of dead letters: the training run's
)

// workerOf returns the last part of a subject: the worker's name, which the server let no other use.
func workerOf(subject string) string { return subject[strings.LastIndexByte(subject, '.')+1:] }

// clip shortens outside text for a message.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
