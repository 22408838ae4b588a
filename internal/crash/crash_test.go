package crash

import (
	"errors"
	"strings"
	"testing"
)

func TestCatch(t *testing.T) {
	broken := errors.New("broken")
	for _, want := range []error{nil, broken} {
		if got := Catch(func() error { return want }); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	err := Catch(func() error { return fall(nil) })
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "nil pointer") || !strings.Contains(string(e.Stack), "crash.fall") {
		t.Fatalf("got %v with the stack\n%s", err, e.Stack)
	}
}

func fall(at *int) error {
	*at = 1
	return nil
}
