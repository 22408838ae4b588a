package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	network "yinshzero/net"
	"yinshzero/registry"
)

// serving runs the command until the test ends, and returns the address that it prints.
func serving(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	root := newRoot()
	root.SetOut(w)
	root.SetArgs(append([]string{"serve", "--addr", "127.0.0.1:0"}, args...))
	ended := make(chan error, 1)
	go func() {
		err := root.ExecuteContext(ctx)
		w.CloseWithError(io.EOF)
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("got %q, %v", line, err)
	}
	_, rest, _ := strings.Cut(line, "open ")
	url, _, ok := strings.Cut(rest, " ")
	if !ok {
		t.Fatalf("got %q", line)
	}
	return url
}

// answer asks a server and reads its answer.
func answer(t *testing.T, url, body string, to any) {
	t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	q, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: got %d, %s, %v", url, r.StatusCode, text, err)
	}
	if err := json.Unmarshal(text, to); err != nil {
		t.Fatalf("%s: %s: %v", url, text, err)
	}
}

// A server without a run has its one model, by its name.
func TestServe(t *testing.T) {
	url := serving(t, "--model", "uniform", "--variant", "mini", "--max-simulations", "100")
	var about struct {
		Variant string
		Models  []struct{ Name string }
		Run     bool
		Limits  struct{ Simulations int }
	}
	answer(t, url+"api/about", "", &about)
	if about.Variant != "mini" || about.Run || about.Limits.Simulations != 100 || len(about.Models) != 1 || about.Models[0].Name != "uniform" {
		t.Errorf("got %+v", about)
	}
	var move struct{ Moves []string }
	if answer(t, url+"api/move", `{"simulations":10}`, &move); len(move.Moves) != 1 {
		t.Errorf("got %+v", move)
	}
	token := serving(t, "--model", "uniform", "--token", "correct horse")
	if !strings.HasSuffix(token, "/?token=correct+horse") {
		t.Errorf("the address is %s", token)
	}
}

// A server of a run plays by its best model, by the next one when that is promoted, and by former ones that are asked for. It
// is there before there is any.
func TestServeRun(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, configName), []byte("variant: mini\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	url := serving(t, "--dir", dir)
	type about struct {
		Variant string
		Models  []struct{ Name, Variant string }
		Run     bool
	}
	var none about
	if answer(t, url+"api/about", "", &none); none.Variant != "mini" || !none.Run || len(none.Models) != 0 {
		t.Errorf("got %+v", none)
	}
	var status struct{ Name string }
	if answer(t, url+"run/status", "", &status); status.Name != filepath.Base(dir) {
		t.Errorf("got %+v", status)
	}
	models, err := registry.Open(filepath.Join(dir, "models"))
	if err != nil {
		t.Fatal(err)
	}
	var ids []registry.ID
	promote := func(seed uint64) {
		t.Helper()
		b, err := network.Init(network.Arch{Channels: 32, Blocks: 1}, rand.New(rand.NewPCG(seed, 1))).Bytes()
		if err != nil {
			t.Fatal(err)
		}
		id, err := models.Add(b, registry.Meta{Arch: "32x1", Created: time.Unix(1, 0)})
		if err != nil {
			t.Fatal(err)
		}
		if err := models.Promote(id, registry.Verdict{At: time.Unix(2, 0), Reason: "a test"}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	winrate := func(model string) float64 {
		t.Helper()
		var move struct {
			Model   string
			Winrate float64
		}
		if answer(t, url+"api/move", `{"simulations":0,"model":"`+model+`"}`, &move); model != "" && move.Model != model {
			t.Errorf("asked for %q: got %+v", model, move)
		}
		return move.Winrate
	}
	promote(1)
	first := winrate("")
	promote(2)
	second := winrate("best")
	if first == second || winrate(ids[0].Short()) != first || winrate("") != second {
		t.Errorf("winrates %v, then %v, of the former %v", first, second, winrate(ids[0].Short()))
	}
	var two about
	if answer(t, url+"api/about", "", &two); len(two.Models) != 2 || two.Models[0].Name != "best" || two.Models[1].Name != ids[0].Short() || two.Models[1].Variant != "mini" {
		t.Errorf("got %+v", two)
	}
}
