package onnx

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"yinshzero/net"
	"yinshzero/net/onnx/pb"
	"yinshzero/rules"
)

// archs have all there is, and nothing but what must be.
var archs = []string{"32x4p", "32x1-rings-reply-ownership-plies"}

func encode(t *testing.T, w *net.Weights, variants ...rules.Variant) (File, *pb.ModelProto) {
	t.Helper()
	f, err := Encode(w, Source{Product: "yinshzero test", Variants: variants})
	if err != nil {
		t.Fatal(err)
	}
	var m pb.ModelProto
	if err := proto.Unmarshal(f.Model, &m); err != nil {
		t.Fatal(err)
	}
	return f, &m
}

// Every value is made once and before it is used, every constant is used and has as many bytes as its shape says, and
// every operator is one of a few that every runtime has.
func TestGraphIsWhole(t *testing.T) {
	plain := []string{"Add", "Concat", "Conv", "Div", "Gather", "Gemm", "Mul", "ReduceMax", "ReduceMean", "Relu", "Softmax", "Unsqueeze"}
	for _, text := range archs {
		_, m := encode(t, randomWeights(parseArch(t, text), 1), rules.Standard())
		if m.GetIrVersion() != 8 || len(m.OpsetImport) != 1 || m.OpsetImport[0].GetVersion() != 17 {
			t.Errorf("%s: version %d, operators %v: want 8 and 17", text, m.GetIrVersion(), m.OpsetImport)
		}
		used := map[string]bool{}
		made := map[string]bool{}
		add := func(name string) {
			if made[name] || name == "" {
				t.Errorf("%s: %q is made twice or has no name", text, name)
			}
			made[name] = true
		}
		for _, in := range m.Graph.Input {
			add(in.GetName())
		}
		for _, c := range m.Graph.Initializer {
			add(c.GetName())
			n := map[int32]int64{int32(pb.TensorProto_FLOAT): 4, int32(pb.TensorProto_INT64): 8}[c.GetDataType()]
			for _, d := range c.Dims {
				n *= d
			}
			if n != int64(len(c.RawData)) || n == 0 {
				t.Errorf("%s: constant %s: %d bytes for type %d and shape %v", text, c.GetName(), len(c.RawData), c.GetDataType(), c.Dims)
			}
		}
		for _, n := range m.Graph.Node {
			for _, in := range n.Input {
				if used[in] = true; !made[in] {
					t.Errorf("%s: %s wants %s, which is not there yet", text, n.GetName(), in)
				}
			}
			for _, out := range n.Output {
				add(out)
			}
			if !slices.Contains(plain, n.GetOpType()) {
				t.Errorf("%s: %s is a %s: want one of %v", text, n.GetName(), n.GetOpType(), plain)
			}
		}
		for _, out := range m.Graph.Output {
			if used[out.GetName()] = true; !made[out.GetName()] {
				t.Errorf("%s: output %s is never made", text, out.GetName())
			}
		}
		for name := range made {
			if !used[name] {
				t.Errorf("%s: %s is never used", text, name)
			}
		}
	}
}

// The metadata and the file beside the model say the same: all of the Description.
func TestMetadata(t *testing.T) {
	w := randomWeights(parseArch(t, "32x1"), 1)
	f, m := encode(t, w, rules.Standard(), rules.Mini())
	path := filepath.Join(t.TempDir(), "best.v1.onnx")
	if err := f.Save(path); err != nil {
		t.Fatal(err)
	}
	model, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(model, f.Model) {
		t.Errorf("the model was not written as it is: %v", err)
	}
	text, err := os.ReadFile(strings.TrimSuffix(path, "onnx") + "json")
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, p := range m.MetadataProps {
		want := []byte(p.GetValue())
		if fields[p.GetKey()][0] == '"' {
			want, _ = json.Marshal(p.GetValue()) // a string always has JSON
		}
		var got bytes.Buffer
		if err := json.Compact(&got, fields[p.GetKey()]); err != nil || got.String() != string(want) {
			t.Errorf("%s is %s, the model says %s", p.GetKey(), got.String(), want)
		}
		delete(fields, p.GetKey())
	}
	if len(fields) > 0 {
		t.Errorf("the model does not say %v", fields)
	}
	var d Description
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	hash, err := w.Hash()
	if err != nil {
		t.Fatal(err)
	}
	if d.Model != hex.EncodeToString(hash[:]) || d.Arch != "32x1" || d.Encoder != net.EncoderVersion || d.Licence != "Apache-2.0" ||
		d.Product != "yinshzero test" || len(d.Variants) != 2 || d.Variants[1] != (Variant{"mini", 3, 3, 21, 4, 1}) {
		t.Errorf("got %+v", d)
	}
}

// Planes and globals all have names of their own.
func TestTerms(t *testing.T) {
	seen := map[string]bool{}
	for _, term := range slices.Concat(planes[:], globals[:]) {
		if term.Name == "" || term.About == "" || seen[term.Name] {
			t.Errorf("%+v: want a name of its own and what it is about", term)
		}
		seen[term.Name] = true
	}
}

// The Move table has the Moves of the Variants' boards, each where the policy head has it, and no others.
func TestMoves(t *testing.T) {
	for _, tt := range []struct {
		v    rules.Variant
		want int // rings placed and removed, ring moves, rows, pass
	}{
		{rules.Standard(), 2*85 + 1848 + 123 + 1},
		{rules.Blitz(), 2*85 + 1848 + 123 + 1},
		// Along each axis the lines have 2, 5, 6, 5, 6, 5 and 2 Points: of n Points n(n−1) ring moves and n−3 rows of four.
		{rules.Mini(), 2*31 + 3*(2+20+30+20+30+20+2) + 3*(2+3+2+3+2) + 1},
	} {
		d, err := describe(parseArch(t, "32x1"), Source{Variants: []rules.Variant{tt.v}})
		if err != nil {
			t.Fatal(err)
		}
		taken := map[int]string{}
		for text, at := range d.Moves {
			m, err := tt.v.ParseMove(text)
			if err != nil {
				t.Fatalf("%v: %v", tt.v, err)
			}
			plane, cell := net.PolicyIndex(m)
			if want := plane*net.Cells + cell; at != want || taken[at] != "" {
				t.Errorf("%v: %s is at %d, want %d alone; there is %q", tt.v, text, at, want, taken[at])
			}
			taken[at] = text
		}
		if len(d.Moves) != tt.want {
			t.Errorf("%v: %d moves, want %d", tt.v, len(d.Moves), tt.want)
		}
		rng := rand.New(rand.NewPCG(1, 1))
		for range 20 {
			pos := rules.New(tt.v)
			for _, m := range rules.RandomGame(tt.v, rules.Rows, rng).Moves {
				for _, legal := range pos.AppendMoves(nil) {
					if _, ok := d.Moves[tt.v.MoveText(legal)]; !ok {
						t.Fatalf("%v: %s is legal and not in the table", tt.v, tt.v.MoveText(legal))
					}
				}
				pos.Play(m)
			}
		}
	}
}

// Rows of several lengths have texts of their own, so that one table serves several Variants.
func TestMovesOfSeveralVariants(t *testing.T) {
	table := map[string]int{}
	sum := 0
	for _, v := range []rules.Variant{rules.Standard(), rules.Mini()} {
		own := map[string]int{}
		addMoves(own, v)
		addMoves(table, v)
		for text, at := range own {
			if table[text] != at {
				t.Errorf("%s is at %d and at %d", text, at, table[text])
			}
			if strings.HasPrefix(text, "x") && strings.Contains(text, "-") {
				sum++
			}
		}
	}
	got := 0
	for text := range table {
		if strings.HasPrefix(text, "x") && strings.Contains(text, "-") {
			got++
		}
	}
	if got != sum {
		t.Errorf("%d rows in the common table, want %d", got, sum)
	}
}

func TestEncodeIsDeterministic(t *testing.T) {
	w := randomWeights(parseArch(t, "32x4p"), 3)
	a, _ := encode(t, w, rules.Variants()...)
	b, _ := encode(t, w.Clone(), rules.Variants()...)
	if !bytes.Equal(a.Model, b.Model) {
		t.Error("two models of the same weights differ")
	}
}

func TestEncodeRefuses(t *testing.T) {
	bad := randomWeights(parseArch(t, "32x1"), 1)
	bad.Tensor(net.GlobalsFC).Data[5] = float32(math.NaN())
	good := randomWeights(parseArch(t, "32x1"), 1)
	for _, tt := range []struct {
		w        *net.Weights
		variants []rules.Variant
		want     string
	}{
		{good, nil, "no variants"},
		{good, []rules.Variant{rules.Standard(), {Radius: 7}}, "radius is 7"},
		{bad, rules.Variants(), `"globals.weight": number 5 is NaN`},
	} {
		if _, err := Encode(tt.w, Source{Variants: tt.variants}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

// A model that cannot be written leaves everything as it was.
func TestSaveFails(t *testing.T) {
	f, _ := encode(t, randomWeights(parseArch(t, "32x1"), 1), rules.Standard())
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "m.onnx"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "m.json"), []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"m.onnx", "m.json", "nowhere/m.onnx"} {
		if err := f.Save(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "m.json")); len(entries) != 2 || string(text) != "old" {
		t.Errorf("found %v, m.json is %q, %v", entries, text, err)
	}
}

// TestGenerated holds the committed code of the schema to the generator.
func TestGenerated(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the generator")
	}
	run := func(args ...string) ([]byte, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir = "gen"
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOOS=", "GOARCH=")
		return cmd.CombinedOutput()
	}
	if out, err := run("mod", "download"); err != nil {
		t.Skipf("the generator's modules cannot be fetched: %v\n%s", err, out)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("pb")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "onnx.pb.go")); err != nil {
		t.Fatal(err)
	}
	if out, err := run("run", ".", "-dir", dir); err != nil {
		t.Fatalf("run the generator: %v\n%s", err, out)
	}
	got, err := os.ReadFile("pb/onnx.pb.go")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(dir, "onnx.pb.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("onnx.pb.go is not what gen writes: run go generate ./net/onnx/pb")
	}
}
