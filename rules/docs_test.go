package rules_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"yinshzero/rules"
)

// Every Move, turn and game in docs/rules.md can be read, and so can the start of the standard game.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	v := rules.Standard()
	move := regexp.MustCompile("^x?[a-k][0-9]|^pass$")
	moves, positions := 0, 0
	for _, span := range regexp.MustCompile("`[^`\n]+`").FindAllString(string(text), -1) {
		span = strings.Trim(span, "`")
		switch {
		case move.MatchString(span):
			for word := range strings.SplitSeq(strings.ReplaceAll(span, "x", ";x"), ";") {
				if _, err := v.ParseMove(word); err != nil && word != "" {
					t.Errorf("%s: %v", span, err)
				}
				moves++
			}
		case strings.HasPrefix(span, "/"):
			p, err := rules.ParsePosition(strings.Repeat(".", rules.NumPoints) + span)
			if err != nil || p != rules.New(v) {
				t.Errorf("%s is not the start: %v", span, err)
			}
			positions++
		}
	}
	if moves < 10 || positions != 1 {
		t.Errorf("%d moves, %d positions: want 10 or more, 1", moves, positions)
	}
	games := strings.Join(regexp.MustCompile("(?m)^    example .*\n").FindAllString(string(text), -1), "")
	list, turns, _ := strings.Cut(strings.ReplaceAll(games, "    ", ""), "\n")
	for f, in := range map[rules.Format]string{rules.FormatMoves: list, rules.FormatTurns: turns} {
		for to, want := range map[rules.Format]string{rules.FormatMoves: list + "\n", rules.FormatTurns: turns} {
			var b bytes.Buffer
			if ok, _, err := rules.Convert(&b, to, strings.NewReader(in), f, noFault(t)); ok != 1 || err != nil {
				t.Errorf("%v: ok=%d, %v: want 1", f, ok, err)
			}
			wantText(t, "game", b.String(), want)
		}
	}
}
