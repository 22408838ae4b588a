// Package builtin holds the models that the program carries, so that it plays without a run: small networks, one for each
// Variant that people play, and what is known of each.
//
// A Card tells how a model came to be and how strong it was found; the weights are a file beside it. Both are part of the
// program. The package knows no search and no run.
package builtin

import (
	"embed"
	"encoding/json"
	"fmt"

	"yinshzero/net"
	"yinshzero/rules"
)

// Name is what a model of this package is called where models are named.
const Name = "built-in"

//go:embed cards.json *.safetensors
var files embed.FS

// A Card says what is known of a model.
type Card struct {
	Variant     string  `json:"variant"`     // its name, such as blitz
	SHA256      string  `json:"sha256"`      // of the file, in hexadecimal
	Trained     string  `json:"trained"`     // the day on which its training ended, YYYY-MM-DD
	Hours       float64 `json:"hours"`       // that the run took, on two shared cores
	Games       int     `json:"games"`       // of self-play until then
	Steps       int     `json:"steps"`       // of training
	Opponent    string  `json:"opponent"`    // whom it was measured against, as matches name players
	Simulations int     `json:"simulations"` // of the model, a Move, in that match
	Pairs       int     `json:"pairs"`       // of games in that match
	Elo         float64 `json:"elo"`         // over the opponent
	EloLow      float64 `json:"elo_low"`     // the lower end of its 95 % interval
	EloHigh     float64 `json:"elo_high"`    // the upper end
}

// Cards are those of all models, the standard game's first.
func Cards() []Card {
	text, err := files.ReadFile("cards.json")
	if err != nil {
		panic(err) // it is embedded
	}
	var cards []Card
	if err := json.Unmarshal(text, &cards); err != nil {
		panic(err) // a test reads it
	}
	return cards
}

// Load returns the weights of the model for games of v, and an error that names the others if there is none.
func Load(v rules.Variant) (*net.Weights, error) {
	var names []string
	for _, c := range Cards() {
		of, err := rules.ParseVariant(c.Variant)
		if err != nil {
			return nil, err
		}
		if of.Same(v) {
			file, err := files.ReadFile(c.Variant + ".safetensors")
			if err != nil {
				return nil, err
			}
			return net.Read(file)
		}
		names = append(names, c.Variant)
	}
	return nil, fmt.Errorf("there is no built-in model for %v, only for %v: name another", v, names)
}
