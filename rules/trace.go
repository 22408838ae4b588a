package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A trace is a game told ply by ply, so that two programs can compare what they think legal:
//
//	<id> <ply> <W|B> <place|move|row|ring> <number of legal moves> <hash of the legal moves> <move played> <board after>
//	<id> END <W|B|draw|unfinished>
//
// The hash is FNV-1a of 64 bits, in 16 hexadecimal digits, over the legal Moves' texts sorted bytewise and joined by
// commas. Its offset basis is the one that traces are made with, not the usual one.
const (
	traceBasis = 1469598103934665603
	tracePrime = 1099511628211
)

// A tracer writes and checks trace lines; its buffers are used again.
type tracer struct {
	moves []Move
	text  []byte
	texts [][]byte
}

// legal returns the number and the hash of p's legal Moves.
func (t *tracer) legal(p *Position) (n int, hash uint64) {
	v := p.Variant()
	t.moves = p.AppendMoves(t.moves[:0])
	const longest = 7 // characters of a Move, such as j10-k10, but for the x of a Row
	t.text = slices.Grow(t.text[:0], (longest+1)*len(t.moves))
	t.texts = t.texts[:0]
	for _, m := range t.moves {
		start := len(t.text)
		t.text = v.AppendMove(t.text, m)
		t.texts = append(t.texts, t.text[start:])
	}
	slices.SortFunc(t.texts, bytes.Compare)
	hash = traceBasis
	add := func(c byte) { hash = (hash ^ uint64(c)) * tracePrime }
	for i, s := range t.texts {
		if i > 0 {
			add(',')
		}
		for _, c := range s {
			add(c)
		}
	}
	return len(t.moves), hash
}

// WriteTrace writes the trace of g, whole or not at all if a Move is not legal, which is a *PlyError. The END line tells
// how the Moves end, whatever g.Outcome says.
func WriteTrace(w io.Writer, g *Game) error {
	var t tracer
	var out []byte
	p := New(g.Variant)
	for i, m := range g.Moves {
		if err := p.check(m); err != nil {
			return &PlyError{i, err}
		}
		n, hash := t.legal(&p)
		out = fmt.Appendf(out, "%s %d %v %v %d %016x ", g.ID, i, p.toMove, p.phase, n, hash)
		out = append(g.Variant.AppendMove(out, m), ' ')
		p.Play(m)
		out = append(p.appendBoard(out), '\n')
	}
	out = fmt.Appendf(out, "%s END %v\n", g.ID, p.result.Outcome)
	_, err := w.Write(out)
	return err
}

// ReadTrace reads a trace and compares every line with the rules: side, phase, number and hash of the legal Moves, the
// legality of the Move played, the board after it and the outcome. A trace does not name its Variant: a game is good if
// all its lines fit one of variants, or with none of those that have names, and is of the first that fits. It calls game for every good one, which counts as
// resigned if it is unfinished; an error that game returns is that game's fault. The first fault of every bad game is
// reported and the rest of that game skipped. A game that is over but has no END line is checked and told, and not counted.
// ReadTrace returns how many games were good and bad, and an error only if r fails.
func ReadTrace(r io.Reader, variants []Variant, game func(*Game) error, fault func(Fault)) (ok, bad int, err error) {
	if len(variants) == 0 {
		variants = Variants()
	}
	c := traceChecker{variants: variants, game: game, fault: fault}
	err = eachLine(r, func(number int, line string, err error) {
		f := strings.Fields(line)
		switch {
		case err != nil:
			c.begin("")
			c.fail(number, err)
		case len(f) < 3:
			if len(f) > 0 {
				c.begin(f[0])
			}
			c.fail(number, fmt.Errorf("%d words: want <id> <ply> <side> <phase> <legal> <hash> <move> <board>", len(f)))
		default:
			c.line(number, f)
		}
		c.number = number
	})
	c.close()
	return c.ok, c.bad, err
}

// CheckTrace is ReadTrace for the faults alone.
func CheckTrace(r io.Reader, variants []Variant, fault func(Fault)) (ok, bad int, err error) {
	return ReadTrace(r, variants, func(*Game) error { return nil }, fault)
}

// A traceChecker holds what ReadTrace knows between lines.
type traceChecker struct {
	tracer
	variants []Variant
	game     func(*Game) error
	fault    func(Fault)
	ok, bad  int

	number int        // of the last line
	open   bool       // in a game
	failed bool       // this game has a fault
	id     string     // of the game
	ply    int        // of the next line
	live   []Position // one for each Variant that still fits
	played []string   // the Moves up to it
}

// begin makes id the game in hand, if it is not yet.
func (c *traceChecker) begin(id string) {
	if c.open && c.id == id {
		return
	}
	c.close()
	c.open, c.failed, c.id, c.ply, c.live, c.played = true, false, id, 0, c.live[:0], nil
	for _, v := range c.variants {
		c.live = append(c.live, New(v))
	}
}

// close ends a game that has no END line. It is a fault if the game was not over; if it was, the lines are good, but
// as they state no outcome the game counts neither as good nor as bad.
func (c *traceChecker) close() {
	if !c.open {
		return
	}
	over := slices.IndexFunc(c.live, func(p Position) bool { return p.phase == PhaseOver })
	if c.failed || over < 0 {
		c.fail(c.number, errors.New("the game has no END line"))
		c.end(c.number)
		return
	}
	if c.tell(c.number, &c.live[over]); c.failed {
		c.bad++
	}
	c.open = false
}

// tell gives away the game in hand, which ends in p.
func (c *traceChecker) tell(number int, p *Position) {
	res, over := p.Result()
	g := Game{ID: c.id, Outcome: res.Outcome, Resigned: !over, Variant: p.Variant(), Moves: make([]Move, len(c.played))}
	for i, text := range c.played {
		g.Moves[i], _ = g.Variant.ParseMove(text) // it has been played
	}
	if err := c.game(&g); err != nil {
		c.fail(number, err)
	}
}

// end tells and counts the game in hand.
func (c *traceChecker) end(number int) {
	if !c.failed {
		c.tell(number, &c.live[0])
	}
	if c.failed {
		c.bad++
	} else {
		c.ok++
	}
	c.open = false
}

// fail reports the first fault of the game in hand.
func (c *traceChecker) fail(number int, err error) {
	if !c.failed {
		c.failed = true
		c.fault(newFault(number, c.id, err))
	}
}

// line checks one line of at least three words against every Variant that still fits.
func (c *traceChecker) line(number int, f []string) {
	if c.open && !c.failed && c.id == f[0] && f[1] == "0" && c.ply > 0 {
		c.close()
	}
	c.begin(f[0])
	test := c.plyLine
	if f[1] == "END" {
		defer c.end(number)
		test = c.endLine
	}
	if c.failed {
		return
	}
	var first error
	fits := c.live[:0]
	for _, p := range c.live {
		if err := test(&p, f); err == nil {
			fits = append(fits, p)
		} else if first == nil {
			first = err
		}
	}
	c.live = fits
	if len(fits) == 0 {
		if f[1] != "END" {
			first = &PlyError{c.ply, first}
		}
		c.fail(number, first)
	}
	if c.ply++; !c.failed && f[1] != "END" {
		c.played = append(c.played, strings.Clone(f[6]))
	}
}

// plyLine checks the line of one Move and plays it.
func (c *traceChecker) plyLine(p *Position, f []string) error {
	if len(f) != 8 {
		return fmt.Errorf("%d words: want 8", len(f))
	}
	if p.phase == PhaseOver {
		return fmt.Errorf("the game is over, %v", p.result.Outcome)
	}
	n, hash := c.legal(p)
	for i, want := range [...]string{
		fmt.Sprint(c.ply), p.toMove.String(), p.phase.String(), fmt.Sprint(n), fmt.Sprintf("%016x", hash),
	} {
		if got := f[i+1]; got != want {
			name := [...]string{"ply", "side", "phase", "number of legal moves", "hash of the legal moves"}[i]
			return fmt.Errorf("%s %s: want %s", name, plain(got), want)
		}
	}
	m, err := p.ParseMove(f[6])
	if err != nil {
		return err
	}
	p.Play(m)
	if want := p.appendBoard(nil); f[7] != string(want) {
		return fmt.Errorf("board %s after %s: want %s", plain(f[7]), f[6], want)
	}
	return nil
}

// endLine checks the outcome.
func (c *traceChecker) endLine(p *Position, f []string) error {
	o, err := parseOutcome(f[2], Unfinished.String())
	if err != nil {
		return err
	}
	if o != p.result.Outcome {
		return fmt.Errorf("outcome %v: want %v", o, p.result.Outcome)
	}
	return nil
}
