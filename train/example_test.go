package train

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"yinshzero/data"
	"yinshzero/internal/seed"
	"yinshzero/net"
	"yinshzero/net/graph"
	"yinshzero/rules"
)

// samples are those of random games.
func samples(t testing.TB, rng *rand.Rand, games int) (all []data.Sample) {
	t.Helper()
	for range games {
		for s, err := range randomGame(rng).Samples() {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
	}
	return all
}

// TestFill looks at the targets from both sides: what is a win for White is a loss for Black, and so on.
func TestFill(t *testing.T) {
	p := params()
	pos := rules.New(rules.Standard())
	end := lastPosition(t, 3, 1)
	for _, side := range []rules.Color{rules.White, rules.Black} {
		if pos.ToMove() != side {
			t.Fatal("the sides do not alternate while rings are placed")
		}
		legal := pos.AppendMoves(nil)
		next := pos
		next.Play(legal[0])
		replies := next.AppendMoves(nil)
		s := data.Sample{
			Pos: pos, Kind: data.Full, Policy: []data.Visit{{Move: legal[3], Weight: 1}, {Move: legal[7], Weight: 3}},
			Next: next, Reply: []data.Visit{{Move: replies[1], Weight: 2}, {Move: replies[2], Weight: 8}}, Last: end,
			Value: 0.5, Outcome: rules.WhiteWins, Reason: rules.RingsTaken, Ply: 4, Plies: 60,
		}
		var e graph.Example
		if err := p.Fill(&e, &s); err != nil {
			t.Fatal(err)
		}
		want, rings := [3]float32{0.75 + 0.25*0.75, 0, 0.25 * 0.25}, 5
		own, other := uint8(0), uint8(2)
		if side == rules.Black {
			want[0], want[2] = want[2], want[0]
			rings = 1
			own, other = other, own
		}
		if e.WDL != want || e.Rings != rings || e.ValueWeight != 1 {
			t.Errorf("%v to move: got %v and rings %d of weight %v, want %v and %d", side, e.WDL, e.Rings, e.ValueWeight, want, rings)
		}
		if e.Policy[3] != 0.25 || e.Policy[7] != 0.75 || e.PolicyWeight != 1 || len(e.Policy) != len(legal) {
			t.Errorf("%v to move: policy %v with weight %v", side, e.Policy, e.PolicyWeight)
		}
		if e.Reply[1] != 0.2 || e.Reply[2] != 0.8 || e.ReplyWeight != 1 || !slices.Equal(e.ReplyLegal, replies) || len(e.Reply) != len(replies) {
			t.Errorf("%v to move: reply %v with weight %v to %v", side, e.Reply, e.ReplyWeight, e.ReplyLegal)
		}
		if e.Plies != 56/8 || e.EndWeight != 1 {
			t.Errorf("%v to move: plies class %d with weight %v, want 7 and 1", side, e.Plies, e.EndWeight)
		}
		for pt := range rules.Point(rules.NumPoints) {
			want := uint8(1)
			switch end.At(pt) {
			case rules.WhiteMarker:
				want = own
			case rules.BlackMarker:
				want = other
			}
			if e.Owners[pt.Grid()] != want {
				t.Errorf("%v to move: owner of %v is %d, want %d", side, pt, e.Owners[pt.Grid()], want)
			}
		}

		s.Kind, s.Policy, s.Reply = data.Fast, nil, nil
		if err := p.Fill(&e, &s); err != nil || e.PolicyWeight != 0 || e.ValueWeight != 1 || e.ReplyWeight != 0 || e.EndWeight != 1 {
			t.Errorf("a fast ply: weights %v, %v, %v and %v, %v", e.PolicyWeight, e.ValueWeight, e.ReplyWeight, e.EndWeight, err)
		}
		s.Reason = rules.Resigned
		if err := p.Fill(&e, &s); err != nil || e.ValueWeight != 1 || e.EndWeight != 0 {
			t.Errorf("a resigned game: weights %v and %v, %v", e.ValueWeight, e.EndWeight, err)
		}
		s.Kind, s.Policy = data.Full, []data.Visit{{Move: rules.Pass, Weight: 1}}
		if err := p.Fill(&e, &s); err == nil || !strings.Contains(err.Error(), "ply 4: policy: the target has the illegal move") {
			t.Errorf("an illegal target: got error %v", err)
		}
		s.Policy[0].Move, s.Reply = legal[0], []data.Visit{{Move: rules.Pass, Weight: 1}}
		if err := p.Fill(&e, &s); err == nil || !strings.Contains(err.Error(), "ply 4: reply: the target has the illegal move") {
			t.Errorf("an illegal reply: got error %v", err)
		}
		pos.Play(legal[0])
	}
}

// lastPosition is the end of a random standard game in which the sides took so many rings.
func lastPosition(t *testing.T, white, black int) rules.Position {
	t.Helper()
	rng := rand.New(rand.NewPCG(2, 2))
	for range 1000 {
		game := rules.RandomGame(rules.Standard(), rules.Uniform, rng)
		end, err := game.Replay()
		if err != nil {
			t.Fatal(err)
		}
		if end.Taken(rules.White) == white && end.Taken(rules.Black) == black {
			return end
		}
	}
	t.Fatalf("no random game ends with %d and %d rings taken", white, black)
	return rules.Position{}
}

// TestFillRings: differences beyond three rings, which other variants know, count as three.
func TestFillRings(t *testing.T) {
	last, err := rules.ParsePosition("WBBBBB" + strings.Repeat(".", rules.NumPoints-6) + "/W/move/51/4-0/0-0/B/0/5-5-51-5-5")
	if err != nil {
		t.Fatal(err)
	}
	pos := rules.New(last.Variant())
	for _, want := range []int{6, 0} {
		var e graph.Example
		s := data.Sample{Pos: pos, Last: last, Kind: data.Fast, Outcome: rules.WhiteWins, Reason: rules.Resigned}
		if err := params().Fill(&e, &s); err != nil || e.Rings != want {
			t.Errorf("%v to move: rings class %d, %v, want %d", pos.ToMove(), e.Rings, err, want)
		}
		pos.Play(pos.AppendMoves(nil)[0])
	}
}

// TestFillPlies: the classes of the plies left, this Move included, and the last is open.
func TestFillPlies(t *testing.T) {
	for left, want := range map[int32]int{1: 0, 7: 0, 8: 1, 15: 1, 16: 2, 119: 14, 120: 15, 127: 15, 128: 15, 200: 15} {
		var e graph.Example
		s := data.Sample{Pos: rules.New(rules.Standard()), Last: rules.New(rules.Standard()), Kind: data.Fast, Ply: 3, Plies: 3 + left}
		if err := params().Fill(&e, &s); err != nil || e.Plies != want {
			t.Errorf("%d plies left: class %d, %v, want %d", left, e.Plies, err, want)
		}
	}
}

// TestFillAllocates: an Example that was filled before takes a sample without allocating.
func TestFillAllocates(t *testing.T) {
	all := samples(t, rand.New(rand.NewPCG(1, 1)), 2)
	var e graph.Example
	p := params()
	if n := testing.AllocsPerRun(5, func() {
		for i := range all {
			if err := p.Fill(&e, &all[i]); err != nil {
				t.Fatal(err)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// equivariant ties w so that what it computes turns with the board: in a convolution all six neighbours count the same and
// the two cells of the grid that are no neighbours do not, and a Move's plane tells its kind and distance alone. A Row is
// told by one of its ends, so removing Rows has no preference at all.
func equivariant(w *net.Weights) {
	for _, x := range w.Tensors() {
		if len(x.Shape) == 4 {
			n := x.Shape[2] * x.Shape[3]
			for i := range n {
				ring := x.Data[n+i] // the tap (0, 1)
				for tap := range 9 {
					switch tap {
					case 4: // the cell itself
					case 2, 6:
						x.Data[tap*n+i] = 0
					default:
						x.Data[tap*n+i] = ring
					}
				}
			}
		}
		if strings.HasPrefix(x.Name, net.PolicyHead) || strings.HasPrefix(x.Name, net.ReplyHead) {
			for i := range x.Data {
				switch plane := i % net.PolicyPlanes; {
				case plane >= 2+9 && plane < 2+6*9: // directions like the first, by distance
					x.Data[i] = x.Data[i-plane+2+(plane-2)%9]
				case plane >= 2+6*9 && plane < 2+6*9+3:
					x.Data[i] = 0
				}
			}
		}
	}
}

// TestSymmetricTargets: a network that turns with the board finds a sample and its images equally hard, in every head: the
// targets turn with the planes. So it does a sample with the colours exchanged.
func TestSymmetricTargets(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	w := net.Init(net.Arch{Channels: 32, Blocks: 2, Pooling: true}, rng)
	for _, x := range w.Tensors() {
		for i := range x.Data {
			x.Data[i] += float32(0.1 * rng.NormFloat64())
		}
	}
	equivariant(w)
	p := params()
	g, err := graph.New(w, graph.Params{
		Batch: 1, Replicas: 1, PolicyLoss: 1, ValueLoss: 1, RingsLoss: 1, ReplyLoss: 1, OwnershipLoss: 1, PliesLoss: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	losses := func(s *data.Sample) [7]float64 {
		var e graph.Example
		if err := p.Fill(&e, s); err != nil {
			t.Fatal(err)
		}
		g.Set(0, &e)
		l, err := g.Gradients(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return [7]float64{l.Total, l.Policy, l.Value, l.Rings, l.Reply, l.Ownership, l.Plies}
	}
	all := samples(t, rng, 4)
	n := 0
	for i := 0; i < len(all); i += 5 {
		s := all[i]
		want := losses(&s)
		for k, l := range want {
			if l == 0 && (k != 1 || len(s.Policy) > 1) && (k != 4 || len(s.Reply) > 1) {
				t.Fatalf("%v: losses %v", &s.Pos, want)
			}
		}
		same := func(what string, image *data.Sample) {
			for k, l := range losses(image) {
				if math.Abs(l-want[k]) > 1e-4*(1+want[k]) {
					t.Fatalf("%v: loss %d of the %s is %v, want %v", &s.Pos, k, what, l, want[k])
				}
			}
		}
		for sym := range rules.Symmetry(rules.NumSymmetries) {
			image := s
			image.Pos, image.Next, image.Last = sym.Position(s.Pos), sym.Position(s.Next), sym.Position(s.Last)
			image.Policy, image.Reply = turned(sym, &s.Pos, s.Policy), turned(sym, &s.Pos, s.Reply)
			same("image", &image)
		}
		if s.Pos.Phase() != rules.PhasePlaceRing && s.Next.Phase() != rules.PhasePlaceRing { // White begins: these have no exchange
			image := s
			image.Pos, image.Next, image.Last = exchanged(t, s.Pos), exchanged(t, s.Next), exchanged(t, s.Last)
			image.Value = -s.Value
			switch s.Outcome {
			case rules.WhiteWins:
				image.Outcome = rules.BlackWins
			case rules.BlackWins:
				image.Outcome = rules.WhiteWins
			}
			same("exchange", &image)
			n++
		}
	}
	if n < 5 {
		t.Errorf("%d samples have their colours exchanged", n)
	}
}

func turned(sym rules.Symmetry, pos *rules.Position, policy []data.Visit) (image []data.Visit) {
	for _, v := range policy {
		image = append(image, data.Visit{Move: sym.Move(v.Move, pos.RowLength()), Weight: v.Weight})
	}
	return image
}

// exchanged exchanges the colours in a Position's text.
func exchanged(t *testing.T, pos rules.Position) rules.Position {
	t.Helper()
	f := strings.Split(pos.String(), "/")
	colours := strings.NewReplacer("W", "B", "B", "W", "w", "b", "b", "w")
	f[0], f[1], f[6] = colours.Replace(f[0]), colours.Replace(f[1]), colours.Replace(f[6])
	white, black, _ := strings.Cut(f[4], "-")
	f[4] = black + "-" + white
	p, err := rules.ParsePosition(strings.Join(f, "/"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestReplyLossIsAMean: with the reply loss alone, the total is the mean over the rows that have such a target.
func TestReplyLossIsAMean(t *testing.T) {
	p := params()
	p.Graph = graph.Params{Batch: 32, Replicas: 1, ReplyLoss: 1}
	window := data.DefaultWindowParams()
	window.HoldOut, window.FastWeight = 0, 1
	recs := games(60)
	n := 0
	for _, rec := range recs {
		for i := range rec.Plies {
			if ply := &rec.Plies[i]; ply.Kind == data.Full {
				if n++; n%4 > 0 {
					ply.Kind, ply.Policy = data.Fast, nil
				}
			}
		}
	}
	tr, err := New(net.Init(arch, seed.New(1).Rand()), p, seed.New(2))
	if err != nil {
		t.Fatal(err)
	}
	losses, err := tr.Step(context.Background(), windowOf(t, recs, window))
	if err != nil {
		t.Fatal(err)
	}
	replies := 0
	for _, s := range tr.Batch() {
		if len(s.Reply) > 0 {
			replies++
		}
	}
	if replies == 0 || replies > len(tr.Batch())/2 {
		t.Fatalf("%d rows of %d with a reply: want some", replies, len(tr.Batch()))
	}
	if losses.Reply < 0.5 || math.Abs(losses.Total/losses.Reply-1) > 1e-5 {
		t.Errorf("%d rows of %d with a reply: the total is %v, want the reply loss %v", replies, len(tr.Batch()), losses.Total, losses.Reply)
	}
}
