package selfplay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"yinshzero/data"
	"yinshzero/internal/seed"
	"yinshzero/mcts"
	"yinshzero/rules"
)

// A Sink takes finished games. Put returns when the game is safe with the receiver, or with an error that says that it
// is not; it may block while the receiver is busy.
type Sink interface {
	Put(ctx context.Context, r *data.Record) error
}

// Params say how games are played.
type Params struct {
	Simulations      int     // of a full search, at least 2
	FastSimulations  int     // of a fast search, at least 2
	FullShare        float64 // share of the searched plies with a full search, in (0, 1] (Wu, 2019, section 3.1)
	TemperaturePlies int     // plies of a game whose Moves are drawn from the improved policy
	Temperature      float64 // exponent 1/Temperature of that draw; 0 plays the search's choice
	RandomOpenings   float64 // share of games whose rings are placed at random, in [0, 1]
}

// DefaultParams are the numbers of the standard run at its beginning.
func DefaultParams() Params {
	return Params{
		Simulations: 16, FastSimulations: 8, FullShare: 0.25, TemperaturePlies: 30, Temperature: 1, RandomOpenings: 0.1,
	}
}

// Validate returns every number of p that is out of range.
func (p Params) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(p.Simulations >= 2, "simulations is %d: want at least 2", p.Simulations)
	check(p.FastSimulations >= 2, "fast simulations is %d: want at least 2", p.FastSimulations)
	check(p.FullShare > 0 && p.FullShare <= 1, "full share is %v: want more than 0, at most 1", p.FullShare)
	check(p.TemperaturePlies >= 0, "temperature plies is %d: want at least 0", p.TemperaturePlies)
	check(p.Temperature >= 0 && p.Temperature <= 100, "temperature is %v: want 0 to 100", p.Temperature)
	check(p.RandomOpenings >= 0 && p.RandomOpenings <= 1, "random openings is %v: want 0 to 1", p.RandomOpenings)
	return errors.Join(errs...)
}

// A Player plays both sides of one game at a time. It belongs to one goroutine.
type Player struct {
	search *mcts.Searcher
	params Params
	legal  []rules.Move
	weight []float64
}

// New is a Player that searches with s. It returns an error if p is out of range.
func New(s *mcts.Searcher, p Params) (*Player, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("self-play: %w", err)
	}
	return &Player{search: s, params: p, legal: make([]rules.Move, 0, rules.MaxMoves)}, nil
}

// Game plays the game of v with the given number, from the empty board. The caller fills in who played: the models, the
// build and the worker. It returns an error, and no game, if the evaluator fails or ctx ends first.
func (p *Player) Game(ctx context.Context, v rules.Variant, number uint64) (*data.Record, error) {
	rng := seed.New(number).Child("game", 0).Rand()
	rec := &data.Record{Variant: v, Seed: number, Plies: make([]data.Ply, 0, 128)}
	pos := rules.New(v)
	p.search.Reset()
	random := rng.Float64() < p.params.RandomOpenings
	for {
		if res, over := pos.Result(); over {
			rec.Result, rec.Final = res, pos.Hash()
			return rec, nil
		}
		ply, err := p.ply(ctx, &pos, len(rec.Plies), random && pos.Phase() == rules.PhasePlaceRing, rng)
		if err != nil {
			return nil, fmt.Errorf("self-play ply %d: %w", len(rec.Plies), err)
		}
		rec.Plies = append(rec.Plies, ply)
		pos.Play(ply.Move)
		p.search.Advance(ply.Move)
	}
}

// ply decides one Move.
func (p *Player) ply(ctx context.Context, pos *rules.Position, n int, random bool, rng *rand.Rand) (data.Ply, error) {
	p.legal = pos.AppendMoves(p.legal[:0])
	switch {
	case len(p.legal) == 1:
		return data.Ply{Move: p.legal[0], Kind: data.Forced}, nil
	case random:
		return data.Ply{Move: p.legal[rng.IntN(len(p.legal))], Kind: data.Opening}, nil
	}
	kind, budget := data.Fast, mcts.Budget{Simulations: p.params.FastSimulations}
	if rng.Float64() < p.params.FullShare {
		kind, budget = data.Full, mcts.Budget{Simulations: p.params.Simulations, Noise: true}
	}
	root, err := p.search.Search(ctx, *pos, budget, rng)
	if err != nil {
		return data.Ply{}, err
	}
	if err := ctx.Err(); err != nil { // a search that was cut short is no target
		return data.Ply{}, err
	}
	ply := data.Ply{Move: root.Best, Kind: kind, Value: root.Value}
	if kind == data.Full {
		ply.Policy = target(root.Edges)
	}
	if n < p.params.TemperaturePlies && p.params.Temperature > 0 && !root.Proven {
		ply.Move = p.draw(root.Edges, rng)
	}
	return ply, nil
}

// target is the improved policy in 65,535ths, Moves of less than one left out.
func target(edges []mcts.RootEdge) []data.Visit {
	n := 0
	for _, e := range edges {
		if e.Policy*math.MaxUint16 >= 1 {
			n++
		}
	}
	visits := make([]data.Visit, 0, n)
	for _, e := range edges {
		if w := e.Policy * math.MaxUint16; w >= 1 {
			visits = append(visits, data.Visit{Move: e.Move, Weight: uint16(min(w, math.MaxUint16))})
		}
	}
	return visits
}

// draw takes a Move with probability proportional to its improved policy to the power 1/Temperature, among those that
// are not proven lost for the side to move.
func (p *Player) draw(edges []mcts.RootEdge, rng *rand.Rand) rules.Move {
	top := edges[0] // scaled to 1, so that no temperature is too small for it
	for _, e := range edges {
		if e.Policy > top.Policy {
			top = e
		}
	}
	p.weight = p.weight[:0]
	total := 0.0
	for _, e := range edges {
		total += math.Pow(float64(e.Policy/top.Policy), 1/p.params.Temperature)
		p.weight = append(p.weight, total)
	}
	x := rng.Float64() * total
	for i, w := range p.weight {
		if x < w {
			return edges[i].Move
		}
	}
	return top.Move
}
