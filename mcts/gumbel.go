package mcts

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"yinshzero/rules"
)

// completion is what equations 8, 11 and 33 of Danihelka et al. (2022) need to know of a node.
type completion struct {
	scale  float64 // of σ for White's Q: the mover's sign · (CVisit + max N) · CScale
	mixed  float64 // v_mix, White's view: the Q of a Move without visits, equation 33
	visits float64 // ΣN of viable Moves
	prior  float64 // of all tried Moves
}

// complete looks at the tried Moves of n.
func (s *Searcher) complete(n *node) completion {
	var c completion
	var most int32
	var prior, weighted float64 // of tried, viable Moves
	for _, e := range s.triedOf(n) {
		child := &s.nodes[e.child]
		p := float64(e.prior)
		c.prior += p
		if child.visits == 0 || !n.viable(child.outcome) {
			continue
		}
		c.visits += float64(child.visits)
		most = max(most, child.visits)
		prior += p
		weighted += p * child.q
	}
	c.mixed = n.raw
	if prior > 0 {
		c.mixed = (n.raw + c.visits*weighted/prior) / (1 + c.visits)
	}
	c.scale = n.sign() * (s.params.CVisit + float64(most)) * s.params.CScale
	return c
}

// completed is the completed Q of a tried Move, White's view.
func (c completion) completed(child *node) float64 {
	if child.visits == 0 {
		return c.mixed
	}
	return child.q
}

// sigma is σ(q), equation 8, for the mover, of a Q in White's view.
func (c completion) sigma(q float64) float64 { return c.scale * q }

// selectGumbel is the place of the edge that a simulation takes at a node below the root: the viable, unproven Move with
// the greatest π′(a) − N(a) / (1 + ΣN), equation 14, where π′ = softmax(logits + σ(completed Q)), equation 11. With
// priors for logits, π′(a) is P(a)·exp σ(q(a)) over its sum, and all Moves without visits share one exponential. N and ΣN
// count what is awaited.
func (s *Searcher) selectGumbel(n *node) int {
	c := s.complete(n)
	tried := s.triedOf(n)
	open := int(n.tried) < int(n.count)
	top := math.Inf(-1)
	if open {
		top = c.sigma(c.mixed)
	}
	for _, e := range tried {
		if child := &s.nodes[e.child]; n.viable(child.outcome) {
			top = max(top, c.sigma(c.completed(child)))
		}
	}
	// First the sum, then the best.
	sum, next := 0.0, 0.0
	if open {
		exp := math.Exp(c.sigma(c.mixed) - top)
		next = float64(s.edgesOf(n)[n.tried].prior) * exp
		sum = max((1-c.prior)*exp, next)
	}
	for i, e := range tried {
		if child := &s.nodes[e.child]; n.viable(child.outcome) {
			s.weights[i] = float64(e.prior) * math.Exp(c.sigma(c.completed(child))-top)
			sum += s.weights[i]
		}
	}
	total := 1 + c.visits + float64(n.waiting)
	best, most := -1, math.Inf(-1)
	if open {
		best, most = int(n.tried), next/sum
	}
	for i, e := range tried {
		child := &s.nodes[e.child]
		if child.outcome != rules.Unfinished {
			continue
		}
		if w := s.weights[i]/sum - float64(child.visits+int32(child.waiting))/total; w > most {
			best, most = i, w
		}
	}
	return best
}

// A candidate is a legal Move at a Gumbel root.
type candidate struct {
	move    rules.Move
	carried int32   // visits before this search
	gumbel  float64 // g + logit
	key     float64 // what it is ordered by
}

func byKey(a, b candidate) int {
	if c := cmp.Compare(b.key, a.key); c != 0 {
		return c
	}
	return cmp.Compare(a.move, b.move)
}

// A halving is the schedule of sequential halving (Karnin et al., 2013): in each phase, a number of passes over the
// candidates that are left, equal shares of the simulations to every phase.
type halving struct {
	simulations int
	phases      int // ⌈log₂ m⌉, at least 1
	width       int // candidates in this phase
}

func newHalving(simulations, considered int) halving {
	return halving{simulations, max(1, bits.Len(uint(considered-1))), considered}
}

// passes is how often this phase visits each candidate.
func (h halving) passes() int { return max(1, h.simulations/(h.phases*h.width)) }

// next is the phase after h. The last two candidates share what rounding left over.
func (h halving) next() halving {
	h.width = min(h.width, max(2, h.width/2))
	return h
}

// drawCandidates orders the legal Moves at the root by g + logit: its first m are a draw of m without replacement from
// the priors (Gumbel-top-m), or without noise the m likeliest. Noise is drawn for Moves in ascending order.
func (s *Searcher) drawCandidates(noise bool, rng *rand.Rand) {
	root := &s.nodes[0]
	s.candidates = s.candidates[:0]
	for _, e := range s.edgesOf(root) {
		c := candidate{move: e.move, gumbel: math.Log(float64(e.prior))}
		if e.child != none {
			c.carried = s.nodes[e.child].visits
		}
		s.candidates = append(s.candidates, c)
	}
	if noise {
		slices.SortFunc(s.candidates, func(a, b candidate) int { return cmp.Compare(a.move, b.move) })
		for i := range s.candidates {
			s.candidates[i].gumbel -= math.Log(rng.ExpFloat64())
		}
	}
	for i := range s.candidates {
		s.candidates[i].key = s.candidates[i].gumbel
	}
	slices.SortFunc(s.candidates, byKey)
}

// searchGumbel spends up to n simulations at the root by sequential halving.
func (s *Searcher) searchGumbel(ctx context.Context, n int) (used int, err error) {
	// The first open candidates are unproven. Those that a phase has dropped come next, best first, then those never
	// visited: they fill the places of candidates that are proven.
	open := len(s.candidates)
	k := 0
	// settle judges the leaves. Candidates in [low, high) that are proven now, or were from the start, are open no more.
	settle := func(low, high int) error {
		failed, err := s.judge(ctx)
		used -= failed
		for i := low; i < min(high, open); {
			c := s.candidates[i]
			if _, child := s.rootChild(c.move); child == nil || child.outcome == rules.Unfinished {
				i++
				continue
			}
			copy(s.candidates[i:], s.candidates[i+1:])
			s.candidates[len(s.candidates)-1] = c
			open--
			high--
			if i < k {
				k--
			}
		}
		return err
	}
	if err := settle(0, open); err != nil || n == 0 || open == 0 {
		return 0, err
	}
	for h := newHalving(n, min(s.params.Considered, n, open)); ; h = h.next() {
		low, high := open, 0 // the candidates that leaves lie under
		for range h.passes() {
			for k = 0; k < min(h.width, open); {
				if used == n || s.done(ctx) {
					err := settle(0, 0)
					return used, err
				}
				i, _ := s.rootChild(s.candidates[k].move)
				if s.simulate(i) {
					used++
					low, high = min(low, k), max(high, k+1)
					k++
					if len(s.leaves) < s.params.Batch {
						continue
					}
				}
				if err := settle(low, high); err != nil {
					return used, err
				}
				low, high = open, 0
			}
		}
		if err := settle(low, high); err != nil {
			return used, err
		}
		if open == 0 {
			return used, nil
		}
		width := min(h.width, open)
		s.score(s.candidates[:width])
		slices.SortFunc(s.candidates[:width], byKey)
	}
}

// score sets the keys of candidates to g + logit + σ(completed Q).
func (s *Searcher) score(candidates []candidate) {
	c := s.complete(&s.nodes[0])
	for i := range candidates {
		q := c.mixed
		if _, child := s.rootChild(candidates[i].move); child != nil {
			q = child.q
		}
		candidates[i].key = candidates[i].gumbel + c.sigma(q)
	}
}

// rootChild is the place of m among the root's edges and its child, nil if it has none.
func (s *Searcher) rootChild(m rules.Move) (int, *node) {
	root := &s.nodes[0]
	i := s.find(root, m)
	if c := s.edgesOf(root)[i].child; c != none {
		return i, &s.nodes[c]
	}
	return i, nil
}

// chooseGumbel is the Move with the greatest g + logit + σ(completed Q) among those that this search visited most and
// those that are proven drawn. The root is not proven.
func (s *Searcher) chooseGumbel() rules.Move {
	s.score(s.candidates)
	slices.SortFunc(s.candidates, byKey)
	var most int32
	for _, c := range s.candidates {
		if _, child := s.rootChild(c.move); child != nil && child.outcome == rules.Unfinished {
			most = max(most, child.visits-c.carried)
		}
	}
	i := slices.IndexFunc(s.candidates, func(c candidate) bool {
		_, child := s.rootChild(c.move)
		if child == nil {
			return most == 0
		}
		return child.outcome == rules.Draw || child.outcome == rules.Unfinished && child.visits-c.carried == most
	})
	return s.candidates[i].move
}

// improve sets the Policy of the root's edges to the improved policy π′ and returns its value, Σ π′·completed Q, in
// White's view.
func (s *Searcher) improve(edges []RootEdge) float64 {
	root := &s.nodes[0]
	c := s.complete(root)
	top := math.Inf(-1)
	for _, e := range edges {
		if root.viable(e.Proven) {
			top = max(top, c.sigma(float64(e.Value)))
		}
	}
	sum, value := 0.0, 0.0
	for i, e := range edges {
		s.weights[i] = 0
		if root.viable(e.Proven) {
			s.weights[i] = float64(e.Prior) * math.Exp(c.sigma(float64(e.Value))-top)
			sum += s.weights[i]
			value += s.weights[i] * float64(e.Value)
		}
	}
	for i := range edges {
		edges[i].Policy = float32(s.weights[i] / sum)
	}
	return value / sum
}
