package onnx

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"yinshzero/net"
	"yinshzero/rules"
)

// runtimeDir is where scripts/onnxruntime.sh puts ONNX Runtime.
const runtimeDir = "testdata"

// needRuntime skips the test where there is no ONNX Runtime.
func needRuntime(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs ONNX Runtime")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("no Node.js, which runs ONNX Runtime: ", err)
	}
	if _, err := os.Stat(filepath.Join(runtimeDir, "node_modules", "onnxruntime-node")); err != nil {
		t.Skip("no ONNX Runtime: run scripts/onnxruntime.sh: ", err)
	}
}

// positions are n Positions of real games, or of random ones where the real ones are not at hand, and n/4 of random games
// on a small board, in all phases.
func positions(t *testing.T, n int) []rules.Position {
	rng := rand.New(rand.NewPCG(7, 7))
	var games []rules.Game
	if file, err := os.Open("../../../shared/records/games.moves"); err == nil {
		defer file.Close()
		keep := func(g *rules.Game) error { games = append(games, *g); return nil }
		if _, _, err := rules.ReadGames(file, keep, func(f rules.Fault) { t.Error(f) }); err != nil {
			t.Fatal(err)
		}
	} else {
		t.Log("no real games at ../shared/records: random ones do")
		for range 40 {
			games = append(games, rules.RandomGame(rules.Standard(), rules.Rows, rng))
		}
	}
	list := pick(games, n, rng)
	games = games[:0]
	for range 10 {
		games = append(games, rules.RandomGame(rules.Mini(), rules.Rows, rng))
	}
	return append(list, pick(games, n/4, rng)...)
}

// pick draws n Positions from games; the removals are rare and taken with preference.
func pick(games []rules.Game, n int, rng *rand.Rand) []rules.Position {
	var list []rules.Position
	for len(list) < n {
		g := games[rng.IntN(len(games))]
		pos := rules.New(g.Variant)
		at := rng.IntN(len(g.Moves))
		for i, m := range g.Moves {
			if i == at || pos.Phase() >= rules.PhaseRemoveRow && rng.IntN(4) == 0 {
				list = append(list, pos)
			}
			pos.Play(m)
		}
	}
	return list[:n]
}

// randomWeights draws every number, so that no part of the network is without effect.
func randomWeights(a net.Arch, seed uint64) *net.Weights {
	rng := rand.New(rand.NewPCG(seed, uint64(a.Channels)))
	w := net.Init(a, rng)
	for _, t := range w.Tensors() {
		std := 0.2
		if n := len(t.Shape); n > 1 {
			std = 1 / math.Sqrt(float64(t.Len()/t.Shape[n-1]))
		}
		for i := range t.Data {
			t.Data[i] += float32(std * rng.NormFloat64())
		}
	}
	return w
}

func parseArch(t *testing.T, text string) net.Arch {
	t.Helper()
	a, err := net.ParseArch(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// export writes w's model to a file of dir.
func export(t *testing.T, w *net.Weights, dir string, variants ...rules.Variant) string {
	t.Helper()
	f, err := Encode(w, Source{Product: "yinshzero test", Variants: variants})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "model.onnx")
	if err := f.Save(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// tolerance is how far ONNX Runtime and Program may be apart, in parts of the output's largest number for the Position.
// Both round in float32, and the Program's convolutions are Winograd's.
const tolerance = 2e-5

// A comparison is the largest difference seen of an output, in parts of its largest number for a Position.
type comparison map[string]float64

func (c comparison) add(name string, got []float32, want []float32) {
	d, top := 0.0, 1e-9
	for i, w := range want {
		diff := math.Abs(float64(got[i]) - float64(w))
		if math.IsNaN(diff) {
			diff = math.Inf(1)
		}
		d, top = max(d, diff), max(top, math.Abs(float64(w)))
	}
	c[name] = max(c[name], d/top)
}

// String lists the outputs by name.
func (c comparison) String() string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		words = append(words, fmt.Sprintf("%s %.1e", name, c[name]))
	}
	return strings.Join(words, ", ")
}

// ONNX Runtime computes from the model what the Program does, in batches of any size.
func TestRuntime(t *testing.T) {
	needRuntime(t)
	ps := positions(t, 200)
	for i, text := range []string{"32x4p", "32x2", "64x2p-reply-plies", "96x2p-rings-ownership", "32x1-rings-reply-ownership-plies"} {
		t.Run(text, func(t *testing.T) {
			a := parseArch(t, text)
			w := randomWeights(a, uint64(i))
			dir := t.TempDir()
			export(t, w, dir, rules.Standard(), rules.Blitz(), rules.Mini())
			var planes, globals []float32
			for i := range ps {
				x := net.AppendPlanes(nil, &ps[i])
				planes = append(planes, x[:net.NumPlanes*net.Cells]...)
				globals = append(globals, x[net.NumPlanes*net.Cells:]...)
			}
			writeFloats(t, filepath.Join(dir, "planes.f32"), planes)
			writeFloats(t, filepath.Join(dir, "globals.f32"), globals)
			out, err := exec.Command("node", filepath.Join(runtimeDir, "run.mjs"), dir, "1", "7", "64").CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			program, err := w.Compile()
			if err != nil {
				t.Fatal(err)
			}
			for _, batch := range []int{1, 7, 64} {
				c := compare(t, program, ps, dir, batch)
				t.Logf("batch %d, largest difference of the largest number: %v", batch, c)
				for name, d := range c {
					if d > tolerance {
						t.Errorf("batch %d, %s: difference %g of the largest number: want at most %g", batch, name, d, tolerance)
					}
				}
				if want := len(outputs(a)); len(c) != want {
					t.Errorf("%d outputs compared, the model has %d", len(c), want)
				}
			}
		})
	}
}

// compare compares everything that was written for a batch size with what the Program says.
func compare(t *testing.T, program *net.Program, ps []rules.Position, dir string, batch int) comparison {
	got := map[string][]float32{}
	for _, o := range outputs(program.Arch()) {
		got[o.Name] = readFloats(t, filepath.Join(dir, o.Name+"."+strconv.Itoa(batch)+".f32"), len(ps)*length(o))
	}
	moves := make([]rules.Move, rules.NumMoves)
	for i := range moves {
		moves[i] = rules.Move(i)
	}
	answer := net.Output{Logits: make([]float32, len(moves))}
	aux := net.Expectation{Reply: make([]float32, len(moves))}
	c := comparison{}
	for i := range ps {
		program.Forward(net.AppendPlanes(nil, &ps[i]), moves, &answer)
		program.Auxiliary(moves, &aux)
		for _, o := range outputs(program.Arch()) {
			x := got[o.Name][i*length(o):][:length(o)]
			switch o.Name {
			case outputPolicy:
				c.add(o.Name, gather(x, moves), answer.Logits)
			case outputWDL:
				c.add(o.Name, x, answer.WDL[:])
			case outputProbabilities:
				c.add(o.Name, x, softmax(answer.WDL[:]))
			case outputRings:
				c.add(o.Name, x, answer.Rings[:])
			case outputReply:
				c.add(o.Name, gather(x, moves), aux.Reply)
			case outputOwnership:
				want := make([]float32, length(o))
				for cell, owners := range aux.Ownership {
					for k, v := range owners {
						want[k*net.Cells+cell] = v
					}
				}
				c.add(o.Name, x, want)
			case outputPlies:
				c.add(o.Name, x, aux.Plies[:])
			}
		}
	}
	return c
}

func length(a Array) int {
	n := 1
	for _, d := range a.Shape {
		n *= d
	}
	return n
}

// gather picks the Moves' logits from planes.
func gather(x []float32, moves []rules.Move) (logits []float32) {
	for _, m := range moves {
		plane, cell := net.PolicyIndex(m)
		logits = append(logits, x[plane*net.Cells+cell])
	}
	return logits
}

func softmax(x []float32) []float32 {
	top, sum := math.Inf(-1), 0.0
	for _, v := range x {
		top = max(top, float64(v))
	}
	for _, v := range x {
		sum += math.Exp(float64(v) - top)
	}
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(math.Exp(float64(v)-top) / sum)
	}
	return y
}

func writeFloats(t *testing.T, path string, x []float32) {
	t.Helper()
	b := make([]byte, 4*len(x))
	for i, v := range x {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(v))
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// readFloats reads n numbers.
func readFloats(t *testing.T, path string, n int) []float32 {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) != 4*n {
		t.Fatalf("%s has %d bytes: want %d numbers", path, len(b), n)
	}
	x := make([]float32, n)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return x
}
