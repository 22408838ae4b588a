package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"yinshzero/net"
	"yinshzero/rules"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// never is a time between reports that no test lives to see.
const never = time.Hour

// uniform is the Params of an engine that knows nothing and reports at the end only.
func uniform() Params {
	p := DefaultParams()
	p.Version, p.Model, p.Report = "0123456789ab", "uniform", never
	p.Load = func(name string, _ rules.Variant) (Model, error) {
		if name != "uniform" {
			return Model{}, errors.New("there is no model " + name)
		}
		return Model{Name: name}, nil
	}
	return p
}

// tiny is the Params of an engine with a small network of chance weights.
func tiny(t testing.TB, arch string) Params {
	a, err := net.ParseArch(arch)
	if err != nil {
		t.Fatal(err)
	}
	program, err := net.Init(a, rand.New(rand.NewPCG(1, 1))).Compile()
	if err != nil {
		t.Fatal(err)
	}
	p := uniform()
	p.Model = "tiny"
	p.Load = func(name string, _ rules.Variant) (Model, error) { return Compiled(name, program), nil }
	return p
}

// An end is the front end's side of an engine that runs in this process.
type end struct {
	t     testing.TB
	in    *io.PipeWriter
	lines chan string
	done  chan error
}

type speaker func(context.Context, io.Reader, io.Writer, Params) error

// begin runs an engine.
func begin(t testing.TB, speak speaker, p Params) *end {
	inRead, in := io.Pipe()
	out, outWrite := io.Pipe()
	e := &end{t, in, make(chan string, 1<<16), make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		err := speak(ctx, inRead, outWrite, p)
		outWrite.Close()
		e.done <- err
	}()
	go func() {
		defer close(e.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			e.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		cancel()
		in.Close()
	})
	return e
}

func (e *end) send(lines ...string) {
	e.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(e.in, l+"\n"); err != nil {
			e.t.Fatalf("send %q: %v", l, err)
		}
	}
}

// next is the next line.
func (e *end) next() string {
	e.t.Helper()
	select {
	case l, ok := <-e.lines:
		if !ok {
			e.t.Fatal("the engine has ended")
		}
		return l
	case <-time.After(patience):
		e.t.Fatal("the engine says nothing")
	}
	return ""
}

// until is the next line that begins with a word; the lines before it are dropped.
func (e *end) until(word string) string {
	e.t.Helper()
	for {
		if l := e.next(); strings.HasPrefix(l, word) {
			return l
		}
	}
}

// ended waits for the engine's end.
func (e *end) ended() error {
	e.t.Helper()
	select {
	case err := <-e.done:
		return err
	case <-time.After(patience):
		e.t.Fatal("the engine does not end")
	}
	return nil
}

// The transcripts of the page are what the engine says.
func TestTranscripts(t *testing.T) {
	text, err := os.ReadFile("../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	times := regexp.MustCompile(`nps \d+ time \d+`)
	blocks := regexp.MustCompile("(?s)```(ugi|json)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 3 {
		t.Fatalf("%d transcripts", len(blocks))
	}
	for i, b := range blocks {
		t.Run(fmt.Sprint(b[1], i), func(t *testing.T) {
			e := begin(t, map[string]speaker{"ugi": UGI, "json": JSON}[b[1]], uniform())
			for line := range strings.Lines(b[2]) {
				text := strings.TrimSpace(line[1:])
				if line[0] == '>' {
					e.send(text)
				} else if got, want := times.ReplaceAllString(e.next(), ""), times.ReplaceAllString(text, ""); got != want {
					t.Fatalf("got  %s\nwant %s", got, want)
				}
			}
			e.in.Close()
			if err := e.ended(); err != nil {
				t.Error(err)
			}
			if l, ok := <-e.lines; ok {
				t.Errorf("more comes: %s", l)
			}
		})
	}
}

// Params out of range are no engine.
func TestValidate(t *testing.T) {
	for want, change := range map[string]func(*Params){
		"Load is missing":       func(p *Params) { p.Load = nil },
		"0 threads":             func(p *Params) { p.Threads = 0 },
		"257 threads":           func(p *Params) { p.Threads = 257 },
		"0 simulations":         func(p *Params) { p.Simulations = 0 },
		"a report every 0s":     func(p *Params) { p.Report = 0 },
		"root policy gumbel":    func(p *Params) { p.Search.Root = 0 },
		"CPuct is 0":            func(p *Params) { p.Search.CPuct = 0 },
		"cache size is -1":      func(p *Params) { p.Infer.CacheSize = -1 },
		"radius":                func(p *Params) { p.Variant.Radius = 9 },
		"there is no model bad": func(p *Params) { p.Model = "bad" },
	} {
		p := uniform()
		change(&p)
		for name, speak := range map[string]speaker{"ugi": UGI, "json": JSON} {
			if err := speak(t.Context(), strings.NewReader("isready\n"), io.Discard, p); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", name, err, want)
			}
		}
	}
}

// A broken is a reader and a writer that fail.
type broken struct{}

func (broken) Read([]byte) (int, error)  { return 0, errors.New("read fails") }
func (broken) Write([]byte) (int, error) { return 0, errors.New("write fails") }

func TestBrokenPipes(t *testing.T) {
	for name, c := range map[string]struct {
		speak speaker
		lines string
	}{"ugi": {UGI, "isready\ngo infinite\n"}, "json": {JSON, `{"id":"a","moves":[],"maxVisits":1000000000,"reportDuringSearchEvery":0.01}` + "\n"}} {
		if err := c.speak(t.Context(), broken{}, io.Discard, uniform()); err == nil || !strings.Contains(err.Error(), "read fails") {
			t.Errorf("%s: got %v", name, err)
		}
		r, w := io.Pipe()
		go io.WriteString(w, c.lines)
		if err := c.speak(t.Context(), r, broken{}, uniform()); err == nil || !strings.Contains(err.Error(), "write fails") {
			t.Errorf("%s: got %v", name, err)
		}
		r.Close()
	}
}

// A context that ends ends the engine in the middle of a search.
func TestContext(t *testing.T) {
	for name, c := range map[string]struct {
		speak speaker
		line  string
	}{"ugi": {UGI, "go infinite"}, "json": {JSON, `{"id":"a","moves":[],"maxVisits":1000000000}`}} {
		r, w := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			io.WriteString(w, c.line+"\n")
			cancel()
		}()
		if err := c.speak(ctx, r, io.Discard, uniform()); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", name, err)
		}
		r.Close()
	}
}
