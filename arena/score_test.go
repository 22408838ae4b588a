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

// TestChances: pairs come out with the score, the draws and the variance that their Chances say.
func TestChances(t *testing.T) {
	for _, c := range []Chances{
		{Elo: 0}, {Elo: 100, Draws: 0.3}, {Elo: -50, Draws: 0.1, Bias: 0.3}, {Elo: 20, Draws: 0.1, Taste: 0.3}, {Elo: 0, Bias: 0.5},
	} {
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		const n = 40_000
		var s Score
		rng := seed.New(5).Rand()
		for range n {
			c.pair(&s, rng)
		}
		p := EloScore(c.Elo)
		game := p*(1-p) - c.Draws/4                              // variance of a game's points, openings included
		variance := (game - c.Bias*c.Bias - c.Taste*c.Taste) / 2 // of a pair's mean at a given opening
		variance += c.Taste * c.Taste                            // and of the openings' taste
		if got := s.Mean(); !near(got, p, 4*math.Sqrt(variance/n)+1e-12) {
			t.Errorf("%+v: the score is %.4f, want %.4f", c, got, p)
		}
		if got := s.Variance(); !near(got, variance, 0.02*variance+1e-4) {
			t.Errorf("%+v: the variance of pairs is %.5f, want %.5f", c, got, variance)
		}
		if got := float64(s.Draws) / (2 * n); !near(got, c.Draws, 0.01) || s.games() != 2*n {
			t.Errorf("%+v: %.3f of %d games are drawn", c, got, s.games())
		}
	}
}

// TestEloCoverage: the 95 % interval holds the truth about as often as it says, whatever the score and draws.
func TestEloCoverage(t *testing.T) {
	for i, c := range []Chances{
		{}, {Draws: 0.2}, {Elo: scoreElo(0.75), Draws: 0.1}, {Elo: scoreElo(0.95)}, {Elo: scoreElo(0.98)},
		{Elo: scoreElo(0.55), Bias: 0.4}, {Taste: 0.3},
	} {
		for _, pairs := range []int{10, 50, 200} {
			rng := seed.New(7).Child("coverage", uint64(i)).Rand()
			const trials = 2000
			held := 0
			for range trials {
				var s Score
				for range pairs {
					c.pair(&s, rng)
				}
				if e := s.Elo(); e.Low <= c.Elo && c.Elo <= e.High {
					held++
				}
			}
			if share := float64(held) / trials; share < 0.935 {
				t.Errorf("%+v, %d pairs: the interval holds the truth in %.3f of matches, want 0.95", c, pairs, share)
			}
		}
	}
}
