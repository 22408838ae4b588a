package main

import (
	"errors"
	"fmt"
	"os"

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

// run executes the command line and returns the exit code.
func run() int {
	root := newRoot()
	started := false
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	command, err := root.ExecuteC()
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
