package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"yinshzero/rules"
)

// actor is the environment variable that makes this test binary an engine of some kind.
const actor = "YINSHZERO_TEST_ENGINE"

func TestMain(m *testing.M) {
	kind := os.Getenv(actor)
	if kind == "" {
		os.Exit(m.Run())
	}
	if kind == "good" {
		if err := UGI(context.Background(), os.Stdin, os.Stdout, uniform()); err != nil {
			os.Exit(1)
		}
		return
	}
	act(kind)
}

// act is an engine with a fault. It ends with its input.
func act(kind string) {
	for s := bufio.NewScanner(os.Stdin); s.Scan(); {
		word, _, _ := strings.Cut(s.Text(), " ")
		switch {
		case word == "ugi" && kind == "deaf", word == "go" && kind == "hangs", word == "quit" && kind == "stays":
			time.Sleep(time.Hour)
		case word == "ugi":
			if kind != "plain" {
				fmt.Println("option name Variant type string default standard")
			}
			fmt.Println("ugiok")
		case word == "isready":
			fmt.Println("readyok")
		case word == "go" && kind == "crashes":
			fmt.Fprintln(os.Stderr, "out of\npaper")
			os.Exit(7)
		case word == "go" && kind == "cheats":
			fmt.Println("bestmove a1")
		case word == "go" && kind == "gives up":
			fmt.Println("bestmove")
		case word == "go" && kind == "complains":
			fmt.Println("info string error no time")
		case word == "go":
			fmt.Println("info " + strings.Repeat("long ", maxUGILine/4))
			fmt.Println("bestmove c4 and more")
		}
	}
}

// engineOf starts this test binary as an engine.
func engineOf(t *testing.T, kind string, v rules.Variant, timeout time.Duration) (*Player, error) {
	t.Setenv(actor, kind)
	p, err := NewPlayer(PlayerParams{Command: `"` + os.Args[0] + `"`, Variant: v, Go: "nodes 20", Timeout: timeout})
	if err == nil {
		t.Cleanup(func() { _ = p.Close() })
	}
	return p, err
}

// Two engines play whole games in other processes, with rows for both sides, from openings.
func TestPlayers(t *testing.T) {
	v := rules.Variant{Radius: 3, Rings: 3, Markers: 21, RowLength: 4, RingsToWin: 2}
	var sides [2]*Player
	for i := range sides {
		var err error
		if sides[i], err = engineOf(t, "good", v, patience); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 3 {
		pos := rules.New(v)
		for range n {
			pos.Play(pos.AppendMoves(nil)[n])
		}
		for _, p := range sides {
			p.Start(pos)
		}
		for {
			if _, over := pos.Result(); over {
				break
			}
			m, err := sides[pos.ToMove()].Move(t.Context(), pos, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !pos.IsLegal(m) {
				t.Fatalf("%v in %v", m, &pos)
			}
			pos.Play(m)
			for _, p := range sides {
				p.Played(m)
			}
		}
	}
	for _, p := range sides {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Engines with faults are told apart, and none is left.
func TestBadEngines(t *testing.T) {
	const soon = 300 * time.Millisecond
	for kind, want := range map[string]string{
		"deaf":      `no answer to "ugi" within 300ms`,
		"hangs":     `no answer to "go nodes 20" within 300ms`,
		"crashes":   "it ended before it answered \"go nodes 20\": exit status 7; it wrote: out of paper",
		"cheats":    `turn "a1"`,
		"gives up":  "the turn is empty",
		"complains": "it complains: no time",
		"plain":     "it has no option Variant, and the games are mini",
		"stays":     "",
	} {
		timeout := patience
		if kind == "deaf" {
			timeout = soon
		}
		p, err := engineOf(t, kind, rules.Mini(), timeout)
		if err == nil {
			if kind == "hangs" {
				p.params.Timeout = soon
			}
			var m rules.Move
			m, err = p.Move(t.Context(), rules.New(rules.Mini()), nil)
			if err == nil && m.String() != "c4" {
				t.Errorf("%s: plays %v", kind, m)
			}
			p.params.Timeout = soon
			p.Close()
		}
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), strconv.Quote(os.Args[0])[1:8])):
			t.Errorf("%s: got %v, want %s", kind, err, want)
		}
	}
	p, err := engineOf(t, "hangs", rules.Mini(), patience)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Move(ctx, rules.New(rules.Mini()), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want to be cancelled", err)
	}
	if _, err := NewPlayer(PlayerParams{Command: "x"}); err == nil || !strings.Contains(err.Error(), "a timeout of 0s") {
		t.Errorf("got %v", err)
	}
}

func TestSplitCommand(t *testing.T) {
	for text, want := range map[string][]string{
		"a":                        {"a"},
		" a  -b c ":                {"a", "-b", "c"},
		`"a b" 'c "d"' e"f g"h ""`: {"a b", `c "d"`, "ef gh", ""},
		`C:\x\y.exe`:               {`C:\x\y.exe`},
	} {
		if got, err := splitCommand(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{"": "no program", "  ": "no program", `""`: "no program", `a "b`: "a quote \" without its end"} {
		if _, err := splitCommand(text); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}
