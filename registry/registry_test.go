package registry

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"yinshzero/internal/atomicfile"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var t0 = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return t0.Add(time.Duration(minutes) * time.Minute) }

func open(t *testing.T, dir string) *Registry {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func add(t *testing.T, r *Registry, text string, m Meta) ID {
	t.Helper()
	id, err := r.Add([]byte(text), m)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// story adds three models, promotes the first and the third and rejects the second.
func story(t *testing.T, r *Registry) (a, b, c ID) {
	t.Helper()
	a = add(t, r, "first", Meta{Step: 100, Arch: "32x4", Created: at(0)})
	must(t, r.Promote(a, Verdict{At: at(1), Reason: "first model"}))
	b = add(t, r, "second", Meta{Step: 200, Parent: a, Arch: "32x4", Created: at(2)})
	must(t, r.Reject(b, Verdict{At: at(3), Reason: "gate rejected", Score: "+3 =1 -9"}))
	c = add(t, r, "third", Meta{Step: 300, Parent: a, Arch: "32x4", Created: at(4)})
	must(t, r.Promote(c, Verdict{At: at(5), Reason: "gate accepted", Score: "+9 =1 -3"}))
	return a, b, c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestStory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "models")
	r := open(t, dir)
	if _, ok := r.Best(); ok || len(r.All()) != 0 {
		t.Fatal("a new registry is not empty")
	}
	a, b, c := story(t, r)
	check := func(r *Registry) {
		t.Helper()
		want := []Entry{
			{a, Meta{100, ID{}, "32x4", at(0)}, 5, Former, Verdict{at(1), "first model", ""}},
			{b, Meta{200, a, "32x4", at(2)}, 6, Rejected, Verdict{at(3), "gate rejected", "+3 =1 -9"}},
			{c, Meta{300, a, "32x4", at(4)}, 5, Best, Verdict{at(5), "gate accepted", "+9 =1 -3"}},
		}
		if got := r.All(); !slices.Equal(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		if got, ok := r.Best(); !ok || got != want[2] {
			t.Errorf("best is %+v", got)
		}
		if got, ok := r.Entry(b); !ok || got != want[1] {
			t.Errorf("entry is %+v", got)
		}
		if got, err := r.Bytes(b); err != nil || string(got) != "second" {
			t.Errorf("bytes are %q, %v", got, err)
		}
	}
	check(r)
	check(open(t, dir))
}

func TestGolden(t *testing.T) {
	r := open(t, t.TempDir())
	story(t, r)
	got, err := os.ReadFile(r.log())
	must(t, err)
	golden := filepath.Join("testdata", "registry.golden")
	if *update {
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, os.WriteFile(golden, got, 0o644))
	}
	want, err := os.ReadFile(golden)
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestRepeatedCallsChangeNothing(t *testing.T) {
	r := open(t, t.TempDir())
	_, b, c := story(t, r)
	before, err := os.ReadFile(r.log())
	must(t, err)
	add(t, r, "second", Meta{Step: 999})
	must(t, r.Reject(b, Verdict{Reason: "again"}))
	must(t, r.Promote(c, Verdict{Reason: "again"}))
	after, err := os.ReadFile(r.log())
	must(t, err)
	if !bytes.Equal(before, after) {
		t.Errorf("the log grew: %s", after[len(before):])
	}
}

func TestBackToAFormer(t *testing.T) {
	r := open(t, t.TempDir())
	a, _, c := story(t, r)
	must(t, r.Promote(a, Verdict{At: at(6), Reason: "by hand"}))
	r = open(t, r.dir)
	if best, _ := r.Best(); best.ID != a {
		t.Errorf("best is %v", best)
	}
	if e, _ := r.Entry(c); e.Standing != Former {
		t.Errorf("standing is %v", e.Standing)
	}
}

func TestRefusals(t *testing.T) {
	r := open(t, t.TempDir())
	_, _, c := story(t, r)
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"unknown", r.Promote(IDOf([]byte("x")), Verdict{}), "not registered"},
		{"best", r.Reject(c, Verdict{}), "promote another first"},
		{"empty", func() error { _, err := r.Add(nil, Meta{}); return err }(), "no bytes"},
	} {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, tt.err, tt.want)
		}
	}
}

func TestFind(t *testing.T) {
	r := open(t, t.TempDir())
	if _, err := r.Find("best"); err == nil || !strings.Contains(err.Error(), "no model has been promoted") {
		t.Errorf("best of none: %v", err)
	}
	// Two texts whose hashes begin alike, found by trying.
	first := map[string]string{}
	var one, two string
	for i := 0; two == ""; i++ {
		text := fmt.Sprint("model ", i)
		prefix := IDOf([]byte(text)).String()[:minPrefix]
		if other, ok := first[prefix]; ok {
			one, two = other, text
		}
		first[prefix] = text
	}
	a, b := add(t, r, one, Meta{}), add(t, r, two, Meta{})
	must(t, r.Promote(b, Verdict{}))
	for _, tt := range []struct {
		in   string
		want ID
		err  string
	}{
		{in: "best", want: b},
		{in: a.String(), want: a},
		{in: strings.ToUpper(b.Short()), want: b},
		{in: a.String()[:minPrefix], err: "2 models begin so"},
		{in: "abc", err: "want"},
		{in: "../x", err: "want"},
		{in: "", err: "want"},
		{in: a.String() + "0", err: "want"},
		{in: IDOf([]byte("none")).String(), err: "none of the 2 models"},
	} {
		e, err := r.Find(tt.in)
		switch {
		case tt.err == "" && (err != nil || e.ID != tt.want):
			t.Errorf("%q: got %v, %v", tt.in, e.ID, err)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%q: got %v, want error %q", tt.in, err, tt.err)
		}
	}
}

// A kill may leave any beginning of the last line, and later appends must not suffer from it.
func TestTornTail(t *testing.T) {
	dir := t.TempDir()
	a, b, c := story(t, open(t, dir))
	log := filepath.Join(dir, logName)
	whole, err := os.ReadFile(log)
	must(t, err)
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for n := last; n < len(whole); n++ {
		must(t, os.WriteFile(log, whole[:n], 0o644))
		r := open(t, dir)
		if best, _ := r.Best(); best.ID != a {
			t.Fatalf("%d bytes: best is %v", n, best.ID)
		}
		if err := r.Torn(); (err != nil) != (n > last) || n > last && !strings.Contains(err.Error(), fmt.Sprintf("%s:%d: ", log, bytes.Count(whole, []byte("\n")))) {
			t.Fatalf("%d bytes: torn is %v, want the file and the line", n, err)
		}
		must(t, r.Promote(b, Verdict{At: at(9), Reason: "after the kill"}))
		must(t, r.Promote(c, Verdict{At: at(9)}))
		r = open(t, dir)
		if e, _ := r.Entry(b); e.Verdict.Reason != "after the kill" {
			t.Fatalf("%d bytes: entry is %+v", n, e)
		}
	}
}

// Blocks of the last line may reach the disk without those before them.
func TestTornTailWithItsNewline(t *testing.T) {
	dir := t.TempDir()
	a, _, _ := story(t, open(t, dir))
	log := filepath.Join(dir, logName)
	whole, err := os.ReadFile(log)
	must(t, err)
	whole[len(whole)-9] = 0
	must(t, os.WriteFile(log, whole, 0o644))
	r := open(t, dir)
	if best, _ := r.Best(); best.ID != a || r.Torn() == nil {
		t.Errorf("best is %v, torn %v", best.ID, r.Torn())
	}
}

// A disk that fails at any step of any write changes nothing: the same call succeeds when it is well again, and what was cut
// short is gone.
func TestDiskFails(t *testing.T) {
	for _, step := range []atomicfile.Step{atomicfile.Create, atomicfile.Half, atomicfile.Rename, atomicfile.Done} {
		for n := range 7 { // two models, the new log and four lines
			dir := t.TempDir()
			left := n
			end := atomicfile.Inject(func(s atomicfile.Step, _ string) error {
				if s != step {
					return nil
				}
				left--
				if left == -1 {
					return syscall.ENOSPC
				}
				return nil
			})
			r := open(t, dir)
			again := func(f func() error) {
				before := r.All()
				err := f()
				if err != nil {
					if !atomicfile.Full(err) || !slices.Equal(r.All(), before) {
						t.Fatalf("step %s, write %d: got %v and %v", step, n, err, r.All())
					}
					err = f()
				}
				must(t, err)
			}
			var id [2]ID
			for i := range id {
				again(func() (err error) {
					id[i], err = r.Add([]byte{byte(i)}, Meta{Step: int64(i), Created: at(i)})
					return err
				})
			}
			again(func() error { return r.Promote(id[0], Verdict{At: at(3)}) })
			again(func() error { return r.Reject(id[1], Verdict{At: at(4)}) })
			end()
			if left >= 0 && step != atomicfile.Rename {
				t.Fatalf("only %d writes at step %s", n-left, step)
			}
			if again := open(t, dir); !slices.Equal(again.All(), r.All()) || again.Torn() != nil {
				t.Errorf("step %s, write %d: %v on disk, want %v; torn %v", step, n, again.All(), r.All(), again.Torn())
			}
		}
	}
}

func TestDamageIsReported(t *testing.T) {
	dir := t.TempDir()
	story(t, open(t, dir))
	log := filepath.Join(dir, logName)
	whole, err := os.ReadFile(log)
	must(t, err)
	lines := strings.SplitAfter(string(whole), "\n")
	sealed := func(body string) string { return string(seal([]byte(body))) }
	for _, tt := range []struct {
		name string
		in   string
		line int
	}{
		{"header", "something else\n", 1},
		{"empty", "", 1},
		{"flipped bit", lines[0] + strings.Replace(lines[1], "32x4", "32x5", 1) + lines[2], 2},
		{"twice", lines[0] + lines[1] + lines[1] + lines[2], 3},
		{"missing", lines[0] + lines[2] + lines[1], 2},
		{"best rejected", lines[0] + lines[1] + lines[2] + sealed(`{"reject":{"id":"`+IDOf([]byte("first")).String()+`","at":"2024-05-01T12:00:00Z","reason":""}}`), 4},
		{"no event", lines[0] + sealed(`{}`), 2},
		{"unknown field", lines[0] + sealed(`{"delete":{}}`) + lines[1], 2},
	} {
		must(t, os.WriteFile(log, []byte(tt.in), 0o644))
		_, err := Open(dir)
		var corrupt *CorruptError
		if !errors.As(err, &corrupt) || corrupt.Line != tt.line || corrupt.Path != log {
			t.Errorf("%s: got %v, want line %d", tt.name, err, tt.line)
		}
	}
}

func TestTamperedModel(t *testing.T) {
	r := open(t, t.TempDir())
	a, _, _ := story(t, r)
	must(t, os.WriteFile(r.Path(a), []byte("fixst"), 0o644))
	_, err := r.Bytes(a)
	var tampered *TamperedError
	if !errors.As(err, &tampered) || tampered.Path != r.Path(a) {
		t.Fatalf("got %v", err)
	}
	add(t, r, "first", Meta{})
	if b, err := r.Bytes(a); err != nil || string(b) != "first" {
		t.Errorf("after adding it again: %q, %v", b, err)
	}
	must(t, os.Remove(r.Path(a)))
	if _, err := r.Bytes(a); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

func TestTwoWriters(t *testing.T) {
	dir := t.TempDir()
	r, other := open(t, dir), open(t, dir)
	add(t, other, "theirs", Meta{})
	if _, err := r.Add([]byte("ours"), Meta{}); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("first append: %v", err)
	}
	r = open(t, dir)
	add(t, other, "more", Meta{})
	if _, err := r.Add([]byte("ours"), Meta{}); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("later append: %v", err)
	}
}

func TestID(t *testing.T) {
	id := IDOf([]byte("first"))
	if got, err := ParseID(id.String()); err != nil || got != id {
		t.Errorf("got %v, %v", got, err)
	}
	if !IsFileName(FileName(id)) || IsFileName(id.String()) || IsFileName("x"+FileName(id)) || IsFileName(logName) {
		t.Error("file names are not told apart")
	}
	for _, in := range []string{"", "ab", strings.Repeat("g", 64), id.String() + "00", strings.Repeat("x", 1<<16)} {
		if _, err := ParseID(in); err == nil || len(err.Error()) > 200 {
			t.Errorf("%.20q: got %v", in, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	golden, err := os.ReadFile(filepath.Join("testdata", "registry.golden"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Add([]byte(header))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, logName), b, 0o644))
		r, err := Open(dir)
		if err != nil {
			return
		}
		// What was read can be gone on with, and read again.
		id := add(t, r, "new", Meta{Created: at(0)})
		again := open(t, dir)
		if !slices.Equal(again.All(), r.All()) {
			t.Errorf("got  %+v\nwant %+v", again.All(), r.All())
		}
		if _, ok := again.Entry(id); !ok {
			t.Error("the new model is not there")
		}
	})
}
