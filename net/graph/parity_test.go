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
	for _, a := range []net.Arch{{Channels: 32, Blocks: 3}, {Channels: 32, Blocks: 4, Pooling: true}, {Channels: 96, Blocks: 2, Pooling: true}, {Channels: 32, Blocks: 2, Without: net.Reply}} {
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
	g, err := graph.New(w, graph.Params{
		Batch: 1, Replicas: 1, PolicyLoss: 1, ValueLoss: 1, RingsLoss: 1, ReplyLoss: 1, OwnershipLoss: 1, PliesLoss: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &parity{t: t, rng: rng, graph: g, program: p}
}

// check compares a random logit of each head, of ownership one at every Point. The graph tells its logits by its losses:
// with the whole target on one class, a loss is log Σ exp(logits) − logit.
func (x *parity) check(pos *rules.Position) {
	x.t.Helper()
	legal, replies := pos.AppendMoves(nil), pos.AppendMoves(nil) // any Moves do for replies
	planes := net.AppendPlanes(nil, pos)
	out, more := net.Output{Logits: make([]float32, len(legal))}, net.Expectation{Reply: make([]float32, len(replies))}
	x.program.Forward(planes, legal, &out)
	x.program.Auxiliary(replies, &more)
	move, reply, wdl, rings, plies := x.rng.IntN(len(legal)), x.rng.IntN(len(replies)), x.rng.IntN(net.NumWDL), x.rng.IntN(net.NumRings), x.rng.IntN(net.NumPlies)
	e := graph.Example{
		Planes: planes, Legal: legal, Policy: make([]float32, len(legal)), PolicyWeight: 1, Rings: rings, ValueWeight: 1,
		ReplyLegal: replies, Reply: make([]float32, len(replies)), ReplyWeight: 1, Plies: plies, EndWeight: 1,
	}
	e.Policy[move], e.WDL[wdl], e.Reply[reply] = 1, 1, 1
	ownership, n := 0.0, 0.0
	for cell, on := range planes[net.PlaneBoard*net.Cells:][:net.Cells] {
		if on != 0 {
			e.Owners[cell] = uint8(x.rng.IntN(net.NumOwners))
			ownership += entropy(more.Ownership[cell][:], int(e.Owners[cell]))
			n++
		} else if more.Ownership[cell] != [net.NumOwners]float32{} {
			x.t.Errorf("%v: ownership of cell %d is %v off the board", pos, cell, more.Ownership[cell])
		}
	}
	x.graph.Set(0, &e)
	l, err := x.graph.Gradients(context.Background())
	if err != nil {
		x.t.Fatal(err)
	}
	x.compare(pos, "policy", l.Policy, out.Logits, move)
	x.compare(pos, "value", l.Value, out.WDL[:], wdl)
	x.compare(pos, "rings", l.Rings, out.Rings[:], rings)
	if x.program.Arch().Has(net.Reply) {
		x.compare(pos, "reply", l.Reply, more.Reply, reply)
	} else if l.Reply != 0 {
		x.t.Errorf("%v: without that head the reply loss is %v", pos, l.Reply)
	}
	x.compare(pos, "plies", l.Plies, more.Plies[:], plies)
	d := math.Abs(l.Ownership - ownership/n)
	x.worst = max(x.worst, d)
	if !(d < 1e-4) {
		x.t.Errorf("%v: ownership loss is %v, by the program %v", pos, l.Ownership, ownership/n)
	}
}

func (x *parity) compare(pos *rules.Position, name string, got float64, logits []float32, class int) {
	x.t.Helper()
	top := 0.0
	for _, l := range logits {
		top = max(top, math.Abs(float64(l)))
	}
	want := entropy(logits, class)
	d := math.Abs(got-want) / top
	x.worst = max(x.worst, d)
	if !(d < 1e-4) {
		x.t.Errorf("%v: %s loss of class %d is %v, by the program %v; largest logit %v", pos, name, class, got, want, top)
	}
}

// entropy is log Σ exp(logits) − logit of the class.
func entropy(logits []float32, class int) float64 {
	sum := 0.0
	for _, l := range logits {
		sum += math.Exp(float64(l - logits[class]))
	}
	return math.Log(sum)
}
