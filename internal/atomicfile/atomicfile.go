package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
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
// disk. The directory must exist. An error names path, not the temporary file, and the remedy if the disk is full or does not
// let itself be written.
func Write(path string, perm os.FileMode, fill func(io.Writer) error) error {
	if err := write(path, perm, fill); err != nil {
		return fmt.Errorf("write %s: %w%s", path, err, remedy(err, path))
	}
	return nil
}

func write(path string, perm os.FileMode, fill func(io.Writer) error) (err error) {
	dir, name := filepath.Dir(path), filepath.Base(path)
	if err := fault(Create, path); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, prefix+name+"-*"+suffix)
	if err != nil {
		return bare(err)
	}
	renamed := false
	defer func() {
		if err != nil && !renamed {
			f.Close() // a second close fails, which changes nothing
			err = errors.Join(bare(err), os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriterSize(&target{f, path}, 1<<16)
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
	if err := fault(Rename, path); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	renamed = true
	if err := syncDir(dir); err != nil {
		return err
	}
	return fault(Done, path)
}

// bare is err without the name of a temporary file.
func bare(err error) error {
	var path *fs.PathError
	var rename *os.LinkError
	switch {
	case errors.As(err, &path) && IsTemp(filepath.Base(path.Path)):
		return path.Err
	case errors.As(err, &rename) && IsTemp(filepath.Base(rename.Old)):
		return rename.Err
	}
	return err
}

// Append writes b behind the first end bytes of f and returns when it has reached the disk. What lies behind them is cut
// off first, and so is what an error leaves of b, if the disk allows it. A kill may leave a part of b: whoever opens the file
// must expect a last line without its newline. One goroutine at a time may append to a file, open for writing. An error
// names the file, and the remedy as that of Write does.
func Append(f *os.File, end int64, b []byte) error {
	if err := appendTo(f, end, b); err != nil {
		_ = f.Truncate(end) // else the next Append does it
		return fmt.Errorf("append to %s: %w%s", f.Name(), err, remedy(err, f.Name()))
	}
	return nil
}

func appendTo(f *os.File, end int64, b []byte) error {
	if err := fault(Create, f.Name()); err != nil {
		return err
	}
	if err := f.Truncate(end); err != nil {
		return err
	}
	if _, err := f.Seek(end, io.SeekStart); err != nil {
		return err
	}
	if _, err := (&target{f, f.Name()}).Write(b); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return fault(Done, f.Name())
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
