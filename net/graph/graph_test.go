package graph

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"yinshzero/net"
	"yinshzero/net/kernel"
	"yinshzero/rules"
)

// newRand is a random source of its own for every test.
func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 99)) }

// randomWeights are Init's with every tensor made lively, biases, scales and heads included.
func randomWeights(t testing.TB, arch string, rng *rand.Rand) *net.Weights {
	a, err := net.ParseArch(arch)
	if err != nil {
		t.Fatal(err)
	}
	w := net.Init(a, rng)
	for _, x := range w.Tensors() {
		for i := range x.Data {
			switch {
			case len(x.Shape) == 1:
				x.Data[i] += float32(0.2 * rng.NormFloat64())
			case len(x.Shape) == 2:
				x.Data[i] += float32(0.5 / math.Sqrt(float64(x.Shape[0])) * rng.NormFloat64())
			}
		}
	}
	return w
}

// examples are Positions of random games of the variants with random targets; some lack a target.
func examples(rng *rand.Rand, n int, variants ...rules.Variant) []Example {
	var es []Example
	for len(es) < n {
		pos := rules.New(variants[len(es)%len(variants)])
		for range rng.IntN(60) {
			moves := pos.AppendMoves(nil)
			if len(moves) == 0 {
				break
			}
			pos.Play(moves[rng.IntN(len(moves))])
		}
		legal := pos.AppendMoves(nil)
		if len(legal) == 0 {
			continue
		}
		e := Example{Planes: net.AppendPlanes(nil, &pos), Legal: legal, PolicyWeight: float32(len(es)%3) / 2, ValueWeight: 1, Rings: rng.IntN(net.NumRings)}
		if len(es)%5 == 4 {
			e.ValueWeight = 0.25
		}
		e.Policy = distribution(rng, len(legal))
		copy(e.WDL[:], distribution(rng, net.NumWDL))
		e.ReplyLegal = someMoves(rng)
		e.Reply, e.ReplyWeight = distribution(rng, len(e.ReplyLegal)), float32((len(es)+1)%3)/2
		for i := range e.Owners {
			e.Owners[i] = uint8(rng.IntN(net.NumOwners))
		}
		e.Plies, e.EndWeight = rng.IntN(net.NumPlies), 1
		if len(es)%5 == 3 {
			e.EndWeight = 0.5
		}
		es = append(es, e)
	}
	return es
}

// someMoves are one to 40 different Moves, ascending.
func someMoves(rng *rand.Rand) []rules.Move {
	var moves []rules.Move
	for range 1 + rng.IntN(40) {
		moves = append(moves, rules.Move(rng.IntN(rules.NumMoves)))
	}
	slices.Sort(moves)
	return slices.Compact(moves)
}

func distribution(rng *rand.Rand, n int) []float32 {
	p, sum := make([]float32, n), float32(0)
	for i := range p {
		p[i] = float32(rng.ExpFloat64())
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

func small() rules.Variant {
	v := rules.Standard()
	v.Radius = 4
	return v
}

var testLosses = Params{Replicas: 1, PolicyLoss: 1, ValueLoss: 0.7, RingsLoss: 0.3, ReplyLoss: 0.4, OwnershipLoss: 0.6, PliesLoss: 0.2}

func fill(t testing.TB, w *net.Weights, p Params, es []Example) *Graph {
	p.Batch = len(es)
	g, err := New(w, p)
	if err != nil {
		t.Fatal(err)
	}
	for i := range es {
		g.Set(i, &es[i])
	}
	return g
}

// TestGradients compares the whole graph, on every instruction set, with the losses of a plain float64 network and
// with their central differences: at random places of every tensor, and along the gradient itself.
func TestGradients(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	for _, arch := range []string{"32x1", "32x2p", "32x1-rings-ownership", "32x1-reply-plies"} {
		rng := newRand(1)
		w := randomWeights(t, arch, rng)
		es := examples(rng, 3, rules.Standard(), small())
		ref := newReference(w)
		want := ref.loss(testLosses, es)
		numeric := map[string]map[int]float64{}
		for _, x := range w.Tensors() {
			numeric[x.Name] = map[int]float64{}
			for range 5 {
				i := rng.IntN(len(x.Data))
				numeric[x.Name][i] = ref.difference(testLosses, es, x.Name, i)
			}
		}
		for _, set := range kernel.All() {
			p := testLosses
			p.Batch = len(es)
			g, err := newGraph(w, p, set)
			if err != nil {
				t.Fatal(err)
			}
			for i := range es {
				g.Set(i, &es[i])
			}
			got, err := g.Gradients(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if !(math.Abs(got.Total-want.Total) <= 1e-5*want.Total) {
				t.Errorf("%s %s: total loss %.7g, want %.7g", arch, set.Name(), got.Total, want.Total)
			}
			for i, l := range byLoss(got) {
				if w := byLoss(want)[i]; !(math.Abs(l-w) <= 1e-5*w) {
					t.Errorf("%s %s: %s loss %.7g, want %.7g", arch, set.Name(), lossNames[i], l, w)
				}
			}
			for _, x := range w.Tensors() {
				grad := g.Gradient(x.Name)
				scale := 0.0
				for _, v := range grad {
					scale = max(scale, math.Abs(float64(v)))
				}
				if scale == 0 {
					t.Errorf("%s %s: no gradient reaches %s", arch, set.Name(), x.Name)
				}
				for i, d := range numeric[x.Name] {
					if e := math.Abs(float64(grad[i])-d) / scale; !(e < 1e-4) {
						t.Errorf("%s %s: d/d%s[%d] = %.7g, differences give %.7g", arch, set.Name(), x.Name, i, grad[i], d)
					}
				}
			}
		}
	}
}

// byLoss are the parts of the losses.
func byLoss(l Losses) [numLosses]float64 {
	return [numLosses]float64{l.Policy, l.Value, l.Rings, l.Reply, l.Ownership, l.Plies}
}

// heads are the tensors' prefixes of the head that each loss belongs to, and for the auxiliary ones their bit.
var heads = [numLosses]struct {
	prefix string
	bit    net.Heads
}{{net.PolicyHead, 0}, {net.WDLHead, 0}, {net.RingsHead, net.Rings}, {net.ReplyHead, net.Reply}, {net.OwnershipHead, net.Ownership}, {net.PliesHead, net.Plies}}

// only are Params with one loss alone.
func only(loss int) Params {
	p := Params{Replicas: 1}
	*[numLosses]*float64{&p.PolicyLoss, &p.ValueLoss, &p.RingsLoss, &p.ReplyLoss, &p.OwnershipLoss, &p.PliesLoss}[loss] = 1
	return p
}

// TestEachLossReachesTheTrunk: with one loss alone, every tensor of the trunk and of its head has a gradient and no other
// head's has. Without its head it has no tensors, and nothing has a gradient.
func TestEachLossReachesTheTrunk(t *testing.T) {
	rng := newRand(2)
	whole := randomWeights(t, "32x2p", rng)
	es := examples(rng, 4, rules.Standard())
	for loss, name := range lossNames {
		w := whole
		for _, without := range []bool{false, true} {
			if without {
				a := whole.Arch()
				if a.Without = heads[loss].bit; a.Without == 0 {
					continue
				}
				w = net.Init(a, rng)
			}
			g := fill(t, w, only(loss), es)
			l, err := g.Gradients(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if (byLoss(l)[loss] == 0) != without || math.Abs(l.Total) > 0 == without {
				t.Errorf("%v, %s loss alone: losses %+v", w.Arch(), name, l)
			}
			for _, x := range w.Tensors() {
				n := 0
				for _, v := range g.Gradient(x.Name) {
					if v != 0 {
						n++
					}
				}
				head := slices.IndexFunc(heads[:], func(h struct {
					prefix string
					bit    net.Heads
				}) bool {
					return strings.HasPrefix(x.Name, h.prefix)
				})
				onWay := head == loss || head < 0 && (!strings.HasPrefix(x.Name, net.ValueDense) || loss == lossWDL || loss == lossRings || loss == lossPlies)
				switch {
				case without && head == loss:
					t.Errorf("%v has the tensor %s", w.Arch(), x.Name)
				case (without || !onWay) && n > 0:
					t.Errorf("%v, %s loss alone: %d gradients of %s are not zero", w.Arch(), name, n, x.Name)
				case !without && onWay && n < x.Len()/8:
					t.Errorf("%v, %s loss alone: only %d of %d gradients of %s are not zero", w.Arch(), name, n, x.Len(), x.Name)
				}
			}
		}
	}
}

// train takes steps of AdamW on one batch and returns the last losses.
func train(t testing.TB, g *Graph, steps int, lr float64) Losses {
	p := DefaultSolverParams()
	p.Decay, p.Clip = 0, 0
	s, err := NewSolver(g.weights, p)
	if err != nil {
		t.Fatal(err)
	}
	s.LR = lr
	var l Losses
	for range steps {
		if l, err = g.Gradients(context.Background()); err != nil {
			t.Fatal(err)
		}
		if _, err = g.Step(s); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// lessons are Positions among the last 30 plies of random standard games, each with the targets of every head: what the
// games decided is true to them, and policies are two Moves drawn, with 3/4 and 1/4. It returns the targets' entropies, which
// are the least that the losses can be.
func lessons(t *testing.T, rng *rand.Rand, n int) (es []Example, entropies [numLosses]float64) {
	t.Helper()
	policy := func(n int) []float32 {
		p := make([]float32, n)
		p[rng.IntN(n)] += 0.75
		p[rng.IntN(n)] += 0.25
		return p
	}
	for len(es) < n {
		game := rules.RandomGame(rules.Standard(), rules.Uniform, rng)
		all := []rules.Position{rules.New(game.Variant)}
		for i, m := range game.Moves {
			next := all[i]
			next.Play(m)
			all = append(all, next)
		}
		plies := len(game.Moves)
		end := &all[plies]
		result, _ := end.Result()
		for _, left := range rng.Perm(30)[:4] {
			i := plies - 1 - left
			pos := &all[i]
			own := pos.ToMove()
			e := Example{Planes: net.AppendPlanes(nil, pos), Legal: pos.AppendMoves(nil), PolicyWeight: 1, ValueWeight: 1, EndWeight: 1}
			e.Policy = policy(len(e.Legal))
			value := result.Outcome.Value()
			if own == rules.Black {
				value = -value
			}
			e.WDL = [net.NumWDL]float32{0: 0.125, 2: 0.125}
			e.WDL[1-int(value)] += 0.75
			e.Rings = end.Taken(own) - end.Taken(own.Other()) + 3
			for j := i + 1; j < plies && e.ReplyWeight == 0; j++ {
				if all[j].ToMove() != own {
					e.ReplyLegal, e.ReplyWeight = all[j].AppendMoves(nil), 1
					e.Reply = policy(len(e.ReplyLegal))
				}
			}
			for cell := range e.Owners {
				e.Owners[cell] = 1
			}
			for _, pt := range end.AppendMarkers(nil, own) {
				e.Owners[pt.Grid()] = 0
			}
			for _, pt := range end.AppendMarkers(nil, own.Other()) {
				e.Owners[pt.Grid()] = 2
			}
			e.Plies = (plies - i) / net.PliesStep
			es = append(es, e)
		}
	}
	var weights [numLosses]float64
	for i := range es[:n] {
		e := &es[i]
		for loss, target := range map[int][]float32{lossPolicy: e.Policy, lossWDL: e.WDL[:], lossReply: e.Reply} {
			if len(target) > 0 {
				weights[loss]++
			}
			for _, p := range target {
				if p > 0 {
					entropies[loss] -= float64(p) * math.Log(float64(p))
				}
			}
		}
	}
	for loss, w := range weights {
		entropies[loss] /= max(w, 1)
	}
	return es[:n], entropies
}

// TestOverfits: a small network learns 512 Positions by heart, every target of theirs.
func TestOverfits(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	const batch, epochs = 32, 60
	rng := newRand(3)
	es, entropies := lessons(t, rng, 512)
	a, err := net.ParseArch("64x3p")
	if err != nil {
		t.Fatal(err)
	}
	// The ownership's loss is a mean over 85 things to learn.
	g := fill(t, net.Init(a, rng), Params{
		Replicas: 2, PolicyLoss: 1, ValueLoss: 1, RingsLoss: 1, ReplyLoss: 1, OwnershipLoss: 10, PliesLoss: 1,
	}, es[:batch])
	p := DefaultSolverParams()
	p.Decay = 0
	s, err := NewSolver(g.weights, p)
	if err != nil {
		t.Fatal(err)
	}
	var sums [numLosses]float64
	for epoch := range epochs {
		sums = [numLosses]float64{}
		s.LR = 3e-3 * (1 + math.Cos(math.Pi*float64(epoch)/epochs)) / 2
		order := rng.Perm(len(es))
		for len(order) > 0 {
			for row, i := range order[:batch] {
				g.Set(row, &es[i])
			}
			order = order[batch:]
			l, err := g.Gradients(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := g.Step(s); err != nil {
				t.Fatal(err)
			}
			for i, v := range byLoss(l) {
				sums[i] += v * batch / float64(len(es))
			}
		}
	}
	for i, sum := range sums {
		above := sum - entropies[i]
		t.Logf("%s loss %.3f, %.3f above the targets' entropy", lossNames[i], sum, above)
		if !(above < 0.05) {
			t.Errorf("%s loss %.3f is %.3f above the targets' entropy: want less than 0.05", lossNames[i], sum, above)
		}
	}
}

// TestSameBits: same examples, same bits, whatever the number of replicas: with as many lanes as there can be, whole
// micro-batches in each, and with fewer and a micro-batch that is not full.
func TestSameBits(t *testing.T) {
	rng := newRand(4)
	start := randomWeights(t, "32x2p", rng)
	es := examples(rng, 128, rules.Standard(), small())
	for _, c := range []struct{ rows, lanes int }{{128, maxLanes}, {71, 3}} {
		var first *net.Weights
		for _, replicas := range []int{1, 2, 2, 3, 4} {
			p := testLosses
			p.Replicas = replicas
			w := start.Clone()
			g := fill(t, w, p, es[:c.rows])
			if len(g.lanes) != c.lanes || len(g.replicas) != min(replicas, c.lanes) {
				t.Fatalf("%d rows, %d replicas: %d lanes on %d replicas, want %d lanes", c.rows, replicas, len(g.lanes), len(g.replicas), c.lanes)
			}
			train(t, g, 3, 1e-3)
			if first == nil {
				first = w
			} else if !w.Equal(first) {
				t.Errorf("%d rows, %d replicas: other weights than with one", c.rows, replicas)
			}
		}
		if first.Equal(start) {
			t.Error("training changed nothing")
		}
	}
}

// TestMicroBatches: the gradient of a batch is the mean of those of its rows, wherever the batch is cut: here into seven
// micro-batches, the last of which is not full, in four lanes.
func TestMicroBatches(t *testing.T) {
	rng := newRand(5)
	w := randomWeights(t, "32x2p", rng)
	es := examples(rng, 101, rules.Standard(), small())
	whole := fill(t, w, testLosses, es)
	if len(whole.micros) != 7 || len(whole.lanes) != maxLanes {
		t.Fatalf("%d micro-batches in %d lanes, want 7 in %d", len(whole.micros), len(whole.lanes), maxLanes)
	}
	got, err := whole.Gradients(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	total, sums := 0.0, map[string][]float64{}
	for _, x := range w.Tensors() {
		sums[x.Name] = make([]float64, x.Len())
	}
	one := fill(t, w, testLosses, es[:1])
	for i := range es {
		one.Set(0, &es[i])
		l, err := one.Gradients(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		total += l.Total / float64(len(es))
		for name, sum := range sums {
			for j, v := range one.Gradient(name) {
				sum[j] += float64(v) / float64(len(es))
			}
		}
	}
	if math.Abs(total-got.Total) > 1e-5*total {
		t.Errorf("loss of the batch %g, mean of the rows %g", got.Total, total)
	}
	for name, sum := range sums {
		for j, v := range whole.Gradient(name) {
			if !(math.Abs(float64(v)-sum[j]) < 1e-5) {
				t.Fatalf("%s: gradient %d of the batch %g, mean of the rows %g", name, j, v, sum[j])
			}
		}
	}
}

// TestNotFinite: nothing changes when a loss or a gradient is not finite, and training goes on afterwards.
func TestNotFinite(t *testing.T) {
	rng := newRand(7)
	w := randomWeights(t, "32x1", rng)
	es := examples(rng, 2, rules.Standard())
	g := fill(t, w, testLosses, es)
	s, err := NewSolver(w, DefaultSolverParams())
	if err != nil {
		t.Fatal(err)
	}
	before := w.Clone()

	bad := es[1]
	bad.PolicyWeight, bad.Policy = 1, append([]float32(nil), bad.Policy...)
	bad.Policy[0] = float32(math.Inf(1))
	g.Set(1, &bad)
	if _, err := g.Gradients(context.Background()); !errors.Is(err, ErrNotFinite) {
		t.Errorf("infinite target: got error %v", err)
	}
	if _, err := g.Step(s); err == nil {
		t.Error("a step without gradients was taken")
	}

	g.Set(1, &es[1])
	if _, err := g.Gradients(context.Background()); err != nil {
		t.Fatal(err)
	}
	grad := g.Gradient(net.WDLHead + net.WeightName)
	kept := grad[3]
	grad[3] = float32(math.NaN())
	if _, err := g.Step(s); !errors.Is(err, ErrNotFinite) {
		t.Errorf("gradient NaN: got error %v", err)
	}
	if !w.Equal(before) || s.steps != 0 {
		t.Error("a step that failed changed something")
	}
	grad[3] = kept
	if _, err := g.Step(s); err != nil {
		t.Error(err)
	}
	if w.Equal(before) {
		t.Error("a good step changed nothing")
	}
	if _, err := g.Step(s); err == nil {
		t.Error("the same gradients were applied twice")
	}
}

func TestGradientsErrors(t *testing.T) {
	rng := newRand(8)
	w := randomWeights(t, "32x1", rng)
	es := examples(rng, 2, rules.Standard())
	p := testLosses
	p.Batch = 2
	g, err := New(w, p)
	if err != nil {
		t.Fatal(err)
	}
	g.Set(0, &es[0])
	if _, err := g.Gradients(context.Background()); err == nil {
		t.Error("gradients of a batch with an empty row")
	}
	g.Set(1, &es[1])
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := g.Gradients(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got error %v", err)
	}
	for _, p := range []Params{{}, {Batch: 1, Replicas: 1, PolicyLoss: -1}, {Batch: 1, Replicas: 1, ValueLoss: math.NaN()}, {Batch: -3, Replicas: 1}} {
		if _, err := New(w, p); err == nil {
			t.Errorf("params %+v: no error", p)
		}
	}
	other, err := NewSolver(w.Clone(), DefaultSolverParams())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Gradients(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Step(other); err == nil {
		t.Error("a solver for other weights took a step")
	}

	// Gradients are good until the next are asked for, or a row is set.
	solver, err := NewSolver(w, DefaultSolverParams())
	if err != nil {
		t.Fatal(err)
	}
	before := w.Clone()
	if _, err := g.Gradients(ctx); err == nil {
		t.Error("cancelled: no error")
	}
	if _, err := g.Step(solver); err == nil {
		t.Error("a step with gradients of before the cancelled ones")
	}
	if _, err := g.Gradients(context.Background()); err != nil {
		t.Fatal(err)
	}
	g.Set(0, &es[1])
	if _, err := g.Step(solver); err == nil {
		t.Error("a step with gradients of another batch")
	}
	if !w.Equal(before) || solver.Steps() != 0 {
		t.Error("a step that was refused changed something")
	}
}

// A countdown is a context that ends when it has been asked so many times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestGradientsAfterCancel: what a batch that was cancelled half-way has left is no part of the next gradients.
func TestGradientsAfterCancel(t *testing.T) {
	rng := newRand(16)
	w := randomWeights(t, "32x1", rng)
	es := examples(rng, 40, rules.Standard()) // a lane of one micro-batch and one of two
	g, fresh := fill(t, w, testLosses, es), fill(t, w, testLosses, es)
	if _, err := g.Gradients(&countdown{context.Background(), 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got error %v", err)
	}
	for _, x := range []*Graph{g, fresh} {
		if _, err := x.Gradients(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range w.Tensors() {
		if !slices.Equal(g.Gradient(x.Name), fresh.Gradient(x.Name)) {
			t.Errorf("%s: another gradient than without the cancelled one", x.Name)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	for _, arch := range []string{"32x4", "32x4p", "64x6", "64x6p"} {
		b.Run(arch, func(b *testing.B) {
			rng := newRand(9)
			w := randomWeights(b, arch, rng)
			g := fill(b, w, testLosses, examples(rng, 256, rules.Standard()))
			s, err := NewSolver(w, DefaultSolverParams())
			if err != nil {
				b.Fatal(err)
			}
			s.LR = 1e-4
			for b.Loop() {
				if _, err := g.Gradients(context.Background()); err != nil {
					b.Fatal(err)
				}
				if _, err := g.Step(s); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*256)/b.Elapsed().Seconds(), "positions/s")
		})
	}
}
