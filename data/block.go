package data

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"yinshzero/rules"
)

// A block is a number of Records in columns; docs/format.md draws it. A message holds one block of one Record, a shard
// blocks of up to BlockGames.
const (
	blockMagic   = "YZBK"
	blockVersion = 1
	blockHeader  = 36 // bytes

	// BlockGames is the number of Records that a shard's blocks hold, the last one's excepted.
	BlockGames = 256

	maxBlockGames = 4096
	maxRecordRaw  = 256 << 10 // bytes of all streams of one Record, uncompressed; a game of MaxPlies is smaller
	maxBlockRaw   = 64 << 20  // of a block
	maxBlockBytes = 64 << 20  // of a block as stored

	// MaxMessage is the most bytes that a Record as AppendBinary writes it may have.
	MaxMessage = 512 << 10
)

// The streams of a block, in order.
const (
	streamGames      = iota // one head a game: variant, models, result, number of plies, texts
	streamNumbers           // one pair a game: seed, hash of the last position
	streamMoves             // one byte a ply: rank of the Move among the legal Moves
	streamKinds             // one byte a ply
	streamValueHigh         // one byte a searched ply: high byte of the difference from the value before
	streamValueLow          // the same: low byte
	streamCounts            // one byte a searched ply: number of Visits
	streamGaps              // one byte a Visit: rank less the rank before, less one
	streamWeightHigh        // one byte a Visit
	streamWeightLow         // one byte a Visit
	numStreams
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)

	encoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderCRC(true),
			zstd.WithEncoderConcurrency(1))
		if err != nil {
			panic(err) // the options are constants
		}
		return e
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(maxBlockRaw),
			zstd.WithDecoderConcurrency(0))
		if err != nil {
			panic(err)
		}
		return d
	})
)

// blockInfo is what a block's header and its entry in the index of a shard say.
type blockInfo struct {
	games  uint32
	plies  [NumKinds]uint32
	length uint32 // of the payload
	crc    uint32 // CRC-32C of the header up to the CRC, and the payload
}

func (b *blockInfo) appendHeader(dst []byte) []byte {
	dst = append(dst, blockMagic...)
	dst = binary.LittleEndian.AppendUint16(dst, blockVersion)
	dst = binary.LittleEndian.AppendUint16(dst, 0)
	dst = binary.LittleEndian.AppendUint32(dst, b.games)
	for _, n := range b.plies {
		dst = binary.LittleEndian.AppendUint32(dst, n)
	}
	dst = binary.LittleEndian.AppendUint32(dst, b.length)
	return binary.LittleEndian.AppendUint32(dst, b.crc)
}

// errVersion is wrapped by errors about data that a newer build has written.
var errVersion = errors.New("written by a newer build: update this one")

// parseBlockHeader reads the header at the start of b and checks that it may be one; the CRC is checked by checkBlock.
func parseBlockHeader(b []byte) (info blockInfo, err error) {
	if len(b) < blockHeader {
		return info, fmt.Errorf("block header: %d bytes, want %d", len(b), blockHeader)
	}
	if string(b[:4]) != blockMagic {
		return info, fmt.Errorf("block header: begins with %q, want %q", b[:4], blockMagic)
	}
	info.games = binary.LittleEndian.Uint32(b[8:])
	for k := range info.plies {
		info.plies[k] = binary.LittleEndian.Uint32(b[12+4*k:])
	}
	info.length = binary.LittleEndian.Uint32(b[28:])
	info.crc = binary.LittleEndian.Uint32(b[32:])
	if info.length > maxBlockBytes {
		return info, fmt.Errorf("block header: payload of %d bytes, want at most %d", info.length, maxBlockBytes)
	}
	return info, nil
}

// checkBlock checks that b is exactly one whole block of a version this build reads.
func checkBlock(b []byte) (blockInfo, error) {
	info, err := parseBlockHeader(b)
	if err != nil {
		return info, err
	}
	if len(b) != blockHeader+int(info.length) {
		return info, fmt.Errorf("block: %d bytes after the header, which says %d", len(b)-blockHeader, info.length)
	}
	crc := crc32.Update(crc32.Checksum(b[:blockHeader-4], castagnoli), castagnoli, b[blockHeader:])
	if crc != info.crc {
		return info, fmt.Errorf("block: checksum is %08x, the header says %08x", crc, info.crc)
	}
	if v := binary.LittleEndian.Uint16(b[4:]); v != blockVersion {
		return info, fmt.Errorf("block of version %d: %w", v, errVersion)
	}
	if info.games == 0 || info.games > maxBlockGames {
		return info, fmt.Errorf("block header: %d games, want 1 to %d", info.games, maxBlockGames)
	}
	return info, nil
}

// appendBlock appends a block of recs, at least one and at most maxBlockGames. Its errors name the Record by index.
func appendBlock(dst []byte, recs []*Record) ([]byte, blockInfo, error) {
	var streams [numStreams][]byte
	info := blockInfo{games: uint32(len(recs))}
	for i, r := range recs {
		if err := r.appendStreams(&streams); err != nil {
			return dst, info, fmt.Errorf("game %d: %w", i, err)
		}
		for j := range r.Plies {
			info.plies[r.Plies[j].Kind]++
		}
	}
	var sizes, frames []byte
	raw := 0
	for _, s := range streams {
		raw += len(s)
		n := len(frames)
		frames = encoder().EncodeAll(s, frames)
		sizes = binary.AppendUvarint(sizes, uint64(len(s)))
		sizes = binary.AppendUvarint(sizes, uint64(len(frames)-n))
	}
	if raw > maxBlockRaw || len(sizes)+len(frames) > maxBlockBytes {
		return dst, info, fmt.Errorf("block of %d games: %d bytes, want at most %d", len(recs), raw, maxBlockRaw)
	}
	info.length = uint32(len(sizes) + len(frames))
	n := len(dst)
	dst = info.appendHeader(dst)
	dst = append(append(dst, sizes...), frames...)
	crc := crc32.Update(crc32.Checksum(dst[n:n+blockHeader-4], castagnoli), castagnoli, dst[n+blockHeader:])
	info.crc = crc
	binary.LittleEndian.PutUint32(dst[n+blockHeader-4:], crc)
	return dst, info, nil
}

func appendVariant(dst []byte, v rules.Variant) []byte {
	return append(dst, byte(v.Radius), byte(v.Rings), byte(v.Markers), byte(v.RowLength), byte(v.RingsToWin))
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// appendStreams validates r and appends it to the streams.
func (r *Record) appendStreams(streams *[numStreams][]byte) error {
	add := func(stream int, b byte) { streams[stream] = append(streams[stream], b) }
	last := int16(0)
	_, err := r.replay(func(p *Ply, legal []rules.Move) {
		rank, _ := slices.BinarySearch(legal, p.Move)
		add(streamMoves, byte(rank))
		add(streamKinds, byte(p.Kind))
		if !p.Kind.searched() {
			return
		}
		q := quantise(p.Value)
		d := uint16(q - last) // modulo 2¹⁶
		d = d<<1 ^ -(d >> 15) // sign into the lowest bit, so that small differences have high byte 0
		last = q
		add(streamValueHigh, byte(d>>8))
		add(streamValueLow, byte(d))
		add(streamCounts, byte(len(p.Policy)))
		before := -1
		for _, v := range p.Policy {
			rank, _ := slices.BinarySearch(legal, v.Move)
			add(streamGaps, byte(rank-before-1))
			add(streamWeightHigh, byte(v.Weight>>8))
			add(streamWeightLow, byte(v.Weight))
			before = rank
		}
	})
	if err != nil {
		return err
	}
	g := appendVariant(streams[streamGames], r.Variant)
	g = append(g, r.White[:]...)
	g = append(g, r.Black[:]...)
	g = append(g, byte(r.Result.Outcome), byte(r.Result.Reason))
	g = binary.AppendUvarint(g, uint64(len(r.Plies)))
	g = appendText(appendText(appendText(g, r.Build), r.Worker), r.Start)
	streams[streamGames] = g
	n := binary.LittleEndian.AppendUint64(streams[streamNumbers], r.Seed)
	streams[streamNumbers] = binary.LittleEndian.AppendUint64(n, r.Final)
	return nil
}

// decodeBlock reads a whole block. A game that is not valid is left out of recs and has an error in bad, which names it
// by its index in the block; err is about the block as a whole. Every Record returned is valid.
func decodeBlock(b []byte) (recs []*Record, bad []error, err error) {
	info, err := checkBlock(b)
	if err != nil {
		return nil, nil, err
	}
	streams, err := decompress(b[blockHeader:], min(maxBlockRaw, int(info.games)*maxRecordRaw))
	if err != nil {
		return nil, nil, err
	}
	d := columns{streams: streams}
	var plies [NumKinds]uint32
	for i := range int(info.games) {
		r, ranks := d.record()
		if d.err != nil {
			return nil, nil, fmt.Errorf("game %d of the block: %w", i, d.err)
		}
		for j := range r.Plies {
			plies[r.Plies[j].Kind]++
		}
		if err := r.fromRanks(ranks); err != nil {
			bad = append(bad, fmt.Errorf("game %d of the block: %w", i, err))
			continue
		}
		recs = append(recs, r)
	}
	for i, s := range d.streams {
		if len(s) > 0 {
			return nil, nil, fmt.Errorf("stream %d: %d bytes after the last game", i, len(s))
		}
	}
	if plies != info.plies {
		return nil, nil, fmt.Errorf("plies by kind are %v, the header says %v", plies, info.plies)
	}
	return recs, bad, nil
}

// decompress reads the payload of a block whose streams together have at most limit bytes.
func decompress(b []byte, limit int) (streams [numStreams][]byte, err error) {
	var raw, stored [numStreams]int
	sum := 0
	for i := range streams {
		for _, n := range []*int{&raw[i], &stored[i]} {
			u, size := binary.Uvarint(b)
			if size <= 0 || u > maxBlockRaw {
				return streams, fmt.Errorf("stream %d: bad length", i)
			}
			*n, b = int(u), b[size:]
		}
		if sum += raw[i]; sum > limit {
			return streams, fmt.Errorf("streams of more than %d bytes", limit)
		}
	}
	for i := range streams {
		if stored[i] > len(b) {
			return streams, fmt.Errorf("stream %d: %d bytes left, want %d", i, len(b), stored[i])
		}
		streams[i], err = decoder().DecodeAll(b[:stored[i]], make([]byte, 0, raw[i]))
		if err != nil {
			return streams, fmt.Errorf("stream %d: %w", i, err)
		}
		if len(streams[i]) != raw[i] {
			return streams, fmt.Errorf("stream %d: %d bytes, want %d", i, len(streams[i]), raw[i])
		}
		b = b[stored[i]:]
	}
	if len(b) > 0 {
		return streams, fmt.Errorf("%d bytes after the last stream", len(b))
	}
	return streams, nil
}

// columns reads the streams of a block game by game. After a fault err is set and what it returns means nothing.
type columns struct {
	streams [numStreams][]byte
	err     error
}

// take returns the next n bytes of a stream, or nil at a fault.
func (d *columns) take(stream, n int) []byte {
	if d.err == nil && n > len(d.streams[stream]) {
		d.err = fmt.Errorf("stream %d: %d bytes left, want %d", stream, len(d.streams[stream]), n)
	}
	if d.err != nil {
		return nil
	}
	b := d.streams[stream][:n:n]
	d.streams[stream] = d.streams[stream][n:]
	return b
}

// number reads a varint of at most limit from the stream of heads.
func (d *columns) number(limit int) int {
	u, n := binary.Uvarint(d.streams[streamGames])
	if d.err == nil && (n <= 0 || u > uint64(limit)) {
		d.err = fmt.Errorf("stream %d: number missing or above %d", streamGames, limit)
	}
	if d.err != nil {
		return 0
	}
	d.take(streamGames, n)
	return int(u)
}

func (d *columns) text(limit int) string { return string(d.take(streamGames, d.number(limit))) }

// record reads the next game but for its Moves, and returns the ranks: of each ply's Move, and of its policy's Moves,
// which stand in the Plies in place of the Moves.
func (d *columns) record() (r *Record, ranks []byte) {
	r = &Record{}
	if b := d.take(streamGames, 5+64+2); b != nil {
		v := rules.Variant{Radius: int8(b[0]), Rings: int8(b[1]), Markers: int8(b[2]), RowLength: int8(b[3]), RingsToWin: int8(b[4])}
		if err := v.Validate(); err != nil {
			d.err = fmt.Errorf("variant: %w", err)
			return r, nil
		}
		pos := rules.New(v)
		r.Variant = pos.Variant()
		copy(r.White[:], b[5:])
		copy(r.Black[:], b[5+32:])
		r.Result = rules.Result{Outcome: rules.Outcome(b[69]), Reason: rules.Reason(b[70])}
	}
	plies := d.number(r.Variant.MaxPlies())
	r.Build, r.Worker, r.Start = d.text(MaxText), d.text(MaxText), d.text(maxStart)
	if b := d.take(streamNumbers, 16); b != nil {
		r.Seed, r.Final = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	}
	ranks = d.take(streamMoves, plies)
	kinds := d.take(streamKinds, plies)
	searched := 0
	for _, k := range kinds {
		if k >= NumKinds {
			d.err = fmt.Errorf("kind is %d: want less than %d", k, NumKinds)
			return r, nil
		}
		if Kind(k).searched() {
			searched++
		}
	}
	high, low := d.take(streamValueHigh, searched), d.take(streamValueLow, searched)
	counts := d.take(streamCounts, searched)
	visits := 0
	for _, n := range counts {
		visits += int(n)
	}
	gaps := d.take(streamGaps, visits)
	weightHigh, weightLow := d.take(streamWeightHigh, visits), d.take(streamWeightLow, visits)
	if d.err != nil {
		return r, nil
	}
	r.Plies = make([]Ply, plies)
	all := make([]Visit, visits)
	for i := range all {
		all[i] = Visit{rules.Move(gaps[i]), uint16(weightHigh[i])<<8 | uint16(weightLow[i])}
	}
	last := uint16(0)
	for i, j := 0, 0; i < plies; i++ {
		p := &r.Plies[i]
		p.Kind = Kind(kinds[i])
		if !p.Kind.searched() {
			continue
		}
		u := uint16(high[j])<<8 | uint16(low[j])
		last += u>>1 ^ -(u & 1)
		p.Value = dequantise(int16(last))
		if n := int(counts[j]); n > 0 {
			p.Policy, all = all[:n:n], all[n:]
		}
		rank := -1
		for k := range p.Policy {
			rank += int(p.Policy[k].Move) + 1
			p.Policy[k].Move = rules.Move(rank)
		}
		j++
	}
	return r, ranks
}

// fromRanks replays the game to turn ranks among the legal Moves into Moves, and validates the Record.
func (r *Record) fromRanks(ranks []byte) error {
	pos, err := r.first()
	if err != nil {
		return err
	}
	var buf [rules.MaxMoves]rules.Move
	for i := range r.Plies {
		p := &r.Plies[i]
		legal := pos.AppendMoves(buf[:0])
		if int(ranks[i]) >= len(legal) {
			return fmt.Errorf("ply %d: move of rank %d among %d", i, ranks[i], len(legal))
		}
		for j, v := range p.Policy {
			if int(v.Move) >= len(legal) {
				return fmt.Errorf("ply %d: policy: move of rank %d among %d", i, v.Move, len(legal))
			}
			p.Policy[j].Move = legal[v.Move]
		}
		p.Move = legal[ranks[i]]
		pos.Play(p.Move)
	}
	return r.Validate()
}

// AppendBinary appends r as one message: a block of one Record, compressed and with a checksum, at most MaxMessage
// bytes. If r is not valid it appends nothing and returns Validate's error.
func (r *Record) AppendBinary(dst []byte) ([]byte, error) {
	out, _, err := appendBlock(dst, []*Record{r})
	if err != nil {
		return dst, fmt.Errorf("encode record: %w", err)
	}
	return out, nil
}

// DecodeRecord reads a Record as AppendBinary writes it. The bytes may come from anywhere: their size is bounded before
// and after decompression, and the Record returned is valid.
func DecodeRecord(b []byte) (*Record, error) {
	if len(b) > MaxMessage {
		return nil, fmt.Errorf("decode record: %d bytes, want at most %d", len(b), MaxMessage)
	}
	info, err := checkBlock(b)
	if err == nil && info.games != 1 {
		err = fmt.Errorf("%d games, want 1", info.games)
	}
	var recs []*Record
	var bad []error
	if err == nil {
		recs, bad, err = decodeBlock(b)
	}
	if err == nil {
		err = errors.Join(bad...)
	}
	if err != nil {
		return nil, fmt.Errorf("decode record: %w", err)
	}
	return recs[0], nil
}
