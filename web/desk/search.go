package desk

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"yinshzero/engine"
	"yinshzero/rules"
)

// A Level is a strength to play against.
type Level struct {
	Name        string  `json:"name"`
	Simulations int     `json:"simulations"`
	Temperature float64 `json:"temperature"`
}

// Levels are from the weakest to the strongest. The first ones follow what the network thinks at first sight, more or less;
// what they play is bad, but seldom absurd.
func Levels() []Level {
	return []Level{
		{"beginner", 0, 4},
		{"novice", 0, 1.5},
		{"learner", 0, 0.5},
		{"casual", 6, 1},
		{"club", 24, 0.7},
		{"strong", 100, 0.4},
		{"expert", 400, 0},
		{"full", 1600, 0},
	}
}

// engineFor is how the engine searches with a model that was asked for, or with the first one.
func (d *Desk) engineFor(model string) (engine.Params, error) {
	p := d.params.Engine
	models := d.params.Models()
	switch {
	case len(models) == 0:
		return p, &Error{Message: "there is no model", Kind: Failed}
	case model == "":
		model = models[0].Name
	case !slices.ContainsFunc(models, func(m Model) bool { return m.Name == model }):
		return p, badf("model", "%q: there is no such model", abridge(model))
	}
	p.Model = model
	return p, nil
}

// A moveQuestion asks for the rest of a turn.
type moveQuestion struct {
	Game        game    `json:"game"`
	Simulations *int    `json:"simulations"`
	Temperature float64 `json:"temperature"`
	Seed        uint64  `json:"seed"`
	Model       string  `json:"model"`
}

type moveAnswer struct {
	Moves       []string `json:"moves"`
	Winrate     float32  `json:"winrate"`
	Proven      string   `json:"proven,omitempty"`
	Simulations int      `json:"simulations"`
	Cut         bool     `json:"cut"`
	Model       string   `json:"model"`
}

func (d *Desk) move(ctx context.Context, q *moveQuestion) (*moveAnswer, error) {
	r, err := d.replay(&q.Game)
	if err != nil {
		return nil, err
	}
	pos := r.last()
	if _, over := pos.Result(); over {
		return nil, &Error{Message: "the game is over", Field: "game.moves", Rule: gameOver.rule()}
	}
	p, err := d.engineFor(q.Model)
	if err != nil {
		return nil, err
	}
	b := engine.Budget{Simulations: p.Simulations, Temperature: q.Temperature, Seed: q.Seed, Ply: len(r.moves)}
	if q.Simulations != nil {
		b.Simulations = *q.Simulations
	}
	if most := d.params.Limits.Simulations; b.Simulations < 0 || b.Simulations > most {
		return nil, badf("simulations", "%d: want 0 to %d", b.Simulations, most)
	}
	if err := b.Validate(); err != nil {
		return nil, badf("temperature", "%v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, d.params.Limits.time())
	defer cancel()
	got, err := engine.Decide(ctx, *pos, b, p)
	if err != nil {
		return nil, &Error{Message: err.Error(), Kind: Failed}
	}
	a := &moveAnswer{Winrate: (1 + got.Value) / 2, Simulations: got.Simulations, Cut: got.Cut, Model: p.Model}
	if pos.ToMove() == rules.Black {
		a.Winrate = 1 - a.Winrate
	}
	if got.Proven != rules.Unfinished {
		a.Proven = got.Proven.String()
	}
	for _, m := range got.Moves {
		a.Moves = append(a.Moves, pos.Variant().MoveText(m))
	}
	return a, nil
}

// analyse lets the engine answer a query of its own protocol.
func (d *Desk) analyse(ctx context.Context, body []byte, w io.Writer) error {
	var fields map[string]json.RawMessage
	var head struct { // what the desk has to know of the query; the engine tells what is wrong with the rest
		model, rules, start string
	}
	if err := decode(body, &fields); err != nil {
		return err
	}
	if raw, ok := fields["model"]; ok {
		if json.Unmarshal(raw, &head.model) != nil {
			return badf("model", "want a text")
		}
		delete(fields, "model")
	}
	p, err := d.engineFor(head.model)
	if err != nil {
		return err
	}
	_ = json.Unmarshal(fields["rules"], &head.rules)
	_ = json.Unmarshal(fields["initialPosition"], &head.start)
	if v, err := rules.ParseVariant(head.rules); err == nil {
		p.Variant = v
	} else if pos, err := rules.ParsePosition(head.start); err == nil {
		p.Variant = pos.Variant()
	}
	line, err := json.Marshal(fields)
	if err != nil {
		return badf("", "%v", err)
	}
	if err := engine.JSON(ctx, strings.NewReader(string(line)+"\n"), w, p); err != nil && ctx.Err() == nil {
		return &Error{Message: err.Error(), Kind: Failed}
	}
	return ctx.Err()
}

// An aboutQuestion asks what there is.
type aboutQuestion struct{}

type aboutAnswer struct {
	Version  string         `json:"version"`
	Static   bool           `json:"static"`
	Run      bool           `json:"run"`
	Variant  string         `json:"variant"`
	Models   []Model        `json:"models"`
	Levels   []Level        `json:"levels"`
	Variants []aboutVariant `json:"variants"`
	Limits   aboutLimits    `json:"limits"`
}

type aboutVariant struct {
	Name       string `json:"name"`
	Text       string `json:"text"`
	Radius     int8   `json:"radius"`
	Rings      int8   `json:"rings"`
	Markers    int8   `json:"markers"`
	RowLength  int8   `json:"rowLength"`
	RingsToWin int8   `json:"ringsToWin"`
}

type aboutLimits struct {
	Simulations int     `json:"simulations"`
	Seconds     float64 `json:"seconds"`
	Body        int     `json:"body"`
}

func (d *Desk) about(context.Context, *aboutQuestion) (*aboutAnswer, error) {
	p := d.params
	a := &aboutAnswer{
		Version: p.Engine.Version, Static: p.Static, Run: p.Run, Variant: p.Engine.Variant.String(),
		Models: append([]Model{}, p.Models()...), Levels: Levels(),
		Limits: aboutLimits{p.Limits.Simulations, p.Limits.Seconds, MaxBody},
	}
	variants := rules.Variants()
	if v := p.Engine.Variant; !slices.ContainsFunc(variants, v.Same) {
		variants = append(variants, v)
	}
	for _, v := range variants {
		a.Variants = append(a.Variants, aboutVariant{v.Name, v.String(), v.Radius, v.Rings, v.Markers, v.RowLength, v.RingsToWin})
	}
	return a, nil
}
