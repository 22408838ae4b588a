package atomicfile

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// A temporary file is named for its target: prefix, the target's name, a random number, suffix.
const (
	prefix = ".tmp-"
	suffix = ".partial"
)

// Write makes path with the bytes that fill writes, buffered, and the permissions perm. On any error up to
// the rename, the one of fill included, path is as it was before and no temporary file is left. When Write returns nil the file has reached the
// disk. The directory must exist.
func Write(path string, perm os.FileMode, fill func(io.Writer) error) (err error) {
	dir, name := filepath.Dir(path), filepath.Base(path)
	f, err := os.CreateTemp(dir, prefix+name+"-*"+suffix)
	if err != nil {
		return err
	}
	renamed := false
	defer func() {
		if err != nil && !renamed {
			f.Close() // a second close fails, which changes nothing
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriterSize(f, 1<<16)
	if err := fill(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Chmod(perm); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	renamed = true
	return syncDir(dir)
}

// WriteBytes makes path with the bytes b, readable by all, as Write does.
func WriteBytes(path string, b []byte) error {
	return Write(path, 0o644, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// syncDir flushes a directory, so that a rename in it survives a power failure. Windows has no such call and orders
// the rename by itself.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// IsTemp reports whether a file name, without its directory, is one that Write gives to a file it has not finished.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix)
}

// RemoveTemps deletes the temporary files that killed writers left in dir and returns their names. Nobody may be
// writing to dir. A directory that does not exist holds none.
func RemoveTemps(dir string) (removed []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && IsTemp(e.Name()) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return removed, err
			}
			removed = append(removed, e.Name())
		}
	}
	return removed, nil
}
