package arena

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"yinshzero/rules"
)

// UCT is a search without a network: UCB1 in the tree (Kocsis and Szepesvári, 2006), random Moves to the end of the game
// below it. It shares no code with package mcts, so that it can serve as a yardstick for it. It keeps nothing between
// Moves but its memory.
type UCT struct {
	simulations int
	nodes       []uctNode // nodes[0] is the root; the children of a node lie side by side
	path        []uctStep
	moves       []rules.Move
}

// A uctNode counts what came of one Move. Points are those of the side that made the Move, 1 for a win and 1/2 for a
// draw: sides do not alternate, so each node keeps its own side's view.
type uctNode struct {
	points float32 // exact: halves up to 2²³
	visits int32
	first  int32 // the first child
	move   rules.Move
	count  uint8 // children, 0 before the node is expanded; at most rules.MaxMoves
	tried  uint8 // children visited at least once: the first ones
}

// A uctStep is a node on the way down and the side that moved into it.
type uctStep struct {
	node  int32
	mover rules.Color
}

// MaxSimulations is the most a UCT player may spend on a Move; memory is bounded by it, at about 2 KB a simulation.
const MaxSimulations = 100_000

// uctExploration is the factor of UCB1's exploration term, for points in [0, 1].
const uctExploration = 0.7

// uctPatience is how many simulations pass between looks at the context.
const uctPatience = 64

// NewUCT makes a UCT player that spends simulations, 1 to MaxSimulations, on each Move that is not forced.
func NewUCT(simulations int) (*UCT, error) {
	if simulations < 1 || simulations > MaxSimulations {
		return nil, fmt.Errorf("uct with %d simulations: want 1 to %d", simulations, MaxSimulations)
	}
	return &UCT{simulations: simulations}, nil
}

// Move implements Player. It returns the Move with the most visits; among several, the one with the most points. It
// allocates nothing once its memory has grown to the size of the search.
func (u *UCT) Move(ctx context.Context, pos rules.Position, rng *rand.Rand) (rules.Move, error) {
	u.nodes = append(u.nodes[:0], uctNode{})
	u.expand(0, &pos, rng)
	if u.nodes[0].count == 1 {
		return u.nodes[1].move, nil
	}
	for i := range u.simulations {
		if i%uctPatience == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		u.simulate(pos, rng)
	}
	best := &u.nodes[1]
	for i := range u.children(0) {
		if n := &u.children(0)[i]; n.visits > best.visits || n.visits == best.visits && n.points > best.points {
			best = n
		}
	}
	return best.move, nil
}

// simulate goes down the tree to a node not visited before, or to the end of the game, plays on at random and adds the
// result to every node on the way.
func (u *UCT) simulate(pos rules.Position, rng *rand.Rand) {
	u.path = append(u.path[:0], uctStep{})
	node := int32(0)
	res, over := pos.Result()
	for !over {
		if u.nodes[node].count == 0 {
			u.expand(node, &pos, rng)
		}
		node = u.choose(node)
		u.path = append(u.path, uctStep{node, pos.ToMove()})
		pos.Play(u.nodes[node].move)
		res, over = pos.Result()
		if u.nodes[node].visits == 0 {
			break
		}
	}
	for !over {
		u.moves = pos.AppendMoves(u.moves[:0])
		pos.Play(u.moves[rng.IntN(len(u.moves))])
		res, over = pos.Result()
	}
	for _, s := range u.path {
		n := &u.nodes[s.node]
		n.visits++
		switch res.Outcome {
		case rules.Wins(s.mover):
			n.points++
		case rules.Draw:
			n.points += 0.5
		}
	}
}

// expand gives a node its children, in random order.
func (u *UCT) expand(node int32, pos *rules.Position, rng *rand.Rand) {
	u.moves = pos.AppendMoves(u.moves[:0])
	for i := len(u.moves) - 1; i > 0; i-- {
		j := rng.IntN(i + 1)
		u.moves[i], u.moves[j] = u.moves[j], u.moves[i]
	}
	n := &u.nodes[node]
	n.first, n.count = int32(len(u.nodes)), uint8(len(u.moves))
	for _, m := range u.moves {
		u.nodes = append(u.nodes, uctNode{move: m})
	}
}

// choose is the child to visit next: one not visited before, else the largest upper confidence bound
// points/visits + c·√(ln N / visits).
func (u *UCT) choose(node int32) int32 {
	n := &u.nodes[node]
	if n.tried < n.count {
		n.tried++
		return n.first + int32(n.tried) - 1
	}
	logN := math.Log(float64(n.visits))
	best, top := 0, math.Inf(-1)
	for i, c := range u.children(node) {
		visits := float64(c.visits)
		if bound := float64(c.points)/visits + uctExploration*math.Sqrt(logN/visits); bound > top {
			best, top = i, bound
		}
	}
	return n.first + int32(best)
}

func (u *UCT) children(node int32) []uctNode {
	n := &u.nodes[node]
	return u.nodes[n.first : n.first+int32(n.count)]
}
