package arena

import (
	"fmt"

	"yinshzero/rules"
)

// A Tally counts a match: its Score, how long its games were, and how many of them and of their openings differ. The zero
// value is empty.
type Tally struct {
	Score    Score
	games    map[uint64]struct{} // by Game.Hash
	openings map[uint64]struct{} // likewise
	plies    int
}

// Add counts a pair.
func (t *Tally) Add(r PairResult) {
	if t.games == nil {
		t.games, t.openings = map[uint64]struct{}{}, map[uint64]struct{}{}
	}
	t.Score.Add(r)
	t.openings[Game{Moves: r.Opening.Moves}.Hash()] = struct{}{}
	for _, g := range r.Games {
		t.games[g.Hash()] = struct{}{}
		t.plies += len(g.Moves)
	}
}

// Unique is the number of different games, told apart by Game.Hash. Two players without chance that meet in few openings
// play few games, and then a Score is worth less than its counts say.
func (t *Tally) Unique() int { return len(t.games) }

// UniqueOpenings is the number of different openings, told apart Move by Move.
func (t *Tally) UniqueOpenings() int { return len(t.openings) }

// String is the match in a line, from A's side.
func (t *Tally) String() string {
	s := t.Score
	return fmt.Sprintf("+%d =%d -%d in %d pairs, %+.0f Elo, %d different games from %d openings",
		s.Wins, s.Draws, s.Losses, s.N(), s.Elo().Elo, t.Unique(), t.UniqueOpenings())
}

// MeanPlies is the mean number of Moves in a game, 0 before the first pair.
func (t *Tally) MeanPlies() float64 {
	return float64(t.plies) / float64(max(1, 2*t.Score.N()))
}

// A Report is what is told of a match, from A's side.
type Report struct {
	A           string  `json:"a"`
	B           string  `json:"b"`
	Variant     string  `json:"variant"`
	Pairs       int     `json:"pairs"`
	Wins        int     `json:"wins"` // games
	Draws       int     `json:"draws"`
	Losses      int     `json:"losses"`
	Elo         float64 `json:"elo"` // and the ends of its 95 % interval, within ±MaxElo
	EloLow      float64 `json:"elo_low"`
	EloHigh     float64 `json:"elo_high"`
	MeanPlies   float64 `json:"mean_plies"`
	Pentanomial [5]int  `json:"pentanomial"` // pairs by A's points: 0, 1/2, 1, 3/2, 2
	UniqueGames int     `json:"unique_games"`
	Openings    int     `json:"unique_openings"`
}

// Report is the Tally in figures, with the players' names and v's.
func (t *Tally) Report(a, b string, v rules.Variant) Report {
	s, e := t.Score, t.Score.Elo()
	return Report{
		A: a, B: b, Variant: v.String(), Pairs: s.N(), Wins: s.Wins, Draws: s.Draws, Losses: s.Losses,
		Elo: e.Elo, EloLow: e.Low, EloHigh: e.High,
		MeanPlies: t.MeanPlies(), Pentanomial: s.Pairs, UniqueGames: t.Unique(), Openings: t.UniqueOpenings(),
	}
}
