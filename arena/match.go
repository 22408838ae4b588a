package arena

import (
	"context"
	"fmt"
	"io"
	"iter"
	"sync"
	"sync/atomic"

	"yinshzero/internal/seed"
	"yinshzero/rules"
)

// A Match is a number of pairs between two players. What is played depends on Variant and Seed and on the players
// alone, not on Parallel nor on which goroutine plays which pair.
type Match struct {
	A, B     Maker
	Variant  rules.Variant
	Seed     uint64
	Pairs    int // the most that are played
	Parallel int // goroutines, each with its own two players; below 1 counts as 1
}

// NewPair is the opening of a match's pair and the seed of its games: all that a pair played elsewhere has to know.
func NewPair(v rules.Variant, match uint64, pair int) (Opening, seed.Seed) {
	s := seed.New(match).Child("pair", uint64(pair))
	return NewOpening(v, s.Child("opening", 0)), s.Child("games", 0)
}

// Play plays the match and yields its pairs in order. A loop that breaks, as a Gate with a Verdict does, ends the match.
// The first error ends it too and is yielded last; the context's end is one. When the loop is left, all goroutines of the
// match are gone and the players that are an io.Closer are closed.
func (m Match) Play(ctx context.Context) iter.Seq2[PairResult, error] {
	return func(yield func(PairResult, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()
		played := make(chan numbered)
		var next atomic.Int64
		for range min(max(m.Parallel, 1), m.Pairs) {
			wg.Go(func() { m.work(ctx, &next, played) })
		}
		early := map[int]numbered{} // pairs that came before their turn
		for i := range m.Pairs {
			r, ok := early[i]
			for !ok {
				select {
				case r = <-played:
				case <-ctx.Done():
					yield(PairResult{}, ctx.Err())
					return
				}
				if ok = r.pair == i; !ok {
					early[r.pair] = r
				}
			}
			delete(early, i)
			if r.err != nil {
				yield(PairResult{}, fmt.Errorf("play pair %d: %w", i, r.err))
				return
			}
			if !yield(r.result, nil) {
				return
			}
		}
	}
}

// A numbered is what came of one pair.
type numbered struct {
	pair   int
	result PairResult
	err    error
}

// work plays pairs until there are no more, one fails or the context ends.
func (m Match) work(ctx context.Context, next *atomic.Int64, played chan<- numbered) {
	a, b, err := m.makePlayers()
	defer func() { closePlayers(a, b) }()
	for {
		r := numbered{pair: int(next.Add(1)) - 1, err: err}
		if r.pair >= m.Pairs {
			return
		}
		if err == nil {
			o, s := NewPair(m.Variant, m.Seed, r.pair)
			r.result, r.err = PlayPair(ctx, a, b, m.Variant, s, o)
		}
		select {
		case played <- r:
		case <-ctx.Done():
			return
		}
		if r.err != nil {
			return
		}
	}
}

func (m Match) makePlayers() (a, b Player, err error) {
	if a, err = m.A(); err != nil {
		return nil, nil, fmt.Errorf("make player A: %w", err)
	}
	if b, err = m.B(); err != nil {
		return a, nil, fmt.Errorf("make player B: %w", err)
	}
	return a, b, nil
}

// closePlayers closes those that can be closed. By then their games are over, so what Close says changes no result.
func closePlayers(players ...Player) {
	for _, p := range players {
		if c, ok := p.(io.Closer); ok {
			_ = c.Close()
		}
	}
}
