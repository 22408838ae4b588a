package solve

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"yinshzero/mcts"
	"yinshzero/rules"
)

//go:generate go test -run ^TestGenerate$ -timeout 0 -generate .

// The files of the fixed set: "#" begins a comment, and every other line is a Problem: position, outcome, plies, horizon,
// Moves with commas between them.
//
//go:embed problems/*.txt
var problemFiles embed.FS

// A Problem is a Position in which the side to move wins by force, and its solution.
type Problem struct {
	Pos     rules.Position
	Outcome rules.Outcome // the side to move wins
	Plies   int           // to the end, if both do their best
	// Horizon is how far all lines were looked at: Moves are those that win within so many plies, the quickest among them,
	// and no other Move does. Some of those may win later than that.
	Horizon int
	Moves   []rules.Move // ascending; at most a third of the legal ones
}

// Problems is the fixed set for v, each from a game of its own; empty but for rules.Standard and rules.Blitz. Its order
// mixes easy and hard, so that any part of it is like the whole.
func Problems(v rules.Variant) []Problem {
	name := problemFile(v)
	text, err := problemFiles.ReadFile(name)
	if err != nil {
		return nil
	}
	problems, err := parseProblems(string(text))
	if err != nil {
		panic("solve: " + name + ": " + err.Error())
	}
	return problems
}

func problemFile(v rules.Variant) string { return "problems/" + v.String() + ".txt" }

// Share is how many of the problems s solves: its Move after so many simulations, from an empty tree, is one of those
// that win. s must not be in use elsewhere. An error is the search's, or that ctx ended.
func Share(ctx context.Context, s *mcts.Searcher, problems []Problem, simulations int) (solved int, err error) {
	for i := range problems {
		p := &problems[i]
		s.Reset()
		root, err := s.Search(ctx, p.Pos, mcts.Budget{Simulations: simulations}, nil)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, fmt.Errorf("solve problem %d: %w", i, err)
		}
		if slices.Contains(p.Moves, root.Best) {
			solved++
		}
	}
	s.Reset()
	return solved, nil
}

func parseProblems(text string) (problems []Problem, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		p, err := parseProblem(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		problems = append(problems, p)
	}
	return problems, nil
}

// parseProblem reads a line. It does not ask whether the solution is right.
func parseProblem(line string) (p Problem, err error) {
	f := strings.Fields(line)
	if len(f) != 5 {
		return p, fmt.Errorf("%d fields: want position, outcome, plies, horizon, Moves", len(f))
	}
	if p.Pos, err = rules.ParsePosition(f[0]); err != nil {
		return p, err
	}
	if _, over := p.Pos.Result(); over {
		return p, fmt.Errorf("position %s: the game is over", f[0])
	}
	if p.Outcome = rules.Wins(p.Pos.ToMove()); p.Outcome.String() != f[1] {
		return p, fmt.Errorf("outcome %q: want %v, who moves", f[1], p.Outcome)
	}
	for i, n := range []*int{&p.Plies, &p.Horizon} {
		if *n, err = strconv.Atoi(f[2+i]); err != nil || *n < 1 || *n > Never {
			return p, fmt.Errorf("plies %q: want a number from 1 to %d", f[2+i], Never)
		}
	}
	if p.Horizon < p.Plies {
		return p, fmt.Errorf("horizon %d: want at least the plies, %d", p.Horizon, p.Plies)
	}
	v := p.Pos.Variant()
	for _, word := range strings.Split(f[4], ",") {
		m, err := v.ParseMove(word)
		if err != nil {
			return p, err
		}
		if !p.Pos.IsLegal(m) || len(p.Moves) > 0 && m <= p.Moves[len(p.Moves)-1] {
			return p, fmt.Errorf("%s is not legal, or not in order", word)
		}
		p.Moves = append(p.Moves, m)
	}
	return p, nil
}
