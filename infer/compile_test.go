package infer

import (
	"math"
	"math/rand/v2"
	"testing"

	"yinshzero/net"
	"yinshzero/net/kernel"
	"yinshzero/rules"
)

// TestCompile: a Program in 8-bit integers where they are asked for and fast, else floats; its answers are close to those
// in floats, on other Positions than it was made by.
func TestCompile(t *testing.T) {
	w := net.Init(net.Arch{Channels: 32, Blocks: 2, Pooling: true}, rand.New(rand.NewPCG(1, 2)))
	w.Tensor(net.WDLHead + net.WeightName).Data[5] = 3
	p := Params{Int8: true}
	inBytes, err := p.Compile(w, rules.Standard())
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.Compile(w, rules.Standard())
	if err != nil {
		t.Fatal(err)
	}
	floats, err := Params{}.Compile(w, rules.Standard())
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := New(inBytes, Params{}), New(again, Params{}), New(floats, Params{})
	differ := false
	for _, pos := range positions(60) {
		if pos.Variant() != rules.Standard() {
			continue
		}
		qa, qb, qc := ask(t, a, pos), ask(t, b, pos), ask(t, c, pos)
		if qa.Value != qb.Value {
			t.Fatalf("%v: compiled twice, %v and %v", &pos, qa.Value, qb.Value)
		}
		differ = differ || qa.Value != qc.Value
		if d := math.Abs(float64(qa.Value - qc.Value)); d > 0.03 {
			t.Errorf("%v: value %v, in floats %v", &pos, qa.Value, qc.Value)
		}
		for i, prior := range qa.Prior {
			if d := math.Abs(float64(prior - qc.Prior[i])); d > 0.01 {
				t.Errorf("%v: prior of %v is %v, in floats %v", &pos, qa.Legal[i], prior, qc.Prior[i])
			}
		}
	}
	if differ != kernel.HasInt8() {
		t.Errorf("answers differ from those in floats: %v; 8 bits are fast here: %v", differ, kernel.HasInt8())
	}
	t.Setenv(kernel.ISAVariable, "generic")
	if program, err := p.Compile(w, rules.Standard()); err != nil || program.ISA() != "generic" {
		t.Errorf("plain Go forced: %v", err)
	}
	if kernel.HasInt8() {
		t.Error("8 bits are said to be fast in plain Go")
	}
}

// BenchmarkCompile is what a model costs before its first evaluation.
func BenchmarkCompile(b *testing.B) {
	for _, arch := range []net.Arch{{Channels: 32, Blocks: 4, Pooling: true}, {Channels: 64, Blocks: 6, Pooling: true}} {
		w := net.Init(arch, rand.New(rand.NewPCG(1, 2)))
		for name, p := range map[string]Params{"floats": {}, "int8": {Int8: true}} {
			b.Run(arch.String()+"/"+name, func(b *testing.B) {
				for b.Loop() {
					if _, err := p.Compile(w, rules.Standard()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
