package rules

// Perft counts the sequences of depth legal Moves from p; a sequence that ends the game sooner does not count. It is 1
// for depth 0 and below.
func Perft(p *Position, depth int) uint64 { return perft(*p, depth) }

// perft takes its Position by value: of a pointer the compiler cannot tell, in a function that calls itself, that the
// next Position may stay on the stack.
func perft(p Position, depth int) uint64 {
	switch {
	case depth <= 0:
		return 1
	case depth == 1:
		return uint64(p.NumMoves())
	}
	var buf [MaxMoves]Move
	var n uint64
	for _, m := range p.AppendMoves(buf[:0]) {
		next := p
		next.Play(m)
		n += perft(next, depth-1)
	}
	return n
}
