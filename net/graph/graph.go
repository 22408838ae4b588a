package graph

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"gorgonia.org/tensor"

	"yinshzero/net"
	"yinshzero/net/kernel"
	"yinshzero/rules"
)

// ErrNotFinite is wrapped by the errors of [Graph.Gradients] and [Graph.Step] when a loss or a gradient is infinite or
// not a number. The weights are then as they were.
var ErrNotFinite = errors.New("not finite")

// An Example is one Position to learn from, in the view of its side to move.
type Example struct {
	Planes       []float32    // net.PlaneLen numbers, as net.AppendPlanes makes them
	Legal        []rules.Move // the legal Moves, at most rules.MaxMoves
	Policy       []float32    // len(Legal) probabilities that sum to 1; ignored if PolicyWeight is 0
	PolicyWeight float32      // weight of the policy loss; 0: no policy target
	WDL          [3]float32   // probabilities of win, draw and loss; sum to 1
	Rings        int          // class 0 to 6 of the final difference of rings taken, own − other, plus 3
	ValueWeight  float32      // weight of the value and the rings loss
}

// Params says how a Graph trains.
type Params struct {
	Batch      int     // rows of a batch, at least 1
	Replicas   int     // goroutines, 1 or more; the results do not depend on them, and more than four do not help
	PolicyLoss float64 // weight of the policy loss in the total, at least 0
	ValueLoss  float64 // weight of the win-draw-loss loss
	RingsLoss  float64 // weight of the rings loss
}

// Validate returns an error that joins all faults.
func (p Params) Validate() error {
	var errs []error
	if p.Batch < 1 || p.Batch > maxBatch {
		errs = append(errs, fmt.Errorf("batch is %d: want 1 to %d", p.Batch, maxBatch))
	}
	if p.Replicas < 1 || p.Replicas > maxReplicas {
		errs = append(errs, fmt.Errorf("replicas are %d: want 1 to %d", p.Replicas, maxReplicas))
	}
	for _, l := range []struct {
		name  string
		value float64
	}{{"policy", p.PolicyLoss}, {"value", p.ValueLoss}, {"rings", p.RingsLoss}} {
		if !(l.value >= 0 && l.value <= maxLossWeight) {
			errs = append(errs, fmt.Errorf("weight of the %s loss is %g: want 0 to %g", l.name, l.value, float64(maxLossWeight)))
		}
	}
	return errors.Join(errs...)
}

const (
	maxBatch      = 1 << 16
	maxReplicas   = 64
	maxLossWeight = 1e3
)

// Losses are what a batch cost.
type Losses struct {
	Total  float64 // what is minimised: the weighted sum, per row of the batch
	Policy float64 // cross-entropy per unit of policy weight; 0 if the batch has none
	Value  float64 // cross-entropy of win, draw, loss per unit of value weight
	Rings  float64 // cross-entropy of the rings' difference per unit of value weight
}

const (
	// microRows bounds the rows of a micro-batch, whose activations then fit the cache.
	microRows = 16
	// maxLanes bounds the partial sums of the gradients. A lane is a run of micro-batches that one replica sums up;
	// the lanes are summed in their order.
	maxLanes = 4
)

// A Graph holds a batch and its gradients and trains a net.Weights in place. It belongs to one goroutine; its replicas
// run only inside Gradients.
type Graph struct {
	shared
	params   Params
	micros   []*rows
	lanes    []map[string][]float32 // partial gradients by tensor; the first lane ends with the sum
	replicas []*replica
	set      []bool // rows that were filled
	ready    bool   // the first lane holds the gradients of the current weights
}

// rows are the inputs of one micro-batch.
type rows struct {
	inputs [numInputs]*tensor.Dense
	data   [numInputs][]float32 // their backing
	places [][]place            // of the legal Moves
	cells  [][]int              // of the Variant's board, ascending points
	weight [numLosses][]float64 // of every row in the losses reported
}

func newRows(size int) *rows {
	m := &rows{places: make([][]place, size), cells: make([][]int, size)}
	for i, width := range inputWidths {
		m.data[i] = kernel.Alloc(size * width)
		m.inputs[i] = tensor.New(tensor.WithShape(size, width), tensor.WithBacking(m.data[i]))
	}
	for i := range m.weight {
		m.weight[i] = make([]float64, size)
	}
	for i := range size { // rows that no Example fills weigh nothing, yet are computed
		m.places[i] = make([]place, 0, rules.MaxMoves)
		m.cells[i] = kernel.Grid[:]
	}
	return m
}

// row is the part of input i that belongs to a row.
func (m *rows) row(i, row int) []float32 { return m.data[i][row*inputWidths[i]:][:inputWidths[i]] }

// New builds the replicas for w, which it will change in place.
func New(w *net.Weights, p Params) (*Graph, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("make training graph: %w", err)
	}
	set, err := kernel.Best()
	if err != nil {
		return nil, fmt.Errorf("make training graph: %w", err)
	}
	return newGraph(w, p, set)
}

func newGraph(w *net.Weights, p Params, set *kernel.Set) (*Graph, error) {
	a := w.Arch()
	g := &Graph{params: p, set: make([]bool, p.Batch)}
	g.shared = shared{weights: w, arch: a, set: set, planes: kernel.Alloc(net.PolicyPlanes * a.Channels)}
	g.layers = append(g.layers, newLayer(set, w, net.InputConv, false))
	for i := range a.Blocks {
		g.layers = append(g.layers, newLayer(set, w, net.Block(i)+net.Conv1, true), newLayer(set, w, net.Block(i)+net.Conv2, true))
	}
	g.globals, g.value = newProduct(set, w, net.GlobalsFC, 0), newProduct(set, w, net.ValueDense+net.WeightName, a.PoolLen())
	g.pools = make([]*product, a.Blocks)
	for i := range g.pools {
		if a.Pools(i) {
			g.pools[i] = newProduct(set, w, net.Block(i)+net.PoolFC, a.PoolLen())
		}
	}
	n := (p.Batch + microRows - 1) / microRows
	size := (p.Batch + n - 1) / n
	for range n {
		g.micros = append(g.micros, newRows(size))
	}
	for range min(n, maxLanes) {
		lane := make(map[string][]float32)
		for _, t := range w.Tensors() {
			lane[t.Name] = make([]float32, t.Len())
		}
		g.lanes = append(g.lanes, lane)
	}
	scale := 1 / float64(p.Batch)
	for range min(p.Replicas, len(g.lanes)) {
		r, err := newReplica(g.shared, size, [numLosses]float64{p.PolicyLoss * scale, p.ValueLoss * scale, p.RingsLoss * scale})
		if err != nil {
			return nil, fmt.Errorf("make training graph: %w", err)
		}
		g.replicas = append(g.replicas, r)
	}
	return g, nil
}

// Weights returns the weights that g trains.
func (g *Graph) Weights() *net.Weights { return g.weights }

// Set copies e into a row of the batch, 0 ≤ row < Batch. An Example whose slices have the wrong lengths, or whose
// Rings are out of range, is the caller's bug and panics.
func (g *Graph) Set(row int, e *Example) {
	if len(e.Planes) != net.PlaneLen || len(e.Legal) > rules.MaxMoves || e.Rings < 0 || e.Rings >= net.NumRings ||
		(e.PolicyWeight != 0 && len(e.Policy) != len(e.Legal)) {
		panic(fmt.Sprintf("graph: example with %d planes, %d legal moves, %d policy numbers, rings class %d",
			len(e.Planes), len(e.Legal), len(e.Policy), e.Rings))
	}
	size := len(g.micros[0].places)
	m, i := g.micros[row/size], row%size
	kernel.ToBlocks(m.row(inPlanes, i), e.Planes, net.NumPlanes)
	copy(m.row(inGlobals, i), e.Planes[net.NumPlanes*net.Cells:])
	m.cells[i] = boardCells(m.cells[i], e.Planes[net.PlaneBoard*net.Cells:][:net.Cells])

	m.places[i] = m.places[i][:0]
	policy := m.row(inPolicy, i)
	clear(policy)
	for k, move := range e.Legal {
		plane, cell := net.PolicyIndex(move)
		m.places[i] = append(m.places[i], place{uint8(plane), uint8(cell)})
		if e.PolicyWeight != 0 {
			policy[k] = e.Policy[k] * e.PolicyWeight
		}
	}
	for k, p := range e.WDL {
		m.row(inWDL, i)[k] = p * e.ValueWeight
	}
	rings := m.row(inRings, i)
	clear(rings)
	rings[e.Rings] = e.ValueWeight
	m.weight[lossPolicy][i] = float64(e.PolicyWeight)
	m.weight[lossWDL][i], m.weight[lossRings][i] = float64(e.ValueWeight), float64(e.ValueWeight)
	g.set[row], g.ready = true, false
}

// boardCells lists the cells where the plane of the board is set; for the full board that is kernel.Grid itself. It
// reuses old where it can.
func boardCells(old []int, plane []float32) []int {
	n := 0
	for _, c := range kernel.Grid {
		if plane[c] != 0 {
			n++
		}
	}
	if n == kernel.Points || n == 0 {
		return kernel.Grid[:]
	}
	if len(old) == kernel.Points {
		old = nil
	}
	cells := old[:0]
	for _, c := range kernel.Grid {
		if plane[c] != 0 {
			cells = append(cells, c)
		}
	}
	return cells
}

// Gradients computes the losses of the batch and their gradients with respect to the current weights. Every row must
// have been set. When ctx ends it returns its error, between two micro-batches.
func (g *Graph) Gradients(ctx context.Context) (Losses, error) {
	g.ready = false
	for i, ok := range g.set {
		if !ok {
			return Losses{}, fmt.Errorf("compute gradients: row %d of the batch was never set", i)
		}
	}
	g.pack()
	sums := make([][numLosses]float64, len(g.lanes))
	errs := make([]error, len(g.replicas))
	var next atomic.Int64
	var wg sync.WaitGroup
	for i, r := range g.replicas {
		wg.Go(func() {
			for errs[i] == nil {
				l := int(next.Add(1)) - 1
				if l >= len(g.lanes) {
					return
				}
				errs[i] = g.lane(ctx, r, l, &sums[l])
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return Losses{}, fmt.Errorf("compute gradients: %w", err)
	}
	total := sums[0]
	for l := 1; l < len(g.lanes); l++ {
		for i, v := range sums[l] {
			total[i] += v
		}
		for _, t := range g.weights.Tensors() {
			sum := g.lanes[0][t.Name]
			for i, v := range g.lanes[l][t.Name] {
				sum[i] += v
			}
		}
	}
	losses := g.report(total)
	if !finite(losses.Total) {
		return losses, fmt.Errorf("compute gradients: total loss is %g: %w", losses.Total, ErrNotFinite)
	}
	g.ready = true
	return losses, nil
}

// pack brings everything derived from the weights up to date.
func (g *Graph) pack() {
	for _, l := range g.layers {
		l.pack()
	}
	g.globals.pack()
	g.value.pack()
	for _, p := range g.pools {
		if p != nil {
			p.pack()
		}
	}
	transpose(g.planes, g.weights.Tensor(net.PolicyHead+net.WeightName).Data, g.arch.Channels, net.PolicyPlanes)
}

// lane sums gradients and losses of lane l's micro-batches.
func (g *Graph) lane(ctx context.Context, r *replica, l int, sums *[numLosses]float64) error {
	n := len(g.micros)
	var err error
	for _, m := range g.micros[l*n/len(g.lanes) : (l+1)*n/len(g.lanes)] {
		if err = ctx.Err(); err != nil {
			break
		}
		if err = r.run(m, sums); err != nil {
			break
		}
	}
	return errors.Join(err, r.take(g.lanes[l])) // take even then: it leaves the replica without gradients
}

// report turns the unscaled sums into Losses.
func (g *Graph) report(sums [numLosses]float64) Losses {
	var weight [numLosses]float64
	for _, m := range g.micros {
		for i, w := range m.weight {
			for _, v := range w {
				weight[i] += v
			}
		}
	}
	mean := func(i int) float64 {
		if weight[i] == 0 {
			return 0
		}
		return sums[i] / weight[i]
	}
	p := g.params
	return Losses{
		Total:  (p.PolicyLoss*sums[lossPolicy] + p.ValueLoss*sums[lossWDL] + p.RingsLoss*sums[lossRings]) / float64(p.Batch),
		Policy: mean(lossPolicy), Value: mean(lossWDL), Rings: mean(lossRings),
	}
}

// Gradient returns the gradient of the tensor with a name, as the last Gradients computed it, in the tensor's shape. It
// is g's own and valid until the next Gradients.
func (g *Graph) Gradient(name string) []float32 { return g.lanes[0][name] }

// Step lets s change the weights by the last gradients and returns the gradients' global norm, before clipping. If the
// norm is not finite it returns an error that wraps [ErrNotFinite], and neither weights nor solver have changed. Each
// Gradients is good for one Step.
func (g *Graph) Step(s *Solver) (norm float64, err error) {
	if !g.ready {
		return 0, errors.New("take a training step: no gradients of the current batch and weights")
	}
	if s.weights != g.weights {
		return 0, errors.New("take a training step: the solver belongs to other weights")
	}
	norm, err = s.step(g.Gradient)
	if err != nil {
		return norm, fmt.Errorf("take a training step: %w", err)
	}
	g.ready = false
	return norm, nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
