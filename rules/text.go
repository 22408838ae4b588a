package rules

import (
	"fmt"
	"strings"
)

// AppendMove appends the text of m: e5 (PlaceRing), a2-h9 (MoveRing), xc4-g8 (RemoveRow, by its ends), xe3
// (RemoveRing), pass. m must be less than NumMoves.
func (v Variant) AppendMove(dst []byte, m Move) []byte {
	switch m.Kind() {
	case PlaceRing:
		return m.Point().appendText(dst)
	case MoveRing:
		return m.To().appendText(append(m.From().appendText(dst), '-'))
	case RemoveRow:
		dst = append(m.Row().First().appendText(append(dst, 'x')), '-')
		last, ok := m.Row().Last(int(v.RowLength))
		if !ok {
			return append(dst, '?')
		}
		return last.appendText(dst)
	case RemoveRing:
		return m.Point().appendText(append(dst, 'x'))
	}
	return append(dst, "pass"...)
}

// MoveText is the text of m, as AppendMove writes it.
func (v Variant) MoveText(m Move) string { return string(v.AppendMove(nil, m)) }

// String is the text of m in a game with rows of five.
func (m Move) String() string {
	if int(m) >= NumMoves {
		return fmt.Sprintf("Move(%d)", uint16(m))
	}
	return Standard().MoveText(m)
}

// ParsePoint reads a Point such as e5.
func ParsePoint(s string) (Point, error) {
	if p, n := scanPoint(s); n == len(s) && n > 0 {
		return p, nil
	}
	return 0, fmt.Errorf("%q is no point: want a letter a to k and a number, such as e5", abridge(s))
}

// scanPoint reads a Point at the start of s and returns the length of its text, 0 if there is none.
func scanPoint(s string) (Point, int) {
	if len(s) < 2 || s[1] < '1' || s[1] > '9' {
		return 0, 0
	}
	n, number := 2, int(s[1]-'0')
	if len(s) > 2 && s[2] >= '0' && s[2] <= '9' {
		n, number = 3, number*10+int(s[2]-'0')
	}
	p, ok := PointAt(int(s[0])-'a', number)
	if !ok {
		return 0, 0
	}
	return p, n
}

// ParseMove reads a single Move as AppendMove writes it; the ends of a Row may come in either order. It does not ask
// whether the Move is legal.
func (v Variant) ParseMove(s string) (Move, error) {
	bad := func() (Move, error) {
		return 0, fmt.Errorf("%q is no move: want e5, a2-h9, xc4-g8, xe3 or pass", abridge(s))
	}
	if s == "pass" {
		return Pass, nil
	}
	rest, remove := s, false
	if len(rest) > 0 && rest[0] == 'x' {
		rest, remove = rest[1:], true
	}
	a, n := scanPoint(rest)
	if n == 0 {
		return bad()
	}
	rest = rest[n:]
	if rest == "" {
		if remove {
			return RemoveRingAt(a), nil
		}
		return PlaceRingAt(a), nil
	}
	b, n := scanPoint(rest[1:])
	if rest[0] != '-' || n == 0 || n != len(rest)-1 {
		return bad()
	}
	if !remove {
		m, ok := MoveRingFrom(a, b)
		if !ok {
			return 0, fmt.Errorf("%q: %v and %v are not two points of a line", s, a, b)
		}
		return m, nil
	}
	if b < a {
		a, b = b, a
	}
	for axis := range Axis(numAxes) {
		if last, ok := RowAt(a, axis).Last(int(v.RowLength)); ok && last == b {
			return RemoveRowAt(RowAt(a, axis)), nil
		}
	}
	return 0, fmt.Errorf("%q: %v and %v are not the ends of a row of %d", s, a, b, v.RowLength)
}

// ParseMove reads a Move that is legal, as Variant.AppendMove writes it. An error says what would be legal.
func (p *Position) ParseMove(s string) (Move, error) {
	m, err := p.Variant().ParseMove(s)
	if err != nil {
		return 0, fmt.Errorf("%w; %s", err, p.offer(p.AppendMoves(nil)))
	}
	return m, p.check(m)
}

// AppendTurn appends the text of one player's turn, whole or in part, in the form of the official records: the rows that
// the opponent made for him with their rings, then the ring placed or moved, then the rows he made with theirs. A
// semicolon goes before a row and before what follows the opponent's rows: a2-h9, i8-f5;xg5-g9xa5, xf6-j10xk9;f3-d1.
func (v Variant) AppendTurn(dst []byte, turn []Move) []byte {
	for i, m := range turn {
		if i > 0 && m.Kind() != RemoveRing {
			dst = append(dst, ';')
		}
		dst = v.AppendMove(dst, m)
	}
	return dst
}

// ParseTurn reads what is left of the turn of the side to move, as AppendTurn writes it, and returns its Moves, all
// legal in order. Semicolons may be missing, and where there is only one Row to take, xa5 for the ring alone will do.
func (p *Position) ParseTurn(s string) ([]Move, error) {
	turn, q, err := p.parseTurn(s)
	if _, over := q.Result(); err == nil && !over && q.toMove == p.toMove {
		err = fmt.Errorf("the turn is not complete: %v", q.offer(q.AppendMoves(nil)))
	}
	if err != nil {
		return nil, fmt.Errorf("turn %q: %w", abridge(s), err)
	}
	return turn, nil
}

// parseTurn reads a turn, whole or not, and returns the Position after it. With an error come the Moves before it.
func (p *Position) parseTurn(s string) (turn []Move, q Position, err error) {
	q = *p
	v := p.Variant()
	play := func(m Move) error {
		if q.toMove != p.toMove && q.phase != PhaseOver {
			return fmt.Errorf("%s comes after the end of the turn", v.MoveText(m))
		}
		if err := q.check(m); err != nil {
			return err
		}
		turn = append(turn, m)
		q.Play(m)
		return nil
	}
	for word := range strings.SplitSeq(strings.ReplaceAll(s, "x", ";x"), ";") {
		if word == "" {
			continue
		}
		m, err := v.ParseMove(word)
		if err != nil {
			return turn, q, fmt.Errorf("%w; %s", err, q.offer(q.AppendMoves(nil)))
		}
		if m.Kind() == RemoveRing && q.phase == PhaseRemoveRow {
			rows := q.AppendRows(nil, q.toMove)
			if len(rows) > 1 {
				return turn, q, fmt.Errorf("%s leaves open which of %d rows is taken: %s", word, len(rows), q.offer(q.AppendMoves(nil)))
			}
			if err := play(RemoveRowAt(rows[0])); err != nil {
				return turn, q, err
			}
		}
		if err := play(m); err != nil {
			return turn, q, err
		}
	}
	if len(turn) == 0 {
		err = fmt.Errorf("the turn is empty; %s", q.offer(q.AppendMoves(nil)))
	}
	return turn, q, err
}
