package builtin_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"
	"time"

	"yinshzero/builtin"
	"yinshzero/rules"
)

// Every model is the one that its card tells of, which says how old and how strong it is, and all named Variants have one.
func TestCards(t *testing.T) {
	cards := builtin.Cards()
	if len(cards) != len(rules.Variants()) {
		t.Errorf("%d models for %d Variants", len(cards), len(rules.Variants()))
	}
	for i, v := range rules.Variants() {
		c := cards[i]
		if c.Variant != v.String() {
			t.Errorf("card %d is for %s, want %v", i, c.Variant, v)
		}
		file, err := os.ReadFile(c.Variant + ".safetensors")
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(file); hex.EncodeToString(sum[:]) != c.SHA256 {
			t.Errorf("%s: the card is for another file than %x", c.Variant, sum)
		}
		trained, err := time.Parse(time.DateOnly, c.Trained)
		if err != nil || trained.After(time.Now()) {
			t.Errorf("%s: trained %q", c.Variant, c.Trained)
		}
		if c.Opponent == "" || c.Hours <= 0 || c.Games <= 0 || c.Steps <= 0 || c.Simulations <= 0 || c.Pairs <= 0 {
			t.Errorf("%s: the card leaves something out: %+v", c.Variant, c)
		}
		if !(c.EloLow <= c.Elo && c.Elo <= c.EloHigh) {
			t.Errorf("%s: Elo %v outside of its interval", c.Variant, c)
		}
		t.Logf("%s: trained %s, %.1f hours, %d games, %d steps; at %d simulations Elo %+.0f [%+.0f, %+.0f] over %s",
			c.Variant, c.Trained, c.Hours, c.Games, c.Steps, c.Simulations, c.Elo, c.EloLow, c.EloHigh, c.Opponent)
	}
	if _, err := builtin.Load(rules.Variant{Radius: 4, Rings: 4, Markers: 35, RowLength: 5, RingsToWin: 2}); err == nil || !strings.Contains(err.Error(), "standard blitz mini") {
		t.Errorf("for a Variant that has no model: %v", err)
	}
}
