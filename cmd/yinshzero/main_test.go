package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	network "yinshzero/net"
	"yinshzero/pipeline"
	"yinshzero/registry"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"yinshzero": main})
}

// The scripts run the commands as a user does.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			here, err := os.Getwd()
			if err != nil {
				return err
			}
			e.Setenv("CONFIGS", filepath.Join(here, "../../configs"))
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			e.Setenv("FREE", l.Addr().String()) // an address that nobody listens on
			return l.Close()
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exit": exit, "let": let, "waitfile": waitfile},
		Condition: func(c string) (bool, error) {
			return c == "short" && testing.Short() || c == "root" && os.Getuid() == 0, nil
		},
	})
}

// exit is a script's command: exit CODE PROGRAM ARGS … runs a program that must end with the code.
func exit(ts *testscript.TestScript, _ bool, args []string) {
	got := 0
	var failed *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &failed) {
		got = failed.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// let is a script's command: let NAME FILE sets a variable to what a file, such as stdout, holds.
func let(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile(args[1])))
}

// waitfile is a script's command: waitfile FILE waits until a file is there.
func waitfile(ts *testscript.TestScript, _ bool, args []string) {
	for range 1000 {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	ts.Fatalf("%s does not come", args[0])
}

// An interrupted match tells what was played.
func TestInterruptedMatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, format := range []string{"--json", "--json=false"} {
		root := newRoot()
		var out strings.Builder
		root.SetOut(&out)
		root.SetArgs([]string{"match", "--a", "uct:50", "--b", "random", "--variant", "mini", "--pairs", "1000", format})
		err := root.ExecuteContext(ctx)
		if err == nil || !strings.HasPrefix(err.Error(), "interrupted after 0 of 1000 pairs") {
			t.Errorf("got %v, want to be interrupted", err)
		}
		if want := map[string]string{"--json": `"pairs":0,`, "--json=false": "in 0 pairs"}[format]; !strings.Contains(out.String(), want) {
			t.Errorf("got %q, want %s", out.String(), want)
		}
	}
}

// The ladder marks the best model of a run, once there is one.
func TestBestPlayer(t *testing.T) {
	dir := t.TempDir()
	if got, err := bestOf(dir); got != "" || err != nil {
		t.Errorf("without models: got %q, %v", got, err)
	}
	models, err := registry.Open(filepath.Join(dir, "models"))
	if err != nil {
		t.Fatal(err)
	}
	weights := network.Init(network.Arch{Channels: 32, Blocks: 1}, rand.New(rand.NewPCG(1, 1)))
	b, err := weights.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	id, err := models.Add(b, registry.Meta{Arch: weights.Arch().String(), Created: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if err := models.Promote(id, registry.Verdict{At: time.Unix(2, 0), Reason: "the first"}); err != nil {
		t.Fatal(err)
	}
	if got, err := bestOf(dir); got != id.Short() || err != nil {
		t.Errorf("got %q, %v, want model:%s", got, err, id.Short())
	}
}

// Progress leaves out what there is not yet.
func TestProgress(t *testing.T) {
	early := fmt.Sprint(progress(pipeline.Status{})...)
	s := pipeline.Status{Waiting: "for games"}
	s.Losses.Total, s.Losses.Policy = 2, 1.5
	late := fmt.Sprint(progress(s)...)
	for _, word := range []string{"waiting", "loss"} {
		if strings.Contains(early, word) || !strings.Contains(late, word) {
			t.Errorf("%s: want it in the second alone:\n%s\n%s", word, early, late)
		}
	}
}

// Every command has a short text and, unless it only holds others, an example that is its own.
func TestHelp(t *testing.T) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Short == "" {
			t.Errorf("%s has no short text", c.CommandPath())
		}
		if !c.HasSubCommands() && !strings.Contains(c.Example, c.CommandPath()) {
			t.Errorf("%s has no example: %q", c.CommandPath(), c.Example)
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRoot())
}

// Every module in the binary is named in the notices.
func TestNotices(t *testing.T) {
	text, err := os.ReadFile("../../THIRD_PARTY.md")
	if err != nil {
		t.Fatal(err)
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || len(info.Deps) == 0 {
		t.Fatal("this binary does not know its modules")
	}
	for _, m := range info.Deps {
		forTests := m.Path == "github.com/rogpeppe/go-internal" || m.Path == "golang.org/x/tools"
		if !forTests && !strings.Contains(string(text), "| "+m.Path+" |") {
			t.Errorf("THIRD_PARTY.md does not name %s", m.Path)
		}
	}
}
