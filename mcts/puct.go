package mcts

import (
	"context"
	"math"

	"yinshzero/rules"
)

// selectPUCT is the place of the edge with the greatest Q + U, U = c·P·√ΣN / (1 + N), c = CPuct + ln((1 + ΣN +
// CPuctBase) / CPuctBase) (Silver et al., 2018). Q is the mover's; a Move without visits has its parent's Q less
// FPU·√(prior visited), and so has a Move whose first visit is awaited. N counts what is awaited (Liu et al., 2020,
// equation 4). Proven Moves are left alone.
func (s *Searcher) selectPUCT(n *node) int {
	sign := n.sign()
	total := float64(n.visits - 1 + int32(n.waiting))
	c := s.params.CPuct + math.Log((1+total+s.params.CPuctBase)/s.params.CPuctBase)
	u := c * math.Sqrt(max(1, total))
	best, most, prior := -1, math.Inf(-1), 0.0
	for _, e := range s.triedOf(n) {
		prior += float64(e.prior)
	}
	first := sign*n.q - s.params.FPU*math.Sqrt(prior)
	for i, e := range s.triedOf(n) {
		child := &s.nodes[e.child]
		if child.outcome != rules.Unfinished {
			continue
		}
		q := first
		if child.visits > 0 {
			q = sign * child.q
		}
		if w := q + u*float64(e.prior)/float64(1+child.visits+int32(child.waiting)); w > most {
			best, most = i, w
		}
	}
	if n.tried < n.count {
		w := first + u*float64(s.edgesOf(n)[n.tried].prior)
		if w > most {
			best = int(n.tried)
		}
	}
	return best
}

// searchPUCT spends up to n simulations.
func (s *Searcher) searchPUCT(ctx context.Context, n int) (used int, err error) {
	for used < n && !s.done(ctx) {
		if s.simulate(s.selectPUCT(&s.nodes[0])) {
			used++
			if len(s.leaves) < s.params.Batch {
				continue
			}
		}
		if failed, err := s.judge(ctx); err != nil {
			return used - failed, err
		}
	}
	failed, err := s.judge(ctx)
	return used - failed, err
}

// deviation is the standard error of Q, with one value more, as far off as a draw is from a win by half, so that few
// visits are not taken for certainty.
func (n *node) deviation() float64 {
	visits := float64(n.visits)
	variance := (n.spread + 0.25) / visits
	return math.Sqrt(variance / visits)
}

// minShare of the visits of the most visited Move is what a Move needs to be chosen.
const minShare = 0.15

// choosePUCT is the Move with the greatest lower confidence bound of Q among the unproven ones with enough visits, or the
// likeliest if none has any; or one that is proven drawn, if that Move's Q is below a draw. The root is not proven.
func (s *Searcher) choosePUCT() rules.Move {
	root := &s.nodes[0]
	sign := root.sign()
	most := int32(0)
	draw := -1
	for i, e := range s.triedOf(root) {
		switch child := &s.nodes[e.child]; child.outcome {
		case rules.Unfinished:
			most = max(most, child.visits)
		case rules.Draw:
			draw = i
		}
	}
	best, bound, q := -1, math.Inf(-1), math.Inf(-1)
	for i, e := range s.triedOf(root) {
		child := &s.nodes[e.child]
		visits := float64(child.visits)
		if child.outcome != rules.Unfinished || visits < minShare*float64(most) {
			continue
		}
		if b := sign*child.q - s.params.LCB*child.deviation(); b > bound {
			best, bound, q = i, b, sign*child.q
		}
	}
	edges := s.edgesOf(root)
	switch {
	case draw >= 0 && q < 0:
		return edges[draw].move
	case best >= 0:
		return edges[best].move
	}
	return edges[root.tried].move
}

// share sets the Policy of the root's edges to their shares of the visits, or of the prior if none has any.
func (s *Searcher) share(edges []RootEdge) {
	root := &s.nodes[0]
	visits, prior := 0.0, 0.0
	for _, e := range edges {
		if root.viable(e.Proven) {
			visits += float64(e.Visits)
			prior += float64(e.Prior)
		}
	}
	for i, e := range edges {
		switch {
		case !root.viable(e.Proven):
			edges[i].Policy = 0
		case visits > 0:
			edges[i].Policy = float32(float64(e.Visits) / visits)
		default:
			edges[i].Policy = float32(float64(e.Prior) / prior)
		}
	}
}
