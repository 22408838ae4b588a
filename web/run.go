package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"yinshzero/report"
)

const (
	// runGames is how many games of a run its page reads: enough for the curves.
	runGames = 1000
	// runEvery is how long the page of a run is good for, though the run may have gone on. Its training has better to do.
	runEvery = 10 * time.Second
	// runShare is the part of the time that goes into drawing, at most: after a second of it there are so many of rest.
	runShare = 10
)

// A dashboard is the page about a training run, which it draws anew if the run has gone on since, and only when somebody asks.
// The run may be under way, half written, damaged, or not there yet: the page says so.
type dashboard struct {
	dir string

	mu     sync.Mutex
	until  time.Time // when to look at the directory again
	mark   string    // of what the directory held when it was read
	html   file
	policy string // the content security policy of html
	figure file   // the JSON
}

// A runStatus is the JSON about a run. Figures that are not known yet are missing.
type runStatus struct {
	Name     string  `json:"name"`
	Version  string  `json:"version"`         // another one when the page is another
	Error    string  `json:"error,omitempty"` // why there is nothing more to tell
	Variant  string  `json:"variant,omitempty"`
	Network  string  `json:"network,omitempty"`
	Hours    float64 `json:"hours,omitempty"` // since the first model was made
	Games    int64   `json:"games,omitempty"`
	Position int64   `json:"positions,omitempty"`
	Step     int64   `json:"step,omitempty"`
	Loss     float64 `json:"loss,omitempty"`
	Policy   float64 `json:"policy_loss,omitempty"`
	Value    float64 `json:"value_loss,omitempty"`

	GamesPerHour       float64 `json:"games_per_hour,omitempty"`
	PositionsPerSecond float64 `json:"positions_per_second,omitempty"`
	StepsPerSecond     float64 `json:"steps_per_second,omitempty"`

	Best      *report.Model `json:"best,omitempty"`
	Candidate *report.Model `json:"candidate,omitempty"` // the newest one without a verdict
	Promoted  int           `json:"promoted"`            // the first weights not counted
	Rejected  int           `json:"rejected"`
	Faults    []string      `json:"faults,omitempty"`
}

// statusOf takes the newest figures of a run.
func statusOf(r *report.Run) runStatus {
	s := runStatus{
		Name: r.Name, Variant: r.Config["variant"], Network: r.Config["network.arch"], Faults: r.Faults, Games: int64(r.Games.Total),
	}
	if n := len(r.Training); n > 0 {
		t := r.Training[n-1]
		s.Hours, s.Games, s.Position, s.Step = t.Hours, t.Games, t.Positions, t.Step
		s.Loss, s.Policy, s.Value = t.Loss, t.Policy, t.Value
	}
	if n := len(r.Pace); n > 0 {
		p := r.Pace[n-1]
		s.GamesPerHour, s.PositionsPerSecond, s.StepsPerSecond = 3600*p.Games, p.Positions, p.Steps
	}
	for i := range r.Models {
		m := &r.Models[i]
		switch m.Standing {
		case "best":
			s.Best = m
		case "candidate":
			s.Candidate = m
		case "rejected":
			s.Rejected++
		}
		if m.Promoted() && m.Step > 0 {
			s.Promoted++
		}
	}
	return s
}

// page sends the page.
func (d *dashboard) page(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	d.refresh()
	f, policy := d.html, d.policy
	d.mu.Unlock()
	w.Header().Set("Content-Security-Policy", policy)
	f.ServeHTTP(w, r)
}

// status sends the JSON.
func (d *dashboard) status(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	d.refresh()
	f := d.figure
	d.mu.Unlock()
	f.ServeHTTP(w, r)
}

// refresh draws the page if it is time to and the run has gone on.
func (d *dashboard) refresh() {
	begin := time.Now()
	if begin.Before(d.until) {
		return
	}
	if mark := markOf(d.dir); d.until.IsZero() || mark != d.mark {
		d.mark = mark
		d.draw()
	}
	d.until = begin.Add(max(runEvery, runShare*time.Since(begin)))
}

// markOf is another one whenever the run has written something that its page shows.
func markOf(dir string) string {
	sum := sha256.New()
	for _, name := range []string{"config.yaml", "metrics", "models", "matches", "records"} {
		// What cannot be looked at is left out: the report tells of it.
		_ = filepath.WalkDir(filepath.Join(dir, name), func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			if info, err := e.Info(); err == nil && !e.IsDir() {
				fmt.Fprintf(sum, "%s\x00%d\x00%d\x00", path, info.Size(), info.ModTime().UnixNano())
			}
			return nil
		})
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// draw reads the run and makes the page and the JSON. If that cannot be, they say why.
func (d *dashboard) draw() {
	status, html, err := read(d.dir)
	if err != nil {
		status = runStatus{Name: filepath.Base(d.dir), Error: err.Error()}
		var b bytes.Buffer
		_ = noRun.Execute(&b, status) // a buffer takes everything
		html = b.Bytes()
	}
	status.Version = d.mark
	text, err := json.Marshal(status)
	if err != nil { // a figure that is not finite
		text, _ = json.Marshal(runStatus{Name: status.Name, Version: d.mark, Error: err.Error()})
	}
	html = bytes.Replace(html, []byte("</body>"), []byte(`<script type="module" src="run.js"></script>`+"\n</body>"), 1)
	d.html, d.policy = newFile(html, kinds[".html"]), policyFor(html)
	d.figure = newFile(append(text, '\n'), kinds[".json"])
}

// read reads the run in dir and draws its page. What panics over a directory in the midst of being written is an error.
func read(dir string) (s runStatus, html []byte, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("read run: %v", x)
		}
	}()
	if _, err := os.Stat(dir); err != nil {
		return s, nil, fmt.Errorf("read run: %w", err)
	}
	run, err := report.Read(dir, report.Params{MaxGames: runGames})
	if err != nil {
		return s, nil, err
	}
	var b bytes.Buffer
	if err := report.New(run).WriteHTML(&b); err != nil {
		return s, nil, err
	}
	return statusOf(run), b.Bytes(), nil
}

// noRun is the page where there is no run.
var noRun = template.Must(template.New("none").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<title>yinshzero: {{.Name}}</title>
</head>
<body>
<main>
<h1>yinshzero: {{.Name}}</h1>
<p>There is nothing to show yet: {{.Error}}</p>
</main>
</body>
</html>
`))

var inline = regexp.MustCompile(`(?s)<(style|script)>(.*?)</(?:style|script)>`)

// policyFor is a content security policy that allows what is written into the page, and nothing else of that kind.
func policyFor(html []byte) string {
	sources := map[string][]string{}
	for _, m := range inline.FindAllSubmatch(html, -1) {
		sum := sha256.Sum256(m[2])
		kind := string(m[1])
		sources[kind] = append(sources[kind], "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	policy := contentPolicy
	for _, kind := range []string{"style", "script"} {
		if len(sources[kind]) > 0 {
			policy += "; " + kind + "-src 'self' " + strings.Join(sources[kind], " ")
		}
	}
	return policy
}
