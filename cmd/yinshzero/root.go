package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"yinshzero/rules"
)

// errFaults says that a check found faults, which have been printed.
var errFaults = errors.New("faults found")

// A usageError is a wrong flag or argument.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// newRoot is the whole command line.
func newRoot() *cobra.Command {
	root := group("yinshzero", "A YINSH player trained by self-play, and the tools around it",
		newRun(), newWorker(), newFleet(), newEngine(), newServe(), newMatch(), newMatches(), newLadder(), newReport(), newSweep(), newExport(), newRecords(), newRules(), newSolve(), newBench(), newVersion())
	root.Long = root.Short + ".\n\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 faults found in what was read."
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(err) })
	return root
}

// flagError says in plain words what is wrong with the number of a flag.
func flagError(err error) error {
	var number *strconv.NumError
	if !errors.As(err, &number) {
		return err
	}
	want := map[string]string{"ParseInt": "want a whole number", "ParseUint": "want a whole number, 0 or more", "ParseBool": "want true or false"}
	return usagef("%s", strings.Replace(err.Error(), number.Error(), want[number.Func], 1))
}

// takes checks that a command has low to high arguments, which its Use names.
func takes(low, high int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) >= low && len(args) <= high {
			return nil
		}
		_, names, _ := strings.Cut(c.Use, " ")
		return usagef("wrong number of arguments, %d: want %s", len(args), names)
	}
}

// group is a command that only holds others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs}
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			c.SetOut(c.ErrOrStderr())
			_ = c.Help() // it fails as standard error does
			return usagef("want a command")
		}
		problem := fmt.Sprintf("no command %q", args[0])
		if near := c.SuggestionsFor(args[0]); len(near) > 0 {
			problem += ": did you mean " + strings.Join(near, " or ") + "?"
		}
		return usagef("%s", problem)
	}
	c.SuggestionsMinimumDistance = 2
	c.AddCommand(commands...)
	return c
}

// untilSignal is the context of a command that ends in good order: the first interrupt, hangup or request to terminate ends
// it, the second ends the process. Other commands end at once.
func untilSignal(c *cobra.Command) (context.Context, context.CancelFunc) {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(c.Context(), ends...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// maxThreads bounds the games at once and the threads that a flag may ask for.
const maxThreads = 1024

// inRange returns an error unless low <= n <= high.
func inRange(flag string, n, low, high int) error {
	if n < low || n > high {
		return usagef("%s is %d: want %d to %d", flag, n, low, high)
	}
	return nil
}

// printJSON prints v as one object.
func printJSON(c *cobra.Command, v any) error {
	return encodeJSON(c.OutOrStdout(), v)
}

func encodeJSON(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }

// A variantFlag is --variant.
type variantFlag struct{ rules.Variant }

func (f *variantFlag) Type() string { return "VARIANT" }

func (f *variantFlag) Set(s string) (err error) {
	f.Variant, err = rules.ParseVariant(s)
	return err
}

func addVariant(c *cobra.Command) *variantFlag {
	f := &variantFlag{rules.Standard()}
	c.Flags().Var(f, "variant", "standard, blitz, mini or five numbers radius-rings-markers-row-win")
	return f
}

func addJSON(c *cobra.Command) *bool {
	return c.Flags().Bool("json", false, "print one JSON object")
}
