package pipeline

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"yinshzero/infer"
	"yinshzero/mcts"
	"yinshzero/metrics"
	"yinshzero/net"
	"yinshzero/registry"
	"yinshzero/solve"
)

// problems is every second one of the fixed set for the run's Variant: a hundred, or none. With a network of 64x6, one core
// has 23,000 evaluations to make for them, which is some eight seconds.
func (r *Run) problems() (half []solve.Problem) {
	for i, p := range solve.Problems(r.params.Variant) {
		if i%2 == 0 {
			half = append(half, p)
		}
	}
	return half
}

// solveProblems lets the newest promoted model that has not been asked yet solve the problems, and reports whether there was
// one. A model that cannot is logged and not asked again by this process.
func (r *Run) solveProblems(ctx context.Context) (bool, error) {
	problems := r.problems()
	if len(problems) == 0 {
		return false, nil
	}
	if r.asked == nil {
		var err error
		if r.asked, err = r.readProblems(); err != nil {
			return false, err
		}
	}
	all := r.registry.All()
	for i := len(all) - 1; i >= 0; i-- {
		e := all[i]
		promoted := e.Standing == registry.Best || e.Standing == registry.Former
		if !promoted || r.asked[e.ID.String()] {
			continue
		}
		solved, err := r.solvedBy(ctx, e.ID, problems)
		if ctx.Err() != nil {
			return false, nil
		}
		r.asked[e.ID.String()] = true
		if err != nil {
			r.params.Log.Warn("problems cannot be solved", "model", e.ID.Short(), "error", err)
			return true, nil
		}
		r.note("problems solved", "model", e.ID.Short(), "step", e.Meta.Step, "of", len(problems),
			"at_1", solved[0], "at_32", solved[1], "at_200", solved[2])
		share := func(i int) float64 { return float64(solved[i]) / float64(len(problems)) }
		r.forgo("metrics of problems", r.metrics.Problems(metrics.Problems{
			Time: time.Now().UTC(), Model: e.ID.String(), Step: e.Meta.Step, Problems: len(problems),
			Solved1: share(0), Solved32: share(1), Solved200: share(2),
		}))
		return true, nil
	}
	return false, nil
}

// solvedBy is how many problems a model solves with 1, 32 and 200 simulations a Move.
func (r *Run) solvedBy(ctx context.Context, id registry.ID, problems []solve.Problem) (solved [3]int, err error) {
	b, err := r.registry.Bytes(id)
	if err != nil {
		return solved, err
	}
	w, err := net.Read(b)
	if err != nil {
		return solved, err
	}
	p := r.params.Plan.Infer
	p.Symmetry = false // as in matches
	program, err := p.Compile(w, problems[0].Pos.Variant())
	if err != nil {
		return solved, err
	}
	s := mcts.New(infer.New(program, p), r.params.Plan.Match)
	for i, n := range [...]int{1, 32, 200} {
		if solved[i], err = solve.Share(ctx, s, problems, n); err != nil {
			return solved, err
		}
	}
	return solved, nil
}

// readProblems is the models that have been asked, by what the metrics hold. A line that cannot be read does not count.
func (r *Run) readProblems() (map[string]bool, error) {
	asked := map[string]bool{}
	for l, err := range metrics.Lines[metrics.Problems](filepath.Join(r.dir(metricsDir), metrics.ProblemsName)) {
		var damaged *metrics.LineError
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.As(err, &damaged):
		case err != nil:
			return nil, err
		default:
			asked[l.Model] = true
		}
	}
	return asked, nil
}
