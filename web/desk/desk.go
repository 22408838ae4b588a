package desk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"yinshzero/engine"
)

// MaxBody bounds a question, in bytes.
const MaxBody = 1 << 20

// Params are what a Desk works with.
type Params struct {
	// Engine searches. Its Model is left alone: Load is asked for a name that Models gave, whenever a search is asked for,
	// from any goroutine; so it should remember what it has loaded. Its Variant is that of a game that names none, its bounds
	// follow from Limits.
	Engine engine.Params
	// Models lists what Load knows, the one to take first at the head. Any goroutine may call it.
	Models func() []Model
	Static bool // there is no server
	Run    bool // there is a page about a training run
	Limits Limits
}

// A Model is one that may be asked for.
type Model struct {
	Name    string `json:"name"`
	Variant string `json:"variant,omitempty"` // that it was trained for, empty if unknown
}

// Limits bound what one question may cost.
type Limits struct {
	Simulations int     // of the search for one Move, and visits of a position that is analysed; 1 to engine.MaxSimulations
	Seconds     float64 // of a move, and of a position that is analysed; above 0, at most 1,000,000
}

// DefaultLimits are those of one's own machine.
func DefaultLimits() Limits { return Limits{Simulations: 100_000, Seconds: 60} }

func (l Limits) time() time.Duration { return time.Duration(l.Seconds * float64(time.Second)) }

// Validate returns what is out of range, or nil.
func (p Params) Validate() error {
	var errs []error
	if p.Models == nil {
		errs = append(errs, errors.New("desk: Models is missing"))
	}
	if n := p.Limits.Simulations; n < 1 || n > engine.MaxSimulations {
		errs = append(errs, fmt.Errorf("desk: a limit of %d simulations: want 1 to %d", n, engine.MaxSimulations))
	}
	if s := p.Limits.Seconds; !(s > 0 && s <= 1_000_000) {
		errs = append(errs, fmt.Errorf("desk: a limit of %v seconds: want above 0, at most 1000000", s))
	}
	return errors.Join(append(errs, p.Engine.Validate())...)
}

// A Desk answers questions. Any number of goroutines may ask at the same time.
type Desk struct{ params Params }

// New returns a Desk, or what is wrong with p.
func New(p Params) (*Desk, error) {
	p.Engine.MaxVisits, p.Engine.MaxTime = p.Limits.Simulations, p.Limits.time()
	p.Engine.Simulations = min(p.Engine.Simulations, p.Limits.Simulations)
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return &Desk{p}, nil
}

// An Error is why a question has no answer; it is the answer's JSON.
type Error struct {
	Message string `json:"error"`
	Field   string `json:"field,omitempty"` // of the question, where the fault is, such as game.moves
	Rule    string `json:"rule,omitempty"`  // one of Rules, which it breaks
	Kind    Kind   `json:"-"`
}

// A Kind says whose fault an Error is.
type Kind uint8

// The kinds of Errors.
const (
	Bad     Kind = iota // the question is wrong
	Unknown             // there is no question of this name
	Failed              // the question is right, and cannot be answered
)

// Error implements error.
func (e *Error) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

func badf(field, format string, args ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, args...), Field: field}
}

// A question reads a body and writes the answer.
type question struct {
	searches bool
	answer   func(d *Desk, ctx context.Context, body []byte, w io.Writer) error
}

var questions = map[string]question{
	"position": {answer: object((*Desk).position)},
	"why":      {answer: object((*Desk).why)},
	"read":     {answer: object((*Desk).read)},
	"write":    {answer: object((*Desk).write)},
	"move":     {searches: true, answer: object((*Desk).move)},
	"analyse":  {searches: true, answer: (*Desk).analyse},
	"about":    {answer: object((*Desk).about)},
}

// Searches reports whether the question of this name costs a search; of one that does not exist it says no.
func Searches(name string) bool { return questions[name].searches }

// Answer answers the question of this name and writes the answer to w: one object and a line end or, for analyse, a stream
// of them. An error is an *Error, or one of w; nothing has been written then, unless w failed.
func (d *Desk) Answer(ctx context.Context, name string, body []byte, w io.Writer) error {
	q, ok := questions[name]
	switch {
	case !ok:
		return &Error{Message: fmt.Sprintf("there is no question %q", abridge(name)), Kind: Unknown}
	case len(body) > MaxBody:
		return badf("", "a question of %d bytes: want at most %d", len(body), MaxBody)
	}
	return q.answer(d, ctx, body, w)
}

// object is a question whose body is a Q and whose answer an A.
func object[Q, A any](answer func(*Desk, context.Context, *Q) (A, error)) func(*Desk, context.Context, []byte, io.Writer) error {
	return func(d *Desk, ctx context.Context, body []byte, w io.Writer) error {
		q := new(Q)
		if err := decode(body, q); err != nil {
			return err
		}
		a, err := answer(d, ctx, q)
		if err != nil {
			return err
		}
		text, err := json.Marshal(a)
		if err != nil { // a value that is not finite
			return &Error{Message: err.Error(), Kind: Failed}
		}
		_, err = w.Write(append(text, '\n'))
		return err
	}
}

// decode reads a body of known fields; an empty one is {}.
func decode(body []byte, to any) error {
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return nil
	}
	if body[0] != '{' {
		return badf("", "%q is no question: want a JSON object", abridge(string(body)))
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	err := dec.Decode(to)
	if err == nil {
		if dec.InputOffset() < int64(len(body)) {
			return badf("", "byte %d: more after the end of the question", dec.InputOffset())
		}
		return nil
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return badf("", "byte %d: %v", syntax.Offset, err)
	case errors.As(err, &kind):
		return badf(kind.Field, "%s, want a value of another kind: %v", kind.Value, kind.Type)
	}
	return badf("", "%s", strings.TrimPrefix(err.Error(), "json: "))
}

// abridge keeps error messages about long texts short.
func abridge(s string) string {
	const longest = 100
	if len(s) > longest {
		return strings.ToValidUTF8(s[:longest], "") + "…"
	}
	return s
}
