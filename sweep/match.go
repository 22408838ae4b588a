package sweep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"yinshzero/arena"
	"yinshzero/internal/atomicfile"
)

const (
	matchKind      = "sweep"
	matchExtension = ".pairs"
)

// A Player is one that a Match is between.
type Player struct {
	Spec arena.Spec // its name; a model is named by its hash and has a budget
	Make arena.Maker
}

// A Match is one between two players. Its file, in the lines of package arena, is written when all pairs are played: who plays a
// match that is on file is told its score, and one that is broken off is played anew.
type Match struct {
	Dir   string // of the files; made if need be
	A, B  Player
	Match arena.Match // A and B left out
}

// path is the file's. Two players have one, whatever the match was for.
func (m Match) path() string {
	name := strings.NewReplacer(":", "", "@", "x").Replace(m.A.Spec.String() + "-" + m.B.Spec.String())
	return filepath.Join(m.Dir, name+matchExtension)
}

// Play is the score, from A's side.
func (m Match) Play(ctx context.Context) (arena.Score, error) {
	if score, ok, err := m.read(); ok || err != nil {
		return score, err
	}
	fail := func(err error) (arena.Score, error) {
		return arena.Score{}, fmt.Errorf("match %v against %v: %w", m.A.Spec, m.B.Spec, err)
	}
	if err := os.MkdirAll(m.Dir, 0o755); err != nil {
		return fail(err)
	}
	var score arena.Score
	var text []byte
	all := m.Match
	all.A, all.B = m.A.Make, m.B.Make
	for pair, err := range all.Play(ctx) {
		if err != nil {
			return fail(err)
		}
		e := m.entry(score.N())
		e.Result = pair
		if text, err = e.AppendText(text); err != nil {
			return fail(err)
		}
		score.Add(pair)
	}
	return score, atomicfile.WriteBytes(m.path(), text)
}

// entry is what the line of a pair says, without the pair.
func (m Match) entry(pair int) arena.Entry {
	return arena.Entry{
		Kind: matchKind, A: m.A.Spec.String(), B: m.B.Spec.String(), Variant: m.Match.Variant, Seed: m.Match.Seed, Pair: pair,
	}
}

// read is the score on file. If the file holds fewer pairs than there are to be, or is of another seed, ok is false: the match
// is to be played.
func (m Match) read() (score arena.Score, ok bool, err error) {
	f, err := os.Open(m.path())
	if errors.Is(err, fs.ErrNotExist) {
		return score, false, nil
	}
	if err != nil {
		return score, false, err
	}
	defer f.Close() // it was only read
	for e, err := range arena.Entries(f) {
		if err != nil {
			return arena.Score{}, false, fmt.Errorf("match %s: %w: delete the file, and it is played anew", m.path(), err)
		}
		want := m.entry(score.N())
		want.Result = e.Result
		if e.Kind != want.Kind || e.A != want.A || e.B != want.B || !e.Variant.Same(want.Variant) || e.Seed != want.Seed || e.Pair != want.Pair {
			return arena.Score{}, false, nil
		}
		if score.Add(e.Result); score.N() == m.Match.Pairs {
			return score, true, nil
		}
	}
	return arena.Score{}, false, nil
}
