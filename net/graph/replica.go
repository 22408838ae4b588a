package graph

import (
	"errors"
	"fmt"
	"runtime"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"yinshzero/net"
	"yinshzero/net/kernel"
	"yinshzero/rules"
)

// A replica is one goroutine's graph and tape machine for micro-batches of size rows. It reads the weights, which all
// replicas share, and has gradients of its own.
type replica struct {
	shared
	size int
	rows *rows // the micro-batch in hand

	scratch       *kernel.Scratch
	weightScratch *kernel.Scratch
	raw           []float32 // scratch of the length of a layer's weights
	layered       []*convolution

	taps []tap // the heads' parts of the gradient of the trunk's activations

	graph   *G.ExprGraph
	machine G.VM
	inputs  [numInputs]*G.Node
	params  []param
	losses  [numLosses]G.Value
	ran     bool // since the last take: the parameters hold gradients
}

// shared is what all replicas read: the shape, the kernels and the packed weights.
type shared struct {
	weights *net.Weights
	arch    net.Arch
	set     *kernel.Set
	layers  []*layer                // the input's, then two for every block
	globals *product                // of the globals into the input layer
	pools   []*product              // of every block's pooled vector, nil where it has none
	value   *product                // of the pooled trunk and the globals into the value head
	moves   [numMoveHeads]*moveHead // nil if the Arch is without the head
}

// longest is the largest number of weights of a layer.
func (s *shared) longest() int {
	n := 0
	for _, l := range s.layers {
		n = max(n, len(l.w))
	}
	return n
}

// A param is a node of the graph whose values are a tensor.
type param struct {
	node   *G.Node
	tensor string
}

// The inputs of the graph. The owners of the Points are none: they are classes.
const (
	inPlanes = iota
	inGlobals
	inPolicy // targets, times the row's weight
	inWDL
	inRings
	inReply
	inEndWeight // of the row in the ownership loss
	inPlies
	numInputs
)

// The losses of the graph, unscaled sums over the rows.
const (
	lossPolicy = iota
	lossWDL
	lossRings
	lossReply
	lossOwnership
	lossPlies
	numLosses
)

var lossNames = [numLosses]string{"policy", "value", "rings", "reply", "ownership", "plies"}

// inputNames and inputWidths describe the inputs, [size][width].
var (
	inputNames = [numInputs]string{
		"planes", "globals", "policy target", "wdl target", "rings target", "reply target", "end weight", "plies target",
	}
	inputWidths = [numInputs]int{
		kernel.ActivationLen(net.NumPlanes), net.NumGlobals, rules.MaxMoves, net.NumWDL, net.NumRings, rules.MaxMoves, 1, net.NumPlies,
	}
)

// How many boards the kernels take at a time: forward and for the input's gradient, and for the weights'. Measured.
const (
	chunk       = 2
	weightChunk = 8
)

// newReplica builds graph and machine, with gradients unless it goes forward only; scales are the factors of the losses in
// the total.
func newReplica(s shared, size int, scales [numLosses]float64, forwardOnly bool) (*replica, error) {
	r := &replica{
		shared: s, size: size, graph: G.NewGraph(),
		scratch:       kernel.NewScratch(chunk, s.arch.Channels),
		weightScratch: kernel.NewScratch(weightChunk, s.arch.Channels),
	}
	r.raw = kernel.Alloc(s.longest())
	for i, name := range inputNames {
		r.inputs[i] = G.NewMatrix(r.graph, tensor.Float32, G.WithShape(size, inputWidths[i]), G.WithName(name))
	}
	x, err := r.trunk()
	if err != nil {
		return nil, err
	}
	total, err := r.heads(x, scales)
	if err != nil {
		return nil, err
	}
	if forwardOnly {
		r.compile()
	} else if err := r.differentiate(total); err != nil {
		return nil, err
	}
	return r, nil
}

// differentiate adds the gradients of a loss to the graph and makes the machine.
func (r *replica) differentiate(loss *G.Node) error {
	nodes := make(G.Nodes, len(r.params))
	for i, p := range r.params {
		nodes[i] = p.node
	}
	bound := nodes
	for _, c := range r.layered { // their sums are their own, not Gorgonia's
		nodes = append(nodes, c.node)
	}
	if _, err := G.Grad(loss, nodes...); err != nil {
		return fmt.Errorf("differentiate the graph: %w", err)
	}
	r.compile(G.BindDualValues(bound...))
	return nil
}

// compile makes the machine. Gorgonia gives it a finalizer, which does nothing without CUDA and keeps the machine for ever, with
// all of its graph: no garbage collector takes a cycle that has one.
func (r *replica) compile(opts ...G.VMOpt) {
	r.machine = G.NewTapeMachine(r.graph, opts...)
	runtime.SetFinalizer(r.machine, nil)
}

// packed adds the packed weights of a convolution to the graph as a parameter.
func (r *replica) packed(c *convolution) *G.Node {
	n := c.conv.PackedLen()
	v := tensor.New(tensor.WithShape(n), tensor.WithBacking(c.u))
	c.node = G.NewVector(r.graph, tensor.Float32, G.WithShape(n), G.WithName(c.name+"packed"), G.WithValue(v))
	r.layered = append(r.layered, c)
	return c.node
}

// param adds a tensor to the graph as a parameter.
func (r *replica) param(name string) *G.Node { return r.shaped(name, r.weights.Tensor(name).Shape) }

// row adds a tensor [n] to the graph as a parameter [1][n].
func (r *replica) row(name string) *G.Node {
	return r.shaped(name, []int{1, r.weights.Tensor(name).Len()})
}

// shaped adds a tensor as a parameter of a shape. The node shares the tensor's memory under a header of its own, since
// Gorgonia changes headers while it runs.
func (r *replica) shaped(name string, shape tensor.Shape) *G.Node {
	v := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(r.weights.Tensor(name).Data))
	node := G.NewTensor(r.graph, tensor.Float32, len(shape), G.WithShape(shape...), G.WithName(name), G.WithValue(v))
	r.params = append(r.params, param{node, name})
	return node
}

// trunk adds the input layer and the blocks and returns the last activations.
func (r *replica) trunk() (*G.Node, error) {
	extra, err := r.multiply(r.globals, nil, r.inputs[inGlobals])
	if err != nil {
		return nil, err
	}
	c, err := r.convolve(r.layers[0], r.inputs[inPlanes], extra, nil)
	if err != nil {
		return nil, err
	}
	x := c.out
	for i := range r.arch.Blocks {
		first, err := r.convolve(r.layers[1+2*i], x, nil, nil)
		if err != nil {
			return nil, err
		}
		extra = nil
		if r.arch.Pools(i) {
			p, err := r.pool(net.Block(i), first.out, new([]tap))
			if err != nil {
				return nil, err
			}
			if extra, err = r.multiply(r.pools[i], p, nil); err != nil {
				return nil, err
			}
		}
		second, err := r.convolve(r.layers[2+2*i], first.out, extra, &skip{x, first})
		if err != nil {
			return nil, err
		}
		x = second.out
	}
	return x, nil
}

// heads adds the heads that the Arch has and their losses on the trunk's activations x, and returns the total loss.
func (r *replica) heads(x *G.Node, scales [numLosses]float64) (*G.Node, error) {
	var b builder
	pooled := b.do(func() (*G.Node, error) { return r.pool("value.", x, &r.taps) })
	h := b.do(func() (*G.Node, error) { return r.multiply(r.value, pooled, r.inputs[inGlobals]) })
	h = b.rectify(b.bias(h, r.row(net.ValueDense+net.BiasName)))

	var total *G.Node
	loss := func(i int, rows *G.Node) {
		sum := b.do(func() (*G.Node, error) { return G.Sum(rows) })
		if b.err == nil {
			G.Read(sum, &r.losses[i])
			total = b.add(total, b.times(sum, scales[i]))
		}
	}
	entropy := func(i int, logits, target *G.Node) {
		loss(i, b.do(func() (*G.Node, error) { return r.crossEntropy(lossNames[i], logits, target) }))
	}
	moves := func(i int, head *moveHead) {
		entropy(i, b.do(func() (*G.Node, error) { return r.moveLogits(head, x, pooled) }), r.inputs[moveTargets[head.index]])
	}
	dense := func(i int, name string, target int) {
		entropy(i, b.bias(b.mul(h, r.param(name+net.WeightName)), r.row(name+net.BiasName)), r.inputs[target])
	}
	moves(lossPolicy, r.moves[policyMoves])
	dense(lossWDL, net.WDLHead, inWDL)
	if r.arch.Has(net.Rings) {
		dense(lossRings, net.RingsHead, inRings)
	}
	if r.arch.Has(net.Reply) {
		moves(lossReply, r.moves[replyMoves])
	}
	if r.arch.Has(net.Ownership) {
		loss(lossOwnership, b.do(func() (*G.Node, error) { return r.ownership(x, r.inputs[inEndWeight], pooled) }))
	}
	if r.arch.Has(net.Plies) {
		dense(lossPlies, net.PliesHead, inPlies)
	}
	if b.err != nil {
		return nil, fmt.Errorf("add the heads to the graph: %w", b.err)
	}
	return total, nil
}

// A builder adds Gorgonia's own operations and keeps the first error.
type builder struct{ err error }

func (b *builder) do(f func() (*G.Node, error)) *G.Node {
	if b.err != nil {
		return nil
	}
	n, err := f()
	b.err = err
	return n
}

func (b *builder) mul(x, y *G.Node) *G.Node {
	return b.do(func() (*G.Node, error) { return G.Mul(x, y) })
}

// add is x + y, or y if x is nil.
func (b *builder) add(x, y *G.Node) *G.Node {
	if x == nil {
		return y
	}
	return b.do(func() (*G.Node, error) { return G.Add(x, y) })
}

func (b *builder) rectify(x *G.Node) *G.Node {
	return b.do(func() (*G.Node, error) { return G.Rectify(x) })
}

// bias adds the row y, [1][n], to every row of x.
func (b *builder) bias(x, y *G.Node) *G.Node {
	return b.do(func() (*G.Node, error) { return G.BroadcastAdd(x, y, nil, []byte{0}) })
}

// times scales the scalar x.
func (b *builder) times(x *G.Node, f float64) *G.Node {
	return b.do(func() (*G.Node, error) { return G.Mul(x, G.NewConstant(float32(f))) })
}

// run adds the gradients of one micro-batch to those the parameters hold and its losses to sums.
func (r *replica) run(m *rows, sums *[numLosses]float64) error {
	r.rows = m
	for i, n := range r.inputs {
		if err := G.Let(n, m.inputs[i]); err != nil {
			return fmt.Errorf("bind %s: %w", inputNames[i], err)
		}
	}
	defer r.machine.Reset()
	r.ran = true
	if err := r.machine.RunAll(); err != nil {
		var outer interface{ Err() error } // Gorgonia's, which does not unwrap
		if errors.As(err, &outer) {
			err = outer.Err()
		}
		return fmt.Errorf("run the graph: %w", err)
	}
	for i, v := range r.losses {
		if v == nil { // no such head
			continue
		}
		l, ok := v.Data().(float32)
		if !ok {
			return fmt.Errorf("run the graph: loss %d is a %T", i, v.Data())
		}
		sums[i] += float64(l)
	}
	return nil
}

// take moves the parameters' gradients to dst, a slice for every tensor by name, and leaves zeros. If nothing ran since
// the last time it does nothing.
func (r *replica) take(dst map[string][]float32) error {
	if !r.ran {
		return nil
	}
	r.ran = false
	for _, p := range r.params {
		v, err := p.node.Grad()
		if err != nil {
			return fmt.Errorf("read the gradient of %s: %w", p.tensor, err)
		}
		g := v.Data().([]float32)
		copy(dst[p.tensor], g)
		clear(g)
	}
	for _, c := range r.layered {
		c.take(dst[c.name+net.WeightName], dst[c.name+net.ScaleName], dst[c.name+net.BiasName], r.raw)
	}
	return nil
}
