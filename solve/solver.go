package solve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"yinshzero/mcts"
	"yinshzero/rules"
)

// Never is the number of plies within which a thing is refuted that cannot happen at all.
const Never = math.MaxUint16

// A Method is how a Position is solved.
type Method uint8

const (
	// AlphaBeta looks at all lines of play up to a growing number of plies. What it says of plies is exact.
	AlphaBeta Method = iota
	// MCTS is a tree search (package mcts) that knows nothing but proven results. Its wins may take longer than they need.
	MCTS
)

// String is alphabeta or mcts.
func (m Method) String() string {
	switch m {
	case AlphaBeta:
		return "alphabeta"
	case MCTS:
		return "mcts"
	}
	return fmt.Sprintf("Method(%d)", uint8(m))
}

// ParseMethod reads a Method as String writes it.
func ParseMethod(s string) (Method, error) {
	for _, m := range []Method{AlphaBeta, MCTS} {
		if m.String() == s {
			return m, nil
		}
	}
	return 0, fmt.Errorf("method %q: want alphabeta or mcts", s)
}

// Params are the numbers of a Solver.
type Params struct {
	Method Method
	// Entries bounds the transposition table of AlphaBeta: at most so many of 24 bytes each, 2 to 2²⁸. A small table
	// costs time, never truth.
	Entries int
	// MaxNodes bounds the tree of MCTS, about 1 KB each; a Solve that fills it ends early. 1 to 16,000,000.
	MaxNodes int
}

// DefaultParams is AlphaBeta with a table of 24 MB.
func DefaultParams() Params { return Params{Method: AlphaBeta, Entries: 1 << 20, MaxNodes: 1_000_000} }

// A Budget is what one Solve may spend; ctx bounds its time.
type Budget struct {
	Nodes int64 // Positions that AlphaBeta looks at, simulations of MCTS; 0 for no bound
	Plies int   // how far AlphaBeta looks, 0 for no bound; MCTS knows no such bound
	// Moves asks AlphaBeta to solve every legal Move. MCTS tells what it happens to know of them.
	Moves bool
	// Progress, if not nil, hears what is known whenever that is more than before. It must keep no slice of the Result.
	Progress func(Result)
}

// A Value is what is known of a Position under best play.
type Value struct {
	Outcome rules.Outcome // Unfinished if not proven
	// Plies is how many Moves the game still takes if one side wins and both do their best, the winner to be quick and
	// the loser to last; 0 for a draw. AlphaBeta says how many exactly; MCTS, how many are enough for the winner.
	Plies int
	// Refuted is, by Color, within how many plies that side cannot force a win: Never if it cannot at all. MCTS knows 0
	// and Never alone.
	Refuted [2]int
}

// won is the Value of a Position that c wins in a number of plies, not in fewer.
func won(c rules.Color, plies int) Value {
	v := Value{Outcome: rules.Wins(c), Plies: plies}
	v.Refuted[c], v.Refuted[c.Other()] = plies-1, Never
	return v
}

// settle makes v a draw if neither side can win.
func (v *Value) settle() {
	if v.Outcome == rules.Unfinished && v.Refuted == [2]int{Never, Never} {
		v.Outcome = rules.Draw
	}
}

// A MoveValue is the Value of a legal Move. Its plies count the Move.
type MoveValue struct {
	Move rules.Move
	Value
}

// A Result is what a Solve has found.
type Result struct {
	Value
	// Line is best play to the end of the game, as far as the budget went; empty if the Outcome is not proven. AlphaBeta
	// chooses the lowest of equal Moves.
	Line  []rules.Move
	Moves []MoveValue // the legal Moves, ascending, if the Budget asked for them
	Nodes int64       // as Budget.Nodes counts
}

// A Solver solves Positions and belongs to one goroutine. Its memory is reused from Solve to Solve; nothing else is.
type Solver struct {
	params   Params
	prover   prover
	searcher *mcts.Searcher
}

// New returns a Solver. The numbers of p must be in range.
func New(p Params) *Solver {
	s := &Solver{params: p}
	switch p.Method {
	case AlphaBeta:
		s.prover.table = newTable(p.Entries)
	case MCTS:
		search := mcts.DefaultParams()
		search.Root, search.MaxNodes = mcts.PUCT, p.MaxNodes
		s.searcher = mcts.New(mcts.Uniform{}, search)
	}
	return s
}

// Solve spends b on pos, or less if that is enough. When the budget or ctx ends first, it returns what it has, without
// an error. It is an error if pos is over or if b is below 0. The same pos and b give the same Result unless ctx ended.
func (s *Solver) Solve(ctx context.Context, pos rules.Position, b Budget) (Result, error) {
	if _, over := pos.Result(); over {
		return Result{}, errors.New("solve position: the game is over")
	}
	if b.Nodes < 0 || b.Plies < 0 {
		return Result{}, fmt.Errorf("solve position: budget of %d nodes and %d plies: want at least 0", b.Nodes, b.Plies)
	}
	if s.params.Method == MCTS {
		return s.search(ctx, pos, b)
	}
	return s.deepen(ctx, pos, b), nil
}

// deepen solves pos by AlphaBeta: either side's win within one ply more each time, of pos or, if the Moves are asked for,
// of the Position after each.
func (s *Solver) deepen(ctx context.Context, pos rules.Position, b Budget) (r Result) {
	p := &s.prover
	p.begin(ctx, &pos, b.Nodes)
	limit := pos.Variant().MaxPlies()
	if b.Plies > 0 {
		limit = min(limit, b.Plies)
	}
	if b.Moves {
		for _, m := range pos.AppendMoves(nil) {
			r.Moves = append(r.Moves, MoveValue{Move: m})
		}
	}
	for depth := 1; depth <= limit && !p.stopped; depth++ {
		was := r.Value
		open := false
		if b.Moves {
			for i := range r.Moves {
				m := &r.Moves[i]
				next := pos
				next.Play(m.Move)
				p.look(&next, depth, 1, &m.Value)
				open = open || m.Outcome == rules.Unfinished
			}
			r.Value = combine(pos.ToMove(), r.Moves)
		} else {
			p.look(&pos, depth, 0, &r.Value)
			open = r.Outcome == rules.Unfinished
		}
		if b.Progress != nil && (r.Value != was || b.Moves) {
			r.Nodes = p.nodes
			b.Progress(r)
		}
		if !open {
			break
		}
	}
	if r.Outcome != rules.Unfinished {
		r.Line = p.line(pos, r.Value)
	}
	r.Nodes = p.nodes
	return r
}

// combine is the Value of a Position in which mover has these Moves.
func combine(mover rules.Color, moves []MoveValue) (v Value) {
	wins, loses := rules.Wins(mover), rules.Wins(mover.Other())
	lost := 0
	v.Refuted[mover] = Never
	for _, m := range moves {
		v.Refuted[mover] = min(v.Refuted[mover], m.Refuted[mover])
		v.Refuted[mover.Other()] = max(v.Refuted[mover.Other()], m.Refuted[mover.Other()])
		switch {
		case m.Outcome == wins && (v.Outcome != wins || m.Plies < v.Plies):
			v.Outcome, v.Plies = wins, m.Plies
		case m.Outcome == loses:
			lost++
		}
	}
	switch {
	case v.Outcome == wins:
		v.Refuted[mover.Other()] = Never
	case lost == len(moves):
		v.Outcome = loses
		for _, m := range moves {
			v.Plies = max(v.Plies, m.Plies)
		}
	}
	v.settle()
	return v
}

// search solves pos by MCTS.
func (s *Solver) search(ctx context.Context, pos rules.Position, b Budget) (r Result, err error) {
	moves := pos.AppendMoves(nil)
	var forced []rules.Move // a Searcher spends nothing on a single Move
	for len(moves) == 1 {
		forced = append(forced, moves[0])
		pos.Play(moves[0])
		moves = pos.AppendMoves(moves[:0])
	}
	if res, over := pos.Result(); over {
		r.Value = proven(res.Outcome, len(forced))
		r.Line = forced
	} else if err = s.simulate(ctx, pos, b, &r); err != nil {
		return Result{}, err
	} else if r.Outcome != rules.Unfinished {
		r.Value = proven(r.Outcome, r.Plies+len(forced))
		r.Line = append(forced, r.Line...)
	}
	if len(forced) > 0 && b.Moves {
		r.Moves = []MoveValue{{forced[0], r.Value}}
	}
	return r, nil
}

// proven is a Value as MCTS knows it.
func proven(o rules.Outcome, plies int) (v Value) {
	v.Outcome = o
	switch o {
	case rules.Unfinished:
	case rules.Draw:
		v.Refuted = [2]int{Never, Never}
	default:
		v.Plies = plies
		v.Refuted[rules.White], v.Refuted[rules.Black] = Never, Never
		v.Refuted[o-rules.WhiteWins] = 0
	}
	return v
}

// slice is how many simulations MCTS makes between two looks at what it has found.
const slice = 1 << 12

// simulate searches pos, which has several Moves.
func (s *Solver) simulate(ctx context.Context, pos rules.Position, b Budget, r *Result) error {
	s.searcher.Reset()
	for {
		n := int64(slice)
		if b.Nodes > 0 {
			n = min(n, b.Nodes-r.Nodes)
		}
		root, err := s.searcher.Search(ctx, pos, mcts.Budget{Simulations: int(n)}, nil)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		r.Nodes += int64(root.Simulations)
		r.Moves = r.Moves[:0]
		for _, e := range root.Edges {
			r.Moves = append(r.Moves, MoveValue{e.Move, proven(e.Proven, int(e.Plies))})
		}
		r.Value = combine(pos.ToMove(), r.Moves)
		if b.Progress != nil {
			b.Progress(*r)
		}
		if root.Proven || root.Simulations < slice { // the last may be short, or the tree full
			break
		}
	}
	if r.Outcome != rules.Unfinished {
		r.Line = s.searcher.AppendLine(nil)
	}
	if !b.Moves {
		r.Moves = nil
	}
	r.Moves = slices.Clip(r.Moves)
	return nil
}
