package data

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"yinshzero/rules"
)

// A move list holds one game a line: an id, the result W, B or draw, how it ended, played or resign, the variant, and
// the Moves, with spaces between them.
const moveListForm = "<id> <W|B|draw> <played|resign> <variant> <move> …"

// Export writes the games in paths, shards or directories of shards, as a move list; the id is the beginning of the
// game's Hash. What cannot be read or does not start from the empty board is handed to fault.
func Export(w io.Writer, paths []string, fault func(error)) error {
	out := bufio.NewWriter(w)
	for r, err := range records(paths) {
		if err != nil {
			fault(err)
			continue
		}
		hash := r.Hash()
		if r.Start != "" {
			fault(fmt.Errorf("game %x does not start from the empty board: a move list cannot hold it", hash[:6]))
			continue
		}
		how := "played"
		if r.Result.Reason == rules.Resigned {
			how = "resign"
		}
		fmt.Fprintf(out, "%x %v %s %v", hash[:6], r.Result.Outcome, how, r.Variant)
		for i := range r.Plies {
			out.WriteString(" " + r.Variant.MoveText(r.Plies[i].Move))
		}
		if err := out.WriteByte('\n'); err != nil {
			return err
		}
	}
	return out.Flush()
}

// Import reads a move list and writes its games to a new shard at path. Empty lines and those that begin with # are
// skipped. A line that is no valid game is left out and handed to fault with name, that of the list, and its number.
// The plies are of the kind Opening: there was no search. A file that exists is an error, and left as it is.
func Import(path string, r io.Reader, name string, fault func(error)) (ShardInfo, error) {
	if _, err := os.Lstat(path); err == nil {
		return ShardInfo{}, fmt.Errorf("import %s: %s exists: choose the name of a new shard", name, path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return ShardInfo{}, fmt.Errorf("import %s: %w", name, err)
	}
	var recs []*Record
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		rec, err := parseGame(line)
		if err != nil {
			fault(fmt.Errorf("%s:%d: %w", name, n, err))
			continue
		}
		recs = append(recs, rec)
	}
	if err := lines.Err(); err != nil {
		return ShardInfo{}, fmt.Errorf("import %s: %w", name, err)
	}
	if len(recs) == 0 {
		return ShardInfo{}, fmt.Errorf("import %s: no valid game, one a line as %s", name, moveListForm)
	}
	return WriteShard(path, recs)
}

// parseGame reads a line of a move list. The Record is valid.
func parseGame(line string) (*Record, error) {
	f := strings.Fields(line)
	if len(f) < 5 {
		return nil, fmt.Errorf("%d fields: want %s", len(f), moveListForm)
	}
	v, err := rules.ParseVariant(f[3])
	if err != nil {
		return nil, err
	}
	r := &Record{Variant: v}
	if r.Result.Outcome, err = parseOutcome(f[1]); err != nil {
		return nil, err
	}
	if f[2] != "played" && f[2] != "resign" {
		return nil, fmt.Errorf("ended by %q: want played or resign", f[2])
	}
	pos := rules.New(v)
	for i, text := range f[4:] {
		m, err := v.ParseMove(text)
		if err != nil {
			return nil, fmt.Errorf("move %d: %w", i+1, err)
		}
		if !pos.IsLegal(m) {
			return nil, fmt.Errorf("move %d: %s is illegal", i+1, text)
		}
		r.Plies = append(r.Plies, Ply{Move: m, Kind: Opening})
		pos.Play(m)
	}
	r.Final = pos.Hash()
	if res, over := pos.Result(); over {
		r.Result.Reason = res.Reason
	} else if f[2] == "resign" {
		r.Result.Reason = rules.Resigned
	} else {
		return nil, fmt.Errorf("after %d moves the game is not over", len(r.Plies))
	}
	return r, r.Validate()
}

func parseOutcome(s string) (rules.Outcome, error) {
	for _, o := range []rules.Outcome{rules.WhiteWins, rules.BlackWins, rules.Draw} {
		if s == o.String() {
			return o, nil
		}
	}
	return 0, fmt.Errorf("result %q: want W, B or draw", s)
}
