package mcts

import "yinshzero/rules"

// Visits is how many simulations went through the Position that the Moves of a line lead to from the root, its own
// evaluation counted; 0 if the tree does not reach it.
func (s *Searcher) Visits(line ...rules.Move) int32 {
	if len(s.nodes) == 0 {
		return 0
	}
	n := &s.nodes[0]
	for _, m := range line {
		i := s.find(n, m)
		if i < 0 || s.edgesOf(n)[i].child == none {
			return 0
		}
		n = &s.nodes[s.edgesOf(n)[i].child]
	}
	return n.visits
}
