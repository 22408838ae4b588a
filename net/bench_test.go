package net

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"time"

	"yinshzero/net/kernel"
	"yinshzero/rules"
)

func TestBenchEval(t *testing.T) {
	a := Arch{Channels: 32, Blocks: 1, Pooling: true}
	s, err := BenchEval(context.Background(), a, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if s.Arch != a || s.ISA == "" || s.Evaluations <= 0 || s.Peak <= 0 || s.Rate != s.Evaluations*s.Work {
		t.Errorf("speed %+v", s)
	}
	// Seven tiles of 36 products, then the pooled vector into block 1's bias, and it and the globals into the hidden layer.
	p := newWeights(Arch{Channels: 32, Blocks: 2, Pooling: true}).compile(kernel.All()[0])
	if got, want := p.work(), 7*36*(7+4*32)*32+64*32+(64+22)*64; got != float64(want) {
		t.Errorf("%v multiply-adds, want %v", got, want)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := BenchEval(ctx, a, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

func BenchmarkForward(b *testing.B) {
	for _, name := range []string{"32x4", "32x4p", "64x6", "64x6p", "96x8p"} {
		a, err := ParseArch(name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			p, err := Init(a, rand.New(rand.NewPCG(1, 1))).Compile()
			if err != nil {
				b.Fatal(err)
			}
			pos := positions(rand.New(rand.NewPCG(1, 1)), 1)[0]
			planes, legal := AppendPlanes(nil, &pos), pos.AppendMoves(nil)
			out := Output{Logits: make([]float32, len(legal))}
			b.ReportAllocs()
			for b.Loop() {
				p.Forward(planes, legal, &out)
			}
		})
	}
}

func BenchmarkAppendPlanes(b *testing.B) {
	planes := make([]float32, 0, PlaneLen)
	ps := positions(rand.New(rand.NewPCG(1, 1)), 32)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		planes = AppendPlanes(planes[:0], &ps[i%len(ps)])
		i++
	}
}

func BenchmarkAuxiliary(b *testing.B) {
	p, err := Init(Arch{Channels: 32, Blocks: 4, Pooling: true}, rand.New(rand.NewPCG(1, 1))).Compile()
	if err != nil {
		b.Fatal(err)
	}
	pos := positions(rand.New(rand.NewPCG(1, 1)), 1)[0]
	legal := pos.AppendMoves(nil)
	out, more := Output{Logits: make([]float32, len(legal))}, Expectation{Reply: make([]float32, len(legal))}
	p.Forward(AppendPlanes(nil, &pos), legal, &out)
	b.ReportAllocs()
	for b.Loop() {
		p.Auxiliary(legal, &more)
	}
}

// TestAllocs holds the hot path: encoding, Forward and Auxiliary allocate nothing.
func TestAllocs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	p, err := Init(Arch{Channels: 32, Blocks: 2, Pooling: true}, rng).Compile()
	if err != nil {
		t.Fatal(err)
	}
	planes, legal := make([]float32, 0, PlaneLen), make([]rules.Move, 0, rules.MaxMoves)
	out, more := Output{Logits: make([]float32, rules.MaxMoves)}, Expectation{Reply: make([]float32, rules.MaxMoves)}
	ps := positions(rng, 20)
	if n := testing.AllocsPerRun(3, func() {
		for i := range ps {
			legal = ps[i].AppendMoves(legal[:0])
			planes = AppendPlanes(planes[:0], &ps[i])
			p.Forward(planes, legal, &out)
			p.Auxiliary(legal, &more)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// TestClones: Programs over the same packed weights answer at the same time, one to a goroutine, as one of them alone does.
func TestClones(t *testing.T) {
	eachSet(t, func(t *testing.T, set *kernel.Set) {
		rng := rand.New(rand.NewPCG(2, 2))
		p := randomWeights(Arch{Channels: 32, Blocks: 2, Pooling: true}, rng).compile(set)
		ps := positions(rng, 20)
		ask := func(p *Program) (answers []any) {
			for i := range ps {
				legal := ps[i].AppendMoves(nil)
				out, more := dirtyOutput(len(legal), len(legal))
				p.Forward(AppendPlanes(nil, &ps[i]), legal, &out)
				p.Auxiliary(legal, &more)
				answers = append(answers, out, more)
			}
			return answers
		}
		want := ask(p)
		got := make([][]any, 4)
		var wg sync.WaitGroup
		for i := range got {
			q := p.Clone()
			wg.Go(func() { got[i] = ask(q) })
		}
		wg.Wait()
		for i := range got {
			if !reflect.DeepEqual(got[i], want) {
				t.Errorf("clone %d answers otherwise than alone", i)
			}
		}
	})
}
