package infer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"yinshzero/internal/crash"
	"yinshzero/mcts"
	"yinshzero/net"
	"yinshzero/rules"
)

// program is a small network whose answers differ from Position to Position.
func program(t testing.TB) *net.Program {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	w := net.Init(net.Arch{Channels: 32, Blocks: 2, Pooling: true}, rng)
	for _, tensor := range w.Tensors() { // Init's heads say nearly nothing
		if !strings.HasPrefix(tensor.Name, "block.") && !strings.HasPrefix(tensor.Name, "input.") {
			for i := range tensor.Data {
				tensor.Data[i] += float32(0.2 * rng.NormFloat64())
			}
		}
	}
	p, err := w.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// positions are Positions of random games of all Variants that are not over.
func positions(n int) []rules.Position {
	rng := rand.New(rand.NewPCG(3, 4))
	var ps []rules.Position
	for i := 0; len(ps) < n; i++ {
		pos := rules.New(rules.Variants()[i%len(rules.Variants())])
		for {
			if _, over := pos.Result(); over {
				break
			}
			if rng.IntN(10) == 0 || pos.Phase() == rules.PhaseRemoveRow {
				ps = append(ps, pos)
			}
			moves := pos.AppendMoves(nil)
			pos.Play(moves[rng.IntN(len(moves))])
		}
	}
	return ps[:n]
}

func query(pos rules.Position) *mcts.Query {
	legal := pos.AppendMoves(nil)
	return &mcts.Query{Pos: pos, Legal: legal, Prior: make([]float32, len(legal))}
}

func ask(t testing.TB, e mcts.Evaluator, pos rules.Position) *mcts.Query {
	t.Helper()
	q := query(pos)
	if err := e.Evaluate(context.Background(), []*mcts.Query{q}); err != nil {
		t.Fatal(err)
	}
	return q
}

// same reports whether two answers agree up to the kernels' rounding.
func same(a, b *mcts.Query) bool {
	near := func(x, y float32) bool { return math.Abs(float64(x-y)) < 1e-5 }
	return near(a.Value, b.Value) && slices.EqualFunc(a.Prior, b.Prior, near)
}

// TestAgainstForward derives the answer from the Program by hand, in float64.
func TestAgainstForward(t *testing.T) {
	p := program(t)
	e := New(p.Clone(), Params{CacheSize: 7})
	signs := map[rules.Color]bool{}
	for _, pos := range positions(60) {
		q := ask(t, e, pos)
		out := net.Output{Logits: make([]float32, len(q.Legal))}
		p.Forward(net.AppendPlanes(nil, &pos), q.Legal, &out)
		prior, wdl := probabilities(out.Logits), probabilities(out.WDL[:])
		value := wdl[0] - wdl[2]
		if pos.ToMove() == rules.Black {
			value = -value
		}
		sum := 0.0
		for i := range prior {
			sum += float64(q.Prior[i])
			if math.Abs(float64(q.Prior[i])-prior[i]) > 1e-6 {
				t.Fatalf("%v: prior of %v is %v, want %v", &pos, q.Legal[i], q.Prior[i], prior[i])
			}
		}
		if math.Abs(sum-1) > 1e-5 {
			t.Errorf("%v: priors sum to %v", &pos, sum)
		}
		if math.Abs(float64(q.Value)-value) > 1e-6 {
			t.Errorf("%v: value %v, want %v", &pos, q.Value, value)
		}
		signs[pos.ToMove()] = true
	}
	if len(signs) != 2 {
		t.Error("the positions are all of one side")
	}
}

func probabilities(logits []float32) []float64 {
	p, sum := make([]float64, len(logits)), 0.0
	for i, l := range logits {
		p[i] = math.Exp(float64(l))
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// TestColours: with the colours exchanged the priors are the same and the value is the negative, to the bit.
func TestColours(t *testing.T) {
	e := New(program(t), Params{})
	for _, pos := range positions(60) {
		if pos.Phase() == rules.PhasePlaceRing {
			continue // White begins, so no game has it with the colours exchanged
		}
		swapped, err := swap(pos)
		if err != nil {
			t.Fatal(err)
		}
		a, b := ask(t, e, pos), ask(t, e, swapped)
		if !slices.Equal(a.Legal, b.Legal) || !slices.Equal(a.Prior, b.Prior) || a.Value != -b.Value {
			t.Errorf("%v and %v: values %v and %v", &pos, &swapped, a.Value, b.Value)
		}
	}
}

// swap exchanges the colours in a Position's text.
func swap(pos rules.Position) (rules.Position, error) {
	f := strings.Split(pos.String(), "/")
	colours := strings.NewReplacer("W", "B", "B", "W", "w", "b", "b", "w")
	f[0], f[1], f[6] = colours.Replace(f[0]), colours.Replace(f[1]), colours.Replace(f[6])
	white, black, _ := strings.Cut(f[4], "-")
	f[4] = black + "-" + white
	return rules.ParsePosition(strings.Join(f, "/"))
}

// TestSymmetry: a turned Position seen under symmetry s is the Position seen under s after the turn; so what Symmetry
// answers must be among the answers for the twelve images without it.
func TestSymmetry(t *testing.T) {
	p := program(t)
	plain := New(p.Clone(), Params{})
	e, other := New(p.Clone(), Params{Symmetry: true, Seed: 1}), New(p.Clone(), Params{Symmetry: true, Seed: 2})
	used := map[rules.Symmetry]bool{}
	unlike := 0 // for another seed
	for _, pos := range positions(120) {
		got := ask(t, e, pos)
		if !same(got, ask(t, other, pos)) {
			unlike++
		}
		found := false
		for s := range rules.Symmetry(rules.NumSymmetries) {
			image := ask(t, plain, s.Position(pos))
			back := query(pos)
			back.Value = image.Value
			for j, m := range back.Legal {
				k, ok := slices.BinarySearch(image.Legal, s.Move(m, pos.RowLength()))
				if !ok {
					t.Fatalf("%v: the image of %v under %d is not legal", &pos, m, s)
				}
				back.Prior[j] = image.Prior[k]
			}
			if same(got, back) {
				found, used[s] = true, true
			}
		}
		if !found {
			t.Errorf("%v: the answer is that of no image", &pos)
		}
	}
	if len(used) != rules.NumSymmetries || unlike < 80 {
		t.Errorf("%d symmetries were used, want all %d; %d of 120 answers differ under another seed", len(used), rules.NumSymmetries, unlike)
	}
}

// TestCache: with a cache of any size the answers are those without, to the bit, and repeats are hits. A hit is no
// evaluation by the network.
func TestCache(t *testing.T) {
	p := program(t)
	ps := positions(80)
	rng := rand.New(rand.NewPCG(5, 6))
	for _, size := range []int{1, 3, 1000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			plain := New(p.Clone(), Params{Symmetry: true, Seed: 9})
			cached := New(p.Clone(), Params{Symmetry: true, Seed: 9, CacheSize: size})
			asked := map[rules.Position]bool{}
			repeats := int64(0)
			for range 300 {
				pos := ps[rng.IntN(len(ps))]
				if asked[pos] {
					repeats++
				}
				asked[pos] = true
				a, b := ask(t, plain, pos), ask(t, cached, pos)
				if a.Value != b.Value || !slices.Equal(a.Prior, b.Prior) {
					t.Fatalf("%v: the cache changed the answer", &pos)
				}
			}
			n, hits := cached.Counts()
			if n+hits != 300 || hits > repeats || size == 1000 && hits < repeats*9/10 {
				t.Errorf("%d evaluations, %d hits of %d repeats", n, hits, repeats)
			}
			if n, hits := plain.Counts(); n != 300 || hits != 0 {
				t.Errorf("without a cache: %d evaluations, %d hits", n, hits)
			}
		})
	}
}

// TestCountsFromElsewhere reads the counts while evaluations run: for the race detector.
func TestCountsFromElsewhere(t *testing.T) {
	e := New(program(t), DefaultParams())
	done := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		var before int64
		for {
			select {
			case <-done:
				return
			default:
				n, hits := e.Counts()
				if n+hits < before || n+hits > 20 {
					t.Errorf("%d evaluations and %d hits after %d, of 20 queries", n, hits, before)
				}
				before = n + hits
			}
		}
	})
	for _, pos := range positions(20) {
		ask(t, e, pos)
	}
	close(done)
	reader.Wait()
	if n, hits := e.Counts(); n+hits != 20 {
		t.Errorf("%d evaluations and %d hits, of 20 queries", n, hits)
	}
}

// TestClones evaluates on several goroutines over the same packed weights.
func TestClones(t *testing.T) {
	p := program(t)
	ps := positions(20)
	want := New(p, Params{})
	var wants []*mcts.Query
	for _, pos := range ps {
		wants = append(wants, ask(t, want, pos))
	}
	var all sync.WaitGroup
	for range 3 {
		e := New(p.Clone(), Params{})
		all.Go(func() {
			for i, pos := range ps {
				q := query(pos)
				if err := e.Evaluate(context.Background(), []*mcts.Query{q}); err != nil {
					t.Error(err)
				}
				if q.Value != wants[i].Value || !slices.Equal(q.Prior, wants[i].Prior) {
					t.Errorf("%v: another goroutine got another answer", &pos)
				}
			}
		})
	}
	all.Wait()
}

// TestCores: shared out to several goroutines a batch gets the answers it gets on one, to the bit, and leaves the same
// cache; a fault in one part is reported.
func TestCores(t *testing.T) {
	p := program(t)
	ps := positions(90)
	params := Params{Symmetry: true, CacheSize: 50, AverageRoot: true, Seed: 3}
	one := New(p.Clone(), params)
	params.Cores = 3
	several := New(p.Clone(), params)
	for first := 0; first < len(ps); {
		var a, b []*mcts.Query
		for range min(1+first%17, len(ps)-first) {
			for range 2 { // every Position twice
				x, y := query(ps[first]), query(ps[first])
				x.Root, y.Root = first%7 == 0, first%7 == 0
				a, b = append(a, x), append(b, y)
			}
			first++
		}
		if err := errors.Join(one.Evaluate(t.Context(), a), several.Evaluate(t.Context(), b)); err != nil {
			t.Fatal(err)
		}
		for i := range a {
			if a[i].Value != b[i].Value || !slices.Equal(a[i].Prior, b[i].Prior) {
				t.Fatalf("%v: several cores change the answer", &a[i].Pos)
			}
		}
		if !slices.Equal(one.cache, several.cache) {
			t.Fatal("several cores change the cache")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := several.Evaluate(ctx, []*mcts.Query{query(ps[88]), query(ps[87]), query(ps[1])}); !errors.Is(err, context.Canceled) {
		t.Errorf("finished context: error %v", err)
	}
}

// TestAverageRoot: the answer about a root is the mean of the answers about its twelve images, so the images of a root
// get the images of its answer. Other queries, and the cache, are as they are without.
func TestAverageRoot(t *testing.T) {
	p := program(t)
	plain := New(p.Clone(), Params{})
	e := New(p.Clone(), Params{Symmetry: true, AverageRoot: true, CacheSize: 100})
	root := func(pos rules.Position) *mcts.Query {
		q := query(pos)
		q.Root = true
		if err := e.Evaluate(t.Context(), []*mcts.Query{q}); err != nil {
			t.Fatal(err)
		}
		return q
	}
	for _, pos := range positions(20) {
		before := ask(t, e, pos)
		got := root(pos)
		mean := query(pos)
		for s := range rules.Symmetry(rules.NumSymmetries) {
			image := ask(t, plain, s.Position(pos))
			turned := root(s.Position(pos))
			mean.Value += image.Value / rules.NumSymmetries
			for i, m := range mean.Legal {
				k, _ := slices.BinarySearch(image.Legal, s.Move(m, pos.RowLength()))
				mean.Prior[i] += image.Prior[k] / rules.NumSymmetries
				if math.Abs(float64(turned.Prior[k]-got.Prior[i])) > 1e-5 {
					t.Fatalf("%v under %d: prior of %v is %v, was %v", &pos, s, m, turned.Prior[k], got.Prior[i])
				}
			}
			if math.Abs(float64(turned.Value-got.Value)) > 1e-5 {
				t.Fatalf("%v under %d: value %v, was %v", &pos, s, turned.Value, got.Value)
			}
		}
		if !same(got, mean) {
			t.Errorf("%v: the answer is not the mean", &pos)
		}
		if after := ask(t, e, pos); after.Value != before.Value || !slices.Equal(after.Prior, before.Prior) {
			t.Errorf("%v: the cache has the mean", &pos)
		}
	}
}

// turned is a Network that remembers what it is asked, and fails when it is told to.
type turned struct {
	Network
	asked  int
	fails  error
	breaks bool
}

func (n *turned) Forward(planes []float32, legal []rules.Move, out *net.Output) error {
	n.asked++
	if n.breaks {
		panic("broken")
	}
	if n.fails != nil {
		return n.fails
	}
	return n.Network.Forward(planes, legal, out)
}

// TestOver: any Network is asked as a Program is, one on each core, and answers the same; when it fails, the Position
// and its reason are told and nothing is remembered.
func TestOver(t *testing.T) {
	p := program(t)
	params := Params{Symmetry: true, CacheSize: 50, Cores: 2}
	var networks []*turned
	e := Over(func() Network {
		n := &turned{Network: Compiled(p)()}
		networks = append(networks, n)
		return n
	}, params)
	plain := New(p.Clone(), params)
	ps := positions(40)
	for _, pos := range ps {
		a, b := ask(t, e, pos), ask(t, plain, pos)
		if a.Value != b.Value || !slices.Equal(a.Prior, b.Prior) {
			t.Fatalf("%v: a Network of its own answers otherwise", &pos)
		}
	}
	if n, _ := e.Counts(); len(networks) != params.Cores || int64(networks[0].asked+networks[1].asked) != n {
		t.Errorf("%d Networks for %d cores, of which the first was asked %d times for %d evaluations", len(networks), params.Cores, networks[0].asked, n)
	}
	fails := errors.New("out of order")
	for _, n := range networks {
		n.fails = fails
	}
	for range 2 {
		q := query(rules.New(rules.Blitz()))
		if err := e.Evaluate(t.Context(), []*mcts.Query{q}); !errors.Is(err, fails) || !strings.Contains(err.Error(), q.Pos.String()) {
			t.Errorf("a Network that fails: error %v", err)
		}
	}
}

// TestPanic: a Network that panics on one of several cores does not end the process. The panic comes back as an error with the
// stack, nothing is remembered, and the next batch is answered as if nothing had happened.
func TestPanic(t *testing.T) {
	p := program(t)
	params := Params{CacheSize: 50, Cores: 2}
	var networks []*turned
	e := Over(func() Network { // all break: which of them gets a query is up to the scheduler
		n := &turned{Network: Compiled(p)(), breaks: true}
		networks = append(networks, n)
		return n
	}, params)
	batch := func() (qs []*mcts.Query) {
		for _, pos := range positions(40) {
			qs = append(qs, query(pos))
		}
		return qs
	}
	var caught *crash.Error
	if err := e.Evaluate(t.Context(), batch()); !errors.As(err, &caught) || !strings.Contains(string(caught.Stack), "turned") {
		t.Fatalf("got %v, want the panic", err)
	}
	for _, n := range networks {
		n.breaks = false
	}
	got, want := batch(), batch()
	if err := errors.Join(e.Evaluate(t.Context(), got), New(p.Clone(), params).Evaluate(t.Context(), want)); err != nil {
		t.Fatal(err)
	}
	if _, hits := e.Counts(); hits > 0 {
		t.Errorf("%d answers of a batch that failed are remembered", hits)
	}
	for i := range got {
		if !same(got[i], want[i]) {
			t.Fatalf("%v: another answer after a panic", &got[i].Pos)
		}
	}
}

// TestFaults: weights that overflow and a finished context give errors.
func TestFaults(t *testing.T) {
	w := net.Init(net.Arch{Channels: 32, Blocks: 1}, rand.New(rand.NewPCG(1, 1)))
	for i := range w.Tensor(net.PolicyHead + net.WeightName).Data {
		w.Tensor(net.PolicyHead + net.WeightName).Data[i] = 3e38
	}
	p, err := w.Compile()
	if err != nil {
		t.Fatal(err)
	}
	pos := rules.New(rules.Standard())
	err = New(p, Params{}).Evaluate(context.Background(), []*mcts.Query{query(pos)})
	if err == nil || !strings.Contains(err.Error(), "not finite") {
		t.Errorf("overflowing weights: error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := New(program(t), Params{}).Evaluate(ctx, []*mcts.Query{query(pos)}); err != context.Canceled {
		t.Errorf("finished context: error %v", err)
	}
	for _, cores := range []int{-1, maxCores + 1} {
		if (Params{Cores: cores}).Validate() == nil {
			t.Errorf("%d cores are valid", cores)
		}
	}
	for _, size := range []int{-1, maxCache + 1} {
		if (Params{CacheSize: size}).Validate() == nil {
			t.Errorf("a cache of %d positions is valid", size)
		}
	}
}

// TestSoftmax: by hand, as far apart as floats are, and what is not finite.
func TestSoftmax(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, test := range []struct{ in, want []float32 }{
		{[]float32{0}, []float32{1}},
		{[]float32{float32(math.Log(3)), 0}, []float32{0.75, 0.25}},
		{[]float32{3e38, -3e38, 3e38}, []float32{0.5, 0, 0.5}},
		{[]float32{1, -inf}, []float32{1, 0}},
		{[]float32{inf, 0}, nil},
		{[]float32{-inf, -inf}, nil},
		{[]float32{0, nan}, nil},
		{[]float32{nan, 0}, nil},
	} {
		got := slices.Clone(test.in)
		if ok := Softmax(got); ok != (test.want != nil) {
			t.Errorf("%v: finite: %v", test.in, ok)
		} else if ok && !slices.EqualFunc(got, test.want, func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-7 }) {
			t.Errorf("%v: %v, want %v", test.in, got, test.want)
		}
	}
}

func TestAllocs(t *testing.T) {
	for _, params := range []Params{{}, DefaultParams()} {
		e := New(program(t), params)
		var batch []*mcts.Query
		for _, pos := range positions(10) {
			batch = append(batch, query(pos))
		}
		if n := testing.AllocsPerRun(3, func() {
			clear(e.cache)
			if err := e.Evaluate(context.Background(), batch); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%+v: %v allocations per batch, want 0", params, n)
		}
	}
}

func BenchmarkEvaluate(b *testing.B) {
	e := New(program(b), Params{Symmetry: true})
	ps := positions(64)
	batch := make([]*mcts.Query, 1)
	var queries []*mcts.Query
	for _, pos := range ps {
		queries = append(queries, query(pos))
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		batch[0] = queries[i%len(queries)]
		if err := e.Evaluate(context.Background(), batch); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
