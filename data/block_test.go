package data

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"yinshzero/rules"
)

func encode(t testing.TB, recs ...*Record) []byte {
	t.Helper()
	b, _, err := appendBlock(nil, recs)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBlockRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	custom, err := rules.ParseVariant("4-4-35-5-2")
	if err != nil {
		t.Fatal(err)
	}
	var recs []*Record
	for range 10 {
		for _, v := range append(rules.Variants(), custom) {
			r := randomRecord(rng, v)
			r.White[5], r.Worker = byte(rng.Uint32()), strings.Repeat("w", rng.IntN(MaxText+1))
			recs = append(recs, r)
		}
	}
	extreme := clone(recs[0]) // the values and weights at the ends of their ranges
	for i, p := range extreme.Plies {
		if p.Kind.searched() {
			extreme.Plies[i].Value = float32(i%3 - 1)
		}
		if p.Kind == Full {
			extreme.Plies[i].Policy = []Visit{{p.Move, 65535}}
		}
	}
	recs = append(recs, extreme)
	got, bad, err := decodeBlock(encode(t, recs...))
	if err != nil || len(bad) > 0 {
		t.Fatal(err, bad)
	}
	if !reflect.DeepEqual(got, recs) {
		t.Fatal("what was read differs from what was written")
	}
}

func TestMessageRoundTrip(t *testing.T) {
	for _, r := range randomRecords(2, 50, rules.Standard()) {
		b, err := r.AppendBinary([]byte("before"))
		if err != nil || !bytes.HasPrefix(b, []byte("before")) {
			t.Fatal(err)
		}
		got, err := DecodeRecord(b[len("before"):])
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Fatalf("got %+v, %v; want %+v", got, err, r)
		}
	}
}

// TestMessageDamage checks that a message cut short or with any bit turned over is refused.
func TestMessageDamage(t *testing.T) {
	r := randomRecord(rand.New(rand.NewPCG(3, 0)), rules.Mini())
	b := encode(t, r)
	for n := range b {
		if _, err := DecodeRecord(b[:n]); err == nil {
			t.Fatalf("%d of %d bytes were read", n, len(b))
		}
	}
	if _, err := DecodeRecord(append(bytes.Clone(b), 0)); err == nil {
		t.Fatal("a byte more was read")
	}
	for i := range 8 * len(b) {
		b[i/8] ^= 1 << (i % 8)
		if _, err := DecodeRecord(b); err == nil {
			t.Fatalf("bit %d turned over: was read", i)
		}
		b[i/8] ^= 1 << (i % 8)
	}
}

// forge sets the CRC of a block right after its bytes were changed, as an ill-willed sender would.
func forge(b []byte) []byte {
	if len(b) >= blockHeader {
		crc := crc32.Update(crc32.Checksum(b[:blockHeader-4], castagnoli), castagnoli, b[blockHeader:])
		binary.LittleEndian.PutUint32(b[blockHeader-4:], crc)
	}
	return b
}

// block builds a block of any streams, with a good CRC.
func block(info blockInfo, streams [numStreams][]byte) []byte {
	var sizes, frames []byte
	for _, s := range streams {
		n := len(frames)
		frames = encoder().EncodeAll(s, frames)
		sizes = binary.AppendUvarint(sizes, uint64(len(s)))
		sizes = binary.AppendUvarint(sizes, uint64(len(frames)-n))
	}
	info.length = uint32(len(sizes) + len(frames))
	return forge(append(info.appendHeader(nil), append(sizes, frames...)...))
}

// TestForged checks blocks whose checksums are right and whose contents are not.
func TestForged(t *testing.T) {
	r := randomRecord(rand.New(rand.NewPCG(4, 0)), rules.Standard())
	var good [numStreams][]byte
	if err := r.appendStreams(&good); err != nil {
		t.Fatal(err)
	}
	info, err := parseBlockHeader(encode(t, r))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeRecord(block(info, good)); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		spoil func(info *blockInfo, s *[numStreams][]byte)
		want  string
	}{
		{"no games", func(info *blockInfo, _ *[numStreams][]byte) { info.games = 0 }, "0 games"},
		{"games", func(info *blockInfo, _ *[numStreams][]byte) { info.games = 2 }, "2 games, want 1"},
		{"kinds", func(info *blockInfo, _ *[numStreams][]byte) { info.plies[0]++ }, "the header says"},
		{"variant", func(_ *blockInfo, s *[numStreams][]byte) { s[streamGames][0] = 200 }, "radius"},
		{"outcome", func(_ *blockInfo, s *[numStreams][]byte) { s[streamGames][69] = 200 }, "outcome is 200"},
		{"plies", func(_ *blockInfo, s *[numStreams][]byte) { s[streamGames][71] = 127 }, ""},
		{"rank", func(_ *blockInfo, s *[numStreams][]byte) { s[streamMoves][0] = 85 }, "move of rank 85 among 85"},
		{"kind", func(_ *blockInfo, s *[numStreams][]byte) { s[streamKinds][0] = 9 }, "kind is 9"},
		{"gap", func(_ *blockInfo, s *[numStreams][]byte) { s[streamGaps][0] = 255 }, "policy: move of rank"},
		{"count", func(_ *blockInfo, s *[numStreams][]byte) { s[streamCounts][0] = 255 }, ""},
		{"weight", func(_ *blockInfo, s *[numStreams][]byte) {
			s[streamWeightHigh][0], s[streamWeightLow][0] = 0, 0
		}, "leave the move out"},
		{"value", func(_ *blockInfo, s *[numStreams][]byte) {
			s[streamValueHigh][0], s[streamValueLow][0] = 255, 255 // −32768
		}, "value is"},
		{"longer", func(_ *blockInfo, s *[numStreams][]byte) {
			s[streamMoves] = append(s[streamMoves], 0)
		}, "1 bytes after the last game"},
		{"bomb", func(_ *blockInfo, s *[numStreams][]byte) {
			s[streamWeightLow] = make([]byte, maxRecordRaw)
		}, "streams of more than"},
	}
	for _, test := range tests {
		bad, streams := info, good
		for i := range streams {
			streams[i] = bytes.Clone(streams[i])
		}
		test.spoil(&bad, &streams)
		if _, err := DecodeRecord(block(bad, streams)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	for i := range numStreams { // a stream one byte short
		streams := good
		streams[i] = streams[i][:len(streams[i])-1]
		if _, err := DecodeRecord(block(info, streams)); err == nil {
			t.Errorf("stream %d one byte short: was read", i)
		}
	}
}

// TestDeclaredLength checks that a frame which holds more than it was said to is not expanded.
func TestDeclaredLength(t *testing.T) {
	frame := encoder().EncodeAll(make([]byte, 32<<20), nil)
	var sizes []byte
	for i := range numStreams {
		raw, stored := uint64(0), uint64(0)
		if i == 0 {
			raw, stored = 100, uint64(len(frame))
		}
		sizes = binary.AppendUvarint(binary.AppendUvarint(sizes, raw), stored)
	}
	if _, err := decompress(append(sizes, frame...), maxRecordRaw); err == nil {
		t.Fatal("32 MiB in 100 bytes were read")
	}
	b := make([]byte, MaxMessage+1)
	if _, err := DecodeRecord(b); err == nil || !strings.Contains(err.Error(), "want at most") {
		t.Fatalf("got %v, want that the message is too long", err)
	}
}

// TestOneBadGame checks that a game that the rules refuse costs its block no other.
func TestOneBadGame(t *testing.T) {
	recs := randomRecords(5, 3, rules.Mini())
	var streams [numStreams][]byte
	var info blockInfo
	for i, r := range recs {
		if err := r.appendStreams(&streams); err != nil {
			t.Fatal(err)
		}
		if i == 1 { // the hash of its last position
			streams[streamNumbers][len(streams[streamNumbers])-1] ^= 1
		}
		info.games++
		for _, p := range r.Plies {
			info.plies[p.Kind]++
		}
	}
	got, bad, err := decodeBlock(block(info, streams))
	if err != nil || len(bad) != 1 || !strings.Contains(bad[0].Error(), "game 1 of the block: hash") {
		t.Fatalf("got faults %v, %v", bad, err)
	}
	if !reflect.DeepEqual(got, []*Record{recs[0], recs[2]}) {
		t.Fatal("the other two games are not what was written")
	}
}

func TestNewerVersion(t *testing.T) {
	b := encode(t, randomRecords(6, 1, rules.Mini())...)
	b[4] = blockVersion + 1
	if _, err := DecodeRecord(forge(b)); err == nil || !strings.Contains(err.Error(), "update this one") {
		t.Fatalf("got %v, want that the build is too old", err)
	}
}

// TestLimits checks that the largest game there can be fits the limits on one Record, and a full block of them those on
// a block.
func TestLimits(t *testing.T) {
	largest := 0
	for radius := int8(3); radius <= rules.MaxRadius; radius++ {
		v := rules.Variant{Radius: radius, Rings: 5, Markers: 99, RowLength: 7, RingsToWin: 5}
		if err := v.Validate(); err != nil {
			t.Fatal(err)
		}
		largest = max(largest, v.MaxPlies())
	}
	head := 5 + 64 + 2 + 2 + 3*2 + 2*MaxText + maxStart + 16
	if n := head + largest*(5+3*rules.MaxMoves); n > maxRecordRaw || n*5/4 > MaxMessage || n*BlockGames > maxBlockRaw {
		t.Errorf("a game of %d plies may take %d bytes", largest, n)
	}
}

// TestBytesAPly holds what made-up searches take on disk; docs/format.md quotes it. The policies are visits of 64
// simulations, or an improved policy in 65,535ths with a weight for most legal Moves.
func TestBytesAPly(t *testing.T) {
	visits := randomRecords(7, BlockGames, rules.Standard())
	improved := make([]*Record, len(visits))
	rng := rand.New(rand.NewPCG(7, 7))
	for i, r := range visits {
		improved[i] = clone(r)
		pos := rules.New(r.Variant)
		for j, p := range r.Plies {
			if p.Kind == Full {
				improved[i].Plies[j].Policy = softmax(rng, pos.AppendMoves(nil))
			}
			pos.Play(p.Move)
		}
	}
	for _, test := range []struct {
		name         string
		recs         []*Record
		block, alone float64
	}{
		{"visits", visits, 8.5, 14},
		{"improved policy", improved, 19, 24},
	} {
		plies, full, weights, message := 0, 0, 0, 0
		for _, r := range test.recs {
			plies += len(r.Plies)
			message += len(encode(t, r))
			for _, p := range r.Plies {
				weights += len(p.Policy)
				if p.Kind == Full {
					full++
				}
			}
		}
		block, alone := float64(len(encode(t, test.recs...)))/float64(plies), float64(message)/float64(plies)
		t.Logf("%s: %d plies, %d full with %.1f weights: %.2f bytes a ply in a block, %.2f in messages of their own",
			test.name, plies, full, float64(weights)/float64(full), block, alone)
		if block > test.block || alone > test.alone {
			t.Errorf("%s: %.1f bytes a ply in a block and %.1f alone: want at most %v and %v",
				test.name, block, alone, test.block, test.alone)
		}
	}
}

// softmax is a made-up policy over all legal Moves, in 65,535ths.
func softmax(rng *rand.Rand, legal []rules.Move) (policy []Visit) {
	p := make([]float64, len(legal))
	sum := 0.0
	for i := range p {
		p[i] = math.Exp(2 * rng.NormFloat64())
		sum += p[i]
	}
	for i, m := range legal {
		if w := uint16(65535 * p[i] / sum); w > 0 {
			policy = append(policy, Visit{m, w})
		}
	}
	return policy
}

func FuzzDecodeRecord(f *testing.F) {
	for _, v := range rules.Variants() {
		f.Add(encode(f, randomRecord(rand.New(rand.NewPCG(8, 0)), v)))
	}
	f.Add([]byte(blockMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := DecodeRecord(forge(bytes.Clone(b)))
		if err != nil {
			return
		}
		if err := r.Validate(); err != nil {
			t.Fatalf("decoded, but %v", err)
		}
		again, err := DecodeRecord(encode(t, r))
		if err != nil || !reflect.DeepEqual(again, r) || again.Hash() != r.Hash() {
			t.Fatalf("a second round gave %+v, %v; want %+v", again, err, r)
		}
	})
}

// FuzzStreams fuzzes what is under the compression.
func FuzzStreams(f *testing.F) {
	var s [numStreams][]byte
	r := randomRecord(rand.New(rand.NewPCG(9, 0)), rules.Mini())
	if err := r.appendStreams(&s); err != nil {
		f.Fatal(err)
	}
	f.Add(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8], s[9])
	f.Fuzz(func(t *testing.T, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9 []byte) {
		d := columns{streams: [numStreams][]byte{s0, s1, s2, s3, s4, s5, s6, s7, s8, s9}}
		r, ranks := d.record()
		if d.err != nil || r.fromRanks(ranks) != nil {
			return
		}
		if again, err := DecodeRecord(encode(t, r)); err != nil || !reflect.DeepEqual(again, r) {
			t.Fatalf("got %+v, %v; want %+v", again, err, r)
		}
	})
}

func BenchmarkDecodeBlock(b *testing.B) {
	block := encode(b, randomRecords(10, BlockGames, rules.Standard())...)
	b.ReportAllocs()
	b.SetBytes(int64(len(block)))
	for b.Loop() {
		if _, _, err := decodeBlock(block); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendBinary(b *testing.B) {
	r := randomRecord(rand.New(rand.NewPCG(10, 0)), rules.Standard())
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		var err error
		if buf, err = r.AppendBinary(buf[:0]); err != nil {
			b.Fatal(err)
		}
	}
}
