package rules

import (
	"fmt"
	"io"
	"math/rand/v2"
)

// A RandomKind is how random games choose their Moves.
type RandomKind uint8

// The kinds of random games. All but Uniform look one Move ahead and choose at random among the best.
const (
	Uniform RandomKind = iota // every legal Move alike
	Rows                      // the most Rows of one's own and the fewest of the opponent's
	Cramp                     // the fewest Moves for the opponent's rings
)

var randomKinds = [...]string{"uniform", "rows", "cramp"}

// String is uniform, rows or cramp.
func (k RandomKind) String() string { return randomKinds[k] }

// ParseRandomKind reads a RandomKind as String writes it.
func ParseRandomKind(s string) (RandomKind, error) {
	for k, name := range randomKinds {
		if s == name {
			return RandomKind(k), nil
		}
	}
	return 0, fmt.Errorf("kind %q: want uniform, rows or cramp", s)
}

// RandomMove chooses a legal Move of p, which must not be over.
func RandomMove(p *Position, kind RandomKind, rng *rand.Rand) Move {
	var buf [MaxMoves]Move
	moves := p.AppendMoves(buf[:0])
	if kind == Uniform {
		return moves[rng.IntN(len(moves))]
	}
	var best, ties int
	var chosen Move
	for _, m := range moves {
		next := *p
		next.Play(m)
		var merit int
		if kind == Rows {
			merit = next.numRows(p.toMove) - next.numRows(p.toMove.Other())
		} else {
			merit = -next.numRingMoves(p.toMove.Other())
		}
		switch {
		case ties == 0 || merit > best:
			best, ties, chosen = merit, 1, m
		case merit == best:
			if ties++; rng.IntN(ties) == 0 {
				chosen = m
			}
		}
	}
	return chosen
}

// RandomGame plays a whole game of v, which must be valid. Its ID is empty.
func RandomGame(v Variant, kind RandomKind, rng *rand.Rand) Game {
	g := Game{Variant: v}
	p := New(v)
	for {
		if res, over := p.Result(); over {
			g.Outcome = res.Outcome
			return g
		}
		m := RandomMove(&p, kind, rng)
		g.Moves = append(g.Moves, m)
		p.Play(m)
	}
}

// RandomTrace writes the traces of n random games, called u0, r0 or c0 and on after their kind. Game i depends on seed, i,
// kind and v alone. It returns an error only if w fails or v is not valid.
func RandomTrace(w io.Writer, n int, seed uint64, kind RandomKind, v Variant) error {
	if err := v.Validate(); err != nil {
		return err
	}
	for i := range n {
		g := RandomGame(v, kind, rand.New(rand.NewPCG(seed, uint64(i))))
		g.ID = fmt.Sprintf("%c%d", kind.String()[0], i)
		if err := WriteTrace(w, &g); err != nil {
			return err
		}
	}
	return nil
}
