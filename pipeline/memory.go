package pipeline

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// A memory is what a run will want of it and how much there is, in bytes.
type memory struct {
	window, caches int64
	limit          int64  // 0 if it is not known
	source         string // of limit
}

const (
	cacheEntry = 650 // bytes that an evaluation takes in an infer.Evaluator's cache
	seatCaches = 3   // that a seat has at most: of self-play and of both sides of a pair
	memoryFit  = 0.8 // share of the limit that window and caches may take; training, the hub and garbage need the rest
)

// wants is what the window takes when it is full, at so many bytes a position, and what the caches of the workers take.
func (p *Params) wants(positionBytes float64) memory {
	window := min(float64(p.Window.Max)*positionBytes, math.MaxInt64/2)
	return memory{
		window: int64(window), caches: int64(p.Workers) * seatCaches * int64(p.Plan.Infer.CacheSize) * cacheEntry,
	}
}

// warning is what to tell of m, empty if it fits or nobody knows.
func (m memory) warning() string {
	if m.limit == 0 || float64(m.window)+float64(m.caches) <= memoryFit*float64(m.limit) {
		return ""
	}
	return fmt.Sprintf("the window takes %s MiB when it is full and the workers' caches %s MiB, and the memory is %s MiB (%s): lower window.max_positions, search.cache or selfplay.workers, or give more memory",
		thousands(m.window>>20), thousands(m.caches>>20), thousands(m.limit>>20), m.source)
}

// checkMemory warns of a window that will not fit. The runtime's own limit, GOMEMLIMIT, is kept by collecting more often; a
// window above it would leave time for nothing else.
func (r *Run) checkMemory() {
	m := r.params.wants(r.window.PositionBytes())
	m.limit, m.source = memoryLimit(debug.SetMemoryLimit(-1), os.ReadFile)
	if w := m.warning(); w != "" {
		r.note("memory will not suffice", "reason", w)
	}
}

// memoryLimit is the least of the runtime's limit, which is math.MaxInt64 if GOMEMLIMIT is not set, that of the container and
// the machine's memory, and which it is. The latter two are known on Linux only; 0 means that nothing is known.
func memoryLimit(runtime int64, read func(string) ([]byte, error)) (bytes int64, source string) {
	least := int64(math.MaxInt64)
	take := func(n int64, from string) {
		if n > 0 && n < least {
			least, source = n, from
		}
	}
	take(runtime, "GOMEMLIMIT")
	if b, err := read("/sys/fs/cgroup/memory.max"); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil { // else it is "max"
			take(n, "the container's limit")
		}
	}
	if b, err := read("/proc/meminfo"); err == nil {
		take(totalMemory(b), "the machine's")
	}
	if source == "" {
		return 0, ""
	}
	return least, source
}

// totalMemory is the memory of the machine as /proc/meminfo has it, 0 if it does not say.
func totalMemory(meminfo []byte) int64 {
	for line := range bytes.Lines(meminfo) {
		var kib int64
		if n, err := fmt.Sscanf(string(line), "MemTotal: %d kB", &kib); n == 1 && err == nil {
			return kib << 10
		}
	}
	return 0
}
