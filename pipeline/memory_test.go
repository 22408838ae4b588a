package pipeline

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	sample "runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var soak = flag.Duration("soak", 0, "how long TestSoak runs; 0 lets it make a few candidates")

// TestMemoryLimit gives files as Linux has them.
func TestMemoryLimit(t *testing.T) {
	const mem, cgroup = "/proc/meminfo", "/sys/fs/cgroup/memory.max"
	for _, c := range []struct {
		runtime int64
		files   map[string]string
		want    int64
		source  string
	}{
		{math.MaxInt64, nil, 0, ""},
		{1 << 30, nil, 1 << 30, "GOMEMLIMIT"},
		{math.MaxInt64, map[string]string{mem: "MemTotal:        4096 kB\nMemFree: 1 kB\n", cgroup: "max\n"}, 4 << 20, "the machine's"},
		{1 << 30, map[string]string{mem: "MemTotal: 4096 kB\n", cgroup: "2097152\n"}, 2 << 20, "the container's limit"},
		{1 << 20, map[string]string{mem: "MemTotal: 4096 kB\n", cgroup: "2097152\n"}, 1 << 20, "GOMEMLIMIT"},
		{math.MaxInt64, map[string]string{mem: "nothing of use", cgroup: "?"}, 0, ""},
	} {
		got, source := memoryLimit(c.runtime, func(path string) ([]byte, error) {
			if text, ok := c.files[path]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		})
		if got != c.want || source != c.source {
			t.Errorf("%+v: got %d, %q", c, got, source)
		}
	}
}

// TestMemoryWarning: a window that will not fit GOMEMLIMIT is told of when the run is opened, one that fits is not.
func TestMemoryWarning(t *testing.T) {
	limit := debug.SetMemoryLimit(4 << 30)
	defer debug.SetMemoryLimit(limit)
	p := quiet(t)
	for _, c := range []struct {
		most int64
		want string
	}{{1_000_000, ""}, {1_000_000_000, "GOMEMLIMIT"}, {math.MaxInt64, "lower window.max_positions"}} {
		p.Window.Max = c.most
		m := logTo(&p, func(string) {})
		r := open(t, p)
		told := ""
		for _, e := range r.Status().Events {
			told += e.Text
		}
		closeRun(t, r)
		if log := m.String(); strings.Contains(log, "memory will not suffice") != (c.want != "") || !strings.Contains(told, c.want) {
			t.Errorf("a window of %d positions: the log says\n%s", c.most, log)
		}
	}
}

// TestMemoryKept gives a run a limit, beyond what the tests before it have left, of which its live heap is about half, and lets
// nothing but the limit collect. It comes to its verdict within the limit.
func TestMemoryKept(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	const room, slack = 70 << 20, 12 << 20 // the limit is soft
	debug.FreeOSMemory()
	limit := taken() + room
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(limit)))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var most uint64
	_, _, err := try(t, fresh(t), nil, func(msg string) bool {
		most = max(most, taken())
		return verdict(msg)
	})
	if err != nil || most > limit+slack {
		t.Errorf("the run ended with %v and took %d MiB, the limit is %d MiB", err, most>>20, limit>>20)
	}
}

// taken is the memory of this process, in bytes, as the limit counts it.
func taken() uint64 {
	s := []sample.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	sample.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}

// soakLeast leaves ten minutes before the first quarter ends: the hub remembers the games of so many, to know one that comes
// twice. Either half of what follows is then longer than it takes to fill a file of models.
const soakLeast = 40 * time.Minute

// A usage is what a process holds at a moment, and what it has done for it.
type usage struct {
	at         time.Duration
	cpu        time.Duration // of all cores; 0 where it is not known
	heap, rss  uint64        // bytes; the heap after a collection; rss is 0 where it is not known
	goroutines int
	positions  int64
}

func measure(begun time.Time, positions int64) usage {
	runtime.GC()
	runtime.GC() // what finalizers have let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := usage{at: time.Since(begun), cpu: cpuTime(), heap: m.HeapAlloc, goroutines: runtime.NumGoroutine(), positions: positions}
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		var size, resident uint64
		if _, err := fmt.Sscan(string(b), &size, &resident); err == nil {
			u.rss = resident * uint64(os.Getpagesize())
		}
	}
	return u
}

// cpuTime is what the process has taken of all cores, in its own code and in the kernel's, as Linux tells it; elsewhere 0.
func cpuTime() time.Duration {
	b, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // the name, in brackets, may hold spaces
	if len(fields) < 13 {
		return 0
	}
	ticks := int64(0)
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / 100)
}

// unsteady is what speaks against a soak: the least heap or number of goroutines is larger in the second half of it than in the
// first, or less comes of a second of CPU time in its last third than in its first. Time by the clock would judge the machine.
func unsteady(used []usage) (faults []string) {
	used = used[len(used)/4:] // what comes first fills windows, caches and pools
	least := func(u []usage, of func(usage) uint64) uint64 {
		return of(slices.MinFunc(u, func(a, b usage) int { return int(int64(of(a)) - int64(of(b))) }))
	}
	half := len(used) / 2
	for _, q := range []struct {
		name  string
		of    func(usage) uint64
		slack uint64 // what is in hand at the moment differs
	}{
		{"KiB of heap", func(u usage) uint64 { return u.heap >> 10 }, 4096}, // a buffer of the hub's for a file that fills slowly
		{"goroutines", func(u usage) uint64 { return uint64(u.goroutines) }, 8},
	} {
		early, late := least(used[:half], q.of), least(used[half:], q.of)
		if late > early+early/20+q.slack {
			faults = append(faults, fmt.Sprintf("%d %s at least in the first half and %d in the second: something grows", early, q.name, late))
		}
	}
	rate := func(from, to usage) float64 {
		return float64(to.positions-from.positions) / (to.cpu - from.cpu).Seconds()
	}
	last := len(used) - 1
	if used[0].cpu == 0 {
		return faults
	}
	// Other programs in the other half of a core make a second of it worth up to a third less.
	if early, late := rate(used[0], used[last/3]), rate(used[last-last/3], used[last]); !(late > early*2/3) {
		faults = append(faults, fmt.Sprintf("%.1f positions a second of CPU time in the first third and %.1f in the last: something takes longer and longer", early, late))
	}
	return faults
}

// TestUnsteady gives soaks in which one thing goes wrong.
func TestUnsteady(t *testing.T) {
	for _, c := range []struct {
		want string
		of   func(i int, u *usage)
	}{
		{"", func(int, *usage) {}},
		{"", func(i int, u *usage) { u.heap += uint64(i%7) << 20 }}, // up and down
		{"", func(i int, u *usage) { u.cpu = 0 }},
		{"KiB of heap", func(i int, u *usage) { u.heap += uint64(i) << 19 }},
		{"goroutines", func(i int, u *usage) { u.goroutines += i }},
		{"CPU time", func(i int, u *usage) { u.cpu += time.Duration(i*i) * 20 * time.Millisecond }},
	} {
		used := make([]usage, 60)
		for i := range used {
			used[i] = usage{cpu: time.Duration(i+1) * time.Second, heap: 40 << 20, goroutines: 50, positions: int64(i) * 100}
			c.of(i, &used[i])
		}
		faults := unsteady(used)
		if got := strings.Join(faults, "; "); (c.want == "") != (got == "") || len(faults) > 1 || !strings.Contains(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestSoak lets a run whose window is soon full go on and on: the heap after a collection, the number of goroutines and what
// comes of a second of CPU time stay what they are. With -soak it runs for so long, and prints what it holds and how fast it is
// sixty times. Nothing shorter than soakLeast shows what is flat. The hub keeps a buffer for the newest file of every stream,
// which doubles or more as the file fills, up to 8 MiB, and is then let go: its files of games are kept small here.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	p := fresh(t)
	p.Window.Max, p.Window.Min, p.Window.Expand, p.Window.Scale = 600, 500, 1, 1e9
	p.Gate.MaxPairs, p.AnchorPairs, p.Plan.Infer.CacheSize, p.Hub.MaxGames = 8, 1, 100, 1<<20
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var r *Run
	var used []usage
	begun, next := time.Now(), time.Duration(0)
	p.Log = slog.New(&listener{Handler: slog.DiscardHandler, heard: func(msg string) { // a memo would grow
		if msg != "candidate" {
			return
		}
		now := time.Since(begun)
		if *soak > 0 && now < next {
			return
		}
		next = now + *soak/60
		u := measure(begun, r.window.Total())
		used = append(used, u)
		t.Logf("%7s  %8d positions  %6.1f/s  %6.1f/s of CPU time  heap %6.2f MiB  rss %6.1f MiB  %3d goroutines", u.at.Round(time.Second), u.positions,
			float64(u.positions)/u.at.Seconds(), float64(u.positions)/u.cpu.Seconds(), float64(u.heap)/(1<<20), float64(u.rss)/(1<<20), u.goroutines)
		if *soak > 0 && now >= *soak || *soak == 0 && len(used) == 12 {
			cancel()
		}
	}})
	p.Hub.Log = p.Log
	r, err := Open(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	closeRun(t, r)
	if *soak > 0 && *soak < soakLeast {
		t.Skipf("less than %v: what grows is not judged", soakLeast)
	}
	if n := len(used); n < 6 {
		t.Fatalf("%d measurements: too few to judge", n)
	}
	if *soak == 0 { // of seconds nobody can say how fast they are
		for i := range used {
			used[i].cpu = 0
		}
	}
	for _, fault := range unsteady(used) {
		t.Error(fault)
	}
}
