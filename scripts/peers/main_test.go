//go:build linux

package main

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestPlaying(t *testing.T) {
	for arch, want := range map[string]string{
		"64x6p":                       "64x6p-reply-ownership-plies",
		"32x4":                        "32x4-reply-ownership-plies",
		"32x4p-rings":                 "32x4p-rings-reply-ownership-plies",
		"32x4p-rings-reply-ownership": "32x4p-rings-reply-ownership-plies",
		"64x6p-reply-ownership-plies": "64x6p-reply-ownership-plies",
		"96x8p-ownership":             "96x8p-reply-ownership-plies",
	} {
		if got := playing(arch); got != want {
			t.Errorf("%s plays as %s, want %s", arch, got, want)
		}
	}
}

func TestValidate(t *testing.T) {
	good := options{seconds: 3, rounds: 5}
	for want, edit := range map[string]func(o *options) []string{
		"":                             func(o *options) []string { return nil },
		`"avx2" is no flag`:            func(o *options) []string { return []string{"avx2"} },
		`--isa is "sse9": want avx512`: func(o *options) []string { o.isa = "sse9"; return nil },
		"--seconds is 0: want above 0": func(o *options) []string { o.seconds = 0; return nil },
		"--seconds is NaN":             func(o *options) []string { o.seconds = math.NaN(); return nil },
		"--seconds is +Inf":            func(o *options) []string { o.seconds = math.Inf(1); return nil },
		"--rounds is 0: want at least": func(o *options) []string { o.rounds = 0; return nil },
	} {
		o := good
		if err := o.validate(edit(&o)); want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	o := options{cpu: 1 << 20}
	if err := o.run(nil); err == nil || !strings.HasPrefix(err.Error(), "--cpu is 1048576: ") {
		t.Errorf("a core that is not there: got %v", err)
	}
}

func TestFigures(t *testing.T) {
	a, b := []sample{{Rate: 30}, {Rate: 20}, {Rate: 80}}, []sample{{Rate: 10}, {Rate: 20}, {Rate: 20}}
	if got, want := spread("%g", ratios(a, b, func(s sample) float64 { return s.Rate })), "3 (1 to 4)"; got != want {
		t.Errorf("ratios %s, want %s", got, want)
	}
	if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("median %g, want 2.5", got)
	}
}

// fake starts a peer that is a shell script.
func fake(t *testing.T, lines ...string) *peer {
	t.Helper()
	if _, err := exec.LookPath("taskset"); err != nil {
		t.Skip("no taskset: ", err)
	}
	script := filepath.Join(t.TempDir(), "peer.sh")
	if err := os.WriteFile(script, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	p := (&options{cpu: lastCPU()}).start("Fake", "/bin/sh", script, "")
	t.Cleanup(p.stop)
	return p
}

const hello = `echo '{"version": "1"}'`

func TestPeer(t *testing.T) {
	p := fake(t, hello, `while read -r line; do case $line in
		*'"batch":4,'*) echo '{"rate": 90, "share": 0.5, "way": "quick"}' ;; # 180 a second of CPU time
		*) echo '{"rate": 100, "share": 1}' ;;
		esac; done`)
	if p.missing != "" || p.version != "1" {
		t.Fatalf("peer %q, missing %q", p.version, p.missing)
	}
	best, err := p.bestBatch(1)
	if err != nil || best.name != "Fake, batch 4" {
		t.Fatalf("best is %q, %v", best.name, err)
	}
	if s, err := best.measure(1); err != nil || s != (sample{90, 0.5, "quick"}) {
		t.Errorf("measured %v, %v", s, err)
	}
}

func TestPeerThatIsMissing(t *testing.T) {
	if p := fake(t, `echo '{"missing": "no such module"}'`); p.missing != "no such module" || p.check("") != nil {
		t.Errorf("missing: %q", p.missing)
	}
	if p := (&options{}).start("Fake", "/no/such/program", "", ""); p.missing == "" || p.check("") != nil {
		t.Error("a program that is not there is not missing")
	}
	if p := fake(t, `exit 3`); p.missing == "" {
		t.Error("a program that ends at once is not missing")
	}
}

func TestPeerThatDiffers(t *testing.T) {
	for answer, same := range map[string]bool{
		`{"error": 1e-6, "largest": 0.4}`:                      true,
		`{"error": 1e-3, "largest": 0.4}`:                      false,
		`{"error": 1e-6, "largest": 0.4, "loss_error": 1e-6}`:  true,
		`{"error": 1e-6, "largest": 0.4, "loss_error": 0.001}`: false,
		`{"error": `: false,
	} {
		p := fake(t, hello, `read -r line; echo '`+answer+`'`)
		if err := p.check(""); (err == nil) != same {
			t.Errorf("%s: %v", answer, err)
		}
	}
	p := fake(t, hello, `read -r line`) // it dies
	if err := p.check(""); err == nil {
		t.Error("no error from a peer that died")
	}
}
