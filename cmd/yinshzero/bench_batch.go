package main

import (
	"math/rand/v2"

	"yinshzero/data"
	"yinshzero/net/graph"
	"yinshzero/rules"
	"yinshzero/train"
)

// randomBatch returns rows to learn from: the Positions of standard games of random Moves, with the targets that training
// gives them. What the games decided is true to them; the policies are drawn.
func randomBatch(rows int, rng *rand.Rand) (batch []graph.Example, err error) {
	for {
		for s, err := range randomRecord(rng).Samples() {
			if err != nil {
				return nil, err
			}
			var e graph.Example
			if err := (train.Params{}).Fill(&e, &s); err != nil {
				return nil, err
			}
			if batch = append(batch, e); len(batch) == rows {
				return batch, nil
			}
		}
	}
}

// randomRecord is a standard game of random Moves; of every search that there might have been, every legal Move has a share.
func randomRecord(rng *rand.Rand) *data.Record {
	game := rules.RandomGame(rules.Standard(), rules.Uniform, rng)
	r := &data.Record{Variant: game.Variant}
	pos := rules.New(game.Variant)
	for _, m := range game.Moves {
		ply := data.Ply{Move: m, Kind: data.Full}
		for _, legal := range pos.AppendMoves(nil) {
			ply.Policy = append(ply.Policy, data.Visit{Move: legal, Weight: uint16(1 + 1000*rng.ExpFloat64())})
		}
		r.Plies = append(r.Plies, ply)
		pos.Play(m)
	}
	r.Result, _ = pos.Result()
	r.Final = pos.Hash()
	return r
}
