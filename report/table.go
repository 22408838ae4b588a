package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A Table is figures in rows, which stands above the curves of a Report.
type Table struct {
	Title   string     `json:"title"`
	Note    string     `json:"note,omitempty"` // what the figures mean; in WriteHTML and Markdown
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"` // each as long as Columns
}

// WriteText writes the table for a terminal: the first column to the left, the others to the right.
func (t Table) WriteText(w io.Writer) error {
	widths := make([]int, len(t.Columns))
	lines := append([][]string{t.Columns}, t.Rows...)
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		for i, cell := range line {
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case i > 0:
				b.WriteString("  " + gap + cell)
			case len(line) > 1:
				b.WriteString(cell + gap)
			default:
				b.WriteString(cell)
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMarkdown writes the table under its title.
func (t Table) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n", t.Title)
	line := func(cells []string) {
		for _, c := range cells {
			b.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
	line(t.Columns)
	rule := make([]string, len(t.Columns))
	for i := range rule {
		rule[i] = "---:"
	}
	rule[0] = "---"
	line(rule)
	for _, r := range t.Rows {
		line(r)
	}
	if t.Note != "" {
		b.WriteString("\n" + t.Note + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
