package net

import (
	"context"
	"errors"
	"math"
	"time"

	"yinshzero/rules"
)

// An Int8Comparison is what the Programs of CompileInt8 and of Compile differ in, on the same Positions and in turns.
type Int8Comparison struct {
	Float, Int8 float64 // evaluations a second, encode and Forward, for every Position the best of many tries

	LogitRMS, LogitMax float64 // error of a legal Move's logit, less the mean error of the Position's
	Spread             float64 // for scale: the standard deviation of the logits of a Position, root mean square
	KL                 float64 // of the Prior from that of Compile, mean, in nats
	Top                float64 // share of the Positions whose likeliest Move is the same
	Value, ValueMax    float64 // change of Value, mean and greatest
}

// comparedSpeeds is the number of Positions that a speed is measured on.
const comparedSpeeds = 16

// CompareInt8 compiles w both ways, for the Positions of steps, and compares the Programs on positions, for at least d.
// No Position may be over. It fails as CompileInt8 does, if there is nothing to compare on, or when ctx ends.
func CompareInt8(ctx context.Context, w *Weights, steps, positions []rules.Position, d time.Duration) (Int8Comparison, error) {
	if len(positions) == 0 {
		return Int8Comparison{}, errors.New("compare 8 bits: no positions")
	}
	quick, err := w.CompileInt8(steps)
	if err != nil {
		return Int8Comparison{}, err
	}
	exact, err := w.Compile()
	if err != nil {
		return Int8Comparison{}, err
	}
	c := compareAnswers(exact, quick, positions)
	var best [2][comparedSpeeds]time.Duration
	planes, moves := make([]float32, 0, PlaneLen), make([]rules.Move, 0, rules.MaxMoves)
	out := Output{Logits: make([]float32, rules.MaxMoves)}
	for start, first := time.Now(), true; first || time.Since(start) < d; first = false {
		for i := range comparedSpeeds {
			pos := &positions[i*len(positions)/comparedSpeeds]
			for k, p := range []*Program{exact, quick} {
				try := time.Now()
				moves = pos.AppendMoves(moves[:0])
				planes = AppendPlanes(planes[:0], pos)
				p.Forward(planes, moves, &out)
				if took := time.Since(try); first || took < best[k][i] {
					best[k][i] = took
				}
			}
		}
		if err := ctx.Err(); err != nil {
			return Int8Comparison{}, err
		}
	}
	for i := range comparedSpeeds {
		c.Float += best[0][i].Seconds() / comparedSpeeds
		c.Int8 += best[1][i].Seconds() / comparedSpeeds
	}
	c.Float, c.Int8 = 1/c.Float, 1/c.Int8
	return c, nil
}

// compareAnswers fills in all but the speeds.
func compareAnswers(exact, quick *Program, positions []rules.Position) (c Int8Comparison) {
	var a, b Output
	a.Logits, b.Logits = make([]float32, rules.MaxMoves), make([]float32, rules.MaxMoves)
	var squares, spread, logits float64
	planes, moves := make([]float32, 0, PlaneLen), make([]rules.Move, 0, rules.MaxMoves)
	for i := range positions {
		moves = positions[i].AppendMoves(moves[:0])
		planes = AppendPlanes(planes[:0], &positions[i])
		exact.Forward(planes, moves, &a)
		quick.Forward(planes, moves, &b)
		n := float64(len(moves))
		mean, shift, topA, topB := 0.0, 0.0, 0, 0
		for j := range moves {
			mean += float64(a.Logits[j]) / n
			shift += float64(b.Logits[j]-a.Logits[j]) / n
			if a.Logits[j] > a.Logits[topA] {
				topA = j
			}
			if b.Logits[j] > b.Logits[topB] {
				topB = j
			}
		}
		if topA == topB {
			c.Top++
		}
		logits += n
		for j := range moves {
			e := float64(b.Logits[j]-a.Logits[j]) - shift
			squares += e * e
			c.LogitMax = max(c.LogitMax, math.Abs(e))
			spread += (float64(a.Logits[j]) - mean) * (float64(a.Logits[j]) - mean)
		}
		la, lb := logSoftmax(a.Logits[:len(moves)]), logSoftmax(b.Logits[:len(moves)])
		for j := range la {
			c.KL += math.Exp(la[j]) * (la[j] - lb[j])
		}
		va, vb := logSoftmax(a.WDL[:]), logSoftmax(b.WDL[:])
		v := math.Abs((math.Exp(va[0]) - math.Exp(va[2])) - (math.Exp(vb[0]) - math.Exp(vb[2])))
		c.Value += v
		c.ValueMax = max(c.ValueMax, v)
	}
	n := float64(len(positions))
	c.KL, c.Top, c.Value = c.KL/n, c.Top/n, c.Value/n
	c.LogitRMS, c.Spread = math.Sqrt(squares/logits), math.Sqrt(spread/logits)
	return c
}

// logSoftmax returns the logarithms of the softmax of x.
func logSoftmax(x []float32) []float64 {
	top, sum := math.Inf(-1), 0.0
	for _, v := range x {
		top = max(top, float64(v))
	}
	for _, v := range x {
		sum += math.Exp(float64(v) - top)
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v) - top - math.Log(sum)
	}
	return y
}
