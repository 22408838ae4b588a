package data

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"yinshzero/internal/atomicfile"
	"yinshzero/rules"
)

// A Summary counts what shards hold.
type Summary struct {
	Shards     int              `json:"shards"`
	Bytes      int64            `json:"bytes"`
	Blocks     int              `json:"blocks"`
	Games      int              `json:"games"`
	Duplicates int              `json:"duplicates"` // of the games: those with the Hash of one before
	Plies      int64            `json:"plies"`
	Kinds      map[string]int64 `json:"kinds"`    // plies by kind
	Visits     int64            `json:"visits"`   // in all policies
	Variants   map[string]int   `json:"variants"` // games by variant
	Results    map[string]int   `json:"results"`  // games by outcome and reason, such as "W rings"
	Models     map[string]int   `json:"models"`   // games by model; one with two models counts for both
	Faults     int              `json:"faults"`   // what could not be read
}

// Verify reads all that is in paths, shards or directories of shards: it checks every checksum, replays every game and
// counts. What cannot be read is handed to fault and reading goes on.
func Verify(paths []string, fault func(error)) (Summary, error) {
	s := Summary{Kinds: map[string]int64{}, Variants: map[string]int{}, Results: map[string]int{}, Models: map[string]int{}}
	seen := map[[32]byte]bool{}
	files, err := shardFiles(paths)
	if err != nil {
		return s, err
	}
	for _, path := range files {
		s.Shards++
		shard, err := OpenShard(path)
		if err != nil {
			s.Faults++
			fault(err)
			continue
		}
		info := shard.Info()
		s.Bytes += info.Bytes
		s.Blocks += info.Blocks
		for r, err := range shard.Records() {
			if err != nil {
				s.Faults++
				fault(err)
				continue
			}
			s.count(r)
			if h := r.Hash(); seen[h] {
				s.Duplicates++
			} else {
				seen[h] = true
			}
		}
		if err := shard.Close(); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *Summary) count(r *Record) {
	s.Games++
	s.Plies += int64(len(r.Plies))
	for i := range r.Plies {
		s.Kinds[r.Plies[i].Kind.String()]++
		s.Visits += int64(len(r.Plies[i].Policy))
	}
	s.Variants[r.Variant.String()]++
	s.Results[fmt.Sprintf("%v %v", r.Result.Outcome, r.Result.Reason)]++
	s.Models[r.White.String()]++
	if r.Black != r.White {
		s.Models[r.Black.String()]++
	}
}

// WriteText writes s as lines of a name and its figures.
func (s *Summary) WriteText(w io.Writer) error {
	var b strings.Builder
	line := func(name, format string, a ...any) { fmt.Fprintf(&b, "%-10s  %s\n", name, fmt.Sprintf(format, a...)) }
	line("shards", "%d, of %d blocks and %d bytes", s.Shards, s.Blocks, s.Bytes)
	line("games", "%d, %d of them duplicates", s.Games, s.Duplicates)
	line("plies", "%d, %.1f a game, %.1f bytes each", s.Plies,
		float64(s.Plies)/float64(max(1, s.Games)), float64(s.Bytes)/float64(max(1, s.Plies)))
	for k := range Kind(NumKinds) {
		line("", "%d %v", s.Kinds[k.String()], k)
	}
	line("visits", "%d", s.Visits)
	writeCounts(&b, "variants", s.Variants)
	writeCounts(&b, "results", s.Results)
	writeCounts(&b, "models", s.Models)
	line("faults", "%d", s.Faults)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeCounts writes the largest count first.
func writeCounts(b *strings.Builder, name string, counts map[string]int) {
	keys := make([]string, 0, len(counts))
	for key := range counts {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for _, key := range keys {
		fmt.Fprintf(b, "%-10s  %d %s\n", name, counts[key], key)
		name = ""
	}
}

// shardFiles replaces the directories among paths by the shards in them.
func shardFiles(paths []string) (files []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		shards, err := Shards(path)
		if err != nil {
			return nil, err
		}
		if len(shards) == 0 {
			return nil, fmt.Errorf("directory %s holds no *%s", path, ShardExt)
		}
		files = append(files, shards...)
	}
	return files, nil
}

// records yields the games of all that is in paths; what cannot be read yields an error in its place.
func records(paths []string) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		files, err := shardFiles(paths)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, path := range files {
			shard, err := OpenShard(path)
			if err != nil {
				if !yield(nil, err) {
					return
				}
				continue
			}
			for r, err := range shard.Records() {
				if !yield(r, err) {
					shard.Close() // only read
					return
				}
			}
			shard.Close()
		}
	}
}

// Dump writes every game in paths, shards or directories of shards, for people: a line of facts, one of Moves, and a
// table with a line a ply: ply, side, phase, kind, Move, number of legal Moves, value, policy with the largest shares
// first. What cannot be read is handed to fault.
func Dump(w io.Writer, paths []string, fault func(error)) error {
	out := bufio.NewWriter(w)
	for r, err := range records(paths) {
		if err != nil {
			fault(err)
			continue
		}
		if err := r.dump(out); err != nil {
			return err
		}
	}
	return out.Flush()
}

// dump writes a valid Record; its error is that of an earlier write.
func (r *Record) dump(w *bufio.Writer) error {
	hash := r.Hash()
	fmt.Fprintf(w, "game %x variant %v result %v %v plies %d white %v black %v seed %016x build %q worker %q\n",
		hash[:6], r.Variant, r.Result.Outcome, r.Result.Reason, len(r.Plies), r.White, r.Black, r.Seed, r.Build, r.Worker)
	if r.Start != "" {
		fmt.Fprintf(w, "start %s\n", r.Start)
	}
	w.WriteString("moves")
	for i := range r.Plies {
		w.WriteString(" " + r.Variant.MoveText(r.Plies[i].Move))
	}
	w.WriteString("\n")
	pos, err := r.first()
	if err != nil {
		return err
	}
	var buf [rules.MaxMoves]rules.Move
	for i := range r.Plies {
		p := &r.Plies[i]
		fmt.Fprintf(w, "%4d %v %-5v %-7v %-7s %3d", i, pos.ToMove(), pos.Phase(), p.Kind, r.Variant.MoveText(p.Move),
			len(pos.AppendMoves(buf[:0])))
		if p.Kind.searched() {
			fmt.Fprintf(w, " %+.3f", p.Value)
		}
		sum := 0
		for _, v := range p.Policy {
			sum += int(v.Weight)
		}
		policy := slices.Clone(p.Policy)
		slices.SortStableFunc(policy, func(a, b Visit) int { return int(b.Weight) - int(a.Weight) })
		for _, v := range policy {
			fmt.Fprintf(w, " %s:%.3f", r.Variant.MoveText(v.Move), float64(v.Weight)/float64(sum))
		}
		w.WriteString("\n")
		pos.Play(p.Move)
	}
	return w.Flush()
}

// A Loss says what Repair left out of a shard.
type Loss struct {
	Shard  string
	Kept   string  // where the damaged file is now, byte for byte
	Games  int     // that are left
	Faults []error // what is lost, or was wrong
}

// Repair makes the damaged ones among paths, shards or directories of shards, whole again without what cannot be read. A
// damaged shard is kept beside the new one, with .damaged after its name. A shard of which no game is left is only
// kept, under that name. It returns what was lost; shards without damage are not touched. A file that it cannot repair, such
// as one that is no shard at all, stays as it is and does not stop it; the error names them all.
func Repair(paths []string) ([]Loss, error) {
	files, err := shardFiles(paths)
	if err != nil {
		return nil, err
	}
	var losses []Loss
	var errs []error
	for _, path := range files {
		loss, err := repairShard(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("repair: %w", err))
		} else if len(loss.Faults) > 0 {
			losses = append(losses, loss)
		}
	}
	return losses, errors.Join(errs...)
}

func repairShard(path string) (Loss, error) {
	loss := Loss{Shard: path, Kept: path + ".damaged"}
	shard, err := OpenShard(path)
	if errors.Is(err, errNothing) && filepath.Ext(path) == ShardExt {
		loss.Faults = []error{err}
		if _, err := os.Lstat(loss.Kept); err == nil {
			return loss, fmt.Errorf("%s exists already: move it away", loss.Kept)
		}
		return loss, os.Rename(path, loss.Kept)
	}
	if err != nil {
		return loss, err
	}
	var blocks [][]byte
	loss.Faults = slices.Clone(shard.faults)
	for _, e := range shard.index {
		b, recs, errs := shard.block(e)
		loss.Faults = append(loss.Faults, errs...)
		loss.Games += len(recs)
		if len(errs) > 0 && len(recs) > 0 { // some games of the block are not valid
			if b, _, err = appendBlock(nil, recs); err != nil {
				return loss, errors.Join(err, shard.Close())
			}
		}
		if len(recs) > 0 {
			blocks = append(blocks, b)
		}
	}
	damaged, err := shard.read(0, int(shard.size))
	if err := errors.Join(err, shard.Close()); err != nil || len(loss.Faults) == 0 {
		return loss, err
	}
	for _, fault := range loss.Faults {
		if errors.Is(fault, errVersion) || errors.Is(fault, errRead) {
			return loss, fault
		}
	}
	if _, err := os.Lstat(loss.Kept); err == nil {
		return loss, fmt.Errorf("%s exists already: move it away", loss.Kept)
	}
	if err := atomicfile.WriteBytes(loss.Kept, damaged); err != nil {
		return loss, err
	}
	if len(blocks) == 0 {
		return loss, os.Remove(path)
	}
	_, err = writeShard(filepath.Clean(path), func(yield func([]byte, error) bool) {
		for _, b := range blocks {
			if !yield(b, nil) {
				return
			}
		}
	})
	return loss, err
}
