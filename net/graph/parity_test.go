package graph_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"yinshzero/net"
	"yinshzero/net/graph"
	"yinshzero/rules"
)

// TestGraphAgainstProgram: the training graph and inference compute the same network. The graph tells its logits by its
// losses: with the whole target on one class, a loss is log Σ exp(logits) − logit.
func TestGraphAgainstProgram(t *testing.T) {
	for _, a := range []net.Arch{{Channels: 32, Blocks: 3}, {Channels: 32, Blocks: 4, Pooling: true}, {Channels: 96, Blocks: 2, Pooling: true}} {
		t.Run(a.String(), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 1))
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
			worst := 0.0
			check := func(pos *rules.Position, name string, got float64, logits []float32, class int) {
				sum, top := 0.0, 0.0
				for _, l := range logits {
					sum += math.Exp(float64(l - logits[class]))
					top = max(top, math.Abs(float64(l)))
				}
				d := math.Abs(got-math.Log(sum)) / top
				worst = max(worst, d)
				if !(d < 1e-4) {
					t.Errorf("%v: %s loss of class %d is %v, by the program %v; largest logit %v", pos, name, class, got, math.Log(sum), top)
				}
			}
			n := 40
			if testing.Short() {
				n = 8
			}
			seen := map[rules.Phase]bool{}
			for i := 0; i < n; {
				pos := rules.New(rules.Variants()[rng.IntN(len(rules.Variants()))])
				for {
					if _, over := pos.Result(); over {
						break
					}
					legal := pos.AppendMoves(nil)
					if rng.IntN(20) == 0 || pos.Phase() >= rules.PhaseRemoveRow {
						planes := net.AppendPlanes(nil, &pos)
						out := net.Output{Logits: make([]float32, len(legal))}
						p.Forward(planes, legal, &out)
						move, wdl, rings := rng.IntN(len(legal)), rng.IntN(net.NumWDL), rng.IntN(net.NumRings)
						e := graph.Example{Planes: planes, Legal: legal, Policy: make([]float32, len(legal)), PolicyWeight: 1, Rings: rings, ValueWeight: 1}
						e.Policy[move], e.WDL[wdl] = 1, 1
						g.Set(0, &e)
						l, err := g.Gradients(context.Background())
						if err != nil {
							t.Fatal(err)
						}
						check(&pos, "policy", l.Policy, out.Logits, move)
						check(&pos, "value", l.Value, out.WDL[:], wdl)
						check(&pos, "rings", l.Rings, out.Rings[:], rings)
						seen[pos.Phase()] = true
						i++
					}
					pos.Play(legal[rng.IntN(len(legal))])
				}
			}
			if len(seen) != 4 && !testing.Short() {
				t.Errorf("phases seen: %v", seen)
			}
			t.Logf("largest difference %.1e of the largest logit", worst)
		})
	}
}
