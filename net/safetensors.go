package net

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// A safetensors file (the format of the safetensors library) is
//
//	8 bytes    length of the header, little-endian
//	header     JSON: name → {dtype, shape, data_offsets}, and "__metadata__" → {string: string}
//	data       the tensors, without gaps, in the order of their offsets
//
// Ours hold little-endian float32 ("F32") only, in the order of the header's names, and the metadata carry the SHA-256 of
// the data, so that a flipped bit is noticed.
const (
	headerLimit = 1 << 20
	// dataLimit bounds what a reader will allocate: more than the largest Arch needs with its average and two moments.
	dataLimit    = int64(4) << 30
	metadataKey  = "__metadata__"
	checksumKey  = "sha256"
	floatType    = "F32"
	bytesPerItem = 4
	maxDims      = 8
)

type tensorEntry struct {
	DType   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// WriteTensors writes a safetensors file: the tensors in the given order and the metadata, to which it adds the checksum
// of the data under "sha256". The same arguments give the same bytes. It refuses numbers that are not finite, wrong
// lengths and repeated names.
func WriteTensors(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	var data bytes.Buffer
	var header bytes.Buffer
	seen := map[string]bool{metadataKey: true}
	for _, t := range tensors {
		if seen[t.Name] {
			return fmt.Errorf("write tensor %q: the name is taken", t.Name)
		}
		seen[t.Name] = true
		if len(t.Data) != t.Len() {
			return fmt.Errorf("write tensor %q: %d numbers for shape %v", t.Name, len(t.Data), t.Shape)
		}
		if i := notFinite(t.Data); i >= 0 {
			return fmt.Errorf("write tensor %q: number %d is %v", t.Name, i, t.Data[i])
		}
		start := int64(data.Len())
		buf := data.AvailableBuffer()
		for _, v := range t.Data {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
		}
		data.Write(buf)
		if err := appendEntry(&header, t.Name, tensorEntry{floatType, t.Shape, [2]int64{start, int64(data.Len())}}); err != nil {
			return fmt.Errorf("write tensor %q: %w", t.Name, err)
		}
	}
	meta := maps.Clone(metadata)
	if meta == nil {
		meta = map[string]string{}
	}
	sum := sha256.Sum256(data.Bytes())
	meta[checksumKey] = hex.EncodeToString(sum[:])
	if err := appendEntry(&header, metadataKey, meta); err != nil {
		return fmt.Errorf("write metadata: %w", err)
	}
	header.WriteByte('}')
	for header.Len()%8 != 0 {
		header.WriteByte(' ')
	}
	if header.Len() > headerLimit || int64(data.Len()) > dataLimit {
		return fmt.Errorf("write tensors: header of %d and data of %d bytes: at most %d and %d", header.Len(), data.Len(), headerLimit, dataLimit)
	}
	var length [8]byte
	binary.LittleEndian.PutUint64(length[:], uint64(header.Len()))
	for _, b := range [][]byte{length[:], header.Bytes(), data.Bytes()} {
		if _, err := w.Write(b); err != nil {
			return fmt.Errorf("write tensors: %w", err)
		}
	}
	return nil
}

func appendEntry(header *bytes.Buffer, name string, value any) error {
	key, err := json.Marshal(name)
	if err != nil {
		return err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if header.Len() == 0 {
		header.WriteByte('{')
	} else {
		header.WriteByte(',')
	}
	header.Write(key)
	header.WriteByte(':')
	header.Write(text)
	return nil
}

// notFinite is the index of the first NaN or infinity, −1 if there is none.
func notFinite(x []float32) int {
	return slices.IndexFunc(x, func(v float32) bool { return math.Float32bits(v)>>23&0xff == 0xff })
}

// ReadTensors reads the bytes of a safetensors file as WriteTensors makes it: the tensors in the order of their data, and
// the metadata without the checksum. It refuses what is cut short or too long, has gaps or overlaps, another type than
// F32, a wrong or missing checksum, or a number that is not finite. The result shares nothing with file.
func ReadTensors(file []byte) ([]Tensor, map[string]string, error) {
	if len(file) < 8 {
		return nil, nil, fmt.Errorf("read tensors: %d bytes are too few for a safetensors file", len(file))
	}
	size := binary.LittleEndian.Uint64(file)
	if size > headerLimit {
		return nil, nil, fmt.Errorf("read tensors: header of %d bytes: at most %d; this is no safetensors file of ours", size, headerLimit)
	}
	if size > uint64(len(file)-8) {
		return nil, nil, fmt.Errorf("read tensors: file ends inside the header: %d of %d bytes", len(file)-8, size)
	}
	header, data := file[8:8+size], file[8+size:]
	if int64(len(data)) > dataLimit {
		return nil, nil, fmt.Errorf("read tensors: %d bytes of data: at most %d", len(data), dataLimit)
	}
	entries, meta, err := parseHeader(header)
	if err != nil {
		return nil, nil, fmt.Errorf("read tensors: header: %w", err)
	}
	want, ok := meta[checksumKey]
	delete(meta, checksumKey)
	if !ok {
		return nil, nil, fmt.Errorf("read tensors: metadata have no %q", checksumKey)
	}

	names := slices.SortedFunc(maps.Keys(entries), func(a, b string) int {
		x, y := entries[a].Offsets, entries[b].Offsets
		if x != y {
			return slices.Compare(x[:], y[:])
		}
		return slices.Compare([]byte(a), []byte(b)) // tensors without elements
	})
	end := int64(0)
	for _, name := range names {
		e := entries[name]
		n, err := e.elements()
		switch {
		case err != nil:
		case e.Offsets[0] != end:
			err = fmt.Errorf("starts at byte %d, the one before ends at %d", e.Offsets[0], end)
		case e.Offsets[1]-e.Offsets[0] != n*bytesPerItem:
			err = fmt.Errorf("%d bytes for shape %v", e.Offsets[1]-e.Offsets[0], e.Shape)
		case e.Offsets[1] > int64(len(data)):
			err = fmt.Errorf("file ends inside: %d of %d bytes of data", len(data), e.Offsets[1])
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read tensor %q: %w", name, err)
		}
		end = e.Offsets[1]
	}
	if end != int64(len(data)) {
		return nil, nil, fmt.Errorf("read tensors: %d bytes of data, the tensors take %d", len(data), end)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
		return nil, nil, errors.New("read tensors: checksum of the data is wrong: the file is damaged; copy it again")
	}
	tensors := make([]Tensor, 0, len(names))
	for _, name := range names {
		e := entries[name]
		t := Tensor{Spec{name, e.Shape}, make([]float32, (e.Offsets[1]-e.Offsets[0])/bytesPerItem)}
		raw := data[e.Offsets[0]:]
		for i := range t.Data {
			t.Data[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[i*bytesPerItem:]))
		}
		if i := notFinite(t.Data); i >= 0 {
			return nil, nil, fmt.Errorf("read tensor %q: number %d is %v", name, i, t.Data[i])
		}
		tensors = append(tensors, t)
	}
	return tensors, meta, nil
}

// elements is the number of elements, at most what dataLimit allows.
func (e tensorEntry) elements() (int64, error) {
	if e.DType != floatType {
		return 0, fmt.Errorf("type %q: want %s", e.DType, floatType)
	}
	if len(e.Shape) > maxDims {
		return 0, fmt.Errorf("%d dimensions: at most %d", len(e.Shape), maxDims)
	}
	n := int64(1)
	for _, d := range e.Shape {
		if d < 0 || int64(d) > dataLimit {
			return 0, fmt.Errorf("shape %v is out of range", e.Shape)
		}
		if n *= int64(d); n > dataLimit/bytesPerItem {
			return 0, fmt.Errorf("shape %v is too large", e.Shape)
		}
	}
	return n, nil
}

// parseHeader reads the JSON header; a repeated or unknown key is an error.
func parseHeader(header []byte) (map[string]tensorEntry, map[string]string, error) {
	d := json.NewDecoder(bytes.NewReader(header))
	d.DisallowUnknownFields()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, fmt.Errorf("no JSON object")
	}
	entries, meta := map[string]tensorEntry{}, map[string]string(nil)
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		name, ok := t.(string)
		if !ok {
			return nil, nil, fmt.Errorf("%v is no name", t)
		}
		if name == metadataKey {
			if meta != nil {
				return nil, nil, fmt.Errorf("%q comes twice", name)
			}
			if err := d.Decode(&meta); err != nil {
				return nil, nil, fmt.Errorf("%q: %w", name, err)
			}
			continue
		}
		if _, ok := entries[name]; ok {
			return nil, nil, fmt.Errorf("tensor %q comes twice", name)
		}
		var e tensorEntry
		if err := d.Decode(&e); err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		entries[name] = e
	}
	if _, err := d.Token(); err != nil {
		return nil, nil, err
	}
	if rest := bytes.Trim(header[d.InputOffset():], " "); len(rest) > 0 {
		return nil, nil, fmt.Errorf("%d bytes behind the JSON object", len(rest))
	}
	return entries, meta, nil
}
