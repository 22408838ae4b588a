package infer

import (
	"math/rand/v2"

	"yinshzero/net"
	"yinshzero/net/kernel"
	"yinshzero/rules"
)

// stepGames is the number of random games that the steps of 8-bit numbers are chosen by. Other players' games give steps
// that are as good.
const stepGames = 12

// Compile returns w as a Program for games of v, which must be valid. With p.Int8 it convolves 8-bit integers if the machine
// can do so fast (AVX-512 VNNI), else floats. The same Weights, Variant and instruction set give the same Program.
func (p Params) Compile(w *net.Weights, v rules.Variant) (*net.Program, error) {
	if p.Int8 && kernel.HasInt8() {
		return w.CompileInt8(stepPositions(v))
	}
	return w.Compile()
}

// stepPositions is the Positions of some random games that like Rows.
func stepPositions(v rules.Variant) (ps []rules.Position) {
	rng := rand.New(rand.NewPCG(1, 8))
	for range stepGames {
		pos := rules.New(v)
		for _, m := range rules.RandomGame(v, rules.Rows, rng).Moves {
			ps = append(ps, pos)
			pos.Play(m)
		}
	}
	return ps
}
