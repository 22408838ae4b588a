package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"yinshzero/engine"
	"yinshzero/rules"
	"yinshzero/web"
	"yinshzero/web/desk"
)

// browserDir is where scripts/browser.sh puts what drives a browser.
const browserDir = "testdata/browser"

// needBrowser finds a browser, or skips the test; where $CI is set there has to be one.
func needBrowser(t *testing.T) (browser string) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs a browser")
	}
	skip := t.Skip
	if os.Getenv("CI") != "" {
		skip = t.Fatal
	}
	if _, err := exec.LookPath("node"); err != nil {
		skip("no Node.js, which drives the browser: run scripts/browser.sh: ", err)
	}
	if _, err := os.Stat(filepath.Join(browserDir, "node_modules", "playwright-core")); err != nil {
		skip("nothing that drives a browser: run scripts/browser.sh: ", err)
	}
	for _, name := range []string{os.Getenv("BROWSER"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && name != "" {
			return path
		}
	}
	skip("no Chromium: run scripts/browser.sh, or name one in $BROWSER")
	return ""
}

// A house is a server that can be ended and started again at the same address.
type house struct {
	t       *testing.T
	handler http.Handler
	addr    string

	mu   sync.Mutex
	down func() // ends the server; nil if it does not run
}

// newHouse is a house for the model that knows nothing, with a server.
func newHouse(t *testing.T) *house {
	p := engine.DefaultParams()
	p.Load = func(name string, _ rules.Variant) (engine.Model, error) { return engine.Model{Name: name}, nil }
	models := func() []desk.Model { return []desk.Model{{Name: "uniform"}} }
	d, err := desk.New(desk.Params{Engine: p, Models: models, Limits: desk.Limits{Simulations: 2000, Seconds: 10}})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := web.Handler(web.Params{Desk: d, Loopback: true, Limits: web.DefaultLimits()})
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, handler: handler, addr: "127.0.0.1:0"}
	h.up()
	t.Cleanup(h.end)
	return h
}

// up starts the server, unless it runs.
func (h *house) up() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down != nil {
		return
	}
	l, err := net.Listen("tcp", h.addr)
	if err != nil {
		h.t.Error(err)
		return
	}
	h.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(ctx, l, h.handler) }()
	h.down = func() {
		cancel()
		if err := <-ended; err != nil {
			h.t.Error(err)
		}
	}
}

// end ends the server, if it runs.
func (h *house) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down != nil {
		h.down()
		h.down = nil
	}
}

// TestBrowser plays in a real browser what testdata/browser/scenarios.mjs tells. One of them alone:
//
//	SCENARIO=gift go test ./web -run TestBrowser -v
//
// With SHOTS=DIR a picture of each page that failed is kept there.
func TestBrowser(t *testing.T) {
	browser := needBrowser(t)
	h := newHouse(t)
	control := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		map[string]func(){"/up": h.up, "/down": h.end}[r.URL.Path]()
	}))
	defer control.Close()

	const longest = 9 * time.Minute // for a machine that does much else
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	args := []string{"run.mjs", "http://" + h.addr, control.URL, browser}
	if only := os.Getenv("SCENARIO"); only != "" {
		args = append(args, only)
	}
	c := exec.CommandContext(ctx, "node", args...)
	c.Dir, c.WaitDelay = browserDir, 5*time.Second
	var faults strings.Builder
	c.Stderr = &faults
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	n := 0
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var scenario struct {
			Name, Error string
			MS          int
		}
		if err := json.Unmarshal(lines.Bytes(), &scenario); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		n++
		t.Run(scenario.Name, func(t *testing.T) {
			t.Logf("%d ms", scenario.MS)
			if scenario.Error != "" {
				t.Error(scenario.Error)
			}
		})
	}
	if err := c.Wait(); err != nil || n == 0 {
		t.Fatalf("%d scenarios ran, then: %v\n%s", n, err, faults.String())
	}
}

// Every rule that an answer may name has its place on the rules page.
func TestRulesPage(t *testing.T) {
	text, err := os.ReadFile("page/rules.html")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range regexp.MustCompile(`id="(\w+)"`).FindAllSubmatch(text, -1) {
		ids = append(ids, string(m[1]))
	}
	for _, rule := range desk.Rules() {
		if !slices.Contains(ids, rule) {
			t.Errorf("rules.html has no place %q: it has %v", rule, ids)
		}
	}
}
