package solve

import (
	"math/bits"

	"yinshzero/rules"
)

// An entry is what is known of the Position with a hash.
type entry struct {
	hash    uint64
	won     [2]uint16 // by Color, within how many plies that side wins, 0 if not known to
	refuted [2]uint16 // by Color, within how many plies it does not
	best    rules.Move
	effort  uint16 // plies of the deepest look
}

// A bucket holds the entry of the deepest look, and the newest of the others.
type bucket [2]entry

// A table is a transposition table of fixed size.
type table struct {
	buckets []bucket
	shift   int // of a hash to its bucket
}

func newTable(entries int) table {
	n := bits.Len(uint(entries)) - 2
	return table{make([]bucket, 1<<n), 64 - n}
}

func (t *table) reset() { clear(t.buckets) }

// find returns the entry with a hash, or nil.
func (t *table) find(hash uint64) *entry {
	b := &t.buckets[hash>>t.shift]
	for i := range b {
		if b[i].hash == hash && b[i].effort > 0 {
			return &b[i]
		}
	}
	return nil
}

// at returns the entry with a hash, a new one if there is none.
func (t *table) at(hash uint64, effort int) *entry {
	e := t.find(hash)
	if e == nil {
		b := &t.buckets[hash>>t.shift]
		e = &b[1]
		if effort >= int(b[0].effort) {
			b[1] = b[0]
			e = &b[0]
		}
		*e = entry{hash: hash, best: noMove}
	}
	e.effort = max(e.effort, uint16(effort))
	return e
}
