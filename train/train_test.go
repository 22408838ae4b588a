package train

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"yinshzero/data"
	"yinshzero/internal/seed"
	"yinshzero/net"
	"yinshzero/net/graph"
	"yinshzero/rules"
)

var arch = net.Arch{Channels: 32, Blocks: 1}

func params() Params {
	return Params{
		Graph:  graph.Params{Batch: 32, Replicas: 1, PolicyLoss: 1, ValueLoss: 1, RingsLoss: 0.25},
		Solver: graph.DefaultSolverParams(), LearningRate: 2e-3, WarmupSteps: 5, HalvingSteps: 100, Average: 0.9, ValueMix: 0.25,
	}
}

// randomGame is a random game whose search wants the first legal Move and expects the game's own outcome.
func randomGame(rng *rand.Rand) *data.Record {
	rec := &data.Record{Variant: rules.Mini(), Seed: rng.Uint64()}
	pos := rules.New(rec.Variant)
	for {
		if res, over := pos.Result(); over {
			rec.Result, rec.Final = res, pos.Hash()
			break
		}
		legal := pos.AppendMoves(nil)
		ply := data.Ply{Move: legal[rng.IntN(len(legal))], Kind: data.Forced}
		if len(legal) > 1 {
			ply.Kind, ply.Policy = data.Full, []data.Visit{{Move: legal[0], Weight: 3}, {Move: legal[1], Weight: 1}}
		}
		rec.Plies = append(rec.Plies, ply)
		pos.Play(ply.Move)
	}
	for i := range rec.Plies {
		if rec.Plies[i].Kind == data.Full {
			rec.Plies[i].Value = rec.Result.Outcome.Value()
		}
	}
	return rec
}

// window holds random games, fully searched throughout.
func window(t testing.TB) *data.Window {
	t.Helper()
	p := data.DefaultWindowParams()
	p.HoldOut = 0
	return windowOf(t, games(60), p)
}

func games(n int) (recs []*data.Record) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range n {
		recs = append(recs, randomGame(rng))
	}
	return recs
}

func windowOf(t testing.TB, recs []*data.Record, p data.WindowParams) *data.Window {
	t.Helper()
	dir := t.TempDir()
	path, err := data.NextShard(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := data.WriteShard(path, recs); err != nil {
		t.Fatal(err)
	}
	w, err := data.OpenWindow(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func trainer(t testing.TB, p Params) *Trainer {
	t.Helper()
	tr, err := New(net.Init(arch, seed.New(1).Rand()), p, seed.New(2))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func steps(t testing.TB, tr *Trainer, w *data.Window, n int) (last graph.Losses) {
	t.Helper()
	for range n {
		var err error
		if last, err = tr.Step(context.Background(), w); err != nil {
			t.Fatal(err)
		}
	}
	return last
}

func TestLearns(t *testing.T) {
	tr, w := trainer(t, params()), window(t)
	first := steps(t, tr, w, 1)
	last := steps(t, tr, w, 79)
	if last.Policy > first.Policy-0.3 || last.Value > first.Value {
		t.Errorf("losses %+v at first, %+v after 80 steps: want both lower", first, last)
	}
}

// TestResumeContinues takes 2N steps at once, and N and N with a checkpoint between: every number must be the same.
func TestResumeContinues(t *testing.T) {
	w, dir := window(t), t.TempDir()
	whole := trainer(t, params())
	steps(t, whole, w, 12)
	half := trainer(t, params())
	steps(t, half, w, 6)
	if err := half.Save(dir); err != nil {
		t.Fatal(err)
	}
	resumed, damage, err := Resume(dir, arch, params(), seed.New(2))
	if err != nil || len(damage) > 0 || resumed.Steps() != 6 {
		t.Fatal(resumed, damage, err)
	}
	steps(t, resumed, w, 6)
	if !resumed.weights.Equal(whole.weights) || !resumed.average.Equal(whole.average) {
		t.Error("the weights differ from those of a trainer that never stopped")
	}
	if resumed.weights.Equal(half.weights) {
		t.Error("the weights do not move")
	}
	for i, x := range resumed.solver.State() {
		for j, v := range x.Data {
			if want := whole.solver.State()[i].Data[j]; v != want {
				t.Fatalf("optimiser's %s[%d] is %v, want %v", x.Name, j, v, want)
			}
		}
	}
}

func TestResumeFallsBack(t *testing.T) {
	w, dir := window(t), t.TempDir()
	tr := trainer(t, params())
	for range 3 {
		steps(t, tr, w, 1)
		if err := tr.Save(dir); err != nil {
			t.Fatal(err)
		}
	}
	files, err := checkpoints(dir)
	if err != nil || len(files) != keptCheckpoints {
		t.Fatalf("%v, %v: want the newest %d", files, err, keptCheckpoints)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(files[0], b, 0o644); err != nil {
		t.Fatal(err)
	}
	got, damage, err := Resume(dir, arch, params(), seed.New(2))
	if err != nil || len(damage) != 1 || got.Steps() != 2 {
		t.Fatalf("got %v, %v, %v: want the checkpoint of step 2", got, damage, err)
	}
	// The damaged one is out of the way, and nothing is told of it again.
	if moved, err := os.ReadFile(files[0] + damagedExtension); err != nil || !bytes.Equal(moved, b) {
		t.Errorf("the damaged checkpoint is not renamed: %v", err)
	}
	if left, err := checkpoints(dir); err != nil || !reflect.DeepEqual(left, files[1:]) {
		t.Errorf("checkpoints %v, %v: want %v", left, err, files[1:])
	}
	if got, damage, err := Resume(dir, arch, params(), seed.New(2)); err != nil || len(damage) > 0 || got.Steps() != 2 {
		t.Errorf("again: got %v, %v, %v: want the checkpoint of step 2 alone", got, damage, err)
	}
	if err := os.Truncate(files[1], 1000); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Resume(dir, arch, params(), seed.New(2)); err == nil || !strings.Contains(err.Error(), files[1]) {
		t.Errorf("all checkpoints are damaged: got %v, want an error that names them", err)
	}
	if left, err := checkpoints(dir); err != nil || !reflect.DeepEqual(left, files[1:]) {
		t.Errorf("checkpoints %v, %v: with none to go on from, none is renamed", left, err)
	}
}

// TestDirectoryName keeps checkpoints where the name is full of what patterns are made of.
func TestDirectoryName(t *testing.T) {
	name := "run [a-c]"
	if runtime.GOOS != "windows" {
		name += " *?\\"
	}
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	tr := trainer(t, params())
	for step := range int64(keptCheckpoints + 2) {
		tr.Begin(step, step)
		if err := tr.Save(dir); err != nil {
			t.Fatal(err)
		}
	}
	if files, err := checkpoints(dir); err != nil || len(files) != keptCheckpoints {
		t.Errorf("%v, %v: want %d checkpoints", files, err, keptCheckpoints)
	}
	got, damage, err := Resume(dir, arch, params(), seed.New(2))
	if err != nil || len(damage) > 0 || got == nil || got.Steps() != keptCheckpoints+1 {
		t.Errorf("got %v, %v, %v: want the newest checkpoint", got, damage, err)
	}
}

func TestResumeRefuses(t *testing.T) {
	dir := t.TempDir()
	if tr, damage, err := Resume(dir, arch, params(), seed.New(2)); tr != nil || damage != nil || err != nil {
		t.Errorf("no checkpoint: got %v, %v, %v", tr, damage, err)
	}
	if err := trainer(t, params()).Save(dir); err != nil {
		t.Fatal(err)
	}
	_, _, err := Resume(dir, net.Arch{Channels: 64, Blocks: 1}, params(), seed.New(2))
	if err == nil || !strings.Contains(err.Error(), "32x1") || !strings.Contains(err.Error(), "64x1") {
		t.Errorf("another arch: got %v, want an error that names both", err)
	}

	// Another encoder: the planes that the weights know mean something else.
	files, err := checkpoints(dir)
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	tensors, meta, err := net.ReadTensors(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"999", ""} {
		meta[planeKey] = version
		var other bytes.Buffer
		if err := net.WriteTensors(&other, tensors, meta); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(files[0], other.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Resume(dir, arch, params(), seed.New(2)); err == nil || !strings.Contains(err.Error(), "encoder version is \""+version+"\"") {
			t.Errorf("encoder version %q: got %v, want an error that names it", version, err)
		}
	}
}

// TestBegin goes on without a checkpoint: the counts, the rate and the next batch are those of the step it goes on from.
func TestBegin(t *testing.T) {
	tr, w := trainer(t, params()), window(t)
	tr.Begin(105, 110)
	if tr.Steps() != 105 || tr.Drawn() != 110 || tr.LearningRate() != params().Rate(105) {
		t.Errorf("%d steps, %d batches, rate %v: want 105, 110, %v", tr.Steps(), tr.Drawn(), tr.LearningRate(), params().Rate(105))
	}
	steps(t, tr, w, 1)
	want := make([]data.Sample, params().Graph.Batch)
	if err := w.Draw(seed.New(2).Child("batch", 110).Rand(), want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(tr.Batch(), want) {
		t.Error("the batch is not the one of its number")
	}
	if tr.Steps() != 106 || tr.Drawn() != 111 {
		t.Errorf("%d steps and %d batches after one step", tr.Steps(), tr.Drawn())
	}
	if tr.Begin(9, 3); tr.Steps() != 9 || tr.Drawn() != 9 {
		t.Errorf("%d steps, %d batches: want 9 each, as no step goes without a batch", tr.Steps(), tr.Drawn())
	}
}

// TestFollow works the running average out by hand: weights of 3 and an average of 1 before each step.
func TestFollow(t *testing.T) {
	for _, tt := range []struct {
		average float64
		step    int64
		want    float64 // memory · 1 + (1 − memory) · 3
	}{
		{0.9, 1, 31.0 / 11}, // 1/11 is short
		{0.9, 5, 7.0 / 3},   // 5/15
		{0.9, 10, 2},        // 10/20
		{0.9, 90, 1.2},      // 90/100: as long as Average
		{0.9, 1000, 1.2},    // and no longer
		{0.25, 1, 31.0 / 11},
		{0.25, 10, 2.5},
		{0, 10, 3},
	} {
		p := params()
		p.Average = tt.average
		tr := trainer(t, p)
		set := func(w *net.Weights, x float32) {
			for _, tensor := range w.Tensors() {
				for i := range tensor.Data {
					tensor.Data[i] = x
				}
			}
		}
		set(tr.weights, 3)
		set(tr.average, 1)
		tr.step = tt.step
		tr.follow()
		for _, tensor := range tr.Candidate().Tensors() {
			for i, x := range tensor.Data {
				if math.Abs(float64(x)-tt.want) > 1e-6 {
					t.Fatalf("average %v, step %d: %s[%d] is %v, want %v", tt.average, tt.step, tensor.Name, i, x, tt.want)
				}
			}
		}
	}
}

// TestStepFollows: the first step has step 1's memory, 1/11, of the weights before it.
func TestStepFollows(t *testing.T) {
	tr, w := trainer(t, params()), window(t)
	before := tr.weights.Clone().Tensors()
	steps(t, tr, w, 1)
	after, candidate := tr.weights.Tensors(), tr.Candidate().Tensors()
	moved := false
	for i, tensor := range candidate {
		for j, x := range tensor.Data {
			a, b := float64(before[i].Data[j]), float64(after[i].Data[j])
			if want := a/11 + b*10/11; math.Abs(float64(x)-want) > 1e-6 {
				t.Fatalf("%s[%d] is %v, want %v", tensor.Name, j, x, want)
			}
			moved = moved || math.Abs(a-b) > 1e-4
		}
	}
	if !moved {
		t.Error("the weights do not move")
	}
}

// TestPolicyLossIsAMean: with the policy loss alone, the total is the mean over the rows with a policy target, however
// few of the batch they are. A batch without any costs nothing.
func TestPolicyLossIsAMean(t *testing.T) {
	recs := games(60)
	n := 0
	for _, rec := range recs {
		for i := range rec.Plies {
			if ply := &rec.Plies[i]; ply.Kind == data.Full {
				if n++; n%4 > 0 {
					ply.Kind, ply.Policy = data.Fast, nil
				}
			}
		}
	}
	window := data.DefaultWindowParams()
	window.HoldOut, window.FastWeight = 0, 1
	p := params()
	p.Graph.ValueLoss, p.Graph.RingsLoss = 0, 0
	tr := trainer(t, p)
	losses := steps(t, tr, windowOf(t, recs, window), 1)
	full := 0
	for _, s := range tr.Batch() {
		if s.Kind == data.Full {
			full++
		}
	}
	if full == 0 || full > len(tr.Batch())/2 {
		t.Fatalf("%d full rows of %d: want some", full, len(tr.Batch()))
	}
	if losses.Policy < 1 || math.Abs(losses.Total/losses.Policy-1) > 1e-5 {
		t.Errorf("%d full rows of %d: the total is %v, want the policy loss %v", full, len(tr.Batch()), losses.Total, losses.Policy)
	}

	window.FullWeight = 0
	if losses := steps(t, trainer(t, p), windowOf(t, recs, window), 1); losses.Policy != 0 || losses.Total != 0 {
		t.Errorf("no full rows: losses %+v, want none", losses)
	}
}

// TestNotFinite poisons one weight: the step must be refused and change nothing.
func TestNotFinite(t *testing.T) {
	tr, w := trainer(t, params()), window(t)
	steps(t, tr, w, 2)
	tr.weights.Tensors()[0].Data[5] = float32(math.Inf(1))
	before, average := tr.weights.Clone(), tr.average.Clone()
	_, err := tr.Step(context.Background(), w)
	if !errors.Is(err, graph.ErrNotFinite) {
		t.Fatalf("got %v, want an error that wraps graph.ErrNotFinite", err)
	}
	if tr.Steps() != 2 || tr.Drawn() != 3 || !tr.weights.Equal(before) || !tr.average.Equal(average) {
		t.Error("a refused step has changed something, or would draw its batch again")
	}
}

// TestFill looks at the targets from both sides: what is a win for White is a loss for Black.
func TestFill(t *testing.T) {
	p := params()
	pos := rules.New(rules.Standard())
	for _, side := range []rules.Color{rules.White, rules.Black} {
		if pos.ToMove() != side {
			t.Fatal("the sides do not alternate while rings are placed")
		}
		legal := pos.AppendMoves(nil)
		s := data.Sample{
			Pos: pos, Kind: data.Full, Policy: []data.Visit{{Move: legal[3], Weight: 1}, {Move: legal[7], Weight: 3}},
			Value: 0.5, Outcome: rules.WhiteWins, Rings: 2,
		}
		var e graph.Example
		if err := p.fill(&e, &s); err != nil {
			t.Fatal(err)
		}
		want, rings := [3]float32{0.75 + 0.25*0.75, 0, 0.25 * 0.25}, 5
		if side == rules.Black {
			want[0], want[2] = want[2], want[0]
			rings = 1
		}
		if e.WDL != want || e.Rings != rings {
			t.Errorf("%v to move: got %v and rings %d, want %v and %d", side, e.WDL, e.Rings, want, rings)
		}
		if e.Policy[3] != 0.25 || e.Policy[7] != 0.75 || e.PolicyWeight != 1 || len(e.Policy) != len(legal) {
			t.Errorf("%v to move: policy %v with weight %v", side, e.Policy, e.PolicyWeight)
		}
		s.Kind, s.Policy = data.Fast, nil
		if err := p.fill(&e, &s); err != nil || e.PolicyWeight != 0 || e.ValueWeight != 1 {
			t.Errorf("a fast ply: weights %v and %v, %v", e.PolicyWeight, e.ValueWeight, err)
		}
		s.Kind, s.Policy = data.Full, []data.Visit{{Move: rules.Pass, Weight: 1}}
		if err := p.fill(&e, &s); err == nil {
			t.Error("an illegal target is not refused")
		}
		pos.Play(legal[0])
	}
}

func TestWDL(t *testing.T) {
	for _, tt := range []struct {
		result, mix, value float32
		want               [3]float32
	}{
		{1, 0, -1, [3]float32{1, 0, 0}},
		{0, 0, 1, [3]float32{0, 1, 0}},
		{-1, 0, 0, [3]float32{0, 0, 1}},
		{0, 1, 1, [3]float32{1, 0, 0}},
		{1, 0.5, 0, [3]float32{0.75, 0, 0.25}},
	} {
		if got := wdl(tt.result, tt.mix, tt.value); got != tt.want {
			t.Errorf("wdl(%v, %v, %v) is %v, want %v", tt.result, tt.mix, tt.value, got, tt.want)
		}
	}
}

func TestRate(t *testing.T) {
	p := Params{LearningRate: 1, WarmupSteps: 10, HalvingSteps: 100, LearningFloor: 0.3}
	for step, want := range map[int64]float64{0: 0.1, 4: 0.5, 9: 1, 10: 1, 110: 0.5, 210: 0.3, 100000: 0.3} {
		if got := p.Rate(step); math.Abs(got-want) > 1e-12 {
			t.Errorf("rate at step %d is %v, want %v", step, got, want)
		}
	}
}

func TestParamsValidate(t *testing.T) {
	if err := params().Validate(); err != nil {
		t.Error(err)
	}
	p := Params{LearningRate: 2, WarmupSteps: -1, HalvingSteps: -1, LearningFloor: 2, Average: 1, ValueMix: -1}
	if err := p.Validate(); err == nil || strings.Count(err.Error(), "\n") != 5 {
		t.Errorf("got %v, want six faults", err)
	}
}

// FuzzCheckpoint feeds damaged files: they must be refused or be a whole trainer, never a panic.
func FuzzCheckpoint(f *testing.F) {
	var b bytes.Buffer
	if err := net.WriteTensors(&b, trainer(f, params()).weights.Tensors()[:1], map[string]string{archKey: "32x1", stepKey: "3"}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte{})
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, file []byte) {
		path := filepath.Join(dir, checkpointPrefix+"1"+checkpointExtension)
		w, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(w, bytes.NewReader(file)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if tr, _, err := Resume(dir, arch, params(), seed.New(2)); err == nil && tr == nil {
			t.Error("a file is there, and neither a trainer nor an error came of it")
		}
	})
}
