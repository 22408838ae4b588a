package rules

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// A Game is one line of a move list:
//
//	<id> <W|B|draw|unknown> <played|resign> <variant> move move …
//
// The words are separated by spaces; the variant is as Variant.String writes it, the Moves as Variant.AppendMove does.
type Game struct {
	ID       string  // any word that does not begin with #
	Outcome  Outcome // Unfinished if unknown
	Resigned bool    // the Moves stop before the game is over
	Variant  Variant
	Moves    []Move
	Names    [2]string // of the players, by Color; empty if unknown. SGF alone has them
}

// ParseGame reads a line of a move list. It does not ask whether the Moves are legal, but if one cannot be read the first
// one that cannot be played is a *PlyError.
func ParseGame(line string) (Game, error) {
	g, words, err := parseHead(line)
	if err != nil {
		return g, err
	}
	g.Moves = make([]Move, 0, len(words))
	for _, s := range words {
		m, err := g.Variant.ParseMove(s)
		if err != nil {
			p, err := g.play()
			if err == nil {
				_, err = p.ParseMove(s)
				err = &PlyError{len(g.Moves), err}
			}
			return g, err
		}
		g.Moves = append(g.Moves, m)
	}
	return g, nil
}

// parseTurns reads a line of a turn list. The first Move that cannot be read or played is a *PlyError.
func parseTurns(line string) (Game, error) {
	g, words, err := parseHead(line)
	if err != nil {
		return g, err
	}
	g.Moves = []Move{}
	p := New(g.Variant)
	for _, s := range words {
		turn, q, err := p.parseTurn(s)
		if g.Moves = append(g.Moves, turn...); err != nil {
			return g, &PlyError{len(g.Moves), fmt.Errorf("turn %q: %w", abridge(s), err)}
		}
		p = q
	}
	return g, nil
}

// parseHead reads the first four words of a line, and returns the others.
func parseHead(line string) (g Game, words []string, err error) {
	f := strings.Fields(line)
	if len(f) < 4 {
		return Game{}, nil, fmt.Errorf("%d words: want <id> <W|B|draw|unknown> <played|resign> <variant> move …", len(f))
	}
	g.ID = f[0]
	if g.Outcome, err = parseOutcome(f[1], "unknown"); err != nil {
		return g, nil, err
	}
	switch f[2] {
	case "played":
	case "resign":
		g.Resigned = true
	default:
		return g, nil, fmt.Errorf("%q: want played or resign", abridge(f[2]))
	}
	if g.Variant, err = ParseVariant(f[3]); err != nil {
		return g, nil, err
	}
	return g, f[4:], nil
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
	return 0, fmt.Errorf("outcome %q: want W, B, draw or %s", abridge(s), unfinished)
}

// AppendText appends the line of g, without a line end.
func (g *Game) AppendText(dst []byte) []byte {
	dst = g.appendHead(dst)
	for _, m := range g.Moves {
		dst = g.Variant.AppendMove(append(dst, ' '), m)
	}
	return dst
}

// appendHead appends the first four words of the line of g.
func (g *Game) appendHead(dst []byte) []byte {
	outcome, ending := g.Outcome.String(), "played"
	if g.Outcome == Unfinished {
		outcome = "unknown"
	}
	if g.Resigned {
		ending = "resign"
	}
	return fmt.Appendf(dst, "%s %s %s %v", g.ID, outcome, ending, g.Variant)
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
	p, err := g.play()
	if err != nil {
		return p, err
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

// play is Replay whatever the outcome is.
func (g *Game) play() (Position, error) {
	p := New(g.Variant)
	for i, m := range g.Moves {
		if err := p.check(m); err != nil {
			return p, &PlyError{i, err}
		}
		p.Play(m)
	}
	return p, nil
}

// check returns nil if m is legal, else an error that says what would be.
func (p *Position) check(m Move) error {
	if p.IsLegal(m) {
		return nil
	}
	near := p.AppendMoves(nil)
	if m.Kind() == MoveRing {
		same := slices.DeleteFunc(slices.Clone(near), func(n Move) bool { return n.Kind() != MoveRing || n.From() != m.From() })
		if len(same) > 0 {
			near = same
		}
	}
	return fmt.Errorf("%s is not legal: %s", p.Variant().MoveText(m), p.offer(near))
}

// offer tells whose decision is next and how many Moves are legal, and names the first of near, which are some of them.
func (p *Position) offer(near []Move) string {
	const shown = 10
	v, all, plural := p.Variant(), p.NumMoves(), "s"
	if p.phase == PhaseOver {
		return fmt.Sprintf("the game is over, %v", p.result.Outcome)
	}
	var b strings.Builder
	if all == 1 {
		plural = ""
	}
	fmt.Fprintf(&b, "%v to move, phase %v, %d legal move%s:", p.toMove, p.phase, all, plural)
	for _, n := range near[:min(shown, len(near))] {
		b.WriteByte(' ')
		b.WriteString(v.MoveText(n))
	}
	if min(shown, len(near)) < all {
		b.WriteString(" …")
	}
	return b.String()
}

// A Fault is what is wrong in a line of a move list, of a trace or of SGF.
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
		fmt.Fprintf(&b, ": game %s", plain(f.Game))
	}
	if f.Ply >= 0 {
		fmt.Fprintf(&b, ": ply %d", f.Ply)
	}
	fmt.Fprintf(&b, ": %v", f.Err)
	return b.String()
}

// plain keeps s short, and quotes it if it holds what is not to be printed.
func plain(s string) string {
	s = abridge(s)
	if q := strconv.Quote(s); q != `"`+s+`"` {
		return q
	}
	return s
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
// error that game returns is that line's fault. Blank lines and those that begin with # are skipped. It returns how many lines were good and bad, and
// an error only if r fails.
func ReadGames(r io.Reader, game func(*Game) error, fault func(Fault)) (ok, bad int, err error) {
	return readLines(r, ParseGame, game, fault)
}

// ReadTurns is ReadGames for a turn list: a move list with turns in the place of Moves, each as Position.ParseTurn reads
// it; the last may break off.
func ReadTurns(r io.Reader, game func(*Game) error, fault func(Fault)) (ok, bad int, err error) {
	return readLines(r, parseTurns, game, fault)
}

func readLines(r io.Reader, parse func(string) (Game, error), game func(*Game) error, fault func(Fault)) (ok, bad int, err error) {
	err = eachLine(r, func(number int, line string, err error) {
		var g Game
		if err == nil {
			g, err = parse(line)
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

// WriteMoves writes the line of g, whole or not at all. A Move that is not legal is a *PlyError; an outcome that does not
// follow from the Moves is an error too.
func WriteMoves(w io.Writer, g *Game) error {
	if _, err := g.Replay(); err != nil {
		return err
	}
	_, err := w.Write(append(g.AppendText(nil), '\n'))
	return err
}

// WriteTurns is WriteMoves for a turn list.
func WriteTurns(w io.Writer, g *Game) error {
	if _, err := g.Replay(); err != nil {
		return err
	}
	out := g.appendHead(nil)
	p := New(g.Variant)
	start := 0 // of the turn in hand
	for i, m := range g.Moves {
		side := p.toMove
		if p.Play(m); i+1 == len(g.Moves) || p.toMove != side {
			out = g.Variant.AppendTurn(append(out, ' '), g.Moves[start:i+1])
			start = i + 1
		}
	}
	_, err := w.Write(append(out, '\n'))
	return err
}

// ReplayGames replays every game of a move list and calls fault for every one that does not follow the rules. It
// returns how many games were good and bad, and an error only if r fails.
func ReplayGames(r io.Reader, fault func(Fault)) (ok, bad int, err error) {
	return ReadGames(r, func(g *Game) error {
		_, err := g.Replay()
		return err
	}, fault)
}

// eachLine calls visit for every line of r that is not blank and does not begin with #, with its number from 1; err says that the line is too
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
		case len(text) > 0 && text[0] != '#':
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
