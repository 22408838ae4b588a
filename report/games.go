package report

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"yinshzero/data"
	"yinshzero/rules"
)

const (
	maxSpans   = 64 // points of a curve over games
	valueBins  = 20 // of root values, from −1 to 1
	numReasons = rules.Resigned + 1
)

// Games is what the games of self-play tell. Shares and means are over the games read.
type Games struct {
	Total  int    `json:"total"`  // in all shards
	Read   int    `json:"read"`   // of them
	Shards int    `json:"shards"` //
	Every  int    `json:"every"`  // one shard in so many was read
	Spans  []Span `json:"spans"`  // in the order of the games

	Openings    []Opening     `json:"openings"`    // Points on which a search has put a side's first ring, in the newest third of the games
	Calibration []Calibration `json:"calibration"` // over the newest third of the games
	variant     rules.Variant // of the last game read
}

// A Span is some games in a row.
type Span struct {
	First  int            `json:"first"` // number of the first of them, from 0
	Games  int            `json:"games"`
	Plies  float64        `json:"mean_plies"`
	White  float64        `json:"white_points"` // a game; draws count half
	Ends   map[string]int `json:"ends"`         // games by reason
	until  int            // number of the game after the last
	counts [numReasons]int
}

func (s *Span) merge(next Span) {
	n := float64(s.Games + next.Games)
	s.Plies = (s.Plies*float64(s.Games) + next.Plies*float64(next.Games)) / n
	s.White = (s.White*float64(s.Games) + next.White*float64(next.Games)) / n
	s.Games += next.Games
	s.until = next.until
	for i, k := range next.counts {
		s.counts[i] += k
	}
}

// An Opening is how often the sides have put their first ring on a Point.
type Opening struct {
	Point string `json:"point"`
	White int    `json:"white"`
	Black int    `json:"black"`
}

// A Calibration compares the values of searches, White's view, with how the games ended. The interval takes the positions of
// one game as one observation.
type Calibration struct {
	Value     float64 `json:"value"`  // mean of a tenth of the scale
	Result    float64 `json:"result"` // mean: 1 White won, −1 Black won
	Low       float64 `json:"result_low"`
	High      float64 `json:"result_high"`
	Positions int     `json:"positions"`
	Games     int     `json:"games"`
}

// A valueBin sums the positions whose values lie in it.
type valueBin struct {
	positions, games         int
	values, results, squares float64
}

func (r *Run) readGames(dir string, most int) {
	r.Games.Spans, r.Games.Openings, r.Games.Calibration = []Span{}, []Opening{}, []Calibration{}
	paths, err := data.Shards(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.fault(err)
		return
	}
	if len(paths) == 0 {
		r.missing("no games yet: there is no shard in %s", dir)
		return
	}
	g := &r.Games
	faults := faultList{run: r, name: dir}
	defer faults.rest()
	var sizes []int // games of each shard
	for _, path := range paths {
		shard, err := data.OpenShard(path)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) { // taken away since
				err = fmt.Errorf("shard %s: %w", path, err)
			}
			faults.add(err)
			sizes = append(sizes, -1)
			continue
		}
		sizes = append(sizes, shard.Info().Games)
		g.Total += shard.Info().Games
		g.Shards++
		shard.Close() // only read
	}
	g.Every = max(1, (g.Total+most-1)/most)
	sum := gameSums{spans: newSampler(maxSpans, each, (*Span).merge)}
	number := 0
	for i, path := range paths {
		if sizes[i] < 0 {
			continue
		}
		if i%g.Every == 0 || g.Total <= most {
			sum.read(path, number, number+sizes[i] > g.Total-(g.Total+2)/3, &faults)
		}
		number += sizes[i]
	}
	sum.into(g)
}

// gameSums adds up games.
type gameSums struct {
	spans  *sampler[Span]
	games  int
	firsts [2][rules.NumPoints]int // by side
	bins   [valueBins]valueBin
	v      rules.Variant
}

// read takes in the games of a shard, the first of which has the number given. Those of new shards count for openings and calibration.
func (s *gameSums) read(path string, number int, isNew bool, faults *faultList) {
	shard, err := data.OpenShard(path)
	if err != nil {
		faults.add(err)
		return
	}
	defer shard.Close() // only read
	for rec, err := range shard.Records() {
		if err != nil {
			faults.add(err)
			continue
		}
		s.game(rec, number, isNew)
		number++
	}
}

func (s *gameSums) game(rec *data.Record, number int, isNew bool) {
	s.games++
	s.v = rec.Variant
	result := 0.0 // White's view
	switch rec.Result.Outcome {
	case rules.WhiteWins:
		result = 1
	case rules.BlackWins:
		result = -1
	}
	span := Span{First: number, Games: 1, Plies: float64(len(rec.Plies)), White: (result + 1) / 2, until: number + 1}
	span.counts[rec.Result.Reason] = 1
	s.spans.add(span)
	if !isNew {
		return
	}
	for i := range min(2, len(rec.Plies)) {
		if p := &rec.Plies[i]; p.Kind != data.Opening && p.Move.Kind() == rules.PlaceRing {
			s.firsts[i][p.Move.Point()]++
		}
	}
	var seen [valueBins]bool
	for i := range rec.Plies {
		p := &rec.Plies[i]
		if p.Kind != data.Full && p.Kind != data.Fast {
			continue
		}
		v := float64(p.Value)
		k := min(valueBins-1, max(0, int((v+1)/2*valueBins)))
		b := &s.bins[k]
		b.positions++
		b.values += v
		b.results += result
		b.squares += result * result
		if !seen[k] {
			seen[k] = true
			b.games++
		}
	}
}

// into writes the sums to g.
func (s *gameSums) into(g *Games) {
	g.Read, g.variant = s.games, s.v
	for _, span := range s.spans.all() {
		span.Ends = map[string]int{}
		for i, n := range span.counts {
			if n > 0 {
				span.Ends[rules.Reason(i).String()] = n
			}
		}
		g.Spans = append(g.Spans, span)
	}
	for p := range rules.NumPoints {
		if w, b := s.firsts[0][p], s.firsts[1][p]; w+b > 0 {
			g.Openings = append(g.Openings, Opening{rules.Point(p).String(), w, b})
		}
	}
	for _, b := range s.bins {
		if b.positions == 0 {
			continue
		}
		n := float64(b.positions)
		c := Calibration{Value: b.values / n, Result: b.results / n, Positions: b.positions, Games: b.games}
		half := 1.96 * math.Sqrt(max(0, b.squares/n-c.Result*c.Result)/float64(b.games))
		c.Low, c.High = max(-1, c.Result-half), min(1, c.Result+half)
		g.Calibration = append(g.Calibration, c)
	}
}
