package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Every sweep in configs/sweeps is one whose runs can be made.
func TestSweepsLoad(t *testing.T) {
	files, err := filepath.Glob(configs + "/sweeps/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files, %v", len(files), err)
	}
	for _, f := range files {
		s, err := LoadSweep(f)
		if err != nil || len(s.Configurations) < 2 {
			t.Errorf("%s: %d configurations, %v", f, len(s.Configurations), err)
		}
	}
}

// The base is laid over the defaults, common over that, and what is a configuration's own over all.
func TestSweepLayers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sweep.yaml")
	base, err := filepath.Abs("testdata/sweep/base.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := "base: '" + base + `'
seeds: [18446744073709551615, 2]
for: 90m
common: {search: {simulations: 8}, training: {batch: 32}}
configurations:
  plain:
  wide: {network: {arch: 64x4p}, training: {batch: 64}}
  later: &later {training: {step_at: [200, 300]}}
  same: *later
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := LoadSweep(path)
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Seed, want.Variant, want.Training.Schedule, want.Training.StepAt = 1<<64-1, "mini", "step", []int64{100}
	want.Search.Simulations, want.Training.Batch = 8, 32
	wide, later := want, want
	wide.Network.Arch, wide.Training.Batch = "64x4p", 64
	later.Training.StepAt = []int64{200, 300}
	if all := (Sweep{
		For: s.For, Seeds: []uint64{1<<64 - 1, 2}, Common: want,
		Configurations: []Configuration{{"plain", want}, {"wide", wide}, {"later", later}, {"same", later}},
	}); s.For.Minutes() != 90 || !reflect.DeepEqual(s, all) {
		t.Errorf("got\n%+v\nwant\n%+v", s, all)
	}
	if err := os.WriteFile(path, []byte("games: 3\nconfigurations: {a: {}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err = LoadSweep(path)
	if err != nil || !reflect.DeepEqual(s.Common, Default()) || !reflect.DeepEqual(s.Seeds, []uint64{1}) || s.Games != 3 {
		t.Errorf("without base and seeds: got %+v, %v", s, err)
	}
}

func TestBadSweeps(t *testing.T) {
	files, _ := filepath.Glob("testdata/sweep/*.bad.yaml")
	if len(files) == 0 {
		t.Fatal("no testdata/sweep/*.bad.yaml")
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for line := range strings.Lines(string(text)) {
			if _, w, ok := strings.Cut(line, "# want: "); ok {
				want = append(want, f+strings.TrimSpace(w))
			}
		}
		_, err = LoadSweep(f)
		if got := messages(err); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\ngot\n  %s\nwant\n  %s", f, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
		}
		var fault *Fault
		if !errors.As(err, &fault) {
			t.Errorf("%s: %v is no Fault", f, err)
		}
	}
}

// A base that is not there, or not good, is named beside the sweep that wants it.
func TestSweepBase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sweep.yaml")
	bad, err := filepath.Abs("testdata/sweep/bad-base.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for base, want := range map[string]string{"none.yaml": "none.yaml", bad: "bad-base.yaml:1:10: variant"} {
		if err := os.WriteFile(path, []byte("base: '"+base+"'\ngames: 3\nconfigurations: {a: {}}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadSweep(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("base %s: got %v, want %q and %s", base, err, want, path)
		}
	}
	if _, err := LoadSweep(filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
}

func FuzzSweep(f *testing.F) {
	files, _ := filepath.Glob(configs + "/sweeps/*.yaml")
	bad, _ := filepath.Glob("testdata/sweep/*.bad.yaml")
	for _, name := range append(files, bad...) {
		text, _ := os.ReadFile(name)
		f.Add(string(text))
	}
	path := filepath.Join(f.TempDir(), "fuzz.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "base") { // no file of this machine's
			return
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := LoadSweep(path)
		if err == nil && (len(s.Configurations) == 0 || len(s.Seeds) == 0 || s.Games+s.Positions+int64(s.For) == 0) {
			t.Errorf("a sweep of nothing: %+v", s)
		}
	})
}
