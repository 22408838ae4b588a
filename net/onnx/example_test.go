package onnx

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"yinshzero/net"
	"yinshzero/rules"
)

const manual = "../../docs/models.md"

// block is the code of a language in the manual.
func block(t *testing.T, language string) []byte {
	t.Helper()
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\n```"+language+"\n")
	code, _, end := strings.Cut(rest, "\n```\n")
	if !ok || !end {
		t.Fatalf("%s has no example in %s", manual, language)
	}
	return []byte(code + "\n")
}

// The examples of the manual read Positions and think of them what the Program does.
func TestExamples(t *testing.T) {
	needRuntime(t)
	dir := t.TempDir()
	w := randomWeights(parseArch(t, "32x2p"), 5)
	model := export(t, w, dir, rules.Variants()...)
	program, err := w.Compile()
	if err != nil {
		t.Fatal(err)
	}
	ps := positions(t, 40)
	var in bytes.Buffer
	for i := range ps {
		in.WriteString(ps[i].String())
		for _, m := range ps[i].AppendMoves(nil) {
			in.WriteString(" " + ps[i].Variant().MoveText(m))
		}
		in.WriteByte('\n')
	}
	play := func(t *testing.T, name string, code []byte, interpreter string) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, code, 0o644); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(interpreter, path, model)
		var stderr strings.Builder
		c.Stdin, c.Stderr = bytes.NewReader(in.Bytes()), &stderr
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, stderr.String())
		}
		checkThoughts(t, program, ps, out)
	}
	t.Run("JavaScript", func(t *testing.T) {
		modules, err := filepath.Abs(filepath.Join(runtimeDir, "node_modules"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
			t.Skip("cannot show the example where ONNX Runtime is: ", err)
		}
		play(t, "play.mjs", block(t, "js"), "node")
	})
	t.Run("Python", func(t *testing.T) {
		if err := exec.Command("python3", "-c", "import onnxruntime, numpy").Run(); err != nil {
			t.Skip("no Python with onnxruntime and numpy: ", err)
		}
		play(t, "play.py", block(t, "python"), "python3")
	})
}

// checkThoughts compares the lines that an example printed with what the Program says.
func checkThoughts(t *testing.T, program *net.Program, ps []rules.Position, out []byte) {
	near := func(a float64, b float32) bool { return math.Abs(a-float64(b)) < 1e-5 }
	d := json.NewDecoder(bytes.NewReader(out))
	for i := range ps {
		var got struct {
			Win, Draw, Loss, Value float64
			Policy                 map[string]float64
		}
		if err := d.Decode(&got); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		legal := ps[i].AppendMoves(nil)
		want := net.Output{Logits: make([]float32, len(legal))}
		program.Forward(net.AppendPlanes(nil, &ps[i]), legal, &want)
		wdl := softmax(want.WDL[:])
		if !near(got.Win, wdl[0]) || !near(got.Draw, wdl[1]) || !near(got.Loss, wdl[2]) || !near(got.Value, wdl[0]-wdl[2]) {
			t.Errorf("%v: got %+v, want %v", &ps[i], got, wdl)
		}
		for j, p := range softmax(want.Logits) {
			if text := ps[i].Variant().MoveText(legal[j]); !near(got.Policy[text], p) {
				t.Errorf("%v: %s has %g, want %g", &ps[i], text, got.Policy[text], p)
			}
		}
		if len(got.Policy) != len(legal) {
			t.Errorf("%v: %d moves, want %d", &ps[i], len(got.Policy), len(legal))
		}
	}
	if d.More() {
		t.Error("more lines than positions")
	}
}

// The manual names every plane, global, output and key of the metadata.
func TestManualIsWhole(t *testing.T) {
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, term := range slices.Concat(planes[:], globals[:]) {
		if !strings.HasSuffix(term.Name, "_to_go_2") && !strings.HasSuffix(term.Name, "_to_go_3") { // after _1 with dots
			names = append(names, term.Name)
		}
	}
	for _, a := range slices.Concat(inputs(), outputs(net.Arch{})) {
		names = append(names, a.Name)
	}
	properties, err := Description{}.properties()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, keys(properties)...) {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("%s does not tell of %s", manual, name)
		}
	}
}
