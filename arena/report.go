package arena

import "yinshzero/rules"

// A Tally counts a match: its Score, how long its games were and how many of them differ. The zero value is empty.
type Tally struct {
	Score Score
	games map[uint64]struct{} // by Game.Hash
	plies int
}

// Add counts a pair.
func (t *Tally) Add(r PairResult) {
	if t.games == nil {
		t.games = map[uint64]struct{}{}
	}
	t.Score.Add(r)
	for _, g := range r.Games {
		t.games[g.Hash()] = struct{}{}
		t.plies += len(g.Moves)
	}
}

// Unique is the number of different games, told apart by Game.Hash. Two players without chance that meet in few openings
// play few games, and then a Score is worth less than its counts say.
func (t *Tally) Unique() int { return len(t.games) }

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
}

// Report is the Tally in figures, with the players' names and v's.
func (t *Tally) Report(a, b string, v rules.Variant) Report {
	s, e := t.Score, t.Score.Elo()
	return Report{
		A: a, B: b, Variant: v.String(), Pairs: s.N(), Wins: s.Wins, Draws: s.Draws, Losses: s.Losses,
		Elo: e.Elo, EloLow: e.Low, EloHigh: e.High,
		MeanPlies: t.MeanPlies(), Pentanomial: s.Pairs, UniqueGames: t.Unique(),
	}
}
