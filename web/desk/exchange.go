package desk

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"yinshzero/rules"
)

// What one text may hold.
const (
	MaxGames  = 1000 // that are told of
	MaxFaults = 100
)

// A readQuestion asks for the games of a text.
type readQuestion struct {
	Text string `json:"text"`
	Name string `json:"name"` // of the file, for the faults
}

type readAnswer struct {
	Games  []readGame `json:"games"`
	Faults []string   `json:"faults"`
}

// A readGame is a game that somebody has played.
type readGame struct {
	ID       string         `json:"id"`
	Variant  string         `json:"variant"`
	Moves    []string       `json:"moves"`
	Names    bySide[string] `json:"names"`
	Result   string         `json:"result"`
	Resigned bool           `json:"resigned"`
}

func (d *Desk) read(_ context.Context, q *readQuestion) (*readAnswer, error) {
	a := &readAnswer{Games: []readGame{}, Faults: []string{}}
	games, faults := 0, 0
	game := func(g *rules.Game) error {
		if _, err := g.Replay(); err != nil {
			return err
		}
		if games++; games > MaxGames {
			return nil
		}
		r := readGame{
			ID: g.ID, Variant: g.Variant.String(), Moves: []string{}, Names: bySide[string]{g.Names[rules.White], g.Names[rules.Black]},
			Result: "unknown", Resigned: g.Resigned,
		}
		if g.Outcome != rules.Unfinished {
			r.Result = g.Outcome.String()
		}
		for _, m := range g.Moves {
			r.Moves = append(r.Moves, g.Variant.MoveText(m))
		}
		a.Games = append(a.Games, r)
		return nil
	}
	tell := func(text string) {
		if q.Name != "" {
			text = abridge(q.Name) + ": " + text
		}
		a.Faults = append(a.Faults, text)
	}
	fault := func(f rules.Fault) {
		if faults++; faults <= MaxFaults {
			tell(f.Error())
		}
	}
	var err error
	switch in := strings.NewReader(q.Text); formatOf(q.Text) {
	case rules.FormatSGF:
		_, _, err = rules.ReadSGF(in, 1, game, fault)
	case rules.FormatTrace:
		_, _, err = rules.ReadTrace(in, nil, game, fault)
	default:
		_, _, err = rules.ReadTurns(in, game, fault)
	}
	switch {
	case err != nil:
		return nil, &Error{Message: err.Error(), Kind: Failed}
	case games == 0 && faults == 0:
		tell("there is no game in it: want SGF, a trace, a turn list or a move list")
	}
	if n := faults - MaxFaults; n > 0 {
		tell(fmt.Sprintf("and %d more faults", n))
	}
	if n := games - MaxGames; n > 0 {
		tell(fmt.Sprintf("%d more games are left out: there are %d, and at most %d are read", n, games, MaxGames))
	}
	return a, nil
}

// formatOf is the Format that a text is in, by what it begins with. A turn list may have single Moves in the place of turns, so
// that a move list is one.
func formatOf(text string) rules.Format {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0][0] == '#':
			continue
		case len(words) >= 3 && (words[1] == "0" || words[1] == "END"):
			return rules.FormatTrace
		case len(words) >= 4 && (words[2] == "played" || words[2] == "resign"):
			return rules.FormatTurns
		case strings.Contains(text, "("):
			return rules.FormatSGF
		}
		break
	}
	return rules.FormatTurns
}

// A writeQuestion asks for a game as text.
type writeQuestion struct {
	Game   game           `json:"game"`
	Format string         `json:"format"`
	ID     string         `json:"id"`
	Names  bySide[string] `json:"names"`
	Result string         `json:"result"` // W or B, if the other side has resigned
}

type writeAnswer struct {
	Text string `json:"text"`
}

func (d *Desk) write(_ context.Context, q *writeQuestion) (*writeAnswer, error) {
	r, err := d.replay(&q.Game)
	if err != nil {
		return nil, err
	}
	f, err := rules.ParseFormat(q.Format)
	if err != nil {
		return nil, badf("format", "%v", err)
	}
	v := r.start.Variant()
	if r.start != rules.New(v) {
		return nil, badf("game.start", "a game that begins at a position has no text as %v: want one from the empty board", f)
	}
	if q.ID == "" {
		q.ID = "game"
	}
	if strings.HasPrefix(q.ID, "#") || len(strings.Fields(q.ID)) != 1 || strings.TrimSpace(q.ID) != q.ID || len(q.ID) > 100 {
		return nil, badf("id", "%q: want a word of at most 100 bytes that does not begin with #", abridge(q.ID))
	}
	g := rules.Game{ID: q.ID, Variant: v, Moves: r.moves, Names: [2]string{q.Names.W, q.Names.B}}
	res, over := r.last().Result()
	switch {
	case over && q.Result != "" && q.Result != res.Outcome.String():
		return nil, badf("result", "%q, but the moves end in %v", abridge(q.Result), res.Outcome)
	case over:
		g.Outcome = res.Outcome
	case q.Result == "":
	case q.Result == "W":
		g.Outcome, g.Resigned = rules.WhiteWins, true
	case q.Result == "B":
		g.Outcome, g.Resigned = rules.BlackWins, true
	default:
		return nil, badf("result", "%q: want W or B, or nothing", abridge(q.Result))
	}
	var b bytes.Buffer
	if err := f.Write(&b, &g); err != nil {
		return nil, badf("format", "%v", err)
	}
	return &writeAnswer{b.String()}, nil
}
