package pipeline

import (
	"bytes"
	"context"
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
	"yinshzero/internal/atomicfile"
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
	stop         func(arena.Score) bool // asked after every pair, in order: whether the match is decided; nil plays all pairs
	seed         uint64

	file    *os.File
	end     int64                    // bytes of the file that are whole lines
	got     map[int]arena.PairResult // pairs that have come, those counted left out
	tally   arena.Tally              // of the pairs from 0 on, without a gap
	decided bool                     // by stop, or because all pairs are played: nothing more is counted
}

// fileName is an anchor's name without what file names and jobs cannot hold.
func fileName(s arena.Spec) string { return strings.ReplaceAll(s.String(), ":", "") }

// openMatch opens the file of a match, or makes it, and counts what it holds. A last line that a kill cut short was never
// acknowledged and is cut off, with a warning.
func (r *Run) openMatch(ctx context.Context, name string, m match) (*match, error) {
	m.name = name
	m.seed = seed.New(r.params.Seed).Child(name, 0).Uint64()
	m.got = make(map[int]arena.PairResult)
	path := filepath.Join(r.dir(matchesDir), name+matchExtension)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = r.toDisk(ctx, func() error { return atomicfile.WriteBytes(path, nil) }) // so that its name is on disk too
	}
	if err != nil {
		return nil, err
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	for i, line := range lines {
		e, err := parseLine(line)
		switch {
		case len(line) == 0: // behind the last newline
			continue
		case err != nil && m.end+int64(len(line)) == int64(len(b)):
			r.params.Log.Warn("what a kill has cut short is cut off: its pair is played again", "file", path, "line", i+1, "cut", clip(line))
			continue
		case err != nil:
			return nil, fmt.Errorf("match %s: line %d: %w; move the file away to play the match anew", path, i+1, err)
		}
		if i == 0 {
			m.seed = e.Seed // a match keeps its openings when the run's seed changes
		}
		if e.Seed != m.seed {
			return nil, fmt.Errorf("match %s: its lines are of two matches: move the file away to play the match anew", path)
		}
		m.count(e)
		m.end += int64(len(line))
	}
	if m.file, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
		return nil, err
	}
	if err := m.file.Truncate(m.end); err != nil {
		return nil, errors.Join(err, m.file.Close())
	}
	return &m, nil
}

// parseLine reads a line with its newline, without which it was cut short. A line with it may have reached the disk without
// its middle.
func parseLine(line []byte) (arena.Entry, error) {
	text, whole := bytes.CutSuffix(line, []byte("\n"))
	if !whole {
		return arena.Entry{}, arena.ErrTorn
	}
	return arena.ParseEntry(string(text))
}

// clip shortens a line for a message.
func clip(line []byte) string {
	const most = 80
	if len(line) > most {
		return strings.ToValidUTF8(string(line[:most]), "") + "…"
	}
	return string(line)
}

func (m *match) close() error { return m.file.Close() }

// has reports whether a pair has come.
func (m *match) has(pair int) bool {
	_, ok := m.got[pair]
	return ok || pair < m.tally.Score.N()
}

// count takes an entry into the score, as soon as all pairs before it are there and unless the match is decided: a test that
// is asked after every pair has the same answer in whatever order they come.
func (m *match) count(e arena.Entry) {
	m.got[e.Pair] = e.Result
	for !m.decided {
		next, ok := m.got[m.tally.Score.N()]
		if !ok {
			return
		}
		delete(m.got, m.tally.Score.N())
		m.tally.Add(next)
		m.decided = m.tally.Score.N() >= m.pairs || m.stop != nil && m.stop(m.tally.Score)
	}
}

// add appends an entry to the file, forces it to disk and counts it. After an error nothing has changed.
func (m *match) add(e arena.Entry) error {
	line, err := e.AppendText(nil)
	if err != nil {
		return err
	}
	if err := atomicfile.Append(m.file, m.end, line); err != nil {
		return err
	}
	m.end += int64(len(line))
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
func Ladder(dir string) (arena.Table, error) { return ladder{}.rate(dir) }

// A ladder remembers the scores of match files by name, so that a long run does not read all of them again and again.
type ladder map[string]rung

// A rung is what a match file of so many bytes says.
type rung struct {
	size  int64
	gate  bool
	a, b  string
	score arena.Score
}

func (l ladder) rate(dir string) (arena.Table, error) {
	files, err := os.ReadDir(filepath.Join(dir, matchesDir))
	if err != nil {
		return arena.Table{}, err
	}
	anchor := arena.Spec{Kind: arena.SpecRandom}.String()
	all, anchored := arena.NewLadder(anchor), false
	for _, f := range files {
		if filepath.Ext(f.Name()) != matchExtension {
			continue
		}
		r, err := l.read(filepath.Join(dir, matchesDir, f.Name()))
		if err != nil {
			return arena.Table{}, err
		}
		switch {
		case r.score.N() == 0:
			continue
		case r.gate:
			all.AddGate(r.a, r.b, r.score)
		default:
			all.Add(r.a, r.b, r.score)
		}
		anchored = anchored || r.a == anchor || r.b == anchor
	}
	if !anchored {
		return arena.Table{}, nil
	}
	return all.Fit()
}

// read is what the match file at path says. A line that is being written is left out.
func (l ladder) read(path string) (rung, error) {
	info, err := os.Stat(path)
	if err != nil {
		return rung{}, err
	}
	if r, ok := l[path]; ok && r.size == info.Size() {
		return r, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return rung{}, err
	}
	r := rung{size: info.Size()}
	for e, err := range arena.Entries(f) {
		if errors.Is(err, arena.ErrTorn) {
			break
		}
		if err != nil {
			return rung{}, errors.Join(fmt.Errorf("match %s: %w; move the file away", path, err), f.Close())
		}
		r.gate, r.a, r.b = e.Kind == string(fleet.GateJob), e.A, e.B
		r.score.Add(e.Result)
	}
	l[path] = r
	return r, f.Close()
}

// rate shows the best model and what the matches say of its strength. A match file that cannot be read costs the ratings.
func (r *Run) rate() {
	best, _ := r.registry.Best()
	m := ModelStatus{ID: best.ID.String(), Step: best.Meta.Step}
	table, err := r.ladder.rate(r.params.Dir)
	if err != nil {
		r.params.Log.Warn("models cannot be rated", "error", err)
	}
	for _, x := range table.Ratings {
		if x.Name == r.modelPlayer(best.ID) {
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
}
