package arena

import (
	"errors"
	"fmt"
	"math"
)

// A Gate is a sequential test of whether A is stronger than B: Wald's sequential probability ratio test between "A is
// Elo0 stronger" and "A is Elo1 stronger", on pairs (the generalised test with a normal approximation of Michel Van den
// Bergh, as used for chess engines). A candidate no better than Elo0 is accepted with chance Alpha at most, and one of
// Elo1 or more is refused with chance Beta at most, so long as MaxPairs does not cut the test short.
type Gate struct {
	Elo0     float64 `json:"elo0"`
	Elo1     float64 `json:"elo1"`      // above Elo0
	Alpha    float64 `json:"alpha"`     // chance of error, above 0 and below 1/2
	Beta     float64 `json:"beta"`      // likewise
	MaxPairs int     `json:"max_pairs"` // without a decision by then A is rejected; 0 = no limit
}

// MinPairs is the number of pairs before which a Gate does not decide.
const MinPairs = 8

// A Verdict is a Gate's answer.
type Verdict uint8

// The verdicts.
const (
	Continue Verdict = iota // play on
	Accept                  // A is stronger
	Reject                  // A is not stronger, or not provably so within MaxPairs
)

// String is the verdict's word.
func (v Verdict) String() string { return [...]string{"continue", "accept", "reject"}[v] }

// Validate returns every number of g that is out of range.
func (g Gate) Validate() error {
	var errs []error
	if !(g.Elo0 < g.Elo1) || math.Abs(g.Elo0) > MaxElo || math.Abs(g.Elo1) > MaxElo {
		errs = append(errs, fmt.Errorf("elo0 %g and elo1 %g: want elo0 < elo1, both within ±%d", g.Elo0, g.Elo1, MaxElo))
	}
	for _, p := range []struct {
		name  string
		value float64
	}{{"alpha", g.Alpha}, {"beta", g.Beta}} {
		if !(p.value > 0 && p.value < 0.5) {
			errs = append(errs, fmt.Errorf("%s is %g: want more than 0 and less than 0.5", p.name, p.value))
		}
	}
	if g.MaxPairs != 0 && g.MaxPairs < MinPairs {
		errs = append(errs, fmt.Errorf("max pairs is %d: want 0 (no limit) or at least %d", g.MaxPairs, MinPairs))
	}
	return errors.Join(errs...)
}

// LLR is the logarithm of the likelihood ratio of Elo1 to Elo0: N (s1 − s0) (2 mean − s0 − s1) / (2 variance), where s0
// and s1 are the expected points. It rises with evidence for A.
func (g Gate) LLR(s Score) float64 { return g.llr(s, s.Variance()) }

func (g Gate) llr(s Score, variance float64) float64 {
	s0, s1 := EloScore(g.Elo0), EloScore(g.Elo1)
	return float64(s.N()) * (s1 - s0) * (2*s.Mean() - s0 - s1) / (2 * variance)
}

// Bounds are the values of LLR at or below which A is rejected, and at or above which it is accepted (Wald, 1945).
func (g Gate) Bounds() (lower, upper float64) {
	return math.Log(g.Beta / (1 - g.Alpha)), math.Log((1 - g.Beta) / g.Alpha)
}

// Judge says what follows from the pairs so far. It is to be asked after every pair.
func (g Gate) Judge(s Score) Verdict { return g.verdict(s.N(), g.LLR(s)) }

func (g Gate) verdict(pairs int, llr float64) Verdict {
	lower, upper := g.Bounds()
	switch {
	case pairs < MinPairs:
		return Continue
	case llr >= upper:
		return Accept
	case llr <= lower || g.MaxPairs > 0 && pairs >= g.MaxPairs:
		return Reject
	}
	return Continue
}

// Reason says in a line why Judge answers as it does.
func (g Gate) Reason(s Score) string {
	lower, upper := g.Bounds()
	llr, word := g.LLR(s), "undecided"
	switch v := g.Judge(s); {
	case v == Accept:
		word = "stronger"
	case v == Reject && llr <= lower:
		word = "not stronger"
	case v == Reject:
		word = "no decision"
	}
	return fmt.Sprintf("%s after %d pairs: LLR %.2f in [%.2f, %.2f]", word, s.N(), llr, lower, upper)
}
