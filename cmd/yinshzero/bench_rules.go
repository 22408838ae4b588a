package main

import (
	"context"
	"math/rand/v2"
	"time"
	"unsafe"

	"github.com/spf13/cobra"

	"yinshzero/internal/rulestest"
	"yinshzero/rules"
)

func newBenchRules() *cobra.Command {
	c := &cobra.Command{
		Use:   "rules",
		Short: "Speed of the rules, and of the plain reference engine of the tests, one thread",
		Long: `Measure the rules on one thread, a third of the time each:

perft_leaves_per_second     perft 4 with two rings still to place, the last Move counted and not made
random_moves_per_second     Moves of whole standard games, each drawn from all legal ones alike
reference_moves_per_second  the same by the plain engine that the tests compare the rules with

position_bytes is the size of a Position in memory.`,
		Example: "  yinshzero bench rules --json",
		Args:    cobra.NoArgs,
	}
	asJSON, length := addJSON(c), addFor(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		third := *length / 3
		return printFigures(c, struct {
			Leaves    float64 `json:"perft_leaves_per_second"`
			Moves     float64 `json:"random_moves_per_second"`
			Bytes     int     `json:"position_bytes"`
			Reference float64 `json:"reference_moves_per_second"`
		}{
			rate(c.Context(), third, perftLeaves),
			rate(c.Context(), third, randomMoves),
			int(unsafe.Sizeof(rules.Position{})),
			rate(c.Context(), third, referenceMoves),
		}, *asJSON)
	}
	return c
}

// rate repeats work, which returns how much it did, and returns the amount a second.
func rate(ctx context.Context, length time.Duration, work func(*rand.Rand) int) float64 {
	rng := rand.New(rand.NewPCG(1, 1))
	start := time.Now()
	for n := 0; ; {
		n += work(rng)
		if d := time.Since(start); d >= length || ctx.Err() != nil {
			return float64(n) / d.Seconds()
		}
	}
}

// perftLeaves counts what four Moves can do from late in the placing of rings.
func perftLeaves(*rand.Rand) int {
	pos := rulestest.LatePlacement()
	return int(rules.Perft(&pos, 4))
}

// randomMoves plays a game of random Moves.
func randomMoves(rng *rand.Rand) int {
	return len(rules.RandomGame(rules.Standard(), rules.Uniform, rng).Moves)
}

// referenceMoves plays a game of random Moves by the reference.
func referenceMoves(rng *rand.Rand) (n int) {
	v := rules.Standard()
	g := rulestest.NewReference(int(v.Radius), int(v.Rings), int(v.Markers), int(v.RowLength), int(v.RingsToWin))
	for ; g.Result() == "unfinished"; n++ {
		legal := g.Legal()
		g.Play(legal[rng.IntN(len(legal))])
	}
	return n
}
