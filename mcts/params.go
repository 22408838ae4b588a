package mcts

import (
	"errors"
	"fmt"
)

// A RootPolicy is the rule by which a search spends its simulations and chooses a Move.
type RootPolicy uint8

const (
	// Gumbel draws the considered Moves without replacement, halves them sequentially and chooses inside the tree by
	// completed Q (Danihelka et al., 2022). For self-play, and sound from two simulations up.
	Gumbel RootPolicy = iota
	// PUCT is the polynomial upper confidence tree of AlphaZero (Silver et al., 2018) at every node, and a lower
	// confidence bound for the final choice. For matches and analysis.
	PUCT
)

// String is gumbel or puct.
func (r RootPolicy) String() string {
	switch r {
	case Gumbel:
		return "gumbel"
	case PUCT:
		return "puct"
	}
	return fmt.Sprintf("RootPolicy(%d)", uint8(r))
}

// MarshalText writes what String says.
func (r RootPolicy) MarshalText() ([]byte, error) {
	if r > PUCT {
		return nil, fmt.Errorf("mcts: write root policy %d: there are gumbel and puct", uint8(r))
	}
	return []byte(r.String()), nil
}

// UnmarshalText reads gumbel or puct.
func (r *RootPolicy) UnmarshalText(text []byte) error {
	for _, k := range []RootPolicy{Gumbel, PUCT} {
		if k.String() == string(text) {
			*r = k
			return nil
		}
	}
	return fmt.Errorf("mcts: read root policy %q: want gumbel or puct", text)
}

// Params are the numbers of the search. All values of positions that they weigh are in [−1, 1].
type Params struct {
	Root RootPolicy // who chooses, at the root and below

	Considered int     // Gumbel: Moves considered at the root, m in the paper; 1 to 130
	CVisit     float64 // Gumbel: σ(q) = (CVisit + max N)·CScale·q, equation 8; 0 to 1e9
	CScale     float64 // Gumbel: see CVisit; above 0, at most 1e9. The paper's 1.0 is for q in [0, 1], which is 0.5 here

	CPuct     float64 // PUCT: weight of the prior against Q at a node with few visits; above 0, at most 1e9
	CPuctBase float64 // PUCT: visits over which the weight has grown by ln 2; 1 to 1e9
	FPU       float64 // PUCT: how far below its parent a Move without visits starts, per √(prior visited); 0 to 2
	LCB       float64 // PUCT: standard errors that the final choice subtracts from Q; 0 to 1e9

	// Batch is how many leaves are looked for before the Evaluator judges them together, 1 to 256. With more than one,
	// later ones are chosen without knowing what the earlier ones are worth: it costs some strength per simulation and
	// pays where an Evaluator has several cores.
	Batch int

	// FreshRoot asks the Evaluator about a root again that a tree brings along, this time as Query.Root.
	FreshRoot bool

	Solver   bool // proven results climb, and what is proven is not visited again
	MaxNodes int  // nodes the tree may hold, about 1 KB each; a search that fills it ends early; 1 to 16,000,000
}

// DefaultParams is the search of self-play.
func DefaultParams() Params {
	return Params{
		Root: Gumbel, Considered: 16, CVisit: 50, CScale: 0.5,
		CPuct: 1.5, CPuctBase: 19652, FPU: 0, LCB: 2,
		Batch: 1, Solver: true, MaxNodes: 1_000_000,
	}
}

const maxBatch = 256

// maxNumber bounds the weights, so that whatever they weigh is finite.
const maxNumber = 1e9

// maxNodes keeps the index of an edge within an int32: rules.MaxMoves edges a node.
const maxNodes = 16_000_000

// Validate returns every number of p that is out of range, or nil.
func (p Params) Validate() error {
	var errs []error
	need := func(ok bool, name string, got any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("mcts: %s is %v: want %s", name, got, want))
		}
	}
	need(p.Root <= PUCT, "Root", p.Root, "gumbel or puct")
	need(p.Considered >= 1 && p.Considered <= 130, "Considered", p.Considered, "1 to 130")
	need(p.CVisit >= 0 && p.CVisit <= maxNumber, "CVisit", p.CVisit, "0 to 1e9")
	need(p.CScale > 0 && p.CScale <= maxNumber, "CScale", p.CScale, "a number above 0, at most 1e9")
	need(p.CPuct > 0 && p.CPuct <= maxNumber, "CPuct", p.CPuct, "a number above 0, at most 1e9")
	need(p.CPuctBase >= 1 && p.CPuctBase <= maxNumber, "CPuctBase", p.CPuctBase, "1 to 1e9")
	need(p.FPU >= 0 && p.FPU <= 2, "FPU", p.FPU, "0 to 2")
	need(p.LCB >= 0 && p.LCB <= maxNumber, "LCB", p.LCB, "0 to 1e9")
	need(p.Batch >= 1 && p.Batch <= maxBatch, "Batch", p.Batch, "1 to 256")
	need(p.MaxNodes >= 1 && p.MaxNodes <= maxNodes, "MaxNodes", p.MaxNodes, "1 to 16000000")
	return errors.Join(errs...)
}

// A Budget is what one search may spend.
type Budget struct {
	Simulations int  // new simulations, on top of what the tree carries; 0 leaves the choice to the priors
	Noise       bool // Gumbel noise at the root: self-play explores with it. Only with RootPolicy Gumbel
}
