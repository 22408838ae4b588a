package graph

import (
	"math"
	"math/rand/v2"
	"testing"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"yinshzero/net"
	"yinshzero/net/kernel"
	"yinshzero/rules"
)

// bench is a graph of one operation: a replica without trunk and heads.
type bench struct {
	*replica
	t *testing.T
}

func newBench(t *testing.T, set *kernel.Set, w *net.Weights, es []Example) *bench {
	p := testLosses
	p.Batch = len(es)
	g, err := newGraph(w, p, set)
	if err != nil {
		t.Fatal(err)
	}
	for i := range es {
		g.Set(i, &es[i])
	}
	g.pack()
	r := g.replicas[0]
	r.graph, r.params, r.layered, r.taps, r.rows = G.NewGraph(), nil, nil, nil, g.micros[0]
	return &bench{r, t}
}

// variable adds numbers as a node whose gradient is wanted.
func (b *bench) variable(name string, data []float32, shape ...int) *G.Node {
	v := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(data))
	n := G.NewTensor(b.graph, tensor.Float32, len(shape), G.WithShape(shape...), G.WithName(name), G.WithValue(v))
	b.params = append(b.params, param{node: n, tensor: name})
	return n
}

// gradients runs the graph for the gradients of ½Σy², by name. That of y is y, which is zero where y is.
func (b *bench) gradients(y *G.Node) map[string][]float32 {
	b.t.Helper()
	half := G.NewConstant(float32(0.5))
	loss := G.Must(G.Mul(half, G.Must(G.Sum(G.Must(G.Sum(G.Must(G.HadamardProd(y, y)), 1))))))
	if err := b.differentiate(loss); err != nil {
		b.t.Fatal(err)
	}
	if err := b.machine.RunAll(); err != nil {
		b.t.Fatal(err)
	}
	grads := map[string][]float32{}
	for _, p := range b.params {
		grads[p.tensor] = make([]float32, p.node.Shape().TotalSize())
	}
	for _, c := range b.layered {
		for part, t := range map[string][]float32{net.WeightName: c.w, net.ScaleName: c.s, net.BiasName: c.b} {
			grads[c.name+part] = make([]float32, len(t))
		}
	}
	b.ran = true
	if err := b.take(grads); err != nil {
		b.t.Fatal(err)
	}
	return grads
}

// compare holds some numbers of grad to central differences of f, which sees x changed in place.
func (b *bench) compare(rng *rand.Rand, name string, grad []float32, x []float64, at func(i int) int, f func() float64) {
	b.t.Helper()
	scale := 0.0
	for _, v := range grad {
		scale = max(scale, math.Abs(float64(v)))
	}
	if scale == 0 {
		b.t.Errorf("%s: no gradient of %s", b.set.Name(), name)
	}
	const h = 1e-6
	for range 12 {
		i := rng.IntN(len(x))
		old := x[i]
		x[i] = old + h
		up := f()
		x[i] = old - h
		down := f()
		x[i] = old
		if want := (up - down) / (2 * h); math.Abs(float64(grad[at(i)])-want) > 1e-4*scale {
			b.t.Errorf("%s: gradient %d of %s is %g, differences give %g", b.set.Name(), i, name, grad[at(i)], want)
		}
	}
}

func same(i int) int { return i }

// trunkLike are positive activations of n boards, and the same as images [board][channel][121].
func trunkLike(rng *rand.Rand, n, channels int) (blocks []float32, images [][]float64) {
	blocks = kernel.Alloc(n * kernel.ActivationLen(channels))
	for b := range n {
		img := make([]float64, channels*kernel.Cells)
		for c := range channels {
			for _, p := range kernel.Grid {
				v := float32(0.05 + rng.Float64())
				img[c*kernel.Cells+p] = float64(v)
				blocks[b*kernel.ActivationLen(channels)+imageToBlock(c*kernel.Cells+p)] = v
			}
		}
		images = append(images, img)
	}
	return blocks, images
}

// imageToBlock is the place of an image's number in a board's activations.
func imageToBlock(i int) int {
	c, p := i/kernel.Cells, i%kernel.Cells
	return (c/kernel.Lanes*kernel.Cells+p)*kernel.Lanes + c%kernel.Lanes
}

// onPoints makes differences skip cells that are no points, where activations cannot be.
func onPoints(img []float64) []int {
	var at []int
	for i := range img {
		if kernel.OnBoard(i % kernel.Cells) {
			at = append(at, i)
		}
	}
	return at
}

// compareBoard compares the gradient of one board's activations.
func (b *bench) compareBoard(rng *rand.Rand, name string, grad []float32, board int, img []float64, f func() float64) {
	b.t.Helper()
	points := onPoints(img)
	x := make([]float64, len(points))
	for i, p := range points {
		x[i] = img[p]
	}
	offset := board * kernel.ActivationLen(b.arch.Channels)
	b.compare(rng, name, grad, x, func(i int) int { return offset + imageToBlock(points[i]) }, func() float64 {
		for i, p := range points {
			img[p] = x[i]
		}
		return f()
	})
}

func halfSquares(xs ...[]float64) float64 {
	s := 0.0
	for _, x := range xs {
		for _, v := range x {
			s += v * v / 2
		}
	}
	return s
}

func TestConvolutionGradients(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	for _, set := range kernel.All() {
		rng := newRand(20)
		w := randomWeights(t, "32x1", rng)
		b := newBench(t, set, w, examples(rng, 2, rules.Standard()))
		const c = 32
		xs, ximg := trunkLike(rng, 2, c)
		extra := make([]float32, 2*c)
		for i := range extra {
			extra[i] = float32(rng.NormFloat64())
		}
		// A whole block: the skip's gradient takes its way through the first convolution.
		x := b.variable("x", xs, 2, len(xs)/2)
		first, err := b.convolve(b.layers[1], x, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		second, err := b.convolve(b.layers[2], first.out, b.variable("extra", extra, 2, c), &skip{x, first})
		if err != nil {
			t.Fatal(err)
		}
		grads := b.gradients(second.out)

		ref, e := newReference(w), wide(extra)
		f := func() float64 {
			s := 0.0
			for i, img := range ximg {
				h := ref.conv(img, c, net.Block(0)+net.Conv1, make([]float64, c), nil)
				s += halfSquares(ref.conv(h, c, net.Block(0)+net.Conv2, e[i*c:][:c], img))
			}
			return s
		}
		for _, layer := range []string{net.Conv1, net.Conv2} {
			for _, part := range []string{net.WeightName, net.ScaleName, net.BiasName} {
				name := net.Block(0) + layer + part
				b.compare(rng, name, grads[name], ref.t[name], same, f)
			}
		}
		b.compare(rng, "extra", grads["extra"], e, same, f)
		for i, img := range ximg {
			b.compareBoard(rng, "x", grads["x"], i, img, f)
		}
	}
}

func TestPoolGradients(t *testing.T) {
	for _, set := range kernel.All() {
		rng := newRand(21)
		w := randomWeights(t, "32x1", rng)
		es := examples(rng, 2, rules.Standard(), small())
		b := newBench(t, set, w, es)
		xs, ximg := trunkLike(rng, 2, 32)
		y, err := b.pool("", b.variable("x", xs, 2, len(xs)/2), new([]tap))
		if err != nil {
			t.Fatal(err)
		}
		grads := b.gradients(y)
		ref := newReference(w)
		f := func() float64 {
			s := 0.0
			for i, img := range ximg {
				s += halfSquares(ref.pool(img, wide(es[i].Planes[net.PlaneBoard*net.Cells:][:net.Cells])))
			}
			return s
		}
		for i, img := range ximg {
			b.compareBoard(rng, "x", grads["x"], i, img, f)
		}
	}
}

// TestProductGradients compares the value head's first dense layer, which has inputs with and without a gradient.
func TestProductGradients(t *testing.T) {
	const rows = 3
	for _, set := range kernel.All() {
		rng := newRand(22)
		w := randomWeights(t, "32x1", rng)
		b := newBench(t, set, w, examples(rng, rows, rules.Standard(), small()))
		name := net.ValueDense + net.WeightName
		variables := w.Arch().PoolLen()
		p := newProduct(set, w, name, variables)
		p.pack()
		input := func(n int) ([]float32, []float64) {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(rng.NormFloat64())
			}
			return x, wide(x)
		}
		xs, x := input(rows * variables)
		cs, c := input(rows * (p.in - variables))
		constants := G.NewTensor(b.graph, tensor.Float32, 2, G.WithShape(rows, p.in-variables), G.WithName("constants"),
			G.WithValue(tensor.New(tensor.WithShape(rows, p.in-variables), tensor.WithBacking(cs))))
		y, err := b.multiply(p, b.variable("x", xs, rows, variables), constants)
		if err != nil {
			t.Fatal(err)
		}
		grads := b.gradients(y)
		matrix := wide(p.w)
		f := func() float64 {
			sum := 0.0
			for r := range rows {
				in := append(append([]float64(nil), x[r*variables:(r+1)*variables]...), c[r*(p.in-variables):(r+1)*(p.in-variables)]...)
				out := make([]float64, p.out)
				for i, v := range in {
					for o := range out {
						out[o] += v * matrix[i*p.out+o]
					}
				}
				sum += halfSquares(out)
			}
			return sum
		}
		b.compare(rng, "x", grads["x"], x, same, f)
		b.compare(rng, name, grads[name], matrix, same, f)
	}
}

// pooled adds activations x of rows boards to the graph, and their pooled vectors, whose gradient takes up that of the heads.
func (b *bench) pooled(xs []float32, rows int) (x, pooled *G.Node) {
	x = b.variable("x", xs, rows, len(xs)/rows)
	pooled, err := b.pool("", x, &b.taps)
	if err != nil {
		b.t.Fatal(err)
	}
	return x, pooled
}

// TestMoveGradients compares both heads with a logit for every Move, by a loss that follows, so that the masked logits
// have no part.
func TestMoveGradients(t *testing.T) {
	for _, set := range kernel.All() {
		for _, index := range []int{policyMoves, replyMoves} {
			rng := newRand(22)
			w := randomWeights(t, "32x1", rng)
			es := examples(rng, 2, rules.Standard())
			es[1].ReplyWeight = 0.75
			b := newBench(t, set, w, es)
			xs, ximg := trunkLike(rng, 2, 32)
			x, pooled := b.pooled(xs, 2)
			logits, err := b.moveLogits(b.moves[index], x, pooled)
			if err != nil {
				t.Fatal(err)
			}
			target := G.NewMatrix(b.graph, tensor.Float32, G.WithShape(2, rules.MaxMoves), G.WithName("target"), G.WithValue(b.rows.inputs[moveTargets[index]]))
			h, err := b.crossEntropy("test", logits, target)
			if err != nil {
				t.Fatal(err)
			}
			grads := b.gradients(G.Must(G.Concat(1, G.Must(G.Reshape(h, tensor.Shape{2, 1})), pooled)))
			ref, head := newReference(w), b.moves[index].name
			f := func() float64 {
				s := 0.0
				for i, img := range ximg {
					s += halfSquares(ref.pool(img, wide(es[i].Planes[net.PlaneBoard*net.Cells:][:net.Cells])))
					h := float64(es[i].PolicyWeight) * crossEntropy(ref.moveLogits(img, head, es[i].Legal), es[i].Policy)
					if index == replyMoves {
						h = float64(es[i].ReplyWeight) * crossEntropy(ref.moveLogits(img, head, es[i].ReplyLegal), es[i].Reply)
					}
					s += h * h / 2
				}
				return s
			}
			for _, part := range []string{net.WeightName, net.BiasName} {
				b.compare(rng, head+part, grads[head+part], ref.t[head+part], same, f)
			}
			b.compareBoard(rng, "x", grads["x"], 1, ximg[1], f)
		}
	}
}

// TestOwnershipGradients: boards of two sizes, two weights, and a row without a target.
func TestOwnershipGradients(t *testing.T) {
	for _, set := range kernel.All() {
		rng := newRand(24)
		w := randomWeights(t, "32x1", rng)
		es := examples(rng, 3, rules.Standard(), small())
		es[1].EndWeight, es[2].EndWeight = 0.5, 0
		b := newBench(t, set, w, es)
		xs, ximg := trunkLike(rng, 3, 32)
		weight := G.NewMatrix(b.graph, tensor.Float32, G.WithShape(3, 1), G.WithName("weight"), G.WithValue(b.rows.inputs[inEndWeight]))
		x, pooled := b.pooled(xs, 3)
		h, err := b.ownership(x, weight, pooled)
		if err != nil {
			t.Fatal(err)
		}
		grads := b.gradients(G.Must(G.Concat(1, G.Must(G.Reshape(h, tensor.Shape{3, 1})), pooled)))
		ref := newReference(w)
		f := func() float64 {
			s := 0.0
			for i, img := range ximg {
				s += halfSquares(ref.pool(img, wide(es[i].Planes[net.PlaneBoard*net.Cells:][:net.Cells])))
				owners := ref.owners(img, wide(es[i].Planes[net.PlaneBoard*net.Cells:][:net.Cells]))
				h := 0.0
				for cell, logits := range owners {
					h += float64(es[i].EndWeight) / float64(len(owners)) * crossEntropy(logits, class(int(es[i].Owners[cell]), net.NumOwners))
				}
				s += h * h / 2
			}
			return s
		}
		for _, part := range []string{net.WeightName, net.BiasName} {
			name := net.OwnershipHead + part
			b.compare(rng, name, grads[name], ref.t[name], same, f)
		}
		for i, img := range ximg { // the last has but the pooled part
			b.compareBoard(rng, "x", grads["x"], i, img, f)
		}
	}
}

// TestCrossEntropy: far apart rows, a weight other than 1, and a row without target.
func TestCrossEntropy(t *testing.T) {
	rng := newRand(23)
	b := newBench(t, kernel.All()[0], randomWeights(t, "32x1", rng), examples(rng, 3, rules.Standard()))
	logits := []float32{800, 801, 802.5, -300, -301, -299, 1, 2, 3}
	targets := []float32{0.2, 0.3, 0.5, 0, 1.5, 0.5, 0, 0, 0}
	target := G.NewMatrix(b.graph, tensor.Float32, G.WithShape(3, 3), G.WithName("target"),
		G.WithValue(tensor.New(tensor.WithShape(3, 3), tensor.WithBacking(targets))))
	h, err := b.crossEntropy("test", b.variable("logits", logits, 3, 3), target)
	if err != nil {
		t.Fatal(err)
	}
	grad := b.gradients(G.Must(G.Reshape(h, tensor.Shape{3, 1})))["logits"]
	x := wide(logits)
	f := func() float64 {
		s := 0.0
		for i := 0; i < 9; i += 3 {
			h := crossEntropy(x[i:i+3], targets[i:i+3])
			s += h * h / 2
		}
		return s
	}
	b.compare(rng, "logits", grad, x, same, f)
	for i := 6; i < 9; i++ {
		if grad[i] != 0 {
			t.Errorf("a row without target has the gradient %g", grad[i])
		}
	}
}

// TestOpErrors: an operation refuses what it cannot compute instead of panicking.
func TestOpErrors(t *testing.T) {
	g := G.NewGraph()
	x := G.NewMatrix(g, tensor.Float64, G.WithShape(1, 1), G.WithName("x"), G.WithValue(tensor.New(tensor.WithShape(1, 1), tensor.WithBacking([]float64{1}))))
	o, _, err := apply("copy", func(out []float32, in [][]float32) { copy(out, in[0]) }, tensor.Shape{1, 1}, x)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Do(x.Value()); err == nil {
		t.Error("float64 was taken for float32")
	}
	if _, err := o.SymDiff(G.Nodes{x}, x, x); err == nil {
		t.Error("an operation without derivative was differentiated")
	}
}
