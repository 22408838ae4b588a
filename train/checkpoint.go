package train

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"yinshzero/internal/atomicfile"
	"yinshzero/internal/seed"
	"yinshzero/net"
)

// A checkpoint is one safetensors file. Its tensors are those of the weights, of their average and of the optimiser,
// by these prefixes; its metadata holds the arch, the kind of average and the counts of steps and batches.
const (
	weightsPrefix = "weights/"
	averagePrefix = "average/"
	solverPrefix  = "solver/"

	archKey    = "yinshzero.arch"
	averageKey = "yinshzero.average"
	stepKey    = "yinshzero.step"
	drawnKey   = "yinshzero.drawn"
	planeKey   = "yinshzero.encoder"

	checkpointPrefix    = "step-"
	checkpointExtension = ".safetensors"
	damagedExtension    = ".damaged"
	keptCheckpoints     = 2

	maxNumbers = 1 << 30 // in a checkpoint: the most that net.WriteTensors takes
)

// fits returns an error if a checkpoint of a's weights, their average and two moments would be too large.
func (p Params) fits(a net.Arch) error {
	n := 0
	for _, s := range a.Specs() {
		n += s.Len()
	}
	if n *= 3 + p.Average.copies(); n > maxNumbers {
		return fmt.Errorf("a checkpoint would hold %d numbers: at most %d; average fewer snapshots", n, maxNumbers)
	}
	return nil
}

// Save writes the Trainer to a new checkpoint in dir, whole or not at all, and deletes all but the newest two.
func (t *Trainer) Save(dir string) error {
	var all []net.Tensor
	add := func(prefix string, tensors []net.Tensor) {
		for _, x := range tensors {
			x.Name = prefix + x.Name
			all = append(all, x)
		}
	}
	add(weightsPrefix, t.weights.Tensors())
	add(averagePrefix, t.average.state())
	add(solverPrefix, t.solver.State())
	meta := map[string]string{
		archKey: t.weights.Arch().String(), averageKey: t.average.Kind, planeKey: strconv.Itoa(net.EncoderVersion),
		stepKey: strconv.FormatInt(t.step, 10), drawnKey: strconv.FormatInt(t.drawn, 10),
	}
	path := filepath.Join(dir, fmt.Sprintf("%s%012d%s", checkpointPrefix, t.step, checkpointExtension))
	if err := atomicfile.Write(path, 0o644, func(w io.Writer) error { return net.WriteTensors(w, all, meta) }); err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	files, err := checkpoints(dir)
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	for _, old := range files[min(keptCheckpoints, len(files)):] {
		if err := os.Remove(old); err != nil {
			return fmt.Errorf("delete old checkpoint: %w", err)
		}
	}
	return nil
}

// checkpoints lists the checkpoints in dir, newest first.
func checkpoints(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir) // sorted by name, hence by step
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range slices.Backward(entries) {
		if n := e.Name(); strings.HasPrefix(n, checkpointPrefix) && strings.HasSuffix(n, checkpointExtension) {
			files = append(files, filepath.Join(dir, n))
		}
	}
	return files, nil
}

// Resume is a Trainer that goes on from the newest checkpoint in dir that is whole. Newer ones that are damaged are renamed,
// and what is wrong with them is returned beside it, for the caller to tell. With no checkpoint at all the Trainer is nil.
// It is an error if there are checkpoints and none can be used: nothing is renamed then.
func Resume(dir string, a net.Arch, p Params, s seed.Seed) (t *Trainer, damage []error, err error) {
	files, err := checkpoints(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("resume: %w", err)
	}
	for i, path := range files {
		t, err := load(path, a, p, s)
		if err == nil {
			for _, bad := range files[:i] {
				if err := os.Rename(bad, bad+damagedExtension); err != nil {
					return nil, damage, fmt.Errorf("resume: %w", err)
				}
			}
			return t, damage, nil
		}
		damage = append(damage, fmt.Errorf("checkpoint %s: %w", path, err))
	}
	if len(damage) > 0 {
		return nil, nil, fmt.Errorf("resume: %w; move them away to start training from the best model", errors.Join(damage...))
	}
	return nil, nil, nil
}

func load(path string, a net.Arch, p Params, s seed.Seed) (*Trainer, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	tensors, meta, err := net.ReadTensors(file)
	if err != nil {
		return nil, err
	}
	if meta[archKey] != a.String() {
		return nil, fmt.Errorf("it holds the arch %q and the run has %v: keep the arch of a run, or begin a new one", meta[archKey], a)
	}
	if want := strconv.Itoa(net.EncoderVersion); meta[planeKey] != want {
		return nil, fmt.Errorf("its encoder version is %q, this program's is %s: begin a new run", meta[planeKey], want)
	}
	step, err := strconv.ParseInt(meta[stepKey], 10, 64)
	if err != nil || step < 0 {
		return nil, fmt.Errorf("its step is %q: want a number; the file was not written by this program", meta[stepKey])
	}
	drawn, err := strconv.ParseInt(meta[drawnKey], 10, 64)
	if err != nil || drawn < step {
		return nil, fmt.Errorf("its count of batches is %q: want a number, at least its step, %d; the file was not written by this program", meta[drawnKey], step)
	}
	part := func(prefix string) (some []net.Tensor) {
		for _, x := range tensors {
			if name, ok := strings.CutPrefix(x.Name, prefix); ok {
				x.Name = name
				some = append(some, x)
			}
		}
		return some
	}
	weights, err := net.NewWeights(a, part(weightsPrefix))
	if err != nil {
		return nil, err
	}
	t, err := New(weights, p, s)
	if err != nil {
		return nil, err
	}
	if meta[averageKey] == p.Average.Kind { // else the average of another kind begins anew, from the weights
		if err := t.average.restore(a, part(averagePrefix)); err != nil {
			return nil, err
		}
	}
	if err := t.solver.Restore(part(solverPrefix)); err != nil {
		return nil, err
	}
	t.step, t.drawn = step, drawn
	return t, nil
}
