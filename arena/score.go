package arena

import "math"

// A Score counts pairs and games from A's side. The zero value is the Score before the first pair.
type Score struct {
	Pairs               [5]int // by A's points in the pair: 0, 1/2, 1, 3/2, 2
	Wins, Draws, Losses int    // A's games
}

// Add counts a pair.
func (s *Score) Add(r PairResult) {
	for i, g := range r.Games {
		switch g.Points(sideOfA[i]) {
		case 1:
			s.Wins++
		case 0:
			s.Losses++
		default:
			s.Draws++
		}
	}
	s.Pairs[int(2*r.Points())]++
}

// N is the number of pairs.
func (s Score) N() int {
	n := 0
	for _, k := range s.Pairs {
		n += k
	}
	return n
}

// Swap is the Score from B's side.
func (s Score) Swap() Score {
	p := s.Pairs
	return Score{[5]int{p[4], p[3], p[2], p[1], p[0]}, s.Losses, s.Draws, s.Wins}
}

// games is the number of games.
func (s Score) games() int { return s.Wins + s.Draws + s.Losses }

// points is A's points over all games.
func (s Score) points() float64 { return float64(s.Wins) + float64(s.Draws)/2 }

// plus is the Score of s and o together.
func (s Score) plus(o Score) Score {
	for i, k := range o.Pairs {
		s.Pairs[i] += k
	}
	s.Wins += o.Wins
	s.Draws += o.Draws
	s.Losses += o.Losses
	return s
}

// Mean is A's mean points in a game, 0 to 1; 1/2 before the first pair.
func (s Score) Mean() float64 {
	n, sum := s.N(), 0.0
	if n == 0 {
		return 0.5
	}
	for i, k := range s.Pairs {
		sum += float64(i) / 4 * float64(k)
	}
	return sum / float64(n)
}

// priorSquares is added to the sum of squares that the variance of pairs is estimated from: what four pairs of decisive
// games between equals bring on average. A few pairs that chance to be alike then do not pass for certainty, and after a
// hundred pairs it weighs little. It is chosen so that a Gate keeps its chances of error, short tests included.
const priorSquares = 4 * 1.0 / 8

// Variance is the estimated variance of A's mean points in one pair, on the scale of Mean, on the high side if there are
// few pairs.
func (s Score) Variance() float64 {
	mean, sum := s.Mean(), priorSquares
	for i, k := range s.Pairs {
		d := float64(i)/4 - mean
		sum += d * d * float64(k)
	}
	return sum / float64(max(1, s.N()))
}

// An Estimate is a difference in Elo with the ends of its 95 % interval, all within ±MaxElo.
type Estimate struct{ Elo, Low, High float64 }

// MaxElo is the end of the scale: differences beyond it, infinite ones too, are told as MaxElo.
const MaxElo = 2400

// z95 is the quantile of the normal distribution that leaves 2.5 % above it.
const z95 = 1.959963984540054

// Elo estimates how much stronger A is than B. The interval is Wilson's, for as many independent games as would have
// the variance found over the pairs. A Score without a loss is told as if half a point had been lost, its upper end
// being MaxElo, and likewise one without a win.
func (s Score) Elo() Estimate {
	n := float64(s.N())
	if n == 0 {
		return Estimate{0, -MaxElo, MaxElo}
	}
	mean := s.Mean()
	shrunk := (2*n*mean + 1) / (2*n + 2)
	games := shrunk * (1 - shrunk) * n / s.Variance()
	centre := mean + z95*z95/(2*games)
	width := z95 * math.Sqrt(mean*(1-mean)/games+z95*z95/(4*games*games))
	scale := 1 + z95*z95/games
	half := 1 / (4 * n)
	return Estimate{
		Elo:  scoreElo(min(max(mean, half), 1-half)),
		Low:  scoreElo((centre - width) / scale),
		High: scoreElo((centre + width) / scale),
	}
}

// EloScore is the expected points in a game of a player who is elo stronger: 1/(1 + 10^(−elo/400)).
func EloScore(elo float64) float64 { return 1 / (1 + math.Pow(10, -elo/400)) }

// scoreElo is the inverse of EloScore, cut at ±MaxElo.
func scoreElo(score float64) float64 {
	const tiny = 1e-9
	score = min(max(score, tiny), 1-tiny)
	return min(max(400*math.Log10(score/(1-score)), -MaxElo), MaxElo)
}
