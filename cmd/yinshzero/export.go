package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"yinshzero/builtin"
	"yinshzero/net"
	"yinshzero/net/onnx"
	"yinshzero/rules"
	page "yinshzero/web"
	"yinshzero/web/static"
)

func newExport() *cobra.Command {
	c := &cobra.Command{
		Use:   "export",
		Short: "Write a model as ONNX for other programs, or as a page to play against it that anyone can host",
		Long: `Write a model as an ONNX file, and beside it a JSON file of the same name that says what goes in and what comes out; the
ONNX file's metadata say the same. docs/models.md tells how to use them.

With --web it is a page instead, on which to play against the model, to analyse and to review games: a folder for any web
server. The search and the network run in the visitor's browser; the folder's README.txt tells how to try it. A folder that
is there must be empty, or such a page, which is replaced.

A model is a file, or built-in; with --dir it may also be a prefix of a SHA-256 in the run, or best. The description names
the variants that the model was trained for: the run's own, or for a model that is built in the standard game, unless
--variant says others.`,
		Example: `  yinshzero export --web public
  yinshzero export --dir runs/standard
  yinshzero export --dir runs/standard --model 0123456789ab --onnx strong.onnx
  yinshzero export --model best.safetensors --variant mini --onnx mini.onnx
  yinshzero export --dir runs/standard --web public`,
		Args: cobra.NoArgs,
	}
	model := c.Flags().String("model", "", "the model; without it the best of the run in --dir, or the one built in")
	dir := c.Flags().String("dir", "", "the run that model names refer to")
	path := c.Flags().String("onnx", "model.onnx", "the `FILE` to write; its description gets the ending .json")
	web := c.Flags().String("web", "", "the folder `DIR` to write a page to, instead of a file")
	names := c.Flags().StringArray("variant", nil, "a `VARIANT` that the model was trained for: standard, blitz, mini or five numbers; may be repeated")
	force := c.Flags().Bool("force", false, "write over files that are there")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if c.Flags().Changed("web") && *web == "" {
			return usagef("--web is empty: want a folder, such as --web public")
		}
		if *web != "" && (c.Flags().Changed("onnx") || *force) {
			return usagef("--web writes no --onnx, and needs no --force: want one of them")
		}
		if name, ok := strings.CutSuffix(filepath.Base(*path), ".onnx"); !ok || name == "" {
			return usagef("--onnx is %q: want a name that ends in .onnx", *path)
		}
		name := modelName(*model, *dir)
		variants, err := trainedFor(*names, *dir, name)
		if err != nil {
			return err
		}
		if name == builtin.Name && len(variants) > 1 {
			return usagef("a model that is built in is for one variant: want one --variant")
		}
		w, err := weights(name, *dir, variants[0])
		if err != nil {
			return err
		}
		source := onnx.Source{Product: "yinshzero " + build(), Variants: variants}
		if *web != "" {
			return exportPage(c, *web, w, source)
		}
		beside := onnx.DescriptionPath(*path)
		if !*force {
			if err := absent(*path, beside); err != nil {
				return err
			}
		}
		f, err := onnx.Encode(w, source)
		if err != nil {
			return err
		}
		if err := f.Save(*path); err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s: model %s, arch %s; %s describes it\n", *path, f.Description.Model[:12], f.Description.Arch, beside)
		return err
	}
	return c
}

// exportPage writes the page with w to dir.
func exportPage(c *cobra.Command, dir string, w *net.Weights, s onnx.Source) error {
	model, err := static.Write(dir, page.Page(), w, s)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s: a page for model %s, arch %s; put it on any web server, README.txt tells more\n", dir, model[:12], w.Arch())
	return err
}

// trainedFor returns the Variants named, or else that of the run in dir, or the standard game for a model that is built in.
func trainedFor(names []string, dir, model string) (variants []rules.Variant, err error) {
	if len(names) == 0 && model == builtin.Name {
		return []rules.Variant{rules.Standard()}, nil
	}
	if len(names) == 0 {
		if dir == "" {
			return nil, usagef("want the variant that the model was trained for, such as --variant standard, or its run with --dir")
		}
		if err := isRun(dir); err != nil {
			return nil, err
		}
		name, err := variantOf(filepath.Join(dir, configName))
		if err != nil {
			return nil, err
		}
		names = []string{name}
	}
	for _, name := range names {
		v, err := rules.ParseVariant(name)
		if err != nil {
			return nil, &usageError{err}
		}
		if slices.ContainsFunc(variants, v.Same) {
			return nil, usagef("variant %q is named twice", name)
		}
		variants = append(variants, v)
	}
	return variants, nil
}

// absent returns an error if one of the files is there.
func absent(paths ...string) error {
	for _, p := range paths {
		_, err := os.Lstat(p)
		if err == nil {
			return fmt.Errorf("%s exists: choose another name with --onnx, or write over it with --force", p)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
