package rules

// keys holds the Zobrist keys: rings and markers of each side by grid index, then the small numbers.
var keys = func() (k struct {
	ring, marker [2][GridSize * GridSize]uint64
	small        [16][128]uint64
}) {
	x := uint64(0x59494e5348) // "YINSH"
	next := func() uint64 {   // splitmix64 (Steele, Lea and Flood, 2014)
		x += 0x9e3779b97f4a7c15
		z := x
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return z ^ z>>31
	}
	for c := range 2 {
		for i := range k.ring[c] {
			k.ring[c][i], k.marker[c][i] = next(), next()
		}
	}
	for i := range k.small {
		for j := range k.small[i] {
			k.small[i][j] = next()
		}
	}
	return k
}()

// Hash is the Zobrist hash (Zobrist, 1970) of everything that Positions are compared by.
func (p *Position) Hash() uint64 {
	var h uint64
	for c := range 2 {
		for s := p.rings[c]; !s.empty(); {
			h ^= keys.ring[c][s.next()]
		}
		for s := p.markers[c]; !s.empty(); {
			h ^= keys.marker[c][s.next()]
		}
	}
	for i, n := range [...]int8{
		p.radius, p.ringsEach, p.markersAll, p.rowLength, p.ringsToWin, p.pool, p.taken[0], p.taken[1], p.hand[0], p.hand[1],
		int8(p.phase), int8(p.toMove), int8(p.last), p.passes, int8(p.result.Outcome), int8(p.result.Reason),
	} {
		h ^= keys.small[i][n]
	}
	return h
}
