package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"yinshzero/arena"
	"yinshzero/data"
	"yinshzero/fleet"
	"yinshzero/internal/seed"
	"yinshzero/registry"
	"yinshzero/rules"
)

const matchExtension = ".pairs"

// A match is a gate or a match against an anchor, with its file: one line a pair, in the order in which they came.
type match struct {
	name         string // of the file and of its jobs
	kind         fleet.JobKind
	a, b         string // players as workers know them
	nameA, nameB string // players as people know them
	pairs        int
	seed         uint64

	file  *os.File
	got   map[int]arena.PairResult // pairs that have come, those counted left out
	score arena.Score              // of the pairs 0 to score.N() − 1
}

// fileName is an anchor's name without what file names and jobs cannot hold.
func fileName(s arena.Spec) string { return strings.ReplaceAll(s.String(), ":", "") }

// openMatch opens the file of a match, or makes it, and counts what it holds. A last line that was cut short by a kill was
// never acknowledged and is cut off.
func (r *Run) openMatch(name string, m match) (*match, error) {
	m.name = name
	m.seed = seed.New(r.params.Seed).Child(name, 0).Uint64()
	m.got = make(map[int]arena.PairResult)
	path := filepath.Join(r.dir(matchesDir), name+matchExtension)
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	whole := bytes.LastIndexByte(b, '\n') + 1
	for e, err := range arena.Entries(bytes.NewReader(b[:whole])) {
		if err != nil {
			return nil, fmt.Errorf("match %s: %w; move the file away to play the match anew", path, err)
		}
		if e.Seed != m.seed {
			return nil, fmt.Errorf("match %s: it was played with another seed: move the file away to play the match anew", path)
		}
		m.count(e)
	}
	if m.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return nil, err
	}
	if err := m.file.Truncate(int64(whole)); err != nil {
		return nil, errors.Join(err, m.file.Close())
	}
	if _, err := m.file.Seek(int64(whole), 0); err != nil {
		return nil, errors.Join(err, m.file.Close())
	}
	return &m, nil
}

func (m *match) close() error { return m.file.Close() }

// has reports whether a pair has come.
func (m *match) has(pair int) bool {
	_, ok := m.got[pair]
	return ok || pair < m.score.N()
}

// count takes an entry into the score, as soon as all pairs before it are there.
func (m *match) count(e arena.Entry) {
	m.got[e.Pair] = e.Result
	for {
		next, ok := m.got[m.score.N()]
		if !ok {
			return
		}
		delete(m.got, m.score.N())
		m.score.Add(next)
	}
}

// add appends an entry to the file, forces it to disk and counts it.
func (m *match) add(e arena.Entry) error {
	line, err := e.AppendText(nil)
	if err != nil {
		return err
	}
	if _, err := m.file.Write(line); err != nil {
		return fmt.Errorf("match %s: %w", m.name, err)
	}
	if err := m.file.Sync(); err != nil {
		return fmt.Errorf("match %s: %w", m.name, err)
	}
	m.count(e)
	return nil
}

// job is what a worker needs to know to play a pair.
func (m *match) job(p Params, pair int) fleet.Job {
	return fleet.Job{
		ID: fmt.Sprintf("%s-%d", m.name, pair), Gate: m.name, Kind: m.kind, A: m.a, B: m.b, Variant: p.Variant, Seed: m.seed,
		Simulations: p.GateSimulations, Pair: pair,
	}
}

// entry checks a result against the job that was given out, replays its games, and returns the pair.
func (m *match) entry(p Params, res *fleet.JobResult) (arena.Entry, error) {
	if want := m.job(p, res.Job.Pair); res.Job != want || want.Pair < 0 || want.Pair >= m.pairs {
		return arena.Entry{}, errors.New("it answers another job than the one given out")
	}
	e := arena.Entry{Kind: string(m.kind), A: m.nameA, B: m.nameB, Variant: p.Variant, Seed: m.seed, Pair: res.Job.Pair}
	e.Result.Opening, _ = arena.NewPair(p.Variant, m.seed, res.Job.Pair)
	for i, b := range res.Games {
		rec, err := data.DecodeRecord(b)
		if err != nil {
			return arena.Entry{}, fmt.Errorf("game %d: %w", i+1, err)
		}
		moves := make([]rules.Move, len(rec.Plies))
		for j, ply := range rec.Plies {
			moves[j] = ply.Move
		}
		if e.Result.Games[i], err = arena.Replay(p.Variant, moves); err != nil {
			return arena.Entry{}, fmt.Errorf("game %d: %w", i+1, err)
		}
		if n := len(e.Result.Opening.Moves); len(moves) < n || !slices.Equal(moves[:n], e.Result.Opening.Moves) {
			return arena.Entry{}, fmt.Errorf("game %d does not begin with the pair's opening", i+1)
		}
	}
	if got := e.Result.Points(); got != res.Points {
		return arena.Entry{}, fmt.Errorf("it claims %v points and its games give %v", res.Points, got)
	}
	return e, nil
}

// Ladder rates all models and anchors of the run in dir by the matches it has played, random at 0. There are no ratings
// until a match against random has been played.
func Ladder(dir string) ([]arena.Rating, error) {
	files, err := filepath.Glob(filepath.Join(dir, matchesDir, "*"+matchExtension))
	if err != nil {
		return nil, err
	}
	anchor := arena.Spec{Kind: arena.SpecRandom}.String()
	l, anchored := arena.NewLadder(anchor), false
	for _, path := range files {
		var s arena.Score
		var a, b string
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		for e, err := range arena.Entries(f) {
			if errors.Is(err, arena.ErrTorn) {
				break
			}
			if err != nil {
				return nil, errors.Join(fmt.Errorf("match %s: %w", path, err), f.Close())
			}
			a, b = e.A, e.B
			s.Add(e.Result)
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
		if s.N() == 0 {
			continue
		}
		l.Add(a, b, s)
		anchored = anchored || a == anchor || b == anchor
	}
	if !anchored {
		return []arena.Rating{}, nil
	}
	return l.Fit()
}

// rate shows the best model and what the matches say of its strength.
func (r *Run) rate() error {
	best, _ := r.registry.Best()
	m := ModelStatus{ID: best.ID.String(), Step: best.Meta.Step}
	ratings, err := Ladder(r.params.Dir)
	if err != nil {
		return err
	}
	for _, x := range ratings {
		if x.Name == modelPlayer(best.ID) {
			m.Measured, m.Elo, m.EloLow, m.EloHigh = true, x.Elo, x.EloLow, x.EloHigh
		}
	}
	promotions, rejections := -1, 0
	for _, e := range r.registry.All() {
		switch e.Standing {
		case registry.Best, registry.Former:
			promotions++
		case registry.Rejected:
			rejections++
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Best, r.status.Promotions, r.status.Rejections = m, promotions, rejections
	return nil
}
