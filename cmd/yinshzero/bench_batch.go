package main

import (
	"math/rand/v2"

	"yinshzero/net"
	"yinshzero/net/graph"
	"yinshzero/rules"
)

// randomBatch returns rows to learn from: the Positions of standard games of random Moves, each with the targets of every
// head. What the games decided is true to them; the shares of the Moves are drawn.
func randomBatch(rows int, rng *rand.Rand) []graph.Example {
	batch := make([]graph.Example, 0, rows)
	for len(batch) < rows {
		game := rules.RandomGame(rules.Standard(), rules.Uniform, rng)
		positions := []rules.Position{rules.New(game.Variant)}
		for i, m := range game.Moves {
			next := positions[i]
			next.Play(m)
			positions = append(positions, next)
		}
		last := len(game.Moves)
		shares := make([][]float32, last)
		for i := range shares {
			shares[i] = randomShares(positions[i].NumMoves(), rng)
		}
		for i := range min(last, rows-len(batch)) {
			batch = append(batch, example(positions, shares, i))
		}
	}
	return batch
}

// example is the row of Position i of a game that the last of the Positions ended.
func example(positions []rules.Position, shares [][]float32, i int) graph.Example {
	pos, end := &positions[i], &positions[len(positions)-1]
	own := pos.ToMove()
	e := graph.Example{
		Planes: net.AppendPlanes(nil, pos),
		Legal:  pos.AppendMoves(nil), Policy: shares[i], PolicyWeight: 1,
		Rings:       min(max(end.Taken(own)-end.Taken(own.Other()), -net.NumRings/2), net.NumRings/2) + net.NumRings/2,
		ValueWeight: 1,
		Plies:       min((len(shares)-i)/net.PliesStep, net.NumPlies-1),
		EndWeight:   1,
	}
	result, _ := end.Result()
	value := result.Outcome.Value() // White's
	if own == rules.Black {
		value = -value
	}
	e.WDL[1-int(value)] = 1
	for j := i + 1; j < len(shares); j++ {
		if positions[j].ToMove() != own {
			e.ReplyLegal, e.Reply, e.ReplyWeight = positions[j].AppendMoves(nil), shares[j], 1
			break
		}
	}
	for cell := range e.Owners {
		e.Owners[cell] = 1
	}
	for class, c := range map[uint8]rules.Color{0: own, 2: own.Other()} {
		for _, pt := range end.AppendMarkers(nil, c) {
			e.Owners[pt.Grid()] = class
		}
	}
	return e
}

// randomShares returns n numbers above 0 that sum to 1.
func randomShares(n int, rng *rand.Rand) []float32 {
	shares, sum := make([]float32, n), 0.0
	for i := range shares {
		v := rng.ExpFloat64()
		shares[i] = float32(v)
		sum += v
	}
	for i := range shares {
		shares[i] /= float32(sum)
	}
	return shares
}
