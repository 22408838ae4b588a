package net

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// loaderFile is the file of random weights, and the length of what precedes its data.
func loaderFile(t *testing.T, a Arch) (w *Weights, file []byte, header int) {
	t.Helper()
	w = Init(a, rand.New(rand.NewPCG(7, 7)))
	file = mustBytes(t, w)
	return w, file, 8 + int(binary.LittleEndian.Uint64(file))
}

// refuses fails if the loader takes a damaged file, unless the damage is in the spelling of the header alone: JSON has
// more than one for the same. It may then not change a number.
func refuses(t *testing.T, name string, bad []byte, w *Weights, spelling bool) {
	t.Helper()
	if got, err := Read(bad); err == nil && !(spelling && got.Equal(w)) {
		t.Errorf("%s: no error", name)
	}
}

// TestCutAnywhere: a small file of all kinds of tensors is refused at every length but its own, and weights at every
// length that ends in the header, at every end of a tensor, a byte before and after, and at many others.
func TestCutAnywhere(t *testing.T) {
	var b bytes.Buffer
	tensors := []Tensor{{Spec{"a", []int{2, 3}}, make([]float32, 6)}, {Spec{"b", nil}, []float32{3}}, {Spec{"c", []int{0}}, nil}}
	if err := WriteTensors(&b, tensors, map[string]string{"k": "v"}); err != nil {
		t.Fatal(err)
	}
	for n := range b.Len() {
		if _, _, err := ReadTensors(b.Bytes()[:n]); err == nil {
			t.Errorf("%d of %d bytes: no error", n, b.Len())
		}
	}

	w, file, header := loaderFile(t, Arch{Channels: 32, Blocks: 1, Without: Rings | Reply | Ownership | Plies})
	var cuts []int
	for n := range header + 1 {
		cuts = append(cuts, n)
	}
	end := header
	for _, x := range w.Tensors() {
		end += 4 * x.Len()
		cuts = append(cuts, end-1, end, end+1)
	}
	for n := header; n < len(file); n += 97 {
		cuts = append(cuts, n)
	}
	for _, n := range cuts {
		if n < len(file) {
			refuses(t, fmt.Sprintf("%d of %d bytes", n, len(file)), file[:n], w, false)
		}
	}
	for _, n := range []int{1, 3, 4, 64, len(file)} {
		refuses(t, fmt.Sprintf("%d bytes more", n), slices.Concat(file, make([]byte, n)), w, false)
		refuses(t, fmt.Sprintf("%d bytes before", n), slices.Concat(make([]byte, n), file), w, false)
	}
	refuses(t, "the file twice", slices.Concat(file, file), w, false)
}

// TestFlippedBits flips every bit of the header, and in the data a bit of the first and the last byte of every tensor and
// of many others. Nothing but the spelling of the header may go unnoticed.
func TestFlippedBits(t *testing.T) {
	w, file, header := loaderFile(t, Arch{Channels: 32, Blocks: 1, Without: Rings | Reply | Ownership | Plies})
	bad := slices.Clone(file)
	flip := func(at, bit int) {
		t.Helper()
		bad[at] ^= 1 << bit
		refuses(t, fmt.Sprintf("bit %d of byte %d", bit, at), bad, w, at < header)
		bad[at] ^= 1 << bit
	}
	step := 1
	if testing.Short() {
		step = 7
	}
	for i := 0; i < 8*header; i += step {
		flip(i/8, i%8)
	}
	end := header
	for i, x := range w.Tensors() {
		flip(end, i%8)
		end += 4 * x.Len()
		flip(end-1, (i+3)%8)
	}
	rng := rand.New(rand.NewPCG(8, 8))
	for range 4000 / step {
		flip(header+rng.IntN(len(file)-header), rng.IntN(8))
	}
}

// TestEveryTensor: each tensor in turn is missing, twice there, of another name or shape, or has a number that is not
// finite, in a file whose checksum is right. The error names the tensor.
func TestEveryTensor(t *testing.T) {
	w, file, header := loaderFile(t, Arch{Channels: 32, Blocks: 2, Pooling: true})
	meta := map[string]string{formatKey: formatName, archKey: w.Arch().String(), encoderKey: fmt.Sprint(EncoderVersion)}
	write := func(tensors []Tensor) []byte {
		t.Helper()
		var b bytes.Buffer
		if err := WriteTensors(&b, tensors, meta); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	if got, err := Read(write(w.Tensors())); err != nil || !got.Equal(w) {
		t.Fatalf("undamaged: %v", err)
	}
	start := header
	for i, x := range w.Tensors() {
		with := func(y ...Tensor) []byte { return write(slices.Concat(w.Tensors()[:i], y, w.Tensors()[i+1:])) }
		shaped := func(shape ...int) []byte { return with(Tensor{Spec{x.Name, shape}, x.Data}) }
		wantError(t, second(Read(with())), fmt.Sprintf("%q of arch %v is missing", x.Name, w.Arch()))
		wantError(t, second(Read(with(x, Tensor{Spec{x.Name + ".2", x.Shape}, x.Data}))), fmt.Sprintf("%q is not part of arch", x.Name+".2"))
		wantError(t, second(Read(with(Tensor{Spec{strings.ToUpper(x.Name), x.Shape}, x.Data}))), fmt.Sprintf("%q is not part of arch", strings.ToUpper(x.Name)))
		shape := fmt.Sprintf("%q has shape", x.Name)
		wantError(t, second(Read(shaped(slices.Concat(x.Shape, []int{1})...))), shape)
		wantError(t, second(Read(shaped(slices.Concat([]int{1}, x.Shape)...))), shape)
		if len(x.Shape) > 1 {
			wantError(t, second(Read(shaped(x.Len()))), shape)
		}
		if turned := slices.Clone(x.Shape); len(turned) > 1 {
			if slices.Reverse(turned); !slices.Equal(turned, x.Shape) {
				wantError(t, second(Read(shaped(turned...))), shape)
			}
		}
		wantError(t, second(Read(with(Tensor{Spec{x.Name, append([]int{2}, x.Shape...)}, slices.Concat(x.Data, x.Data)}))), shape)
		wantError(t, second(Read(with(Tensor{Spec{x.Name, []int{0}}, nil}))), shape)

		for j, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			at := []int{0, x.Len() / 2, x.Len() - 1}[j]
			bad := slices.Clone(file)
			binary.LittleEndian.PutUint32(bad[start+4*at:], math.Float32bits(float32(v)))
			wantError(t, second(Read(resum(t, bad))), fmt.Sprintf("%q: number %d is %v", x.Name, at, v))
		}
		start += 4 * x.Len()
	}
}

// resum puts the right checksum of the data into a file's header.
func resum(t *testing.T, file []byte) []byte {
	t.Helper()
	size := int(binary.LittleEndian.Uint64(file))
	header := file[8 : 8+size]
	key := []byte(`"` + checksumKey + `":"`)
	at := bytes.Index(header, key)
	if at < 0 {
		t.Fatal("no checksum in the header")
	}
	copy(header[at+len(key):], fmt.Sprintf("%x", sha256.Sum256(file[8+size:])))
	return file
}

// TestHeaderSizes: whatever length the file claims for its header, the loader answers with an error, and it asks for no
// more memory than the file is long.
func TestHeaderSizes(t *testing.T) {
	w, file, header := loaderFile(t, Arch{Channels: 32, Blocks: 1, Without: Rings | Reply | Ownership | Plies})
	bad := slices.Clone(file)
	size := uint64(header - 8)
	sizes := []uint64{0, 1, 2, 7, 8, size / 2, size - 8, size - 1, size + 1, size + 8, uint64(len(file)) - 8, uint64(len(file)),
		headerLimit - 1, headerLimit, headerLimit + 1}
	for shift := 8; shift < 64; shift++ {
		sizes = append(sizes, 1<<shift, 1<<shift-1, math.MaxUint64<<shift, size+1<<shift)
	}
	for _, n := range sizes {
		if n != size {
			binary.LittleEndian.PutUint64(bad, n)
			refuses(t, fmt.Sprintf("a header of %d bytes", n), bad, w, false)
		}
	}

	deep := strings.Repeat("[", 1<<19)
	for _, text := range []string{deep, `{"a":` + deep, `{"__metadata__":` + strings.Repeat(`{"a":`, 1<<17), strings.Repeat(`"`, 1<<19), strings.Repeat(" ", 1<<19)} {
		bad := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
		refuses(t, fmt.Sprintf("a header of %d times %q", len(text), text[:8]), bad, w, false)
	}
	claims := `{"a":{"dtype":"F32","shape":[1073741824],"data_offsets":[0,4294967296]},"__metadata__":{"sha256":""}}`
	bad = append(binary.LittleEndian.AppendUint64(nil, uint64(len(claims))), claims...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := ReadTensors(bad)
	runtime.ReadMemStats(&after)
	wantError(t, err, "file ends inside")
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes of memory for a file of %d", n, len(bad))
	}
}

// TestLoadNoFile: a folder is named as what it is, and of a file that is too large nothing is read.
func TestLoadNoFile(t *testing.T) {
	dir := t.TempDir()
	wantError(t, second(Load(dir)), dir+": it is no file")
	path := filepath.Join(dir, "huge")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	err = f.Truncate(1 << 40) // a hole
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Skip("no such large file: ", err)
	}
	wantError(t, second(Load(path)), "1099511627776 bytes: a model has at most")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantError(t, second(Load(path)), path+": read tensors: 0 bytes are too few")
}
