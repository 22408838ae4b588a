package graph_test

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"yinshzero/net"
	"yinshzero/net/graph"
	"yinshzero/net/kernel"
	"yinshzero/rules"
)

// TestGraphAgainstProgram: the training graph and inference compute the same network, with and without pooling.
func TestGraphAgainstProgram(t *testing.T) {
	n := 40
	if testing.Short() {
		n = 8
	}
	for _, a := range []net.Arch{{Channels: 32, Blocks: 3}, {Channels: 32, Blocks: 4, Pooling: true}, {Channels: 96, Blocks: 2, Pooling: true}} {
		t.Run(a.String(), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 1))
			pair := newParity(t, a, rng)
			seen := map[rules.Phase]bool{}
			for i := 0; i < n; {
				pos := rules.New(rules.Variants()[rng.IntN(len(rules.Variants()))])
				for {
					if _, over := pos.Result(); over {
						break
					}
					if rng.IntN(20) == 0 || pos.Phase() >= rules.PhaseRemoveRow {
						pair.check(&pos)
						seen[pos.Phase()] = true
						i++
					}
					legal := pos.AppendMoves(nil)
					pos.Play(legal[rng.IntN(len(legal))])
				}
			}
			if len(seen) != 4 && !testing.Short() {
				t.Errorf("phases seen: %v", seen)
			}
			t.Logf("largest difference %.1e of the largest logit", pair.worst)
		})
	}
}

// TestGraphAgainstProgramOnRealPlay compares them on 1,000 positions from games of people and robots, on every
// instruction set of this machine.
func TestGraphAgainstProgramOnRealPlay(t *testing.T) {
	if testing.Short() {
		t.Skip("takes over a second")
	}
	file, err := os.Open("../../../shared/records/games.moves")
	if err != nil {
		t.Skip("no records of real games: ", err)
	}
	defer file.Close()
	var positions []rules.Position
	_, _, err = rules.ReadGames(file, func(g *rules.Game) error {
		pos := rules.New(g.Variant)
		for i, m := range g.Moves {
			if i%33 == len(positions)%33 {
				positions = append(positions, pos)
			}
			pos.Play(m)
		}
		return nil
	}, func(f rules.Fault) { t.Fatal(f) })
	if err != nil {
		t.Fatal(err)
	}
	if len(positions) < 1000 {
		t.Fatalf("%d positions: want 1000", len(positions))
	}
	for _, set := range kernel.All() {
		t.Run(set.Name(), func(t *testing.T) {
			t.Setenv("YINSHZERO_ISA", set.Name())
			pair := newParity(t, net.Arch{Channels: 32, Blocks: 2, Pooling: true}, rand.New(rand.NewPCG(1, 1)))
			if got := pair.program.ISA(); got != set.Name() {
				t.Fatalf("the program runs on %s", got)
			}
			for i := range 1000 {
				pair.check(&positions[i])
			}
			t.Logf("largest difference %.1e of the largest logit", pair.worst)
		})
	}
}

// A parity holds a graph and a program of the same weights.
type parity struct {
	t       *testing.T
	rng     *rand.Rand
	graph   *graph.Graph
	program *net.Program
	worst   float64 // difference, of the largest logit
}

func newParity(t *testing.T, a net.Arch, rng *rand.Rand) *parity {
	t.Helper()
	w := net.Init(a, rng)
	for _, tensor := range w.Tensors() { // so that no part is without effect
		for i := range tensor.Data {
			tensor.Data[i] += float32(0.1 * rng.NormFloat64())
		}
	}
	p, err := w.Compile()
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.New(w, graph.Params{Batch: 1, Replicas: 1, PolicyLoss: 1, ValueLoss: 1, RingsLoss: 1})
	if err != nil {
		t.Fatal(err)
	}
	return &parity{t: t, rng: rng, graph: g, program: p}
}

// check compares a random logit of each head. The graph tells its logits by its losses: with the whole target on one
// class, a loss is log Σ exp(logits) − logit.
func (x *parity) check(pos *rules.Position) {
	x.t.Helper()
	legal := pos.AppendMoves(nil)
	planes := net.AppendPlanes(nil, pos)
	out := net.Output{Logits: make([]float32, len(legal))}
	x.program.Forward(planes, legal, &out)
	move, wdl, rings := x.rng.IntN(len(legal)), x.rng.IntN(net.NumWDL), x.rng.IntN(net.NumRings)
	e := graph.Example{Planes: planes, Legal: legal, Policy: make([]float32, len(legal)), PolicyWeight: 1, Rings: rings, ValueWeight: 1}
	e.Policy[move], e.WDL[wdl] = 1, 1
	x.graph.Set(0, &e)
	l, err := x.graph.Gradients(context.Background())
	if err != nil {
		x.t.Fatal(err)
	}
	x.compare(pos, "policy", l.Policy, out.Logits[:len(legal)], move)
	x.compare(pos, "value", l.Value, out.WDL[:], wdl)
	x.compare(pos, "rings", l.Rings, out.Rings[:], rings)
}

func (x *parity) compare(pos *rules.Position, name string, got float64, logits []float32, class int) {
	x.t.Helper()
	sum, top := 0.0, 0.0
	for _, l := range logits {
		sum += math.Exp(float64(l - logits[class]))
		top = max(top, math.Abs(float64(l)))
	}
	d := math.Abs(got-math.Log(sum)) / top
	x.worst = max(x.worst, d)
	if !(d < 1e-4) {
		x.t.Errorf("%v: %s loss of class %d is %v, by the program %v; largest logit %v", pos, name, class, got, math.Log(sum), top)
	}
}
