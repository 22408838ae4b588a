package net

import (
	"fmt"

	"yinshzero/net/kernel"
	"yinshzero/rules"
)

// An Output is the raw answer of a network about one Position, from the side to move's view.
type Output struct {
	// Logits has room for one logit per legal Move, in the order in which Forward got the Moves. The caller owns it.
	Logits []float32
	// WDL are the logits of win, draw and loss of the side to move.
	WDL [NumWDL]float32
	// Rings are the logits of the final difference of rings taken, own − other, from −3 to 3; zeros without that head.
	Rings [NumRings]float32
}

// An Expectation is what the heads that only serve training say about one Position, from the side to move's view. The
// numbers of a head that the Arch is without are zeros.
type Expectation struct {
	// Reply has room for one logit per reply, in the order in which Auxiliary got the Moves. The caller owns it.
	Reply []float32
	// Ownership are the logits of every Point of the Variant's board, by grid index: at the game's end a marker of the
	// side to move now, none, a marker of the other side. Other cells are zeros.
	Ownership [Cells][NumOwners]float32
	// Plies are the logits of the plies left in the game, PliesStep to a class.
	Plies [NumPlies]float32
}

// A Program is Weights compiled for inference: scales folded into the convolutions, weights packed for the kernels. It
// belongs to one goroutine; Clone makes one for another.
type Program struct {
	*packed
	scratch *kernel.Scratch
	in      []float32 // activations of the planes
	x, y    []float32 // activations of the trunk
	cells   []int     // the Points of the Variant's board
	vector  []float32 // the pooled vector, then the globals, then zeros
	bias    []float32 // the bias of a layer that depends on the Position
	hidden  []float32 // the value head's hidden layer
	x8, y8  []uint8   // x and y in bytes; nil unless the trunk is trunk8
}

// packed is what the Programs of the same Weights share. It never changes.
type packed struct {
	arch        Arch
	set         *kernel.Set
	input       layer
	globals     []float32 // [NumGlobals][C]
	blocks      []block
	trunk8      *trunk8 // instead of the blocks' convolutions; nil as a rule
	policy      pointHead
	value       dense
	wdl, rings  []float32 // [ValueHidden][3], [ValueHidden][7]
	wdlBias     [NumWDL]float32
	ringsBias   [NumRings]float32
	reply       pointHead
	ownership   pointHead
	plies       []float32 // [ValueHidden][16]
	pliesBias   [NumPlies]float32
	conv, first kernel.Conv
}

// A pointHead has logits at every Point: of Moves, by plane, or of owners. It is empty if the Arch is without it.
type pointHead struct{ weight, bias []float32 } // [outputs][C], [outputs]

type layer struct{ u, bias []float32 }

type block struct {
	one, two layer
	pool     *dense // nil if the block does not pool
}

type dense struct {
	product kernel.Dense
	u, bias []float32
}

// Compile returns w as a Program for the fastest kernels of this machine, or for those that the environment variable
// YINSHZERO_ISA names; its error says which there are. Later changes of w do not reach the Program.
func (w *Weights) Compile() (*Program, error) {
	set, err := kernel.Best()
	if err != nil {
		return nil, fmt.Errorf("compile weights: %w", err)
	}
	return w.compile(set), nil
}

func (w *Weights) compile(set *kernel.Set) *Program {
	a := w.arch
	c := a.Channels
	s := &packed{
		arch: a, set: set,
		first: kernel.NewConv(set, NumPlanes, c), conv: kernel.NewConv(set, c, c),
		globals: w.copyOf(GlobalsFC),
		policy:  w.pointHead(PolicyHead),
		value:   w.dense(set, ValueDense+WeightName, w.copyOf(ValueDense+BiasName)),
		wdl:     w.copyOf(WDLHead + WeightName),
	}
	copy(s.wdlBias[:], w.Tensor(WDLHead+BiasName).Data)
	if a.Has(Rings) {
		s.rings = w.copyOf(RingsHead + WeightName)
		copy(s.ringsBias[:], w.Tensor(RingsHead+BiasName).Data)
	}
	if a.Has(Reply) {
		s.reply = w.pointHead(ReplyHead)
	}
	if a.Has(Ownership) {
		s.ownership = w.pointHead(OwnershipHead)
	}
	if a.Has(Plies) {
		s.plies = w.copyOf(PliesHead + WeightName)
		copy(s.pliesBias[:], w.Tensor(PliesHead+BiasName).Data)
	}
	s.input = w.layer(s.first, InputConv)
	for i := range a.Blocks {
		b := block{one: w.layer(s.conv, Block(i)+Conv1), two: w.layer(s.conv, Block(i)+Conv2)}
		if a.Pools(i) {
			d := w.dense(set, Block(i)+PoolFC, b.two.bias)
			b.pool = &d
		}
		s.blocks = append(s.blocks, b)
	}
	return s.program()
}

// copyOf is a tensor's numbers, aligned.
func (w *Weights) copyOf(name string) []float32 {
	t := w.Tensor(name).Data
	c := kernel.Alloc(len(t))
	copy(c, t)
	return c
}

func (w *Weights) layer(c kernel.Conv, name string) layer {
	l := layer{kernel.Alloc(c.PackedLen()), w.copyOf(name + BiasName)}
	c.Pack(l.u, w.scaled(name))
	return l
}

// scaled is the weights of a convolution with its scale.
func (w *Weights) scaled(name string) []float32 {
	x, scale := w.copyOf(name+WeightName), w.Tensor(name+ScaleName).Data
	for i := range x {
		x[i] *= scale[i%len(scale)]
	}
	return x
}

func (w *Weights) pointHead(name string) pointHead {
	t := w.Tensor(name + WeightName)
	in, out := t.Shape[0], t.Shape[1]
	h := pointHead{make([]float32, t.Len()), w.copyOf(name + BiasName)}
	for i, v := range t.Data {
		h.weight[i%out*in+i/out] = v
	}
	return h
}

func (w *Weights) dense(set *kernel.Set, name string, bias []float32) dense {
	t := w.Tensor(name)
	d := dense{product: kernel.NewDense(set, t.Shape[0], t.Shape[1]), bias: bias}
	d.u = kernel.Alloc(d.product.PackedLen())
	d.product.Pack(d.u, t.Data)
	return d
}

func (s *packed) program() *Program {
	c := s.arch.Channels
	n := kernel.ActivationLen(c)
	p := &Program{
		packed:  s,
		scratch: kernel.NewScratch(1, c),
		in:      kernel.Alloc(kernel.ActivationLen(NumPlanes)),
		x:       kernel.Alloc(n),
		y:       kernel.Alloc(n),
		cells:   make([]int, 0, rules.NumPoints),
		vector:  kernel.Alloc(kernel.Blocks(s.arch.ValueLen()) * kernel.Lanes),
		bias:    kernel.Alloc(c),
		hidden:  kernel.Alloc(ValueHidden),
	}
	if s.trunk8 != nil {
		p.x8, p.y8 = kernel.AllocBytes[uint8](kernel.ByteLen(c)), kernel.AllocBytes[uint8](kernel.ByteLen(c))
	}
	return p
}

// Clone returns a Program for another goroutine. It shares the packed weights, which never change.
func (p *Program) Clone() *Program { return p.packed.program() }

// Arch is the shape of the Weights that p was compiled from.
func (p *Program) Arch() Arch { return p.arch }

// ISA is the name of the kernels in use: avx512, avx2 or generic.
func (p *Program) ISA() string { return p.set.Name() }

// Forward evaluates one Position: planes as AppendPlanes encodes it, legal any Moves in any order, out.Logits with room
// for at least len(legal). It fills out and allocates nothing. Wrong lengths are the caller's bug and panic.
func (p *Program) Forward(planes []float32, legal []rules.Move, out *Output) {
	planes, logits := planes[:PlaneLen], out.Logits[:len(legal)]
	globals := planes[NumPlanes*Cells:]
	p.enter(planes)
	if p.trunk8 != nil {
		p.runTrunk8()
	} else {
		for i := range p.blocks {
			p.one(&p.blocks[i])
			p.two(&p.blocks[i])
		}
	}

	for i, m := range legal {
		plane, cell := PolicyIndex(m)
		logits[i] = p.at(&p.policy, plane, cell)
	}

	p.pool(p.x)
	copy(p.vector[p.arch.PoolLen():], globals)
	p.value.product.Forward(p.hidden, p.vector, p.value.u, 1)
	out.WDL, out.Rings = p.wdlBias, p.ringsBias
	for i, h := range p.hidden {
		if h += p.value.bias[i]; h > 0 {
			addScaled(out.WDL[:], p.wdl[i*NumWDL:], h)
			if p.arch.Has(Rings) {
				addScaled(out.Rings[:], p.rings[i*NumRings:], h)
			}
		}
	}
}

// enter lists the Points of the board and sets x to the first layer's activations.
func (p *Program) enter(planes []float32) {
	p.cells = p.cells[:0]
	for cell, on := range planes[PlaneBoard*Cells:][:Cells] {
		if on != 0 {
			p.cells = append(p.cells, cell)
		}
	}
	copy(p.bias, p.input.bias)
	for i, g := range planes[NumPlanes*Cells:] {
		if g != 0 {
			addScaled(p.bias, p.globals[i*len(p.bias):], g)
		}
	}
	kernel.ToBlocks(p.in, planes, NumPlanes)
	p.first.Forward(p.scratch, 1, p.x, p.in, p.input.u, p.bias, nil)
}

// one computes y, a block's inner activations, from x.
func (p *Program) one(b *block) {
	p.conv.Forward(p.scratch, 1, p.y, p.x, b.one.u, b.one.bias, nil)
}

// two computes x, a block's activations, from y and x.
func (p *Program) two(b *block) {
	p.conv.Forward(p.scratch, 1, p.x, p.y, b.two.u, p.secondBias(b), p.x)
}

// secondBias is the bias of a block's second convolution, from y if the block pools.
func (p *Program) secondBias(b *block) []float32 {
	if b.pool == nil {
		return b.two.bias
	}
	p.pool(p.y)
	b.pool.product.Forward(p.bias, p.vector, b.pool.u, 1)
	addScaled(p.bias, b.two.bias, 1)
	return p.bias
}

// Auxiliary tells what the other heads say about the Position of the last Forward: replies are any Moves in any order, as
// a rule the legal ones of a Position that may follow, with the opponent to move; out.Reply has room for at least
// len(replies). It fills out and allocates nothing. Training needs these heads and play does not: it is for looking into a
// network and for comparisons.
func (p *Program) Auxiliary(replies []rules.Move, out *Expectation) {
	logits := out.Reply[:len(replies)]
	clear(logits)
	if p.arch.Has(Reply) {
		for i, m := range replies {
			plane, cell := PolicyIndex(m)
			logits[i] = p.at(&p.reply, plane, cell)
		}
	}
	clear(out.Ownership[:])
	if p.arch.Has(Ownership) {
		for _, cell := range p.cells {
			for k := range out.Ownership[cell] {
				out.Ownership[cell][k] = p.at(&p.ownership, k, cell)
			}
		}
	}
	out.Plies = p.pliesBias
	if p.arch.Has(Plies) {
		for i, h := range p.hidden {
			if h += p.value.bias[i]; h > 0 {
				addScaled(out.Plies[:], p.plies[i*NumPlies:], h)
			}
		}
	}
}

// at is output k of a head at a cell.
func (p *Program) at(h *pointHead, k, cell int) float32 {
	return h.bias[k] + p.set.DotColumn(p.x, h.weight[k*p.arch.Channels:][:p.arch.Channels], cell)
}

// addScaled adds s·x to y.
func addScaled(y, x []float32, s float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] += s * x[i]
	}
}

// pool puts the pooled vector of the activations x, which are not negative, at the start of p.vector.
func (p *Program) pool(x []float32) {
	c := p.arch.Channels
	p.set.Pool(p.vector[:c], p.vector[c:2*c], x, c, p.cells)
}
