package net

import (
	"math"
	"math/rand/v2"
	"testing"

	"yinshzero/net/kernel"
	"yinshzero/rules"
)

// averaged is what p says about a Position, averaged over its twelve images, each turned back. Replies are the legal Moves.
func averaged(p *Program, pos *rules.Position) (a answer) {
	legal := pos.AppendMoves(nil)
	a = answer{
		logits: make([]float64, len(legal)), wdl: make([]float64, NumWDL), rings: make([]float64, NumRings),
		reply: make([]float64, len(legal)), ownership: make([]float64, rules.NumPoints*NumOwners), plies: make([]float64, NumPlies),
	}
	out, more := dirtyOutput(len(legal), len(legal))
	add := func(sum []float64, x []float32) {
		for i := range sum {
			sum[i] += float64(x[i]) / rules.NumSymmetries
		}
	}
	for s := range rules.Symmetry(rules.NumSymmetries) {
		image := s.Position(*pos)
		moves := make([]rules.Move, len(legal))
		for i, m := range legal {
			moves[i] = s.Move(m, pos.RowLength())
		}
		p.Forward(AppendPlanes(nil, &image), moves, &out)
		p.Auxiliary(moves, &more)
		add(a.logits, out.Logits)
		add(a.wdl, out.WDL[:])
		add(a.rings, out.Rings[:])
		add(a.reply, more.Reply)
		add(a.plies, more.Plies[:])
		for pt := range rules.Point(rules.NumPoints) {
			add(a.ownership[int(pt)*NumOwners:][:NumOwners], more.Ownership[s.Point(pt).Grid()][:])
		}
	}
	return a
}

// TestSymmetry: averaged over the symmetries, a network says the same of every image of a Position, turned with it, and of
// the Position with its colours exchanged.
func TestSymmetry(t *testing.T) {
	n := 8
	if testing.Short() {
		n = 2
	}
	eachSet(t, func(t *testing.T, set *kernel.Set) {
		rng := rand.New(rand.NewPCG(9, 9))
		p := randomWeights(Arch{Channels: 32, Blocks: 2, Pooling: true}, rng).compile(set)
		for _, pos := range positions(rng, n) {
			want := averaged(p, &pos)
			same := func(what string, got, want []float64) {
				t.Helper()
				for i := range want {
					if math.Abs(got[i]-want[i]) > 1e-4*(1+math.Abs(want[i])) {
						t.Fatalf("%v, %s: number %d is %v, want %v", &pos, what, i, got[i], want[i])
					}
				}
			}
			legal := pos.AppendMoves(nil)
			for s := range rules.Symmetry(rules.NumSymmetries) {
				image := s.Position(pos)
				got := averaged(p, &image)
				place := map[rules.Move]int{}
				for i, m := range image.AppendMoves(nil) {
					place[m] = i
				}
				for i, m := range legal {
					k := place[s.Move(m, pos.RowLength())]
					same("policy", got.logits[k:k+1], want.logits[i:i+1])
					same("reply", got.reply[k:k+1], want.reply[i:i+1])
				}
				for pt := range rules.Point(rules.NumPoints) {
					same("ownership", got.ownership[int(s.Point(pt))*NumOwners:][:NumOwners], want.ownership[int(pt)*NumOwners:][:NumOwners])
				}
				same("win, draw, loss", got.wdl, want.wdl)
				same("rings", got.rings, want.rings)
				same("plies", got.plies, want.plies)
			}
			if pos.Phase() != rules.PhasePlaceRing { // White begins: no such Position has its colours exchanged
				swapped := swap(t, pos)
				got := averaged(p, &swapped)
				same("policy of the other colour", got.logits, want.logits)
				same("reply of the other colour", got.reply, want.reply)
				same("ownership of the other colour", got.ownership, want.ownership)
				same("win, draw, loss of the other colour", got.wdl, want.wdl)
				same("rings of the other colour", got.rings, want.rings)
				same("plies of the other colour", got.plies, want.plies)
			}
		}
	})
}
