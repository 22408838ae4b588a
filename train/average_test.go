package train

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"yinshzero/internal/seed"
	"yinshzero/net"
)

// set makes every number of w the same.
func set(w *net.Weights, x float32) *net.Weights {
	for _, tensor := range w.Tensors() {
		for i := range tensor.Data {
			tensor.Data[i] = x
		}
	}
	return w
}

// holds fails unless every number of w is want.
func holds(t *testing.T, name string, w *net.Weights, want float64) {
	t.Helper()
	for _, tensor := range w.Tensors() {
		for i, x := range tensor.Data {
			if !(math.Abs(float64(x)-want) <= 1e-6) {
				t.Fatalf("%s: %s[%d] is %v, want %v", name, tensor.Name, i, x, want)
			}
		}
	}
}

func start() *net.Weights { return net.Init(arch, seed.New(1).Rand()) }

// TestEMA works the running average out by hand: weights of 3 and an average of 1 before each step.
func TestEMA(t *testing.T) {
	for _, tt := range []struct {
		memory float64
		step   int64
		want   float64 // memory · 1 + (1 − memory) · 3
	}{
		{0.9, 1, 31.0 / 11}, // 1/11 is short
		{0.9, 5, 7.0 / 3},   // 5/15
		{0.9, 10, 2},        // 10/20
		{0.9, 90, 1.2},      // 90/100: as long as Memory
		{0.9, 1000, 1.2},    // and no longer
		{0.25, 1, 31.0 / 11},
		{0.25, 10, 2.5},
	} {
		w := set(start(), 1)
		a := newAverager(Average{Kind: EMA, Memory: tt.memory}, w)
		a.follow(set(w, 3), tt.step)
		holds(t, fmt.Sprintf("memory %v, step %d", tt.memory, tt.step), a.candidate(w), tt.want)
	}
}

// TestSWA: with weights of step² after every step, the candidate is the mean of the newest snapshots.
func TestSWA(t *testing.T) {
	w := start()
	a := newAverager(Average{Kind: SWA, Every: 3, Snapshots: 4}, w)
	for step := range int64(40) {
		step++
		a.follow(set(w, float32(step*step)), step)
		sum, n := 0.0, 0.0
		for s := step - step%3; s > 0 && n < 4; s -= 3 {
			sum += float64(s * s)
			n++
		}
		want := float64(step * step) // before the first snapshot
		if n > 0 {
			want = sum / n
		}
		c := a.candidate(w)
		holds(t, fmt.Sprintf("step %d", step), c, float64(float32(want)))
		set(c, -1) // the candidate is a copy
		holds(t, fmt.Sprintf("step %d again", step), a.candidate(w), float64(float32(want)))
	}
	holds(t, "the weights", w, 1600)
}

// TestSWAOfNoisySteps: of steps that scatter about a minimum, the average of n snapshots comes √n times closer to it.
func TestSWAOfNoisySteps(t *testing.T) {
	rng := seed.New(3).Rand()
	w := start()
	a := newAverager(Average{Kind: SWA, Every: 1, Snapshots: 16}, w)
	for step := range int64(40) {
		for _, tensor := range w.Tensors() {
			for i := range tensor.Data {
				tensor.Data[i] = 2 + float32(rng.NormFloat64())
			}
		}
		a.follow(w, step+1)
	}
	sum, n := 0.0, 0
	for _, tensor := range a.candidate(w).Tensors() {
		for _, x := range tensor.Data {
			sum += (float64(x) - 2) * (float64(x) - 2)
			n++
		}
	}
	if got := math.Sqrt(sum / float64(n)); math.Abs(got-0.25) > 0.01 {
		t.Errorf("the average is off by %v, want 1/√16", got)
	}
}

func TestPlain(t *testing.T) {
	w := start()
	a := newAverager(Average{Kind: Plain}, w)
	a.follow(set(w, 2), 1)
	holds(t, "candidate", a.candidate(w), 2)
	if len(a.state()) != 0 {
		t.Error("there is state")
	}
}

func TestAverageValidate(t *testing.T) {
	for _, c := range []struct {
		a    Average
		want string // of the error; empty: none
	}{
		{Average{Kind: Plain}, ""},
		{Average{Kind: EMA, Memory: 0.5}, ""},
		{Average{Kind: SWA, Every: 1, Snapshots: 2}, ""},
		{Average{}, `average is ""`},
		{Average{Kind: "mean"}, `average is "mean"`},
		{Average{Kind: EMA}, "memory of the average is 0"},
		{Average{Kind: EMA, Memory: 1}, "memory of the average is 1"},
		{Average{Kind: EMA, Memory: math.NaN()}, "memory of the average is NaN"},
		{Average{Kind: SWA, Snapshots: 2}, "steps between snapshots is 0"},
		{Average{Kind: SWA, Every: 1, Snapshots: 1}, "snapshots averaged is 1"},
		{Average{Kind: SWA, Every: 1, Snapshots: MaxSnapshots + 1}, "snapshots averaged is 65"},
	} {
		err := c.a.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: got %v, want %q", c.a, err, c.want)
		}
	}
}

// TestRestoreAverage: fewer snapshots than the state has are the newest; what no averager wrote is refused and changes
// nothing.
func TestRestoreAverage(t *testing.T) {
	w := start()
	old := newAverager(Average{Kind: SWA, Every: 1, Snapshots: 5}, w)
	for step := range int64(5) {
		old.follow(set(w, float32(step)), step+1)
	}
	a := newAverager(Average{Kind: SWA, Every: 1, Snapshots: 2}, w)
	if err := a.restore(arch, old.state()); err != nil {
		t.Fatal(err)
	}
	holds(t, "two of five", a.candidate(w), 3.5)
	before := a.state()

	edit := func(f func(s []net.Tensor) []net.Tensor) []net.Tensor { return f(old.state()) }
	for _, c := range []struct {
		name  string
		state []net.Tensor
		want  string
	}{
		{"missing", edit(func(s []net.Tensor) []net.Tensor { return s[1:] }), "is missing"},
		{"extra", edit(func(s []net.Tensor) []net.Tensor {
			return append(s, net.Tensor{Spec: net.Spec{Name: "more", Shape: []int{5}}, Data: make([]float32, 5)})
		}), "not part of arch"},
		{"other number", edit(func(s []net.Tensor) []net.Tensor { s[1].Shape[0] = 4; return s }), "5 versions"},
		{"none", edit(func(s []net.Tensor) []net.Tensor { s[0].Shape[0] = 0; return s }), "0 versions"},
		{"too many", edit(func(s []net.Tensor) []net.Tensor { s[0].Shape[0] = MaxSnapshots + 1; return s }), "65 versions"},
		{"scalar", edit(func(s []net.Tensor) []net.Tensor { s[1].Shape = nil; return s }), "has shape []"},
	} {
		if err := a.restore(arch, c.state); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	if err := newAverager(Average{Kind: EMA, Memory: 0.5}, w).restore(arch, nil); err == nil {
		t.Error("an average of nothing is restored")
	}
	if !reflect.DeepEqual(a.state(), before) {
		t.Error("a failed restore changed the averager")
	}
}

// TestAverageChanges: a run may go on with another kind of average, which then begins with the weights.
func TestAverageChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	kinds := []Average{{Kind: Plain}, {Kind: EMA, Memory: 0.9}, {Kind: SWA, Every: 1, Snapshots: 3}}
	w := window(t)
	for _, from := range kinds {
		for _, to := range kinds {
			p, dir := params(), t.TempDir()
			p.Average = from
			tr := trainer(t, p)
			steps(t, tr, w, 2)
			if err := tr.Save(dir); err != nil {
				t.Fatal(err)
			}
			p.Average = to
			got, damage, err := Resume(dir, arch, p, seed.New(2))
			if err != nil || len(damage) > 0 {
				t.Fatal(damage, err)
			}
			want := tr.weights
			if from == to {
				want = tr.Candidate()
			}
			if !got.Candidate().Equal(want) {
				t.Errorf("%s to %s: another candidate", from.Kind, to.Kind)
			}
			steps(t, got, w, 1)
		}
	}
}
