package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"yinshzero/engine"
	"yinshzero/rules"
	"yinshzero/web/desk"
)

// newDesk is a Desk whose model knows nothing, and which searches as long as it is let.
func newDesk(t testing.TB) *desk.Desk {
	t.Helper()
	p := desk.Params{Engine: engine.DefaultParams(), Limits: desk.Limits{Simulations: engine.MaxSimulations, Seconds: 1e6}}
	p.Engine.Load = func(name string, _ rules.Variant) (engine.Model, error) { return engine.Model{Name: name}, nil }
	p.Models = func() []desk.Model { return []desk.Model{{Name: "uniform"}} }
	d, err := desk.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// handler is that of p with a Desk and, if it has none, the default limits.
func handler(t testing.TB, p Params) http.Handler {
	t.Helper()
	p.Desk = newDesk(t)
	if p.Limits == (Limits{}) {
		p.Limits = DefaultLimits()
	}
	h, err := Handler(p)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// ask asks a handler; headers are names and values in turn.
func ask(h http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Answers have their status, their kind and their JSON.
func TestAnswers(t *testing.T) {
	h := handler(t, Params{})
	for _, c := range []struct {
		method, target, body string
		status               int
		kind, text           string
	}{
		{"GET", "/api/about", "", 200, "application/json", `"limits"`},
		{"POST", "/api/about", "", 200, "application/json", `"limits"`},
		{"POST", "/api/position", `{"game":{"variant":"mini"}}`, 200, "application/json", `"phase":"place"`},
		{"POST", "/api/position", `{"game":{"variant":"mini","moves":["a2"]}}`, 400, "application/json", `"rule":"board"`},
		{"POST", "/api/position", `{`, 400, "application/json", `"error"`},
		{"POST", "/api/position", `{"game":{"moves":["` + strings.Repeat("a", desk.MaxBody) + `"]}}`, 413, "application/json", `more than 1048576 bytes`},
		{"POST", "/api/analyse", `{"id":"a","moves":[],"maxVisits":2}`, 200, "application/x-ndjson", `"visits":2`},
		{"POST", "/api/nothing", `{}`, 404, "application/json", `no question \"nothing\"`},
		{"GET", "/api/position", "", 404, "application/json", `want POST`},
		{"POST", "/api/a/b", "", 404, "application/json", `want POST`},
		{"POST", "/", "", 405, "", ""},
		{"GET", "/", "", 200, "text/html; charset=utf-8", "<html"},
		{"GET", "/index.html", "", 200, "text/html; charset=utf-8", "<html"},
		{"GET", "/app.js", "", 200, "text/javascript; charset=utf-8", ""},
		{"GET", "/nothing", "", 404, "application/json", "nothing here"},
		{"GET", "/run", "", 404, "application/json", "nothing here"},
		{"GET", "/%2e%2e/web.go", "", 404, "application/json", "nothing here"},
	} {
		w := ask(h, c.method, c.target, c.body)
		if w.Code != c.status || c.kind != "" && w.Header().Get("Content-Type") != c.kind || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s %s: got %d, %q, %.200s, want %+v", c.method, c.target, w.Code, w.Header().Get("Content-Type"), w.Body, c.status)
		}
		if c.kind == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s %s: got %s", c.method, c.target, w.Body)
		}
		for name, want := range map[string]string{
			"Content-Security-Policy": "frame-ancestors 'none'", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if !strings.Contains(w.Header().Get(name), want) {
				t.Errorf("%s %s: %s is %q, want %s", c.method, c.target, name, w.Header().Get(name), want)
			}
		}
		if p := w.Header().Get("Content-Security-Policy"); strings.Contains(p, "unsafe") || !strings.HasPrefix(p, "default-src 'self'; ") {
			t.Errorf("the policy is %q", p)
		}
	}
	tag := ask(h, "GET", "/", "").Header().Get("ETag")
	if w := ask(h, "GET", "/", "", "If-None-Match", `"x", W/`+tag); w.Code != 304 || w.Body.Len() > 0 {
		t.Errorf("a file that the client has: got %d", w.Code)
	}
	if w := ask(h, "HEAD", "/", ""); w.Code != 200 || w.Body.Len() > 0 || w.Header().Get("Content-Length") == "0" {
		t.Errorf("HEAD: got %d, %d bytes", w.Code, w.Body.Len())
	}
}

// The page keeps to its policy: nothing from elsewhere, and no code and no style in the page itself. What it names is there.
func TestPage(t *testing.T) {
	files, err := readFiles(Page())
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := regexp.MustCompile(`(?i)(src|href|url|from|import)\s*[=(]?\s*["']?(https?:)?//`)
	inlined := regexp.MustCompile(`(?i)<script(>|[^>]*[^>/]>[^<])|\son[a-z]+\s*=\s*["']|<style|\sstyle\s*=|javascript:`)
	named := regexp.MustCompile(`(?:src|href)="([^"#:?]+)`)
	for name, f := range files {
		if elsewhere.Match(f.body) && !strings.Contains(name, "svg") {
			t.Errorf("%s: %s", name, elsewhere.Find(f.body))
		}
		if strings.HasSuffix(name, ".html") {
			if m := inlined.Find(f.body); m != nil {
				t.Errorf("%s: %s", name, m)
			}
			for _, m := range named.FindAllSubmatch(f.body, -1) {
				if to := "/" + strings.TrimPrefix(string(m[1]), "./"); files[to].body == nil && to != "/run" {
					t.Errorf("%s names %s, which is not there", name, m[1])
				}
			}
		}
	}
	for _, rule := range desk.Rules() {
		if !bytes.Contains(files["/rules.html"].body, []byte(`id="`+rule+`"`)) {
			t.Errorf("rules.html has no section %q", rule)
		}
	}
}

// On a loopback address other names are refused, whatever they mean.
func TestHosts(t *testing.T) {
	h := handler(t, Params{Loopback: true})
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:8080": 200, "127.0.0.1:8080": 200, "127.1.2.3": 200, "[::1]:8080": 200, "[::ffff:127.0.0.1]:1": 200,
		"evil.example": 421, "evil.example:8080": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421, "0.0.0.0:8080": 421,
		"10.0.0.1": 421, "": 421, "[::1": 200, "[::]:80": 421,
	} {
		if w := ask(h, "GET", "/api/about", "", "Host", host); w.Code != want {
			t.Errorf("%q: got %d, want %d", host, w.Code, want)
		}
	}
}

// Posts from other sites' pages are refused, those of one's own and of programs are not.
func TestCrossSite(t *testing.T) {
	h := handler(t, Params{})
	for _, c := range []struct {
		want    int
		headers []string
	}{
		{200, nil},
		{200, []string{"Sec-Fetch-Site", "same-origin"}},
		{200, []string{"Host", "localhost:1", "Origin", "http://localhost:1"}},
		{403, []string{"Sec-Fetch-Site", "cross-site"}},
		{403, []string{"Sec-Fetch-Site", "same-site"}},
		{403, []string{"Host", "localhost:1", "Origin", "http://evil.example"}},
		{403, []string{"Host", "localhost:1", "Origin", "null"}},
	} {
		if w := ask(h, "POST", "/api/position", `{}`, c.headers...); w.Code != c.want || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%q: got %d, %s, want %d", c.headers, w.Code, w.Body, c.want)
		}
	}
}

// With a token nobody gets anything without it. The address that has it gives a cookie and goes on without it.
func TestToken(t *testing.T) {
	const token = "correct horse battery"
	h := handler(t, Params{Token: token})
	for _, target := range []string{"/", "/app.js", "/api/about", "/nothing", "/?token=wrong", "/?token=", "/api/about?token=" + token[:7]} {
		if w := ask(h, "GET", target, ""); w.Code != 401 || w.Header().Get("Set-Cookie") != "" || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: got %d, %s", target, w.Code, w.Body)
		}
	}
	for _, headers := range [][]string{{"Authorization", "Bearer wrong"}, {"Authorization", token}, {"Authorization", "Bearer "}, {"Cookie", "yinshzero=wrong"}, {"Cookie", "yinshzero="}} {
		if w := ask(h, "POST", "/api/position", `{}`, headers...); w.Code != 401 {
			t.Errorf("%q: got %d", headers, w.Code)
		}
	}
	if w := ask(h, "POST", "/api/position?token=correct+horse+battery", `{}`); w.Code != 401 {
		t.Errorf("a post with the token in its address: got %d", w.Code)
	}
	if w := ask(h, "POST", "/api/position", `{}`, "Authorization", "Bearer "+token); w.Code != 200 {
		t.Errorf("with the token: got %d", w.Code)
	}
	for target, want := range map[string]string{
		"/?token=correct+horse+battery": "/", "/rules.html?a=1&token=correct+horse+battery": "/rules.html?a=1", "//evil.example/?token=correct+horse+battery": "/evil.example/",
	} {
		w := ask(h, "GET", target, "")
		cookies := w.Result().Cookies()
		if w.Code != 303 || w.Header().Get("Location") != want || len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteLaxMode {
			t.Fatalf("%s: got %d, %v", target, w.Code, w.Header())
		}
		if w := ask(h, "GET", "/", "", "Cookie", cookies[0].Name+"="+cookies[0].Value); w.Code != 200 {
			t.Errorf("with the cookie: got %d", w.Code)
		}
	}
	const odd = "a;b\"c\\d,é 漢"
	w := ask(handler(t, Params{Token: odd}), "GET", "/?token="+url.QueryEscape(odd), "")
	if cookies := w.Result().Cookies(); len(cookies) != 1 || ask(handler(t, Params{Token: odd}), "GET", "/", "", "Cookie", cookies[0].Name+"="+cookies[0].Value).Code != 200 {
		t.Errorf("a token of odd characters: got %d, %v", w.Code, cookies)
	}
	if a, b := NewToken(), NewToken(); a == b || len(a) < 20 {
		t.Errorf("tokens %q and %q", a, b)
	}
}

// What is full is said with 429, in all and for one client, and there is room again when somebody has left.
func TestLimits(t *testing.T) {
	a, b := netip.MustParsePrefix("10.0.0.1/32"), netip.MustParsePrefix("10.0.0.2/32")
	s := newTurnstile(3, 2)
	for i, c := range []struct {
		who   netip.Prefix
		leave bool
		want  bool
	}{{a, false, true}, {a, false, true}, {a, false, false}, {b, false, true}, {b, false, false}, {a, true, true}, {b, false, true}, {a, false, false}, {b, true, true}, {a, false, true}} {
		if c.leave {
			s.leave(c.who)
		} else if got := s.enter(c.who); got != c.want {
			t.Errorf("%d: got %t", i, got)
		}
	}
	for range 2 {
		s.leave(a)
	}
	if s.leave(b); s.all != 0 || len(s.clients) != 0 {
		t.Errorf("%d are left, of %v", s.all, s.clients)
	}
	for addr, want := range map[string]string{
		"10.0.0.1:99": "10.0.0.1/32", "[::ffff:10.0.0.1]:99": "10.0.0.1/32", "[2001:db8:1:2:3::9%eth0]:1": "2001:db8:1:2::/64", "[2001:db8:1:2:4::9]:1": "2001:db8:1:2::/64", "@": "invalid Prefix",
	} {
		if got := clientOf(&http.Request{RemoteAddr: addr}); got.String() != want {
			t.Errorf("%s: got %v, want %s", addr, got, want)
		}
	}
	for _, l := range []Limits{{0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 0, 1}, {1, 1, 1, 0}} {
		if _, err := Handler(Params{Desk: newDesk(t), Limits: l}); err == nil || !strings.Contains(err.Error(), "a limit of 0") {
			t.Errorf("%+v: got %v", l, err)
		}
	}
}

// A pipe is a listener whose connections are in memory.
type pipe struct {
	connections chan net.Conn
	closed      chan struct{}
}

func newPipe() *pipe { return &pipe{make(chan net.Conn), make(chan struct{})} }

func (p *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.connections:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipe) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

func (p *pipe) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// client asks the server at the other end.
func (p *pipe) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		select {
		case p.connections <- there:
			return here, nil
		case <-p.closed:
			return nil, errors.New("nobody listens")
		}
	}}}
}

// A search ends when its client goes away, and makes room for the next; when the server ends, so do its searches.
func TestSearchesEnd(t *testing.T) {
	const forever = `{"id":"a","moves":[],"maxVisits":1000000000,"reportDuringSearchEvery":0.01}`
	p := newPipe()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan error, 1)
	h := handler(t, Params{Limits: Limits{1, 1, 4, 4}})
	go func() { served <- Serve(ctx, p, h) }()
	post := func(ctx context.Context, name, body string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, "POST", "http://localhost/api/"+name, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		w, err := p.client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	one, leave := context.WithCancel(t.Context())
	w := post(one, "analyse", forever)
	if line, err := bufio.NewReader(w.Body).ReadString('\n'); err != nil || !strings.Contains(line, `"isDuringSearch":true`) {
		t.Fatalf("got %q, %v", line, err)
	}
	if w := post(t.Context(), "analyse", forever); w.StatusCode != 429 || w.Header.Get("Retry-After") != "1" {
		t.Fatalf("a search too many: got %d", w.StatusCode)
	}
	if w := post(t.Context(), "position", `{}`); w.StatusCode != 200 {
		t.Fatalf("a question during a search: got %d", w.StatusCode)
	}
	leave()
	tries := 0
	for w = post(t.Context(), "analyse", forever); w.StatusCode != 200; w = post(t.Context(), "analyse", forever) {
		io.Copy(io.Discard, w.Body)
		if tries++; tries > 20_000 { // the server hears of it soon
			t.Fatal("the search of a client that is gone goes on")
		}
	}
	cancel()
	if _, err := io.Copy(io.Discard, w.Body); err != nil {
		t.Errorf("the last answer breaks off: %v", err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// A listener that fails is told.
func TestServeFails(t *testing.T) {
	p := newPipe()
	p.Close()
	if err := Serve(t.Context(), p, http.NotFoundHandler()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// The address is one that can be opened.
func TestURL(t *testing.T) {
	at := func(s string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(s)) }
	if got := URL(at("127.0.0.1:80"), ""); got != "http://127.0.0.1:80/" {
		t.Errorf("got %s", got)
	}
	if got := URL(at("[::1]:80"), "a b"); got != "http://[::1]:80/?token=a+b" {
		t.Errorf("got %s", got)
	}
	for _, s := range []string{"0.0.0.0:80", "[::]:80"} {
		if got := URL(at(s), ""); strings.Contains(got, "0.0.0.0") || strings.Contains(got, "[::]") || !strings.HasSuffix(got, ":80/") {
			t.Errorf("got %s", got)
		}
	}
}

// A run's page says what there is: nothing, a run that has just begun, one that is half written, and goes on with it; it
// does not draw more often than it should.
func TestRunPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "a<run>")
		h := handler(t, Params{Run: dir})
		var was string
		look := func(want string) (version string) {
			t.Helper()
			w := ask(h, "GET", "/run/status", "")
			var s runStatus
			if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil || w.Code != 200 {
				t.Fatalf("got %d, %s, %v", w.Code, w.Body, err)
			}
			page := ask(h, "GET", "/run", "")
			if page.Code != 200 || !strings.Contains(page.Body.String(), want) || strings.Contains(page.Body.String(), "a<run>") || !strings.Contains(page.Body.String(), `src="run.js"`) {
				t.Fatalf("got %d, want %q in %.3000s", page.Code, want, page.Body)
			}
			if s.Version == "" || s.Name != "a<run>" {
				t.Fatalf("got %+v", s)
			}
			return s.Version
		}
		write := func(name, text string) {
			t.Helper()
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		was = look("nothing to show yet")
		write("config.yaml", "variant: mini\n")
		if now := look("nothing to show yet"); now != was {
			t.Error("it has looked again at once")
		}
		for _, c := range []struct{ name, text, want string }{
			{"metrics/none", "", "no models yet"},
			{"models/registry.log", "yinshzero registry 1\n0000", "no models yet"},
			{"metrics/train.jsonl", `{"time":"2026-01-01T00:00:00Z","step":7,"games":5,"loss":2.5}` + "\n", "training steps"},
			{"metrics/train.jsonl", `{"time":"2026-01-01T00:00:00Z","step":7}` + "\n{\"time\":", "training steps"},
			{"config.yaml", "variant: [", "Damaged"},
			{"records/000001.shard", "no shard", "Damaged"},
			{"matches/a.pairs", "no match", "Damaged"},
		} {
			write(c.name, c.text)
			time.Sleep(time.Minute)
			if now := look(c.want); now == was {
				t.Errorf("%s: the page is the same", c.name)
			} else {
				was = now
			}
			time.Sleep(time.Minute)
			if now := look(c.want); now != was {
				t.Errorf("%s: another page of the same run", c.name)
			}
		}
		policy := ask(h, "GET", "/run", "").Header().Get("Content-Security-Policy")
		if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "script-src 'self' 'sha256-") || !strings.Contains(policy, "style-src 'self' 'sha256-") {
			t.Errorf("the policy is %s", policy)
		}
	})
}

// No request breaks the server: there is always an answer, and never one of the server's own failing.
func FuzzRequests(f *testing.F) {
	for _, target := range []string{"/", "/api/about", "/api/position", "/api/%2f", "/?token=a", "/run/status", "//x/../y"} {
		f.Add("POST", target, "localhost", "yinshzero=a", "http://localhost", []byte(`{"game":{}}`))
	}
	h := handler(f, Params{Loopback: true, Token: "correct horse battery", Run: f.TempDir()})
	open := handler(f, Params{})
	f.Fuzz(func(t *testing.T, method, target, host, cookie, origin string, body []byte) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET / HTTP/1.1\r\nHost: x\r\n\r\n")))
		if err != nil {
			t.Fatal(err)
		}
		u, err := r.URL.Parse(target)
		if err != nil {
			return
		}
		r.Method, r.URL, r.Host, r.Body = method, u, host, io.NopCloser(bytes.NewReader(body))
		r.Header.Set("Cookie", cookie)
		r.Header.Set("Origin", origin)
		for _, h := range []http.Handler{h, open} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r.Clone(t.Context()))
			if w.Code >= 500 || w.Code < 200 {
				t.Errorf("%s %s: got %d, %s", method, target, w.Code, w.Body)
			}
		}
	})
}
