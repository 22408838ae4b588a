package arena

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"yinshzero/internal/seed"
)

func games(w, d, l int) Score { return Score{Wins: w, Draws: d, Losses: l} }

func fitted(t *testing.T, l *Ladder) map[string]Rating {
	t.Helper()
	table, err := l.Fit()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]Rating{}
	for i, r := range table.Ratings {
		out[r.Name] = r
		if above := table.Ratings[max(i-1, 0)]; r.Elo > above.Elo {
			t.Errorf("%s at %.1f stands below %s at %.1f", r.Name, r.Elo, above.Name, above.Elo)
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
	f := fit{
		n: 3, met: []meeting{{0, 1, 3, 2}, {2, -1, 1.5, 4}, {-1, 0, 1, 0}, {1, 2, 7, 0}},
		gains: []gain{{1, 0}, {2, 1}}, child: []bool{false, true, true}, spread: 0.7,
	}
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
			got := hessian.off[i][j]
			if i == j {
				got = hessian.diagonal[i]
			}
			if !near(got, want, 1e-4) {
				t.Errorf("hessian %d %d is %v, want %v", i, j, got, want)
			}
		}
	}
}

// between are the Chances of a player who is elo stronger: openings favour a colour and some games are drawn, less so the
// further apart the players are.
func between(elo float64) Chances {
	p := EloScore(elo)
	return Chances{Elo: elo, Draws: 0.2 * p * (1 - p), Bias: 0.8 * p * (1 - p)}
}

// meet plays pairs between two players until stop says so.
func meet(rng *rand.Rand, elo float64, stop func(Score) bool) (s Score) {
	for !stop(s) {
		between(elo).pair(&s, rng)
	}
	return s
}

func after(pairs int) func(Score) bool { return func(s Score) bool { return s.N() >= pairs } }

// A held counts intervals that hold the truth.
type held struct{ yes, all int }

func (h *held) count(ratings []Rating, truth map[string]float64) {
	for _, r := range ratings {
		if r.EloLow == r.EloHigh { // the anchor
			continue
		}
		h.all++
		if r.EloLow <= truth[r.Name] && truth[r.Name] <= r.EloHigh {
			h.yes++
		}
	}
}

func (h *held) share() float64 { return float64(h.yes) / float64(h.all) }

// TestLadderCoverage: in tournaments of players of known strength, everyone against everyone, 95 % intervals hold the truth in
// 95 % of cases.
func TestLadderCoverage(t *testing.T) {
	var h held
	for i := range uint64(300) {
		rng := seed.New(21).Child("tournament", i).Rand()
		names := []string{"random", "a", "b", "c", "d", "e"}
		truth := map[string]float64{"random": 0}
		for _, n := range names[1:] {
			truth[n] = 150 + 150*rng.NormFloat64()
		}
		l := NewLadder("random")
		for j, a := range names {
			for _, b := range names[:j] {
				l.Add(a, b, meet(rng, truth[a]-truth[b], after(15)))
			}
		}
		table, err := l.Fit()
		if err != nil {
			t.Fatal(err)
		}
		h.count(table.Ratings, truth)
	}
	t.Logf("%d intervals, of which %.3f hold the truth", h.all, h.share())
	if s := h.share(); s < 0.93 || s > 0.975 {
		t.Errorf("%.3f of the intervals hold the truth, want 0.95", s)
	}
}

// runOf plays what a training run plays: candidates from ever stronger weights, gates that stop when they are decided, and
// anchors, the first and every tenth promoted model among them. It adds every match with add and returns all strengths.
func runOf(rng *rand.Rand, candidates int, g Gate, add func(gate bool, a, b string, s Score)) map[string]float64 {
	truth := map[string]float64{"random": 0, "greedy": 250, "uct:100": 700, "m0": 100}
	trained, best := truth["m0"], "m0"
	var anchors []string
	promoted := 0
	measure := func() {
		for _, a := range append([]string{"random", "greedy", "uct:100"}, anchors...) {
			add(false, best, a, meet(rng, truth[best]-truth[a], after(10)))
		}
		if promoted%10 == 0 {
			anchors = append(anchors, best)
		}
		promoted++
	}
	measure()
	for k := 1; k <= candidates; k++ {
		trained += 150*math.Exp(-float64(k)/6) + 10 + 25*rng.NormFloat64()
		c := fmt.Sprintf("m%d", k)
		truth[c] = trained
		s := meet(rng, truth[c]-truth[best], func(s Score) bool { return g.Judge(s) != Continue })
		add(true, c, best, s)
		if g.Judge(s) == Accept {
			best = c
			measure()
		}
	}
	return truth
}

// TestLadderCoverageOfRuns: over a whole run, whose gates stop when a candidate is ahead, 95 % intervals hold the truth, and
// ratings do not drift away from it. Without what is known of gains they do both.
func TestLadderCoverageOfRuns(t *testing.T) {
	const candidates = 60
	runs := uint64(60)
	if testing.Short() {
		runs = 10
	}
	gate := Gate{Elo0: 0, Elo1: 60, Alpha: 0.05, Beta: 0.05, MaxPairs: 120}
	var h, plain held
	var drift, plainDrift, spread float64
	for i := range runs {
		l, p := NewLadder("random"), NewLadder("random")
		truth := runOf(seed.New(22).Child("run", i).Rand(), candidates, gate, func(gate bool, a, b string, s Score) {
			p.Add(a, b, s)
			if gate {
				l.AddGate(a, b, s)
			} else {
				l.Add(a, b, s)
			}
		})
		for _, x := range []struct {
			l     *Ladder
			h     *held
			drift *float64
		}{{l, &h, &drift}, {p, &plain, &plainDrift}} {
			table, err := x.l.Fit()
			if err != nil {
				t.Fatal(err)
			}
			x.h.count(table.Ratings, truth)
			*x.drift += (table.Ratings[0].Elo - truth[table.Ratings[0].Name]) / float64(runs)
			if x.l == l {
				spread += table.GainSpread / float64(runs)
			}
		}
	}
	t.Logf("%d intervals, of which %.3f hold the truth, the best %+.0f off, gains of %.0f; without gains %.3f and %+.0f",
		h.all, h.share(), drift, spread, plain.share(), plainDrift)
	if s := h.share(); s < 0.92 || s > 0.985 {
		t.Errorf("%.3f of the intervals hold the truth, want 0.95", s)
	}
	if plain.share() > 0.9 && !testing.Short() {
		t.Errorf("without gains %.3f of the intervals hold the truth: the runs are too easy to show what gains are for", plain.share())
	}
}

// TestLadderShowsCycles: three players who beat each other in a circle are equal, and the pairings say that this is not all.
// Among players of one strength they say nothing of the kind.
func TestLadderShowsCycles(t *testing.T) {
	l := NewLadder("random")
	for _, p := range [][2]string{{"rock", "scissors"}, {"scissors", "paper"}, {"paper", "rock"}} {
		l.Add(p[0], p[1], ofPairs(0, 0, 10, 0, 10))
		l.Add(p[0], "random", ofPairs(0, 0, 10, 0, 10))
	}
	table, err := l.Fit()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range table.Ratings[:3] {
		if !near(r.Elo, table.Ratings[0].Elo, 1e-6) {
			t.Errorf("%+v: want all three equal", table.Ratings)
		}
	}
	for i, p := range table.Pairings {
		want := 0.0
		if i < 3 {
			want = 3
		}
		if got := math.Abs(p.Deviation); p.Games != 40 || got < want || i >= 3 && got > 0.5 {
			t.Errorf("pairing %d: %+v", i, p)
		}
		if i < 3 && (p.Points > p.Expected) != (p.Deviation > 0) {
			t.Errorf("%+v has the wrong sign", p)
		}
	}

	off, all := 0, 0
	for i := range uint64(100) {
		rng := seed.New(23).Child("tournament", i).Rand()
		l := NewLadder("a")
		names := []string{"a", "b", "c", "d", "e", "f"}
		for j, a := range names {
			for k, b := range names[:j] {
				l.Add(a, b, meet(rng, float64(40*(j-k)), after(20)))
			}
		}
		l.AddGate("g", "a", meet(rng, 0, after(20)))
		table, err := l.Fit()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range table.Pairings {
			if all++; math.Abs(p.Deviation) >= 2 {
				off++
			}
		}
	}
	t.Logf("%d of %d pairings are two or more standard deviations off", off, all)
	if share := float64(off) / float64(all); share < 0.015 || share > 0.06 {
		t.Errorf("%.3f of the pairings of players without circles are two or more standard deviations off, want less than 0.05", share)
	}
}
