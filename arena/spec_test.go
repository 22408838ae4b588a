package arena

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParseSpec(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Spec
	}{
		{"random", Spec{Kind: SpecRandom}},
		{"greedy", Spec{Kind: SpecGreedy}},
		{"uct:200", Spec{Kind: SpecUCT, Simulations: 200}},
		{"model:best", Spec{Kind: SpecModel, Model: "best"}},
		{"model:run/models/3f.safetensors@64", Spec{Kind: SpecModel, Model: "run/models/3f.safetensors", Simulations: 64}},
		{`model:C:\m@home\x@1`, Spec{Kind: SpecModel, Model: `C:\m@home\x`, Simulations: 1}},
		{"model:best@250ms", Spec{Kind: SpecModel, Model: "best", Time: 250 * time.Millisecond}},
		{"model:best@2s", Spec{Kind: SpecModel, Model: "best", Time: 2 * time.Second}},
		{"model:a@b.safetensors,root=gumbel,int8@1500ms", Spec{Kind: SpecModel, Model: "a@b.safetensors", Options: "root=gumbel,int8", Time: 1500 * time.Millisecond}},
		{"model:best,reuse=off", Spec{Kind: SpecModel, Model: "best", Options: "reuse=off"}},
		{"cmd:./engine --level 3 @2", Spec{Kind: SpecCommand, Command: "./engine --level 3 @2"}},
	} {
		got, err := ParseSpec(c.in)
		if err != nil || got != c.want {
			t.Errorf("%q: got %+v, %v, want %+v", c.in, got, err, c.want)
		}
		if got.String() != c.in {
			t.Errorf("%q: printed as %q", c.in, got.String())
		}
	}
	for _, c := range []struct{ in, want string }{
		{"", "want random, greedy, uct:SIMS, model:FILE[,OPTION…][@SIMS|@TIME] or cmd:COMMAND"},
		{"Random", "want random, greedy"},
		{"random:", "random takes nothing after it"},
		{"greedy:3", "greedy takes nothing after it"},
		{"uct", "want uct:SIMS"},
		{"uct:0", "1 to 100000"},
		{"uct:100001", "1 to 100000"},
		{"uct:+5", "want uct:SIMS"},
		{"uct:2e3", "want uct:SIMS"},
		{"model:", "no model"},
		{"model:@5", "no model"},
		{"model:x@", `"" is no budget`},
		{"model:x@1O0", `"1O0" is no budget`},
		{"model:x@0s", `"0s" is no budget`},
		{"model:x@61m", `"61m" is no budget`},
		{"model:x@1000ms", `"1000ms" is no budget`}, // 1s
		{"model:,int8@3", "no model"},
		{"model:x,", "no option after the comma"},
		{"cmd: ", "no command"},
		{"cmd:a\tb", "control"},
	} {
		if got, err := ParseSpec(c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %+v, error %v, want %s", c.in, got, err, c.want)
		}
	}
}

func TestSpecMaker(t *testing.T) {
	other := errors.New("not here")
	resolve := func(s Spec) (Maker, error) { return nil, other }
	for _, c := range []struct {
		in   string
		want error
	}{{"random", nil}, {"greedy", nil}, {"uct:3", nil}, {"model:x", other}, {"cmd:x", other}} {
		s, err := ParseSpec(c.in)
		if err != nil {
			t.Fatal(err)
		}
		m, err := s.Maker(resolve)
		if err != c.want {
			t.Errorf("%s: got error %v, want %v", c.in, err, c.want)
			continue
		}
		if err == nil {
			if p, err := m(); err != nil || p == nil {
				t.Errorf("%s: made %v, %v", c.in, p, err)
			}
		}
	}
}

func FuzzParseSpec(f *testing.F) {
	for _, s := range []string{"random", "greedy", "uct:50", "model:best@100", "cmd:./x y", "model:a@b@3", "model:a,b=c@20ms"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		s, err := ParseSpec(in)
		if err != nil {
			return
		}
		if s.String() != in {
			t.Errorf("%q is read as %+v and printed as %q", in, s, s.String())
		}
	})
}
