package main

import (
	"fmt"
	"io"
	"math"
	"os"

	"github.com/spf13/cobra"

	"yinshzero/data"
)

func newRecords() *cobra.Command {
	return group("records", "Look into game records and look after them",
		newRecordsVerify(), newRecordsStat(), newRecordsDump(), newRecordsExport(), newRecordsImport(), newRecordsRepair())
}

func newRecordsVerify() *cobra.Command {
	c := &cobra.Command{
		Use:     "verify PATH …",
		Short:   "Check every checksum and replay every game of shards, or of folders of shards",
		Example: "  yinshzero records verify runs/standard/records",
		Args:    takes(1, math.MaxInt),
	}
	asJSON := addJSON(c)
	c.RunE = func(c *cobra.Command, paths []string) error {
		f := newFaults(c, "")
		s, err := data.Verify(paths, f.add)
		if f.rest(); err != nil {
			return err
		}
		if *asJSON {
			err = printJSON(c, s)
		} else {
			_, err = fmt.Fprintf(c.OutOrStdout(), "ok=%d bad=%d\n", s.Games, s.Faults)
		}
		if err == nil && s.Faults > 0 {
			return errFaults
		}
		return err
	}
	return c
}

func newRecordsStat() *cobra.Command {
	c := &cobra.Command{
		Use:     "stat PATH …",
		Short:   "Count what shards, or folders of shards, hold",
		Example: "  yinshzero records stat --json runs/standard/records",
		Args:    takes(1, math.MaxInt),
	}
	asJSON := addJSON(c)
	c.RunE = func(c *cobra.Command, paths []string) error {
		f := newFaults(c, "")
		s, err := data.Verify(paths, f.add)
		if f.rest(); err != nil {
			return err
		}
		if *asJSON {
			err = printJSON(c, s)
		} else {
			err = s.WriteText(c.OutOrStdout())
		}
		if err == nil && s.Faults > 0 {
			return errFaults
		}
		return err
	}
	return c
}

func newRecordsDump() *cobra.Command {
	return printsRecords(data.Dump, "dump", "Print games ply by ply, with what the search thought",
		"  yinshzero records dump runs/standard/records | less")
}

func newRecordsExport() *cobra.Command {
	return printsRecords(data.Export, "export", "Print games as a move list",
		"  yinshzero records export runs/standard/records | yinshzero rules replay")
}

// printsRecords is a command that prints what is at its paths.
func printsRecords(print func(w io.Writer, paths []string, fault func(error)) error, name, short, example string) *cobra.Command {
	return &cobra.Command{
		Use:     name + " PATH …",
		Short:   short,
		Example: example,
		Args:    takes(1, math.MaxInt),
		RunE: func(c *cobra.Command, paths []string) error {
			if err := present(paths); err != nil {
				return err
			}
			return counting(c, func(fault func(error)) error { return print(c.OutOrStdout(), paths, fault) })
		},
	}
}

func newRecordsImport() *cobra.Command {
	return &cobra.Command{
		Use:     "import SHARD < move list",
		Short:   "Write the games of a move list to a new shard",
		Example: "  yinshzero records import games.shard < games.moves",
		Args:    takes(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			return counting(c, func(fault func(error)) error {
				info, err := data.Import(args[0], c.InOrStdin(), "standard input", fault)
				if err == nil {
					_, err = fmt.Fprintf(c.OutOrStdout(), "games=%d\n", info.Games)
				}
				return err
			})
		},
	}
}

// present returns an error if one of the paths is missing.
func present(paths []string) error {
	for _, p := range paths {
		if _, err := os.Stat(p); err != nil {
			return err
		}
	}
	return nil
}

// counting does work that reports faults, and fails if there were any.
func counting(c *cobra.Command, work func(fault func(error)) error) error {
	f := newFaults(c, "")
	err := work(f.add)
	f.rest()
	if err == nil && f.n > 0 {
		return errFaults
	}
	return err
}

func newRecordsRepair() *cobra.Command {
	return &cobra.Command{
		Use:     "repair PATH …",
		Short:   "Make damaged shards whole again without what cannot be read; the damaged files are kept",
		Example: "  yinshzero records repair runs/standard/records",
		Args:    takes(1, math.MaxInt),
		RunE: func(c *cobra.Command, paths []string) error {
			losses, err := data.Repair(paths)
			for _, l := range losses {
				fmt.Fprintf(c.OutOrStdout(), "%s: %d games left, the damaged file is %s\n", l.Shard, l.Games, l.Kept)
				for _, fault := range l.Faults {
					fmt.Fprintf(c.OutOrStdout(), "  lost: %v\n", fault)
				}
			}
			if err == nil {
				_, err = fmt.Fprintf(c.OutOrStdout(), "repaired=%d\n", len(losses))
			}
			return err
		},
	}
}
