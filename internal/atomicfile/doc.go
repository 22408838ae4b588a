// Package atomicfile writes files that are there whole or not at all, also when the power fails.
//
// Write fills a temporary file in the same directory, flushes it to the disk, renames it over the target and flushes
// the directory:
//
//	err := atomicfile.Write(path, 0o644, func(w io.Writer) error {
//		_, err := w.Write(b)
//		return err
//	})
//
// Append writes a whole line, or more, to the end of a file that grows, and flushes it.
//
// A process that is killed on the way leaves a temporary file, which IsTemp recognises and RemoveTemps deletes. The
// package does not lock: two writers of one path both succeed and the later rename stays.
package atomicfile
