package net

import (
	"context"
	"math/rand/v2"
	"time"

	"yinshzero/net/kernel"
	"yinshzero/rules"
)

// A Speed is how fast one goroutine evaluates Positions.
type Speed struct {
	Arch        Arch
	ISA         string  // the kernels: avx512, avx2 or generic
	Evaluations float64 // a second: encode and Forward
	Work        float64 // multiply-adds of the matrix products of one evaluation
	Rate        float64 // multiply-adds a second that the evaluations come to
	Peak        float64 // multiply-adds a second of the matrix product alone on data in the nearest cache
}

// BenchEval measures the Speed of random Weights of a, which must be valid, on Positions of random games for about d. It
// fails as Compile does, or when ctx ends.
func BenchEval(ctx context.Context, a Arch, d time.Duration) (Speed, error) {
	rng := rand.New(rand.NewPCG(1, 1))
	p, err := Init(a, rng).Compile()
	if err != nil {
		return Speed{}, err
	}
	var positions []rules.Position
	moves := make([]rules.Move, 0, rules.MaxMoves)
	for pos := rules.New(rules.Standard()); len(positions) < 64; {
		if _, over := pos.Result(); over {
			pos = rules.New(rules.Standard())
		}
		positions = append(positions, pos)
		moves = pos.AppendMoves(moves[:0])
		pos.Play(moves[rng.IntN(len(moves))])
	}
	s := Speed{Arch: a, ISA: p.ISA(), Work: p.work(), Peak: peak(p.set)}
	planes := make([]float32, 0, PlaneLen)
	out := Output{Logits: make([]float32, rules.MaxMoves)}
	n, start := 0, time.Now()
	for time.Since(start) < d || n == 0 {
		for i := range positions {
			moves = positions[i].AppendMoves(moves[:0])
			planes = AppendPlanes(planes[:0], &positions[i])
			p.Forward(planes, moves, &out)
		}
		n += len(positions)
		if err := ctx.Err(); err != nil {
			return Speed{}, err
		}
	}
	s.Evaluations = float64(n) / time.Since(start).Seconds()
	s.Rate = s.Evaluations * s.Work
	return s, nil
}

// work counts the multiply-adds of the matrix products of one Forward.
func (p *Program) work() float64 {
	const winograd = 36 * kernel.Tiles // products of a convolution, per pair of channels
	c := p.arch.Channels
	n := winograd*(NumPlanes+2*p.arch.Blocks*c)*c + p.arch.ValueLen()*ValueHidden
	for i := range p.arch.Blocks {
		if p.arch.Pools(i) {
			n += p.arch.PoolLen() * c
		}
	}
	return float64(n)
}

// peak is the speed of the matrix product alone, in multiply-adds a second: the best of twenty tries of a millisecond.
func peak(set *kernel.Set) float64 {
	const in, out, rows = 64, kernel.OutputMultiple, 54
	d := kernel.NewDense(set, in, out)
	x, y, u := kernel.Alloc(in*rows), kernel.Alloc(out*rows), kernel.Alloc(d.PackedLen())
	best := 0.0
	for range 20 {
		n, start := 0, time.Now()
		for ; time.Since(start) < time.Millisecond; n += 10 {
			for range 10 {
				d.Forward(y, x, u, rows)
			}
		}
		best = max(best, float64(n*in*out*rows)/time.Since(start).Seconds())
	}
	return best
}
