package data

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"yinshzero/internal/atomicfile"
)

// A shard is a file of blocks with an index at its end; docs/format.md draws it.
const (
	shardMagic   = "YZSHARD\n"
	shardHeader  = 16 // bytes: magic, version, zero, CRC-32C
	shardEnd     = "YZINDEX\n"
	indexEntry   = 32 // bytes: offset, length, games, plies by kind
	shardTrailer = 16 // bytes: number of blocks, CRC-32C of the entries and that number, end
	maxShard     = 1 << 30

	// ShardVersion is the version of the shards that this build writes, and the newest that it reads.
	ShardVersion = 1
	// ShardExt is how the names of shards end.
	ShardExt = ".shard"
)

// A CorruptError says that a part of a shard cannot be read. The rest can.
type CorruptError struct {
	Shard  string // path
	Offset int64  // where the part begins
	Games  int    // in it, −1 if unknown
	Err    error
}

// Error is the shard's path, the offset and what is wrong.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("shard %s: offset %d: %v", e.Shard, e.Offset, e.Err)
}

// Unwrap is what is wrong.
func (e *CorruptError) Unwrap() error { return e.Err }

// A ShardInfo counts what a shard holds.
type ShardInfo struct {
	Path   string
	Bytes  int64
	Blocks int
	Games  int
	Plies  [NumKinds]int64 // by Kind
}

// indexed is a block's entry in the index.
type indexed struct {
	offset int64
	length int // of the block, header included
	games  uint32
	plies  [NumKinds]uint32
}

func (info *ShardInfo) add(e indexed) {
	info.Blocks++
	info.Games += int(e.games)
	for k, n := range e.plies {
		info.Plies[k] += int64(n)
	}
}

// shardHead is what every shard of this version begins with.
func shardHead() []byte {
	b := []byte(shardMagic)
	b = binary.LittleEndian.AppendUint16(b, ShardVersion)
	b = binary.LittleEndian.AppendUint16(b, 0)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// appendTail appends the index and the trailer.
func appendTail(dst []byte, index []indexed) []byte {
	n := len(dst)
	for _, e := range index {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(e.offset))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(e.length))
		dst = binary.LittleEndian.AppendUint32(dst, e.games)
		for _, plies := range e.plies {
			dst = binary.LittleEndian.AppendUint32(dst, plies)
		}
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(index)))
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[n:], castagnoli))
	return append(dst, shardEnd...)
}

// writeShard makes a shard of whole blocks.
func writeShard(path string, blocks iter.Seq2[[]byte, error]) (ShardInfo, error) {
	info := ShardInfo{Path: path}
	err := atomicfile.Write(path, 0o644, func(w io.Writer) error {
		put := func(b []byte) error {
			info.Bytes += int64(len(b))
			if info.Bytes > maxShard {
				return fmt.Errorf("more than %d bytes: write several shards", maxShard)
			}
			_, err := w.Write(b)
			return err
		}
		if err := put(shardHead()); err != nil {
			return err
		}
		var index []indexed
		for b, err := range blocks {
			if err != nil {
				return err
			}
			block, err := parseBlockHeader(b)
			if err != nil {
				return err
			}
			e := indexed{info.Bytes, len(b), block.games, block.plies}
			index = append(index, e)
			info.add(e)
			if err := put(b); err != nil {
				return err
			}
		}
		return put(appendTail(nil, index))
	})
	if err != nil {
		return ShardInfo{}, err // it names the path
	}
	return info, nil
}

// WriteShard writes recs, at least one, to a new shard at path; when it returns nil the shard has reached the disk. If a
// Record is not valid no shard is written. Shards of one directory are in order by their names: see NextShard.
func WriteShard(path string, recs []*Record) (ShardInfo, error) {
	if len(recs) == 0 {
		return ShardInfo{}, fmt.Errorf("write shard %s: no games", path)
	}
	return writeShard(path, func(yield func([]byte, error) bool) {
		var b []byte
		for i := 0; i < len(recs); i += BlockGames {
			part := recs[i:min(i+BlockGames, len(recs))]
			var err error
			if b, _, err = appendBlock(b[:0], part); err != nil {
				err = fmt.Errorf("games from %d on: %w", i, err)
			}
			if !yield(b, err) {
				return
			}
		}
	})
}

// A Shard is an open shard. It may be damaged: Records tells. It belongs to one goroutine.
type Shard struct {
	path   string
	file   *os.File
	size   int64
	index  []indexed
	faults []error // of header, index and what lies between the blocks
}

// OpenShard opens a shard and reads its index. A damaged header or index is no error: the blocks are then found by
// looking for them, and Records reports the damage. It fails if the file cannot be read, holds no block and nothing else
// of a shard, or was written by a newer build.
func OpenShard(path string) (*Shard, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	s := &Shard{path: path, file: f}
	if err := s.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("open shard %s: %w", path, err), f.Close())
	}
	return s, nil
}

func (s *Shard) open() error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	if s.size = info.Size(); !info.Mode().IsRegular() || s.size > maxShard {
		return fmt.Errorf("want a file of at most %d bytes", maxShard)
	}
	head := make([]byte, min(s.size, shardHeader))
	if _, err := s.file.ReadAt(head, 0); err != nil {
		return err
	}
	headFault := checkShardHead(head)
	if errors.Is(headFault, errVersion) {
		return headFault
	}
	if headFault != nil {
		s.fault(0, headFault)
	}
	tailFault := s.readTail()
	if tailFault == nil {
		return nil
	}
	if errors.Is(tailFault, errRead) {
		return tailFault
	}
	s.fault(max(0, s.size-shardTrailer), tailFault)
	if err := s.scan(); err != nil {
		return err
	}
	if headFault != nil && len(s.index) == 0 {
		return errNothing
	}
	return nil
}

func (s *Shard) fault(offset int64, err error) {
	s.faults = append(s.faults, &CorruptError{s.path, offset, -1, err})
}

// errNothing reports a file without a block or anything else of a shard.
var errNothing = errors.New("not a shard, or nothing of it is left")

// errRead is wrapped by errors of reading that say nothing about the bytes.
var errRead = errors.New("read")

func (s *Shard) read(offset int64, n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := s.file.ReadAt(b, offset); err != nil {
		return nil, fmt.Errorf("%w: %w", errRead, err)
	}
	return b, nil
}

func checkShardHead(b []byte) error {
	if len(b) < shardHeader {
		return fmt.Errorf("header: %d bytes, want %d", len(b), shardHeader)
	}
	if string(b[:8]) != shardMagic {
		return fmt.Errorf("header: begins with %q, want %q", b[:8], shardMagic)
	}
	if got, want := crc32.Checksum(b[:12], castagnoli), binary.LittleEndian.Uint32(b[12:]); got != want {
		return fmt.Errorf("header: checksum is %08x, the header says %08x", got, want)
	}
	if v := binary.LittleEndian.Uint16(b[8:]); v != ShardVersion {
		return fmt.Errorf("shard of version %d: %w", v, errVersion)
	}
	return nil
}

// readTail reads the index; it must account for every byte of the file.
func (s *Shard) readTail() error {
	if s.size < shardHeader+shardTrailer {
		return fmt.Errorf("index: a file of %d bytes has none", s.size)
	}
	trailer, err := s.read(s.size-shardTrailer, shardTrailer)
	if err != nil {
		return err
	}
	if string(trailer[8:]) != shardEnd {
		return fmt.Errorf("index: ends with %q, want %q", trailer[8:], shardEnd)
	}
	n := int64(binary.LittleEndian.Uint32(trailer))
	start := s.size - shardTrailer - n*indexEntry
	if start < shardHeader {
		return fmt.Errorf("index: %d blocks in a file of %d bytes", n, s.size)
	}
	b, err := s.read(start, int(n*indexEntry)+4)
	if err != nil {
		return err
	}
	if got, want := crc32.Checksum(b, castagnoli), binary.LittleEndian.Uint32(trailer[4:]); got != want {
		return fmt.Errorf("index: checksum is %08x, the trailer says %08x", got, want)
	}
	offset := int64(shardHeader)
	index := make([]indexed, n)
	for i := range index {
		e := &index[i]
		e.offset, e.length = int64(binary.LittleEndian.Uint64(b)), int(binary.LittleEndian.Uint32(b[8:]))
		e.games = binary.LittleEndian.Uint32(b[12:])
		for k := range e.plies {
			e.plies[k] = binary.LittleEndian.Uint32(b[16+4*k:])
		}
		if e.offset != offset || e.length < blockHeader || e.length > blockHeader+maxBlockBytes {
			return fmt.Errorf("index: block %d of %d bytes at %d, want it at %d", i, e.length, e.offset, offset)
		}
		offset += int64(e.length)
		b = b[indexEntry:]
	}
	if offset != start {
		return fmt.Errorf("index: blocks end at %d, the index begins at %d", offset, start)
	}
	s.index = index
	return nil
}

// scan finds the whole blocks of a shard without an index, and faults the bytes that are in none.
func (s *Shard) scan() error {
	all, err := s.read(0, int(s.size))
	if err != nil {
		return err
	}
	at := min(shardHeader, len(all)) // the end of the last block found
	for from := at; ; {
		i := bytes.Index(all[from:], []byte(blockMagic))
		if i < 0 {
			break
		}
		from += i
		info, err := parseBlockHeader(all[from:])
		end := from + blockHeader + int(info.length)
		if err == nil && end <= len(all) {
			_, err = checkBlock(all[from:end])
		}
		if err != nil || end > len(all) {
			from++
			continue
		}
		if from > at {
			s.fault(int64(at), fmt.Errorf("%d bytes that are no block", from-at))
		}
		s.index = append(s.index, indexed{int64(from), end - from, info.games, info.plies})
		from, at = end, end
	}
	if at < len(all) {
		s.fault(int64(at), fmt.Errorf("%d bytes that are no block", len(all)-at))
	}
	return nil
}

// Close closes the file.
func (s *Shard) Close() error { return s.file.Close() }

// Info counts what the index of s lists; without an index, what could be found.
func (s *Shard) Info() ShardInfo {
	info := ShardInfo{Path: s.path, Bytes: s.size}
	for _, e := range s.index {
		info.add(e)
	}
	return info
}

// Records yields the games in order. What cannot be read yields a *CorruptError in its place, and reading goes on with
// what follows, as long as the loop does. Every Record is valid.
func (s *Shard) Records() iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		for _, err := range s.faults {
			if !yield(nil, err) {
				return
			}
		}
		for _, e := range s.index {
			_, recs, errs := s.block(e)
			for _, err := range errs {
				if !yield(nil, err) {
					return
				}
			}
			for _, r := range recs {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// block reads one block: its bytes, nil if it is damaged, and what is in it.
func (s *Shard) block(e indexed) (b []byte, recs []*Record, errs []error) {
	b, err := s.read(e.offset, e.length)
	var bad []error
	if err == nil {
		recs, bad, err = decodeBlock(b)
	}
	if err == nil {
		if info, _ := parseBlockHeader(b); info.games != e.games || info.plies != e.plies {
			err = errors.New("block and index disagree on what it holds")
		}
	}
	if err != nil {
		return nil, nil, []error{&CorruptError{s.path, e.offset, int(e.games), err}}
	}
	for _, err := range bad {
		errs = append(errs, &CorruptError{s.path, e.offset, 1, err})
	}
	return b, recs, errs
}

// Shards lists the shards in a directory, in order. It takes no notice of other files, such as those that a killed
// writer has left unfinished.
func Shards(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		if !e.IsDir() && strings.HasSuffix(e.Name(), ShardExt) && !strings.HasPrefix(e.Name(), ".") {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, nil
}

// NextShard is the path for the next shard in dir: the number after the highest there and after that of last, the shard
// written before, which may be gone; last is empty for the first. The number has eight digits, as in 00000001.shard. One
// process writes to a directory at a time.
func NextShard(dir, last string) (string, error) {
	paths, err := Shards(dir)
	if err != nil {
		return "", err
	}
	highest := 0
	for _, path := range append(paths, last) {
		n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ShardExt))
		if err == nil {
			highest = max(highest, n)
		}
	}
	return filepath.Join(dir, fmt.Sprintf("%08d%s", highest+1, ShardExt)), nil
}
