package arena

import (
	"math"
	"testing"

	"yinshzero/internal/seed"
)

// ofPairs is a Score with the given pairs, each won, drawn and lost in the plainest way.
func ofPairs(p ...int) Score {
	return Score{
		Pairs: [5]int(p), Wins: p[2] + p[3] + 2*p[4], Draws: p[1] + p[3], Losses: 2*p[0] + p[1] + p[2],
	}
}

func near(got, want, within float64) bool { return math.Abs(got-want) <= within }

func TestElo(t *testing.T) {
	for _, c := range []struct {
		name           string
		s              Score
		elo, low, high float64
		within         float64
	}{
		{"nothing", Score{}, 0, -MaxElo, MaxElo, 0},
		{"even", ofPairs(25, 0, 50, 0, 25), 0, -47, 47, 2}, // 200 independent games: ±0.0693
		{"three quarters", ofPairs(6, 0, 38, 0, 56), 190.8, 136, 246, 2},
		{"all won", ofPairs(0, 0, 0, 0, 100), 1040, 566, MaxElo, 10}, // of 100 wins in 100: Wilson's low is 0.9630
		{"all lost", ofPairs(100, 0, 0, 0, 0), -1040, -MaxElo, -566, 10},
		{"every pair shared", ofPairs(0, 0, 100, 0, 0), 0, -10, 10, 1},
	} {
		e := c.s.Elo()
		if !near(e.Elo, c.elo, c.within) || !near(e.Low, c.low, c.within) || !near(e.High, c.high, c.within) {
			t.Errorf("%s: got %+v, want %v in [%v, %v]", c.name, e, c.elo, c.low, c.high)
		}
		if !(e.Low <= e.Elo && e.Elo <= e.High) {
			t.Errorf("%s: %+v is out of order", c.name, e)
		}
		s := c.s.Swap().Elo()
		if !near(s.Elo, -e.Elo, 1e-6) || !near(s.Low, -e.High, 1e-6) || !near(s.High, -e.Low, 1e-6) {
			t.Errorf("%s: swapped %+v, want the opposite of %+v", c.name, s, e)
		}
		if c.s.Swap().Swap() != c.s {
			t.Errorf("%s: swapped twice: %+v", c.name, c.s.Swap().Swap())
		}
	}
}

func TestEloScore(t *testing.T) {
	for _, c := range []struct{ elo, score float64 }{{0, 0.5}, {400, 10.0 / 11}, {-400, 1.0 / 11}, {190.8485, 0.75}} {
		if got := EloScore(c.elo); !near(got, c.score, 1e-6) {
			t.Errorf("EloScore(%v) = %v, want %v", c.elo, got, c.score)
		}
		if got := scoreElo(c.score); !near(got, c.elo, 1e-3) {
			t.Errorf("scoreElo(%v) = %v, want %v", c.score, got, c.elo)
		}
	}
	if scoreElo(0) != -MaxElo || scoreElo(1) != MaxElo {
		t.Errorf("scoreElo of 0 and 1: %v, %v, want ±%d", scoreElo(0), scoreElo(1), MaxElo)
	}
}

// A source draws pairs of one distribution.
type source [5]float64

func (p source) mean() (m float64) {
	for i, x := range p {
		m += x * float64(i) / 4
	}
	return m
}

func (p source) draw(u float64) int {
	for i, x := range p {
		if u -= x; u < 0 {
			return i
		}
	}
	return 4
}

// independent is the distribution of pairs of two independent games with a score and a share of draws.
func independent(score, draws float64) source {
	return opened(score, draws, 0)
}

// opened is the distribution of pairs whose opening favours White by bias, in score.
func opened(score, draws, bias float64) (p source) {
	one := func(s float64) [3]float64 { return [3]float64{1 - s - draws/2, draws, s - draws/2} }
	first, second := one(score+bias), one(score-bias)
	for i, x := range first {
		for j, y := range second {
			p[i+j] += x * y
		}
	}
	return p
}

// TestEloCoverage: the 95 % interval holds the truth about as often as it says, whatever the score and draws.
func TestEloCoverage(t *testing.T) {
	for i, p := range []source{
		independent(0.5, 0), independent(0.5, 0.2), independent(0.75, 0.1), independent(0.95, 0), independent(0.98, 0),
		opened(0.55, 0, 0.4),
	} {
		truth := scoreElo(p.mean())
		for _, pairs := range []int{10, 50, 200} {
			rng := seed.New(7).Child("coverage", uint64(i)).Rand()
			const trials = 2000
			held := 0
			for range trials {
				var s Score
				for range pairs {
					s.Pairs[p.draw(rng.Float64())]++
				}
				if e := s.Elo(); e.Low <= truth && truth <= e.High {
					held++
				}
			}
			if share := float64(held) / trials; share < 0.935 {
				t.Errorf("source %d, %d pairs: the interval holds the truth in %.3f of matches, want 0.95", i, pairs, share)
			}
		}
	}
}
