package graph

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"gorgonia.org/tensor"

	"yinshzero/internal/crash"
	"yinshzero/net"
	"yinshzero/net/kernel"
	"yinshzero/rules"
)

// ErrNotFinite is wrapped by the errors of [Graph.Gradients] and [Graph.Step] when a loss or a gradient is infinite or
// not a number. The weights are then as they were.
var ErrNotFinite = errors.New("not finite")

// An Example is one Position to learn from, in the view of its side to move. A target of weight 0 is ignored, and so is
// that of a head which the Arch is without.
type Example struct {
	Planes []float32    // net.PlaneLen numbers, as net.AppendPlanes makes them
	Legal  []rules.Move // the legal Moves, at most rules.MaxMoves

	Policy       []float32 // len(Legal) probabilities that sum to 1
	PolicyWeight float32   // weight of the policy loss; at least 0, as of all weights

	WDL         [net.NumWDL]float32 // probabilities of win, draw and loss; sum to 1
	Rings       int                 // class 0 to 6 of the final difference of rings taken, own − other, plus 3
	ValueWeight float32             // weight of the value and the rings loss

	ReplyLegal  []rules.Move // the legal Moves of the next Position in which the opponent is to move, at most rules.MaxMoves
	Reply       []float32    // len(ReplyLegal) probabilities that sum to 1
	ReplyWeight float32      // weight of the reply loss

	Owners    [net.Cells]uint8 // class 0 to 2 of every Point of the board at the game's end, by grid index: own marker, none, other's
	Plies     int              // class 0 to 15 of the plies left in the game
	EndWeight float32          // weight of the ownership and the plies loss
}

// Params says how a Graph trains. The weight of a loss whose head the Arch is without is of no effect.
type Params struct {
	Batch         int     // rows of a batch, at least 1
	Replicas      int     // goroutines, 1 or more; the results do not depend on them, and more than four, or than one for 32 rows, do not help
	PolicyLoss    float64 // weight of the policy loss in the total, at least 0
	ValueLoss     float64 // weight of the win-draw-loss loss
	RingsLoss     float64 // weight of the rings loss
	ReplyLoss     float64 // weight of the reply loss
	OwnershipLoss float64 // weight of the ownership loss
	PliesLoss     float64 // weight of the plies loss
	ForwardOnly   bool    // no gradients, at a third of the time: Losses tells what a batch costs, Gradients and Step refuse
}

// losses are the weights by loss.
func (p Params) losses() [numLosses]float64 {
	return [numLosses]float64{p.PolicyLoss, p.ValueLoss, p.RingsLoss, p.ReplyLoss, p.OwnershipLoss, p.PliesLoss}
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
	for i, w := range p.losses() {
		if !(w >= 0 && w <= maxLossWeight) {
			errs = append(errs, fmt.Errorf("weight of the %s loss is %g: want 0 to %g", lossNames[i], w, float64(maxLossWeight)))
		}
	}
	return errors.Join(errs...)
}

const (
	maxBatch      = 1 << 16
	maxReplicas   = 64
	maxLossWeight = 1e3
)

// Losses are what a batch cost. All but Total are means over the rows by their weights: 0 if the batch has none, or the
// Arch is without the head.
type Losses struct {
	Total     float64 // what is minimised: the weighted sum, per row of the batch
	Policy    float64 // cross-entropy of the policy
	Value     float64 // cross-entropy of win, draw, loss
	Rings     float64 // cross-entropy of the rings' difference
	Reply     float64 // cross-entropy of the opponent's policy
	Ownership float64 // cross-entropy of a Point's owner, the mean over the board
	Plies     float64 // cross-entropy of the plies left
}

// MeanLosses is the mean of some Losses, at least one, each of which counts alike.
func MeanLosses(all []Losses) (m Losses) {
	for _, l := range all {
		m.Total += l.Total
		m.Policy += l.Policy
		m.Value += l.Value
		m.Rings += l.Rings
		m.Reply += l.Reply
		m.Ownership += l.Ownership
		m.Plies += l.Plies
	}
	n := float64(len(all))
	return Losses{m.Total / n, m.Policy / n, m.Value / n, m.Rings / n, m.Reply / n, m.Ownership / n, m.Plies / n}
}

const (
	// maxLanes bounds the partial sums of the gradients. A lane is a run of micro-batches that one replica sums up;
	// the lanes are summed in their order.
	maxLanes = 4
	// laneRows is what a lane has at least: to hand out a lane's gradients costs about as much as four rows.
	laneRows = 32
)

// microRows bounds the rows of a micro-batch: for narrow networks so that its activations fit the cache, for others, whose
// packed weights do not, so that these are read for more rows at a time. Measured.
func microRows(channels int) int {
	if channels < 64 {
		return 16
	}
	return 32
}

// A Graph holds a batch and its gradients and trains a net.Weights in place. It belongs to one goroutine; its replicas
// run only inside Gradients.
type Graph struct {
	shared
	params   Params
	micros   []*rows
	lanes    []map[string][]float32 // partial gradients by tensor; the first lane ends with the sum
	replicas []*replica
	set      []bool             // rows that were filled
	ready    bool               // the first lane holds the gradients of the current weights
	size     int                // rows of a micro-batch
	scales   [numLosses]float64 // of the losses in the total

	scaled, transposed []float32 // scratch of a layer's pack
}

// rows are the inputs of one micro-batch.
type rows struct {
	inputs [numInputs]*tensor.Dense
	data   [numInputs][]float32    // their backing
	places [numMoveHeads][][]place // of the legal Moves
	cells  [][]int                 // of the Variant's board, ascending points
	owners [][net.Cells]uint8      // targets
	weight [numLosses][]float64    // of every row in the losses reported
}

func newRows(size int) *rows {
	m := &rows{cells: make([][]int, size), owners: make([][net.Cells]uint8, size)}
	for h := range m.places {
		m.places[h] = make([][]place, size)
		for i := range size {
			m.places[h][i] = make([]place, 0, rules.MaxMoves)
		}
	}
	for i, width := range inputWidths {
		m.data[i] = kernel.Alloc(size * width)
		m.inputs[i] = tensor.New(tensor.WithShape(size, width), tensor.WithBacking(m.data[i]))
	}
	for i := range m.weight {
		m.weight[i] = make([]float64, size)
	}
	for i := range size { // rows that no Example fills weigh nothing, yet are computed
		m.cells[i] = kernel.Grid[:]
	}
	return m
}

// row is the part of input i that belongs to a row.
func (m *rows) row(i, row int) []float32 { return m.data[i][row*inputWidths[i]:][:inputWidths[i]] }

// New builds the replicas for w, which it will change in place unless it goes forward only.
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
	g.shared = shared{weights: w, arch: a, set: set}
	g.moves[policyMoves] = newMoveHead(w, net.PolicyHead, policyMoves)
	if a.Has(net.Reply) {
		g.moves[replyMoves] = newMoveHead(w, net.ReplyHead, replyMoves)
	}
	g.layers = append(g.layers, newLayer(set, w, net.InputConv, false))
	for i := range a.Blocks {
		g.layers = append(g.layers, newLayer(set, w, net.Block(i)+net.Conv1, !p.ForwardOnly), newLayer(set, w, net.Block(i)+net.Conv2, !p.ForwardOnly))
	}
	g.globals, g.value = newProduct(set, w, net.GlobalsFC, 0), newProduct(set, w, net.ValueDense+net.WeightName, a.PoolLen())
	g.pools = make([]*product, a.Blocks)
	for i := range g.pools {
		if a.Pools(i) {
			g.pools[i] = newProduct(set, w, net.Block(i)+net.PoolFC, a.PoolLen())
		}
	}
	g.scaled, g.transposed = kernel.Alloc(g.longest()), kernel.Alloc(g.longest())
	n := ceil(p.Batch, microRows(a.Channels))
	g.size = ceil(p.Batch, n)
	for range n {
		g.micros = append(g.micros, newRows(g.size))
	}
	for range min(n, maxLanes, ceil(p.Batch, laneRows)) {
		lane := make(map[string][]float32)
		for _, t := range w.Tensors() {
			if !p.ForwardOnly {
				lane[t.Name] = make([]float32, t.Len())
			}
		}
		g.lanes = append(g.lanes, lane)
	}
	g.scales = p.losses()
	for i := range g.scales {
		g.scales[i] /= float64(p.Batch)
	}
	for range min(p.Replicas, len(g.lanes)) {
		r, err := newReplica(g.shared, g.size, g.scales, p.ForwardOnly)
		if err != nil {
			return nil, fmt.Errorf("make training graph: %w", err)
		}
		g.replicas = append(g.replicas, r)
	}
	return g, nil
}

// Set copies e into a row of the batch, 0 ≤ row < Batch. An Example whose slices have the wrong lengths, or whose
// classes are out of range, is the caller's bug and panics.
func (g *Graph) Set(row int, e *Example) {
	if len(e.Planes) != net.PlaneLen || len(e.Legal) > rules.MaxMoves || e.Rings < 0 || e.Rings >= net.NumRings ||
		(e.PolicyWeight != 0 && len(e.Policy) != len(e.Legal)) {
		panic(fmt.Sprintf("graph: example with %d planes, %d legal moves, %d policy numbers, rings class %d",
			len(e.Planes), len(e.Legal), len(e.Policy), e.Rings))
	}
	if e.ReplyWeight != 0 && (len(e.ReplyLegal) > rules.MaxMoves || len(e.Reply) != len(e.ReplyLegal)) || e.Plies < 0 || e.Plies >= net.NumPlies {
		panic(fmt.Sprintf("graph: example with %d legal replies, %d reply numbers, plies class %d", len(e.ReplyLegal), len(e.Reply), e.Plies))
	}
	m, i := g.micros[row/g.size], row%g.size
	kernel.ToBlocks(m.row(inPlanes, i), e.Planes, net.NumPlanes)
	copy(m.row(inGlobals, i), e.Planes[net.NumPlanes*net.Cells:])
	m.cells[i] = boardCells(m.cells[i], e.Planes[net.PlaneBoard*net.Cells:][:net.Cells])

	m.setMoves(policyMoves, i, e.Legal, e.Policy, e.PolicyWeight)
	m.setMoves(replyMoves, i, e.ReplyLegal, e.Reply, e.ReplyWeight)
	for k, p := range e.WDL {
		m.row(inWDL, i)[k] = p * e.ValueWeight
	}
	m.setClass(inRings, i, e.Rings, e.ValueWeight)
	m.setClass(inPlies, i, e.Plies, e.EndWeight)
	m.setOwners(i, &e.Owners, e.EndWeight)
	for l, w := range [numLosses]float32{
		lossPolicy: e.PolicyWeight, lossWDL: e.ValueWeight, lossRings: e.ValueWeight,
		lossReply: e.ReplyWeight, lossOwnership: e.EndWeight, lossPlies: e.EndWeight,
	} {
		m.weight[l][i] = float64(w)
	}
	g.set[row], g.ready = true, false
}

// setMoves sets the Moves and the target of a row for one of the heads with a logit for every Move. Without a target the
// logits are not needed.
func (m *rows) setMoves(head, row int, legal []rules.Move, target []float32, weight float32) {
	places, t := m.places[head][row][:0], m.row(moveTargets[head], row)
	clear(t)
	if weight != 0 {
		for k, move := range legal {
			plane, cell := net.PolicyIndex(move)
			places = append(places, place{uint8(plane), uint8(cell)})
			t[k] = target[k] * weight
		}
	}
	m.places[head][row] = places
}

// setClass sets the target of a row to one class.
func (m *rows) setClass(input, row, class int, weight float32) {
	t := m.row(input, row)
	clear(t)
	t[class] = weight
}

// setOwners sets the owners of a row's Points.
func (m *rows) setOwners(row int, owners *[net.Cells]uint8, weight float32) {
	m.row(inEndWeight, row)[0] = weight
	for _, cell := range m.cells[row] {
		if owners[cell] >= net.NumOwners && weight != 0 {
			panic(fmt.Sprintf("graph: example with owner class %d at grid index %d", owners[cell], cell))
		}
	}
	m.owners[row] = *owners
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
// have been set. When ctx ends it returns its error, between two micro-batches. A panic in one of its goroutines is returned
// as a *crash.Error; the Graph is then as if Gradients had not been called.
func (g *Graph) Gradients(ctx context.Context) (Losses, error) {
	if g.params.ForwardOnly {
		return Losses{}, errors.New("compute gradients: the graph goes forward only")
	}
	losses, err := g.run(ctx)
	if err != nil {
		return losses, fmt.Errorf("compute gradients: %w", err)
	}
	for _, lane := range g.lanes[1:] {
		for _, t := range g.weights.Tensors() {
			sum := g.lanes[0][t.Name]
			for i, v := range lane[t.Name] {
				sum[i] += v
			}
		}
	}
	g.ready = true
	return losses, nil
}

// Losses computes what the batch costs with the current weights: the losses that Gradients tells, to the bit. The graph
// must go forward only. Every row must have been set, and contexts and panics end it as they do Gradients.
func (g *Graph) Losses(ctx context.Context) (Losses, error) {
	if !g.params.ForwardOnly {
		return Losses{}, errors.New("compute losses: the graph has gradients too: want one that goes forward only")
	}
	losses, err := g.run(ctx)
	if err != nil {
		return losses, fmt.Errorf("compute losses: %w", err)
	}
	return losses, nil
}

// run runs the batch through the replicas: it returns the losses, and leaves the gradients, if there are any, in the lanes.
func (g *Graph) run(ctx context.Context) (Losses, error) {
	g.ready = false
	for i, ok := range g.set {
		if !ok {
			return Losses{}, fmt.Errorf("row %d of the batch was never set", i)
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
				errs[i] = crash.Catch(func() error { return g.lane(ctx, r, l, &sums[l]) })
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		if errors.As(err, new(*crash.Error)) { // nobody knows what it has left half done
			r, err := newReplica(g.shared, g.size, g.scales, g.params.ForwardOnly)
			if err != nil {
				return Losses{}, errors.Join(err, errs[i])
			}
			g.replicas[i] = r
		}
	}
	if err := errors.Join(errs...); err != nil {
		return Losses{}, err
	}
	total := sums[0]
	for _, lane := range sums[1:] {
		for i, v := range lane {
			total[i] += v
		}
	}
	losses := g.report(total)
	if !finite(losses.Total) {
		return losses, fmt.Errorf("total loss is %g: %w", losses.Total, ErrNotFinite)
	}
	return losses, nil
}

// pack brings everything derived from the weights up to date.
func (g *Graph) pack() {
	for _, l := range g.layers {
		l.pack(g.scaled, g.transposed)
	}
	g.globals.pack()
	g.value.pack()
	for _, p := range g.pools {
		if p != nil {
			p.pack()
		}
	}
	for _, h := range g.moves {
		if h != nil {
			h.pack()
		}
	}
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
	if g.params.ForwardOnly {
		return err
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
	total := 0.0
	for i, w := range g.params.losses() {
		total += w * sums[i] / float64(g.params.Batch)
	}
	return Losses{
		Total: total, Policy: mean(lossPolicy), Value: mean(lossWDL), Rings: mean(lossRings),
		Reply: mean(lossReply), Ownership: mean(lossOwnership), Plies: mean(lossPlies),
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

func ceil(n, d int) int { return (n + d - 1) / d }

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
