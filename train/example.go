package train

import (
	"fmt"
	"slices"

	"yinshzero/data"
	"yinshzero/net"
	"yinshzero/net/graph"
	"yinshzero/rules"
)

// fill makes of a sample what the network is shown and what it is to answer, both from the side to move.
func (p Params) fill(e *graph.Example, s *data.Sample) error {
	e.Planes = net.AppendPlanes(e.Planes[:0], &s.Pos)
	e.Legal = s.Pos.AppendMoves(e.Legal[:0])
	e.Policy = append(e.Policy[:0], make([]float32, len(e.Legal))...)
	e.PolicyWeight, e.ValueWeight = 0, 1
	if s.Kind == data.Full {
		total := 0.0
		for _, v := range s.Policy {
			total += float64(v.Weight)
		}
		for _, v := range s.Policy {
			i, ok := slices.BinarySearch(e.Legal, v.Move)
			if !ok {
				return fmt.Errorf("sample of ply %d: the target has the illegal move %s", s.Ply, s.Pos.Variant().MoveText(v.Move))
			}
			e.Policy[i] = float32(float64(v.Weight) / total)
		}
		e.PolicyWeight = 1
	}
	sign := float32(1)
	if s.Pos.ToMove() == rules.Black {
		sign = -1
	}
	e.WDL = wdl(sign*s.Outcome.Value(), float32(p.ValueMix), sign*s.Value)
	e.Rings = min(max(int(sign)*int(s.Rings), -net.NumRings/2), net.NumRings/2) + net.NumRings/2
	return nil
}

// wdl is the distribution over win, draw and loss for a result and a share of a root value, both from one side's view. A
// root value v counts as a win with (1 + v)/2 and as a loss with the rest.
func wdl(result, mix, value float32) (t [net.NumWDL]float32) {
	t[1-int(result)] = 1 - mix
	t[0] += mix * (1 + value) / 2
	t[2] += mix * (1 - value) / 2
	return t
}
