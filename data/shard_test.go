package data

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"yinshzero/internal/atomicfile"
	"yinshzero/rules"
)

var update = flag.Bool("update", false, "write the golden files anew")

// readShard reads all of a shard.
func readShard(t testing.TB, path string) (recs []*Record, faults []error, err error) {
	t.Helper()
	s, err := OpenShard(path)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	for r, err := range s.Records() {
		if err != nil {
			faults = append(faults, err)
		} else {
			recs = append(recs, r)
		}
	}
	return recs, faults, nil
}

func TestShardRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.shard")
	for _, n := range []int{1, BlockGames, 2*BlockGames + 3} {
		recs := randomRecords(1, n, rules.Mini())
		info, err := WriteShard(path, recs)
		if err != nil {
			t.Fatal(err)
		}
		want := ShardInfo{Path: path, Blocks: (n + BlockGames - 1) / BlockGames, Games: n}
		for _, r := range recs {
			for _, p := range r.Plies {
				want.Plies[p.Kind]++
			}
		}
		stat, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		want.Bytes = stat.Size()
		s, err := OpenShard(path)
		if err != nil {
			t.Fatal(err)
		}
		if info != want || s.Info() != want {
			t.Errorf("written %+v, read %+v, want %+v", info, s.Info(), want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		got, faults, err := readShard(t, path)
		if err != nil || faults != nil || !reflect.DeepEqual(got, recs) {
			t.Fatalf("%d games: got %d, faults %v, %v", n, len(got), faults, err)
		}
	}
}

func TestWriteShardRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.shard")
	recs := randomRecords(2, BlockGames+2, rules.Mini())
	recs[BlockGames+1].Final ^= 1
	if _, err := WriteShard(path, recs); err == nil || !strings.Contains(err.Error(), "games from 256 on: game 1: hash") {
		t.Errorf("got %v, want the place of the bad game", err)
	}
	if _, err := WriteShard(path, nil); err == nil {
		t.Error("a shard without games was written")
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("%v was left", entries)
	}
}

// TestGolden reads a shard written when the format was made. That it is also written like that today may change when
// the compressor does: if this build still reads the old file, -update is right.
func TestGolden(t *testing.T) {
	golden := filepath.Join("testdata", "shard.golden")
	recs := randomRecords(3, 3, rules.Mini())
	recs = append(recs, randomRecords(4, 2, rules.Standard())...)
	path := filepath.Join(t.TempDir(), "a.shard")
	if _, err := WriteShard(path, recs); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if old, faults, err := readShard(t, golden); err != nil || faults != nil || !reflect.DeepEqual(old, recs) {
		t.Fatalf("read from the golden file: %d games, faults %v, %v", len(old), faults, err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("written today: %d bytes that differ from the golden %d", len(got), len(want))
	}
}

// twoBlocks is a shard of two blocks, of three games and two: its bytes, its games and where the second begins.
func twoBlocks(t *testing.T) (path string, b []byte, recs []*Record, second int) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.shard")
	recs = randomRecords(5, 5, rules.Mini())
	first, last := encode(t, recs[:3]...), encode(t, recs[3:]...)
	_, err := writeShard(path, func(yield func([]byte, error) bool) {
		_ = yield(first, nil) && yield(last, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if b, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return path, b, recs, shardHeader + len(first)
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// stride is the step in which bytes are damaged: one, or a few if time is short.
func stride() int {
	if testing.Short() {
		return 7
	}
	return 1
}

// TestTruncated cuts a shard at every byte: it is always noticed, and the whole blocks that are left are read.
func TestTruncated(t *testing.T) {
	path, b, recs, second := twoBlocks(t)
	end := len(b) - shardTrailer - 2*indexEntry
	for n := 0; n < len(b); n += stride() {
		write(t, path, b[:n])
		got, faults, err := readShard(t, path)
		if err == nil && len(faults) == 0 {
			t.Fatalf("%d of %d bytes: nothing was noticed", n, len(b))
		}
		want := 0
		if n >= second {
			want = 3
		}
		if n >= end {
			want = 5
		}
		if len(got) != want || want > 0 && !reflect.DeepEqual(got, recs[:want]) {
			t.Fatalf("%d of %d bytes: read %d games, want %d", n, len(b), len(got), want)
		}
		if want > 0 && err != nil {
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
		for _, fault := range faults {
			var corrupt *CorruptError
			if !errors.As(fault, &corrupt) || corrupt.Shard != path || corrupt.Offset > int64(n) {
				t.Fatalf("%d of %d bytes: fault %v", n, len(b), fault)
			}
		}
	}
	write(t, path, append(b, 0))
	if got, faults, err := readShard(t, path); err != nil || len(faults) == 0 || len(got) != 5 {
		t.Fatalf("a byte more: %d games, faults %v, %v", len(got), faults, err)
	}
}

// TestBitFlips turns over one bit of every byte: it is always noticed, costs at most the block that it hits, and the
// fault names that block.
func TestBitFlips(t *testing.T) {
	path, b, recs, second := twoBlocks(t)
	end := len(b) - shardTrailer - 2*indexEntry
	for i := 0; i < len(b); i += stride() {
		b[i] ^= 1 << (i % 8)
		write(t, path, b)
		b[i] ^= 1 << (i % 8)
		got, faults, err := readShard(t, path)
		if err != nil || len(faults) == 0 {
			t.Fatalf("byte %d: faults %v, %v", i, faults, err)
		}
		want, offset := recs, int64(0)
		switch {
		case i < shardHeader:
		case i < second:
			want, offset = recs[3:], shardHeader
		case i < end:
			want, offset = recs[:3], int64(second)
		default:
			offset = int64(len(b) - shardTrailer)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("byte %d: read %d games, want %d", i, len(got), len(want))
		}
		var corrupt *CorruptError
		if !errors.As(faults[0], &corrupt) || corrupt.Offset != offset {
			t.Fatalf("byte %d: fault %v, want offset %d", i, faults[0], offset)
		}
	}
}

// TestLostIndexAndBlock damages both index and first block: the second is still found.
func TestLostIndexAndBlock(t *testing.T) {
	path, b, recs, second := twoBlocks(t)
	b[second-1] ^= 1
	write(t, path, b[:len(b)-1])
	got, faults, err := readShard(t, path)
	if err != nil || len(faults) < 2 || !reflect.DeepEqual(got, recs[3:]) {
		t.Fatalf("read %d games, faults %v, %v", len(got), faults, err)
	}
}

func TestOpenShardRefuses(t *testing.T) {
	dir := t.TempDir()
	newer := shardHead()
	newer[8]++
	binary.LittleEndian.PutUint32(newer[12:], crc32.Checksum(newer[:12], castagnoli))
	for _, test := range []struct {
		name string
		in   []byte
		want string
	}{
		{"empty", nil, "not a shard"},
		{"text", []byte(strings.Repeat("this is a text, not games\n", 40)), "not a shard"},
		{"newer", newer, "update this one"},
	} {
		path := filepath.Join(dir, test.name)
		write(t, path, test.in)
		if _, err := OpenShard(path); err == nil || !strings.Contains(err.Error(), test.want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	if _, err := OpenShard(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that there is no such file", err)
	}
	if _, err := OpenShard(dir); err == nil {
		t.Error("a directory was opened")
	}
}

// TestShards checks that only finished shards are listed, in order, and how the next one is named.
func TestShards(t *testing.T) {
	dir := t.TempDir()
	next := func(last string) string {
		t.Helper()
		path, err := NextShard(dir, last)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	if got := filepath.Base(next("")); got != "00000001.shard" {
		t.Errorf("first shard is %s", got)
	}
	for _, name := range []string{"00000009.shard", "00000010.shard", "zz.shard", "00000011.shard.damaged", "notes.txt"} {
		write(t, filepath.Join(dir, name), []byte("x"))
	}
	func() { // a writer is killed
		defer func() { _ = recover() }()
		_ = atomicfile.Write(filepath.Join(dir, "00000012.shard"), 0o644, func(io.Writer) error { panic("killed") })
	}()
	got, err := Shards(dir)
	want := []string{filepath.Join(dir, "00000009.shard"), filepath.Join(dir, "00000010.shard"), filepath.Join(dir, "zz.shard")}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	for last, want := range map[string]string{
		"": "00000011.shard", "00000005.shard": "00000011.shard", "00000011.shard": "00000012.shard", "x.shard": "00000011.shard",
	} {
		if got := filepath.Base(next(filepath.Join(dir, last))); got != want {
			t.Errorf("the shard after %q is %s, want %s", last, got, want)
		}
	}
}

func FuzzOpenShard(f *testing.F) {
	b, err := os.ReadFile(filepath.Join("testdata", "shard.golden"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)-9])
	f.Add(append(shardHead(), appendTail(nil, nil)...))
	path := filepath.Join(f.TempDir(), "a.shard")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		recs, _, err := readShard(t, path)
		if err != nil {
			return
		}
		for _, r := range recs {
			if err := r.Validate(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func BenchmarkWriteShard(b *testing.B) {
	recs := randomRecords(6, BlockGames, rules.Standard())
	path := filepath.Join(b.TempDir(), "a.shard")
	for b.Loop() {
		if _, err := WriteShard(path, recs); err != nil {
			b.Fatal(err)
		}
	}
}
