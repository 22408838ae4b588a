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

// tried tries a gate over so many matches.
func tried(t *testing.T, g Gate, c Chances, matches int, byGames bool) Trial {
	t.Helper()
	trial, err := g.Try(c, matches, seed.New(11), byGames)
	if err != nil {
		t.Fatal(err)
	}
	return trial
}

// gateChances are games without and with draws, and openings that favour a colour or suit a player.
var gateChances = []struct {
	name string
	Chances
}{
	{"no draws", Chances{}},
	{"a third drawn", Chances{Draws: 1.0 / 3}},
	{"lopsided openings", Chances{Draws: 0.05, Bias: 0.35}},
	{"openings of a taste", Chances{Draws: 0.05, Taste: 0.2}},
}

// TestGateErrors: over many simulated tests, Elo0 is accepted with chance Alpha at most and Elo1 refused with chance Beta
// at most, give or take three standard errors and the little that a normal approximation costs. Between the two a test
// takes longest, and what it says is open.
func TestGateErrors(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 200
	}
	for _, g := range []Gate{
		{Elo0: 0, Elo1: 60, Alpha: 0.05, Beta: 0.05},
		{Elo0: 0, Elo1: 80, Alpha: 0.05, Beta: 0.1},
		{Elo0: -30, Elo1: 30, Alpha: 0.02, Beta: 0.05},
		{Elo0: 0, Elo1: 200, Alpha: 0.05, Beta: 0.05},
	} {
		g.MaxPairs = 100_000 // never reached
		for _, c := range gateChances {
			if c.Bias > 0 && g.Elo1 > 100 {
				continue // no such score with such a bias
			}
			slack := func(p float64) float64 { return 1.1*p + 3*math.Sqrt(p*(1-p)/float64(n)) }
			at := func(elo float64) Trial {
				c.Elo = elo
				return tried(t, g, c.Chances, n, false)
			}
			bad, between, good := at(g.Elo0), at((g.Elo0+g.Elo1)/2), at(g.Elo1)
			t.Logf("%+v, %s: accepted %.3f of Elo0 in %.0f pairs, %.3f between in %.0f, %.3f of Elo1 in %.0f",
				g, c.name, bad.Accepted, bad.Pairs, between.Accepted, between.Pairs, good.Accepted, good.Pairs)
			if bad.Accepted > slack(g.Alpha) {
				t.Errorf("%+v, %s: %.4f of Elo0 accepted, want at most %v", g, c.name, bad.Accepted, g.Alpha)
			}
			if 1-good.Accepted > slack(g.Beta) {
				t.Errorf("%+v, %s: %.4f of Elo1 refused, want at most %v", g, c.name, 1-good.Accepted, g.Beta)
			}
			if between.Pairs < max(bad.Pairs, good.Pairs) || between.Accepted < 0.3 || between.Accepted > 0.7 {
				t.Errorf("%+v, %s: between the two %.3f are accepted in %.0f pairs", g, c.name, between.Accepted, between.Pairs)
			}
		}
	}
}

// TestGateMaxPairs: a limit only ever turns a decision into a rejection.
func TestGateMaxPairs(t *testing.T) {
	g := Gate{Elo0: 0, Elo1: 35, Alpha: 0.05, Beta: 0.05, MaxPairs: 60}
	bad := tried(t, g, Chances{}, 500, false)
	if bad.Accepted > g.Alpha || bad.Pairs > 60 || bad.Pairs90 != 60 || bad.Undecided < 0.5 {
		t.Errorf("%+v of Elo0, want at most %v accepted, most undecided after 60 pairs", bad, g.Alpha)
	}
	strong := tried(t, g, Chances{Elo: 380}, 500, false)
	if strong.Accepted < 0.99 || strong.Pairs > 20 || strong.Pairs90 < int(strong.Pairs) || strong.Undecided != 0 {
		t.Errorf("%+v of a score of 0.9, want nearly all accepted in under 20 pairs", strong)
	}
}

// TestPairsAgainstGames: with openings that favour a colour, the test on pairs needs far fewer of them than the one on
// games; with balanced ones it needs about as many. With openings that suit a player, the test on games takes luck for
// strength: it accepts more than it may.
func TestPairsAgainstGames(t *testing.T) {
	g := Gate{Elo0: 0, Elo1: 35, Alpha: 0.05, Beta: 0.05, MaxPairs: 100_000}
	for _, c := range []struct {
		bias      float64
		low, high float64 // of the ratio of pairs needed
	}{{0, 0.9, 1.15}, {0.25, 0.6, 0.9}, {0.4, 0.25, 0.6}} {
		chances := Chances{Elo: g.Elo1, Bias: c.bias}
		pairs, games := tried(t, g, chances, 500, false), tried(t, g, chances, 500, true)
		t.Logf("bias %.2f: on pairs %+v, on games %+v", c.bias, pairs, games)
		if ratio := pairs.Pairs / games.Pairs; ratio < c.low || ratio > c.high {
			t.Errorf("bias %.2f: %.0f pairs against %.0f: ratio %.2f, want %.2f to %.2f", c.bias, pairs.Pairs, games.Pairs, ratio, c.low, c.high)
		}
	}
	taste := Chances{Taste: 0.3}
	pairs, games := tried(t, g, taste, 1000, false), tried(t, g, taste, 1000, true)
	t.Logf("taste: on pairs %+v, on games %+v", pairs, games)
	if pairs.Accepted > g.Alpha+0.02 || games.Accepted < g.Alpha+0.02 {
		t.Errorf("of equals the test on pairs accepts %.4f and the one on games %.4f: want about %v and far more", pairs.Accepted, games.Accepted, g.Alpha)
	}
}

func TestTryRefuses(t *testing.T) {
	good := Gate{0, 35, 0.05, 0.05, 100}
	for _, c := range []struct {
		g       Gate
		c       Chances
		matches int
		want    string
	}{
		{Gate{0, 35, 0, 0.05, 100}, Chances{}, 1, "alpha is 0"},
		{Gate{0, 35, 0.05, 0.05, 0}, Chances{}, 1, "at most 0 pairs"},
		{good, Chances{}, 0, "0 matches"},
		{good, Chances{Draws: -1}, 1, "draws -1"},
		{good, Chances{Draws: math.NaN()}, 1, "draws NaN"},
		{good, Chances{Elo: math.NaN()}, 1, "cannot be"},
		{good, Chances{Elo: 400, Bias: 0.2}, 1, "0.909 cannot be 0.200 more"},
		{good, Chances{Draws: 0.6, Bias: 0.2, Taste: 0.1}, 1, "cannot be 0.300 more"},
	} {
		if _, err := c.g.Try(c.c, c.matches, seed.New(1), false); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got error %v, want %s", c, err, c.want)
		}
	}
}
