package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"yinshzero/infer"
	"yinshzero/mcts"
	"yinshzero/net"
	"yinshzero/rules"
)

// A Model is what judges Positions.
type Model struct {
	Name    string               // for people
	Network func() infer.Network // makes what judges in one goroutine; nil for mcts.Uniform, which knows nothing
	Arch    net.Arch             // of the Network
	Kernels string               // what the Network computes with, for people
}

// Compiled is the Model of a Program.
func Compiled(name string, p *net.Program) Model {
	return Model{Name: name, Network: infer.Compiled(p), Arch: p.Arch(), Kernels: p.ISA()}
}

// evaluator makes an Evaluator over m. Each belongs to one goroutine.
func (m Model) evaluator(p infer.Params) mcts.Evaluator {
	if m.Network == nil {
		return mcts.Uniform{}
	}
	return infer.Over(m.Network, p)
}

// Params are what a front end finds when it starts.
type Params struct {
	Version     string        // of the build
	Model       string        // what Load is asked for until the front end names another
	Variant     rules.Variant // played where the front end names none
	Threads     int           // UGI: cores that share one search; JSON: searches at once; 1 to MaxThreads
	Simulations int           // of a search that the front end sets no limit; 1 to MaxSimulations
	MaxVisits   int           // JSON: of a Position, what a query may ask for; 0 is MaxSimulations
	MaxTime     time.Duration // JSON: of a Position, whatever a query asks for; 0 for any
	Search      mcts.Params   // but for Batch, MaxNodes and FreshRoot, which follow from the rest
	Infer       infer.Params  // but for Cores and Seed; UGI decides about symmetries too
	Seed        uint64        // of what is left to chance
	Report      time.Duration // UGI: between two reports of a search; above 0

	// Load finds a model by name and makes it ready for a Variant. UGI and JSON call it in one goroutine at a time, Decide in
	// its caller's.
	Load func(name string, v rules.Variant) (Model, error)
}

// Bounds of Params.
const (
	MaxThreads     = 256
	MaxSimulations = 1_000_000_000
)

// DefaultParams are those of matches; Load and Model are left to the caller.
func DefaultParams() Params {
	search, evaluation := mcts.DefaultParams(), infer.DefaultParams()
	search.Root = mcts.PUCT
	evaluation.Symmetry = false
	return Params{
		Version: "unknown", Variant: rules.Standard(), Threads: 1, Simulations: 800,
		Search: search, Infer: evaluation, Seed: 1, Report: time.Second,
	}
}

// Validate returns what is out of range, or nil.
func (p Params) Validate() error {
	var errs []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("engine: "+format, args...))
		}
	}
	need(p.Load != nil, "Load is missing")
	need(p.Threads >= 1 && p.Threads <= MaxThreads, "%d threads: want 1 to %d", p.Threads, MaxThreads)
	need(p.Simulations >= 1 && p.Simulations <= MaxSimulations, "%d simulations: want 1 to %d", p.Simulations, MaxSimulations)
	need(p.MaxVisits >= 0 && p.MaxVisits <= MaxSimulations, "queries of up to %d visits: want 0 to %d", p.MaxVisits, MaxSimulations)
	need(p.MaxVisits == 0 || p.Simulations <= p.MaxVisits, "%d simulations: want at most %d, as queries may ask for", p.Simulations, p.MaxVisits)
	need(p.MaxTime >= 0, "queries of up to %v: want 0, which is any time, or more", p.MaxTime)
	need(p.Search.Root == mcts.PUCT, "root policy %v: want puct", p.Search.Root)
	need(p.Report > 0, "a report every %v: want a time above 0", p.Report)
	return errors.Join(append(errs, p.Variant.Validate(), p.Search.Validate(), p.Infer.Validate())...)
}

// A judge is the Evaluator of one Searcher. It remembers what it said about the root, which a search may ask again each
// time it goes on, and it can bar Moves there.
type judge struct {
	mcts.Evaluator
	barred map[rules.Move]bool // at the root

	root  rules.Position // that prior and value are about, if there are any
	prior []float32
	value float32
}

// Evaluate implements mcts.Evaluator. What is barred gets no prior; the caller sees to it that something is left.
func (j *judge) Evaluate(ctx context.Context, batch []*mcts.Query) error {
	if len(batch) != 1 || !batch[0].Root {
		return j.Evaluator.Evaluate(ctx, batch)
	}
	q := batch[0]
	if len(j.prior) == len(q.Prior) && j.root == q.Pos {
		copy(q.Prior, j.prior)
		q.Value = j.value
		return nil
	}
	if err := j.Evaluator.Evaluate(ctx, batch); err != nil {
		return err
	}
	j.bar(q)
	j.root, j.prior, j.value = q.Pos, append(j.prior[:0], q.Prior...), q.Value
	return nil
}

// bar shares out the priors of what is barred to the other Moves.
func (j *judge) bar(q *mcts.Query) {
	if len(j.barred) == 0 {
		return
	}
	sum, left := 0.0, 0
	for i, m := range q.Legal {
		if j.barred[m] {
			q.Prior[i] = 0
			continue
		}
		sum += float64(q.Prior[i])
		left++
	}
	for i, m := range q.Legal {
		switch {
		case j.barred[m]:
		case sum > 0:
			q.Prior[i] = float32(float64(q.Prior[i]) / sum)
		default:
			q.Prior[i] = 1 / float32(left)
		}
	}
}

// A look is what a model says about one Position before any search. What it says of sides is said of the side to move.
type look struct {
	policy    []float32                 // of the legal Moves, ascending
	rings     *float32                  // expected difference of rings taken, own − other; nil without that head
	ownership *[rules.NumPoints]float32 // chance of an own marker at the end less that of another; nil without that head
}

// look asks m about pos, which is not over, as it stands: under no symmetry.
func (m Model) look(pos *rules.Position) (look, error) {
	legal := pos.AppendMoves(nil)
	l := look{policy: make([]float32, len(legal))}
	if m.Network == nil {
		infer.Softmax(l.policy)
		return l, nil
	}
	network, out := m.Network(), net.Output{Logits: l.policy}
	if err := network.Forward(net.AppendPlanes(nil, pos), legal, &out); err != nil {
		return look{}, err
	}
	infer.Softmax(l.policy)
	if m.Arch.Has(net.Rings) {
		infer.Softmax(out.Rings[:])
		lead := float32(0)
		for i, x := range out.Rings {
			lead += float32(i-net.NumRings/2) * x
		}
		l.rings = &lead
	}
	if m.Arch.Has(net.Ownership) {
		var logits infer.Ownership
		network.Ownership(&logits)
		l.ownership = new([rules.NumPoints]float32)
		for _, pt := range pos.AppendBoard(nil) {
			owners := logits[pt.Grid()]
			infer.Softmax(owners[:])
			l.ownership[pt] = owners[0] - owners[2]
		}
	}
	return l, nil
}
