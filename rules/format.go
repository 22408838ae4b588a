package rules

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Format is a way to write games down.
type Format uint8

// The formats.
const (
	FormatMoves Format = iota // a move list, as ReadGames reads it
	FormatTurns               // a turn list, as ReadTurns reads it
	FormatTrace               // ply by ply, as ReadTrace reads it
	FormatSGF                 // as ReadSGF reads it
)

var formatNames = [...]string{"moves", "turns", "trace", "sgf"}

// String is the format's name: moves, turns, trace or sgf.
func (f Format) String() string { return formatNames[f] }

// ParseFormat reads a Format as String writes it.
func ParseFormat(s string) (Format, error) {
	if i := slices.Index(formatNames[:], s); i >= 0 {
		return Format(i), nil
	}
	return 0, fmt.Errorf("format %q: want %s", abridge(s), strings.Join(formatNames[:], ", "))
}

// read calls game for every game of r and fault for every one that cannot be read.
func (f Format) read(r io.Reader, game func(*Game) error, fault func(Fault)) (ok, bad int, err error) {
	switch f {
	case FormatTurns:
		return ReadTurns(r, game, fault)
	case FormatTrace:
		return ReadTrace(r, Variants(), game, fault)
	case FormatSGF:
		return ReadSGF(r, game, fault)
	}
	return ReadGames(r, game, fault)
}

// write writes one game, whole or not at all.
func (f Format) write(w io.Writer, g *Game) error {
	switch f {
	case FormatTurns:
		return WriteTurns(w, g)
	case FormatTrace:
		return WriteTrace(w, g)
	case FormatSGF:
		return WriteSGF(w, g)
	}
	return WriteMoves(w, g)
}

// Convert reads games in one Format and writes them in another, one after the other. A game that cannot be read, does not
// follow the rules or has no text in the new Format is left out and told to fault. Convert returns how many games were
// good and bad, and an error only if r or w fails. A trace may be of any Variant with a name.
func Convert(w io.Writer, to Format, r io.Reader, from Format, fault func(Fault)) (ok, bad int, err error) {
	out := stickyWriter{w: w}
	ok, bad, err = from.read(r, func(g *Game) error { return to.write(&out, g) }, fault)
	return ok, bad, errors.Join(out.err, err)
}

// A stickyWriter writes until its first error, which it keeps and does not tell.
type stickyWriter struct {
	w   io.Writer
	err error
}

func (s *stickyWriter) Write(b []byte) (int, error) {
	if s.err == nil {
		_, s.err = s.w.Write(b)
	}
	return len(b), nil
}
