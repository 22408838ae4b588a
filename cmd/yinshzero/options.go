package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"yinshzero/arena"
	"yinshzero/infer"
	"yinshzero/mcts"
	"yinshzero/net"
	"yinshzero/rules"
)

// options say how a model plays a match.
type options struct {
	search mcts.Params
	infer  infer.Params
	forget bool // every Move begins a new tree
}

// optionsHelp is what a command's help says about parseOptions.
const optionsHelp = `Options of a model, separated by commas, stand between FILE and @:
  root=gumbel|puct   the search (puct)         reuse=on|off       keep the tree from Move to Move (on)
  c_puct=X  fpu=X  lcb=X                       solver=on|off      proven results climb (on)
  considered=N  c_visit=X  c_scale=X           cache=N            evaluations kept (20000)
  cores=N            one tree on N cores (1)   symmetry=on|off    evaluate under a random symmetry (off)
  batch=N            leaves judged together    root_symmetry=on|off  average the root over all twelve (off)
                     (1, or 4 a core)          int8=on|off        in 8-bit integers where the machine has
                                                                  AVX-512 VNNI (on)`

// parseOptions reads the options of a model, separated by commas.
func parseOptions(text string) (options, error) {
	o := options{search: matchSearch(), infer: infer.DefaultParams()}
	o.infer.Symmetry = false
	batch := false
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		if text == "" {
			break
		}
		key, value, _ := strings.Cut(part, "=")
		if seen[key] {
			return o, fmt.Errorf("option %s is there twice", key)
		}
		seen[key] = true
		batch = batch || key == "batch"
		if err := o.set(key, value); err != nil {
			return o, fmt.Errorf("option %q: %w", part, err)
		}
	}
	if !batch && o.infer.Cores > 1 {
		o.search.Batch = min(4*o.infer.Cores, 256)
	}
	return o, errors.Join(o.search.Validate(), o.infer.Validate())
}

// set sets one option.
func (o *options) set(key, value string) (err error) {
	number := func(to *float64) { *to, err = strconv.ParseFloat(value, 64) }
	whole := func(to *int) { *to, err = strconv.Atoi(value) }
	onOff := func(to *bool, on bool) {
		switch value {
		case "on":
			*to = on
		case "off":
			*to = !on
		default:
			err = errors.New("want on or off")
		}
	}
	p := &o.search
	switch key {
	case "root":
		err = p.Root.UnmarshalText([]byte(value))
	case "considered":
		whole(&p.Considered)
	case "c_visit":
		number(&p.CVisit)
	case "c_scale":
		number(&p.CScale)
	case "c_puct":
		number(&p.CPuct)
	case "fpu":
		number(&p.FPU)
	case "lcb":
		number(&p.LCB)
	case "batch":
		whole(&p.Batch)
	case "cores":
		whole(&o.infer.Cores)
	case "cache":
		whole(&o.infer.CacheSize)
	case "solver":
		onOff(&p.Solver, true)
	case "reuse":
		onOff(&o.forget, false)
	case "symmetry":
		onOff(&o.infer.Symmetry, true)
	case "root_symmetry":
		onOff(&o.infer.AverageRoot, true)
		p.FreshRoot = o.infer.AverageRoot
	case "int8":
		onOff(&o.infer.Int8, true)
	default:
		err = errors.New("there is none of this name: see --help")
	}
	return err
}

// player makes a player with the budget of s over program, which it takes over.
func (o *options) player(program *net.Program, s arena.Spec) (arena.Player, error) {
	searcher := mcts.New(infer.New(program, o.infer), o.search)
	makePlayer := func() (*arena.Search, error) { return arena.NewTimed(searcher, s.Time) }
	if s.Time == 0 {
		simulations := s.Simulations
		if simulations == 0 {
			simulations = matchSimulations
		}
		makePlayer = func() (*arena.Search, error) { return arena.NewSearch(searcher, simulations) }
	}
	p, err := makePlayer()
	switch {
	case err != nil:
		return nil, err
	case o.forget:
		return forgetful{searcher, p}, nil
	}
	return p, nil
}

// forgetful is a Player that follows no game: its tree begins anew at every Move.
type forgetful struct {
	searcher *mcts.Searcher
	arena.Player
}

// Move implements arena.Player.
func (f forgetful) Move(ctx context.Context, pos rules.Position, rng *rand.Rand) (rules.Move, error) {
	f.searcher.Reset()
	return f.Player.Move(ctx, pos, rng)
}
