package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitFaults = 3
)

func main() { os.Exit(run()) }

// run executes the command line and returns the exit code. The first interrupt, hangup or request to
// terminate ends the context, and the command with it; the second ends the process.
func run() int {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	context.AfterFunc(ctx, stop)

	root := newRoot()
	started := false
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	fmt.Fprintf(os.Stderr, "yinshzero: %v\n", err)
	var usage *usageError
	switch {
	case errors.Is(err, errFaults):
		return exitFaults
	case !started || errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "%s --help tells more\n", command.CommandPath())
		return exitUsage
	}
	return exitFailed
}
