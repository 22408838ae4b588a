package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"yinshzero/rules"
)

// PlayerParams say how an engine in another process is run and asked.
type PlayerParams struct {
	Command string        // program and arguments; quotes, '…' or "…", keep blanks together, and no shell reads it
	Variant rules.Variant // of the games
	Go      string        // what it is told at each turn, after go, such as movetime 1000
	Timeout time.Duration // how long any answer may take; above 0
}

// A Player is an engine in another process that speaks UGI, as a player of matches (arena.Follower). An engine that hangs is
// killed. It belongs to one goroutine.
type Player struct {
	params  PlayerParams
	process *exec.Cmd
	in      io.WriteCloser
	lines   <-chan line
	stop    context.CancelFunc // of the reader of lines
	errors  tail               // what it wrote to standard error
	late    atomic.Bool        // it was killed as an answer took too long
	end     sync.Once
	ended   error

	start rules.Position // of the game
	moves []rules.Move   // since
	pos   rules.Position // where they lead
	fresh bool           // it has not heard of this game
	ahead []rules.Move   // what it will play in the rest of its turn
}

// NewPlayer starts an engine, greets it, tells it the Variant if it has such an option and waits until it is ready.
func NewPlayer(p PlayerParams) (*Player, error) {
	e := &Player{params: p}
	args, err := splitCommand(p.Command)
	if err != nil {
		return nil, e.failure(err)
	}
	if p.Timeout <= 0 {
		return nil, e.failure(fmt.Errorf("a timeout of %v: want a time above 0", p.Timeout))
	}
	e.process = exec.Command(args[0], args[1:]...)
	e.process.Stderr = &e.errors
	e.process.WaitDelay = time.Second // what its children may keep open
	if e.in, err = e.process.StdinPipe(); err != nil {
		return nil, e.failure(err)
	}
	out, err := e.process.StdoutPipe()
	if err != nil {
		return nil, e.failure(err)
	}
	if err := e.process.Start(); err != nil {
		return nil, e.failure(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	e.stop, e.lines = stop, readLines(ctx, out, maxUGILine, nil)
	if err := e.greet(); err != nil {
		e.kill()
		_ = e.wait() // the error is told already
		return nil, err
	}
	return e, nil
}

// greet begins the session.
func (e *Player) greet() error {
	variant := false
	if err := e.ask(context.Background(), "ugi", func(l string) bool {
		variant = variant || strings.HasPrefix(l, "option name Variant type ")
		return l == "ugiok"
	}); err != nil {
		return err
	}
	v, ask := e.params.Variant, "isready"
	switch {
	case variant:
		ask = "setoption name Variant value " + v.String() + "\n" + ask
	case !v.Same(rules.Standard()):
		return e.failure(fmt.Errorf("it has no option Variant, and the games are %v", v))
	}
	return e.ask(context.Background(), ask, is("readyok"))
}

// is is a test for a line.
func is(want string) func(string) bool { return func(l string) bool { return l == want } }

// ask sends lines and waits for the one that answers the last. If it does not come in time the engine is killed.
func (e *Player) ask(ctx context.Context, text string, answers func(line string) bool) error {
	late := time.AfterFunc(e.params.Timeout, func() {
		e.late.Store(true)
		e.kill()
	})
	defer late.Stop()
	defer context.AfterFunc(ctx, e.kill)()
	e.send(text)
	last := text[strings.LastIndexByte(text, '\n')+1:]
	for l := range e.lines {
		if fault, ok := strings.CutPrefix(l.text, "info string error "); ok {
			return e.failure(fmt.Errorf("it complains: %s", abridge(oneLine(fault))))
		}
		if l.err == nil && answers(l.text) {
			return nil
		}
	}
	ended := e.wait()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case e.late.Load():
		return e.failure(fmt.Errorf("no answer to %q within %v", abridge(last), e.params.Timeout))
	}
	err := fmt.Errorf("it ended before it answered %q", abridge(last))
	if ended != nil {
		err = fmt.Errorf("%w: %w", err, ended)
	}
	return e.failure(err)
}

// send writes lines. If that fails no answer comes, and that is told.
func (e *Player) send(text string) { _, _ = io.WriteString(e.in, text+"\n") }

// failure is err with the engine's command and the last that it wrote to standard error.
func (e *Player) failure(err error) error {
	if text := e.errors.String(); text != "" {
		return fmt.Errorf("engine %q: %w; it wrote: %s", e.params.Command, err, text)
	}
	return fmt.Errorf("engine %q: %w", e.params.Command, err)
}

func (e *Player) kill() { _ = e.process.Process.Kill() } // it may have ended

// wait waits for the end of the process and returns how it ended.
func (e *Player) wait() error {
	e.end.Do(func() {
		e.stop()
		for range e.lines { // all has to be read before the pipe is closed
		}
		e.ended = e.process.Wait()
	})
	return e.ended
}

// Close asks the engine to quit, and kills it if it does not within the timeout. It returns how it ended.
func (e *Player) Close() error {
	late := time.AfterFunc(e.params.Timeout, e.kill)
	defer late.Stop()
	e.send("quit")
	_ = e.in.Close() // how the engine ended says more
	return e.wait()
}

// Start begins a game at pos.
func (e *Player) Start(pos rules.Position) {
	e.start, e.pos, e.moves, e.fresh, e.ahead = pos, pos, nil, true, nil
}

// Played tells of a Move.
func (e *Player) Played(m rules.Move) {
	e.pos.Play(m)
	e.moves = append(e.moves, m)
	if len(e.ahead) > 0 && e.ahead[0] == m {
		e.ahead = e.ahead[1:]
	} else {
		e.ahead = nil
	}
}

// Move asks for a turn at its begin, and returns one Move of it each time. An engine that ends, is late, complains or plays
// what is illegal is an error.
func (e *Player) Move(ctx context.Context, pos rules.Position, _ *rand.Rand) (rules.Move, error) {
	if pos != e.pos {
		e.Start(pos)
	}
	if len(e.ahead) > 0 {
		return e.ahead[0], nil
	}
	ask := e.game() + "\nisready"
	if e.fresh {
		ask = "uginewgame\n" + ask
	}
	if err := e.ask(ctx, ask, is("readyok")); err != nil {
		return 0, err
	}
	e.fresh = false
	var text string
	if err := e.ask(ctx, "go "+e.params.Go, func(l string) bool {
		word, rest, _ := strings.Cut(l, " ")
		text, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
		return word == "bestmove"
	}); err != nil {
		return 0, err
	}
	turn, err := pos.ParseTurn(text)
	if err != nil {
		return 0, e.failure(err)
	}
	e.ahead = turn
	return turn[0], nil
}

// game is the line that tells where the game stands.
func (e *Player) game() string {
	v, at, begin := e.start.Variant(), e.start, 0
	text := fmt.Appendf(nil, "position fen %v", &e.start)
	for i, m := range e.moves {
		side := at.ToMove()
		if at.Play(m); at.ToMove() == side {
			continue
		}
		if begin == 0 {
			text = append(text, " moves"...)
		}
		text = v.AppendTurn(append(text, ' '), e.moves[begin:i+1])
		begin = i + 1
	}
	return string(text)
}

// splitCommand splits a command line into words.
func splitCommand(s string) (words []string, err error) {
	var word []byte
	quote, open := byte(0), false
	end := func() {
		if open {
			words = append(words, string(word))
		}
		word, open = word[:0], false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word = append(word, c)
		case c == '"' || c == '\'':
			quote, open = c, true
		case c == ' ':
			end()
		default:
			word, open = append(word, c), true
		}
	}
	end()
	if quote != 0 {
		return nil, fmt.Errorf("a quote %c without its end", quote)
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("no program")
	}
	return words, nil
}

// A tail keeps the last bytes that were written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer. It never fails.
func (t *tail) Write(b []byte) (int, error) {
	const most = 400
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if n := len(t.text) - most; n > 0 {
		t.text = append(t.text[:0], t.text[n:]...)
	}
	return len(b), nil
}

// String is what was kept, in one line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(oneLine(string(bytes.TrimSpace(t.text))), "?")
}
