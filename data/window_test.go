package data

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"yinshzero/rules"
)

// smallWindow takes everything, full and fast plies alike, and holds nothing out.
func smallWindow() WindowParams {
	return WindowParams{Min: 1_000_000, Max: 1_000_000, Exponent: 0.65, Expand: 0.4, Scale: 1000,
		FullWeight: 1, FastWeight: 1, PerGame: 4}
}

// addShard writes recs as the next shard of dir and returns its path.
func addShard(t testing.TB, dir string, recs []*Record) string {
	t.Helper()
	path, err := NextShard(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := WriteShard(path, recs); err != nil {
		t.Fatal(err)
	}
	return path
}

func openWindow(t testing.TB, dir string, p WindowParams) *Window {
	t.Helper()
	w, err := OpenWindow(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	if f := w.Faults(); f != nil {
		t.Fatal(f)
	}
	return w
}

// positions counts the plies of recs of the given kinds.
func positions(recs []*Record, kinds ...Kind) (n int64) {
	for _, r := range recs {
		for _, p := range r.Plies {
			if slices.Contains(kinds, p.Kind) {
				n++
			}
		}
	}
	return n
}

func TestPositions(t *testing.T) {
	p := WindowParams{Min: 1000, Max: 5000, Exponent: 0.65, Expand: 0.4, Scale: 1000}
	// The formula worked out by another program.
	for _, test := range []struct{ in, want int64 }{
		{0, 0}, {999, 999}, {1000, 1000}, {2000, 1350}, {10_000, 3133}, {1 << 40, 5000},
	} {
		if got := p.Positions(test.in); got != test.want {
			t.Errorf("%d: got %d, want %d", test.in, got, test.want)
		}
	}
	last := int64(0)
	for n := range int64(100_000) { // never shrinks, never grows by more than one for one
		got := p.Positions(n)
		if got < last || got > last+1 || got > n {
			t.Fatalf("%d positions: window of %d after %d", n, got, last)
		}
		last = got
	}
	p.Exponent, p.Max = 1, 1<<40
	if got := p.Positions(11_000); got != 5000 { // a straight line of slope Expand
		t.Errorf("exponent 1: got %d, want 5000", got)
	}
}

func TestWindowParamsValidate(t *testing.T) {
	if err := DefaultWindowParams().Validate(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(p *WindowParams){
		"min":         func(p *WindowParams) { p.Min = 0 },
		"max":         func(p *WindowParams) { p.Max = p.Min - 1 },
		"exponent":    func(p *WindowParams) { p.Exponent = math.NaN() },
		"expand":      func(p *WindowParams) { p.Expand = 0 },
		"scale":       func(p *WindowParams) { p.Scale = 0 },
		"full weight": func(p *WindowParams) { p.FullWeight = -1 },
		"fast weight": func(p *WindowParams) { p.FullWeight, p.FastWeight = 0, 0 },
		"per game":    func(p *WindowParams) { p.PerGame = 0 },
		"hold-out":    func(p *WindowParams) { p.HoldOut = 1 },
	} {
		p := DefaultWindowParams()
		spoil(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := OpenWindow(t.TempDir(), p); err == nil {
			t.Errorf("%s: a window was opened", name)
		}
	}
}

// TestDrawMatchesRecords undoes the symmetry of every Sample drawn and finds it in its game.
func TestDrawMatchesRecords(t *testing.T) {
	dir := t.TempDir()
	var recs []*Record
	for _, v := range rules.Variants() {
		recs = append(recs, randomRecords(1, 10, v)...)
	}
	addShard(t, dir, recs)
	w := openWindow(t, dir, smallWindow())
	known := map[rules.Position][]Sample{}
	for _, r := range recs {
		for s, err := range r.Samples() {
			if err != nil {
				t.Fatal(err)
			}
			known[s.Pos] = append(known[s.Pos], s)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	dst := make([]Sample, 100)
	symmetries := map[rules.Symmetry]bool{}
	for range 20 {
		if err := w.Draw(rng, dst); err != nil {
			t.Fatal(err)
		}
		for _, s := range dst {
			byMove := func(a, b Visit) int { return int(a.Move) - int(b.Move) }
			if !slices.IsSortedFunc(s.Policy, byMove) || !slices.IsSortedFunc(s.Reply, byMove) {
				t.Fatal("the moves of a policy do not ascend")
			}
			found := false
			for sym := range rules.Symmetry(rules.NumSymmetries) {
				back := sym.Inverse()
				undo := func(policy []Visit) (list []Visit) {
					for _, v := range policy {
						list = append(list, Visit{back.Move(v.Move, s.Pos.RowLength()), v.Weight})
					}
					slices.SortFunc(list, byMove)
					return list
				}
				for _, want := range known[back.Position(s.Pos)] {
					got := s
					got.Pos, got.Next, got.Last = want.Pos, back.Position(s.Next), back.Position(s.Last)
					got.Policy, got.Reply = undo(s.Policy), undo(s.Reply)
					if reflect.DeepEqual(got, want) {
						found, symmetries[sym] = true, true
					}
				}
			}
			if !found {
				t.Fatalf("drew %+v, which is in no game", s)
			}
		}
	}
	if len(symmetries) != rules.NumSymmetries {
		t.Errorf("%d symmetries in 2000 samples: want 12", len(symmetries))
	}
}

// TestDrawUniform holds, by a χ² test, that every position is drawn as often as its kind's weight says, and forced and
// opening plies never.
func TestDrawUniform(t *testing.T) {
	dir := t.TempDir()
	recs := randomRecords(2, 40, rules.Mini())
	addShard(t, dir, recs)
	p := smallWindow()
	p.FastWeight = 0.25
	w := openWindow(t, dir, p)
	if got, want := w.Size(), positions(recs, Full, Fast); got != want || w.Total() != want || w.Games() != 40 {
		t.Fatalf("%d positions of %d in %d games: want %d in 40", got, w.Total(), w.Games(), want)
	}
	rng := rand.New(rand.NewPCG(2, 2))
	draws := 200_000.0
	if testing.Short() {
		draws = 50_000
	}
	counts := map[uint64]float64{}
	weights := map[uint64]float64{}
	all := 0.0
	canonical := func(p rules.Position) uint64 { // the least hash among the symmetries
		least := uint64(math.MaxUint64)
		for sym := range rules.Symmetry(rules.NumSymmetries) {
			image := sym.Position(p)
			least = min(least, image.Hash())
		}
		return least
	}
	for _, r := range recs {
		for s, err := range r.Samples() {
			if err != nil {
				t.Fatal(err)
			}
			weights[canonical(s.Pos)] += p.weight(s.Kind)
			all += p.weight(s.Kind)
		}
	}
	dst := make([]Sample, 100)
	for range int(draws) / len(dst) {
		if err := w.Draw(rng, dst); err != nil {
			t.Fatal(err)
		}
		for i := range dst {
			counts[canonical(dst[i].Pos)]++
		}
	}
	chi, freedom := 0.0, -1.0
	for k, weight := range weights {
		want := draws * weight / all
		if want == 0 {
			if counts[k] > 0 {
				t.Fatalf("a position that is never to be drawn was drawn %v times", counts[k])
			}
			continue
		}
		chi += (counts[k] - want) * (counts[k] - want) / want
		freedom++
	}
	if limit := freedom + 4*math.Sqrt(2*freedom); chi > limit {
		t.Errorf("χ² is %.0f with %.0f degrees of freedom: want less than %.0f", chi, freedom, limit)
	}
}

// TestPerGame checks that a batch takes few positions of a game, and that it is filled when there are few games.
func TestPerGame(t *testing.T) {
	dir := t.TempDir()
	recs := randomRecords(3, 200, rules.Mini())
	for i, r := range recs {
		r.Seed = uint64(i)
		r.White, r.Black = ModelID{}, ModelID{}
	}
	addShard(t, dir, recs)
	p := smallWindow()
	p.PerGame = 2
	w := openWindow(t, dir, p)
	rng := rand.New(rand.NewPCG(3, 3))
	for _, n := range []int{1, 100, 256} {
		for range 20 {
			drawn := map[*game]int{}
			v := w.now.Load()
			most := max(p.PerGame, 2*(n/200+1))
			v.each(&p, 0, rng, n, func(_ int, g *game) { drawn[g]++ })
			for _, k := range drawn {
				if k > most {
					t.Fatalf("%d positions of a game in a batch of %d: want at most %d", k, n, most)
				}
			}
		}
	}
	one := t.TempDir()
	addShard(t, one, recs[:1])
	if err := openWindow(t, one, p).Draw(rng, make([]Sample, 256)); err != nil {
		t.Fatal(err)
	}
}

// TestHoldOut checks that held-out games are the same at every opening, about the share asked for, and drawn only by
// DrawHoldOut.
func TestHoldOut(t *testing.T) {
	dir := t.TempDir()
	recs := randomRecords(4, 400, rules.Mini())
	addShard(t, dir, recs)
	p := smallWindow()
	p.HoldOut = 0.2
	hashes := func(w *Window) (held []string) {
		for _, g := range w.now.Load().games {
			if g.held {
				held = append(held, string(g.hash[:]))
			}
		}
		return held
	}
	w := openWindow(t, dir, p)
	held := hashes(w)
	if n := len(held); n < 50 || n > 110 {
		t.Errorf("%d of 400 games held out: want about 80", n)
	}
	if !reflect.DeepEqual(hashes(openWindow(t, dir, p)), held) {
		t.Error("another opening holds out other games")
	}
	rng := rand.New(rand.NewPCG(4, 4))
	v := w.now.Load()
	for out := range 2 {
		v.each(&p, out, rng, 2000, func(_ int, g *game) {
			if g.held != (out == 1) {
				t.Fatalf("drew a game with held out %v", g.held)
			}
		})
	}
	dst := make([]Sample, 8)
	if err := w.DrawHoldOut(rng, dst); err != nil {
		t.Error(err)
	}
	p.HoldOut = 0
	if err := openWindow(t, dir, p).DrawHoldOut(rng, dst); !errors.Is(err, ErrNoPositions) {
		t.Errorf("got %v, want that there are no positions", err)
	}
}

// TestWindowMoves adds shards one by one: the window is the newest games that its size takes, and a Window opened on the
// same directory is the same.
func TestWindowMoves(t *testing.T) {
	dir := t.TempDir()
	p := smallWindow()
	p.Min, p.Max, p.Scale, p.HoldOut = 300, 2000, 300, 0.1
	w := openWindow(t, dir, p)
	if err := w.Draw(rand.New(rand.NewPCG(5, 5)), make([]Sample, 1)); !errors.Is(err, ErrNoPositions) {
		t.Errorf("an empty window gave %v", err)
	}
	if err := w.Draw(rand.New(rand.NewPCG(5, 5)), nil); !errors.Is(err, ErrNoPositions) {
		t.Errorf("an empty window gave %v", err)
	}
	var all []*Record
	for i := range 25 {
		recs := randomRecords(uint64(100+i), 20, rules.Mini())
		path := addShard(t, dir, recs)
		if err := w.Add(path); err != nil {
			t.Fatal(err)
		}
		if err := w.Add(path); err == nil || !strings.Contains(err.Error(), "already") {
			t.Fatalf("adding twice gave %v", err)
		}
		all = append(all, recs...)
		total := positions(all, Full, Fast)
		want, n := int64(0), len(all)
		for n > 0 && want < p.Positions(total) {
			n--
			want += positions(all[n:n+1], Full, Fast)
		}
		for name, w := range map[string]*Window{"grown": w, "opened": openWindow(t, dir, p)} {
			if w.Total() != total || w.Size() != want || w.Games() != len(all)-n || w.TotalGames() != int64(len(all)) {
				t.Fatalf("%s after %d shards: %d positions of %d in %d games of %d: want %d of %d in %d of %d", name, i+1,
					w.Size(), w.Total(), w.Games(), w.TotalGames(), want, total, len(all)-n, len(all))
			}
			for j, r := range all {
				if got := w.Contains(r.Hash()); got != (j >= n) {
					t.Fatalf("%s after %d shards: game %d of %d inside: %v, want %v", name, i+1, j, len(all), got, j >= n)
				}
			}
		}
	}
	if w.Size() > p.Max+100 || w.Games() == len(all) {
		t.Errorf("window of %d positions: want about %d", w.Size(), p.Max)
	}
	opened := openWindow(t, dir, p)
	if err := opened.Add(filepath.Join(dir, "00000001.shard")); err == nil {
		t.Error("a shard that had left the window was added again")
	}
}

// TestWindowDamage checks that damaged shards are reported and cost no more than what is damaged.
func TestWindowDamage(t *testing.T) {
	dir := t.TempDir()
	recs := randomRecords(6, 4, rules.Mini())
	for range 2 {
		addShard(t, dir, recs[:2])
	}
	bad := addShard(t, dir, recs[2:])
	b, err := os.ReadFile(bad)
	if err != nil {
		t.Fatal(err)
	}
	b[40]++
	write(t, bad, b)
	write(t, filepath.Join(dir, "00000004.shard"), []byte("nonsense"))
	w, err := OpenWindow(dir, smallWindow())
	if err != nil {
		t.Fatal(err)
	}
	if w.Games() != 4 || len(w.Faults()) < 2 {
		t.Errorf("%d games, faults %v: want 4 games and a fault for each bad shard", w.Games(), w.Faults())
	}
	for _, fault := range w.Faults() {
		if !strings.Contains(fault.Error(), "00000003") && !strings.Contains(fault.Error(), "00000004") {
			t.Errorf("fault %v names no bad shard", fault)
		}
	}
	if _, err := OpenWindow(filepath.Join(dir, "none"), smallWindow()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that there is no such directory", err)
	}
}

// TestOldDamage: a shard that the window no longer takes is counted by its index. If that is damaged the shard is reported, and
// counted by its blocks.
func TestOldDamage(t *testing.T) {
	dir := t.TempDir()
	recs := randomRecords(6, 6, rules.Mini())
	old := addShard(t, dir, recs[:2])
	for _, part := range [][]*Record{recs[2:4], recs[4:]} {
		addShard(t, dir, part)
	}
	p := smallWindow()
	p.Min, p.Max = 1, 1
	if w := openWindow(t, dir, p); w.Games() != 1 || w.TotalGames() != 6 {
		t.Fatalf("%d of %d games in the window, want 1 of 6", w.Games(), w.TotalGames())
	}
	b, err := os.ReadFile(old)
	if err != nil {
		t.Fatal(err)
	}
	write(t, old, b[:len(b)-10])
	w, err := OpenWindow(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	if w.TotalGames() != 6 || len(w.Faults()) == 0 || !strings.Contains(w.Faults()[0].Error(), old) {
		t.Errorf("%d games ever, faults %v: want 6 and one of %s", w.TotalGames(), w.Faults(), old)
	}
}

// TestConcurrent draws from several goroutines while another adds.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	p := smallWindow()
	p.Min, p.Max = 300, 600
	w := openWindow(t, dir, p)
	if err := w.Add(addShard(t, dir, randomRecords(7, 20, rules.Mini()))); err != nil {
		t.Fatal(err)
	}
	var shards []string
	for i := range 6 {
		shards = append(shards, addShard(t, dir, randomRecords(uint64(8+i), 20, rules.Mini())))
	}
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 0))
			dst := make([]Sample, 64)
			for range 50 {
				if err := w.Draw(rng, dst); err != nil {
					t.Error(err)
				}
				if w.Size() > w.Total() || w.Games() == 0 {
					t.Errorf("%d positions of %d", w.Size(), w.Total())
				}
			}
		})
	}
	for _, path := range shards {
		wg.Go(func() {
			if err := w.Add(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestDrawAllocates checks that a Draw into used Samples allocates only its own bookkeeping.
func TestDrawAllocates(t *testing.T) {
	dir := t.TempDir()
	addShard(t, dir, randomRecords(9, 100, rules.Mini()))
	w := openWindow(t, dir, smallWindow())
	rng := rand.New(rand.NewPCG(9, 9))
	dst := make([]Sample, 64)
	for i := range dst {
		dst[i].Policy, dst[i].Reply = make([]Visit, 0, rules.MaxMoves), make([]Visit, 0, rules.MaxMoves)
	}
	if n := testing.AllocsPerRun(50, func() { _ = w.Draw(rng, dst) }); n > 16 {
		t.Errorf("%v allocations for 64 samples: want at most 16", n)
	}
}

func BenchmarkDraw(b *testing.B) {
	dir := b.TempDir()
	addShard(b, dir, randomRecords(10, 2*BlockGames, rules.Standard()))
	w := openWindow(b, dir, smallWindow())
	rng := rand.New(rand.NewPCG(10, 10))
	dst := make([]Sample, 256)
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Draw(rng, dst); err != nil {
			b.Fatal(err)
		}
	}
}

// TestPositionBytes measures the heap with and without a window.
func TestPositionBytes(t *testing.T) {
	heap := func() float64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	dir := t.TempDir()
	p := DefaultWindowParams()
	p.FastWeight = 0.5
	empty, err := OpenWindow(dir, p)
	if err != nil || empty.PositionBytes() != typicalPosition {
		t.Errorf("a window without games: %v bytes, %v", empty.PositionBytes(), err)
	}
	addShard(t, dir, randomRecords(1, 500, rules.Standard()))
	if _, err := OpenWindow(dir, p); err != nil { // what reading needs once
		t.Fatal(err)
	}
	before := heap()
	w, err := OpenWindow(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	got, want := w.PositionBytes(), (heap()-before)/float64(w.Size())
	if got < 0.8*want || got > 1.25*want {
		t.Errorf("a position takes %.1f bytes, PositionBytes says %.1f", want, got)
	}
	t.Logf("%.1f bytes a position measured, %.1f computed, %d positions in %d games", want, got, w.Size(), w.Games())
	runtime.KeepAlive(w)
}
