package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	network "yinshzero/net"
	"yinshzero/net/onnx"
)

// export exports a model of chance weights, for blitz and as args say, in an empty folder, and returns what is printed.
func export(t *testing.T, args ...string) (string, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	weights := network.Init(network.Arch{Channels: 32, Blocks: 1}, rand.New(rand.NewPCG(1, 1)))
	if err := weights.Save("m.safetensors"); err != nil {
		t.Fatal(err)
	}
	root := newRoot()
	var out strings.Builder
	root.SetOut(&out)
	root.SetArgs(append([]string{"export", "--model", "m.safetensors", "--variant", "blitz"}, args...))
	err := root.Execute()
	return out.String(), err
}

// A model that is a file is exported for the variants named.
func TestExportFile(t *testing.T) {
	out, err := export(t, "--variant", "4-4-35-5-2", "--onnx", "a.onnx")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("a.json")
	if err != nil {
		t.Fatal(err)
	}
	var d onnx.Description
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Variants) != 2 || d.Variants[0].Name != "blitz" || d.Variants[1].Name != "4-4-35-5-2" || !strings.HasPrefix(d.Product, "yinshzero ") {
		t.Errorf("got %+v of %s", d.Variants, d.Product)
	}
	if want := "a.onnx: model " + d.Model[:12] + ", arch 32x1; a.json describes it\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

// A page is exported by a binary that carries one, and refused by one that was built by go build alone.
func TestExportPage(t *testing.T) {
	out, err := export(t, "--web", "public")
	if err != nil {
		if !strings.Contains(err.Error(), "make build") {
			t.Error(err)
		}
		if _, err := os.Stat("public"); err == nil {
			t.Error("an export that failed has left something")
		}
		return
	}
	if !strings.Contains(out, "public: a page for model ") || !strings.Contains(out, "arch 32x1") {
		t.Errorf("got %q", out)
	}
	if _, err := os.Stat("public/index.html"); err != nil {
		t.Error(err)
	}
}
