package atomicfile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.bin")
	for _, want := range []string{"first", "", strings.Repeat("long ", 100_000)} {
		if err := WriteBytes(path, []byte(want)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Fatalf("got %d bytes, %v; want %d", len(got), err, len(want))
		}
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("directory holds %q: want a.bin alone", got)
	}
}

func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are not kept on this system")
	}
	path := filepath.Join(t.TempDir(), "key")
	if err := Write(path, 0o600, func(w io.Writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v; want 0600", info.Mode(), err)
	}
}

// TestFailedFill checks that a fill that fails after some bytes leaves the old file and nothing else.
func TestFailedFill(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := WriteBytes(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := Write(path, 0o644, func(w io.Writer) error {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("got error %v, want %v", err, broken)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("got %q, want the old file", got)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("directory holds %q: want a alone", got)
	}
}

func TestNoDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "a")
	if err := WriteBytes(path, nil); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), suffix) {
		t.Errorf("got %v, want that the directory of %s does not exist", err, path)
	}
}

// TestTargetIsDirectory checks the failure after the temporary file is complete.
func TestTargetIsDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := WriteBytes(filepath.Join(dir, "a"), []byte("x")); err == nil || strings.Contains(err.Error(), suffix) {
		t.Errorf("a directory is in the place of a file: got %v", err)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("directory holds %q: want a alone", got)
	}
}

// TestKilled leaves what a killed writer leaves and checks that it is told from finished files and removed.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	if err := WriteBytes(filepath.Join(dir, "done"), []byte("x")); err != nil {
		t.Fatal(err)
	}
	func() { // Goexit in fill would be the same; a panic stands for the kill
		defer func() { _ = recover() }()
		_ = Write(filepath.Join(dir, "half"), 0o644, func(w io.Writer) error { panic("killed") })
	}()
	temps := 0
	for _, name := range names(t, dir) {
		if IsTemp(name) {
			temps++
		}
	}
	if temps != 1 {
		t.Fatalf("directory holds %q: want one temporary file", names(t, dir))
	}
	removed, err := RemoveTemps(dir)
	if err != nil || len(removed) != 1 {
		t.Fatalf("removed %q, %v: want one file", removed, err)
	}
	if got := names(t, dir); len(got) != 1 || got[0] != "done" {
		t.Errorf("directory holds %q: want done alone", got)
	}
	if removed, err := RemoveTemps(filepath.Join(dir, "none")); err != nil || removed != nil {
		t.Errorf("got %q, %v from a directory that does not exist", removed, err)
	}
}

// TestConcurrent checks that a reader sees one whole version or another while many write.
func TestConcurrent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	version := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 10_000) }
	if err := WriteBytes(path, version(0)); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			for range 5 {
				if err := WriteBytes(path, version(i)); err != nil && runtime.GOOS != "windows" {
					t.Error(err)
				}
			}
		})
	}
	for range 50 {
		b, err := os.ReadFile(path)
		if err != nil {
			if runtime.GOOS == "windows" {
				continue
			}
			t.Fatal(err)
		}
		if len(b) != 10_000 || !bytes.Equal(b, version(int(b[0]))) {
			t.Fatalf("read %d bytes that nobody wrote", len(b))
		}
	}
	writers.Wait()
}

// everywhere calls try with a fault at every step, one after another, and what is there afterwards.
func everywhere(t *testing.T, steps []Step, fails error, try func(s Step) error) {
	t.Helper()
	for _, s := range steps {
		end := Inject(func(at Step, path string) error {
			if at == s {
				return fails
			}
			return nil
		})
		err := try(s)
		end()
		if !errors.Is(err, fails) {
			t.Errorf("fault at %s: got %v", s, err)
		}
	}
}

// TestFaultsOfWrite: whatever step fails, the file is as it was or as it was to be, and nothing else is there.
func TestFaultsOfWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := WriteBytes(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	everywhere(t, []Step{Create, Half, Rename, Done}, syscall.ENOSPC, func(s Step) error {
		err := WriteBytes(path, []byte("new"))
		if err == nil || !Full(err) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "make room on the disk of "+dir) {
			t.Errorf("fault at %s: got %v, want the path and the remedy", s, err)
		}
		want := map[bool]string{true: "new", false: "old"}[s == Done]
		if got, _ := os.ReadFile(path); string(got) != want || len(names(t, dir)) != 1 {
			t.Errorf("fault at %s: the file holds %q and the directory %q", s, got, names(t, dir))
		}
		return err
	})
	everywhere(t, []Step{Create}, syscall.EACCES, func(Step) error {
		err := WriteBytes(path, []byte("x"))
		if Full(err) || !strings.Contains(err.Error(), "make "+dir+" writable") {
			t.Errorf("got %v, want the remedy", err)
		}
		return err
	})
}

// TestAppend fails at every step and goes on: what was cut short is gone, at once or before the next.
func TestAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	end := int64(0)
	add := func(line string) {
		if err := Append(f, end, []byte(line)); err != nil {
			t.Fatal(err)
		}
		end += int64(len(line))
	}
	add("one\n")
	everywhere(t, []Step{Create, Half, Done}, syscall.ENOSPC, func(s Step) error {
		err := Append(f, end, []byte("fourty\n"))
		if got, _ := os.ReadFile(path); string(got) != "one\n" {
			t.Errorf("fault at %s: %q is there", s, got)
		}
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "make room") {
			t.Errorf("got %v, want the path and the remedy", err)
		}
		return err
	})
	if _, err := f.WriteString("a part that nothing cut off"); err != nil {
		t.Fatal(err)
	}
	add("two\n")
	if got, _ := os.ReadFile(path); string(got) != "one\ntwo\n" {
		t.Errorf("the file holds %q", got)
	}
}
