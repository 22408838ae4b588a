package selfplay

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"yinshzero/data"
	"yinshzero/mcts"
	"yinshzero/rules"
)

func newPlayer(t testing.TB, e mcts.Evaluator, p Params) *Player {
	t.Helper()
	player, err := New(mcts.New(e, mcts.DefaultParams()), p)
	if err != nil {
		t.Fatal(err)
	}
	return player
}

// TestGamesAreSound replays games of every variant and looks at every ply.
func TestGamesAreSound(t *testing.T) {
	for _, v := range rules.Variants() {
		t.Run(v.Name, func(t *testing.T) {
			p := DefaultParams()
			p.RandomOpenings = 0.5
			player := newPlayer(t, mcts.Uniform{}, p)
			kinds := map[data.Kind]int{}
			for n := range uint64(6) {
				rec, err := player.Game(context.Background(), v, n)
				if err != nil {
					t.Fatal(err)
				}
				if err := rec.Validate(); err != nil {
					t.Fatalf("game %d: %v", n, err)
				}
				pos := rules.New(v)
				for i, ply := range rec.Plies {
					kinds[ply.Kind]++
					choice := len(pos.AppendMoves(nil)) > 1
					if choice == (ply.Kind == data.Forced) {
						t.Errorf("game %d ply %d: %d legal moves, kind %v", n, i, len(pos.AppendMoves(nil)), ply.Kind)
					}
					if ply.Kind == data.Opening && pos.Phase() != rules.PhasePlaceRing {
						t.Errorf("game %d ply %d: a random move in phase %v", n, i, pos.Phase())
					}
					if (len(ply.Policy) > 0) != (ply.Kind == data.Full) {
						t.Errorf("game %d ply %d: kind %v has %d policy entries", n, i, ply.Kind, len(ply.Policy))
					}
					pos.Play(ply.Move)
				}
			}
			searched := kinds[data.Full] + kinds[data.Fast]
			if share := float64(kinds[data.Full]) / float64(searched); share < 0.1 || share > 0.4 {
				t.Errorf("%v: the share of full searches is %.2f, want about 0.25", kinds, share)
			}
			if kinds[data.Opening] == 0 {
				t.Error("no random opening in half of six games")
			}
		})
	}
}

// TestGameIsDecidedByItsNumber plays a game twice, with other games in between, and another one.
func TestGameIsDecidedByItsNumber(t *testing.T) {
	player := newPlayer(t, mcts.Uniform{}, DefaultParams())
	var games []*data.Record
	for _, n := range []uint64{7, 8, 7} {
		rec, err := player.Game(context.Background(), rules.Mini(), n)
		if err != nil {
			t.Fatal(err)
		}
		games = append(games, rec)
	}
	if !reflect.DeepEqual(games[0], games[2]) {
		t.Error("the same number gives another game after other games")
	}
	if reflect.DeepEqual(games[0].Plies, games[1].Plies) {
		t.Error("another number gives the same game")
	}
}

// failing fails, or ends its context, at the n-th evaluation.
type failing struct {
	left int
	err  error
	end  context.CancelFunc
}

func (f *failing) Evaluate(ctx context.Context, batch []*mcts.Query) error {
	if f.left--; f.left == 0 {
		if f.end == nil {
			return f.err
		}
		f.end()
	}
	return mcts.Uniform{}.Evaluate(ctx, batch)
}

func TestEvaluatorFails(t *testing.T) {
	broken := errors.New("broken")
	player := newPlayer(t, &failing{left: 50, err: broken}, DefaultParams())
	if rec, err := player.Game(context.Background(), rules.Mini(), 1); !errors.Is(err, broken) || rec != nil {
		t.Errorf("got %v, %v, want the evaluator's error", rec, err)
	}
	if _, err := player.Game(context.Background(), rules.Mini(), 2); err != nil {
		t.Errorf("the next game: %v", err)
	}
}

func TestCancelGivesNoGame(t *testing.T) {
	for _, at := range []int{1, 2, 17, 60} {
		ctx, cancel := context.WithCancel(context.Background())
		player := newPlayer(t, &failing{left: at, end: cancel}, DefaultParams())
		if rec, err := player.Game(ctx, rules.Mini(), 1); !errors.Is(err, context.Canceled) || rec != nil {
			t.Errorf("ended at evaluation %d: got %v, %v, want no game", at, rec, err)
		}
	}
}

// TestDraw compares drawn Moves with the improved policy.
func TestDraw(t *testing.T) {
	edges := []mcts.RootEdge{{Move: 1, Policy: 0.5}, {Move: 2, Policy: 0}, {Move: 3, Policy: 0.3}, {Move: 4, Policy: 0.2}}
	for _, temperature := range []float64{1, 0.5} {
		p := DefaultParams()
		p.Temperature = temperature
		player := newPlayer(t, mcts.Uniform{}, p)
		want := map[rules.Move]float64{1: 0.5, 3: 0.3, 4: 0.2}
		if temperature == 0.5 {
			want = map[rules.Move]float64{1: 0.25 / 0.38, 3: 0.09 / 0.38, 4: 0.04 / 0.38}
		}
		const n = 20000
		got := map[rules.Move]int{}
		rng := rand.New(rand.NewPCG(1, 2))
		for range n {
			got[player.draw(edges, rng)]++
		}
		for m := range rules.Move(5) {
			if f := float64(got[m]) / n; f < want[m]-0.015 || f > want[m]+0.015 {
				t.Errorf("temperature %v: move %d is drawn with %.3f, want %.3f", temperature, m, f, want[m])
			}
		}
	}
}

// TestDrawAtSmallTemperature: no temperature is so small that the greatest policies lose their shares.
func TestDrawAtSmallTemperature(t *testing.T) {
	flat := []mcts.RootEdge{
		{Move: 1, Policy: 0.2}, {Move: 2, Policy: 0.2}, {Move: 3, Policy: 0.21}, {Move: 4, Policy: 0.2}, {Move: 5, Policy: 0.19},
	}
	tied := []mcts.RootEdge{{Move: 1, Policy: 0.3}, {Move: 2, Policy: 0.35}, {Move: 3, Policy: 0}, {Move: 4, Policy: 0.35}}
	for _, temperature := range []float64{0.0005, 1e-300} {
		p := DefaultParams()
		p.Temperature = temperature
		player, rng := newPlayer(t, mcts.Uniform{}, p), rand.New(rand.NewPCG(1, 2))
		alone, shared := map[rules.Move]int{}, map[rules.Move]int{}
		for range 200 {
			alone[player.draw(flat, rng)]++
			shared[player.draw(tied, rng)]++
		}
		if alone[3] != 200 {
			t.Errorf("temperature %v: drew %v, want 3 alone, which has the greatest policy", temperature, alone)
		}
		if shared[2]+shared[4] != 200 || shared[2] < 70 || shared[4] < 70 {
			t.Errorf("temperature %v: drew %v, want 2 and 4 alike", temperature, shared)
		}
	}
}

// white counts how often it was asked, and says that White is ahead.
type white struct{ asked int }

func (w *white) Evaluate(ctx context.Context, batch []*mcts.Query) error {
	w.asked += len(batch)
	err := mcts.Uniform{}.Evaluate(ctx, batch)
	for _, q := range batch {
		q.Value = 0.5
	}
	return err
}

// early is a number of plies of the standard game within which no search of few simulations sees its end.
const early = 24

// TestValueIsWhites: the value of a ply is White's view, whoever moves and however long the search was.
func TestValueIsWhites(t *testing.T) {
	p := DefaultParams()
	p.FullShare, p.RandomOpenings = 0.5, 0
	rec, err := newPlayer(t, &white{}, p).Game(context.Background(), rules.Standard(), 1)
	if err != nil {
		t.Fatal(err)
	}
	type seen struct {
		side rules.Color
		kind data.Kind
	}
	plies := map[seen]int{}
	pos := rules.New(rec.Variant)
	for i, ply := range rec.Plies[:early] {
		if ply.Kind != data.Forced {
			plies[seen{pos.ToMove(), ply.Kind}]++
			if d := ply.Value - 0.5; d < -1e-4 || d > 1e-4 {
				t.Errorf("ply %d, %v to move, %v: value %v, want 0.5", i, pos.ToMove(), ply.Kind, ply.Value)
			}
		}
		pos.Play(ply.Move)
	}
	if len(plies) != 4 {
		t.Errorf("%v: want plies of both sides and both kinds", plies)
	}
}

// TestBudgets counts the evaluations of each ply. Under temperature 0 the Move is one that the search has visited, so that
// the next search goes on from its tree and evaluates its root no more.
func TestBudgets(t *testing.T) {
	p := DefaultParams()
	p.Simulations, p.FastSimulations, p.FullShare, p.Temperature = 11, 5, 0.5, 0
	budget := map[data.Kind]int{data.Full: 11, data.Fast: 5}
	eval := &white{}
	player, rng := newPlayer(t, eval, p), rand.New(rand.NewPCG(1, 2))
	pos := rules.New(rules.Standard())
	plies := map[data.Kind]int{}
	for n := range early {
		before := eval.asked
		ply, err := player.ply(context.Background(), &pos, n, false, rng)
		if err != nil {
			t.Fatal(err)
		}
		want := budget[ply.Kind]
		if n == 0 {
			want++ // the root
		}
		if got := eval.asked - before; got != want {
			t.Errorf("ply %d, %v: %d evaluations, want %d", n, ply.Kind, got, want)
		}
		plies[ply.Kind]++
		pos.Play(ply.Move)
		player.search.Advance(ply.Move)
	}
	if plies[data.Full] == 0 || plies[data.Fast] == 0 {
		t.Errorf("%v: want both kinds", plies)
	}

	// A whole game evaluates no more than its simulations and the roots that no tree led to.
	eval.asked, p.RandomOpenings = 0, 0
	rec, err := newPlayer(t, eval, p).Game(context.Background(), rules.Standard(), 1)
	if err != nil {
		t.Fatal(err)
	}
	most := 1
	for _, ply := range rec.Plies {
		if ply.Kind == data.Forced {
			most++
		}
		most += budget[ply.Kind]
	}
	if eval.asked > most || eval.asked < most*8/10 {
		t.Errorf("%d evaluations in a game, want at most %d and hardly less", eval.asked, most)
	}
}

// decide is ply n of pos by a new player with a random source of the given seed.
func decide(t *testing.T, p Params, pos rules.Position, n int, seed uint64) data.Ply {
	t.Helper()
	ply, err := newPlayer(t, mcts.Uniform{}, p).ply(context.Background(), &pos, n, false, rand.New(rand.NewPCG(seed, 0)))
	if err != nil {
		t.Fatal(err)
	}
	return ply
}

// choices are the Moves of decide for many seeds.
func choices(t *testing.T, p Params, pos rules.Position, n int) map[rules.Move]int {
	t.Helper()
	moves := map[rules.Move]int{}
	for seed := range uint64(20) {
		moves[decide(t, p, pos, n, seed).Move]++
	}
	return moves
}

// never is a share of full searches so small that none comes up.
const never = 1e-12

// TestNoise: with temperature 0 full searches explore by their noise, and fast ones do not explore.
func TestNoise(t *testing.T) {
	p := DefaultParams()
	p.Temperature = 0
	pos := rules.New(rules.Standard())
	p.FullShare = 1
	if moves := choices(t, p, pos, 0); len(moves) < 5 {
		t.Errorf("full searches choose %v: want many moves", moves)
	}
	p.FullShare = never
	if moves := choices(t, p, pos, 0); len(moves) != 1 {
		t.Errorf("fast searches choose %v: want one move", moves)
	}
}

// best is what a search without noise makes of pos.
func best(t *testing.T, pos rules.Position, simulations int) mcts.Root {
	t.Helper()
	root, err := mcts.New(mcts.Uniform{}, mcts.DefaultParams()).Search(context.Background(), pos, mcts.Budget{Simulations: simulations}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// TestTemperatureEnds: from ply TemperaturePlies on the search's own choice is played.
func TestTemperatureEnds(t *testing.T) {
	p := DefaultParams()
	p.FullShare, p.Temperature, p.TemperaturePlies = never, 100, 4
	pos := rules.New(rules.Standard())
	if moves := choices(t, p, pos, 3); len(moves) < 5 {
		t.Errorf("the last ply with temperature is one of %v: want many moves", moves)
	}
	want := best(t, pos, p.FastSimulations).Best
	for _, n := range []int{4, 5} {
		if moves := choices(t, p, pos, n); moves[want] != 20 {
			t.Errorf("ply %d is one of %v: want %v alone", n, moves, want)
		}
	}
}

// TestProvenIsPlayed: once the result is proven, the search's own choice is played, whatever the temperature. The
// Position is one whose Moves all lead to the same end, so that a draw from the policy would play any of them.
func TestProvenIsPlayed(t *testing.T) {
	p := DefaultParams()
	p.FullShare, p.FastSimulations, p.Temperature, p.TemperaturePlies = never, 300, 100, 1000
	v, err := rules.ParseVariant("3-1-5-3-1")
	if err != nil {
		t.Fatal(err)
	}
	rng, found := rand.New(rand.NewPCG(1, 2)), 0
	for range 200 {
		pos, last := rules.New(v), rules.Position{}
		for {
			if _, over := pos.Result(); over {
				break
			}
			last = pos
			pos.Play(rules.RandomMove(&pos, rules.Rows, rng))
		}
		root, open := best(t, last, p.FastSimulations), 0
		for _, e := range root.Edges {
			if e.Policy > 0.01 {
				open++
			}
		}
		if !root.Proven || open < 3 {
			continue
		}
		found++
		if moves := choices(t, p, last, 0); moves[root.Best] != 20 {
			t.Errorf("%v: plays %v: want %v alone", &last, moves, root.Best)
		}
		if found == 3 {
			return
		}
	}
	t.Errorf("%d proven positions with several moves: want 3", found)
}

func TestTarget(t *testing.T) {
	got := target([]mcts.RootEdge{{Move: 1, Policy: 1}, {Move: 2, Policy: 1e-6}, {Move: 3, Policy: 0.25}})
	want := []data.Visit{{Move: 1, Weight: 65535}, {Move: 3, Weight: 16383}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestParamsValidate(t *testing.T) {
	if err := DefaultParams().Validate(); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*Params){
		func(p *Params) { p.Simulations = 1 }, func(p *Params) { p.FastSimulations = 0 }, func(p *Params) { p.FullShare = 0 },
		func(p *Params) { p.FullShare = 1.1 }, func(p *Params) { p.TemperaturePlies = -1 }, func(p *Params) { p.Temperature = -1 },
		func(p *Params) { p.RandomOpenings = 2 },
	} {
		p := DefaultParams()
		change(&p)
		if p.Validate() == nil {
			t.Errorf("%+v is taken for valid", p)
		}
	}
}
