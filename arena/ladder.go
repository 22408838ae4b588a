package arena

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// A Ladder rates many players by their matches: the Bradley-Terry model with draws as half a win, a weak prior, and one
// player, the anchor, at 0. The prior is a normal distribution around the anchor with a standard deviation of 1,500
// Elo: it keeps players finite who have won or lost everything, and players that no chain of matches ties to the
// anchor at 0 with a wide interval.
type Ladder struct {
	anchor string
	points map[[2]string]float64 // points of the first against the second
}

// ladderPrior is the prior's standard deviation, in Elo.
const ladderPrior = 1500

// eloNat is the number of Elo in a factor e of the odds.
const eloNat = 400 / math.Ln10

// A Rating is a player's place.
type Rating struct {
	Name    string  `json:"name"`
	Elo     float64 `json:"elo"`      // relative to the anchor, whose Elo is 0
	EloLow  float64 `json:"elo_low"`  // 95 % interval
	EloHigh float64 `json:"elo_high"` //
	Games   int     `json:"games"`
	Points  float64 `json:"points"` // draws count half
}

// NewLadder makes an empty Ladder on which the named player stands at 0.
func NewLadder(anchor string) *Ladder {
	return &Ladder{anchor: anchor, points: map[[2]string]float64{}}
}

// Add counts games between a and b, from a's side. A player's games against itself say nothing and are left out.
func (l *Ladder) Add(a, b string, s Score) {
	if a == b {
		return
	}
	l.points[[2]string{a, b}] += float64(s.Wins) + float64(s.Draws)/2
	l.points[[2]string{b, a}] += float64(s.Losses) + float64(s.Draws)/2
}

// Fit returns the ratings that are most likely given all matches and the prior, best first, equal ones by name. The
// intervals come from the curvature there and take games as independent. The order in which matches were added does
// not matter. It is an error if there are matches but none of the anchor's.
func (l *Ladder) Fit() ([]Rating, error) {
	ratings := map[string]*Rating{l.anchor: {Name: l.anchor}}
	pairs := slices.SortedFunc(maps.Keys(l.points), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	for _, p := range pairs {
		r := ratings[p[0]]
		if r == nil {
			r = &Rating{Name: p[0]}
			ratings[p[0]] = r
		}
		r.Points += l.points[p]
		r.Games += int(l.points[p] + l.points[[2]string{p[1], p[0]}])
	}
	if len(ratings) > 1 && ratings[l.anchor].Games == 0 {
		return nil, fmt.Errorf("anchor %q has played none of the matches: name a player that has", l.anchor)
	}

	names := slices.Sorted(maps.Keys(ratings))
	names = slices.DeleteFunc(names, func(n string) bool { return n == l.anchor })
	index := map[string]int{l.anchor: -1}
	for i, n := range names {
		index[n] = i
	}
	f := fit{n: len(names)}
	for _, p := range pairs {
		f.won = append(f.won, won{index[p[0]], index[p[1]], l.points[p]})
	}
	elo, variance := f.solve()
	for i, n := range names {
		r, half := ratings[n], z95*math.Sqrt(variance[i])*eloNat
		r.Elo = elo[i] * eloNat
		r.EloLow, r.EloHigh = r.Elo-half, r.Elo+half
	}
	out := make([]Rating, 0, len(ratings))
	for _, n := range slices.Sorted(maps.Keys(ratings)) {
		out = append(out, *ratings[n])
	}
	slices.SortStableFunc(out, func(a, b Rating) int { return cmp.Compare(b.Elo, a.Elo) })
	return out, nil
}

// won are the points that one player, by index, has won from another; −1 is the anchor.
type won struct {
	by, from int
	points   float64
}

// A fit finds the maximum of the logarithm of the posterior
//
//	Σ points·ln σ(r_by − r_from) − Σ r²/(2 τ²)
//
// over the strengths r of n players, in natural units of the odds, the anchor's being 0. It is strictly concave.
type fit struct {
	n   int
	won []won
}

// solve goes to the maximum by Newton's method, halving a step that does not rise, and returns the strengths and the
// diagonal of the inverse of the negative Hessian there: the variances.
func (f *fit) solve() (r, variance []float64) {
	r = make([]float64, f.n)
	next := make([]float64, f.n)
	at := f.posterior(r)
	for range 100 {
		gradient, hessian := f.derivatives(r)
		cholesky(hessian)
		step := solveCholesky(hessian, gradient)
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
	cholesky(hessian)
	variance = make([]float64, f.n)
	for i := range variance {
		unit := make([]float64, f.n)
		unit[i] = 1
		variance[i] = solveCholesky(hessian, unit)[i]
	}
	return r, variance
}

func strength(r []float64, i int) float64 {
	if i < 0 {
		return 0
	}
	return r[i]
}

const ladderPrecision = eloNat * eloNat / (ladderPrior * ladderPrior) // 1/τ²

func (f *fit) posterior(r []float64) (sum float64) {
	for _, w := range f.won {
		sum -= w.points * math.Log1p(math.Exp(strength(r, w.from)-strength(r, w.by)))
	}
	for _, x := range r {
		sum -= x * x * ladderPrecision / 2
	}
	return sum
}

// derivatives are the gradient and the negative Hessian, of which the lower triangle is filled.
func (f *fit) derivatives(r []float64) (gradient []float64, hessian [][]float64) {
	gradient, hessian = make([]float64, f.n), make([][]float64, f.n)
	for i := range hessian {
		hessian[i] = make([]float64, f.n)
		hessian[i][i] = ladderPrecision
		gradient[i] = -r[i] * ladderPrecision
	}
	for _, w := range f.won {
		lose := 1 / (1 + math.Exp(strength(r, w.by)-strength(r, w.from)))
		curve := w.points * lose * (1 - lose)
		if w.by >= 0 {
			gradient[w.by] += w.points * lose
			hessian[w.by][w.by] += curve
		}
		if w.from >= 0 {
			gradient[w.from] -= w.points * lose
			hessian[w.from][w.from] += curve
		}
		if w.by >= 0 && w.from >= 0 {
			hessian[max(w.by, w.from)][min(w.by, w.from)] -= curve
		}
	}
	return gradient, hessian
}

// cholesky replaces the lower triangle of a positive definite matrix by its factor L, a = L·Lᵀ.
func cholesky(a [][]float64) {
	for i := range a {
		for j := range i + 1 {
			sum := a[i][j]
			for k := range j {
				sum -= a[i][k] * a[j][k]
			}
			if i == j {
				a[i][i] = math.Sqrt(sum)
			} else {
				a[i][j] = sum / a[j][j]
			}
		}
	}
}

// solveCholesky solves L·Lᵀ·x = b.
func solveCholesky(l [][]float64, b []float64) []float64 {
	x := slices.Clone(b)
	for i := range x {
		for k := range i {
			x[i] -= l[i][k] * x[k]
		}
		x[i] /= l[i][i]
	}
	for i := len(x) - 1; i >= 0; i-- {
		for k := i + 1; k < len(x); k++ {
			x[i] -= l[k][i] * x[k]
		}
		x[i] /= l[i][i]
	}
	return x
}
