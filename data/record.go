package data

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

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
	White, Black ModelID      // who chose each side's Moves
	Seed         uint64       // of the game
	Build        string       // the program that played, at most MaxText bytes
	Worker       string       // the machine that played, at most MaxText bytes
	Start        string       // text of the first Position (rules.ParsePosition); empty: the empty board of Variant
	Plies        []Ply        // at least one
	Result       rules.Result // as the rules have it, or Resigned, when a side gave up an unfinished game
	Final        uint64       // Hash of the Position after the last Move: the replay proves itself
}

// Bounds on a Record's texts, in bytes.
const (
	MaxText  = 128
	maxStart = 256
)

// Values are stored in steps of 1/valueSteps.
const valueSteps = 32767

func quantise(v float32) int16   { return int16(math.RoundToEven(float64(v) * valueSteps)) }
func dequantise(q int16) float32 { return float32(q) / valueSteps }

// first is the Position that the game begins with.
func (r *Record) first() (rules.Position, error) {
	if err := r.Variant.Validate(); err != nil {
		return rules.Position{}, fmt.Errorf("variant: %w", err)
	}
	if r.Start == "" {
		return rules.New(r.Variant), nil
	}
	if len(r.Start) > maxStart {
		return rules.Position{}, fmt.Errorf("start: %d bytes, want at most %d", len(r.Start), maxStart)
	}
	pos, err := rules.ParsePosition(r.Start)
	if err != nil {
		return pos, fmt.Errorf("start: %w", err)
	}
	if !pos.Variant().Same(r.Variant) {
		return pos, fmt.Errorf("start: a position of %v in a game of %v", pos.Variant(), r.Variant)
	}
	return pos, nil
}

// Validate replays the game and returns the first thing wrong with it: a number out of range, an illegal Move in the
// game or in a policy, a Result or a Final hash that the replay does not give. The name of the Variant is not looked at.
func (r *Record) Validate() error {
	_, err := r.replay(nil)
	return err
}

// replay is Validate; each, unless nil, is told the legal Moves of every ply after the ply was found right. It returns
// the last Position.
func (r *Record) replay(each func(p *Ply, legal []rules.Move)) (rules.Position, error) {
	pos, err := r.first()
	if err != nil {
		return pos, err
	}
	for _, text := range []struct{ name, s string }{{"build", r.Build}, {"worker", r.Worker}} {
		if len(text.s) > MaxText {
			return pos, fmt.Errorf("%s: %d bytes, want at most %d", text.name, len(text.s), MaxText)
		}
	}
	if n, most := len(r.Plies), r.Variant.MaxPlies(); n == 0 || n > most {
		return pos, fmt.Errorf("%d plies: want 1 to %d in a game of %v", n, most, r.Variant)
	}
	var buf [rules.MaxMoves]rules.Move
	for i := range r.Plies {
		p := &r.Plies[i]
		legal := pos.AppendMoves(buf[:0])
		if err := p.validate(legal); err != nil {
			return pos, fmt.Errorf("ply %d: %w", i, err)
		}
		if each != nil {
			each(p, legal)
		}
		pos.Play(p.Move)
	}
	return pos, r.validateEnd(&pos)
}

// validate checks a ply against the legal Moves of its position, ascending.
func (p *Ply) validate(legal []rules.Move) error {
	if len(legal) == 0 {
		return errors.New("the game is over")
	}
	if _, ok := slices.BinarySearch(legal, p.Move); !ok {
		return fmt.Errorf("illegal move %v", p.Move)
	}
	switch {
	case p.Kind >= NumKinds:
		return fmt.Errorf("kind is %d: want less than %d", p.Kind, NumKinds)
	case p.Kind == Forced && len(legal) != 1:
		return fmt.Errorf("forced, but %d moves are legal", len(legal))
	case p.Kind == Full && len(p.Policy) == 0:
		return errors.New("full search without a policy")
	case !p.Kind.searched() && (len(p.Policy) > 0 || p.Value != 0):
		return fmt.Errorf("%v ply with a policy or a value", p.Kind)
	case !(p.Value >= -1 && p.Value <= 1):
		return fmt.Errorf("value is %v: want −1 to 1", p.Value)
	}
	for i, v := range p.Policy {
		if _, ok := slices.BinarySearch(legal, v.Move); !ok {
			return fmt.Errorf("policy: illegal move %v", v.Move)
		}
		if i > 0 && v.Move <= p.Policy[i-1].Move {
			return fmt.Errorf("policy: %v after %v: want moves ascending", v.Move, p.Policy[i-1].Move)
		}
		if v.Weight == 0 {
			return fmt.Errorf("policy: weight of %v is 0: leave the move out", v.Move)
		}
	}
	return nil
}

// searched reports whether plies of kind k have a value and may have a policy.
func (k Kind) searched() bool { return k == Full || k == Fast }

// validateEnd checks Result and Final against the last Position.
func (r *Record) validateEnd(pos *rules.Position) error {
	got, over := pos.Result()
	switch {
	case r.Result.Outcome > rules.Draw || r.Result.Reason > rules.Resigned:
		return fmt.Errorf("outcome is %d and reason %d: want at most %d and %d",
			r.Result.Outcome, r.Result.Reason, rules.Draw, rules.Resigned)
	case over && r.Result != got:
		return fmt.Errorf("result is %v by %v: the moves give %v by %v",
			r.Result.Outcome, r.Result.Reason, got.Outcome, got.Reason)
	case !over && r.Result != (rules.Result{Outcome: rules.WhiteWins, Reason: rules.Resigned}) &&
		r.Result != (rules.Result{Outcome: rules.BlackWins, Reason: rules.Resigned}):
		return errors.New("the moves end before the game is over and nobody won by resignation")
	case r.Final != pos.Hash():
		return fmt.Errorf("hash of the last position is %016x: the moves give %016x", r.Final, pos.Hash())
	}
	return nil
}

// Hash is the SHA-256 of what was played: of everything in r but Build and Worker. Values count as they are stored.
// Games with equal Hashes are duplicates. r must be valid.
func (r *Record) Hash() [32]byte {
	b := make([]byte, 0, 256+8*len(r.Plies))
	b = append(b, "yinshzero record 1\x00"...)
	b = appendVariant(b, r.Variant)
	b = append(b, r.White[:]...)
	b = append(b, r.Black[:]...)
	b = binary.LittleEndian.AppendUint64(b, r.Seed)
	b = binary.LittleEndian.AppendUint64(b, r.Final)
	b = append(b, byte(r.Result.Outcome), byte(r.Result.Reason))
	b = appendText(b, r.Start)
	b = binary.AppendUvarint(b, uint64(len(r.Plies)))
	for i := range r.Plies {
		p := &r.Plies[i]
		b = binary.LittleEndian.AppendUint16(b, uint16(p.Move))
		b = append(b, byte(p.Kind))
		b = binary.LittleEndian.AppendUint16(b, uint16(quantise(p.Value)))
		b = binary.AppendUvarint(b, uint64(len(p.Policy)))
		for _, v := range p.Policy {
			b = binary.LittleEndian.AppendUint16(b, uint16(v.Move))
			b = binary.LittleEndian.AppendUint16(b, v.Weight)
		}
	}
	return sha256.Sum256(b)
}

// A Sample is one position of a game with what is to be learnt from it.
type Sample struct {
	Pos     rules.Position // before the Move; never over
	Policy  []Visit        // the search's policy, Moves ascending; empty unless Kind is Full
	Kind    Kind
	Value   float32        // the search's value, White's view; 0 if Kind is Forced or Opening
	Next    rules.Position // the game's next one in which the other side is to move; Pos if there is none
	Reply   []Visit        // the policy of the search there, Moves ascending; empty unless there was one and it was Full
	Last    rules.Position // the game's last one: over, unless Reason is Resigned
	Outcome rules.Outcome  // of the game
	Reason  rules.Reason   // why it ended
	Ply     int32          // of Pos, from 0
	Plies   int32          // of the game
}

// Samples yields one Sample for every Ply, in order. It replays the game first: if r is not valid, it yields one error
// as Validate returns it and nothing else. A Sample's Policy and Reply are r's own and must not be changed.
func (r *Record) Samples() iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		last, err := r.replay(nil)
		if err != nil {
			yield(Sample{}, err)
			return
		}
		pos, _ := r.first()
		next, n := pos, 0 // n plies lie before next
		s := Sample{Last: last, Outcome: r.Result.Outcome, Reason: r.Result.Reason, Plies: int32(len(r.Plies))}
		for i := range r.Plies {
			p := &r.Plies[i]
			s.Pos, s.Kind, s.Value, s.Ply, s.Policy = pos, p.Kind, p.Value, int32(i), nil
			if p.Kind == Full {
				s.Policy = p.Policy
			}
			for n < len(r.Plies) && (n <= i || next.ToMove() == pos.ToMove()) {
				next.Play(r.Plies[n].Move)
				n++
			}
			s.Next, s.Reply = pos, nil
			if n < len(r.Plies) {
				s.Next = next
				if r.Plies[n].Kind == Full {
					s.Reply = r.Plies[n].Policy
				}
			}
			if !yield(s, nil) {
				return
			}
			pos.Play(p.Move)
		}
	}
}
