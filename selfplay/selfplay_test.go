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
