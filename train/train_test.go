package train

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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
		Graph:    graph.Params{Batch: 32, Replicas: 1, PolicyLoss: 1, ValueLoss: 1, RingsLoss: 0.25},
		Solver:   graph.DefaultSolverParams(),
		Schedule: Schedule{Kind: Halving, Peak: 2e-3, WarmupSteps: 5, HalvingSteps: 100},
		Average:  Average{Kind: EMA, Memory: 0.9}, ValueMix: 0.25,
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
	path, err := data.NextShard(dir, "")
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

// TestResumeContinues takes 2N steps at once, and N and N with a checkpoint between: every number must be the same, with
// every schedule, average and solver. The checkpoint falls into the warm-up, before any snapshot, at one, between two, and
// where the oldest is given up.
func TestResumeContinues(t *testing.T) {
	edit := func(f func(p *Params)) Params {
		p := params()
		f(&p)
		return p
	}
	schedule := func(s Schedule) Params {
		s.Peak, s.WarmupSteps = 2e-3, 3
		return edit(func(p *Params) { p.Schedule = s })
	}
	swa := edit(func(p *Params) { p.Average = Average{Kind: SWA, Every: 2, Snapshots: 3} })
	w := window(t)
	cases := []struct {
		name string
		p    Params
		at   int
	}{
		{"halving", params(), 6},
		{"halving, in the warm-up", params(), 2},
		{"constant", schedule(Schedule{Kind: Constant}), 5},
		{"step", schedule(Schedule{Kind: Stepwise, StepAt: []int64{2, 4}, StepFactor: 0.5}), 6},
		{"cosine", schedule(Schedule{Kind: Cosine, CosineSteps: 5, Floor: 1e-4}), 5},
		{"no average", edit(func(p *Params) { p.Average = Average{Kind: Plain} }), 5},
		{"swa, no snapshot", swa, 1},
		{"swa, one", swa, 2},
		{"swa, two", swa, 5},
		{"swa, all", swa, 9},
		{"sgd", edit(func(p *Params) { p.Solver.Kind = graph.SGD }), 5},
	}
	if testing.Short() {
		cases = cases[4:7]
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			const all = 12
			dir := t.TempDir()
			whole := trainer(t, c.p)
			steps(t, whole, w, all)
			half := trainer(t, c.p)
			steps(t, half, w, c.at)
			if err := half.Save(dir); err != nil {
				t.Fatal(err)
			}
			resumed, damage, err := Resume(dir, arch, c.p, seed.New(2))
			if err != nil || len(damage) > 0 || resumed.Steps() != int64(c.at) {
				t.Fatal(resumed, damage, err)
			}
			if rate := c.p.Schedule.Rate(int64(c.at)); resumed.LearningRate() != rate {
				t.Errorf("the rate is %v after the checkpoint, want %v", resumed.LearningRate(), rate)
			}
			if !resumed.Candidate().Equal(half.Candidate()) {
				t.Error("the checkpoint has another average")
			}
			steps(t, resumed, w, all-c.at)
			same(t, resumed, whole)
			if resumed.weights.Equal(half.weights) || c.p.Average.Kind != Plain && resumed.Candidate().Equal(resumed.weights) {
				t.Error("the weights or their average do not move")
			}
		})
	}
}

// same holds every number that the next steps depend on to those of another Trainer.
func same(t *testing.T, got, want *Trainer) {
	t.Helper()
	if !got.weights.Equal(want.weights) || !got.Candidate().Equal(want.Candidate()) {
		t.Error("weights or average differ")
	}
	if !reflect.DeepEqual(got.solver.State(), want.solver.State()) || !reflect.DeepEqual(got.average.state(), want.average.state()) {
		t.Error("the optimiser's numbers or the snapshots differ")
	}
	if got.step != want.step || got.drawn != want.drawn {
		t.Errorf("%d steps of %d batches, want %d of %d", got.step, got.drawn, want.step, want.drawn)
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

	// Another encoder: the planes that the weights know mean something else. And counts that cannot be.
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
	for _, c := range []struct{ key, value, want string }{
		{planeKey, "999", `encoder version is "999"`},
		{planeKey, "", `encoder version is ""`},
		{stepKey, "-1", `step is "-1"`},
		{stepKey, "", `step is ""`},
		{drawnKey, "1e3", `count of batches is "1e3"`},
		{stepKey, "7", `count of batches is "0": want a number, at least its step, 7`},
	} {
		other := maps.Clone(meta)
		other[c.key] = c.value
		var file bytes.Buffer
		if err := net.WriteTensors(&file, tensors, other); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(files[0], file.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Resume(dir, arch, params(), seed.New(2)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: got %v, want %s", c.key, c.value, err, c.want)
		}
	}
}

// TestBegin goes on without a checkpoint: the counts, the rate and the next batch are those of the step it goes on from.
func TestBegin(t *testing.T) {
	tr, w := trainer(t, params()), window(t)
	tr.Begin(105, 110)
	if tr.Steps() != 105 || tr.Drawn() != 110 || tr.LearningRate() != params().Schedule.Rate(105) {
		t.Errorf("%d steps, %d batches, rate %v: want 105, 110, %v", tr.Steps(), tr.Drawn(), tr.LearningRate(), params().Schedule.Rate(105))
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
	dir := t.TempDir()
	if err := tr.Save(dir); err != nil {
		t.Fatal(err)
	}
	if got, _, err := Resume(dir, arch, params(), seed.New(2)); err != nil || got.Steps() != 106 || got.Drawn() != 111 {
		t.Errorf("resumed: %+v, %v: want 106 steps and 111 batches", got, err)
	}
	if tr.Begin(9, 3); tr.Steps() != 9 || tr.Drawn() != 9 {
		t.Errorf("%d steps, %d batches: want 9 each, as no step goes without a batch", tr.Steps(), tr.Drawn())
	}
}

// TestStepFollows: the first step has step 1's memory, 1/11, of the weights before it.
func TestStepFollows(t *testing.T) {
	tr, w := trainer(t, params()), window(t)
	before := tr.weights.Clone().Tensors()
	steps(t, tr, w, 1)
	if rate := params().Schedule.Rate(0); tr.solver.LR != rate {
		t.Errorf("the rate was %v, want %v", tr.solver.LR, rate)
	}
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

// TestNotFinite poisons every tensor in turn: the step must be refused, its batch kept and nothing else changed.
func TestNotFinite(t *testing.T) {
	w := window(t)
	cases := []struct {
		average Average
		solver  string
		bad     float64
	}{
		{Average{Kind: EMA, Memory: 0.9}, graph.AdamW, math.NaN()},
		{Average{Kind: SWA, Every: 1, Snapshots: 2}, graph.SGD, math.Inf(1)},
		{Average{Kind: Plain}, graph.SGD, math.Inf(-1)},
	}
	if testing.Short() {
		cases = cases[:1]
	}
	for _, c := range cases {
		p := params()
		p.Average, p.Solver.Kind, p.Graph.Batch = c.average, c.solver, 8
		tr, err := New(net.Init(net.Arch{Channels: 32, Blocks: 2, Pooling: true}, seed.New(1).Rand()), p, seed.New(2))
		if err != nil {
			t.Fatal(err)
		}
		steps(t, tr, w, 3)
		for _, tensor := range tr.weights.Tensors() {
			i := len(tensor.Data) / 3
			good := tensor.Data[i]
			tensor.Data[i] = float32(c.bad)
			refused(t, tr, w, fmt.Sprintf("%v in %s", c.bad, tensor.Name))
			tensor.Data[i] = good
		}
		steps(t, tr, w, 1)
	}
}

// TestGradientNotFinite: the losses are finite and their gradients are not. The trunk's output is tiny and what follows
// is huge, so that the logits are of usual size, and the way back only has the huge factors.
func TestGradientNotFinite(t *testing.T) {
	w := window(t)
	tr := trainer(t, params())
	steps(t, tr, w, 2)
	good := tr.weights.Clone()
	for _, tensor := range tr.weights.Tensors() {
		for j := range tensor.Data {
			switch {
			case tensor.Name == net.ValueDense+net.WeightName && j >= arch.PoolLen()*net.ValueHidden: // of the globals
				tensor.Data[j] = 0
			case tensor.Name == net.InputConv+net.WeightName:
				tensor.Data[j] *= 1e-30
			case tensor.Name == net.ValueDense+net.WeightName, tensor.Name == net.WDLHead+net.WeightName:
				tensor.Data[j] *= 1e20
			case len(tensor.Shape) == 1 && strings.HasSuffix(tensor.Name, net.BiasName), tensor.Name == net.GlobalsFC:
				tensor.Data[j] = 0
			}
		}
	}
	if err := refused(t, tr, w, "huge gradients"); err == nil || !strings.Contains(err.Error(), "gradient of input.weight") {
		t.Errorf("got %v, want the gradient named", err)
	}
	for i, tensor := range tr.weights.Tensors() {
		copy(tensor.Data, good.Tensors()[i].Data)
	}
	steps(t, tr, w, 1)
}

// refused takes a step that must be refused and returns its error.
func refused(t *testing.T, tr *Trainer, w *data.Window, name string) error {
	t.Helper()
	bits := func() (all [][]uint32) {
		for _, tensors := range [][]net.Tensor{tr.weights.Tensors(), tr.average.state(), tr.solver.State()} {
			for _, x := range tensors {
				b := make([]uint32, len(x.Data))
				for i, v := range x.Data {
					b[i] = math.Float32bits(v)
				}
				all = append(all, b)
			}
		}
		return all
	}
	before, step, drawn := bits(), tr.Steps(), tr.Drawn()
	_, err := tr.Step(context.Background(), w)
	if !errors.Is(err, graph.ErrNotFinite) {
		t.Errorf("%s: got %v, want an error that wraps graph.ErrNotFinite", name, err)
	}
	if !reflect.DeepEqual(bits(), before) || tr.Steps() != step || tr.Drawn() != drawn+1 {
		t.Errorf("%s: the refused step has changed something, or would draw its batch again", name)
	}
	want := make([]data.Sample, len(tr.Batch()))
	if err := w.Draw(seed.New(2).Child("batch", uint64(drawn)).Rand(), want); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(tr.Batch()) != fmt.Sprint(want) { // no reply may be an empty slice of a row used before
		t.Errorf("%s: the batch in hand is not the one refused", name)
	}
	return err
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

func TestParamsValidate(t *testing.T) {
	if err := params().Validate(); err != nil {
		t.Error(err)
	}
	p := Params{Schedule: Schedule{Kind: "linear", Peak: 2}, Average: Average{Kind: "mean"}, ValueMix: -1}
	if err := p.Validate(); err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("got %v, want four faults", err)
	}
	p = params()
	p.Average = Average{Kind: SWA, Every: 1, Snapshots: MaxSnapshots}
	big := net.Arch{Channels: 256, Blocks: 20}
	if err := p.fits(big); err == nil || !strings.Contains(err.Error(), "fewer snapshots") {
		t.Errorf("%d snapshots of 256x20: got %v", MaxSnapshots, err)
	}
	p.Average.Snapshots = 8
	if err := p.fits(big); err != nil {
		t.Error(err)
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
