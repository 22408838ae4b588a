package arena

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"yinshzero/internal/seed"
)

// Chances say how pairs between two players of known strength come out. An opening may favour a colour, which one game of
// a pair gives to A and the other takes away, so that pairs are more alike than games are; and it may suit a player, in
// both games, so that they are less so. Either happens to either side equally often.
type Chances struct {
	Elo   float64 `json:"elo"`   // of A over B
	Draws float64 `json:"draws"` // share of games drawn, 0 to 1
	Bias  float64 `json:"bias"`  // points in a game that an opening gives a colour, 0 to 1/2
	Taste float64 `json:"taste"` // points in a game that an opening gives a player, 0 to 1/2
}

// Validate returns an error if there are no such games.
func (c Chances) Validate() error {
	if !(c.Draws >= 0 && c.Draws <= 1 && c.Bias >= 0 && c.Taste >= 0) {
		return fmt.Errorf("draws %v, bias %v, taste %v: want shares of 0 to 1", c.Draws, c.Bias, c.Taste)
	}
	const slack = 1e-12 // of rounding
	score, off := EloScore(c.Elo), c.Bias+c.Taste
	if !(score-off >= c.Draws/2-slack && score+off <= 1-c.Draws/2+slack) {
		return fmt.Errorf("a score of %.3f cannot be %.3f more and less with a share of %.3f drawn: want less bias, taste or draws", score, off, c.Draws)
	}
	return nil
}

// pair adds a pair, drawn from rng, to s.
func (c Chances) pair(s *Score, rng *rand.Rand) {
	score, bias := EloScore(c.Elo), c.Bias
	if rng.Uint64()&1 == 0 {
		score += c.Taste
	} else {
		score -= c.Taste
	}
	if rng.Uint64()&1 == 0 {
		bias = -bias
	}
	points := 0 // halves
	for _, win := range [2]float64{score + bias - c.Draws/2, score - bias - c.Draws/2} {
		switch u := rng.Float64(); {
		case u < win:
			s.Wins++
			points += 2
		case u < win+c.Draws:
			s.Draws++
			points++
		default:
			s.Losses++
		}
	}
	s.Pairs[points]++
}

// A Trial is what a sequential test did over many matches with known chances.
type Trial struct {
	Accepted  float64 `json:"accepted"`  // share of matches
	Undecided float64 `json:"undecided"` // share rejected because MaxPairs were over
	Pairs     float64 `json:"pairs"`     // mean
	Pairs90   int     `json:"pairs_90"`  // nine of ten matches took no more
}

// Try plays so many matches and judges each as Judge does or, to show what that costs, as if all games were independent of
// each other. It is an error if g or c are not valid or if nothing bounds a match.
func (g Gate) Try(c Chances, matches int, s seed.Seed, byGames bool) (Trial, error) {
	if err := errors.Join(g.Validate(), c.Validate()); err != nil {
		return Trial{}, err
	}
	if g.MaxPairs == 0 || matches < 1 {
		return Trial{}, fmt.Errorf("%d matches of at most %d pairs: want at least 1 of both", matches, g.MaxPairs)
	}
	ratio := g.LLR
	if byGames {
		ratio = g.gamesLLR
	}
	lower, _ := g.Bounds()
	var t Trial
	lengths := make([]int, matches)
	for i := range lengths {
		rng := s.Child("match", uint64(i)).Rand()
		var score Score
		verdict, llr := Continue, 0.0
		for verdict == Continue {
			c.pair(&score, rng)
			llr = ratio(score)
			verdict = g.verdict(score.N(), llr)
		}
		switch {
		case verdict == Accept:
			t.Accepted++
		case llr > lower:
			t.Undecided++
		}
		lengths[i] = score.N()
		t.Pairs += float64(score.N())
	}
	slices.Sort(lengths)
	n := float64(matches)
	t.Accepted, t.Undecided, t.Pairs = t.Accepted/n, t.Undecided/n, t.Pairs/n
	t.Pairs90 = lengths[(9*matches-1)/10]
	return t, nil
}

// gamesLLR is LLR as it would be if the two games of a pair were independent: it counts wins, draws and losses, the
// trinomial, where LLR counts pairs, the pentanomial.
func (g Gate) gamesLLR(s Score) float64 {
	mean := s.Mean()
	squares := 4 * priorSquares // as of four pairs: of games the variance is twice that of pairs, and there are twice as many
	for _, x := range [...]struct{ points, games float64 }{{1, float64(s.Wins)}, {0.5, float64(s.Draws)}, {0, float64(s.Losses)}} {
		squares += (x.points - mean) * (x.points - mean) * x.games
	}
	games := float64(max(1, s.games()))
	return g.llr(s, squares/games/2)
}
