package arena

import (
	"math"
	"strings"
	"testing"

	"yinshzero/internal/seed"
)

func TestGateExtremes(t *testing.T) {
	g := Gate{Elo0: 0, Elo1: 35, Alpha: 0.05, Beta: 0.05, MaxPairs: 200}
	for _, c := range []struct {
		name  string
		pairs []int
		want  Verdict
	}{
		{"nothing yet", []int{0, 0, 0, 0, 0}, Continue},
		{"all won, too few", []int{0, 0, 0, 0, MinPairs - 1}, Continue},
		{"all won", []int{0, 0, 0, 0, MinPairs}, Accept},
		{"all lost, too few", []int{MinPairs - 1, 0, 0, 0, 0}, Continue},
		{"all lost", []int{MinPairs, 0, 0, 0, 0}, Reject},
		{"few and all shared", []int{0, 0, MinPairs, 0, 0}, Continue},
		{"many and all shared", []int{0, 0, 150, 0, 0}, Reject},
		{"all three quarters", []int{0, 0, 0, 20, 0}, Accept},
		{"between, at the last", []int{50, 0, 93, 0, 57}, Reject},
		{"between, one before the last", []int{50, 0, 92, 0, 57}, Continue},
	} {
		s := ofPairs(c.pairs...)
		if got := g.Judge(s); got != c.want {
			t.Errorf("%s: got %v, want %v: %s", c.name, got, c.want, g.Reason(s))
		}
	}
	for _, c := range []struct {
		s    Score
		want string
	}{
		{ofPairs(0, 0, 0, 0, 8), "stronger after 8 pairs: LLR "},
		{ofPairs(8, 0, 0, 0, 0), "not stronger after 8 pairs: LLR -"},
		{ofPairs(50, 0, 93, 0, 57), "no decision after 200 pairs: LLR "},
		{ofPairs(1, 0, 0, 0, 1), "undecided after 2 pairs: LLR -"},
	} {
		if got := g.Reason(c.s); !strings.HasPrefix(got, c.want) || !strings.HasSuffix(got, "in [-2.94, 2.94]") {
			t.Errorf("reason %q, want %q… in [-2.94, 2.94]", got, c.want)
		}
	}
}

func TestGateValidate(t *testing.T) {
	good := Gate{0, 35, 0.05, 0.05, 400}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		g    Gate
		want string
	}{
		{Gate{35, 35, 0.05, 0.05, 0}, "want elo0 < elo1"},
		{Gate{0, math.NaN(), 0.05, 0.05, 0}, "want elo0 < elo1"},
		{Gate{0, 3500, 0.05, 0.05, 0}, "within ±2400"},
		{Gate{0, 35, 0, 0.05, 0}, "alpha is 0"},
		{Gate{0, 35, 0.05, 0.5, 0}, "beta is 0.5"},
		{Gate{0, 35, 0.05, 0.05, 3}, "max pairs is 3"},
		{Gate{0, 35, 0.05, 0.05, -1}, "max pairs is -1"},
	} {
		if err := c.g.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got error %v, want %s", c.g, err, c.want)
		}
	}
}

// trial runs a test over drawn pairs until judge decides and returns its verdict and the pairs it took.
func trial(p source, rng interface{ Float64() float64 }, judge func(Score) Verdict) (Verdict, int) {
	var s Score
	for {
		s.Pairs[p.draw(rng.Float64())]++
		if v := judge(s); v != Continue {
			return v, s.N()
		}
	}
}

// trials returns the share of accepted candidates and the mean number of pairs.
func trials(p source, n int, label string, judge func(Score) Verdict) (accepted, pairs float64) {
	rng := seed.New(11).Child(label, uint64(n)).Rand()
	for range n {
		v, k := trial(p, rng, judge)
		if v == Accept {
			accepted++
		}
		pairs += float64(k)
	}
	return accepted / float64(n), pairs / float64(n)
}

// gateSources are distributions of pairs at a given score: without and with draws, from balanced and lopsided openings.
var gateSources = []struct {
	name string
	at   func(score float64) source
}{
	{"no draws", func(s float64) source { return independent(s, 0) }},
	{"a third drawn", func(s float64) source { return independent(s, 1.0/3) }},
	{"lopsided openings", func(s float64) source { return opened(s, 0.05, 0.35) }},
}

// TestGateErrors: over many simulated tests, Elo0 is accepted with chance Alpha at most and Elo1 refused with chance Beta
// at most, give or take three standard errors and the little that a normal approximation costs.
func TestGateErrors(t *testing.T) {
	n := 4000
	if testing.Short() {
		n = 500
	}
	for _, g := range []Gate{
		{Elo0: 0, Elo1: 35, Alpha: 0.05, Beta: 0.05},
		{Elo0: 0, Elo1: 80, Alpha: 0.05, Beta: 0.1},
		{Elo0: -20, Elo1: 20, Alpha: 0.02, Beta: 0.05},
		{Elo0: 0, Elo1: 200, Alpha: 0.05, Beta: 0.05},
	} {
		for _, src := range gateSources {
			if src.name == "lopsided openings" && g.Elo1 > 100 {
				continue // no such score with such a bias
			}
			slack := func(p float64) float64 { return 1.1*p + 3*math.Sqrt(p*(1-p)/float64(n)) }
			bad, pairs0 := trials(src.at(EloScore(g.Elo0)), n, src.name, g.Judge)
			good, pairs1 := trials(src.at(EloScore(g.Elo1)), n, src.name, g.Judge)
			t.Logf("%+v, %s: accepted %.3f of Elo0 in %.0f pairs, %.3f of Elo1 in %.0f pairs", g, src.name, bad, pairs0, good, pairs1)
			if bad > slack(g.Alpha) {
				t.Errorf("%+v, %s: %.4f of Elo0 accepted, want at most %v", g, src.name, bad, g.Alpha)
			}
			if 1-good > slack(g.Beta) {
				t.Errorf("%+v, %s: %.4f of Elo1 refused, want at most %v", g, src.name, 1-good, g.Beta)
			}
		}
	}
}

// TestGateMaxPairs: a limit only ever turns a decision into a rejection.
func TestGateMaxPairs(t *testing.T) {
	g := Gate{Elo0: 0, Elo1: 35, Alpha: 0.05, Beta: 0.05, MaxPairs: 60}
	bad, pairs := trials(independent(0.5, 0), 500, "limited", g.Judge)
	if bad > g.Alpha || pairs > 60 {
		t.Errorf("%.3f of Elo0 accepted in %.0f pairs, want at most %v in 60", bad, pairs, g.Alpha)
	}
	strong, pairs := trials(independent(0.9, 0), 500, "limited", g.Judge)
	if strong < 0.99 || pairs > 20 {
		t.Errorf("%.3f of a score of 0.9 accepted in %.0f pairs, want nearly all in under 20", strong, pairs)
	}
}

// trinomial is the test that takes all games as independent: the variance of a pair is half of a game's.
func trinomial(g Gate) func(Score) Verdict {
	lower, upper := g.Bounds()
	s0, s1 := EloScore(g.Elo0), EloScore(g.Elo1)
	return func(s Score) Verdict {
		mean := s.Mean()
		variance := mean * (1 - mean) / 2 // no draws
		llr := float64(s.N()) * (s1 - s0) * (2*mean - s0 - s1) / (2 * variance)
		switch {
		case s.N() < MinPairs:
			return Continue
		case llr >= upper:
			return Accept
		case llr <= lower:
			return Reject
		}
		return Continue
	}
}

// TestPairsAgainstGames: with lopsided openings, the test on pairs needs far fewer of them than the one on games; with
// balanced ones it needs about as many.
func TestPairsAgainstGames(t *testing.T) {
	g := Gate{Elo0: 0, Elo1: 35, Alpha: 0.05, Beta: 0.05}
	for _, c := range []struct {
		bias      float64
		low, high float64 // of the ratio of pairs needed
	}{{0, 0.9, 1.15}, {0.25, 0.6, 0.9}, {0.4, 0.25, 0.6}} {
		p := opened(EloScore(g.Elo1), 0, c.bias)
		accepted, byPairs := trials(p, 500, "bias", g.Judge)
		acceptedGames, byGames := trials(p, 500, "bias", trinomial(g))
		t.Logf("bias %.2f: %.0f pairs (%.3f accepted), on games alone %.0f (%.3f)", c.bias, byPairs, accepted, byGames, acceptedGames)
		if ratio := byPairs / byGames; ratio < c.low || ratio > c.high {
			t.Errorf("bias %.2f: %.0f pairs against %.0f: ratio %.2f, want %.2f to %.2f", c.bias, byPairs, byGames, ratio, c.low, c.high)
		}
	}
}
