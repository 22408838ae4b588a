package arena

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// A Ladder rates many players by their matches: the Bradley-Terry model with draws as half a win, under a prior, and one
// player, the anchor, at 0.
//
// The prior has two parts. A candidate is somewhere around the model that its gate has played it against; how far, is
// estimated from all gates together. Without this ratings would grow without end: a gate stops when a candidate is ahead, so
// that those who pass have been lucky more often than not, and the luck of a hundred gates would add up. The prior's centre
// is no gain at all, since what the first candidates of a run gain says little of the later ones. Everyone else is somewhere
// around the anchor, with a standard deviation of 1,500 Elo: that keeps players finite who have won or lost everything, and
// players that no chain of matches ties to the anchor at 0 with a wide interval. Candidates have no part in that, for
// hundreds of them would pull each other down to the anchor.
//
// Games of a pair are not independent, nor are they all decisive: how much less or more pairs vary than two independent
// games without draws would is estimated from all pairs, and a game counts for as much as that leaves of it.
type Ladder struct {
	anchor string
	scores map[[2]string]Score // of the first, by name, against the second
	parent map[string]string   // of candidates
}

const (
	ladderPrior = 1500 // standard deviation of a player around the anchor, in Elo
	gainPrior   = 50   // standard deviation of candidates around what they are gated against, in Elo, before there are gates
	gainWeight  = 5    // how many gates that counts for

	// dispersionWeight is how much variance of pairs speaks for a dispersion of 1 before there are any: as that of forty
	// pairs between equals.
	dispersionWeight = 40 * 1.0 / 8
)

// eloNat is the number of Elo in a factor e of the odds.
const eloNat = 400 / math.Ln10

// A Table is what a Ladder says.
type Table struct {
	Ratings  []Rating  `json:"ratings"`  // best first
	Pairings []Pairing `json:"pairings"` // the most surprising first
	// Dispersion is the variance of pairs, relative to that of pairs of independent games without draws.
	Dispersion float64 `json:"dispersion"`
	// GainSpread is how far, in Elo, candidates are from the best models of their time, as a root mean square; 0 if there were
	// no gates.
	GainSpread float64 `json:"gain_spread"`
}

// A Rating is a player's place.
type Rating struct {
	Name    string  `json:"name"`
	Elo     float64 `json:"elo"`      // relative to the anchor, whose Elo is 0
	EloLow  float64 `json:"elo_low"`  // 95 % interval
	EloHigh float64 `json:"elo_high"` //
	Games   int     `json:"games"`
	Points  float64 `json:"points"` // draws count half
}

// A Pairing is what two players have done against each other, beside what their ratings expect. Where ratings tell the
// whole story, one pairing in twenty is more than two standard deviations off. More of them, or one that is far off, show
// that strength is not a matter of one number: A beats B, B beats C, and C beats A.
type Pairing struct {
	A         string  `json:"a"`
	B         string  `json:"b"`
	Games     int     `json:"games"`
	Points    float64 `json:"points"`    // of A
	Expected  float64 `json:"expected"`  // of A
	Deviation float64 `json:"deviation"` // of Points from Expected, in standard deviations; 0 where the ratings hang on this pairing alone
}

// NewLadder makes an empty Ladder on which the named player stands at 0.
func NewLadder(anchor string) *Ladder {
	return &Ladder{anchor: anchor, scores: map[[2]string]Score{}, parent: map[string]string{}}
}

// Add counts games between a and b, from a's side. A player's games against itself say nothing and are left out.
func (l *Ladder) Add(a, b string, s Score) {
	switch {
	case a == b:
		return
	case a > b:
		a, b, s = b, a, s.Swap()
	}
	l.scores[[2]string{a, b}] = l.scores[[2]string{a, b}].plus(s)
}

// AddGate counts the games of a gate, from the candidate's side.
func (l *Ladder) AddGate(candidate, best string, s Score) {
	l.Add(candidate, best, s)
	if was, ok := l.parent[candidate]; candidate != best && (!ok || best < was) {
		l.parent[candidate] = best
	}
}

// Fit returns the ratings that are most likely given all matches and the prior, equal ones by name. The intervals come from
// the curvature there. The order in which matches were added does not matter. It is an error if there are matches but none
// of the anchor's.
func (l *Ladder) Fit() (Table, error) {
	ratings := map[string]*Rating{l.anchor: {Name: l.anchor}}
	add := func(name string, s Score) {
		r := ratings[name]
		if r == nil {
			r = &Rating{Name: name}
			ratings[name] = r
		}
		r.Games += s.games()
		r.Points += s.points()
	}
	met := l.met()
	for _, p := range met {
		add(p[0], l.scores[p])
		add(p[1], l.scores[p].Swap())
	}
	if len(ratings) > 1 && ratings[l.anchor].Games == 0 {
		return Table{}, fmt.Errorf("anchor %q has played none of the matches: name a player that has", l.anchor)
	}

	t := Table{Ratings: []Rating{}, Pairings: []Pairing{}, Dispersion: l.dispersion()}
	names := slices.Sorted(maps.Keys(ratings))
	index := map[string]int{l.anchor: -1}
	for _, n := range names {
		if n != l.anchor {
			index[n] = len(index) - 1
		}
	}
	f := fit{n: len(names) - 1, child: make([]bool, len(names)-1)}
	for _, p := range met {
		s := l.scores[p]
		won := s.points()
		f.met = append(f.met, meeting{index[p[0]], index[p[1]], won / t.Dispersion, (float64(s.games()) - won) / t.Dispersion})
	}
	for _, child := range slices.Sorted(maps.Keys(l.parent)) {
		if l.descends(child) {
			f.gains = append(f.gains, gain{index[child], index[l.parent[child]]})
			f.child[index[child]] = true
		}
	}
	elo, covariance := f.solve()
	if len(f.gains) > 0 {
		t.GainSpread = f.spread * eloNat
	}
	for _, n := range names {
		r := ratings[n]
		if i := index[n]; i >= 0 {
			half := z95 * math.Sqrt(covariance.of(i, i)) * eloNat
			r.Elo = elo[i] * eloNat
			r.EloLow, r.EloHigh = r.Elo-half, r.Elo+half
		}
		t.Ratings = append(t.Ratings, *r)
	}
	slices.SortStableFunc(t.Ratings, func(a, b Rating) int { return cmp.Compare(b.Elo, a.Elo) })
	for k, p := range met {
		t.Pairings = append(t.Pairings, f.pairing(k, p, l.scores[p], elo, covariance, t.Dispersion))
	}
	slices.SortStableFunc(t.Pairings, func(a, b Pairing) int { return cmp.Compare(math.Abs(b.Deviation), math.Abs(a.Deviation)) })
	return t, nil
}

// descends reports whether a candidate's line of gates leads to a player that is none. A line in a circle, or through the
// anchor, which no run plays, ties nobody to anybody.
func (l *Ladder) descends(candidate string) bool {
	seen := map[string]bool{}
	for at, ok := candidate, true; ok; at, ok = l.parent[at] {
		if seen[at] || at == l.anchor && l.parent[at] != "" {
			return false
		}
		seen[at] = true
	}
	return true
}

// met is who has met whom, in order.
func (l *Ladder) met() [][2]string {
	return slices.SortedFunc(maps.Keys(l.scores), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
}

// dispersion is the variance of pairs around the means of their pairings, relative to that of pairs of independent games
// without draws at the same means.
func (l *Ladder) dispersion() float64 {
	found, plain := dispersionWeight, dispersionWeight
	for _, p := range l.met() {
		s := l.scores[p]
		n := float64(s.N())
		if n < 2 {
			continue
		}
		mean := s.Mean()
		for i, k := range s.Pairs {
			d := float64(i)/4 - mean
			found += d * d * float64(k)
		}
		plain += (n - 1) / (1 - 1/(2*n)) * mean * (1 - mean) / 2 // the mean of few pairs is further out than the truth
	}
	return found / plain
}

// A meeting is the points that two players, by index, have won from each other, each game counting for what it is worth; −1
// is the anchor.
type meeting struct {
	a, b      int
	won, lost float64 // of a
}

// A gain is how much stronger a candidate is than what it was gated against.
type gain struct {
	of, over int
}

// A fit finds the maximum of the logarithm of the posterior
//
//	Σ won·ln σ(r_a − r_b) + lost·ln σ(r_b − r_a) − Σ r²/(2 τ²) − Σ (r_of − r_over)²/(2 spread²)
//
// over the strengths r of n players, in natural units of the odds, the anchor's being 0; the second sum is over those who are no
// candidates. It is strictly concave.
type fit struct {
	n      int
	met    []meeting
	gains  []gain
	child  []bool  // by player: whether a gain ties it to another
	spread float64 // of gains, a standard deviation
}

// solve returns the strengths and their covariance, with the spread of gains, and so the precision of each, at its maximum by
// expectation maximisation (Dempster, Laird and Rubin, 1977).
func (f *fit) solve() (r []float64, c covariance) {
	const enough, most = 0.5 / eloNat, 100 // of the spread, rounds
	f.spread = gainPrior / eloNat
	r = make([]float64, f.n)
	for range most {
		r, c = f.maximise(r)
		squares := gainWeight * gainPrior / eloNat * gainPrior / eloNat
		for _, g := range f.gains {
			d := strength(r, g.of) - strength(r, g.over)
			squares += d*d + c.difference(g.of, g.over)
		}
		was := f.spread
		f.spread = math.Sqrt(squares / float64(gainWeight+len(f.gains)))
		if len(f.gains) == 0 || math.Abs(f.spread-was) < enough {
			break
		}
	}
	return r, c
}

// maximise goes to the maximum from r by Newton's method, halving a step that does not rise, and returns it with the inverse
// of the negative Hessian there.
func (f *fit) maximise(r []float64) ([]float64, covariance) {
	r = slices.Clone(r)
	next := make([]float64, f.n)
	at := f.posterior(r)
	for range 100 {
		gradient, hessian := f.derivatives(r)
		step := hessian.factor().solve(gradient)
		size, scale := 0.0, 1.0
		for _, d := range step {
			size = max(size, math.Abs(d))
		}
		if size < 1e-10 {
			break
		}
		for ; scale > 1e-6; scale /= 2 {
			for i := range r {
				next[i] = r[i] + scale*step[i]
			}
			if p := f.posterior(next); p >= at {
				at = p
				break
			}
		}
		if scale <= 1e-6 { // no rise is left within rounding
			break
		}
		copy(r, next)
	}
	_, hessian := f.derivatives(r)
	return r, f.covariance(hessian.factor())
}

func strength(r []float64, i int) float64 {
	if i < 0 {
		return 0
	}
	return r[i]
}

// logistic is σ.
func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

const ladderPrecision = eloNat * eloNat / (ladderPrior * ladderPrior) // 1/τ²

func (f *fit) posterior(r []float64) (sum float64) {
	for _, m := range f.met {
		d := strength(r, m.a) - strength(r, m.b)
		sum -= m.won*math.Log1p(math.Exp(-d)) + m.lost*math.Log1p(math.Exp(d))
	}
	for i, x := range r {
		if !f.child[i] {
			sum -= x * x * ladderPrecision / 2
		}
	}
	for _, g := range f.gains {
		d := (strength(r, g.of) - strength(r, g.over)) / f.spread
		sum -= d * d / 2
	}
	return sum
}

// derivatives are the gradient and the negative Hessian.
func (f *fit) derivatives(r []float64) (gradient []float64, hessian *sparse) {
	gradient, hessian = make([]float64, f.n), newSparse(f.n)
	for i := range gradient {
		if !f.child[i] {
			hessian.add(i, i, ladderPrecision)
			gradient[i] = -r[i] * ladderPrecision
		}
	}
	add := func(a, b int, slope, curve float64) { // of a term in r_a − r_b
		if a >= 0 {
			gradient[a] += slope
			hessian.add(a, a, curve)
		}
		if b >= 0 {
			gradient[b] -= slope
			hessian.add(b, b, curve)
		}
		if a >= 0 && b >= 0 {
			hessian.add(a, b, -curve)
		}
	}
	for _, m := range f.met {
		p := logistic(strength(r, m.a) - strength(r, m.b))
		add(m.a, m.b, m.won*(1-p)-m.lost*p, (m.won+m.lost)*p*(1-p))
	}
	for _, g := range f.gains {
		precision := 1 / (f.spread * f.spread)
		add(g.of, g.over, -precision*(strength(r, g.of)-strength(r, g.over)), precision)
	}
	return gradient, hessian
}

// A covariance is that of the strengths, of which those of players who have met are kept.
type covariance struct {
	variance []float64
	pairs    map[[2]int]float64 // by index, the lower first
}

func (f *fit) covariance(inverse factor) covariance {
	c := covariance{make([]float64, f.n), map[[2]int]float64{}}
	with := make([][]int, f.n) // players of higher index
	for _, m := range f.met {
		if low := min(m.a, m.b); low >= 0 {
			with[low] = append(with[low], max(m.a, m.b))
		}
	}
	unit := make([]float64, f.n)
	for i := range f.n {
		unit[i] = 1
		column := inverse.solve(unit)
		unit[i] = 0
		c.variance[i] = column[i]
		for _, j := range with[i] {
			c.pairs[[2]int{i, j}] = column[j]
		}
	}
	return c
}

// of is the covariance of i and j, who have met or are the same.
func (c covariance) of(i, j int) float64 {
	switch {
	case i < 0 || j < 0:
		return 0
	case i == j:
		return c.variance[i]
	}
	return c.pairs[[2]int{min(i, j), max(i, j)}]
}

// difference is the variance of r_i − r_j.
func (c covariance) difference(i, j int) float64 { return c.of(i, i) + c.of(j, j) - 2*c.of(i, j) }

// pairing is what the meeting k looks like beside its ratings.
func (f *fit) pairing(k int, names [2]string, s Score, r []float64, c covariance, dispersion float64) Pairing {
	const leverage = 0.95 // above this share of what ties two ratings together, a meeting cannot surprise
	m := f.met[k]
	p := logistic(strength(r, m.a) - strength(r, m.b))
	n := float64(s.games())
	out := Pairing{A: names[0], B: names[1], Games: s.games(), Points: s.points(), Expected: n * p}
	own := n * p * (1 - p) / dispersion * c.difference(m.a, m.b)                   // of the difference in strength, how much hangs on this meeting
	if off := math.Abs(out.Points-out.Expected) - 0.5; own < leverage && off > 0 { // games are counted in whole points
		out.Deviation = math.Copysign(off/math.Sqrt(n*p*(1-p)*dispersion*(1-own)), out.Points-out.Expected)
	}
	return out
}
