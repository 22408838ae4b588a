package rules

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ReadSGF reads games as the server Boardspace writes them, in both its dialects: with Done after every step, as since
// 2006, and without. It calls game for every game that can be read and fault for every one that cannot, whose rest is
// skipped. An error that game returns is that game's fault. Comments and unknown properties are skipped, and all
// variations but the first; what is no game is skipped, but a text with no game at all is a fault. A game's id is its GN,
// with blanks and a # at its begin as underscores, or sgf and its number, which counts from first.
//
// What the Moves tell goes before what RE says: a game that is over on the board has that outcome, and RE must not deny
// it; any other counts as resigned, with the outcome of RE or of a Resign, or none. ReadSGF returns how many games were good
// and bad, and an error only if r fails.
func ReadSGF(r io.Reader, first int, game func(*Game) error, fault func(Fault)) (ok, bad int, err error) {
	s := sgfScanner{r: bufio.NewReader(r), line: 1}
	var g *sgfGame
	depth := 0 // 1 in a game, more in its variations
	begin := func(line int) { g, depth = newSGFGame(first+ok+bad, line), 1 }
	end := func(unclosed bool) {
		if g == nil || !g.filled {
			g = nil
			return
		}
		if unclosed {
			g.fail(g.line, errors.New("the game has no closing parenthesis"))
		}
		if g.finish(); g.fault == nil {
			if err := game(&g.game); err != nil {
				g.fail(g.line, err)
			}
		}
		if g.fault == nil {
			ok++
		} else {
			bad++
			fault(newFault(g.faultLine, g.game.ID, g.fault))
		}
		g = nil
	}
	for {
		switch t := s.next(g != nil); t.kind {
		case sgfEnd:
			if end(true); ok+bad == 0 && s.text && s.err == nil {
				bad++
				fault(newFault(1, "", errors.New("no game found: want (;GM[24]SU[Yinsh] …)")))
			}
			return ok, bad, s.err
		case sgfBegin:
			begin(t.line)
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				end(false)
			} else {
				g.past = true
			}
		case sgfValue:
			if t.name == "GM" && depth > 1 { // only a game's first node has it
				end(true)
				begin(t.line)
			}
			if g.filled = true; !g.past && g.fault == nil {
				g.property(t)
			}
		}
	}
}

// The kinds of sgfTokens, besides the characters ( and ).
const (
	sgfEnd   = 0
	sgfBegin = ';' // the first node of a game
	sgfValue = '['
)

// An sgfToken is a character that shapes the tree of a game, or one value of a property.
type sgfToken struct {
	kind        byte
	line        int // where it begins, from 1
	name, value string
	err         error // what is wrong with a value
}

// An sgfScanner splits SGF into tokens.
type sgfScanner struct {
	r    *bufio.Reader
	line int
	name string // of the property in hand
	text bool   // there is more than blanks
	err  error  // of r
}

// read returns the next byte, and false at the end.
func (s *sgfScanner) read() (byte, bool) {
	c, err := s.r.ReadByte()
	if err != nil {
		if err != io.EOF {
			s.err = fmt.Errorf("read line %d: %w", s.line, err)
		}
		return 0, false
	}
	if c == '\n' {
		s.line++
	}
	return c, true
}

// next returns the next token. Outside a game only the ( and ; that begin one are a token.
func (s *sgfScanner) next(inGame bool) sgfToken {
	fresh := true // the next letter begins a name
	open := false // ( was the last character but blanks
	for {
		c, ok := s.read()
		if !ok {
			return sgfToken{kind: sgfEnd, line: s.line}
		}
		if strings.IndexByte(" \t\r\n", c) >= 0 {
			continue
		}
		s.text = true
		switch {
		case !inGame && c == ';' && open, inGame && (c == '(' || c == ')'):
			s.name = ""
			return sgfToken{kind: c, line: s.line}
		case !inGame:
			open = c == '('
		case c == ';':
			s.name = ""
		case c == '[':
			return s.value()
		case 'A' <= c && c <= 'Z' || '0' <= c && c <= '9':
			const longest = 16
			if fresh {
				s.name = ""
			}
			if fresh = false; len(s.name) < longest {
				s.name += string(c)
			}
		}
	}
}

// value reads a value up to its closing bracket. A backslash takes the next character as it is.
func (s *sgfScanner) value() sgfToken {
	const longest = 1 << 16
	t := sgfToken{kind: sgfValue, line: s.line, name: s.name}
	var b []byte
	for {
		c, ok := s.read()
		if ok && c == ']' {
			t.value = string(b)
			return t
		}
		if ok && c == '\\' {
			c, ok = s.read()
		}
		if !ok {
			t.err = errors.New("the value has no closing bracket")
			return t
		}
		switch {
		case len(b) < longest:
			b = append(b, c)
		case t.err == nil:
			t.err = fmt.Errorf("a value of more than %d characters", longest)
		}
	}
}

// An sgfGame is a game in the reading.
type sgfGame struct {
	game       Game
	line       int // of its first node
	pos        Position
	names      [2]string // of the players
	result     string    // RE
	resultLine int
	filled     bool // it has a property
	past       bool // the first variation has ended
	step       sgfStep
	held       string // what has been picked up beside the board
	resigned   bool
	fault      error
	faultLine  int
}

// An sgfStep is a decision that may still be taken back.
type sgfStep struct {
	kind     sgfKind
	side     Color
	line     int
	from, to string // the points it names; to is empty as long as a ring has not landed
}

// An sgfKind is what an sgfStep decides.
type sgfKind uint8

const (
	sgfNone sgfKind = iota
	sgfPlace
	sgfMove
	sgfRow
	sgfRing
	sgfPass
	sgfResign
)

func newSGFGame(number, line int) *sgfGame {
	v := Standard()
	return &sgfGame{line: line, pos: New(v), game: Game{ID: fmt.Sprintf("sgf%d", number), Variant: v, Moves: []Move{}}}
}

// fail keeps the first fault.
func (g *sgfGame) fail(line int, err error) {
	if g.fault == nil {
		g.faultLine, g.fault = line, err
	}
}

// property reads one value of a property.
func (g *sgfGame) property(t sgfToken) {
	if t.err != nil {
		g.fail(t.line, t.err)
		return
	}
	switch t.name {
	case "GM":
		if n := strings.TrimSpace(t.value); n != "24" {
			g.fail(t.line, fmt.Errorf("GM is %q: want 24, which is YINSH", abridge(n)))
		}
	case "SU":
		v := Standard()
		switch strings.ToLower(strings.TrimSpace(t.value)) {
		case "yinsh":
		case "yinsh-blitz":
			v = Blitz()
		default:
			g.fail(t.line, fmt.Errorf("SU is %q: want Yinsh or yinsh-blitz", abridge(t.value)))
		}
		if len(g.game.Moves) > 0 || g.step.kind != sgfNone {
			g.fail(t.line, errors.New("SU comes after the first move"))
		}
		g.game.Variant, g.pos = v, New(v)
	case "GN":
		if words := strings.Fields(t.value); len(words) > 0 {
			g.game.ID = strings.Join(words, "_")
			if g.game.ID[0] == '#' { // a comment of a move list
				g.game.ID = "_" + g.game.ID[1:]
			}
		}
	case "RE":
		g.result, g.resultLine = strings.TrimSpace(t.value), t.line
	case "P0", "P1":
		line, err := g.command(Color(t.name[1]-'0'), t.value, t.line)
		if err != nil {
			g.fail(line, &PlyError{len(g.game.Moves), err})
		}
	}
}

// command follows one command of a player: [<index>] <word> …. An error comes with its line.
func (g *sgfGame) command(side Color, text string, line int) (int, error) {
	f := strings.Fields(text)
	if len(f) > 0 && strings.Trim(f[0], "0123456789") == "" {
		f = f[1:]
	}
	if len(f) == 0 {
		return line, nil
	}
	switch word, f := strings.ToLower(f[0]), f[1:]; word {
	case "id":
		name := strings.TrimSpace(text)
		name = strings.TrimSpace(name[strings.IndexAny(name, "iI")+len(word):]) // an index has no letters
		if n := len(name); n > 1 && name[0] == '"' && name[n-1] == '"' {
			name = name[1 : n-1]
		}
		g.names[side] = name
		return line, nil
	case "time", "ranking", "gameoverontime":
		return line, nil
	case "start":
		if len(f) > 0 && strings.EqualFold(f[0], "black") {
			return line, errors.New("the game starts with Black: White begins in YINSH")
		}
		return line, nil
	case "done":
		return g.settle()
	case "pass":
		return g.begin(sgfStep{kind: sgfPass, side: side, line: line})
	case "resign":
		if g.step.kind == sgfMove && g.step.to == "" {
			g.step = sgfStep{}
		}
		return g.begin(sgfStep{kind: sgfResign, side: side, line: line})
	case "move":
		if p := sgfPoints(f); len(p) == 2 {
			return g.begin(sgfStep{sgfMove, side, line, p[0], p[1]})
		}
	case "place":
		if len(f) > 0 {
			if p := sgfPoints(f[1:]); len(p) == 1 {
				return g.place(side, f[0], p[0], line)
			}
		}
	case "remove":
		if len(f) == 0 {
			break
		}
		p := sgfPoints(f[1:])
		kind, err := sgfObject(side, f[0], sgfRow, sgfRing)
		switch {
		case err != nil:
			return line, err
		case kind == sgfRow && len(p) == 2:
			return g.begin(sgfStep{kind, side, line, p[0], p[1]})
		case kind == sgfRing && len(p) == 1:
			return g.begin(sgfStep{kind: kind, side: side, line: line, from: p[0]})
		}
	case "pick":
		if g.held = ""; len(f) > 0 && !strings.EqualFold(f[0], "board") {
			g.held = f[0]
		}
		return line, nil
	case "drop":
		if len(f) > 0 && !strings.EqualFold(f[0], "board") { // back to where it came from
			g.held = ""
			return line, nil
		}
		if len(f) > 0 {
			if p := sgfPoints(f[1:]); len(p) == 1 {
				return g.drop(side, p[0], line)
			}
		}
	}
	return line, fmt.Errorf("command %q: want place wr G 11, place w K 8, drop board K 9, move G 9 F 9, remove w G 5 C 1, "+
		"remove wr E 1, pass, Done or Resign; %s", abridge(strings.Join(f, " ")), g.pos.offer(g.pos.AppendMoves(nil)))
}

// sgfPoints reads pairs of a letter and a number, such as G 11, as g11; nil if f is anything else.
func sgfPoints(f []string) (points []string) {
	for ; len(f) >= 2; f = f[2:] {
		if len(f[0]) != 1 || strings.Trim(f[1], "0123456789") != "" {
			return nil
		}
		points = append(points, strings.ToLower(f[0])+f[1])
	}
	if len(f) > 0 {
		return nil
	}
	return points
}

// sgfObject returns marker or ring for w, wr, b and br, which must be side's.
func sgfObject(side Color, object string, marker, ring sgfKind) (sgfKind, error) {
	switch own := strings.ToLower(side.String()); strings.ToLower(object) {
	case own:
		return marker, nil
	case own + "r":
		return ring, nil
	default:
		return sgfNone, fmt.Errorf("%q: want a marker or ring of %v, %s or %sr", abridge(object), side, own, own)
	}
}

// place puts a ring on the board, or a marker into a ring that is then to be moved.
func (g *sgfGame) place(side Color, object, point string, line int) (int, error) {
	kind, err := sgfObject(side, object, sgfMove, sgfPlace)
	if err != nil {
		return line, err
	}
	return g.begin(sgfStep{kind: kind, side: side, line: line, from: point})
}

// drop lands what is in hand: a ring in the middle of its move, or what was picked up again.
func (g *sgfGame) drop(side Color, point string, line int) (int, error) {
	switch s := &g.step; {
	case g.held != "":
		return g.place(side, g.held, point, line)
	case s.side == side && s.kind == sgfMove:
		if s.to = point; s.to == s.from { // back again
			s.to = ""
		}
		s.line = line
	case s.side == side && s.kind == sgfPlace:
		s.from, s.line = point, line
	default:
		return line, fmt.Errorf("drop board %s: %v has no ring in hand; %s", plain(point), side, g.pos.offer(g.pos.AppendMoves(nil)))
	}
	return line, nil
}

// begin takes a new step, in place of the last one if that was the same player's and of the same kind, or a resignation.
func (g *sgfGame) begin(s sgfStep) (int, error) {
	if g.step.side != s.side || g.step.kind != s.kind && g.step.kind != sgfResign {
		if line, err := g.settle(); err != nil {
			return line, err
		}
		if g.resigned {
			return s.line, errors.New("a command after the resignation")
		}
	}
	g.step, g.held = s, ""
	return s.line, nil
}

// settle plays the step in hand, if there is one.
func (g *sgfGame) settle() (int, error) {
	s := g.step
	g.step, g.held = sgfStep{}, ""
	text := s.from
	switch s.kind {
	case sgfNone:
		return s.line, nil
	case sgfResign:
		g.resigned, g.game.Outcome = true, Wins(s.side.Other())
		return s.line, nil
	case sgfMove:
		if s.to == "" {
			return s.line, fmt.Errorf("the ring on %s was not moved", plain(s.from))
		}
		text = s.from + "-" + s.to
	case sgfRow:
		text = "x" + s.from + "-" + s.to
	case sgfRing:
		text = "x" + s.from
	case sgfPass:
		text = "pass"
	}
	if _, over := g.pos.Result(); !over && s.side != g.pos.toMove {
		return s.line, fmt.Errorf("%s is not legal for %v: %s", plain(text), s.side, g.pos.offer(g.pos.AppendMoves(nil)))
	}
	m, err := g.pos.ParseMove(text)
	if err != nil {
		return s.line, err
	}
	g.game.Moves = append(g.game.Moves, m)
	g.pos.Play(m)
	return s.line, nil
}

// finish settles the last step and the outcome.
func (g *sgfGame) finish() {
	if g.fault != nil {
		return
	}
	if g.step.kind == sgfMove && g.step.to == "" { // broken off in the middle
		g.step = sgfStep{}
	}
	if line, err := g.settle(); err != nil {
		g.fail(line, &PlyError{len(g.game.Moves), err})
		return
	}
	res, over := g.pos.Result()
	stated := g.stated()
	switch {
	case over && g.resigned:
		g.fail(g.line, fmt.Errorf("resigned, but the game was over: %v", res.Outcome))
	case over:
		g.game.Outcome = res.Outcome
	case !g.resigned:
		g.game.Outcome = stated
	}
	g.game.Resigned = !over
	if g.names != sgfNames {
		g.game.Names = g.names
	}
	switch {
	case stated != Unfinished && stated != g.game.Outcome:
		g.fail(g.resultLine, fmt.Errorf("RE is %q, but the game ends in %v", abridge(g.result), g.game.Outcome))
	case !over && stated == Draw:
		g.fail(g.resultLine, fmt.Errorf("RE is %q, but the game is not over: %s", abridge(g.result), g.pos.offer(g.pos.AppendMoves(nil))))
	}
}

// stated is the outcome that RE states, in any language that has the winner's name in it; Unfinished if it states none.
func (g *sgfGame) stated() Outcome {
	re := strings.ToLower(strings.TrimSuffix(g.result, "."))
	switch {
	case strings.HasPrefix(re, "w+"):
		return WhiteWins
	case strings.HasPrefix(re, "b+"):
		return BlackWins
	case re == "0" || re == "draw" || re == "the game is a draw":
		return Draw
	}
	o, longest := Unfinished, 0 // one name may be a part of the other
	for c, name := range g.names {
		switch n := len(name); {
		case n < longest || n == 0 || !containsWord(g.result, name):
		case n == longest:
			o = Unfinished
		default:
			o, longest = Wins(Color(c)), n
		}
	}
	return o
}

// containsWord reports whether word stands in text with no letter or digit at either side. In scripts without blanks
// any letter may stand there.
func containsWord(text, word string) bool {
	inWord := func(r rune) bool {
		return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
	}
	for at := 0; ; at++ {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		at += i
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(word):])
		if !inWord(before) && !inWord(after) {
			return true
		}
	}
}

// sgfNames are the players' names that WriteSGF writes.
var sgfNames = [2]string{"White", "Black"}

// WriteSGF writes g as Boardspace has written games since 2006, without times, whole or not at all. The Variant must be
// standard or blitz. A Move that is not legal is a *PlyError; an outcome that does not follow from the Moves is an error too.
func WriteSGF(w io.Writer, g *Game) error {
	setup := "Yinsh"
	switch {
	case g.Variant.Same(Blitz()):
		setup = "yinsh-blitz"
	case !g.Variant.Same(Standard()):
		return fmt.Errorf("variant %v has no SGF: want standard or blitz", g.Variant)
	}
	if _, err := g.Replay(); err != nil {
		return err
	}
	names := sgfNames
	for c, name := range g.Names {
		if name != "" {
			names[c] = name
		}
	}
	out := fmt.Appendf(nil, "(;GM[24]VV[2]SU[%s]GN[%s]\nP0[id \"%s\"]P1[id \"%s\"]\n", setup, sgfText(g.ID), sgfText(names[0]), sgfText(names[1]))
	switch g.Outcome {
	case WhiteWins, BlackWins:
		if names == sgfNames {
			out = fmt.Appendf(out, "RE[Game won by %s]\n", names[g.Outcome-WhiteWins])
		} else { // two players may have the same name
			out = fmt.Appendf(out, "RE[%v+]\n", Color(g.Outcome-WhiteWins))
		}
	case Draw:
		out = append(out, "RE[The game is a draw]\n"...)
	}
	index := 0
	command := func(side Color, format string, args ...any) {
		out = fmt.Appendf(out, "; P%d[%d %s]\n", side, index, fmt.Sprintf(format, args...))
		index++
	}
	command(White, "Start White")
	p := New(g.Variant)
	for _, m := range g.Moves {
		side := p.toMove
		own := strings.ToLower(side.String())
		switch m.Kind() {
		case PlaceRing:
			command(side, "place %sr %s", own, sgfPoint(m.Point()))
		case MoveRing:
			command(side, "place %s %s", own, sgfPoint(m.From()))
			command(side, "drop board %s", sgfPoint(m.To()))
		case RemoveRow:
			last, _ := m.Row().Last(int(g.Variant.RowLength)) // on the board, as m is legal
			command(side, "remove %s %s %s", own, sgfPoint(m.Row().First()), sgfPoint(last))
		case RemoveRing:
			command(side, "remove %sr %s", own, sgfPoint(m.Point()))
		case PassTurn:
			command(side, "Pass")
		}
		command(side, "Done")
		p.Play(m)
	}
	if g.Resigned && g.Outcome != Unfinished {
		loser := Color(BlackWins - g.Outcome)
		command(loser, "Resign")
		command(loser, "Done")
	}
	_, err := w.Write(append(out, ")\n"...))
	return err
}

// sgfText is a text as a value of a property: blanks for what is not to be printed.
func sgfText(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	return strings.NewReplacer(`\`, `\\`, `]`, `\]`).Replace(s)
}

// sgfPoint is a Point as Boardspace writes it, such as G 11.
func sgfPoint(p Point) string { return fmt.Sprintf("%c %d", 'A'+p.Column(), p.Number()) }
