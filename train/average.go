package train

import (
	"errors"
	"fmt"
	"slices"

	"yinshzero/net"
)

// The kinds of Average.
const (
	Plain = "none" // the weights as they are
	EMA   = "ema"  // exponential moving average: every step the newest weights gain 1 − Memory
	SWA   = "swa"  // equal average of snapshots; Izmailov et al., "Averaging weights leads to wider optima", 2018
)

// An Average says what a candidate is made of.
//
// The paper averages all snapshots since some step of a training with an end and one set of data. Here training has no
// end and the window moves on, so that weights of long ago fit games that are no longer there: SWA averages the newest
// Snapshots, and what is older is forgotten altogether. Which ones these are depends on the number of the step alone, not
// on when candidates were made or the run was interrupted.
type Average struct {
	Kind      string  // Plain, EMA or SWA; the fields of the other kinds are ignored
	Memory    float64 // EMA: share of the average kept a step, in (0, 1)
	Every     int64   // SWA: steps from one snapshot to the next, at least 1
	Snapshots int     // SWA: how many are averaged, 2 to MaxSnapshots
}

// MaxSnapshots bounds Average.Snapshots: each takes as much memory, and as much of a checkpoint, as the weights.
const MaxSnapshots = 64

// Validate returns an error that joins all faults.
func (a Average) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	switch a.Kind {
	case Plain:
	case EMA:
		check(a.Memory > 0 && a.Memory < 1, "memory of the average is %v: want above 0, below 1", a.Memory)
	case SWA:
		check(a.Every > 0, "steps between snapshots is %d: want at least 1", a.Every)
		check(a.Snapshots >= 2 && a.Snapshots <= MaxSnapshots, "snapshots averaged is %d: want 2 to %d", a.Snapshots, MaxSnapshots)
	default:
		check(false, "average is %q: want %s, %s or %s", a.Kind, Plain, EMA, SWA)
	}
	return errors.Join(errs...)
}

// copies is how many times the weights the average takes, at most.
func (a Average) copies() int { return map[string]int{EMA: 1, SWA: a.Snapshots}[a.Kind] }

// An averager follows the weights under training as its Average says.
type averager struct {
	Average
	kept []*net.Weights // EMA: the one average; SWA: the snapshots, oldest first
}

// newAverager begins with the weights w.
func newAverager(a Average, w *net.Weights) *averager {
	if a.Kind == EMA {
		return &averager{a, []*net.Weights{w.Clone()}}
	}
	return &averager{Average: a}
}

// follow takes in the weights w that step, counted from 1, has made.
func (a *averager) follow(w *net.Weights, step int64) {
	switch {
	case a.Kind == EMA: // early on the memory is short, so that the random start is forgotten
		memory := float32(min(a.Memory, float64(step)/float64(step+10)))
		now := w.Tensors()
		for i, t := range a.kept[0].Tensors() {
			for j, x := range now[i].Data {
				t.Data[j] = memory*t.Data[j] + (1-memory)*x
			}
		}
	case a.Kind == SWA && step%a.Every == 0:
		if len(a.kept) < a.Snapshots {
			a.kept = append(a.kept, w.Clone())
			return
		}
		oldest := a.kept[0]
		copy(a.kept, a.kept[1:])
		a.kept[len(a.kept)-1] = oldest
		now := w.Tensors()
		for i, t := range oldest.Tensors() {
			copy(t.Data, now[i].Data)
		}
	}
}

// candidate is a copy of the average at the weights w: w itself where nothing is averaged yet.
func (a *averager) candidate(w *net.Weights) *net.Weights {
	if len(a.kept) == 0 {
		return w.Clone()
	}
	c := a.kept[0].Clone()
	if len(a.kept) == 1 {
		return c
	}
	for i, t := range c.Tensors() {
		sum := make([]float64, len(t.Data))
		for _, k := range a.kept {
			for j, x := range k.Tensors()[i].Data {
				sum[j] += float64(x)
			}
		}
		for j, x := range sum {
			t.Data[j] = float32(x / float64(len(a.kept)))
		}
	}
	return c
}

// state is what the averager keeps: every tensor with all its versions, [kept][shape of the tensor], oldest first; nothing
// if none are kept.
func (a *averager) state() (all []net.Tensor) {
	if len(a.kept) == 0 {
		return nil
	}
	for i, t := range a.kept[0].Tensors() {
		stack := net.Tensor{Spec: net.Spec{Name: t.Name, Shape: append([]int{len(a.kept)}, t.Shape...)}}
		for _, k := range a.kept {
			stack.Data = append(stack.Data, k.Tensors()[i].Data...)
		}
		all = append(all, stack)
	}
	return all
}

// restore sets the averager to the state of one of the same kind. Of more snapshots than it is to average it keeps the
// newest. An error changes nothing.
func (a *averager) restore(arch net.Arch, state []net.Tensor) error {
	n := 0
	if len(state) > 0 && len(state[0].Shape) > 0 {
		n = state[0].Shape[0]
	}
	if n < 0 || n > MaxSnapshots || a.Kind == EMA && n != 1 || n == 0 && len(state) > 0 {
		return fmt.Errorf("it holds %d versions of the weights for the average %s: the file was not written by this program", n, a.Kind)
	}
	kept := make([]*net.Weights, n)
	for k := range kept {
		var part []net.Tensor
		for _, t := range state {
			if len(t.Shape) == 0 || t.Shape[0] != n {
				return fmt.Errorf("average of %s has shape %v: want %d versions", t.Name, t.Shape, n)
			}
			size := len(t.Data) / n
			t.Shape, t.Data = t.Shape[1:], slices.Clone(t.Data[k*size:(k+1)*size])
			part = append(part, t)
		}
		w, err := net.NewWeights(arch, part)
		if err != nil {
			return fmt.Errorf("average: %w", err)
		}
		kept[k] = w
	}
	if a.Kind == SWA {
		kept = kept[max(0, n-a.Snapshots):]
	}
	a.kept = kept
	return nil
}
