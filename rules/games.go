package rules

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Game is one line of a move list:
//
//	<id> <W|B|draw|unknown> <played|resign> <variant> move move …
//
// The words are separated by spaces; the variant is as Variant.String writes it, the Moves as Variant.AppendMove does.
type Game struct {
	ID       string  // any word
	Outcome  Outcome // Unfinished if unknown
	Resigned bool    // the Moves stop before the game is over
	Variant  Variant
	Moves    []Move
}

// ParseGame reads a line of a move list. It does not ask whether the Moves are legal.
func ParseGame(line string) (Game, error) {
	g, _, err := parseGame(line)
	return g, err
}

// parseGame is ParseGame; ply is the Move that cannot be read, or −1.
func parseGame(line string) (g Game, ply int, err error) {
	f := strings.Fields(line)
	if len(f) < 4 {
		return Game{}, -1, fmt.Errorf("%d words: want <id> <W|B|draw|unknown> <played|resign> <variant> move …", len(f))
	}
	g.ID = f[0]
	if g.Outcome, err = parseOutcome(f[1], "unknown"); err != nil {
		return g, -1, err
	}
	switch f[2] {
	case "played":
	case "resign":
		g.Resigned = true
	default:
		return g, -1, fmt.Errorf("%q: want played or resign", f[2])
	}
	if g.Variant, err = ParseVariant(f[3]); err != nil {
		return g, -1, err
	}
	g.Moves = make([]Move, 0, len(f)-4)
	for i, s := range f[4:] {
		m, err := g.Variant.ParseMove(s)
		if err != nil {
			return g, i, err
		}
		g.Moves = append(g.Moves, m)
	}
	return g, -1, nil
}

// parseOutcome reads an Outcome; unfinished is the word for Unfinished.
func parseOutcome(s, unfinished string) (Outcome, error) {
	if s == unfinished {
		return Unfinished, nil
	}
	for o := WhiteWins; o <= Draw; o++ {
		if s == o.String() {
			return o, nil
		}
	}
	return 0, fmt.Errorf("outcome %q: want W, B, draw or %s", s, unfinished)
}

// AppendText appends the line of g, without a line end.
func (g *Game) AppendText(dst []byte) []byte {
	outcome, ending := g.Outcome.String(), "played"
	if g.Outcome == Unfinished {
		outcome = "unknown"
	}
	if g.Resigned {
		ending = "resign"
	}
	dst = fmt.Appendf(dst, "%s %s %s %v", g.ID, outcome, ending, g.Variant)
	for _, m := range g.Moves {
		dst = g.Variant.AppendMove(append(dst, ' '), m)
	}
	return dst
}

// A PlyError is a Move that could not be played.
type PlyError struct {
	Ply int // from 0
	Err error
}

// Error names the ply and the fault.
func (e *PlyError) Error() string { return fmt.Sprintf("ply %d: %v", e.Ply, e.Err) }

// Unwrap is the fault without the ply.
func (e *PlyError) Unwrap() error { return e.Err }

// Replay plays the Moves of g from the empty board and returns the last Position. A Move that is not legal is a
// *PlyError; an outcome that does not follow from the Moves is an error too.
func (g *Game) Replay() (Position, error) {
	p := New(g.Variant)
	for i, m := range g.Moves {
		if err := p.check(m); err != nil {
			return p, &PlyError{i, err}
		}
		p.Play(m)
	}
	res, over := p.Result()
	switch {
	case g.Resigned && over:
		return p, fmt.Errorf("resigned, but the game was over: %v", res.Outcome)
	case g.Resigned && g.Outcome == Draw:
		return p, errors.New("resigned, but a draw")
	case g.Resigned || g.Outcome == Unfinished:
		return p, nil
	case !over:
		return p, fmt.Errorf("outcome %v, but the game is not over: %v to move, phase %v", g.Outcome, p.toMove, p.phase)
	case res.Outcome != g.Outcome:
		return p, fmt.Errorf("outcome %v, but the moves end in %v", g.Outcome, res.Outcome)
	}
	return p, nil
}

// check returns nil if m is legal, else an error that says what would be.
func (p *Position) check(m Move) error {
	if p.IsLegal(m) {
		return nil
	}
	v := p.Variant()
	if p.phase == PhaseOver {
		return fmt.Errorf("%s is not legal: the game is over, %v", v.MoveText(m), p.result.Outcome)
	}
	all := p.AppendMoves(nil)
	near := all
	if m.Kind() == MoveRing {
		near = slices.DeleteFunc(slices.Clone(all), func(n Move) bool { return n.Kind() != MoveRing || n.From() != m.From() })
		if len(near) == 0 {
			near = all
		}
	}
	const shown = 10
	var b strings.Builder
	fmt.Fprintf(&b, "%s is not legal: %v to move, phase %v, %d legal moves:", v.MoveText(m), p.toMove, p.phase, len(all))
	for _, n := range near[:min(shown, len(near))] {
		b.WriteByte(' ')
		b.WriteString(v.MoveText(n))
	}
	if min(shown, len(near)) < len(all) {
		b.WriteString(" …")
	}
	return errors.New(b.String())
}

// A Fault is what is wrong in a line of a move list or of a trace.
type Fault struct {
	Line int    // from 1
	Game string // the game's id, empty if unknown
	Ply  int    // from 0, or −1 if no Move is at fault
	Err  error
}

// Error names line, game, ply and fault.
func (f Fault) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "line %d", f.Line)
	if f.Game != "" {
		fmt.Fprintf(&b, ": game %s", abridge(f.Game))
	}
	if f.Ply >= 0 {
		fmt.Fprintf(&b, ": ply %d", f.Ply)
	}
	fmt.Fprintf(&b, ": %v", f.Err)
	return b.String()
}

// Unwrap is the fault without its place.
func (f Fault) Unwrap() error { return f.Err }

// newFault is a Fault in the given line; the ply is err's if it is a *PlyError.
func newFault(line int, game string, err error) Fault {
	var at *PlyError
	if errors.As(err, &at) {
		return Fault{line, game, at.Ply, at.Err}
	}
	return Fault{line, game, -1, err}
}

// ReadGames reads a move list and calls game for every line that can be read and fault for every one that cannot. An
// error that game returns is that line's fault. Empty lines are skipped. It returns how many lines were good and bad, and
// an error only if r fails.
func ReadGames(r io.Reader, game func(*Game) error, fault func(Fault)) (ok, bad int, err error) {
	err = eachLine(r, func(number int, line string, err error) {
		var g Game
		if err == nil {
			var ply int
			if g, ply, err = parseGame(line); err != nil && ply >= 0 {
				err = &PlyError{ply, err}
			}
		}
		if err == nil {
			err = game(&g)
		}
		if err != nil {
			bad++
			fault(newFault(number, g.ID, err))
			return
		}
		ok++
	})
	return ok, bad, err
}

// ReplayGames replays every game of a move list and calls fault for every one that does not follow the rules. It
// returns how many games were good and bad, and an error only if r fails.
func ReplayGames(r io.Reader, fault func(Fault)) (ok, bad int, err error) {
	return ReadGames(r, func(g *Game) error {
		_, err := g.Replay()
		return err
	}, fault)
}

// eachLine calls visit for every line of r that is not blank, with its number from 1; err says that the line is too
// long, and then line is empty.
func eachLine(r io.Reader, visit func(number int, line string, err error)) error {
	const longest = 1 << 16 // more than any game has
	b := bufio.NewReaderSize(r, longest)
	for number := 1; ; number++ {
		line, err := b.ReadSlice('\n')
		long := err == bufio.ErrBufferFull
		for err == bufio.ErrBufferFull {
			_, err = b.ReadSlice('\n')
		}
		switch text := bytes.TrimSpace(line); {
		case long:
			visit(number, "", fmt.Errorf("more than %d characters", longest))
		case len(text) > 0:
			visit(number, string(text), nil)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read line %d: %w", number, err)
		}
	}
}
