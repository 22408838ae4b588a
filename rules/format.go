package rules

import (
	"bytes"
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

// Write writes one game, whole or not at all. A Move that is not legal is a *PlyError; an outcome that does not follow from the
// Moves is an error too, and so is a Variant that the Format has no word for.
func (f Format) Write(w io.Writer, g *Game) error {
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

// A Converter reads games in one Format, from one reader after another, and writes them in another Format. A game that
// cannot be read, does not follow the rules or has no text in the new Format is left out and told to Fault.
type Converter struct {
	From, To Format
	Variants []Variant // what games a trace may be of; with none, of any Variant with a name
	W        io.Writer
	Fault    func(Fault)

	Good, Bad int   // games so far
	NoOutcome int   // of the good ones those whose trace does not tell Outcome, as they stop before the end
	NoVariant int   // of the good ones those whose trace is read as one of another Variant, or as none
	Err       error // the first one of W; nothing is written after it
}

// Read converts the games of r. It returns an error only if r fails.
func (c *Converter) Read(r io.Reader) error {
	var ok, bad int
	var err error
	switch c.From {
	case FormatTurns:
		ok, bad, err = ReadTurns(r, c.game, c.Fault)
	case FormatTrace:
		ok, bad, err = ReadTrace(r, c.Variants, c.game, c.Fault)
	case FormatSGF:
		ok, bad, err = ReadSGF(r, c.Good+c.Bad+1, c.game, c.Fault)
	default:
		ok, bad, err = ReadGames(r, c.game, c.Fault)
	}
	c.Good += ok
	c.Bad += bad
	return err
}

// game writes one game. An error of W is none of the game's.
func (c *Converter) game(g *Game) error {
	var b bytes.Buffer
	if err := c.To.Write(&b, g); err != nil {
		return err
	}
	if c.Err == nil {
		_, c.Err = c.W.Write(b.Bytes())
	}
	if c.To != FormatTrace {
		return nil
	}
	if g.Resigned && g.Outcome != Unfinished {
		c.NoOutcome++
	}
	if !g.Variant.Same(Variants()[0]) { // which is tried first
		same := false
		_, _, err := ReadTrace(&b, nil, func(back *Game) error {
			same = back.Variant.Same(g.Variant)
			return nil
		}, func(Fault) {})
		if err != nil {
			return err
		}
		if !same {
			c.NoVariant++
		}
	}
	return nil
}
