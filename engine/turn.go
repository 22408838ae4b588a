package engine

import (
	"context"
	"errors"
	"fmt"

	"yinshzero/internal/seed"
	"yinshzero/mcts"
	"yinshzero/rules"
)

// A Budget is what each Move of a turn may cost, and what of it is left to chance.
type Budget struct {
	Simulations int     // 0 to MaxSimulations; 0 leaves the choice to the network's policy
	Temperature float64 // as UGI's option: 0 plays the best Move; or 0.01 to 100
	Seed        uint64  // of that chance
	Ply         int     // of the Position in its game: every ply has a chance of its own
}

// Validate returns what is out of range, or nil.
func (b Budget) Validate() error {
	if b.Simulations < 0 || b.Simulations > MaxSimulations {
		return fmt.Errorf("engine: %d simulations: want 0 to %d", b.Simulations, MaxSimulations)
	}
	if err := checkTemperature(b.Temperature); err != nil {
		return fmt.Errorf("engine: temperature %v: %w", b.Temperature, err)
	}
	return nil
}

// single is p for searches that take one goroutine each, so that an answer depends on its question alone.
func (p Params) single() Params {
	p.Search.MaxNodes, p.Search.Batch, p.Search.FreshRoot = nodesIn(jsonHash), 1, false
	p.Infer.Cores, p.Infer.Seed = 1, p.Seed
	return p
}

// A Decision is the rest of a turn.
type Decision struct {
	Moves       []rules.Move
	Value       float32       // of the Position before them, in [−1, 1], White's view
	Proven      rules.Outcome // the result under best play, Unfinished if not proven
	Simulations int           // spent
	Cut         bool          // ctx ended before the budget was spent
}

// Decide decides what is left of the turn of the side to move in pos, which must not be over. Every Move has a tree of its
// own, and depends on the Position, the Budget and its ply alone: what is decided after the first Move of a turn is the rest
// of it. When ctx ends what has been found is played, so that there is a turn in any case. It returns an error if p or b is
// out of range, if the game is over, or if the model cannot be loaded or fails.
func Decide(ctx context.Context, pos rules.Position, b Budget, p Params) (Decision, error) {
	if err := p.Validate(); err != nil {
		return Decision{}, err
	}
	if err := b.Validate(); err != nil {
		return Decision{}, err
	}
	model, err := p.Load(p.Model, pos.Variant())
	if err != nil {
		return Decision{}, err
	}
	p.Seed = b.Seed
	p = p.single()
	searcher := mcts.New(&judge{Evaluator: model.evaluator(p.Infer)}, p.Search)
	var d Decision
	if _, over := pos.Result(); over {
		return d, errors.New("engine: decide: the game is over")
	}
	// A search of another Position begins another tree.
	for at, over := pos, false; !over && at.ToMove() == pos.ToMove(); _, over = at.Result() {
		s := search{searcher: searcher, pos: at, simulations: b.Simulations, batch: 1}
		root, n, err := s.run(ctx)
		if err != nil {
			return Decision{}, err
		}
		if len(d.Moves) == 0 {
			if d.Value = root.Value; root.Proven {
				d.Proven = provenBy(root.Value)
			}
		}
		d.Simulations += n
		d.Cut = d.Cut || n < b.Simulations && ctx.Err() != nil
		m := choose(&root, b.Temperature, seed.New(b.Seed).Child("ply", uint64(b.Ply+len(d.Moves))).Rand())
		d.Moves = append(d.Moves, m)
		at.Play(m)
	}
	return d, nil
}
