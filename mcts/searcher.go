package mcts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"yinshzero/rules"
)

// A Searcher searches one game at a time and belongs to one goroutine: no locks. Parallelism is many games. Its tree
// lies in two arenas that are reused from search to search.
type Searcher struct {
	eval       Evaluator
	params     Params
	nodes      []node // nodes[0] is the root, if there is a tree
	edges      edges
	asRoot     bool     // the Evaluator was asked about nodes[0] as Query.Root
	moved      []int32  // Advance: where each node has gone
	leaves     []leaf   // room for as many as are judged at a time
	batch      []*Query // those of the leaves that the Evaluator is to judge
	candidates []candidate
	weights    [rules.MaxMoves]float64
	root       []RootEdge
}

// New returns a Searcher that asks eval. p must be valid.
func New(eval Evaluator, p Params) *Searcher {
	s := &Searcher{
		eval: eval, params: p,
		candidates: make([]candidate, 0, rules.MaxMoves),
		root:       make([]RootEdge, 0, rules.MaxMoves),
		leaves:     make([]leaf, p.Batch),
		batch:      make([]*Query, 0, p.Batch),
	}
	for i := range s.leaves {
		q := &s.leaves[i].query
		q.Legal, q.Prior = make([]rules.Move, 0, rules.MaxMoves), make([]float32, 0, rules.MaxMoves)
	}
	s.leaves = s.leaves[:0]
	return s
}

// A Root is what a search has found. Values are in [−1, 1], White's view.
type Root struct {
	Best rules.Move // the Move to play
	// Value is exact if the root is proven. Else it is the value of the improved policy, Σ π′·completed Q, under Gumbel,
	// and the mean of the simulations under PUCT.
	Value       float32
	Raw         float32    // the Evaluator's value
	Simulations int        // of this search; less than the Budget if ctx ended, the root is proven or the tree full
	Proven      bool       // the result under best play is proven
	Edges       []RootEdge // the legal Moves, ascending; valid until the next Search
}

// A RootEdge is a legal Move at the root.
type RootEdge struct {
	Move   rules.Move
	Visits int32   // carried ones included
	Prior  float32 // the Evaluator's, at least 1e-9
	// Policy is what the search makes of the priors, and sums to 1: the improved policy π′ under Gumbel (the training
	// target), the shares of the visits under PUCT. Moves that are proven to be worse than others have 0.
	Policy float32
	Value  float32       // completed Q, White's view: v_mix for a Move without visits
	Proven rules.Outcome // the result under best play after the Move, Unfinished if not proven
	Plies  int32         // if proven, Moves to the end of the game, this one included
	// Error is the standard error of Value, from the spread of the values that came up; 0 for a Move without visits, or
	// proven.
	Error float32
}

// Search spends b on pos and returns what it has found. It goes on from the tree it has if that is of pos: the last
// Search was of pos, or Advance has led to it. Else the tree begins anew.
//
// A pos with one legal Move costs no simulation. A search ends early when ctx ends, when pos is proven, or when the tree
// is full; it then gives what it has, without an error: ask ctx whether it ended. An error means that pos is over, that b
// does not fit the Params, that the Evaluator failed, or that it was out of range; and, if ctx ended before pos itself
// was judged, ctx's. The tree remains sound after an error. rng is used for noise only, and may be nil without.
func (s *Searcher) Search(ctx context.Context, pos rules.Position, b Budget, rng *rand.Rand) (Root, error) {
	if _, over := pos.Result(); over {
		return Root{}, errors.New("mcts: search position: the game is over")
	}
	if b.Simulations < 0 {
		return Root{}, fmt.Errorf("mcts: search position: budget of %d simulations: want at least 0", b.Simulations)
	}
	if b.Noise && s.params.Root != Gumbel {
		return Root{}, fmt.Errorf("mcts: search position: noise with root policy %v: want gumbel", s.params.Root)
	}
	if len(s.nodes) == 0 || s.nodes[0].pos != pos {
		s.Reset()
		s.reserve(b.Simulations)
		s.add(pos, none)
		if _, err := s.judge(ctx); err != nil {
			return Root{}, err
		}
		s.asRoot = true
	} else {
		if s.params.FreshRoot && !s.asRoot {
			if err := s.rejudge(ctx); err != nil && ctx.Err() == nil {
				return Root{}, err
			}
		}
		s.reserve(b.Simulations)
	}
	n := b.Simulations
	if s.nodes[0].count == 1 {
		n = 0
	}
	var used int
	var err error
	if s.params.Root == Gumbel {
		s.drawCandidates(b.Noise, rng)
		used, err = s.searchGumbel(ctx, n)
	} else {
		used, err = s.searchPUCT(ctx, n)
	}
	if err != nil && ctx.Err() == nil {
		return Root{}, err
	}
	return s.result(used), nil
}

// reserve makes room for the nodes of a number of simulations. The system gives the memory when it is used.
func (s *Searcher) reserve(simulations int) {
	s.nodes = slices.Grow(s.nodes, min(simulations+1, max(1, s.params.MaxNodes-len(s.nodes))))
}

// maxVisits keeps N within an int32: the tree counts as full when its root has so many.
const maxVisits = 1 << 30

// done reports whether the search is to stop.
func (s *Searcher) done(ctx context.Context) bool {
	root := &s.nodes[0]
	return root.outcome != rules.Unfinished || root.visits >= maxVisits || len(s.nodes) >= s.params.MaxNodes || ctx.Err() != nil
}

// selectEdge is the place of the edge that a simulation takes at n, which is not proven and not over.
func (s *Searcher) selectEdge(n *node) int {
	if s.params.Root == Gumbel {
		return s.selectGumbel(n)
	}
	return s.selectPUCT(n)
}

// result describes the root.
func (s *Searcher) result(simulations int) Root {
	root := &s.nodes[0]
	mixed := s.complete(root).mixed
	s.root = s.root[:0]
	for _, e := range s.edgesOf(root) {
		r := RootEdge{Move: e.move, Prior: e.prior, Value: float32(mixed)}
		if e.child != none {
			child := &s.nodes[e.child]
			r.Visits, r.Value, r.Proven = child.visits, float32(child.q), child.outcome
			if child.outcome != rules.Unfinished {
				r.Plies = child.plies + 1
			} else {
				r.Error = float32(child.deviation())
			}
		}
		s.root = append(s.root, r)
	}
	slices.SortFunc(s.root, func(a, b RootEdge) int { return cmp.Compare(a.Move, b.Move) })
	value := root.q
	if s.params.Root == Gumbel {
		value = s.improve(s.root)
	} else {
		s.share(s.root)
	}
	return Root{
		Best: s.choose(), Value: float32(value), Raw: float32(root.raw),
		Simulations: simulations, Proven: root.outcome != rules.Unfinished, Edges: s.root,
	}
}

// choose is the Move to play.
func (s *Searcher) choose() rules.Move {
	switch root := &s.nodes[0]; {
	case root.outcome != rules.Unfinished:
		return s.proof(root).move
	case s.params.Root == Gumbel:
		return s.chooseGumbel()
	}
	return s.choosePUCT()
}

// proof is the edge by which best play goes on from a proven n: to the shortest win, or, if there is none, to the longest
// draw or the longest resistance; the lower Move of equals.
func (s *Searcher) proof(n *node) edge {
	won := n.outcome == rules.Wins(n.pos.ToMove())
	best := edge{child: none}
	var plies int32
	for _, e := range s.triedOf(n) {
		c := &s.nodes[e.child]
		if c.outcome != n.outcome {
			continue
		}
		order := cmp.Compare(c.plies, plies)
		if !won {
			order = -order
		}
		if best.child == none || order < 0 || order == 0 && e.move < best.move {
			best, plies = e, c.plies
		}
	}
	return best
}

// AppendLine appends the Moves that the tree expects after the given ones from its root: at each node the Move with the
// most visits, the lower Move of equals, as far as the tree reaches; from a proven node on best play to the end of the game.
// The line of each Move at the root is a principal variation; Root.Edges say how much each is worth.
func (s *Searcher) AppendLine(dst []rules.Move, after ...rules.Move) []rules.Move {
	if len(s.nodes) == 0 {
		return dst
	}
	n := &s.nodes[0]
	for _, m := range after {
		i := s.find(n, m)
		if i < 0 || s.edgesOf(n)[i].child == none {
			return dst
		}
		n = &s.nodes[s.edgesOf(n)[i].child]
	}
	for n.tried > 0 {
		best := edge{child: none}
		most := int32(0)
		if n.outcome != rules.Unfinished {
			best = s.proof(n)
		} else {
			for _, e := range s.triedOf(n) {
				c := &s.nodes[e.child]
				if n.viable(c.outcome) && (c.visits > most || c.visits == most && e.move < best.move) {
					best, most = e, c.visits
				}
			}
		}
		if best.child == none {
			return dst
		}
		dst = append(dst, best.move)
		n = &s.nodes[best.child]
	}
	return dst
}
