package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"yinshzero/engine"
	"yinshzero/infer"
	"yinshzero/rules"
)

func newEngine() *cobra.Command {
	p := engine.DefaultParams()
	c := &cobra.Command{
		Use:   "engine",
		Short: "Play and analyse for another program, over standard input and output",
		Long: `Speak with a front end until it says quit or closes standard input: with --protocol ugi the Universal Game Interface, by
which tournament programs play matches; with --protocol json one object a line, many queries at once, after KataGo's
analysis engine. docs/protocol.md describes both.

A model is a file, built-in, which is taken without --model, or uniform, which knows nothing but the rules; with --dir also
best, which is then taken without --model, or a prefix of a SHA-256 in the run.`,
		Example: `  yinshzero engine --threads 2
  yinshzero engine --protocol json --dir runs/standard --threads 4
  yinshzero match --a "cmd:yinshzero engine --model uniform" --b uct:200 --go "nodes 200" --variant mini`,
		Args: cobra.NoArgs,
	}
	protocol := c.Flags().String("protocol", "ugi", "ugi or json")
	dir := c.Flags().String("dir", "", "the run that model names refer to")
	c.Flags().StringVar(&p.Model, "model", "", "the model that judges positions")
	c.Flags().IntVar(&p.Threads, "threads", p.Threads, "ugi: cores that share one search; json: searches at once; 1 to 256")
	c.Flags().IntVar(&p.Simulations, "simulations", p.Simulations, "of a search that is set no limit, 1 to 1000000000")
	c.Flags().Uint64Var(&p.Seed, "seed", p.Seed, "decides what is left to chance")
	variant := addVariant(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		speak := map[string]func(context.Context, io.Reader, io.Writer, engine.Params) error{"ugi": engine.UGI, "json": engine.JSON}[*protocol]
		if speak == nil {
			return usagef("protocol %q: want ugi or json", *protocol)
		}
		p.Model = modelName(p.Model, *dir)
		if err := errors.Join(
			inRange("threads", p.Threads, 1, engine.MaxThreads), inRange("simulations", p.Simulations, 1, engine.MaxSimulations),
		); err != nil {
			return err
		}
		p.Version, p.Variant = build(), variant.Variant
		asIs := func(name string) (string, error) { return name, nil }
		p.Load = engine.Remember(shelfSize, asIs, func(name string, v rules.Variant) (engine.Model, error) {
			return engineModel(name, *dir, p.Infer, v)
		})
		return speak(c.Context(), c.InOrStdin(), c.OutOrStdout(), p)
	}
	return c
}

// engineModel loads a model for games of v.
func engineModel(name, dir string, p infer.Params, v rules.Variant) (engine.Model, error) {
	if name == uniformModel {
		return engine.Model{Name: name}, nil
	}
	w, err := weights(name, dir, v)
	if err != nil {
		return engine.Model{}, fmt.Errorf("model %q: %w", name, err)
	}
	program, err := p.Compile(w, v)
	if err != nil {
		return engine.Model{}, fmt.Errorf("model %q: %w", name, err)
	}
	return engine.Compiled(name, program), nil
}
