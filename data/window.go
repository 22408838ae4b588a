package data

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"unsafe"

	"yinshzero/rules"
)

// WindowParams says which positions are drawn. A position can be drawn if its ply was searched and its kind has a weight
// above 0; the numbers of positions here and in Window count these only.
type WindowParams struct {
	// The window grows with the number N of positions ever made. Up to Min it holds all of them; then
	//
	//	Min + Expand · ((N − Min + Scale)^Exponent − Scale^Exponent) / (Exponent · Scale^(Exponent−1))
	//
	// which begins with Expand positions more for each new one and goes over into a power law; never more than Max.
	// (Wu, 2019, "Accelerating Self-Play Learning in Go", appendix C; the form and 0.65 are KataGo's.)
	Min      int64
	Max      int64
	Exponent float64 // in (0, 1]
	Expand   float64 // in (0, 1]
	Scale    int64   // positions; at least 1

	FullWeight float64 // how often a fully searched position is drawn, relative to
	FastWeight float64 // one of a fast search; each at least 0, together above 0
	PerGame    int     // positions of one game in one Draw, as far as there are games enough; at least 1
	HoldOut    float64 // share of the games, chosen by their hash, kept for DrawHoldOut; in [0, 1)
}

// DefaultWindowParams are KataGo's exponent, slope and minimum, at most ten million positions, full searches only, four
// positions of a game at a time and one game in fifty held out.
func DefaultWindowParams() WindowParams {
	return WindowParams{
		Min: 250_000, Max: 10_000_000, Exponent: 0.65, Expand: 0.4, Scale: 250_000,
		FullWeight: 1, FastWeight: 0, PerGame: 4, HoldOut: 0.02,
	}
}

// Validate returns every number of p that is out of range.
func (p WindowParams) Validate() error {
	var errs []error
	check := func(ok bool, name string, got any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s is %v: want %s", name, got, want))
		}
	}
	check(p.Min >= 1, "min", p.Min, "at least 1")
	check(p.Max >= p.Min, "max", p.Max, "at least min")
	check(p.Exponent > 0 && p.Exponent <= 1, "exponent", p.Exponent, "more than 0, at most 1")
	check(p.Expand > 0 && p.Expand <= 1, "expand", p.Expand, "more than 0, at most 1")
	check(p.Scale >= 1, "scale", p.Scale, "at least 1")
	check(p.FullWeight >= 0 && p.FullWeight <= 1e6, "full weight", p.FullWeight, "0 to 1000000")
	check(p.FastWeight >= 0 && p.FastWeight <= 1e6, "fast weight", p.FastWeight, "0 to 1000000")
	check(p.FullWeight > 0 || p.FastWeight > 0, "full weight and fast weight", 0, "one of them above 0")
	check(p.PerGame >= 1, "per game", p.PerGame, "at least 1")
	check(p.HoldOut >= 0 && p.HoldOut < 1, "hold-out", p.HoldOut, "at least 0, less than 1")
	return errors.Join(errs...)
}

// Positions is the size of the window when total positions were ever made: the newest so many are drawn from.
func (p WindowParams) Positions(total int64) int64 {
	if total <= p.Min {
		return total
	}
	scale := float64(p.Scale)
	grown := math.Pow(float64(total-p.Min)+scale, p.Exponent) - math.Pow(scale, p.Exponent)
	n := float64(p.Min) + p.Expand*grown/(p.Exponent*math.Pow(scale, p.Exponent-1))
	return int64(min(n, float64(p.Max), float64(total)))
}

// weight is the weight of a position of kind k.
func (p *WindowParams) weight(k Kind) float64 {
	switch k {
	case Full:
		return p.FullWeight
	case Fast:
		return p.FastWeight
	}
	return 0
}

// positions counts those plies, given by kind, that can be drawn.
func (p *WindowParams) positions(plies [NumKinds]int64) (n int64) {
	for k, m := range plies {
		if p.weight(Kind(k)) > 0 {
			n += m
		}
	}
	return n
}

// A Window holds the newest games of a records directory in memory, 12 bytes a ply and 4 a Visit, and draws Samples from
// them. Every method may be called from any goroutine.
type Window struct {
	params WindowParams
	mu     sync.Mutex          // held by Add
	shards map[string]struct{} // names of those added
	hashes map[[32]byte]struct{}
	faults []error
	now    atomic.Pointer[view]
}

// A view is what a Window holds at one time. It never changes.
type view struct {
	games     []*game
	mass      [2][]float64 // of the games up to each one, itself included: for training, held out
	total     int64        // positions ever
	played    int64        // games ever
	positions int64        // in games
}

// A game is a Record as the Window keeps it: without pointers that a garbage collector would follow.
type game struct {
	first     rules.Position
	last      rules.Position
	plies     []packed
	visits    []Visit
	outcome   rules.Outcome
	reason    rules.Reason
	held      bool
	positions int64
	mass      float64
	hash      [32]byte
}

// packed is a Ply; its policy is visits up to end, from the end of the Ply before.
type packed struct {
	end   uint32
	move  rules.Move
	value int16
	kind  Kind
}

// ErrNoPositions is returned by a Draw that finds nothing to draw from.
var ErrNoPositions = errors.New("no positions to draw from")

// OpenWindow opens the records directory dir, which must exist, and reads as many of its newest shards as the window
// takes; of the others their indices alone. A damaged shard does not stop it: what can be read is used, and Faults says what
// was wrong.
func OpenWindow(dir string, p WindowParams) (*Window, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("window: %w", err)
	}
	paths, err := Shards(dir)
	if err != nil {
		return nil, fmt.Errorf("open window: %w", err)
	}
	w := &Window{params: p, shards: map[string]struct{}{}, hashes: map[[32]byte]struct{}{}}
	w.now.Store(&view{})
	counts := make([]int64, len(paths)) // positions in each shard
	games := make([]int64, len(paths))
	damage := make([][]error, len(paths)) // of what was read to count them
	total := int64(0)
	for i, path := range paths {
		s, err := OpenShard(path)
		if err != nil {
			w.faults = append(w.faults, err)
			continue
		}
		info := s.Info()
		counts[i], games[i] = p.positions(info.Plies), int64(info.Games)
		damage[i] = s.faults
		total += counts[i]
		s.Close() // only read
	}
	oldest, size := len(paths), int64(0)
	for oldest > 0 && size < p.Positions(total) {
		oldest--
		size += counts[oldest]
	}
	for i, path := range paths {
		if i < oldest {
			w.shards[filepath.Base(path)] = struct{}{}
			w.faults = append(w.faults, damage[i]...)
			old := w.now.Load()
			w.now.Store(&view{total: old.total + counts[i], played: old.played + games[i]})
			continue
		}
		if err := w.Add(path); err != nil {
			w.faults = append(w.faults, err)
		}
	}
	return w, nil
}

// Faults is what was wrong with the shards that OpenWindow read.
func (w *Window) Faults() []error { return w.faults }

// Add reads a new shard and lets the oldest games go that the window no longer takes. Of a damaged shard it takes what
// can be read, and returns what is wrong. A shard of the same name is added once.
func (w *Window) Add(path string) error {
	s, err := OpenShard(path)
	if err != nil {
		return err
	}
	defer s.Close()
	var games []*game
	var faults []error
	for r, err := range s.Records() {
		if err != nil {
			faults = append(faults, err)
			continue
		}
		games = append(games, w.pack(r))
	}
	name := filepath.Base(path)
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.shards[name]; ok {
		return fmt.Errorf("shard %s is in the window already", path)
	}
	w.shards[name] = struct{}{}
	w.install(games)
	return errors.Join(faults...)
}

// install makes the view that follows when games are added. w.mu is held.
func (w *Window) install(games []*game) {
	old := w.now.Load()
	next := &view{total: old.total, played: old.played + int64(len(games)), positions: old.positions}
	for _, g := range games {
		next.total += g.positions
		next.positions += g.positions
		w.hashes[g.hash] = struct{}{}
	}
	all := slices.Concat(old.games, games)
	size := w.params.Positions(next.total)
	for len(all) > 0 && next.positions-all[0].positions >= size {
		next.positions -= all[0].positions
		delete(w.hashes, all[0].hash)
		all = all[1:]
	}
	next.games = slices.Clone(all)
	sum := [2]float64{}
	for held := range next.mass {
		next.mass[held] = make([]float64, len(all))
	}
	for i, g := range all {
		if g.held {
			sum[1] += g.mass
		} else {
			sum[0] += g.mass
		}
		next.mass[0][i], next.mass[1][i] = sum[0], sum[1]
	}
	w.now.Store(next)
}

// pack makes a game of a valid Record.
func (w *Window) pack(r *Record) *game {
	g := &game{outcome: r.Result.Outcome, reason: r.Result.Reason, hash: r.Hash(), plies: make([]packed, len(r.Plies))}
	g.held = float64(binary.LittleEndian.Uint64(g.hash[:])>>11)/(1<<53) < w.params.HoldOut
	g.first, _ = r.first()
	n := 0
	for i := range r.Plies {
		n += len(r.Plies[i].Policy)
	}
	g.visits = make([]Visit, 0, n)
	g.last = g.first
	for i := range r.Plies {
		p := &r.Plies[i]
		if p.Kind == Full {
			g.visits = append(g.visits, p.Policy...)
		}
		g.plies[i] = packed{uint32(len(g.visits)), p.Move, quantise(p.Value), p.Kind}
		if weight := w.params.weight(p.Kind); weight > 0 {
			g.positions++
			g.mass += weight
		}
		g.last.Play(p.Move)
	}
	return g
}

// Total is the number of positions ever made, in the window or not.
func (w *Window) Total() int64 { return w.now.Load().total }

// Size is the number of positions in the window, held-out ones included.
func (w *Window) Size() int64 { return w.now.Load().positions }

// TotalGames is the number of games ever played, in the window or not.
func (w *Window) TotalGames() int64 { return w.now.Load().played }

// Games is the number of games in the window, held-out ones included.
func (w *Window) Games() int { return len(w.now.Load().games) }

// HoldOutGames is the number of games in the window that are held out.
func (w *Window) HoldOutGames() (n int) {
	for _, g := range w.now.Load().games {
		if g.held {
			n++
		}
	}
	return n
}

// Contains reports whether a game with this Record.Hash is in the window.
func (w *Window) Contains(hash [32]byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.hashes[hash]
	return ok
}

// Draw fills dst with independent draws from the window's games that are not held out, each position with a probability
// proportional to the weight of its kind, each under one of the twelve symmetries at random; but no more than PerGame
// positions of one game as long as there are games enough. It reuses the Policy and Reply slices of dst, whose Moves it
// leaves ascending. It returns ErrNoPositions if there are none.
func (w *Window) Draw(rng *rand.Rand, dst []Sample) error {
	return w.now.Load().draw(&w.params, 0, rng, dst)
}

// DrawHoldOut is Draw from the games that are held out.
func (w *Window) DrawHoldOut(rng *rand.Rand, dst []Sample) error {
	return w.now.Load().draw(&w.params, 1, rng, dst)
}

func (v *view) draw(p *WindowParams, held int, rng *rand.Rand, dst []Sample) error {
	return v.each(p, held, rng, len(dst), func(i int, g *game) {
		g.sample(&dst[i], g.ply(p, rng), rules.Symmetry(rng.IntN(rules.NumSymmetries)))
	})
}

// each draws n games in proportion to their mass and calls take with the number of the draw and the game.
func (v *view) each(p *WindowParams, held int, rng *rand.Rand, n int, take func(i int, g *game)) error {
	mass := v.mass[held]
	if len(mass) == 0 || mass[len(mass)-1] == 0 {
		return ErrNoPositions
	}
	all := mass[len(mass)-1]
	most := max(p.PerGame, 2*(n/len(mass)+1))
	drawn := make(map[int]int, n)
	for i := range n {
		k := 0
		for range 50 { // more tries than that mean too few games
			u := rng.Float64() * all
			k = sort.Search(len(mass)-1, func(j int) bool { return mass[j] > u })
			if drawn[k] < most {
				break
			}
		}
		drawn[k]++
		take(i, v.games[k])
	}
	return nil
}

// ply draws a ply that can be drawn; the game has one.
func (g *game) ply(p *WindowParams, rng *rand.Rand) int {
	u := rng.Float64() * g.mass
	last := 0
	for i := range g.plies {
		weight := p.weight(g.plies[i].kind)
		if weight == 0 {
			continue
		}
		last = i
		if u -= weight; u < 0 {
			break
		}
	}
	return last
}

// sample fills s with the position before ply n under a symmetry.
func (g *game) sample(s *Sample, n int, sym rules.Symmetry) {
	pos := g.first
	for i := range n {
		pos.Play(g.plies[i].move)
	}
	p := &g.plies[n]
	reply := s.Reply[:0]
	next, m := pos, n
	for m < len(g.plies) && (m == n || next.ToMove() == pos.ToMove()) {
		next.Play(g.plies[m].move)
		m++
	}
	if m == len(g.plies) {
		next = pos
	} else {
		reply = g.policy(reply, m, sym)
	}
	*s = Sample{
		Pos: sym.Position(pos), Policy: g.policy(s.Policy, n, sym), Kind: p.kind, Value: dequantise(p.value),
		Next: sym.Position(next), Reply: reply, Last: sym.Position(g.last),
		Outcome: g.outcome, Reason: g.reason, Ply: int32(n), Plies: int32(len(g.plies)),
	}
}

// policy is the policy of ply n under a symmetry, Moves ascending, in the memory of dst.
func (g *game) policy(dst []Visit, n int, sym rules.Symmetry) []Visit {
	begin, length := uint32(0), g.first.RowLength()
	if n > 0 {
		begin = g.plies[n-1].end
	}
	dst = dst[:0]
	for _, v := range g.visits[begin:g.plies[n].end] {
		dst = append(dst, Visit{sym.Move(v.Move, length), v.Weight})
	}
	slices.SortFunc(dst, func(a, b Visit) int { return int(a.Move) - int(b.Move) })
	return dst
}

// PositionBytes is about how many bytes of memory a position of the window takes, all that belongs to its game included: as
// measured on the games there, or on those of the standard run if there are none.
func (w *Window) PositionBytes() float64 {
	v := w.now.Load()
	if v.positions == 0 {
		return typicalPosition
	}
	bytes := 0
	for _, g := range v.games {
		bytes += int(unsafe.Sizeof(*g)) + len(g.plies)*int(unsafe.Sizeof(packed{})) + len(g.visits)*int(unsafe.Sizeof(Visit{})) + gameOverhead
	}
	return float64(bytes) / float64(v.positions)
}

const (
	typicalPosition = 60  // bytes, as measured on games of a standard run
	gameOverhead    = 150 // bytes: its pointer, its two masses, its hash in a map that is half full, and what sizes are rounded up by
)
