package seed

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// A Seed is the root of a random stream and of any number of children. It is a value: copying it copies the stream.
type Seed [32]byte

// New is the Seed of a number, such as a run's.
func New(n uint64) Seed { return Seed{}.Child("root", n) }

// Child is the Seed for the n-th thing of the kind that label names. It is SHA-256 over s, n (little endian) and label,
// so children with different labels or numbers share nothing that could be observed.
func (s Seed) Child(label string, n uint64) Seed {
	b := make([]byte, 0, 128)
	b = append(b, s[:]...)
	b = binary.LittleEndian.AppendUint64(b, n)
	b = append(b, label...)
	return sha256.Sum256(b)
}

// Rand is the random stream of s from its beginning: ChaCha8 (Bernstein, 2008; math/rand/v2), whose output Go keeps
// from version to version. The Rand belongs to one goroutine.
func (s Seed) Rand() *rand.Rand { return rand.New(rand.NewChaCha8(s)) }

// Uint64 is s in a number, for records and messages: its first eight bytes, little endian.
func (s Seed) Uint64() uint64 { return binary.LittleEndian.Uint64(s[:]) }
