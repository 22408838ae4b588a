package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"yinshzero/rules"
)

// The clients of examples/ play a game to its end, and all the same one.
func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	goclient := filepath.Join(t.TempDir(), "goclient.exe")
	if out, err := exec.Command("go", "build", "-o", goclient, "../../examples/goclient").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	first := ""
	for _, client := range [][]string{{goclient}, {"python3", "../../examples/play.py"}, {"node", "../../examples/play.mjs"}} {
		t.Run(filepath.Base(client[0]), func(t *testing.T) {
			if _, err := exec.LookPath(client[0]); err != nil {
				t.Skip("nothing to run the client with: ", err)
			}
			run := func(args ...string) (string, string, error) {
				c := exec.Command(client[0], append(append(client[1:len(client):len(client)], "yinshzero", "engine", "--protocol", "json"), args...)...)
				var out, log bytes.Buffer
				c.Stdout, c.Stderr = &out, &log
				err := c.Run()
				return out.String(), log.String(), err
			}
			moves, log, err := run("--model", "uniform", "--variant", "mini")
			if err != nil {
				t.Fatalf("%v\n%s", err, log)
			}
			pos := rules.New(rules.Mini())
			for word := range strings.FieldsSeq(moves) {
				m, err := pos.ParseMove(word)
				if err != nil {
					t.Fatal(err)
				}
				pos.Play(m)
			}
			if _, over := pos.Result(); !over {
				t.Errorf("the game is not over after %q", moves)
			}
			if first == "" {
				first = moves
			}
			if moves != first {
				t.Errorf("got %q, want %q, as the first client", moves, first)
			}
			if lines := strings.Count(log, "\n"); lines != len(strings.Fields(moves)) {
				t.Errorf("%d lines tell of %d Moves:\n%s", lines, len(strings.Fields(moves)), log)
			}
			if _, log, err := run("--model", "nosuch"); err == nil || !strings.Contains(log, `model "nosuch"`) {
				t.Errorf("without a model: %v\n%s", err, log)
			}
		})
	}
}
