package train

import (
	"fmt"
	"slices"

	"yinshzero/data"
	"yinshzero/net"
	"yinshzero/net/graph"
	"yinshzero/rules"
)

// set makes a batch's samples the rows of a graph, one after the other in e.
func (p Params) set(g *graph.Graph, e *graph.Example, batch []data.Sample) error {
	policy, reply := balance(batch)
	for i := range batch {
		if err := p.Fill(e, &batch[i]); err != nil {
			return err
		}
		e.PolicyWeight *= policy
		e.ReplyWeight *= reply
		g.Set(i, e)
	}
	return nil
}

// Fill makes of a sample what the network is shown and what it is to answer, all from the side to move; every target it has
// weighs 1. It uses e's memory again. The error names the sample's ply and a target that is no legal Move.
func (p Params) Fill(e *graph.Example, s *data.Sample) (err error) {
	own := s.Pos.ToMove()
	e.Planes = net.AppendPlanes(e.Planes[:0], &s.Pos)
	e.Legal = s.Pos.AppendMoves(e.Legal[:0])
	e.PolicyWeight = 0
	if s.Kind == data.Full {
		if e.Policy, err = distribution(e.Policy, e.Legal, s.Policy); err != nil {
			return fmt.Errorf("sample of ply %d: policy: %w", s.Ply, err)
		}
		e.PolicyWeight = 1
	}
	e.ReplyWeight = 0
	if len(s.Reply) > 0 {
		e.ReplyLegal = s.Next.AppendMoves(e.ReplyLegal[:0])
		if e.Reply, err = distribution(e.Reply, e.ReplyLegal, s.Reply); err != nil {
			return fmt.Errorf("sample of ply %d: reply: %w", s.Ply, err)
		}
		e.ReplyWeight = 1
	}
	sign := float32(1)
	if own == rules.Black {
		sign = -1
	}
	e.WDL = wdl(sign*s.Outcome.Value(), float32(p.ValueMix), sign*s.Value)
	e.Rings = min(max(s.Last.Taken(own)-s.Last.Taken(own.Other()), -net.NumRings/2), net.NumRings/2) + net.NumRings/2
	e.ValueWeight = 1
	e.EndWeight = 0
	if s.Reason != rules.Resigned { // else the game would have gone on
		e.Owners = owners(&s.Last, own)
		e.Plies = min(int(s.Plies-s.Ply)/net.PliesStep, net.NumPlies-1)
		e.EndWeight = 1
	}
	return nil
}

// balance returns the weights that make the losses of policy and reply means over the rows of a batch with such a target,
// so that they do not hang on how many these are.
func balance(batch []data.Sample) (policy, reply float32) {
	policies, replies := 0, 0
	for i := range batch {
		if batch[i].Kind == data.Full {
			policies++
		}
		if len(batch[i].Reply) > 0 {
			replies++
		}
	}
	n := float32(len(batch))
	return n / float32(max(policies, 1)), n / float32(max(replies, 1))
}

// distribution is a search's policy as one number for each legal Move, in the memory of dst.
func distribution(dst []float32, legal []rules.Move, policy []data.Visit) ([]float32, error) {
	dst = slices.Grow(dst[:0], len(legal))[:len(legal)]
	clear(dst)
	total := 0.0
	for _, v := range policy {
		total += float64(v.Weight)
	}
	for _, v := range policy {
		i, ok := slices.BinarySearch(legal, v.Move)
		if !ok {
			return dst, fmt.Errorf("the target has the illegal move %v", v.Move)
		}
		dst[i] = float32(float64(v.Weight) / total)
	}
	return dst, nil
}

// owners is the ownership target: whose marker is on each Point of the last Position, in the view of a side.
func owners(last *rules.Position, own rules.Color) (classes [net.Cells]uint8) {
	var points [rules.NumPoints]rules.Point
	for i := range classes {
		classes[i] = 1
	}
	for _, pt := range last.AppendMarkers(points[:0], own) {
		classes[pt.Grid()] = 0
	}
	for _, pt := range last.AppendMarkers(points[:0], own.Other()) {
		classes[pt.Grid()] = 2
	}
	return classes
}

// wdl is the distribution over win, draw and loss for a result and a share of a root value, both from one side's view. A
// root value v counts as a win with (1 + v)/2 and as a loss with the rest.
func wdl(result, mix, value float32) (t [net.NumWDL]float32) {
	t[1-int(result)] = 1 - mix
	t[0] += mix * (1 + value) / 2
	t[2] += mix * (1 - value) / 2
	return t
}
