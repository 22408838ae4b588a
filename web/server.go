package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"yinshzero/web/desk"
)

// Params say how the page is served.
type Params struct {
	Desk     *desk.Desk
	Token    string // that everyone has to bring; empty for none
	Loopback bool   // the server is called by a name of this machine, and else refuses
	Limits   Limits
	Run      string // the directory of a training run, which has a page; empty for none
}

// DefaultLimits are for a few people at a time.
func DefaultLimits() Limits {
	return Limits{Searches: 8, ClientSearches: 4, Questions: 64, ClientQuestions: 16}
}

// Validate returns what is out of range, or nil.
func (l Limits) Validate() error {
	for _, n := range []struct {
		name string
		n    int
	}{
		{"searches", l.Searches}, {"searches of a client", l.ClientSearches},
		{"questions", l.Questions}, {"questions of a client", l.ClientQuestions},
	} {
		if n.n < 1 {
			return fmt.Errorf("web: a limit of %d %s: want 1 or more", n.n, n.name)
		}
	}
	return nil
}

// patience is how long a client may take to send a question, or to take in a part of the answer.
const patience = 30 * time.Second

// A server answers requests.
type server struct {
	desk                *desk.Desk
	searches, questions *turnstile
}

// Handler answers requests as p says, which must have a Desk. It returns an error if p is out of range.
func Handler(p Params) (http.Handler, error) {
	if err := p.Limits.Validate(); err != nil {
		return nil, err
	}
	files, err := readFiles(Page())
	if err != nil {
		return nil, err
	}
	s := &server{
		desk:      p.Desk,
		searches:  newTurnstile(p.Limits.Searches, p.Limits.ClientSearches),
		questions: newTurnstile(p.Limits.Questions, p.Limits.ClientQuestions),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/{name}", s.answer)
	mux.HandleFunc("GET /api/about", func(w http.ResponseWriter, r *http.Request) {
		r.SetPathValue("name", "about")
		s.answer(w, r)
	})
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "want POST api/NAME with a question, or GET api/about")
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		switch f, ok := files[r.URL.Path]; {
		case !ok:
			refuse(w, http.StatusNotFound, "there is nothing here: the page is at /")
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, "the page is there to be read")
		default:
			f.ServeHTTP(w, r)
		}
	})
	if p.Run != "" {
		d := &dashboard{dir: p.Run}
		mux.HandleFunc("GET /run", d.page)
		mux.HandleFunc("GET /run/status", d.status)
	}
	cross := http.NewCrossOriginProtection()
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusForbidden, "this question comes from the page of another site")
	}))
	h := cross.Handler(mux)
	if p.Token != "" {
		h = tokenOnly(p.Token, h)
	}
	if p.Loopback {
		h = localOnly(h)
	}
	return harden(h), nil
}

// Serve answers at l until ctx ends, and closes l. Searches under way end with ctx; what they have is still sent.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 16,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		const enough = 3 * time.Second
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), enough)
		defer cancel()
		err := s.Shutdown(last)
		if errors.Is(err, context.DeadlineExceeded) { // somebody does not take in an answer
			err = s.Close()
		}
		ended <- err
	})
	err := s.Serve(l)
	if stop() { // ctx has not ended
		return fmt.Errorf("serve the page: %w", err)
	}
	if err := <-ended; err != nil {
		return fmt.Errorf("end the server: %w", err)
	}
	return nil
}

// answer answers a question.
func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	name, client := r.PathValue("name"), clientOf(r)
	stiles := []*turnstile{s.questions}
	if desk.Searches(name) {
		stiles = append(stiles, s.searches)
	}
	for _, t := range stiles {
		if !t.enter(client) {
			w.Header().Set("Retry-After", "1")
			refuse(w, http.StatusTooManyRequests, "too many questions at once: ask again in a second")
			return
		}
		defer t.leave(client)
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(patience)) // some connections of tests have none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, desk.MaxBody))
	if err != nil {
		var long *http.MaxBytesError
		if errors.As(err, &long) {
			refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("a question of more than %d bytes", long.Limit))
		} else {
			refuse(w, http.StatusBadRequest, "the question did not come: "+err.Error())
		}
		return
	}
	_ = control.SetReadDeadline(time.Time{})    // from now on reading is waiting for the client to go away
	defer control.SetWriteDeadline(time.Time{}) // the next answer on this connection has its own
	out := &lines{w: w, control: control, kind: "application/json"}
	if name == "analyse" {
		out.kind = "application/x-ndjson"
	}
	err = s.desk.Answer(r.Context(), name, body, out)
	var e *desk.Error
	switch {
	case err == nil, out.begun:
	case errors.As(err, &e):
		tell(w, [...]int{
			desk.Bad: http.StatusBadRequest, desk.Unknown: http.StatusNotFound, desk.Failed: http.StatusInternalServerError,
		}[e.Kind], e)
	default: // nobody waits any longer, or the server ends
		refuse(w, http.StatusServiceUnavailable, err.Error())
	}
}

// lines sends each line of an answer as it comes.
type lines struct {
	w       http.ResponseWriter
	control *http.ResponseController
	kind    string
	begun   bool
}

// Write sends whole lines.
func (l *lines) Write(b []byte) (int, error) {
	if !l.begun {
		l.begun = true
		l.w.Header().Set("Content-Type", l.kind)
		l.w.Header().Set("Cache-Control", "no-store")
	}
	_ = l.control.SetWriteDeadline(time.Now().Add(patience)) // some connections of tests have none
	n, err := l.w.Write(b)
	if err == nil {
		err = l.control.Flush()
	}
	return n, err
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, status int, text string) {
	tell(w, status, &desk.Error{Message: text})
}

func tell(w http.ResponseWriter, status int, e *desk.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(e) // the client may be gone
}

// URL is the address to open of a server that listens at a; with a token, everyone who has it is let in. If it listens at every
// address of the machine one is named that others reach.
func URL(a net.Addr, token string) string {
	u := url.URL{Scheme: "http", Host: a.String(), Path: "/"}
	if host, port, err := net.SplitHostPort(u.Host); err == nil && net.ParseIP(host).IsUnspecified() {
		u.Host = net.JoinHostPort(ownAddress(), port)
	}
	if token != "" {
		u.RawQuery = url.Values{"token": {token}}.Encode()
	}
	return u.String()
}

// ownAddress is an address of this machine that others reach, or localhost if it has none.
func ownAddress() string {
	addrs, _ := net.InterfaceAddrs() // without them it is localhost
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	return "localhost"
}
