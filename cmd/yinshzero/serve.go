package main

import (
	"fmt"
	"net"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"yinshzero/engine"
	"yinshzero/web"
	"yinshzero/web/desk"
)

// shelfSize is how many models an engine or the server keeps ready.
const shelfSize = 6

func newServe() *cobra.Command {
	p := desk.Params{Engine: engine.DefaultParams(), Limits: desk.DefaultLimits()}
	s := web.Params{Limits: web.DefaultLimits()}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Play, analyse and review games in the browser",
		Long: `Serve a page on which to play against a model, to analyse and to review games, until Ctrl-C. It needs no network, and no
other program. With --dir there is a page about that training run too, and the best model is followed as it changes.

On an address that other machines can reach everyone has to bring a token, which is part of the address that is printed.`,
		Example: `  yinshzero serve
  yinshzero serve --dir runs/standard
  yinshzero serve --model best.safetensors --addr 0.0.0.0:8080`,
		Args: cobra.NoArgs,
	}
	addr := c.Flags().String("addr", "127.0.0.1:8080", "where to serve, `HOST:PORT`")
	model := c.Flags().String("model", "", "the model to play against: a file, uniform, which knows nothing, or built-in; with --dir also best, which is then taken without --model, or a prefix of a SHA-256 in the run")
	c.Flags().StringVar(&s.Run, "dir", "", "the run that model names refer to, and that has a page")
	c.Flags().StringVar(&s.Token, "token", "", "ask everyone for this token of at least 12 characters; made by chance, if missing, where other machines can reach the page")
	c.Flags().IntVar(&s.Limits.Searches, "threads", max(4, runtime.NumCPU()), "searches at once, 1 to 256")
	c.Flags().IntVar(&p.Limits.Simulations, "max-simulations", p.Limits.Simulations, "of a search that somebody asks for, 1 to 1000000000")
	most := c.Flags().Duration("max-time", time.Minute, "of a search that somebody asks for, such as 30s")
	variant := addVariant(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		host, _, err := net.SplitHostPort(*addr)
		switch {
		case err != nil:
			return usagef("addr %q: want HOST:PORT, such as 127.0.0.1:8080", *addr)
		case s.Token != "" && len(s.Token) < 12:
			return usagef("a token of %d characters: want at least 12", len(s.Token))
		case *most < time.Millisecond:
			return usagef("max-time is %v: want 1ms or more", *most)
		}
		if err := inRange("threads", s.Limits.Searches, 1, engine.MaxThreads); err != nil {
			return err
		}
		source, err := newModelSource(*model, s.Run, p.Engine.Infer)
		if err != nil {
			return err
		}
		if !c.Flags().Changed("variant") {
			variant.Variant = source.variant
		}
		if s.Loopback = web.IsLoopback(host); !s.Loopback && s.Token == "" {
			s.Token = web.NewToken()
		}
		s.Limits.ClientSearches = min(s.Limits.ClientSearches, s.Limits.Searches)
		p.Limits.Seconds = most.Seconds()
		p.Engine.Version, p.Engine.Variant, p.Run = build(), variant.Variant, s.Run != ""
		p.Models, p.Engine.Load = source.list, engine.Remember(shelfSize, source.meaning, source.load)
		if s.Desk, err = desk.New(p); err != nil {
			return &usageError{err}
		}
		if models := source.list(); len(models) > 0 { // a run may have none yet
			if _, err := p.Engine.Load(models[0].Name, variant.Variant); err != nil {
				return err
			}
		}
		handler, err := web.Handler(s)
		if err != nil {
			return err
		}
		ctx, cancel := untilSignal(c)
		defer cancel()
		l, err := net.Listen("tcp", *addr)
		if err != nil {
			return fmt.Errorf("%w: want another --addr", err)
		}
		fmt.Fprintf(c.OutOrStdout(), "open %s (Ctrl-C ends)\n", web.URL(l.Addr(), s.Token))
		return web.Serve(ctx, l, handler)
	}
	return c
}
