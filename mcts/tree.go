package mcts

import (
	"context"
	"fmt"
	"math"

	"yinshzero/rules"
)

// none is the index of no node.
const none = int32(-1)

// minPrior is the least prior an edge has, so that no Move is beyond reach and every logit is finite.
const minPrior = 1e-9

// A node is a Position in the tree. Its edges are edges[first : first+count], and the tried ones among them come first:
// they, and only they, have children. The next one is always the best of the rest, so a selection looks no further.
//
// Laws: N = 1 + the sum of the children's N. A child comes after its parent in the arena, and so do its edges. With the
// solver, outcome is what best play from here leads to, as soon as that is proven. Between two Searches nothing waits.
type node struct {
	pos    rules.Position
	spread float64 // sum of squared differences between Q and the values that came up
	q      float64 // White's view; exact if the node is proven
	raw    float64 // White's view: the Evaluator's value, or the result where the game is over
	parent int32
	first  int32
	visits int32 // N, its own evaluation included; 0 while that is awaited
	plies  int32 // proven: Moves to the end of the game, if both sides play as the proof does
	count  int16 // 0 where the game is over
	tried  int16
	// waiting is the number of leaves at or below the node that are not judged yet, O of Liu et al., "Watch the
	// unobserved: a simple approach to parallelizing Monte Carlo tree search", 2020: a selection counts them as visits
	// that have yet to bring a value.
	waiting int16

	outcome rules.Outcome // Unfinished until proven
}

// An edge is a legal Move of a node.
type edge struct {
	move  rules.Move
	prior float32
	child int32
}

// sign is +1 if White moves at n and −1 if Black does: the one place that turns White's view into the mover's.
func (n *node) sign() float64 {
	if n.pos.ToMove() == rules.White {
		return 1
	}
	return -1
}

// viable reports whether a Move at n whose child has outcome o is still worth playing: none that is proven lost, unless
// all are, and once a winning one is proven only such.
func (n *node) viable(o rules.Outcome) bool {
	if n.outcome == rules.WhiteWins || n.outcome == rules.BlackWins {
		return o == n.outcome
	}
	return o != rules.Wins(n.pos.ToMove().Other())
}

// blockEdges is how many edges lie in one block of the arena. Blocks never move, so that a tree grows without a copy of
// it; a node's edges lie in one block, and what a block has no room for begins the next.
const blockEdges = 1 << 14

// An edges arena holds edges by index: block times blockEdges plus place.
type edges struct {
	blocks [][]edge
	end    int32 // index of the next edge
}

// nextEdges is where n edges go if end is where the last ones ended.
func nextEdges(end int32, n int) int32 {
	if int(end%blockEdges)+n > blockEdges {
		end += blockEdges - end%blockEdges
	}
	return end
}

// add makes room for n edges, n ≤ blockEdges, and returns the index of the first. What they hold is left from before.
func (a *edges) add(n int) int32 {
	first := nextEdges(a.end, n)
	a.end = first + int32(n)
	if n > 0 && int(first/blockEdges) == len(a.blocks) {
		a.blocks = append(a.blocks, make([]edge, blockEdges))
	}
	return first
}

// at is the n edges from index first on.
func (a *edges) at(first int32, n int) []edge {
	if n == 0 {
		return nil
	}
	return a.blocks[first/blockEdges][first%blockEdges:][:n]
}

// edgesOf is the edges of n, tried ones first.
func (s *Searcher) edgesOf(n *node) []edge { return s.edges.at(n.first, int(n.count)) }

// triedOf is the edges of n that have children.
func (s *Searcher) triedOf(n *node) []edge { return s.edges.at(n.first, int(n.tried)) }

// find is the place of m among the edges of n, or −1.
func (s *Searcher) find(n *node, m rules.Move) int {
	for i, e := range s.edgesOf(n) {
		if e.move == m {
			return i
		}
	}
	return -1
}

// A leaf is a node that waits to be judged and backed up. Those that wait are the last of the arena, in their order.
type leaf struct {
	query Query
	node  int32
	over  bool // by the rules: there is nothing to ask
}

// add appends a node for pos, a child of parent, to the arena and to the leaves, which must have room.
func (s *Searcher) add(pos rules.Position, parent int32) {
	s.leaves = s.leaves[:len(s.leaves)+1]
	l := &s.leaves[len(s.leaves)-1]
	n := node{pos: pos, parent: parent, first: s.edges.end}
	l.node = int32(len(s.nodes))
	if _, l.over = pos.Result(); !l.over {
		q := &l.query
		q.Pos, q.Root, q.Value = pos, parent == none, 0
		q.Legal = pos.AppendMoves(q.Legal[:0])
		q.Prior = q.Prior[:len(q.Legal)]
		clear(q.Prior)
		n.count = int16(len(q.Legal))
		n.first = s.edges.add(len(q.Legal))
		for i, e := 0, s.edgesOf(&n); i < len(e); i++ {
			e[i] = edge{q.Legal[i], 0, none}
		}
	}
	s.nodes = append(s.nodes, n)
	s.wait(l.node, 1)
}

// judge asks the Evaluator about the leaves and backs up what it says, in the order in which they were found. If it
// fails, the tree is as if they had never been found, and it returns how many they were.
func (s *Searcher) judge(ctx context.Context) (failed int, err error) {
	s.batch = s.batch[:0]
	for i := range s.leaves {
		if l := &s.leaves[i]; !l.over {
			s.batch = append(s.batch, &l.query)
		}
	}
	if len(s.batch) > 0 {
		if err = s.eval.Evaluate(ctx, s.batch); err != nil {
			err = fmt.Errorf("mcts: evaluate position %v: %w", &s.batch[0].Pos, err)
		}
		for i := 0; err == nil && i < len(s.batch); i++ {
			err = s.batch[i].check()
		}
		if err != nil {
			failed = len(s.leaves)
			s.drop()
			return failed, err
		}
	}
	for i := range s.leaves {
		l := &s.leaves[i]
		n := &s.nodes[l.node]
		if l.over {
			result, _ := n.pos.Result()
			n.raw = float64(result.Outcome.Value())
			if s.params.Solver {
				n.outcome = result.Outcome
			}
		} else {
			n.raw = float64(l.query.Value)
			for k, edges := 0, s.edgesOf(n); k < len(edges); k++ {
				edges[k].prior = max(l.query.Prior[k], minPrior)
			}
			s.bringNext(n)
		}
		n.q, n.visits = n.raw, 1
		s.wait(l.node, -1)
		s.backUp(l.node)
	}
	s.leaves = s.leaves[:0]
	return 0, nil
}

// rejudge asks the Evaluator about the root of a tree as such. If it returns an error, nothing has changed.
func (s *Searcher) rejudge(ctx context.Context) error {
	root := &s.nodes[0]
	if root.outcome != rules.Unfinished {
		return nil
	}
	q := &s.leaves[:1][0].query
	q.Pos, q.Root, q.Value = root.pos, true, 0
	q.Legal = root.pos.AppendMoves(q.Legal[:0])
	q.Prior = q.Prior[:len(q.Legal)]
	clear(q.Prior)
	s.batch = append(s.batch[:0], q)
	if err := s.eval.Evaluate(ctx, s.batch); err != nil {
		return fmt.Errorf("mcts: evaluate position %v: %w", &q.Pos, err)
	}
	if err := q.check(); err != nil {
		return err
	}
	root.raw = float64(q.Value)
	for i, m := range q.Legal {
		s.edgesOf(root)[s.find(root, m)].prior = max(q.Prior[i], minPrior)
	}
	s.bringNext(root)
	s.update(root)
	s.asRoot = true
	return nil
}

// drop takes the leaves out of the tree.
func (s *Searcher) drop() {
	for i := len(s.leaves) - 1; i >= 0; i-- {
		n := &s.nodes[s.leaves[i].node]
		if n.parent != none {
			s.wait(n.parent, -1)
			p := &s.nodes[n.parent]
			p.tried--
			s.edgesOf(p)[p.tried].child = none // the latest child is the last one tried
			s.bringNext(p)
		}
		s.edges.end = n.first
		s.nodes = s.nodes[:len(s.nodes)-1]
	}
	s.leaves = s.leaves[:0]
}

// wait adds d to what the node at i and all above it wait for.
func (s *Searcher) wait(i int32, d int16) {
	for ; i != none; i = s.nodes[i].parent {
		s.nodes[i].waiting += d
	}
}

// check returns an error that names the first answer that is out of range.
func (q *Query) check() error {
	if !(q.Value >= -1 && q.Value <= 1) {
		return fmt.Errorf("mcts: evaluator's value of position %v is %v: want −1 to 1", &q.Pos, q.Value)
	}
	sum := 0.0
	for i, p := range q.Prior {
		if !(p >= 0 && p <= 1.001) {
			v := q.Pos.Variant()
			return fmt.Errorf("mcts: evaluator's prior of %s in position %v is %v: want 0 to 1",
				v.MoveText(q.Legal[i]), &q.Pos, p)
		}
		sum += float64(p)
	}
	if math.Abs(sum-1) > 0.001 {
		return fmt.Errorf("mcts: evaluator's %d priors of position %v add up to %v: want 1", len(q.Prior), &q.Pos, sum)
	}
	return nil
}

// bringNext moves the best edge without a child, by prior and then by the lower Move, to the front of such edges.
func (s *Searcher) bringNext(n *node) {
	rest := s.edgesOf(n)[n.tried:]
	best := 0
	for i := 1; i < len(rest); i++ {
		if e, b := &rest[i], &rest[best]; e.prior > b.prior || e.prior == b.prior && e.move < b.move {
			best = i
		}
	}
	if best > 0 {
		rest[0], rest[best] = rest[best], rest[0]
	}
}

// simulate descends from the root by the edge at place i, until it adds a leaf or arrives where the game is over, which
// it backs up at once. It returns false, having changed nothing, if it met a leaf that is not judged yet.
func (s *Searcher) simulate(i int) bool {
	at := int32(0)
	for {
		n := &s.nodes[at]
		e := s.edgesOf(n)[i]
		if e.child == none {
			child := int32(len(s.nodes))
			pos := n.pos
			pos.Play(e.move)
			s.add(pos, at)
			n = &s.nodes[at] // the arenas may have moved
			edges := s.edgesOf(n)
			edges[i].child = child
			edges[i], edges[n.tried] = edges[n.tried], edges[i]
			n.tried++
			s.bringNext(n)
			return true
		}
		at = e.child
		n = &s.nodes[at]
		switch {
		case n.visits == 0:
			return false
		case n.count == 0:
			n.visits++
			s.backUp(at)
			return true
		}
		i = s.selectEdge(n)
	}
}

// backUp tells every ancestor of the node at i of its value, which is White's: no sign changes on the way.
func (s *Searcher) backUp(i int32) {
	value := s.nodes[i].q
	for i = s.nodes[i].parent; i != none; i = s.nodes[i].parent {
		n := &s.nodes[i]
		n.visits++
		n.spread += (value - n.q) * (value - n.q)
		s.update(n)
		if n.outcome != rules.Unfinished {
			value = n.q
		}
	}
}

// update works out Q and what is proven from the children. Q is the mean of the Evaluator's value and of the children's
// Q by visits; Moves that are proven lost do not count, and who can have a draw has at least that.
func (s *Searcher) update(n *node) {
	won := rules.Wins(n.pos.ToMove())
	lost := rules.Wins(n.pos.ToMove().Other())
	sum, visits := n.raw, 1.0
	proven, shortest, longest, drawn := int16(0), int32(math.MaxInt32), int32(0), int32(-1) // drawn: the longest draw, if any
	for _, e := range s.triedOf(n) {
		c := &s.nodes[e.child]
		switch c.outcome {
		case won:
			shortest = min(shortest, c.plies)
			continue
		case lost:
			proven++
			longest = max(longest, c.plies)
			continue
		case rules.Draw:
			proven++
			drawn = max(drawn, c.plies)
		}
		sum += float64(c.visits) * c.q
		visits += float64(c.visits)
	}
	switch {
	case shortest != math.MaxInt32:
		n.outcome, n.plies = won, shortest+1
	case proven == n.count && drawn >= 0:
		n.outcome, n.plies = rules.Draw, drawn+1
	case proven == n.count:
		n.outcome, n.plies = lost, longest+1
	default:
		n.q = sum / visits
		if drawn >= 0 && n.sign()*n.q < 0 {
			n.q = 0
		}
		return
	}
	n.q = float64(n.outcome.Value())
}

// Advance makes the Position after m the root and keeps what the tree knows of it: the game has gone on. If the tree
// knows nothing of m, it is emptied.
func (s *Searcher) Advance(m rules.Move) {
	if len(s.nodes) == 0 {
		return
	}
	i := s.find(&s.nodes[0], m)
	if i < 0 || s.edgesOf(&s.nodes[0])[i].child == none {
		s.Reset()
		return
	}
	root := s.edgesOf(&s.nodes[0])[i].child
	s.asRoot = false
	// Children come after their parents, in both arenas: what is kept moves down, never over something yet to be moved.
	s.moved = s.moved[:0]
	kept := int32(0)
	s.edges.end = 0
	for i := range s.nodes {
		n := &s.nodes[i]
		switch {
		case int32(i) == root:
			n.parent = none
		case n.parent == none || s.moved[n.parent] == none:
			s.moved = append(s.moved, none)
			continue
		default:
			n.parent = s.moved[n.parent]
		}
		s.moved = append(s.moved, kept)
		old := s.edgesOf(n)
		n.first = s.edges.add(len(old))
		copy(s.edgesOf(n), old)
		s.nodes[kept] = *n
		kept++
	}
	s.nodes = s.nodes[:kept]
	for i := range s.nodes {
		for k, tried := 0, s.triedOf(&s.nodes[i]); k < len(tried); k++ {
			tried[k].child = s.moved[tried[k].child]
		}
	}
}

// Reset empties the tree and keeps its memory. A game whose searches shall not depend on what the Searcher did before
// begins with a Reset.
func (s *Searcher) Reset() { s.nodes, s.edges.end = s.nodes[:0], 0 }
