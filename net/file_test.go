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
	"slices"
	"strings"
	"testing"
)

func small(seed uint64) *Weights {
	return Init(Arch{Channels: 32, Blocks: 2, Pooling: true}, rand.New(rand.NewPCG(seed, seed)))
}

func mustBytes(t testing.TB, w *Weights) []byte {
	t.Helper()
	b, err := w.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRoundTrip(t *testing.T) {
	w := small(1)
	path := filepath.Join(t.TempDir(), "w.safetensors")
	if err := w.Save(path); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Equal(w) || got.Arch() != w.Arch() {
		t.Error("loaded weights differ")
	}
	if !bytes.Equal(file, mustBytes(t, got)) {
		t.Error("the same weights give other bytes")
	}
	if h, err := got.Hash(); err != nil || h != sha256.Sum256(file) {
		t.Errorf("hash %x, %v", h, err)
	}
	var out bytes.Buffer
	if n, err := w.WriteTo(&out); err != nil || int(n) != len(file) || !bytes.Equal(out.Bytes(), file) {
		t.Errorf("WriteTo: %d bytes, %v", n, err)
	}
	if small(2).Equal(w) {
		t.Error("weights of another seed are equal")
	}
	c := w.Clone()
	c.Tensor(InputConv + BiasName).Data[0] = 5
	if c.Equal(w) || w.Tensor(InputConv + BiasName).Data[0] == 5 {
		t.Error("a clone shares its numbers")
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing file loads")
	}
}

// TestRoundTripWithout: files of every set of heads are read back as written, and of no other.
func TestRoundTripWithout(t *testing.T) {
	for _, a := range everyArch() {
		w := Init(a, rand.New(rand.NewPCG(1, 1)))
		got, err := Read(mustBytes(t, w))
		if err != nil || !got.Equal(w) {
			t.Errorf("%v: read back as %v, %v", a, got, err)
		}
		for _, b := range everyArch() {
			_, err := NewWeights(b, w.Clone().Tensors())
			want := ""
			switch {
			case a.Without&^b.Without != 0: // b has a head that a is without
				want = "is missing"
			case a != b:
				want = "is not part of"
			}
			if want != "" && b.Without&^a.Without != 0 {
				want = " arch " // both faults: either is named
			}
			wantError(t, err, want)
		}
	}
}

// TestInitHeads: without a head that is drawn later, the others' numbers are the same.
func TestInitHeads(t *testing.T) {
	whole := small(1)
	for i := range headNames {
		a := whole.arch
		for ; i < len(headNames); i++ {
			a.Without |= 1 << i
		}
		for _, x := range Init(a, rand.New(rand.NewPCG(1, 1))).Tensors() {
			if !slices.Equal(x.Data, whole.Tensor(x.Name).Data) {
				t.Errorf("%v: %s differs from that of %v", a, x.Name, whole.arch)
			}
		}
	}
}

// TestInit: scales and biases, and the policies' planes of no Move, are exact; the other tensors are spread as Init's comment says.
func TestInit(t *testing.T) {
	w := Init(Arch{Channels: 64, Blocks: 2, Pooling: true}, rand.New(rand.NewPCG(3, 3)))
	for _, x := range w.Tensors() {
		fanIn := float64(x.Len() / x.Shape[len(x.Shape)-1])
		std, mean := 0.1/math.Sqrt(fanIn), 0.0 // of a head
		switch {
		case strings.HasSuffix(x.Name, BiasName):
			std = 0
		case strings.HasSuffix(x.Name, Conv2+ScaleName):
			std, mean = 0, 0.3
		case strings.HasSuffix(x.Name, ScaleName):
			std, mean = 0, 1
		case len(x.Shape) == 4, x.Name == ValueDense+WeightName:
			std = math.Sqrt(2 / fanIn)
		case x.Name == GlobalsFC, strings.HasSuffix(x.Name, PoolFC):
			std = 0.3 / math.Sqrt(fanIn)
		}
		n, sum, squares := 0.0, 0.0, 0.0
		for i, v := range x.Data {
			if (x.Name == PolicyHead+WeightName || x.Name == ReplyHead+WeightName) && i%PolicyPlanes >= planesInUse {
				if v != 0 {
					t.Errorf("%s: number %d belongs to no Move and is %v", x.Name, i, v)
				}
				continue
			}
			n++
			sum += float64(v) - mean
			squares += (float64(v) - mean) * (float64(v) - mean)
		}
		if got := math.Sqrt(squares / n); math.Abs(got-std) > 4*std/math.Sqrt(2*n)+1e-7 || math.Abs(sum/n) > 4*std/math.Sqrt(n)+1e-7 {
			t.Errorf("%s: mean %v and deviation %v, want %v and %v", x.Name, mean+sum/n, got, mean, std)
		}
	}
}

// TestFileGolden pins the bytes: a model is named by their hash.
func TestFileGolden(t *testing.T) {
	w := newWeights(Arch{Channels: 32, Blocks: 1})
	for i, tensor := range w.tensors {
		for j := range tensor.Data {
			tensor.Data[j] = float32(i) + float32(j)/1024
		}
	}
	h, err := w.Hash()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%x", h[:8]), "30e7356c8a5f0e80"; got != want {
		t.Errorf("hash %s, want %s: files written before can not be named any more", got, want)
	}
}

// TestDamage flips bits, cuts and extends: every damaged file is refused.
func TestDamage(t *testing.T) {
	w := small(1)
	file := mustBytes(t, w)
	rng := rand.New(rand.NewPCG(2, 2))
	header := 8 + int(binary.LittleEndian.Uint64(file))
	n := 3000
	if testing.Short() {
		n = 300
	}
	for i := range n {
		at := rng.IntN(len(file))
		if i%2 == 0 {
			at = rng.IntN(header)
		}
		bad := slices.Clone(file)
		bad[at] ^= 1 << rng.IntN(8)
		if v, err := Read(bad); err == nil && !v.Equal(w) {
			t.Fatalf("bit flipped in byte %d: other weights and no error", at)
		} else if err == nil && at >= header {
			t.Fatalf("bit flipped in byte %d of the data: no error", at)
		}
	}
	for i := range 400 {
		cut := rng.IntN(len(file))
		if i < header {
			cut = i * header / 400
		}
		if _, err := Read(file[:cut]); err == nil {
			t.Fatalf("cut to %d bytes: no error", cut)
		}
	}
	for _, tail := range [][]byte{{0}, make([]byte, 4)} {
		if _, err := Read(append(slices.Clone(file), tail...)); err == nil {
			t.Fatalf("%d bytes more: no error", len(tail))
		}
	}
}

// TestRefusals: each fault in a well-formed file has its own message.
func TestRefusals(t *testing.T) {
	meta := func(more ...string) map[string]string {
		m := map[string]string{formatKey: formatName, archKey: "32x2p", encoderKey: fmt.Sprint(EncoderVersion)}
		for i := 0; i < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	w := small(1)
	for _, test := range []struct {
		name    string
		tensors []Tensor
		meta    map[string]string
		want    string
	}{
		{"good", w.tensors, meta(), ""},
		{"missing", w.tensors[1:], meta(), `"input.weight" of arch 32x2p is missing`},
		{"extra", append(slices.Clone(w.tensors), Tensor{Spec{"more", []int{1}}, []float32{0}}), meta(), `"more" is not part of arch`},
		{"shape", append([]Tensor{{Spec{"input.weight", []int{9, NumPlanes, 32}}, w.tensors[0].Data}}, w.tensors[1:]...), meta(), "has shape [9 7 32]"},
		{"other arch", w.tensors, meta(archKey, "32x2"), "is not part of arch 32x2"},
		{"bad arch", w.tensors, meta(archKey, "huge"), "no arch"},
		{"huge arch", w.tensors, meta(archKey, "4096x40"), "multiple of 32"},
		{"format", w.tensors, meta(formatKey, "pt"), `format is "pt"`},
		{"encoder", w.tensors, meta(encoderKey, "0"), `encoder version is "0"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := WriteTensors(&b, test.tensors, test.meta); err != nil {
				t.Fatal(err)
			}
			wantError(t, second(Read(b.Bytes())), test.want)
		})
	}
}

func second[T any](_ T, err error) error { return err }

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("got error %v, want %q", err, want)
	}
}

// TestHeaders: what only another program would write.
func TestHeaders(t *testing.T) {
	const sum = `,"__metadata__":{"sha256":"df3f619804a92fdb4057192dc43dd748ea778adc52bc498ce80524c014b81119"}` // of 00 00 00 00
	const zero = "\x00\x00\x00\x00"
	for _, test := range []struct{ name, header, data, want string }{
		{"good", `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}` + sum + `}  `, zero, ""},
		{"scalar", `{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}` + sum + `}`, zero, ""},
		{"no checksum", `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, zero, "no \"sha256\""},
		{"wrong checksum", `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}` + sum + `}`, "\x00\x00\x00\x01", "damaged"},
		{"type", `{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}` + sum + `}`, zero, "F16"},
		{"gap", `{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}` + sum + `}`, zero + zero, "starts at byte 4"},
		{"overlap", `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}` + sum + `}`, zero, "starts at byte 0"},
		{"behind the end", `{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}` + sum + `}`, zero, "file ends inside"},
		{"too much data", `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}` + sum + `}`, zero + zero, "the tensors take 4"},
		{"length", `{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,4]}` + sum + `}`, zero, "4 bytes for shape [3]"},
		{"negative shape", `{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,-4]}` + sum + `}`, zero, "out of range"},
		{"overflowing shape", `{"a":{"dtype":"F32","shape":[65536,65536,65536,65536],"data_offsets":[0,0]}` + sum + `}`, zero, "too large"},
		{"backwards", `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,-4]}` + sum + `}`, zero, "-4 bytes"},
		{"many dimensions", `{"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}` + sum + `}`, zero, "9 dimensions"},
		{"twice", `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}` + sum + `}`, zero, "twice"},
		{"metadata twice", `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}` + sum + sum + `}`, zero, "twice"},
		{"unknown key", `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}` + sum + `}`, zero, "unknown field"},
		{"no object", `[1,2]`, "", "no JSON object"},
		{"tail", `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}` + sum + `}{}`, zero, "behind the JSON object"},
		{"cut JSON", `{"a":{"dtype":"F32"`, "", "header"},
		{"nothing", ``, "", "no JSON object"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := binary.LittleEndian.AppendUint64(nil, uint64(len(test.header)))
			file = append(append(file, test.header...), test.data...)
			_, _, err := ReadTensors(file)
			wantError(t, err, test.want)
		})
	}
	for _, size := range []uint64{headerLimit + 1, 1 << 40, math.MaxUint64} {
		file := append(binary.LittleEndian.AppendUint64(nil, size), make([]byte, 100)...)
		wantError(t, third(ReadTensors(file)), "header of")
	}
}

func third[T, U any](_ T, _ U, err error) error { return err }

// TestNotFinite: such numbers are neither written nor, from another program, read.
func TestNotFinite(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		w := small(1)
		w.Tensor(ValueDense + BiasName).Data[3] = float32(v)
		_, err := w.Bytes()
		wantError(t, err, `"value.bias": number 3`)
		if _, err := w.Hash(); err == nil {
			t.Error("there is a hash")
		}
		path := filepath.Join(t.TempDir(), "w")
		wantError(t, w.Save(path), `"value.bias": number 3`)
		if _, err := os.Stat(path); err == nil {
			t.Error("there is a file")
		}

		data := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v)))
		header := fmt.Sprintf(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"__metadata__":{"sha256":"%x"}}`, sha256.Sum256(data))
		file := append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), data...)
		wantError(t, third(ReadTensors(file)), `"a": number 0`)
	}
}

func TestWriteTensorsRefuses(t *testing.T) {
	one := Tensor{Spec{"a", []int{1}}, []float32{1}}
	for _, test := range []struct {
		name string
		in   []Tensor
		want string
	}{
		{"repeated", []Tensor{one, one}, "is taken"},
		{"metadata", []Tensor{{Spec{metadataKey, []int{1}}, []float32{1}}}, "is taken"},
		{"length", []Tensor{{Spec{"a", []int{2}}, []float32{1}}}, "1 numbers for shape [2]"},
	} {
		wantError(t, WriteTensors(&bytes.Buffer{}, test.in, nil), test.want)
	}
}

// FuzzReadTensors: no input panics, and what is read is written and read again the same.
func FuzzReadTensors(f *testing.F) {
	var b bytes.Buffer
	err := WriteTensors(&b, []Tensor{{Spec{"a", []int{2, 1}}, []float32{1, 2}}, {Spec{"b", nil}, []float32{3}}, {Spec{"c", []int{0}}, nil}}, map[string]string{"k": "v"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:20])
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"))
	f.Fuzz(func(t *testing.T, file []byte) {
		tensors, meta, err := ReadTensors(file)
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := WriteTensors(&again, tensors, meta); err != nil {
			t.Fatal(err)
		}
		tensors2, meta2, err := ReadTensors(again.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(tensors, meta) != fmt.Sprint(tensors2, meta2) {
			t.Fatalf("read %v %v, then %v %v", tensors, meta, tensors2, meta2)
		}
	})
}
