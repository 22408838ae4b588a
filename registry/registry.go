package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"yinshzero/internal/atomicfile"
)

// A Standing is what a model is to the run.
type Standing string

// The standings. A model starts as a Candidate; at most one is Best.
const (
	Candidate Standing = "candidate" // added, no verdict yet
	Best      Standing = "best"      // promoted, and none promoted since
	Former    Standing = "former"    // was the best once
	Rejected  Standing = "rejected"  // judged not good enough
)

// Meta is what the maker of a model says of it.
type Meta struct {
	Step    int64     `json:"step"`            // training steps taken
	Parent  ID        `json:"parent,omitzero"` // the model whose weights training went on from; zero for none
	Arch    string    `json:"arch"`            // as the network names its shape, such as "32x4"
	Created time.Time `json:"created"`
}

// A Verdict is why a model was promoted or rejected.
type Verdict struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`          // such as "gate accepted" or "first model"
	Score  string    `json:"score,omitempty"` // the match behind it in the arena's notation; empty if there was none
}

// An Entry is one model in the registry.
type Entry struct {
	ID ID `json:"id"`
	Meta
	Size     int64    `json:"size"` // bytes
	Standing Standing `json:"standing"`
	Verdict  Verdict  `json:"verdict,omitzero"` // the last one; zero for a Candidate
}

// A Registry is a directory of models. Its methods may be called from any goroutine.
type Registry struct {
	dir string

	mu      sync.Mutex
	entries []Entry // in the order added
	index   map[ID]int
	best    int   // index in entries; -1 if none
	end     int64 // bytes of the log that are whole lines; 0 if there is no log yet
	size    int64 // bytes of the log, torn tail included
	begun   bool  // the log's first line was written, or was to be, by this Registry
	torn    error // what Open has left out, nil if nothing
}

// An event is a line of the log. Exactly one field is set.
type event struct {
	Add     *added  `json:"add,omitempty"`
	Promote *judged `json:"promote,omitempty"`
	Reject  *judged `json:"reject,omitempty"`
}

type added struct {
	ID ID `json:"id"`
	Meta
	Size int64 `json:"size"`
}

type judged struct {
	ID ID `json:"id"`
	Verdict
}

const (
	logName = "registry.log"
	header  = "yinshzero registry 1\n"
)

// A CorruptError reports a line of the log that is damaged though lines after it are whole, or that cannot follow the
// lines before it.
type CorruptError struct {
	Path   string
	Line   int // from 1
	Reason string
}

// Error names the file, the line and the fault.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s:%d: %s: the log is damaged; restore it from a copy", e.Path, e.Line, e.Reason)
}

// Open reads the registry kept in dir. It writes nothing: a directory that does not exist is an empty registry, and is
// made when the first model is added.
func Open(dir string) (*Registry, error) {
	r := &Registry{dir: dir, index: map[ID]int{}, best: -1}
	b, err := os.ReadFile(r.log())
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open registry: %w", err)
	}
	if !bytes.HasPrefix(b, []byte(header)) {
		first, _, _ := bytes.Cut(b, []byte("\n"))
		return nil, &CorruptError{r.log(), 1, fmt.Sprintf("first line is %q, want %q", clip(string(first)), strings.TrimSpace(header))}
	}
	r.size, r.end = int64(len(b)), int64(len(header))
	rest := b[len(header):]
	for line := 2; len(rest) > 0; line++ {
		text, after, whole := bytes.Cut(rest, []byte("\n"))
		e, err := parse(text)
		if !whole || err != nil && len(after) == 0 { // never acknowledged; with a newline, this reached the disk and the middle did not
			r.torn = fmt.Errorf("%s:%d: the last line was cut short and does not count: %q", r.log(), line, clip(string(rest)))
			break
		}
		if err == nil {
			err = r.apply(e)
		}
		if err != nil {
			return nil, &CorruptError{r.log(), line, err.Error()}
		}
		r.end += int64(len(text)) + 1
		rest = after
	}
	return r, nil
}

// Torn says what Open found behind the last whole line of the log and left out, nil if nothing was there: a write that was cut
// short and that nobody was told had succeeded. The next write cuts it off.
func (r *Registry) Torn() error { return r.torn }

func (r *Registry) log() string { return filepath.Join(r.dir, logName) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func parse(line []byte) (event, error) {
	var e event
	sum, body, ok := bytes.Cut(line, []byte(" "))
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if !ok || err != nil || len(sum) != 8 {
		return e, errors.New("want a checksum of eight hex digits, a space and an event")
	}
	if got := crc32.Checksum(body, castagnoli); got != uint32(want) {
		return e, fmt.Errorf("checksum is %08x, the line says %08x", got, want)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return e, err
	}
	return e, nil
}

func format(e event) ([]byte, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	return seal(body), nil
}

// seal makes a line of the log.
func seal(body []byte) []byte {
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(body, castagnoli), body)
}

// apply changes the entries as e says. It changes nothing if it returns an error.
func (r *Registry) apply(e event) error {
	switch {
	case e.Add != nil && e.Promote == nil && e.Reject == nil:
		if _, ok := r.index[e.Add.ID]; ok {
			return fmt.Errorf("model %s is added twice", e.Add.ID.Short())
		}
		r.index[e.Add.ID] = len(r.entries)
		r.entries = append(r.entries, Entry{ID: e.Add.ID, Meta: e.Add.Meta, Size: e.Add.Size, Standing: Candidate})
	case e.Promote != nil && e.Add == nil && e.Reject == nil:
		i, ok := r.index[e.Promote.ID]
		if !ok {
			return fmt.Errorf("model %s is promoted before it is added", e.Promote.ID.Short())
		}
		if r.best >= 0 {
			r.entries[r.best].Standing = Former
		}
		r.best = i
		r.entries[i].Standing, r.entries[i].Verdict = Best, e.Promote.Verdict
	case e.Reject != nil && e.Add == nil && e.Promote == nil:
		i, ok := r.index[e.Reject.ID]
		if !ok {
			return fmt.Errorf("model %s is rejected before it is added", e.Reject.ID.Short())
		}
		if i == r.best {
			return fmt.Errorf("model %s is rejected while it is the best", e.Reject.ID.Short())
		}
		r.entries[i].Standing, r.entries[i].Verdict = Rejected, e.Reject.Verdict
	default:
		return errors.New("want one of add, promote and reject")
	}
	return nil
}

// append writes e to the log, forces it to disk and applies it. The caller holds mu.
func (r *Registry) append(e event) error {
	line, err := format(e)
	if err != nil {
		return err
	}
	if r.end == 0 {
		if err := os.MkdirAll(r.dir, 0o755); err != nil {
			return err
		}
		if _, err := os.Lstat(r.log()); !errors.Is(err, fs.ErrNotExist) && !r.begun {
			return fmt.Errorf("%s was made by another process: open the registry again", r.log())
		}
		r.begun = true // whatever comes of it, the log is then ours
		if err := atomicfile.WriteBytes(r.log(), []byte(header)); err != nil {
			return err
		}
		r.end, r.size = int64(len(header)), int64(len(header))
	}
	f, err := os.OpenFile(r.log(), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close() // the close that counts is checked below
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() != r.size {
		return fmt.Errorf("%s was changed by another process: open the registry again", r.log())
	}
	if err := atomicfile.Append(f, r.end, line); err != nil {
		if info, failed := f.Stat(); failed == nil {
			r.size = info.Size() // a part of the line may be there: the next one cuts it off
		}
		return err
	}
	r.size = r.end + int64(len(line))
	if err := f.Close(); err != nil {
		return err
	}
	if err := r.apply(e); err != nil {
		return err
	}
	r.end = r.size
	return nil
}

// Add keeps the bytes of a model as a Candidate and returns its ID. Bytes already registered change nothing, whatever m
// says; a damaged file of theirs is replaced.
func (r *Registry) Add(b []byte, m Meta) (ID, error) {
	if len(b) == 0 {
		return ID{}, errors.New("add model: it has no bytes")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id, err := WriteFile(r.dir, b)
	if err != nil {
		return ID{}, err
	}
	if _, ok := r.index[id]; ok {
		return id, nil
	}
	m.Created = m.Created.UTC().Round(0)
	if err := r.append(event{Add: &added{ID: id, Meta: m, Size: int64(len(b))}}); err != nil {
		return ID{}, fmt.Errorf("add model %s: %w", id.Short(), err)
	}
	return id, nil
}

// Promote makes a model the best; the one that was becomes a Former. Promoting the best again changes nothing. Any
// registered model may be promoted: a Former, too, to go back to it.
func (r *Registry) Promote(id ID, v Verdict) error { return r.judge(id, Best, v) }

// Reject gives a model the standing Rejected. Rejecting it again changes nothing; the best cannot be rejected.
func (r *Registry) Reject(id ID, v Verdict) error { return r.judge(id, Rejected, v) }

func (r *Registry) judge(id ID, s Standing, v Verdict) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	verb := map[Standing]string{Best: "promote", Rejected: "reject"}[s]
	i, ok := r.index[id]
	switch {
	case !ok:
		return fmt.Errorf("%s model %s: it is not registered", verb, id.Short())
	case r.entries[i].Standing == s:
		return nil
	case s == Rejected && i == r.best:
		return fmt.Errorf("reject model %s: it is the best; promote another first", id.Short())
	}
	v.At = v.At.UTC().Round(0)
	j := &judged{ID: id, Verdict: v}
	e := event{Promote: j}
	if s == Rejected {
		e = event{Reject: j}
	}
	if err := r.append(e); err != nil {
		return fmt.Errorf("%s model %s: %w", verb, id.Short(), err)
	}
	return nil
}

// Best returns the best model; false if none has been promoted.
func (r *Registry) Best() (Entry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.best < 0 {
		return Entry{}, false
	}
	return r.entries[r.best], true
}

// Entry returns the model with the given ID; false if it is not registered.
func (r *Registry) Entry(id ID) (Entry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, ok := r.index[id]
	if !ok {
		return Entry{}, false
	}
	return r.entries[i], true
}

// All returns every model in the order added. The caller owns the slice.
func (r *Registry) All() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.entries)
}

// minPrefix is how many hex digits Find asks for at least.
const minPrefix = 4

// Find returns the model a person means by name: "best", or the first hex digits of its ID, at least four.
func (r *Registry) Find(name string) (Entry, error) {
	if name == "best" {
		e, ok := r.Best()
		if !ok {
			return Entry{}, errors.New(`find model "best": no model has been promoted yet`)
		}
		return e, nil
	}
	prefix := strings.ToLower(name)
	if len(prefix) < minPrefix || len(prefix) > 2*len(ID{}) || strings.Trim(prefix, "0123456789abcdef") != "" {
		return Entry{}, fmt.Errorf(`find model %q: want "best" or %d to %d hex digits`, clip(name), minPrefix, 2*len(ID{}))
	}
	var found []Entry
	for _, e := range r.All() {
		if strings.HasPrefix(e.ID.String(), prefix) {
			found = append(found, e)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Entry{}, fmt.Errorf("find model %q: none of the %d models begins so", name, len(r.All()))
	default:
		return Entry{}, fmt.Errorf("find model %q: %d models begin so, such as %s and %s: give more digits",
			name, len(found), found[0].ID.Short(), found[1].ID.Short())
	}
}

// Path returns where the model's file is, or would be.
func (r *Registry) Path(id ID) string { return filepath.Join(r.dir, FileName(id)) }

// Bytes returns a model's bytes, checked against its ID; the errors are those of [ReadFile].
func (r *Registry) Bytes(id ID) ([]byte, error) { return ReadFile(r.dir, id) }
