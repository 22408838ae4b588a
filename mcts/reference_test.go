package mcts

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"yinshzero/rules"
)

// A plainNode is a node of the plain search: pointers, a map of children, all Moves looked at every time, sums over the
// backed-up values, and no solver. The search must agree with it to the last visit.
type plainNode struct {
	pos      rules.Position
	legal    []rules.Move
	prior    map[rules.Move]float64
	children map[rules.Move]*plainNode
	value    float64 // for White
	sum      float64 // of all values that came up, for White
	n        float64 // 0 as long as the node waits to be judged
	waiting  float64 // simulations through here that wait
}

// plain is the plain search.
type plain struct {
	eval  Evaluator
	p     Params
	paths [][]*plainNode // from the root to leaves that wait
}

func (s plain) expand(pos rules.Position) *plainNode {
	n := &plainNode{pos: pos, prior: map[rules.Move]float64{}, children: map[rules.Move]*plainNode{}}
	s.judge(n)
	return n
}

func (s plain) judge(n *plainNode) {
	n.n = 1
	pos := n.pos
	if res, over := pos.Result(); over {
		n.value = float64(res.Outcome.Value())
	} else {
		n.legal = pos.AppendMoves(nil)
		q := &Query{Pos: pos, Legal: n.legal, Prior: make([]float32, len(n.legal))}
		if err := s.eval.Evaluate(context.Background(), []*Query{q}); err != nil {
			panic(err)
		}
		for i, m := range n.legal {
			n.prior[m] = float64(q.Prior[i])
		}
		n.value = float64(q.Value)
	}
	n.sum = n.value
}

// visits is N(a), q is Q(a) for the player to move at n.
func (n *plainNode) visits(m rules.Move) float64 {
	if c := n.children[m]; c != nil {
		return c.n
	}
	return 0
}

// taken is N(a) and what waits below.
func (n *plainNode) taken(m rules.Move) float64 {
	if c := n.children[m]; c != nil {
		return c.n + c.waiting
	}
	return 0
}

func (n *plainNode) forMover(v float64) float64 {
	if n.pos.ToMove() == rules.Black {
		return -v
	}
	return v
}

func (n *plainNode) q(m rules.Move) float64 { return n.forMover(n.children[m].sum / n.children[m].n) }

// completed is the completed Q of every Move and max N, as appendix D of Danihelka et al. writes them.
func (n *plainNode) completed() (q map[rules.Move]float64, most float64) {
	var visits, prior, weighted float64
	for m, c := range n.children {
		if c.n == 0 {
			continue
		}
		visits += n.visits(m)
		most = max(most, n.visits(m))
		prior += n.prior[m]
		weighted += n.prior[m] * n.q(m)
	}
	mixed := n.forMover(n.value)
	if visits > 0 {
		mixed = 1 / (1 + visits) * (n.forMover(n.value) + visits/prior*weighted)
	}
	q = map[rules.Move]float64{}
	for _, m := range n.legal {
		if q[m] = mixed; n.visits(m) > 0 {
			q[m] = n.q(m)
		}
	}
	return q, most
}

// sigma is σ(completed Q) of every Move.
func (s plain) sigma(n *plainNode) map[rules.Move]float64 {
	q, most := n.completed()
	for m := range q {
		q[m] *= (s.p.CVisit + most) * s.p.CScale
	}
	return q
}

// improved is softmax(logits + σ(completed Q)).
func (s plain) improved(n *plainNode) map[rules.Move]float64 {
	sigma := s.sigma(n)
	out := map[rules.Move]float64{}
	top, sum := math.Inf(-1), 0.0
	for m := range sigma {
		top = max(top, math.Log(n.prior[m])+sigma[m])
	}
	for _, m := range n.legal {
		out[m] = math.Exp(math.Log(n.prior[m]) + sigma[m] - top)
		sum += out[m]
	}
	for m := range out {
		out[m] /= sum
	}
	return out
}

// pick is the Move that a simulation takes.
func (s plain) pick(n *plainNode) rules.Move {
	score := map[rules.Move]float64{}
	total, prior := 0.0, 0.0
	for m, c := range n.children {
		total += c.n + c.waiting
		prior += n.prior[m]
	}
	if s.p.Root == Gumbel {
		for m, p := range s.improved(n) {
			score[m] = p - n.taken(m)/(1+total)
		}
	} else {
		c := s.p.CPuct + math.Log((total+1+s.p.CPuctBase)/s.p.CPuctBase)
		for _, m := range n.legal {
			q := n.forMover(n.sum/n.n) - s.p.FPU*math.Sqrt(prior)
			if n.visits(m) > 0 {
				q = n.q(m)
			}
			score[m] = q + c*n.prior[m]*math.Sqrt(max(1, total))/(1+n.taken(m))
		}
	}
	return slices.MaxFunc(n.legal, func(a, b rules.Move) int { return cmp.Compare(score[a], score[b]) })
}

// visit is one simulation below root by m. It returns false if it ends at a leaf that waits already.
func (s *plain) visit(root *plainNode, m rules.Move) bool {
	path := []*plainNode{root}
	for {
		n := path[len(path)-1]
		c := n.children[m]
		if c == nil {
			c = &plainNode{pos: n.pos, prior: map[rules.Move]float64{}, children: map[rules.Move]*plainNode{}}
			c.pos.Play(m)
			n.children[m] = c
			path = append(path, c)
			for _, n := range path {
				n.waiting++
			}
			s.paths = append(s.paths, path)
			return true
		}
		path = append(path, c)
		switch {
		case c.n == 0:
			return false
		case len(c.legal) == 0:
			for _, n := range path {
				n.n++
				n.sum += c.value
			}
			return true
		}
		m = s.pick(c)
	}
}

// settle judges what waits.
func (s *plain) settle() {
	for _, path := range s.paths {
		leaf := path[len(path)-1]
		s.judge(leaf)
		for i, n := range path {
			n.waiting--
			if i < len(path)-1 {
				n.n++
				n.sum += leaf.value
			}
		}
	}
	s.paths = nil
}

// simulate is one simulation by the Move that pick returns, however often it takes for what waits to be judged.
func (s *plain) simulate(root *plainNode, pick func() rules.Move) {
	for !s.visit(root, pick()) {
		s.settle()
	}
	if len(s.paths) == s.p.Batch {
		s.settle()
	}
}

// search is n simulations at root, which may have children from an earlier search: what they cost then counts in no
// budget and in no choice. g is the noise for legal Moves ascending, 0 without.
func (s *plain) search(root *plainNode, n int, g []float64) (best rules.Move) {
	if s.p.Root == PUCT {
		for range n {
			s.simulate(root, func() rules.Move { return s.pick(root) })
		}
		s.settle()
		return 0
	}
	now := map[rules.Move]int{} // visits of this search
	score := map[rules.Move]float64{}
	for i, m := range root.legal {
		score[m] = g[i] + math.Log(root.prior[m])
	}
	rank := func(moves []rules.Move, sigma map[rules.Move]float64) []rules.Move {
		slices.SortFunc(moves, func(a, b rules.Move) int { return cmp.Compare(score[b]+sigma[b], score[a]+sigma[a]) })
		return moves
	}
	left := rank(slices.Clone(root.legal), nil)
	left = left[:min(s.p.Considered, n, len(left))]
	m := len(left)
	spent := 0
	for spent < n {
		for range max(1, n/(max(1, int(math.Ceil(math.Log2(float64(m)))))*len(left))) {
			for _, a := range left {
				if spent < n {
					s.simulate(root, func() rules.Move { return a })
					now[a]++
					spent++
				}
			}
		}
		s.settle()
		left = rank(left, s.sigma(root))
		if len(left) > 2 {
			left = left[:max(2, len(left)/2)]
		}
	}
	most := 0
	for _, a := range root.legal {
		most = max(most, now[a])
	}
	all := rank(slices.Clone(root.legal), s.sigma(root))
	return all[slices.IndexFunc(all, func(a rules.Move) bool { return now[a] == most })]
}

// The search agrees with the plain one, at budgets from 0 up.
func TestPlainSearch(t *testing.T) {
	forPolicies(t, func(t *testing.T, p Params) {
		p.Solver = false
		budgets := []int{0, 1, 2, 3, 5, 8, 16, 17, 64, 200}
		if testing.Short() {
			budgets = budgets[:8]
		}
		for seed := range uint64(12) {
			rng := newRand(seed)
			v := rules.Variants()[seed%3]
			pos := playRandom(rules.New(v), rng.IntN(2*int(v.Rings)+20), rng)
			if pos.Phase() == rules.PhaseOver || len(pos.AppendMoves(nil)) == 1 {
				continue
			}
			p.Considered = []int{1, 2, 5, 16, 130}[seed%5]
			p.CVisit, p.FPU = []float64{50, 3}[seed%2], []float64{0, 0.25}[seed%2]
			for _, n := range budgets {
				for _, noise := range []bool{false, true} {
					if noise && p.Root == PUCT {
						continue
					}
					r, err := New(arbitrary, p).Search(t.Context(), pos, Budget{n, noise}, newRand(seed))
					if err != nil {
						t.Fatal(err)
					}
					plain := plain{eval: arbitrary, p: p}
					root := plain.expand(pos)
					best := plain.search(root, n, noiseOf(len(root.legal), noise, newRand(seed)))
					checkRoot(t, r, pos)
					comparePlain(t, r, root, plain)
					if p.Root == Gumbel && n > 0 && r.Best != best {
						t.Errorf("best %v: want %v", r.Best, best)
					}
				}
			}
		}
	})
}

// A search that goes on from the tree of the one before agrees with the plain one that does, at root visits that are
// carried over in great and in small numbers.
func TestPlainSearchGoesOn(t *testing.T) {
	forPolicies(t, func(t *testing.T, p Params) {
		p.Solver = false
		carried, unlike := 0, 0 // searches from a tree; those whose choice is not the Move with the most visits in all
		for seed := range uint64(24) {
			rng := newRand(seed)
			v := rules.Variants()[seed%3]
			pos := playRandom(rules.New(v), rng.IntN(int(v.Rings)+20), rng)
			p.Considered = []int{2, 5, 16, 130}[seed%4]
			p.CVisit = []float64{50, 3, 0}[seed%3]
			s, plain := New(arbitrary, p), plain{eval: arbitrary, p: p}
			var root *plainNode
			for _, n := range []int{150, 6, 40, 3, 9} {
				if pos.Phase() == rules.PhaseOver || len(pos.AppendMoves(nil)) == 1 {
					break
				}
				if root == nil {
					root = plain.expand(pos)
				}
				before := len(root.children)
				noise := p.Root == Gumbel && seed%2 == 0
				r, err := s.Search(t.Context(), pos, Budget{n, noise}, newRand(seed))
				if err != nil {
					t.Fatal(err)
				}
				best := plain.search(root, n, noiseOf(len(root.legal), noise, newRand(seed)))
				checkRoot(t, r, pos)
				comparePlain(t, r, root, plain)
				if p.Root == Gumbel && r.Best != best {
					t.Errorf("seed %d: best %v of %d simulations: want %v", seed, r.Best, n, best)
				}
				if before > 1 {
					carried++
					for _, e := range r.Edges {
						if float64(e.Visits) > root.visits(r.Best) {
							unlike++
							break
						}
					}
				}
				pos.Play(r.Best)
				s.Advance(r.Best)
				root = root.children[r.Best]
			}
		}
		if carried < 30 || p.Root == Gumbel && unlike < 5 {
			t.Errorf("%d searches went on, %d of them against the carried visits: want more", carried, unlike)
		}
	})
}

// noiseOf is a standard Gumbel variable a Move, −ln E for E exponential.
func noiseOf(n int, noise bool, rng *rand.Rand) []float64 {
	g := make([]float64, n)
	for i := range g {
		if noise {
			g[i] = -math.Log(rng.ExpFloat64())
		}
	}
	return g
}

func comparePlain(t *testing.T, r Root, root *plainNode, s plain) {
	t.Helper()
	var policy map[rules.Move]float64
	if s.p.Root == Gumbel {
		policy = s.improved(root)
	}
	completed, _ := root.completed()
	value := 0.0
	for _, e := range r.Edges {
		if float64(e.Visits) != root.visits(e.Move) {
			t.Fatalf("%v has %d visits of %d: want %v", e.Move, e.Visits, r.Simulations, root.visits(e.Move))
		}
		if want := root.forMover(completed[e.Move]); math.Abs(float64(e.Value)-want) > 1e-5 {
			t.Errorf("%v has Q %v: want %v", e.Move, e.Value, want)
		}
		want := policy[e.Move]
		if policy == nil {
			want = root.visits(e.Move) / (root.n - 1)
			if root.n == 1 {
				want = root.prior[e.Move]
			}
		}
		if math.Abs(float64(e.Policy)-want) > 1e-5 {
			t.Errorf("%v has policy %v: want %v", e.Move, e.Policy, want)
		}
		value += want * root.forMover(completed[e.Move])
	}
	if s.p.Root == PUCT {
		value = root.sum / root.n
	}
	if math.Abs(float64(r.Value)-value) > 1e-5 {
		t.Errorf("value %v: want %v", r.Value, value)
	}
}
