package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"yinshzero/internal/atomicfile"
	"yinshzero/internal/seed"
	"yinshzero/net"
	"yinshzero/net/graph"
	"yinshzero/rules"
)

func newVectors() *cobra.Command {
	c := &cobra.Command{
		Use:   "vectors",
		Short: "Write a network, a batch and what the network makes of it, for other implementations to compare",
		Long: `Write two safetensors files with random weights and a batch of positions of random standard games:

weights.safetensors  the weights, as a run's models are
batch.safetensors    planes [B][7][11][11] and globals [B][22]: the input
                     legal, replies [B][M]: the places of Moves in the policy head, 121 × plane + cell, -1 past the last
                     target.HEAD: what each head is to answer, times its weight; its loss is -Σ target·log softmax
                     out.HEAD: the logits that Program.Forward and Program.Auxiliary give
                     losses [steps]: the total loss before every training step on the batch, each taken by AdamW

The metadata of the batch hold the solver's numbers (lr, beta1, beta2, eps, decay, clip) and the weight of every loss.
decay is for tensors of two and more dimensions. scripts/bench-peers compares other programs' answers with these.`,
		Example: "  yinshzero bench vectors --arch 64x6p --batch 256 --dir vectors",
		Args:    cobra.NoArgs,
	}
	arch := addArch(c)
	batch := c.Flags().Int("batch", 256, "positions")
	steps := c.Flags().Int("steps", 5, "training steps, 1 to 1000")
	dir := c.Flags().String("dir", "vectors", "where to write")
	c.RunE = func(c *cobra.Command, _ []string) error {
		p := benchParams(*batch, 1)
		if err := p.Validate(); err != nil {
			return &usageError{err}
		}
		if err := inRange("steps", *steps, 1, 1000); err != nil {
			return err
		}
		w, tensors, metadata, err := vectors(c.Context(), arch.Arch, p, *steps)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(*dir, 0o777); err != nil {
			return err
		}
		if err := w.Save(filepath.Join(*dir, "weights.safetensors")); err != nil {
			return err
		}
		return atomicfile.Write(filepath.Join(*dir, "batch.safetensors"), 0o644, func(f io.Writer) error {
			return net.WriteTensors(f, tensors, metadata)
		})
	}
	return c
}

// vectors computes what the command writes.
func vectors(ctx context.Context, a net.Arch, p graph.Params, steps int) (*net.Weights, []net.Tensor, map[string]string, error) {
	w := net.Init(a, seed.New(1).Child("weights", 0).Rand())
	rng := seed.New(1).Child("vectors", 0).Rand()
	for _, t := range w.Tensors() {
		if len(t.Shape) == 1 { // scales and biases, which Init leaves alike
			for i := range t.Data {
				t.Data[i] += float32(0.1 * rng.NormFloat64())
			}
		}
	}
	program, err := w.Compile()
	if err != nil {
		return nil, nil, nil, err
	}
	batch, err := randomBatch(p.Batch, rng)
	if err != nil {
		return nil, nil, nil, err
	}
	var list tensorList
	list.inputs(batch)
	list.targets(batch)
	list.outputs(batch, program)

	trained := w.Clone()
	g, err := graph.New(trained, p)
	if err != nil {
		return nil, nil, nil, err
	}
	params := graph.DefaultSolverParams()
	solver, err := graph.NewSolver(trained, params)
	if err != nil {
		return nil, nil, nil, err
	}
	solver.LR = 1e-3
	for i := range batch {
		g.Set(i, &batch[i])
	}
	loss := list.add("losses", steps)
	for i := range steps {
		l, err := g.Gradients(ctx)
		if err != nil {
			return nil, nil, nil, err
		}
		if _, err := g.Step(solver); err != nil {
			return nil, nil, nil, err
		}
		loss(i)[0] = float32(l.Total)
	}
	metadata := map[string]string{}
	for name, v := range map[string]float64{
		"lr": solver.LR, "beta1": params.Beta1, "beta2": params.Beta2, "eps": params.Eps, "decay": params.Decay, "clip": params.Clip,
		"loss.policy": p.PolicyLoss, "loss.wdl": p.ValueLoss, "loss.rings": p.RingsLoss,
		"loss.reply": p.ReplyLoss, "loss.ownership": p.OwnershipLoss, "loss.plies": p.PliesLoss,
	} {
		metadata[name] = strconv.FormatFloat(v, 'g', -1, 64)
	}
	return w, list, metadata, nil
}

// A tensorList grows by tensors of zeros.
type tensorList []net.Tensor

// add appends a tensor and returns its rows.
func (l *tensorList) add(name string, shape ...int) (row func(i int) []float32) {
	s := net.Spec{Name: name, Shape: shape}
	data := make([]float32, s.Len())
	*l = append(*l, net.Tensor{Spec: s, Data: data})
	width := len(data) / shape[0]
	return func(i int) []float32 { return data[i*width:][:width] }
}

func (l *tensorList) inputs(batch []graph.Example) {
	n := len(batch)
	most, mostReplies := mostMoves(batch)
	planes, globals := l.add("planes", n, net.NumPlanes, rules.GridSize, rules.GridSize), l.add("globals", n, net.NumGlobals)
	legal, replies := l.add("legal", n, most), l.add("replies", n, mostReplies)
	for i := range batch {
		e := &batch[i]
		copy(planes(i), e.Planes)
		copy(globals(i), e.Planes[net.NumPlanes*net.Cells:])
		setPlaces(legal(i), e.Legal)
		setPlaces(replies(i), e.ReplyLegal)
	}
}

// mostMoves are the most legal Moves and the most legal replies of a row.
func mostMoves(batch []graph.Example) (legal, replies int) {
	for i := range batch {
		legal, replies = max(legal, len(batch[i].Legal)), max(replies, len(batch[i].ReplyLegal))
	}
	return legal, replies
}

func setPlaces(dst []float32, moves []rules.Move) {
	for k := range dst {
		dst[k] = -1
		if k < len(moves) {
			plane, cell := net.PolicyIndex(moves[k])
			dst[k] = float32(plane*net.Cells + cell)
		}
	}
}

// headRows are the rows of a tensor for every head.
type headRows struct {
	policy, wdl, rings, reply, ownership, plies func(i int) []float32
}

func (l *tensorList) heads(prefix string, batch []graph.Example) headRows {
	n := len(batch)
	most, mostReplies := mostMoves(batch)
	return headRows{
		l.add(prefix+"policy", n, most),
		l.add(prefix+"wdl", n, net.NumWDL),
		l.add(prefix+"rings", n, net.NumRings),
		l.add(prefix+"reply", n, mostReplies),
		l.add(prefix+"ownership", n, net.Cells, net.NumOwners),
		l.add(prefix+"plies", n, net.NumPlies),
	}
}

func (l *tensorList) targets(batch []graph.Example) {
	target := l.heads("target.", batch)
	for i := range batch {
		e := &batch[i]
		setScaled(target.policy(i), e.Policy, e.PolicyWeight)
		setScaled(target.reply(i), e.Reply, e.ReplyWeight)
		setScaled(target.wdl(i), e.WDL[:], e.ValueWeight)
		target.rings(i)[e.Rings] = e.ValueWeight
		target.plies(i)[e.Plies] = e.EndWeight
		for cell, on := range e.Planes[net.PlaneBoard*net.Cells:][:net.Cells] {
			if on != 0 {
				target.ownership(i)[cell*net.NumOwners+int(e.Owners[cell])] = e.EndWeight / rules.NumPoints
			}
		}
	}
}

func setScaled(dst, src []float32, scale float32) {
	for i, v := range src {
		dst[i] = scale * v
	}
}

func (l *tensorList) outputs(batch []graph.Example, program *net.Program) {
	out := l.heads("out.", batch)
	for i := range batch {
		e := &batch[i]
		o, x := net.Output{Logits: out.policy(i)}, net.Expectation{Reply: out.reply(i)}
		program.Forward(e.Planes, e.Legal, &o)
		program.Auxiliary(e.ReplyLegal, &x)
		copy(out.wdl(i), o.WDL[:])
		copy(out.rings(i), o.Rings[:])
		copy(out.plies(i), x.Plies[:])
		for cell, v := range x.Ownership {
			copy(out.ownership(i)[cell*net.NumOwners:], v[:])
		}
	}
}
