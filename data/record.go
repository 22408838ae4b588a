package data

import (
	"encoding/hex"
	"fmt"

	"yinshzero/rules"
)

// A ModelID names a model by the SHA-256 of its file. The zero ModelID is no model: the uniform evaluator, or nobody's.
type ModelID [32]byte

// String is the ModelID in hexadecimal.
func (id ModelID) String() string { return hex.EncodeToString(id[:]) }

// ParseModelID reads a ModelID as String writes it.
func ParseModelID(s string) (id ModelID, err error) {
	if len(s) != 2*len(id) {
		return id, fmt.Errorf("%q is no model id: want %d hexadecimal digits, got %d characters", s, 2*len(id), len(s))
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return ModelID{}, fmt.Errorf("%q is no model id: %w", s, err)
	}
	return id, nil
}

// A Kind says how the Move of a Ply was chosen.
type Kind uint8

// The kinds of plies. Only a Full search is a policy target.
const (
	Full    Kind = iota // a full search; Ply.Policy is a target
	Fast                // a cheap search, to get on with the game; a Policy may be kept but is no target
	Forced              // the only legal Move, no search
	Opening             // no search: a random opening Move, or a Move of an imported game
)

// NumKinds is the number of kinds of plies.
const NumKinds = 4

// String is the kind in a word.
func (k Kind) String() string {
	if k >= NumKinds {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return [...]string{"full", "fast", "forced", "opening"}[k]
}

// A Visit is one legal Move's share of a search's policy: its improved policy or its visits. Weights are relative to
// each other within a Ply; Moves of weight zero are left out.
type Visit struct {
	Move   rules.Move
	Weight uint16 // at least 1
}

// A Ply is one Move of a game and the search that chose it.
type Ply struct {
	Move   rules.Move
	Kind   Kind
	Policy []Visit // Moves ascending; at least one if Full, none if Forced or Opening
	Value  float32 // the search's value of the position before Move, White's view, in [−1, 1]; stored in steps of 1/32767; 0 if not searched
}

// A Record is one game with all that is needed to replay it and to learn from it. A Record that has been given away
// must not be changed.
type Record struct {
	Variant      rules.Variant
	White, Black ModelID // who chose each side's Moves
	Seed         uint64  // of the game
	Build        string  // the program that played, at most MaxText bytes
	Worker       string  // the machine that played, at most MaxText bytes
	Plies        []Ply   // from the empty board, at least one
	Result       rules.Result
	Final        uint64 // Hash of the Position after the last Move: the replay proves itself
}

// MaxText bounds the length of a Record's texts, in bytes.
const MaxText = 128
