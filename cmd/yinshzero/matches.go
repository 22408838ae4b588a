package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"yinshzero/arena"
	"yinshzero/rules"
)

// matchExtension is how the names of match files end.
const matchExtension = ".pairs"

func newMatches() *cobra.Command {
	c := &cobra.Command{
		Use:   "matches PATH …",
		Short: "Print the games of a run's gates and anchor matches, as SGF or as move lists",
		Long: `Print the games of match files, or of folders of them, such as matches in a run's directory. The formats are sgf (as
Boardspace writes it, which has the standard game and blitz only), moves and turns (move lists). A game's name says which
match it is of, the number of its pair from 0, its place in the pair, and who had White and Black.`,
		Example: `  yinshzero matches runs/standard/matches > matches.sgf
  yinshzero matches --to moves runs/mini/matches/gate-*.pairs | yinshzero rules replay`,
		Args: takes(1, math.MaxInt),
	}
	to := &formatFlag{rules.FormatSGF}
	c.Flags().Var(to, "to", "format to print: sgf, moves or turns")
	c.RunE = func(c *cobra.Command, paths []string) error {
		write, ok := map[rules.Format]func(io.Writer, *rules.Game) error{
			rules.FormatSGF: rules.WriteSGF, rules.FormatMoves: rules.WriteMoves, rules.FormatTurns: rules.WriteTurns,
		}[to.Format]
		if !ok {
			return usagef("to is %v: want sgf, moves or turns", to.Format)
		}
		files, err := matchFiles(paths)
		if err != nil {
			return err
		}
		return counting(c, func(fault func(error)) error {
			for _, path := range files {
				text, err := matchGames(path, write)
				if err != nil {
					fault(fmt.Errorf("match %s: %w", path, err))
				}
				if _, err := c.OutOrStdout().Write(text); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return c
}

// matchFiles replaces the folders among paths by the match files in them.
func matchFiles(paths []string) (files []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		inside, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		before := len(files)
		for _, f := range inside {
			if filepath.Ext(f.Name()) == matchExtension {
				files = append(files, filepath.Join(path, f.Name()))
			}
		}
		if len(files) == before {
			return nil, fmt.Errorf("folder %s holds no *%s", path, matchExtension)
		}
	}
	return files, nil
}

// matchGames is the text of a match file's games up to the first fault, which is returned. A last line that is being written
// is left out.
func matchGames(path string, write func(io.Writer, *rules.Game) error) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	var text bytes.Buffer
	match := strings.TrimSuffix(filepath.Base(path), matchExtension)
	for e, err := range arena.Entries(f) {
		if errors.Is(err, arena.ErrTorn) {
			break
		}
		if err != nil {
			return text.Bytes(), err
		}
		white, black := e.A, e.B
		for i, g := range e.Result.Games {
			id := strings.Join(strings.Fields(fmt.Sprintf("%s/%d.%d/%s/%s", match, e.Pair, i+1, white, black)), "_")
			game := rules.Game{ID: id, Outcome: g.Result.Outcome, Variant: e.Variant, Moves: g.Moves}
			if err := write(&text, &game); err != nil {
				return text.Bytes(), fmt.Errorf("%w; --to moves writes any", err)
			}
			white, black = black, white
		}
	}
	return text.Bytes(), nil
}
