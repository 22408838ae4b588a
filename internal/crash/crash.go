// Package crash turns panics into errors, so that a bug that shows in one game or in one training step costs that game or
// that step, and not the run.
//
// A panic that nobody catches in its own goroutine ends the process, whatever its caller does. So who starts goroutines for
// the time of a call runs them in [Catch] and returns what it returns; who plays games or takes steps runs these in Catch, too.
// Neither uses again what the panic left half done.
package crash

import (
	"fmt"
	"runtime/debug"
)

// An Error is a panic that was caught: a bug, in this program or in the machine.
type Error struct {
	Value any    // what was panicked with
	Stack []byte // of the goroutine, as text
}

// Error is the value and what it means. The stack is for the log.
func (e *Error) Error() string {
	return fmt.Sprintf("panic: %v: this is a bug: report it with the stack in the log", e.Value)
}

// Catch calls f and returns what it returns, or its panic as an *Error.
func Catch(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &Error{v, debug.Stack()}
		}
	}()
	return f()
}
