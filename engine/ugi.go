package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"yinshzero/internal/seed"
	"yinshzero/mcts"
	"yinshzero/rules"
)

// maxUGILine bounds a line, far above what a game has.
const maxUGILine = 1 << 16

// UGI speaks the Universal Game Interface until it reads quit, r ends or ctx does. At the end of r a search that has a limit is
// finished first, one that has none is stopped. A bad line is answered with info string error and changes nothing. It
// returns an error if r or w fails, if p is out of range, and if the model that p names cannot be loaded when it is
// needed: at the first isready or go. When it returns nothing of it runs on, but for a goroutine that waits for r.
func UGI(ctx context.Context, r io.Reader, w io.Writer, p Params) error {
	if err := p.Validate(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &session{
		params: p, out: &writer{w: w, end: cancel},
		options: options{
			model: p.Model, variant: p.Variant, threads: p.Threads, hash: defaultHash, multiPV: 1, simulations: p.Simulations,
			symmetries: symmetryNone, moveFormat: formatTurn, seed: p.Seed,
		},
	}
	s.setPosition(rules.New(p.Variant), nil)
	s.newGame()
	return s.loop(ctx, readLines(ctx, r, maxUGILine, cancel))
}

// A session is one run of UGI. While a search is under way, the Searcher, its place and rng belong to the search's goroutine.
type session struct {
	params  Params
	options options
	out     *writer

	start rules.Position // and the Moves since: the game
	moves []rules.Move
	pos   rules.Position // where they lead

	model    Model
	built    build          // what searcher was made for; the zero value if there is none
	searcher *mcts.Searcher // its tree is that of
	origin   rules.Position // origin
	played   []rules.Move   // and these Moves

	games int
	rng   *rand.Rand

	thinking *thinking // nil if no search is under way
}

// A build is what a Searcher is made for.
type build struct {
	model      string
	variant    rules.Variant
	threads    int
	hash       int
	symmetries string
	seed       uint64
}

// A thinking is a search under way.
type thinking struct {
	stop    context.CancelFunc
	limited bool        // it ends without being stopped
	best    chan string // the answer, once
}

// loop takes lines and the ends of searches as they come.
func (s *session) loop(ctx context.Context, lines <-chan line) error {
	for {
		var best chan string
		if s.thinking != nil {
			best = s.thinking.best
		}
		select {
		case <-ctx.Done():
			s.finish(ctx, true)
			return context.Cause(ctx)
		case text := <-best:
			s.answer(text)
		case l, ok := <-lines:
			if !ok {
				s.finish(ctx, false)
				return context.Cause(ctx)
			}
			if l.err != nil {
				s.fault(l.err)
				continue
			}
			quit, err := s.command(ctx, l.text)
			if err != nil {
				return err
			}
			if quit {
				s.finish(ctx, true)
				return context.Cause(ctx)
			}
		}
	}
}

// answer ends a search.
func (s *session) answer(text string) {
	s.thinking.stop()
	s.thinking = nil
	s.out.printf("bestmove %s", text)
}

// finish waits for the search that is under way, if any. It is stopped first if now says so or if it would not end.
func (s *session) finish(ctx context.Context, now bool) {
	if s.thinking == nil {
		return
	}
	if now || !s.thinking.limited {
		s.thinking.stop()
	}
	s.answer(<-s.thinking.best)
}

// fault tells what is wrong.
func (s *session) fault(err error) { s.out.printf("info string error %v", err) }

// command does what a line says. An error ends the session.
func (s *session) command(ctx context.Context, text string) (quit bool, err error) {
	word, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "quit":
		return true, nil
	case "isready":
		if s.thinking == nil {
			if err := s.prepare(); err != nil {
				return false, err
			}
		}
		s.out.printf("readyok")
		return false, nil
	case "stop":
		if s.thinking != nil {
			s.thinking.stop()
		}
		return false, nil
	case "query":
		s.query(rest)
		return false, nil
	}
	if s.thinking != nil {
		s.fault(fmt.Errorf("%q while a search is under way: want isready, query, stop or quit", abridge(word)))
		return false, nil
	}
	switch word {
	case "ugi":
		s.introduce()
	case "setoption":
		s.setOption(rest)
	case "uginewgame":
		s.setPosition(rules.New(s.options.variant), nil)
		s.newGame()
	case "position":
		if err := s.position(rest); err != nil {
			s.fault(fmt.Errorf("position: %w", err))
		}
	case "go":
		return false, s.search(ctx, rest)
	default:
		s.fault(fmt.Errorf("unknown command %q", abridge(word)))
	}
	return false, nil
}

// introduce answers ugi.
func (s *session) introduce() {
	s.out.printf("id name yinshzero %s", s.params.Version)
	s.out.printf("id author the authors of yinshzero")
	for _, p := range ugiOptions {
		s.out.printf("%s", p.text(&s.options))
	}
	s.out.printf("ugiok")
}

func (s *session) setOption(text string) {
	before := s.options
	p, err := s.options.set(text)
	switch {
	case err != nil:
		s.fault(err)
	case p.name == "Variant" && !before.variant.Same(s.options.variant):
		s.setPosition(rules.New(s.options.variant), nil)
	case p.name == "Seed":
		s.games = 0
		s.newGame()
	}
}

// newGame forgets the game before.
func (s *session) newGame() {
	if s.searcher != nil {
		s.searcher.Reset()
	}
	s.rng = seed.New(s.options.seed).Child("game", uint64(s.games)).Rand()
	s.games++
}

func (s *session) setPosition(start rules.Position, moves []rules.Move) {
	s.start, s.moves, s.pos = start, moves, start
	for _, m := range moves {
		s.pos.Play(m)
	}
}

// position reads what follows position: startpos or fen F, then perhaps moves and those.
func (s *session) position(text string) error {
	words := strings.Fields(text)
	var start rules.Position
	switch {
	case len(words) >= 1 && words[0] == "startpos":
		start, words = rules.New(s.options.variant), words[1:]
	case len(words) >= 2 && words[0] == "fen":
		var err error
		if start, err = rules.ParsePosition(words[1]); err != nil {
			return err
		}
		words = words[2:]
	default:
		return errors.New("want startpos or fen F, and then perhaps moves")
	}
	if len(words) > 0 && words[0] != "moves" {
		return fmt.Errorf("%q: want moves", abridge(words[0]))
	}
	pos, moves := start, []rules.Move(nil)
	for i, w := range words {
		if i == 0 {
			continue
		}
		some, err := s.parse(&pos, w)
		if err != nil {
			return fmt.Errorf("move %d: %w", i, err)
		}
		for _, m := range some {
			pos.Play(m)
		}
		moves = append(moves, some...)
	}
	s.setPosition(start, moves)
	return nil
}

// parse reads a move in the format in use.
func (s *session) parse(pos *rules.Position, text string) ([]rules.Move, error) {
	if s.options.moveFormat == formatTurn {
		return pos.ParseTurn(text)
	}
	m, err := pos.ParseMove(text)
	return []rules.Move{m}, err
}

func (s *session) query(what string) {
	res, over := s.pos.Result()
	switch what {
	case "gameover":
		s.out.printf("response %t", over)
	case "p1turn":
		s.out.printf("response %t", s.pos.ToMove() == rules.White)
	case "result":
		s.out.printf("response %s", [...]string{
			rules.Unfinished: "none", rules.WhiteWins: "p1win", rules.BlackWins: "p2win", rules.Draw: "draw",
		}[res.Outcome])
	default:
		s.fault(fmt.Errorf("query %q: want gameover, p1turn or result", abridge(what)))
	}
}

// prepare makes the Searcher that the options ask for. A model that cannot be loaded is told, and the one before is used;
// if there is none the error is returned.
func (s *session) prepare() error {
	o := &s.options
	want := build{o.model, s.pos.Variant(), o.threads, o.hash, o.symmetries, o.seed}
	if want == s.built {
		return nil
	}
	if want.model != s.built.model || want.variant != s.built.variant {
		m, err := s.params.Load(want.model, want.variant)
		if err != nil {
			before := s.built.model
			if before == "" {
				before = s.params.Model
			}
			if before == want.model {
				return err
			}
			s.fault(err)
			o.model = before
			return s.prepare()
		}
		s.model = m
	}
	search, evaluation := s.params.Search, s.params.Infer
	search.MaxNodes, search.Batch = nodesIn(o.hash), o.batch()
	evaluation.Cores, evaluation.Seed = o.threads, o.seed
	evaluation.Symmetry, evaluation.AverageRoot = o.symmetries == symmetryRandom, o.symmetries == symmetryRoot
	search.FreshRoot = evaluation.AverageRoot
	s.searcher = mcts.New(&judge{Evaluator: s.model.evaluator(evaluation)}, search)
	s.built = want
	return nil
}

// batch is how many leaves are judged together.
func (o *options) batch() int {
	if o.threads == 1 {
		return 1
	}
	return min(4*o.threads, 256)
}

// follow leads the tree to the Position of the game, if it is of a Position before it in the game.
func (s *session) follow() {
	n := len(s.played)
	if s.origin == s.start && n <= len(s.moves) && slices.Equal(s.played, s.moves[:n]) {
		for _, m := range s.moves[n:] {
			s.searcher.Advance(m)
		}
	} else {
		s.searcher.Reset()
	}
	s.origin, s.played = s.start, slices.Clone(s.moves)
}

// search begins a search as go says.
func (s *session) search(ctx context.Context, text string) error {
	g, err := s.parseGo(text)
	if err != nil {
		s.fault(fmt.Errorf("go: %w", err))
		return nil
	}
	if err := s.prepare(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	s.thinking = &thinking{stop: cancel, limited: !g.infinite, best: make(chan string, 1)}
	best := s.thinking.best
	if res, over := s.pos.Result(); over {
		s.fault(fmt.Errorf("go: the game is over, %v", res.Outcome))
		best <- noMove
		return nil
	}
	s.follow()
	t := turn{session: s, goal: g, at: s.pos}
	go func() {
		text, err := t.think(ctx)
		if err != nil {
			s.fault(err)
			text = noMove
		}
		best <- text
	}()
	return nil
}

// noMove is the answer of a search that has found none.
const noMove = "none"

// A goal is what go asks for.
type goal struct {
	begin       time.Time
	time        time.Duration // for the turn; 0 for any
	depth       int           // of each Move's search; 0 for any
	simulations int           // for each Move
	infinite    bool          // it ends when it is stopped
}

// parseGo reads what follows go. Several limits hold together.
func (s *session) parseGo(text string) (goal, error) {
	g := goal{begin: time.Now(), simulations: MaxSimulations}
	words := strings.Fields(text)
	given := map[string]int{}
	for len(words) > 0 {
		name, low := words[0], 1
		switch name {
		case "infinite":
			g.infinite = true
			words = words[1:]
			continue
		case "p1time", "p2time": // a clock may have run out
			low = -MaxSimulations
		case "p1inc", "p2inc", "depth":
			low = 0
		case "movetime", "nodes":
		default:
			return g, fmt.Errorf("%q: want p1time, p2time, p1inc, p2inc, movetime, depth, nodes or infinite", abridge(name))
		}
		if len(words) == 1 {
			return g, fmt.Errorf("%s: want a number after it", name)
		}
		n, err := strconv.Atoi(words[1])
		if err != nil || n < low || n > MaxSimulations {
			return g, fmt.Errorf("%s %q: want a whole number from %d to %d", name, abridge(words[1]), low, MaxSimulations)
		}
		if _, twice := given[name]; twice {
			return g, fmt.Errorf("%s is there twice", name)
		}
		given[name] = n
		words = words[2:]
	}
	milliseconds := func(name string, low int) (time.Duration, bool) {
		n, ok := given[name]
		return time.Duration(max(n, low)) * time.Millisecond, ok
	}
	side := "p" + strconv.Itoa(1+int(s.pos.ToMove()))
	_, p1 := given["p1time"]
	_, p2 := given["p2time"]
	if left, ok := milliseconds(side+"time", 1); ok {
		increment, _ := milliseconds(side+"inc", 0)
		g.time = clock{left, increment}.allot(&s.pos)
	} else if p1 || p2 {
		return g, fmt.Errorf("want %stime: it is that side's turn", side)
	}
	if d, ok := milliseconds("movetime", 1); ok {
		if d = lessMargin(d); g.time == 0 || d < g.time {
			g.time = d
		}
	}
	nodes, some := given["nodes"]
	depth, deep := given["depth"]
	g.depth = depth
	switch {
	case deep && depth == 0:
		g.simulations = 0
	case some:
		g.simulations = nodes
	case g.time == 0 && !deep && !g.infinite:
		g.simulations = s.options.simulations
	}
	g.infinite = g.infinite && g.time == 0 && !some && !deep
	return g, nil
}

// A turn is what is thought about and decided in one turn, on the search's goroutine.
type turn struct {
	*session
	goal    goal
	at      rules.Position // that the next Move is for
	decided []rules.Move
	spent   int // simulations of the searches before
}

// think decides the rest of the turn, or one Move, and returns its text.
func (t *turn) think(ctx context.Context) (string, error) {
	for {
		m, err := t.decide(ctx)
		if err != nil {
			return "", err
		}
		t.decided = append(t.decided, m)
		t.at.Play(m)
		if _, over := t.at.Result(); over || t.options.moveFormat == formatPly || t.at.ToMove() != t.pos.ToMove() {
			return t.text(t.decided), nil
		}
		t.searcher.Advance(m)
		t.played = append(t.played, m)
	}
}

// decide searches for one Move.
func (t *turn) decide(ctx context.Context) (rules.Move, error) {
	if t.goal.time > 0 {
		now := time.Now()
		left := max(t.goal.time-now.Sub(t.goal.begin), 0)
		if t.options.moveFormat == formatTurn {
			left = share(left, t.at.Phase())
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, now.Add(left))
		defer cancel()
	}
	s := search{
		searcher: t.searcher, pos: t.at, simulations: t.goal.simulations, depth: t.goal.depth,
		batch: t.options.batch(), every: t.params.Report,
		report: func(r mcts.Root, n int) { t.report(&r, n) },
	}
	root, n, err := s.run(ctx)
	if err != nil {
		return 0, err
	}
	t.report(&root, n)
	t.spent += n
	return choose(&root, t.options.temperature, t.rng), nil
}

// report tells what a search has, after n simulations.
func (t *turn) report(r *mcts.Root, n int) {
	elapsed := time.Since(t.goal.begin)
	nodes := t.spent + n
	perSecond := int64(float64(nodes) / max(elapsed.Seconds(), 1e-6))
	var out []byte
	list := ranked(r, t.at.ToMove())
	for i, e := range list[:min(len(list), t.options.multiPV)] {
		line := t.searcher.AppendLine(append(slices.Clone(t.decided), e.Move), e.Move)
		out = fmt.Appendf(out, "info depth %d multipv %d score %s nodes %d nps %d time %d pv %s\n",
			len(line)-len(t.decided), i+1, score(&e, t.at.ToMove()), nodes, perSecond, elapsed.Milliseconds(), t.text(line))
	}
	t.out.write(out)
}

// score is what the side to move thinks of an edge: mate in so many Moves, or hundredths of a won game.
func score(e *mcts.RootEdge, toMove rules.Color) string {
	switch e.Proven {
	case rules.Wins(toMove):
		return fmt.Sprintf("mate %d", e.Plies)
	case rules.Wins(toMove.Other()):
		return fmt.Sprintf("mate %d", -e.Plies)
	}
	return fmt.Sprintf("cp %d", int(math.RoundToEven(100*float64(own(e.Value, toMove)))))
}

// text is Moves from the game's Position on in the format in use, with spaces between.
func (t *turn) text(moves []rules.Move) string {
	v, at := t.pos.Variant(), t.pos
	var out []byte
	begin := 0
	for i, m := range moves {
		side := at.ToMove()
		at.Play(m)
		if i+1 < len(moves) && t.options.moveFormat == formatTurn && at.ToMove() == side {
			continue
		}
		if begin > 0 {
			out = append(out, ' ')
		}
		out = v.AppendTurn(out, moves[begin:i+1])
		begin = i + 1
	}
	return string(out)
}
