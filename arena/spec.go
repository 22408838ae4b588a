package arena

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A SpecKind is a kind of player.
type SpecKind uint8

// The kinds.
const (
	SpecRandom SpecKind = iota
	SpecGreedy
	SpecUCT
	SpecModel   // a search over a model
	SpecCommand // an engine in another process
)

// A Spec names a player. Which fields count depends on Kind; the others are zero.
type Spec struct {
	Kind        SpecKind
	Simulations int           // of UCT, and of a model: 0 if it was left open
	Time        time.Duration // of a model that has a time a Move instead of simulations
	Model       string        // a model's file, hash or standing, as whoever makes the player understands it
	Options     string        // of a model's search, separated by commas, as whoever makes the player understands them
	Command     string        // an engine's command line
}

// Bounds of a Spec's Time.
const (
	minTime = time.Millisecond
	maxTime = time.Hour
)

// ParseSpec reads a player as Spec.String writes it:
//
//	random | greedy | uct:SIMS | model:FILE[,OPTION…][@SIMS|@TIME] | cmd:COMMAND
//
// What follows the last @ of a model is its budget, so a file with an @ in its name needs one; what follows the first comma
// are options. TIME is a number with a unit, such as 250ms.
func ParseSpec(text string) (Spec, error) {
	kind, rest, colon := strings.Cut(text, ":")
	bad := func(format string, args ...any) (Spec, error) {
		return Spec{}, fmt.Errorf("player %q: "+format, append([]any{text}, args...)...)
	}
	if strings.ContainsFunc(text, isControl) {
		return bad("want no control characters")
	}
	switch kind {
	case "random", "greedy":
		if colon {
			return bad("%s takes nothing after it: want %s", kind, kind)
		}
		if kind == "random" {
			return Spec{Kind: SpecRandom}, nil
		}
		return Spec{Kind: SpecGreedy}, nil
	case "uct":
		n, ok := parseSimulations(rest)
		if !ok {
			return bad("want uct:SIMS with 1 to %d simulations, such as uct:200", MaxSimulations)
		}
		return Spec{Kind: SpecUCT, Simulations: n}, nil
	case "model":
		s := Spec{Kind: SpecModel, Model: rest}
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			var ok bool
			if s.Simulations, ok = parseSimulations(rest[at+1:]); !ok {
				if s.Time, ok = parseTime(rest[at+1:]); !ok {
					return bad("%q is no budget: want 1 to %d simulations, or a time of %v to %v, after the last @",
						rest[at+1:], MaxSimulations, minTime, maxTime)
				}
			}
			s.Model = rest[:at]
		}
		var more bool
		if s.Model, s.Options, more = strings.Cut(s.Model, ","); more && s.Options == "" {
			return bad("no option after the comma")
		}
		if s.Model == "" {
			return bad("no model: want model:FILE or model:FILE@SIMS, such as model:best@400")
		}
		return s, nil
	case "cmd":
		if strings.TrimSpace(rest) == "" {
			return bad(`no command: want cmd:COMMAND, such as "cmd:./engine --level 3"`)
		}
		return Spec{Kind: SpecCommand, Command: rest}, nil
	}
	return bad("want random, greedy, uct:SIMS, model:FILE[,OPTION…][@SIMS|@TIME] or cmd:COMMAND")
}

// parseSimulations reads a number in 1 to MaxSimulations in its plain form, without sign or leading zeros.
func parseSimulations(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 1 && n <= MaxSimulations && s == strconv.Itoa(n)
}

// parseTime reads a time as formatTime writes it.
func parseTime(s string) (time.Duration, bool) {
	d, err := time.ParseDuration(s)
	return d, err == nil && d >= minTime && d <= maxTime && s == formatTime(d)
}

// formatTime is 250ms, 2s or 1500ms: whole seconds, or else milliseconds, or else as time writes it.
func formatTime(d time.Duration) string {
	switch {
	case d%time.Second == 0:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d%time.Millisecond == 0:
		return strconv.Itoa(int(d/time.Millisecond)) + "ms"
	}
	return d.String()
}

// isControl reports what may not stand in a player's name: it would break the lines that names are written in.
func isControl(r rune) bool { return r < ' ' || r == 0x7f || r == '\ufffd' }

// String is the text that ParseSpec reads.
func (s Spec) String() string {
	switch s.Kind {
	case SpecRandom:
		return "random"
	case SpecGreedy:
		return "greedy"
	case SpecUCT:
		return "uct:" + strconv.Itoa(s.Simulations)
	case SpecModel:
		text := "model:" + s.Model
		if s.Options != "" {
			text += "," + s.Options
		}
		switch {
		case s.Time > 0:
			text += "@" + formatTime(s.Time)
		case s.Simulations > 0:
			text += "@" + strconv.Itoa(s.Simulations)
		}
		return text
	}
	return "cmd:" + s.Command
}

// Maker makes the players that s names. Models and commands are beyond this package: for those it returns what resolve
// does.
func (s Spec) Maker(resolve func(Spec) (Maker, error)) (Maker, error) {
	switch s.Kind {
	case SpecRandom:
		return func() (Player, error) { return new(Random), nil }, nil
	case SpecGreedy:
		return func() (Player, error) { return new(Greedy), nil }, nil
	case SpecUCT:
		return func() (Player, error) { return NewUCT(s.Simulations) }, nil
	}
	return resolve(s)
}
