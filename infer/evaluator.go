package infer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"yinshzero/internal/crash"
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
	// AverageRoot answers a query with Root set by the mean over all twelve symmetries.
	AverageRoot bool
	// Cores is how many queries of a batch are answered at the same time, up to 256; 0 is 1.
	Cores int
	// Int8 lets Compile make a Program that convolves 8-bit integers.
	Int8 bool
	// Seed decides which symmetry a Position is shown under.
	Seed uint64
}

// maxCache bounds Params.CacheSize: about 11 GB.
const maxCache = 1 << 24

// DefaultParams are those of self-play.
func DefaultParams() Params { return Params{CacheSize: 20000, Symmetry: true, Int8: true} }

const maxCores = 256

// Validate returns an error unless p is in range.
func (p Params) Validate() error {
	if p.Cores < 0 || p.Cores > maxCores {
		return fmt.Errorf("evaluation on %d cores: want 0 to %d", p.Cores, maxCores)
	}
	if p.CacheSize < 0 || p.CacheSize > maxCache {
		return fmt.Errorf("cache size is %d positions: want 0 to %d", p.CacheSize, maxCache)
	}
	return nil
}

// An Evaluator is an mcts.Evaluator that asks a network. It belongs to one goroutine; others may read Counts only. With
// several Cores, Evaluate runs goroutines of its own, and none when it has returned.
type Evaluator struct {
	params Params
	cache  []entry // direct-mapped by the Position's hash
	asked  []*mcts.Query
	seats  []seat

	evaluations, hits atomic.Int64
}

// A seat is what one goroutine needs to ask the network.
type seat struct {
	network Network
	planes  []float32
	moves   []rules.Move // the legal Moves under the symmetry
	out     net.Output
	sum     []float32 // of the priors over the symmetries
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
	first, more := true, Compiled(program)
	return Over(func() Network {
		if first {
			first = false
			return compiled{program}
		}
		return more()
	}, p)
}

// Over returns an Evaluator over the Networks that network makes, one for each of p.Cores, all of which must answer alike.
// p must be valid.
func Over(network func() Network, p Params) *Evaluator {
	e := &Evaluator{params: p, cache: make([]entry, p.CacheSize), seats: make([]seat, max(1, p.Cores))}
	for i := range e.seats {
		e.seats[i] = seat{
			network: network(),
			planes:  make([]float32, 0, net.PlaneLen),
			moves:   make([]rules.Move, 0, rules.MaxMoves),
			out:     net.Output{Logits: make([]float32, rules.MaxMoves)},
			sum:     make([]float32, rules.MaxMoves),
		}
	}
	return e
}

// Evaluate fills Prior and Value of every query; on one core it allocates nothing. Prior is the softmax of the network's
// logits over the legal Moves, Value the probability that White wins less that of Black. It fails if ctx is done, if the
// Network fails, or if its answer is not finite: then the weights are of no use.
func (e *Evaluator) Evaluate(ctx context.Context, batch []*mcts.Query) error {
	e.asked = e.asked[:0]
	for _, q := range batch {
		if !e.recall(q) {
			e.asked = append(e.asked, q)
		}
	}
	var err error
	if n := min(len(e.seats), len(e.asked)); n > 1 {
		err = e.share(ctx, e.seats[:n])
	} else {
		for _, q := range e.asked {
			if err = e.evaluate(ctx, &e.seats[0], q); err != nil {
				break
			}
		}
	}
	if err != nil {
		return err
	}
	for _, q := range e.asked {
		e.remember(q)
	}
	return nil
}

// share answers e.asked in several goroutines and returns their errors. A panic in one of them is a *crash.Error.
func (e *Evaluator) share(ctx context.Context, seats []seat) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, len(seats))
	for i := range seats {
		wg.Go(func() {
			for errs[i] == nil {
				k := int(next.Add(1)) - 1
				if k >= len(e.asked) {
					return
				}
				errs[i] = crash.Catch(func() error { return e.evaluate(ctx, &seats[i], e.asked[k]) })
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// whole reports whether the answer to q is to be the mean over the symmetries. The cache has nothing to do with those.
func (e *Evaluator) whole(q *mcts.Query) bool { return q.Root && e.params.AverageRoot }

// slot is the place of q in the cache, nil if it has none.
func (e *Evaluator) slot(q *mcts.Query) *entry {
	if len(e.cache) == 0 || e.whole(q) {
		return nil
	}
	return &e.cache[q.Pos.Hash()%uint64(len(e.cache))]
}

// recall answers q from the cache, if it can.
func (e *Evaluator) recall(q *mcts.Query) bool {
	s := e.slot(q)
	if s == nil || int(s.n) != len(q.Legal) || s.pos != q.Pos {
		return false
	}
	e.hits.Add(1)
	copy(q.Prior, s.prior[:s.n])
	q.Value = s.value
	return true
}

// remember keeps the answer to q.
func (e *Evaluator) remember(q *mcts.Query) {
	if s := e.slot(q); s != nil {
		s.pos, s.value, s.n = q.Pos, q.Value, int32(len(q.Legal))
		copy(s.prior[:], q.Prior)
	}
}

// evaluate answers q with the network.
func (e *Evaluator) evaluate(ctx context.Context, s *seat, q *mcts.Query) error {
	var symmetry rules.Symmetry
	switch {
	case e.whole(q):
		return e.average(ctx, s, q)
	case e.params.Symmetry:
		symmetry = rules.Symmetry(mix(q.Pos.Hash()^e.params.Seed) % rules.NumSymmetries)
	}
	return e.ask(ctx, s, q, symmetry)
}

// average answers q with the mean of the network's answers under all symmetries.
func (e *Evaluator) average(ctx context.Context, s *seat, q *mcts.Query) error {
	sum, value := s.sum[:len(q.Prior)], float32(0)
	clear(sum)
	for symmetry := range rules.Symmetry(rules.NumSymmetries) {
		if err := e.ask(ctx, s, q, symmetry); err != nil {
			return err
		}
		for i, p := range q.Prior {
			sum[i] += p
		}
		value += q.Value
	}
	for i := range sum {
		q.Prior[i] = sum[i] / rules.NumSymmetries
	}
	q.Value = value / rules.NumSymmetries
	return nil
}

// ask answers q with what the network says about its Position under a symmetry.
func (e *Evaluator) ask(ctx context.Context, s *seat, q *mcts.Query, symmetry rules.Symmetry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	pos, legal := q.Pos, q.Legal
	if symmetry != 0 {
		pos = symmetry.Position(pos)
		s.moves = s.moves[:0]
		for _, m := range legal {
			s.moves = append(s.moves, symmetry.Move(m, pos.RowLength()))
		}
		legal = s.moves
	}
	e.evaluations.Add(1)
	s.planes = net.AppendPlanes(s.planes[:0], &pos)
	if err := s.network.Forward(s.planes, legal, &s.out); err != nil {
		return fmt.Errorf("evaluate %v: %w", &q.Pos, err)
	}

	copy(q.Prior, s.out.Logits[:len(legal)])
	wdl := s.out.WDL
	if !Softmax(q.Prior) || !Softmax(wdl[:]) {
		return fmt.Errorf("evaluate %v: the network's answer is not finite: train with a smaller learning rate, or use older weights", &q.Pos)
	}
	q.Value = wdl[0] - wdl[2]
	if pos.ToMove() == rules.Black {
		q.Value = -q.Value
	}
	return nil
}

// Counts returns how many queries e has answered with the network, and how many from the cache. Any goroutine may call it.
func (e *Evaluator) Counts() (evaluations, hits int64) { return e.evaluations.Load(), e.hits.Load() }

// Softmax replaces logits by probabilities, in place, and reports whether they are finite; if not, x holds nothing of use. Any
// goroutine may call it.
func Softmax(x []float32) bool {
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
	if math.IsNaN(sum) { // an infinite top makes it so, too
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
