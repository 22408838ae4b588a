package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"yinshzero/rules"
)

const (
	// defaultHash is the memory of a tree until Hash is set, in MiB.
	defaultHash = 512
	// maxHash is the most: 16 million nodes.
	maxHash = 15625
)

// nodesIn is how many nodes of a tree go into so many MiB, at about 1 KiB each.
func nodesIn(hash int) int { return hash * 1024 }

// options are what UGI's setoption sets.
type options struct {
	model       string
	variant     rules.Variant
	threads     int
	hash        int // MiB
	multiPV     int
	simulations int
	temperature float64
	symmetries  string
	moveFormat  string
	seed        uint64
}

// Values of options.symmetries and options.moveFormat.
const (
	symmetryNone   = "none"   // the network sees each Position as it is
	symmetryRandom = "random" // under a symmetry that hangs on the Position and the seed
	symmetryRoot   = "root"   // as it is, but the Position to move in under all twelve
	formatTurn     = "turn"   // moves are whole turns
	formatPly      = "ply"    // moves are single Moves
)

// An option is one of UGI's options.
type option struct {
	name, kind string // kind as UGI says it, then what its values may be
	get        func(o *options) string
	set        func(o *options, value string) error
}

// ugiOptions are all options, in the order in which they are told.
var ugiOptions = []option{
	{"Model", "string", func(o *options) string { return o.model }, func(o *options, s string) error {
		o.model = s
		return nil
	}},
	{"Variant", "string", func(o *options) string { return o.variant.String() }, func(o *options, s string) (err error) {
		o.variant, err = rules.ParseVariant(s)
		return err
	}},
	spin("Threads", 1, MaxThreads, func(o *options) *int { return &o.threads }),
	spin("Hash", 1, maxHash, func(o *options) *int { return &o.hash }),
	spin("MultiPV", 1, rules.MaxMoves, func(o *options) *int { return &o.multiPV }),
	spin("Simulations", 1, MaxSimulations, func(o *options) *int { return &o.simulations }),
	{"Temperature", "string", func(o *options) string { return strconv.FormatFloat(o.temperature, 'g', -1, 64) }, func(o *options, s string) error {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			x = math.NaN()
		}
		if err := checkTemperature(x); err != nil {
			return err
		}
		o.temperature = math.Abs(x)
		return nil
	}},
	combo("Symmetries", func(o *options) *string { return &o.symmetries }, symmetryNone, symmetryRandom, symmetryRoot),
	combo("MoveFormat", func(o *options) *string { return &o.moveFormat }, formatTurn, formatPly),
	{"Seed", "string", func(o *options) string { return strconv.FormatUint(o.seed, 10) }, func(o *options, s string) error {
		x, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return errors.New("want a whole number from 0 to 18446744073709551615")
		}
		o.seed = x
		return nil
	}},
}

// spin is an option with a whole number.
func spin(name string, low, high int, at func(*options) *int) option {
	return option{name, fmt.Sprintf("spin min %d max %d", low, high),
		func(o *options) string { return strconv.Itoa(*at(o)) },
		func(o *options, s string) error {
			n, err := strconv.Atoi(s)
			if err != nil || n < low || n > high {
				return fmt.Errorf("want a whole number from %d to %d", low, high)
			}
			*at(o) = n
			return nil
		}}
}

// combo is an option with one of several words.
func combo(name string, at func(*options) *string, words ...string) option {
	return option{name, "combo var " + strings.Join(words, " var "),
		func(o *options) string { return *at(o) },
		func(o *options, s string) error {
			if !slices.Contains(words, s) {
				return fmt.Errorf("want %s", strings.Join(words, " or "))
			}
			*at(o) = s
			return nil
		}}
}

// text is the line that tells of the option.
func (p option) text(o *options) string {
	kind, more, _ := strings.Cut(p.kind, " ")
	return strings.TrimSpace(fmt.Sprintf("option name %s type %s default %s %s", p.name, kind, p.get(o), more))
}

// set reads what follows setoption: name N value V. Names are read in any case. If it fails, nothing has changed.
func (o *options) set(text string) (option, error) {
	name, value, _ := strings.Cut(text, " value ")
	name, named := strings.CutPrefix(name, "name ")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !named || value == "" {
		return option{}, errors.New("want setoption name N value V")
	}
	i := slices.IndexFunc(ugiOptions, func(p option) bool { return strings.EqualFold(p.name, name) })
	if i < 0 {
		var names []string
		for _, p := range ugiOptions {
			names = append(names, p.name)
		}
		return option{}, fmt.Errorf("no option %q: want %s", abridge(name), strings.Join(names, ", "))
	}
	changed := *o
	if err := ugiOptions[i].set(&changed, value); err != nil {
		return option{}, fmt.Errorf("option %s: value %q: %w", ugiOptions[i].name, abridge(value), err)
	}
	*o = changed
	return ugiOptions[i], nil
}
