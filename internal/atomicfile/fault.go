package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
)

// Full reports whether an error says that the disk, or what its user may have of it, is full: it passes when room is made.
func Full(err error) bool {
	full := []error{syscall.ENOSPC, syscall.EDQUOT}
	if runtime.GOOS == "windows" {
		full = append(full, syscall.Errno(39), syscall.Errno(112)) // ERROR_HANDLE_DISK_FULL, ERROR_DISK_FULL
	}
	for _, e := range full {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// remedy is what to do about an error of writing path, to be put behind it.
func remedy(err error, path string) string {
	switch {
	case Full(err):
		return ": make room on the disk of " + filepath.Dir(path)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return ": make " + filepath.Dir(path) + " writable for this user"
	}
	return ""
}

// A Step is a moment in the writing of a file at which a test may let it fail or kill the process.
type Step string

// The steps, in their order. Those of Append have no Rename.
const (
	Create Step = "create" // nothing is written
	Half   Step = "half"   // half of the bytes in hand are written
	Rename Step = "rename" // the temporary file has reached the disk and is to be renamed
	Done   Step = "done"   // the file has reached the disk
)

var hook atomic.Pointer[func(Step, string) error]

// Inject lets the tests of what writes files meet a disk that fails. Write and Append call f at every Step with the path of
// their target, from any goroutine, and fail with the error that it returns; with the file in place if that is at Done. The
// function that is returned ends it.
func Inject(f func(Step, string) error) (end func()) {
	hook.Store(&f)
	return func() { hook.Store(nil) }
}

func fault(s Step, path string) error {
	if f := hook.Load(); f != nil {
		return (*f)(s, path)
	}
	return nil
}

// A target writes to a file; a fault comes when half is written.
type target struct {
	file *os.File
	path string
}

func (t *target) Write(b []byte) (int, error) {
	if hook.Load() == nil {
		return t.file.Write(b)
	}
	n, err := t.file.Write(b[:len(b)/2])
	if err == nil {
		err = fault(Half, t.path)
	}
	if err != nil {
		return n, err
	}
	m, err := t.file.Write(b[n:])
	return n + m, err
}
