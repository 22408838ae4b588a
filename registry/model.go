package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"yinshzero/internal/atomicfile"
)

// An ID names a model: the SHA-256 of its bytes. The zero ID names no model.
type ID [sha256.Size]byte

// IDOf returns the ID of the model with the bytes b.
func IDOf(b []byte) ID { return sha256.Sum256(b) }

// ParseID reads an ID from its 64 hex digits.
func ParseID(s string) (ID, error) {
	var id ID
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(id) {
		return ID{}, fmt.Errorf("model ID %q: want %d hex digits", clip(s), 2*len(id))
	}
	copy(id[:], b)
	return id, nil
}

// String returns all 64 hex digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Short returns the first twelve hex digits, for people.
func (id ID) Short() string { return id.String()[:12] }

// IsZero reports whether id names no model.
func (id ID) IsZero() bool { return id == ID{} }

// MarshalText returns the hex digits; the zero ID is empty.
func (id ID) MarshalText() ([]byte, error) {
	if id.IsZero() {
		return []byte{}, nil
	}
	return []byte(id.String()), nil
}

// UnmarshalText reads what MarshalText wrote.
func (id *ID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*id = ID{}
		return nil
	}
	v, err := ParseID(string(text))
	if err != nil {
		return err
	}
	*id = v
	return nil
}

const extension = ".safetensors"

// FileName returns the name of the file that holds the model's bytes.
func FileName(id ID) string { return id.String() + extension }

// IsFileName reports whether name is one that FileName gives.
func IsFileName(name string) bool {
	digits, ok := strings.CutSuffix(name, extension)
	_, err := ParseID(digits)
	return ok && err == nil
}

// A TamperedError reports a model file whose bytes are not those its name promises.
type TamperedError struct {
	Path      string
	Want, Got ID
}

// Error names the file and both hashes.
func (e *TamperedError) Error() string {
	return fmt.Sprintf("model file %s: its bytes hash to %s…, not to its name: the file is damaged: restore it from a copy",
		e.Path, e.Got.Short())
}

// ReadFile returns the bytes of a model kept in dir, checked against its ID. It fails with fs.ErrNotExist if dir has no
// such file and with a *TamperedError if the bytes are not the model's.
func ReadFile(dir string, id ID) ([]byte, error) {
	path := filepath.Join(dir, FileName(id))
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read model %s: %w: restore it from a copy", id.Short(), err)
	}
	if err != nil {
		return nil, fmt.Errorf("read model %s: %w", id.Short(), err)
	}
	if got := IDOf(b); got != id {
		return nil, &TamperedError{Path: path, Want: id, Got: got}
	}
	return b, nil
}

// WriteFile keeps the bytes of a model in dir, which it makes if need be, and returns the model's ID. The file appears
// whole or not at all. A sound file already there is left alone; a damaged one is replaced.
func WriteFile(dir string, b []byte) (ID, error) {
	id := IDOf(b)
	_, err := ReadFile(dir, id)
	if err == nil {
		return id, nil
	}
	var tampered *TamperedError
	if !errors.Is(err, fs.ErrNotExist) && !errors.As(err, &tampered) {
		return ID{}, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return ID{}, fmt.Errorf("write model %s: %w", id.Short(), err)
	}
	if err := atomicfile.WriteBytes(filepath.Join(dir, FileName(id)), b); err != nil {
		return ID{}, fmt.Errorf("write model %s: %w", id.Short(), err)
	}
	return id, nil
}

// clip shortens outside text for a message.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
