package infer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"yinshzero/mcts"
	"yinshzero/net"
	"yinshzero/rules"
)

// Params is what may be tuned.
type Params struct {
	// CacheSize is the number of Positions to remember, 0 for none. One takes about 650 bytes.
	CacheSize int
	// Symmetry shows the network each Position under one of the twelve symmetries, drawn from the Position and Seed. A
	// search then averages over the network's asymmetries.
	Symmetry bool
	// Seed decides which symmetry a Position is shown under.
	Seed uint64
}

// maxCache bounds Params.CacheSize: about 11 GB.
const maxCache = 1 << 24

// DefaultParams are those of self-play.
func DefaultParams() Params { return Params{CacheSize: 20000, Symmetry: true} }

// Validate returns an error unless p is in range.
func (p Params) Validate() error {
	if p.CacheSize < 0 || p.CacheSize > maxCache {
		return fmt.Errorf("cache size is %d positions: want 0 to %d", p.CacheSize, maxCache)
	}
	return nil
}

// An Evaluator is an mcts.Evaluator that asks a network. It belongs to one goroutine; others may read Counts only.
type Evaluator struct {
	program *net.Program
	params  Params
	cache   []entry // direct-mapped by the Position's hash
	planes  []float32
	moves   []rules.Move // the legal Moves under the symmetry
	out     net.Output

	evaluations, hits atomic.Int64
}

// An entry is what the cache holds about a Position.
type entry struct {
	pos   rules.Position
	value float32
	n     int32                   // legal Moves, 0 in an empty entry
	prior [rules.MaxMoves]float32 // of the n legal Moves, ascending
}

// New returns an Evaluator over program, which from then on belongs to the Evaluator. p must be valid.
func New(program *net.Program, p Params) *Evaluator {
	return &Evaluator{
		program: program,
		params:  p,
		cache:   make([]entry, p.CacheSize),
		planes:  make([]float32, 0, net.PlaneLen),
		moves:   make([]rules.Move, 0, rules.MaxMoves),
		out:     net.Output{Logits: make([]float32, rules.MaxMoves)},
	}
}

// Evaluate fills Prior and Value of every query; it allocates nothing. Prior is the softmax of the network's logits over
// the legal Moves, Value the probability that White wins less that of Black. It fails if ctx is done, or if the network's
// answer is not finite: then the weights are of no use.
func (e *Evaluator) Evaluate(ctx context.Context, batch []*mcts.Query) error {
	for _, q := range batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.evaluate(q); err != nil {
			return fmt.Errorf("evaluate %v: %w", &q.Pos, err)
		}
	}
	return nil
}

func (e *Evaluator) evaluate(q *mcts.Query) error {
	hash := q.Pos.Hash()
	var slot *entry
	if len(e.cache) > 0 {
		slot = &e.cache[hash%uint64(len(e.cache))]
		if int(slot.n) == len(q.Legal) && slot.pos == q.Pos {
			e.hits.Add(1)
			copy(q.Prior, slot.prior[:slot.n])
			q.Value = slot.value
			return nil
		}
	}
	pos, legal := q.Pos, q.Legal
	if e.params.Symmetry {
		s := rules.Symmetry(mix(hash^e.params.Seed) % rules.NumSymmetries)
		pos = s.Position(pos)
		e.moves = e.moves[:0]
		for _, m := range legal {
			e.moves = append(e.moves, s.Move(m, pos.RowLength()))
		}
		legal = e.moves
	}
	e.evaluations.Add(1)
	e.planes = net.AppendPlanes(e.planes[:0], &pos)
	e.program.Forward(e.planes, legal, &e.out)

	copy(q.Prior, e.out.Logits[:len(legal)])
	wdl := e.out.WDL
	if !softmax(q.Prior) || !softmax(wdl[:]) {
		return errors.New("the network's answer is not finite: train with a smaller learning rate, or use older weights")
	}
	q.Value = wdl[0] - wdl[2]
	if pos.ToMove() == rules.Black {
		q.Value = -q.Value
	}
	if slot != nil {
		slot.pos, slot.value, slot.n = q.Pos, q.Value, int32(len(legal))
		copy(slot.prior[:], q.Prior)
	}
	return nil
}

// Counts returns how many queries e has answered with the network, and how many from the cache. Any goroutine may call it.
func (e *Evaluator) Counts() (evaluations, hits int64) { return e.evaluations.Load(), e.hits.Load() }

// softmax replaces logits by probabilities and reports whether they are finite.
func softmax(x []float32) bool {
	top := float32(math.Inf(-1))
	for _, v := range x {
		top = max(top, v) // NaN wins
	}
	sum := 0.0
	for i, v := range x {
		p := math.Exp(float64(v - top))
		x[i] = float32(p)
		sum += p
	}
	if math.IsNaN(sum) || math.IsInf(float64(top), 0) {
		return false
	}
	for i := range x {
		x[i] = float32(float64(x[i]) / sum)
	}
	return true
}

// mix spreads the bits of a hash (the finalizer of splitmix64: Steele, Lea and Flood, 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
