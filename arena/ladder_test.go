package arena

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"yinshzero/internal/seed"
)

func games(w, d, l int) Score { return Score{Wins: w, Draws: d, Losses: l} }

func fitted(t *testing.T, l *Ladder) map[string]Rating {
	t.Helper()
	ratings, err := l.Fit()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]Rating{}
	for i, r := range ratings {
		out[r.Name] = r
		if i > 0 && r.Elo > ratings[i-1].Elo {
			t.Errorf("%s at %.1f stands below %s at %.1f", r.Name, r.Elo, ratings[i-1].Name, ratings[i-1].Elo)
		}
	}
	return out
}

// TestLadderOfTwo has a closed form but for the prior, which is weak: 400·log10(points won / points lost).
func TestLadderOfTwo(t *testing.T) {
	l := NewLadder("random")
	l.Add("greedy", "random", games(70, 10, 20))
	l.Add("random", "greedy", games(4, 2, 94))
	got := fitted(t, l)
	won, lost := 75.0+95, 25.0+5
	if want := 400 * math.Log10(won/lost); !near(got["greedy"].Elo, want, 2) {
		t.Errorf("greedy at %.1f, want about %.1f", got["greedy"].Elo, want)
	}
	if a := got["random"]; a.Elo != 0 || a.EloLow != 0 || a.EloHigh != 0 || a.Games != 200 || a.Points != lost {
		t.Errorf("the anchor is %+v", a)
	}
	p := won / (won + lost)
	half := 1.96 * eloNat / math.Sqrt(200*p*(1-p))
	if g := got["greedy"]; !near(g.EloHigh-g.Elo, half, 1) || !near(g.Elo-g.EloLow, half, 1) || g.Points != won {
		t.Errorf("greedy is %+v, want ±%.1f", g, half)
	}
}

// TestLadderRecovers draws games between players of known strength, each against its neighbours only.
func TestLadderRecovers(t *testing.T) {
	const players, n = 12, 4000
	truth := func(i int) float64 { return float64(i*i) * 10 }
	name := func(i int) string { return fmt.Sprintf("p%d", i) }
	l, reversed := NewLadder("p0"), NewLadder("p0")
	rng := seed.New(3).Rand()
	type match struct {
		a, b string
		s    Score
	}
	var matches []match
	for i := range players {
		for j := i + 1; j < min(i+3, players); j++ {
			var s Score
			for range n {
				if rng.Float64() < EloScore(truth(i)-truth(j)) {
					s.Wins++
				} else {
					s.Losses++
				}
			}
			matches = append(matches, match{name(i), name(j), s})
		}
	}
	for i := range matches {
		m, r := matches[i], matches[len(matches)-1-i]
		l.Add(m.a, m.b, m.s)
		reversed.Add(r.b, r.a, r.s.Swap())
	}
	got, again := fitted(t, l), fitted(t, reversed)
	for i := range players {
		r := got[name(i)]
		if half := r.EloHigh - r.Elo; !near(r.Elo, truth(i), max(2*half, 5)) || half > 60 {
			t.Errorf("%s at %.0f ± %.0f, is %.0f", r.Name, r.Elo, half, truth(i))
		}
		if !near(again[name(i)].Elo, r.Elo, 1e-6) {
			t.Errorf("%s at %v, with the matches in another order at %v", r.Name, r.Elo, again[name(i)].Elo)
		}
	}
}

func TestLadderExtremes(t *testing.T) {
	l := NewLadder("a")
	if got := fitted(t, l); len(got) != 1 || got["a"].Elo != 0 {
		t.Errorf("an empty ladder: %+v", got)
	}
	l.Add("b", "a", games(100, 0, 0))
	l.Add("c", "b", games(100, 0, 0))
	l.Add("d", "c", games(1000, 0, 0))
	l.Add("x", "y", games(10, 0, 10))
	l.Add("b", "b", games(10, 0, 10))
	got := fitted(t, l)
	if !(got["a"].Elo < got["b"].Elo && got["b"].Elo < got["c"].Elo && got["c"].Elo < got["d"].Elo && got["d"].Elo < 6000) {
		t.Errorf("all won: %+v", got)
	}
	if got["b"].Games != 200 {
		t.Errorf("b has %d games, want 200: those against itself do not count", got["b"].Games)
	}
	if x := got["x"]; !near(x.Elo, 0, 1e-6) || x.EloHigh < 1500 {
		t.Errorf("a player tied to nobody: %+v, want 0 with a wide interval", x)
	}
	l = NewLadder("nobody")
	l.Add("b", "a", games(1, 0, 0))
	if _, err := l.Fit(); err == nil || !strings.Contains(err.Error(), `anchor "nobody" has played none`) {
		t.Errorf("got error %v", err)
	}
}

// TestLadderDerivatives holds gradient and Hessian against finite differences of the posterior.
func TestLadderDerivatives(t *testing.T) {
	f := fit{n: 3, won: []won{{0, 1, 3}, {1, 0, 2}, {2, -1, 1.5}, {-1, 2, 4}, {-1, 0, 1}, {1, 2, 7}}}
	r := []float64{0.3, -1.1, 2.2}
	gradient, hessian := f.derivatives(r)
	const h = 1e-4
	shifted := func(i, j int, di, dj float64) float64 {
		s := []float64{r[0], r[1], r[2]}
		s[i] += di
		s[j] += dj
		return f.posterior(s)
	}
	for i := range r {
		if want := (shifted(i, i, h, 0) - shifted(i, i, -h, 0)) / (2 * h); !near(gradient[i], want, 1e-6) {
			t.Errorf("gradient %d is %v, want %v", i, gradient[i], want)
		}
		for j := range i + 1 {
			want := -(shifted(i, j, h, h) - shifted(i, j, h, -h) - shifted(i, j, -h, h) + shifted(i, j, -h, -h)) / (4 * h * h)
			if !near(hessian[i][j], want, 1e-4) {
				t.Errorf("hessian %d %d is %v, want %v", i, j, hessian[i][j], want)
			}
		}
	}
}
