package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"yinshzero/internal/seed"
	"yinshzero/net"
	"yinshzero/net/graph"
)

func newBenchTrain() *cobra.Command {
	c := &cobra.Command{
		Use:     "train",
		Short:   "Positions trained on a second, one thread",
		Example: "  yinshzero bench train --arch 32x4p --batch 256 --json",
		Args:    cobra.NoArgs,
	}
	batch := c.Flags().Int("batch", 128, "positions a step")
	replicas := c.Flags().Int("replicas", 1, "threads that share a batch")
	arch, asJSON, length := addArch(c), addJSON(c), addFor(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		p := benchParams(*batch, *replicas)
		if err := p.Validate(); err != nil {
			return &usageError{err}
		}
		speed, err := trainingSpeed(c.Context(), arch.Arch, p, *length)
		if err != nil {
			return err
		}
		return printFigures(c, struct {
			Arch      string  `json:"arch"`
			Batch     int     `json:"batch"`
			Replicas  int     `json:"replicas"`
			Positions float64 `json:"positions_per_second"`
		}{arch.String(), *batch, *replicas, speed}, *asJSON)
	}
	return c
}

// benchParams has every loss in it.
func benchParams(batch, replicas int) graph.Params {
	return graph.Params{
		Batch: batch, Replicas: replicas,
		PolicyLoss: 1, ValueLoss: 1, RingsLoss: 0.25, ReplyLoss: 0.15, OwnershipLoss: 0.5, PliesLoss: 0.1,
	}
}

// trainingSpeed takes steps on one batch for about the given time and returns positions a second. The first step, in
// which memory is made ready, does not count.
func trainingSpeed(ctx context.Context, a net.Arch, p graph.Params, length time.Duration) (float64, error) {
	w := net.Init(a, seed.New(1).Child("weights", 0).Rand())
	g, err := graph.New(w, p)
	if err != nil {
		return 0, err
	}
	solver, err := graph.NewSolver(w, graph.DefaultSolverParams())
	if err != nil {
		return 0, err
	}
	solver.LR = 1e-4
	batch, err := randomBatch(p.Batch, seed.New(1).Child("batch", 0).Rand())
	if err != nil {
		return 0, err
	}
	for i := range batch {
		g.Set(i, &batch[i])
	}
	step := func() error {
		if _, err := g.Gradients(ctx); err != nil {
			return err
		}
		_, err := g.Step(solver)
		return err
	}
	if err := step(); err != nil {
		return 0, err
	}
	start := time.Now()
	for n := p.Batch; ; n += p.Batch {
		if err := step(); err != nil {
			return 0, err
		}
		if d := time.Since(start); d >= length {
			return float64(n) / d.Seconds(), nil
		}
	}
}
