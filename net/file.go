package net

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"yinshzero/internal/atomicfile"
)

// The metadata of a Weights file.
const (
	formatKey  = "format"
	formatName = "yinshzero weights"
	archKey    = "arch"
	encoderKey = "encoder"
)

// WriteTo writes w as a safetensors file: equal Weights give equal bytes. It fails if a number is not finite.
func (w *Weights) WriteTo(out io.Writer) (int64, error) {
	file, err := w.Bytes()
	if err != nil {
		return 0, err
	}
	n, err := out.Write(file)
	return int64(n), err
}

// Bytes is w as a safetensors file. It fails if a number is not finite.
func (w *Weights) Bytes() ([]byte, error) {
	var b bytes.Buffer
	err := WriteTensors(&b, w.tensors, map[string]string{
		formatKey: formatName, archKey: w.arch.String(), encoderKey: strconv.Itoa(EncoderVersion),
	})
	if err != nil {
		return nil, fmt.Errorf("write weights: %w", err)
	}
	return b.Bytes(), nil
}

// Hash is the SHA-256 of w's file, by which a model is named. It fails if a number is not finite.
func (w *Weights) Hash() ([sha256.Size]byte, error) {
	file, err := w.Bytes()
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	return sha256.Sum256(file), nil
}

// Save writes w's file, whole or not at all.
func (w *Weights) Save(path string) error {
	file, err := w.Bytes()
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(path, file)
}

// Load reads the Weights file at path, as Read does. What is no file, or a larger one than there can be, it does not read.
func Load(path string) (*Weights, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("load weights: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("load weights %s: it is no file: want a model's", path)
	}
	if most := 8 + headerLimit + dataLimit; info.Size() > most {
		return nil, fmt.Errorf("load weights %s: %d bytes: a model has at most %d", path, info.Size(), most)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load weights: %w", err)
	}
	w, err := Read(file)
	if err != nil {
		return nil, fmt.Errorf("load weights %s: %w", path, err)
	}
	return w, nil
}

// Read reads the bytes of a Weights file. It refuses every fault that ReadTensors does, another format or encoder
// version, and tensors that are missing, extra or of another shape than the Arch wants. The result shares nothing with
// file.
func Read(file []byte) (*Weights, error) {
	tensors, meta, err := ReadTensors(file)
	if err != nil {
		return nil, err
	}
	if meta[formatKey] != formatName {
		return nil, fmt.Errorf("format is %q: want %q", meta[formatKey], formatName)
	}
	if v := strconv.Itoa(EncoderVersion); meta[encoderKey] != v {
		return nil, fmt.Errorf("encoder version is %q, this program's is %s: train new weights", meta[encoderKey], v)
	}
	a, err := ParseArch(meta[archKey])
	if err != nil {
		return nil, err
	}
	return NewWeights(a, tensors)
}

// NewWeights makes Weights of a's tensors, in any order, and takes them over. It names the first that is missing, extra or
// of another shape than a wants.
func NewWeights(a Arch, tensors []Tensor) (*Weights, error) {
	w := newWeights(a)
	read := map[string]bool{}
	for _, t := range tensors {
		i, ok := w.index[t.Name]
		if !ok {
			return nil, fmt.Errorf("tensor %q is not part of arch %v", t.Name, a)
		}
		if want := w.tensors[i].Shape; !slices.Equal(t.Shape, want) {
			return nil, fmt.Errorf("tensor %q has shape %v: arch %v wants %v", t.Name, t.Shape, a, want)
		}
		w.tensors[i].Data = t.Data
		read[t.Name] = true
	}
	for _, t := range w.tensors {
		if !read[t.Name] {
			return nil, fmt.Errorf("tensor %q of arch %v is missing", t.Name, a)
		}
	}
	return w, nil
}
