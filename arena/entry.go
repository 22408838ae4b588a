package arena

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"yinshzero/rules"
)

// An Entry is a pair as it is kept: who played it, in which match, and every Move. As text it is one line of ten fields
// with tabs between them:
//
//	kind, A, B, variant, match seed, number of the pair, A's points, plies of the opening, Moves, Moves
//
// such as
//
//	gate	model:3f9a	model:77b0	mini	17	4	1.5	5	d4 e6 …	d4 e6 …
//
// A is White in the first list of Moves. Nothing in a line depends on time or machine; lines are only ever appended.
// The variant is written as rules.ParseVariant reads it. The points are redundant: a line whose Moves say otherwise is
// damaged.
type Entry struct {
	Kind    string // what the match is for, such as gate; a word
	A, B    string // players
	Variant rules.Variant
	Seed    uint64 // Match.Seed
	Pair    int    // from 0
	Result  PairResult
}

const (
	entryFields  = 10
	maxEntryLine = 1 << 16 // bytes; two games of the longest variant take less than 8 KB
)

// AppendText appends the line of e, with its newline. It is an error if a name would break the line or the games are not
// finished games of the Variant that begin with the opening.
func (e *Entry) AppendText(dst []byte) ([]byte, error) {
	if err := e.validate(); err != nil {
		return dst, fmt.Errorf("write pair: %w", err)
	}
	for _, s := range []string{
		e.Kind, e.A, e.B, e.Variant.String(), strconv.FormatUint(e.Seed, 10), strconv.Itoa(e.Pair),
		strconv.FormatFloat(e.Result.Points(), 'g', -1, 64), strconv.Itoa(len(e.Result.Opening.Moves)),
	} {
		dst = append(append(dst, s...), '\t')
	}
	for i, g := range e.Result.Games {
		for j, m := range g.Moves {
			if j > 0 {
				dst = append(dst, ' ')
			}
			dst = e.Variant.AppendMove(dst, m)
		}
		dst = append(dst, "\t\n"[i])
	}
	return dst, nil
}

func (e *Entry) validate() error {
	for _, f := range [...]struct{ name, text string }{{"kind", e.Kind}, {"player A", e.A}, {"player B", e.B}} {
		if f.text == "" || strings.ContainsFunc(f.text, isControl) {
			return fmt.Errorf("%s %q: want text without tabs or other control characters", f.name, f.text)
		}
	}
	if err := e.Variant.Validate(); err != nil {
		return fmt.Errorf("variant: %w", err)
	}
	if e.Pair < 0 {
		return fmt.Errorf("pair %d: want 0 or more", e.Pair)
	}
	for i, g := range e.Result.Games {
		again, err := Replay(e.Variant, g.Moves)
		if err != nil {
			return fmt.Errorf("game %d: %w", i+1, err)
		}
		if again.Result != g.Result {
			return fmt.Errorf("game %d: the result is %v, its moves say %v", i+1, g.Result, again.Result)
		}
		if o := e.Result.Opening.Moves; len(o) > len(g.Moves) || !slices.Equal(o, g.Moves[:len(o)]) {
			return fmt.Errorf("game %d does not begin with the opening", i+1)
		}
	}
	return nil
}

// ParseEntry reads a line as AppendText writes it, its newline optional. The games are replayed: what it returns is
// legal to the last Move.
func ParseEntry(line string) (Entry, error) {
	fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
	if len(fields) != entryFields {
		return Entry{}, fmt.Errorf("%d fields with tabs between them: want %d", len(fields), entryFields)
	}
	e := Entry{Kind: fields[0], A: fields[1], B: fields[2]}
	var err error
	if e.Variant, err = rules.ParseVariant(fields[3]); err != nil {
		return Entry{}, err
	}
	if e.Seed, err = strconv.ParseUint(fields[4], 10, 64); err != nil || strconv.FormatUint(e.Seed, 10) != fields[4] {
		return Entry{}, fmt.Errorf("seed %q: want a number below 2^64", fields[4])
	}
	if e.Pair, err = parseCount(fields[5]); err != nil {
		return Entry{}, fmt.Errorf("pair %w", err)
	}
	opening, err := parseCount(fields[7])
	if err != nil {
		return Entry{}, fmt.Errorf("plies of the opening %w", err)
	}
	for i := range e.Result.Games {
		if e.Result.Games[i], err = parseGame(e.Variant, fields[8+i]); err != nil {
			return Entry{}, fmt.Errorf("game %d: %w", i+1, err)
		}
	}
	first := e.Result.Games[0].Moves
	if opening > len(first) {
		return Entry{}, fmt.Errorf("plies of the opening %d: the first game has %d", opening, len(first))
	}
	e.Result.Opening.Moves = first[:opening:opening]
	if got := strconv.FormatFloat(e.Result.Points(), 'g', -1, 64); got != fields[6] {
		return Entry{}, fmt.Errorf("points %q: the moves give %s", fields[6], got)
	}
	return e, e.validate()
}

func parseCount(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || strconv.Itoa(n) != s {
		return 0, fmt.Errorf("%q: want a number from 0", s)
	}
	return n, nil
}

func parseGame(v rules.Variant, text string) (Game, error) {
	words := strings.Split(text, " ")
	if len(words) > v.MaxPlies() {
		return Game{}, fmt.Errorf("%d plies: no game of the variant has more than %d", len(words), v.MaxPlies())
	}
	moves := make([]rules.Move, 0, len(words))
	for i, w := range words {
		m, err := v.ParseMove(w)
		if err != nil {
			return Game{}, fmt.Errorf("ply %d: %w", i, err)
		}
		moves = append(moves, m)
	}
	return Replay(v, moves)
}

// ErrTorn is wrapped by the error of a last line without a newline: a write that was cut short. The lines before it
// are whole.
var ErrTorn = errors.New("the last line is cut short")

// Entries reads lines until the first that is damaged, which is yielded as an error with its number.
func Entries(r io.Reader) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		lines := bufio.NewReaderSize(r, maxEntryLine)
		for n := 1; ; n++ {
			line, err := lines.ReadSlice('\n')
			switch {
			case err == io.EOF && len(line) == 0:
				return
			case err == io.EOF:
				err = ErrTorn
			case err == bufio.ErrBufferFull:
				err = fmt.Errorf("longer than %d bytes", maxEntryLine)
			}
			var e Entry
			if err == nil {
				e, err = ParseEntry(string(line))
			}
			if err != nil {
				yield(Entry{}, fmt.Errorf("line %d: %w", n, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}
