package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"yinshzero/internal/atomicfile"
	"yinshzero/internal/crash"
)

// guard calls f and turns a panic into a *crash.Error. It logs the stack, and that of a panic which f returns.
func guard(log *slog.Logger, f func() error) error {
	err := crash.Catch(f)
	logPanic(log, err)
	return err
}

// logPanic logs the stack of a panic that was caught, if err is one.
func logPanic(log *slog.Logger, err error) {
	if p := (*crash.Error)(nil); errors.As(err, &p) {
		log.Error("panic", "value", fmt.Sprint(p.Value), "stack", string(p.Stack))
	}
}

// toDisk calls f, which writes a file whole or not at all, until the disk has room for it or ctx is done: then it returns the
// error of the last try. Everything else that f returns is returned at once. Meanwhile the caller waits, and whatever needs
// no disk goes on.
func (r *Run) toDisk(ctx context.Context, f func() error) error {
	err := f()
	if err == nil || !atomicfile.Full(err) || ctx.Err() != nil {
		return err
	}
	r.note("disk is full: waiting for room", "error", err)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Minute) {
		if !pause(ctx, wait) {
			return err
		}
		if err = f(); err == nil {
			r.note("disk has room again")
			return nil
		}
		if !atomicfile.Full(err) {
			return err
		}
		r.params.Log.Warn("disk is still full", "error", err)
	}
}

// persist calls f until it succeeds, with growing waits, or ctx is done: for what the run cannot go on without and a hub
// that is away for a while will take later. Failures are logged.
func (r *Run) persist(ctx context.Context, what string, f func() error) error {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := f()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.params.Log.Warn(what+" failed: trying again", "error", err)
		if !pause(ctx, wait) {
			return ctx.Err()
		}
	}
}

// pause waits for so long and reports true, or false as soon as ctx is done.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// tolerate logs a failure that costs nothing but a repetition.
func (r *Run) tolerate(what string, err error) {
	if err != nil {
		r.params.Log.Warn(what+" failed: it will be done again", "error", err)
	}
}

// forgo logs that something was not written which the run can do without.
func (r *Run) forgo(what string, err error) {
	if err != nil {
		r.params.Log.Warn(what+" are not written: make room on the disk if it is full", "error", err)
	}
}
