package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"yinshzero/arena"
	"yinshzero/builtin"
	"yinshzero/engine"
	"yinshzero/net"
	"yinshzero/registry"
	"yinshzero/rules"
)

// matchSimulations is the budget of a model whose player names none.
const matchSimulations = 64

// player returns the maker of the player that text names, for games of v. Models are files, or known to the run in dir.
// Engines in other processes are told at each turn what goes says, and must answer within timeout.
func player(text, dir string, v rules.Variant, goes string, timeout time.Duration) (arena.Maker, error) {
	spec, err := arena.ParseSpec(text)
	if err != nil {
		return nil, &usageError{err}
	}
	return spec.Maker(func(s arena.Spec) (arena.Maker, error) {
		if s.Kind == arena.SpecCommand {
			p := engine.PlayerParams{Command: s.Command, Variant: v, Go: goes, Timeout: timeout}
			return func() (arena.Player, error) { return engine.NewPlayer(p) }, nil
		}
		o, err := parseOptions(s.Options)
		if err != nil {
			return nil, usagef("player %q: %v", text, err)
		}
		w, err := weights(s.Model, dir, v)
		if err != nil {
			return nil, fmt.Errorf("player %q: %w", text, err)
		}
		program, err := o.infer.Compile(w, v)
		if err != nil {
			return nil, fmt.Errorf("player %q: %w", text, err)
		}
		return func() (arena.Player, error) {
			return o.player(program.Clone(), s)
		}, nil
	})
}

// weights loads a model: the one that is built in for games of v, a file, or what the registry of the run in dir finds under
// the name.
func weights(name, dir string, v rules.Variant) (*net.Weights, error) {
	if name == builtin.Name {
		return builtin.Load(v)
	}
	if dir == "" {
		w, err := net.Load(name)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: for best, or a model named by its SHA-256, add the run with --dir", err)
		}
		return w, err
	}
	if _, err := os.Stat(name); err == nil {
		return net.Load(name)
	}
	if err := isRun(dir); err != nil {
		return nil, err
	}
	models, err := registry.Open(filepath.Join(dir, "models"))
	if err != nil {
		return nil, err
	}
	entry, err := models.Find(name)
	if err != nil {
		return nil, err
	}
	return net.Load(models.Path(entry.ID))
}

// isRun returns an error unless dir holds a run.
func isRun(dir string) error {
	if err := notFile(dir); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, configName)); err != nil {
		return fmt.Errorf("%s holds no run: %w", dir, err)
	}
	return nil
}

// notFile returns an error if there is something at dir that is no directory.
func notFile(dir string) error {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is a file: want a directory, --dir DIR", dir)
	}
	return nil
}
