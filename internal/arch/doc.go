// Package arch holds no code: its test reads the map in docs/architecture.md and every Go file of the module, and fails
// when a package is missing from the map or imports what the map does not allow it.
//
// The test parses the files itself. What it opens is known to the test cache, so a new import anywhere runs it again;
// the output of another program would not be.
package arch
