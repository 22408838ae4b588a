package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const configs = "../../configs"

func TestConfigsLoad(t *testing.T) {
	files, err := filepath.Glob(configs + "/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("got %d files, %v: want standard, blitz, mini and smoke", len(files), err)
	}
	for _, f := range files {
		c, err := Load(f, nil)
		if err != nil {
			t.Error(err)
		}
		again, err := Parse("again", c.YAML(), nil)
		if err != nil || !reflect.DeepEqual(c, again) {
			t.Errorf("%s: written and read back: %v\ngot  %+v\nwant %+v", f, err, again, c)
		}
	}
}

// standard.yaml is the reference: it has every key, at its default, and each line's comment states the range that holds.
func TestStandardIsTheDefault(t *testing.T) {
	path := configs + "/standard.yaml"
	c, err := Load(path, nil)
	if err != nil || !reflect.DeepEqual(c, Default()) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, c, Default())
	}
	text, _ := os.ReadFile(path)
	d := decoder{name: path, where: map[string]string{}}
	d.value(d.parse(text), reflect.ValueOf(&c).Elem(), "", "")
	for _, key := range Keys() {
		if d.where[key] == "" {
			t.Errorf("%s is missing from %s", key, path)
		}
	}
}

func TestEveryLineIsCommented(t *testing.T) {
	files, _ := filepath.Glob(configs + "/*.yaml")
	for _, f := range files {
		text, _ := os.ReadFile(f)
		section := reflect.TypeFor[Config]()
		for i, line := range strings.Split(string(text), "\n") {
			setting, comment, commented := strings.Cut(line, "#")
			name, value, isKey := strings.Cut(setting, ":")
			if !isKey {
				continue
			}
			typ := reflect.TypeFor[Config]()
			if strings.HasPrefix(name, " ") {
				typ = section
			}
			field := typ.Field(fieldNamed(typ, strings.TrimSpace(name)))
			if strings.TrimSpace(value) == "" {
				section = field.Type
				continue
			}
			bounds := field.Tag.Get("range") + field.Tag.Get("oneof")
			if !commented || strings.Count(comment, " · ") < 1 || !strings.Contains(comment, bounds) {
				t.Errorf("%s:%d: the comment %q lacks unit, range %q or reason", f, i+1, comment, bounds)
			}
		}
	}
}

// Every testdata/NAME.bad.yaml says in its comments what is wrong with it: "# want: TEXT" for each Fault, in order.
func TestBadFiles(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.bad.yaml")
	if len(files) == 0 {
		t.Fatal("no testdata/*.bad.yaml")
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(f)
		var want []string
		for line := range strings.Lines(string(text)) {
			if _, w, ok := strings.Cut(line, "# want: "); ok {
				want = append(want, name+strings.TrimSpace(w))
			}
		}
		_, err = Parse(name, text, nil)
		if got := messages(err); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\ngot\n  %s\nwant\n  %s", f, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
		}
	}
}

// What errors quote is cut.
func TestShort(t *testing.T) {
	long := strings.Repeat("é", 200)
	cut := strings.Repeat("é", 60) + "…"
	_, err := Parse("f", []byte(long+": 1\nseed: "+long+"\nsearch: {cache: "+strings.Repeat("9", 200)+"}\n"), []string{"seed=" + long, long + "=1"})
	for _, m := range messages(err) {
		if n := strings.Count(m, "é"); n > 180 || len(m) > 900 {
			t.Errorf("%d characters: %s", len(m), m)
		}
	}
	if want := `f:2:7: seed: is "` + cut + `": want`; !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = Parse("f", []byte("variant: "+long+"\nnetwork: {arch: "+long+"}\nanchors: {players: ["+long+"]}\n"), nil)
	if err == nil || strings.Contains(err.Error(), cut[:len(cut)-len("…")]+"é") {
		t.Errorf("got %v, want texts of at most 60 characters", err)
	}
}

func TestLargeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.yaml")
	for size, want := range map[int]bool{MaxBytes: true, MaxBytes + 1: false} {
		text := "seed: 3 #" + strings.Repeat("x", size)
		if err := os.WriteFile(path, []byte(text[:size]), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path, nil)
		var fault *Fault
		if ok := err == nil; ok != want || (!ok && (!errors.As(err, &fault) || !strings.Contains(err.Error(), "larger than 1 MiB"))) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func messages(err error) (list []string) {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

func TestOverrides(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []string
		want string // of the error; empty: none
	}{
		{"number", []string{"search.simulations=32"}, ""},
		{"list", []string{"anchors.players=[random]"}, ""},
		{"last wins", []string{"seed=2", "seed=7"}, ""},
		{"no value", []string{"seed"}, "--set seed: want key=value, such as search.simulations=32"},
		{"misspelt", []string{"search.simulatons=3"}, "--set search.simulatons=3: search.simulatons: no such key: did you mean search.simulations?"},
		{"without section", []string{"simulations=3"}, "--set simulations=3: simulations: no such key: did you mean search.simulations?"},
		{"below a value", []string{"seed.x=3"}, "--set seed.x=3: seed.x: no such key: seed has no keys below it"},
		{"range", []string{"search.full_share=2"}, "--set search.full_share=2: search.full_share: is 2: want a number from 0.01 to 1"},
		{"type", []string{"seed=many"}, "--set seed=many: seed: is \"many\": want a whole number, 0 or more"},
		{"duration", []string{"fleet.ack_wait=2h"}, "--set fleet.ack_wait=2h: fleet.ack_wait: is 2h0m0s: want 1s to 1h"},
		{"fit", []string{"gate.elo0=90"}, "defaults: gate.elo1: is 80: want more than gate.elo0, 90"},
		{"idle", []string{"training.schedule=cosine", "training.halving_steps=50"}, "--set training.halving_steps=50: training.halving_steps: is 50, but schedule cosine does not use it: leave it at 100000, or choose schedule halving"},
		{"in use", []string{"training.schedule=step", "training.step_at=[10, 20]", "training.average=swa", "training.swa_every=7"}, ""},
		{"low constant", []string{"training.schedule=constant", "training.learning_rate=0.00001"}, ""},
		{"bad yaml", []string{"seed=[1"}, "--set seed=[1: seed: is \"[1\": want a whole number, 0 or more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("defaults", nil, tt.in)
			if got := strings.Join(messages(err), "\n"); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	c, err := Parse("x", []byte("seed: 3\nsearch: {considered: 8}\n"), []string{"seed=9", "search.simulations=32", "fleet.ack_wait=1m"})
	if err != nil || c.Seed != 9 || c.Search.Simulations != 32 || c.Search.Considered != 8 || c.Fleet.AckWait.String() != "1m0s" {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestDiffer(t *testing.T) {
	a, b := Default(), Default()
	if got := a.Differ(b); got != nil {
		t.Errorf("the same: got %v", got)
	}
	b.Seed, b.Search.Cache, b.Anchors.Players, b.Fleet.AckWait = 9, 0, []string{"random"}, 1
	want := []string{"seed", "search.cache", "anchors.players", "fleet.ack_wait"}
	if got := a.Differ(b); !slices.Equal(got, want) || !slices.Equal(b.Differ(a), want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFaultIsAType(t *testing.T) {
	_, err := Parse("x.yaml", []byte("\nseeds: 3\n"), nil)
	var f *Fault
	if !errors.As(err, &f) || f.Where != "x.yaml:2:1" || f.Key != "seeds" {
		t.Errorf("got %+v of %v", f, err)
	}
}

func TestLoadMissingFile(t *testing.T) {
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// The tags are read only when a key is given; this reads them all.
func TestTags(t *testing.T) {
	for _, key := range Keys() {
		typ := reflect.TypeFor[Config]()
		var f reflect.StructField
		var section reflect.Type
		for name := range strings.SplitSeq(key, ".") {
			section, f = typ, typ.Field(fieldNamed(typ, name))
			typ = f.Type
		}
		if name, words, ok := strings.Cut(f.Tag.Get("only"), "="); ok {
			other := fieldNamed(section, name)
			if other < 0 {
				t.Errorf("%s: only %q names no key", key, f.Tag.Get("only"))
				continue
			}
			choice := strings.Fields(section.Field(other).Tag.Get("oneof"))
			for _, w := range strings.Fields(words) {
				if !slices.Contains(choice, w) {
					t.Errorf("%s: only %q is none of %q", key, f.Tag.Get("only"), choice)
				}
			}
		}
		switch typ.Kind() {
		case reflect.Int, reflect.Float64:
			if lo, hi := bounds(f.Tag); f.Tag.Get("range") == "" || lo >= hi {
				t.Errorf("%s: range %q", key, f.Tag.Get("range"))
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob(configs + "/*.yaml")
	bad, _ := filepath.Glob("testdata/*.bad.yaml")
	for _, name := range append(files, bad...) {
		text, _ := os.ReadFile(name)
		f.Add(string(text), "seed=3")
	}
	f.Fuzz(func(t *testing.T, text, override string) {
		c, err := Parse("fuzz.yaml", []byte(text), []string{override})
		if err != nil {
			return
		}
		again, err := Parse("again", c.YAML(), nil)
		if err != nil || !reflect.DeepEqual(c, again) {
			t.Errorf("%v\ngot  %+v\nwant %+v", err, again, c)
		}
	})
}
