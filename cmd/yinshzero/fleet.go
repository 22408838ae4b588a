package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"yinshzero/fleet"
	"yinshzero/pipeline"
)

func newFleet() *cobra.Command {
	return group("fleet", "Let workers of other machines into a run", newKeygen(), newAllow(), newRevoke(), newFleetStatus())
}

// keysDir is where a run's hub keeps its certificate and the list of workers.
func keysDir(run string) string { return filepath.Join(run, "keys") }

// addRun adds --dir to a command, which is then refused a directory that holds no run.
func addRun(c *cobra.Command) *string {
	dir := c.Flags().String("dir", "runs/standard", "the run's directory")
	c.PreRunE = func(*cobra.Command, []string) error {
		if err := isRun(*dir); err != nil {
			return fmt.Errorf("%w: begin it with yinshzero run --dir %s", err, *dir)
		}
		return nil
	}
	return dir
}

func newKeygen() *cobra.Command {
	c := &cobra.Command{
		Use:   "keygen WORKER FILE",
		Short: "Make the credentials of a worker",
		Long: `Make the credentials with which a worker joins a run: a secret file for the worker's machine. It opens nothing until its
public key, which is printed, is allowed: the command to type is printed on standard error.`,
		Example: "  yinshzero fleet keygen --dir runs/standard anna anna.creds",
		Args:    takes(2, 2),
	}
	dir := addRun(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := fleet.CheckName("worker", args[0]); err != nil {
			return &usageError{err}
		}
		path, err := filepath.Abs(*dir) // the name of "." is in it
		if err != nil {
			return err
		}
		name, err := pipeline.RunName(path)
		if err != nil {
			return err
		}
		creds, err := fleet.Keygen(keysDir(path), name, args[0])
		if err != nil {
			return err
		}
		public, err := creds.Public()
		if err := errors.Join(err, creds.Save(args[1])); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(c.OutOrStdout(), public); err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.ErrOrStderr(), "next: yinshzero fleet allow --dir %s %s %s\n", *dir, args[0], public)
		return err
	}
	return c
}

func newAllow() *cobra.Command {
	c := &cobra.Command{
		Use:     "allow WORKER PUBLIC-KEY",
		Short:   "Let a worker in",
		Example: "  yinshzero fleet allow --dir runs/standard anna UBXN…",
		Args:    takes(2, 2),
	}
	dir := addRun(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		p := fleet.Permit{Worker: args[0], Public: args[1]}
		if err := p.Validate(); err != nil {
			return &usageError{err}
		}
		return fleet.Allow(keysDir(*dir), p)
	}
	return c
}

func newRevoke() *cobra.Command {
	c := &cobra.Command{
		Use:     "revoke WORKER",
		Short:   "Shut a worker out",
		Example: "  yinshzero fleet revoke --dir runs/standard anna",
		Args:    takes(1, 1),
	}
	dir := addRun(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		if err := fleet.CheckName("worker", args[0]); err != nil {
			return &usageError{err}
		}
		return fleet.Revoke(keysDir(*dir), args[0])
	}
	return c
}

func newFleetStatus() *cobra.Command {
	c := &cobra.Command{
		Use:     "status",
		Short:   "List the workers that may join",
		Example: "  yinshzero fleet status --dir runs/standard --json",
		Args:    cobra.NoArgs,
	}
	dir, asJSON := addRun(c), addJSON(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		permits, err := fleet.Permits(keysDir(*dir))
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(c, struct {
				Workers []fleet.Permit `json:"workers"`
			}{append([]fleet.Permit{}, permits...)}) // [] and not null
		}
		for _, p := range permits {
			if _, err := fmt.Fprintf(c.OutOrStdout(), "%s %s\n", p.Worker, p.Public); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}
