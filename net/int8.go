package net

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"yinshzero/net/kernel"
	"yinshzero/rules"
)

// A trunk8 is the convolutions of the blocks in 8-bit integers. It never changes.
type trunk8 struct {
	conv   kernel.Int8
	first  float32 // of the first layer's activations, as inv of a layer
	blocks []block8
}

type block8 struct{ one, two layer8 }

type layer8 struct {
	u     []int8
	scale []float32 // a unit of a sum, by output channel
	inv   float32   // what turns the layer's activations into bytes
}

// CompileInt8 returns w as a Program whose blocks convolve 8-bit integers: activations in 255 steps, weights in 127 to
// either side of zero, sums exact, all else in floats: the way past the convolutions, pooling, the first layer, the heads.
// The steps of the activations are chosen by those of the Positions, a few hundred of the games that the Program is for,
// none of them over.
//
// The Program is faster than that of Compile and less exact; CompareInt8 tells by how much. CompileInt8 fails without
// Positions, as Compile does, and on a machine without AVX-512 VNNI: that error wraps kernel.ErrISA.
func (w *Weights) CompileInt8(positions []rules.Position) (*Program, error) {
	fail := func(err error) (*Program, error) { return nil, fmt.Errorf("compile weights in 8 bits: %w", err) }
	conv, err := kernel.NewInt8(w.arch.Channels, w.arch.Channels)
	if err != nil {
		return fail(err)
	}
	if len(positions) == 0 {
		return fail(errors.New("no positions to choose the steps by: want a few hundred"))
	}
	set, err := kernel.Best()
	if err != nil {
		return fail(err)
	}
	p := w.compile(set)
	steps := p.steps(positions)
	s := *p.packed
	s.blocks = slices.Clone(s.blocks)
	s.trunk8 = &trunk8{conv: conv, first: 1 / steps[0]}
	for i := range s.blocks {
		b := &s.blocks[i]
		s.trunk8.blocks = append(s.trunk8.blocks, block8{
			w.layer8(conv, Block(i)+Conv1, steps[2*i], steps[2*i+1]),
			w.layer8(conv, Block(i)+Conv2, steps[2*i+1], steps[2*i+2]),
		})
		b.one.u, b.two.u = nil, nil
	}
	return s.program(), nil
}

// layer8 packs a convolution whose input is in steps of in and whose output is in steps of out.
func (w *Weights) layer8(c kernel.Int8, name string, in, out float32) layer8 {
	scaled, scale := w.scaled(name), kernel.Alloc(w.arch.Channels)
	l := layer8{kernel.AllocBytes[int8](c.PackedLen()), scale, 1 / out}
	c.Pack(l.u, scale, scaled)
	for i := range scale {
		scale[i] *= in
	}
	return l
}

// runTrunk8 computes x, the trunk's activations, from those of the first layer.
func (p *Program) runTrunk8() {
	t := p.trunk8
	t.conv.Bytes(p.x8, p.x, t.first)
	for i := range t.blocks {
		one, two := &t.blocks[i].one, &t.blocks[i].two
		t.conv.Forward(p.y, p.y8, p.x8, one.u, one.scale, p.blocks[i].one.bias, nil, one.inv)
		t.conv.Forward(p.x, p.x8, p.y8, two.u, two.scale, p.secondBias(&p.blocks[i]), p.x, two.inv)
	}
}

// steps are those of the bytes of the trunk's activations: of x after the first layer, then of y and x of every block. Each
// is the smallest that clips none of the Positions' activations. (Steps of the least squared error clip a tenth of that
// range, and the logits were no better for it.)
func (p *Program) steps(positions []rules.Position) []float32 {
	steps := make([]float32, 1+2*len(p.blocks))
	c := p.arch.Channels
	see := func(i int, x []float32) {
		top := p.vector[c : 2*c]
		p.set.Pool(p.vector[:c], top, x, c, kernel.Grid[:])
		steps[i] = max(steps[i], slices.Max(top))
	}
	planes := make([]float32, 0, PlaneLen)
	for i := range positions {
		planes = AppendPlanes(planes[:0], &positions[i])
		p.enter(planes)
		see(0, p.x)
		for j := range p.blocks {
			p.one(&p.blocks[j])
			see(2*j+1, p.y)
			p.two(&p.blocks[j])
			see(2*j+2, p.x)
		}
	}
	for i, top := range steps {
		steps[i] = top / math.MaxUint8
		if top == 0 {
			steps[i] = 1 // activations that are always zero
		}
	}
	return steps
}
