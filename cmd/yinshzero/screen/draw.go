package screen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"yinshzero/pipeline"
)

var (
	title = lipgloss.NewStyle().Bold(true)
	label = lipgloss.NewStyle().Foreground(lipgloss.Color("6")).Width(12)
	faint = lipgloss.NewStyle().Faint(true)
)

// A canvas collects labelled lines.
type canvas struct {
	b     strings.Builder
	width int
}

// line adds a line; an empty name goes on with the one before.
func (c *canvas) line(name, format string, args ...any) {
	text := label.Render(name) + fmt.Sprintf(format, args...)
	c.b.WriteString(lipgloss.NewStyle().MaxWidth(c.width).Render(text) + "\n")
}

// Draw is the picture of a run in a terminal of width columns and height lines, with foot as its last line. Lines are
// cut at the width, but for events, which go on in the next: the newest fill what height the rest leaves.
func Draw(s pipeline.Status, width, height int, foot string) string {
	c := &canvas{width: width}
	c.b.WriteString(title.MaxWidth(width).Render("yinshzero · "+s.Dir) + faint.Render("  "+s.Elapsed.Round(time.Second).String()) + "\n\n")
	c.line("self-play", "%s games  %s positions  %d simulations", thousands(s.Games), thousands(s.Positions), s.Simulations)
	c.line("", "%s games/h  %.1f positions/s  %s evaluations/s", thousands(int64(s.GamesPerSecond*3600)), s.PositionsPerSecond,
		thousands(int64(s.EvaluationsPerSecond)))
	if s.Quarantined > 0 {
		c.line("", "%s games refused: see quarantine/", thousands(s.Quarantined))
	}
	if s.Panics > 0 {
		c.line("", "%s games lost to panics: see log/run.log", thousands(s.Panics))
	}
	c.line("window", "%s positions", thousands(s.WindowSize))
	c.training(s)
	if s.Gate != nil {
		c.gate(s.Gate)
	} else {
		c.line("gate", "no candidate on trial")
	}
	c.best(s)
	c.b.WriteString("\n")
	c.events(s.Events, height-strings.Count(c.b.String(), "\n")-2)
	if foot != "" {
		c.b.WriteString("\n" + faint.MaxWidth(width).Render(foot))
	}
	return c.b.String()
}

func (c *canvas) training(s pipeline.Status) {
	c.line("training", "step %s  candidate at %s  %.1f steps/s  rate %.2g", thousands(s.Step), thousands(s.NextCandidate),
		s.StepsPerSecond, s.LearningRate)
	if s.Waiting != "" {
		c.line("", "waiting: %s", s.Waiting)
	}
	if s.Step > 0 {
		l := s.Losses
		held := ""
		if h := s.HeldOut; h.Total != 0 {
			held = fmt.Sprintf("  held out %.3f, %.3f, %.3f", h.Total, h.Policy, h.Value)
		}
		c.line("loss", "%.3f  policy %.3f  value %.3f%s", l.Total, l.Policy, l.Value, held)
		c.line("", "rings %.3f  reply %.3f  ownership %.3f  plies %.3f", l.Rings, l.Reply, l.Ownership, l.Plies)
	}
}

func (c *canvas) gate(g *pipeline.GateStatus) {
	c.line("gate", "%s of step %s: +%d =%d -%d in %d of %d pairs  Elo %+.0f [%+.0f, %+.0f]", short(g.Candidate), thousands(g.Step),
		g.Score.Wins, g.Score.Draws, g.Score.Losses, g.Score.N(), g.MaxPairs, g.Elo, g.EloLow, g.EloHigh)
	c.line("", "reject %.2f %s %.2f accept  LLR %+.2f", g.Lower, scale(g.LLR, g.Lower, g.Upper), g.Upper, g.LLR)
}

func (c *canvas) best(s pipeline.Status) {
	strength := "not yet measured"
	if s.Best.Measured {
		strength = fmt.Sprintf("Elo %+.0f [%+.0f, %+.0f] over random", s.Best.Elo, s.Best.EloLow, s.Best.EloHigh)
	}
	c.line("best", "%s of step %s  %s", short(s.Best.ID), thousands(s.Best.Step), strength)
	c.line("", "%d promoted, %d rejected", s.Promotions, s.Rejections)
}

// leastText is how many columns the text of an event must have to be wrapped.
const leastText = 10

// events draws the newest events that fit into so many lines, and of one that does not the beginning if it is the newest.
func (c *canvas) events(all []pipeline.Event, lines int) {
	type row struct{ name, text string }
	var rows []row
	for _, e := range slices.Backward(all) {
		text := e.Text
		if width := c.width - label.GetWidth(); width >= leastText {
			text = lipgloss.NewStyle().Width(width).Render(text)
		}
		var more []row
		for i, part := range strings.Split(text, "\n") {
			more = append(more, row{text: strings.TrimRight(part, " ")})
			if i == 0 {
				more[0].name = e.Time.Format(time.TimeOnly)
			}
		}
		if len(rows)+len(more) > lines {
			if len(rows) == 0 {
				rows = more[:max(0, lines)]
			}
			break
		}
		rows = append(more, rows...)
	}
	for _, r := range rows {
		c.line(r.name, "%s", r.text)
	}
}

// scaleLength is the length of a scale in columns.
const scaleLength = 31

// scale draws where x lies from low to high.
func scale(x, low, high float64) string {
	at := 0
	if high > low {
		at = int((x - low) / (high - low) * (scaleLength - 1))
	}
	at = min(max(at, 0), scaleLength-1)
	return strings.Repeat("─", at) + "●" + strings.Repeat("─", scaleLength-1-at)
}

// short is the beginning of a model's ID.
func short(id string) string { return id[:min(12, len(id))] }

// thousands writes n with commas.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
