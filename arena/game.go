package arena

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"yinshzero/internal/seed"
	"yinshzero/rules"
)

// A Game is a finished game: all its Moves from the empty board, those of the opening included, and how it ended.
type Game struct {
	Moves  []rules.Move
	Result rules.Result
}

// Hash is a hash of the Moves (FNV-1a, 64 bits): equal for equal games of one Variant.
func (g Game) Hash() uint64 {
	h := uint64(14695981039346656037)
	for _, m := range g.Moves {
		h = (h ^ uint64(m&0xff)) * 1099511628211
		h = (h ^ uint64(m>>8)) * 1099511628211
	}
	return h
}

// Points is what c got: 1 for a win, 1/2 for a draw.
func (g Game) Points(c rules.Color) float64 {
	switch g.Result.Outcome {
	case rules.Wins(c):
		return 1
	case rules.Draw:
		return 0.5
	}
	return 0
}

// Replay is the finished game with the given Moves from the empty board of v. It is an error if one of them is illegal,
// if they do not end the game or if they go on after its end.
func Replay(v rules.Variant, moves []rules.Move) (Game, error) {
	pos := rules.New(v)
	for i, m := range moves {
		if _, over := pos.Result(); over {
			return Game{}, fmt.Errorf("ply %d: the game is over after %d", i, i)
		}
		if !pos.IsLegal(m) {
			return Game{}, fmt.Errorf("ply %d: illegal move %s", i, moveText(v, m))
		}
		pos.Play(m)
	}
	res, over := pos.Result()
	if !over {
		return Game{}, fmt.Errorf("the game is not over after %d plies", len(moves))
	}
	return Game{moves, res}, nil
}

// moveText is the text of any number, also one that is no Move.
func moveText(v rules.Variant, m rules.Move) string {
	if int(m) >= rules.NumMoves {
		return m.String()
	}
	return v.MoveText(m)
}

// PlayGame plays a game of v from an opening to its end. Each colour has its own random stream, derived from s. An
// illegal Move is an error that names side, ply and Move.
func PlayGame(ctx context.Context, white, black Player, v rules.Variant, s seed.Seed, o Opening) (Game, error) {
	players := [2]Player{white, black}
	rngs := [2]*rand.Rand{s.Child("white", 0).Rand(), s.Child("black", 0).Rand()}
	pos, err := o.Position(v)
	if err != nil {
		return Game{}, err
	}
	for _, p := range players {
		if f, ok := p.(Follower); ok {
			f.Start(pos)
		}
	}
	moves := slices.Clone(o.Moves)
	for {
		if res, over := pos.Result(); over {
			return Game{moves, res}, nil
		}
		if err := ctx.Err(); err != nil {
			return Game{}, err
		}
		c := pos.ToMove()
		m, err := players[c].Move(ctx, pos, rngs[c])
		if err != nil {
			return Game{}, fmt.Errorf("ply %d: %v: %w", len(moves), c, err)
		}
		if !pos.IsLegal(m) {
			return Game{}, fmt.Errorf("ply %d: %v plays illegal move %s", len(moves), c, moveText(v, m))
		}
		pos.Play(m)
		moves = append(moves, m)
		for _, p := range players {
			if f, ok := p.(Follower); ok {
				f.Played(m)
			}
		}
	}
}

// A PairResult is one opening played twice. A is White in the first game and Black in the second.
type PairResult struct {
	Opening Opening
	Games   [2]Game
}

// sideOfA is A's colour in each game of a pair.
var sideOfA = [2]rules.Color{rules.White, rules.Black}

// Points is what A got in the two games together: 0, 1/2, 1, 3/2 or 2.
func (r PairResult) Points() float64 {
	return r.Games[0].Points(sideOfA[0]) + r.Games[1].Points(sideOfA[1])
}

// PlayPair plays an opening twice, first with a as White, then with b as White. Both games draw on the same random
// streams by colour: a player against its equal plays the same game twice and gets exactly one point.
func PlayPair(ctx context.Context, a, b Player, v rules.Variant, s seed.Seed, o Opening) (PairResult, error) {
	r := PairResult{Opening: o}
	for i, p := range [2][2]Player{{a, b}, {b, a}} {
		g, err := PlayGame(ctx, p[0], p[1], v, s, o)
		if err != nil {
			return PairResult{}, fmt.Errorf("game %d of a pair: %w", i+1, err)
		}
		r.Games[i] = g
	}
	return r, nil
}
