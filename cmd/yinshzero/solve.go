package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"yinshzero/rules"
	"yinshzero/solve"
)

func newSolve() *cobra.Command {
	c := &cobra.Command{
		Use:   "solve POSITION|[move …]",
		Short: "Find out who wins a late position, in how many plies and how",
		Long: `Find out who wins under best play, in how many plies, and by which Moves, of a position's text or of the position
after Moves. Lost sides play for time.

The method alphabeta looks at all lines of play to a growing number of plies and says how many it takes; mcts is the
search of play with nothing but proofs to go by, and its wins may take longer than they need. The exit code is 0 if the
outcome is proven and 1 if the budget or an interrupt came first; what is known is told in any case.`,
		Example: `  yinshzero solve --variant blitz --nodes 1000000 e5 f6 …
  yinshzero solve --for 1m --moves --json "$POSITION"`,
	}
	variant, asJSON := addVariant(c), addJSON(c)
	nodes := c.Flags().Int64("nodes", 0, "positions to look at, or simulations, at most; 0 for no bound")
	var length lengthFlag
	c.Flags().Var(&length, "for", "how long to look at most; without it, as long as it takes")
	method := c.Flags().String("method", solve.AlphaBeta.String(), "alphabeta or mcts")
	moves := c.Flags().Bool("moves", false, "solve every Move, not the best alone")
	c.RunE = func(c *cobra.Command, args []string) error {
		p := solve.DefaultParams()
		var err error
		if p.Method, err = solve.ParseMethod(*method); err != nil {
			return &usageError{err}
		}
		if *nodes < 0 {
			return usagef("nodes is %d: want 0 or more", *nodes)
		}
		pos, err := positionOf(variant.Variant, c.Flags().Changed("variant"), args)
		if err != nil {
			return &usageError{err}
		}
		ctx, stop := untilSignal(c)
		defer stop()
		if length > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, time.Duration(length))
			defer cancel()
		}
		start := time.Now()
		r, err := solvePosition(ctx, solve.New(p), pos, *nodes, *moves || p.Method == solve.MCTS, progressOf(c.ErrOrStderr(), start))
		if err != nil {
			return &usageError{err}
		}
		if err := printSolution(c, &pos, p.Method, &r, time.Since(start), *asJSON); err != nil {
			return err
		}
		if r.Outcome == rules.Unfinished {
			return fmt.Errorf("the budget ended after %d nodes: %s", r.Nodes, refuted(r.Value))
		}
		return nil
	}
	return c
}

// positionOf reads a position's text, or Moves of v; named says that the user chose v.
func positionOf(v rules.Variant, named bool, args []string) (rules.Position, error) {
	if len(args) != 1 || !strings.Contains(args[0], "/") {
		return after(v, args)
	}
	pos, err := rules.ParsePosition(args[0])
	if got := pos.Variant(); err == nil && named && !got.Same(v) {
		err = fmt.Errorf("the position is of the variant %v, and --variant is %v: leave the flag out", got, v)
	}
	return pos, err
}

// solvePosition solves pos and, if it is not asked to solve every Move, looks which others are as good as the best.
func solvePosition(ctx context.Context, s *solve.Solver, pos rules.Position, nodes int64, moves bool, progress func(solve.Result)) (solve.Result, error) {
	r, err := s.Solve(ctx, pos, solve.Budget{Nodes: nodes, Moves: moves, Progress: progress})
	if err != nil || moves || r.Outcome == rules.Unfinished {
		return r, err
	}
	b := solve.Budget{Nodes: nodes, Plies: r.Plies, Moves: true, Progress: progress}
	if nodes > 0 {
		b.Nodes = max(1, nodes-r.Nodes)
	}
	all, err := s.Solve(ctx, pos, b)
	for _, m := range all.Moves {
		if m.Outcome == r.Outcome && m.Plies == r.Plies {
			r.Moves = append(r.Moves, m)
		}
	}
	r.Nodes += all.Nodes
	return r, err
}

// solveProgressEvery is the time between two lines of progress.
const solveProgressEvery = 2 * time.Second

// progressOf tells people who wait that something is going on.
func progressOf(w io.Writer, start time.Time) func(solve.Result) {
	last := start
	return func(r solve.Result) {
		if now := time.Now(); now.Sub(last) >= solveProgressEvery {
			last = now
			fmt.Fprintf(w, "%v: %d nodes, %s\n", now.Sub(start).Round(time.Second), r.Nodes, refuted(r.Value))
		}
	}
}

// refuted says in words what is known of a Value.
func refuted(v solve.Value) string {
	switch w, b := v.Refuted[rules.White], v.Refuted[rules.Black]; {
	case v.Outcome != rules.Unfinished:
		return solution(v)
	case w == solve.Never:
		return "W cannot win, B not within " + plies(b)
	case b == solve.Never:
		return "B cannot win, W not within " + plies(w)
	case min(w, b) == 0:
		return "nothing is proven"
	default:
		return "no win within " + plies(min(w, b))
	}
}

// solution says in words what is proven.
func solution(v solve.Value) string {
	switch v.Outcome {
	case rules.Unfinished:
		return "not solved, " + refuted(v)
	case rules.Draw:
		return "draw"
	}
	return fmt.Sprintf("%v wins in %s", v.Outcome, plies(v.Plies))
}

func plies(n int) string {
	if n == 1 {
		return "1 ply"
	}
	return fmt.Sprintf("%d plies", n)
}

// A solvedMove is a Move of a solution as JSON.
type solvedMove struct {
	Move    string `json:"move"`
	Outcome string `json:"outcome"`
	Plies   int    `json:"plies"`
}

// printSolution prints what is known of pos.
func printSolution(c *cobra.Command, pos *rules.Position, m solve.Method, r *solve.Result, d time.Duration, asJSON bool) error {
	v := pos.Variant()
	line := make([]string, len(r.Line))
	for i, m := range r.Line {
		line[i] = v.MoveText(m)
	}
	if asJSON {
		within := func(n int) *int { // null if never
			if n == solve.Never {
				return nil
			}
			return &n
		}
		moves := make([]solvedMove, len(r.Moves))
		for i, m := range r.Moves {
			moves[i] = solvedMove{v.MoveText(m.Move), m.Outcome.String(), m.Plies}
		}
		return printJSON(c, struct {
			Position string       `json:"position"`
			Method   string       `json:"method"`
			Outcome  string       `json:"outcome"`
			Plies    int          `json:"plies"`
			White    *int         `json:"white_refuted_plies"`
			Black    *int         `json:"black_refuted_plies"`
			Line     []string     `json:"line"`
			Moves    []solvedMove `json:"moves"`
			Nodes    int64        `json:"nodes"`
			Seconds  float64      `json:"seconds"`
		}{
			pos.String(), m.String(), r.Outcome.String(), r.Plies, within(r.Refuted[rules.White]), within(r.Refuted[rules.Black]),
			line, moves, r.Nodes, d.Seconds(),
		})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s to move: %s\n", pos.ToMove(), solution(r.Value))
	for _, m := range r.Moves {
		if m.Outcome != rules.Unfinished {
			fmt.Fprintf(&b, "  %-8s %s\n", v.MoveText(m.Move), solution(m.Value))
		}
	}
	if len(line) > 0 {
		fmt.Fprintf(&b, "line: %s\n", strings.Join(line, " "))
	}
	fmt.Fprintf(&b, "nodes=%d seconds=%.3f\n", r.Nodes, d.Seconds())
	_, err := io.WriteString(c.OutOrStdout(), b.String())
	return err
}
