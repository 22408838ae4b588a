package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"

	"yinshzero/rules"
)

// The measures of a board: it is as wide as a chart.
const (
	boardWide   = chartWide
	boardMargin = 40.0
)

// heatMap draws the board of v with a disc on every Point, the stronger in colour the larger its share of the counts.
func heatMap(title string, run int, v rules.Variant, counts map[rules.Point]int) template.HTML {
	total, most := 0, 0
	for _, n := range counts {
		total += n
		most = max(most, n)
	}
	if total == 0 {
		return emptyChart(title, "no first ring was placed by a search in the games read")
	}
	board := rules.New(v)
	points := board.AppendBoard(nil)
	on := map[rules.Point]bool{}
	left, right, lowest, highest := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	across := func(p rules.Point) float64 { return float64(p.Column()) * math.Sqrt(3) / 2 } // in steps from Point to Point
	up := func(p rules.Point) float64 { return float64(p.Number()) - float64(p.Column())/2 }
	for _, p := range points {
		on[p] = true
		left, right = math.Min(left, across(p)), math.Max(right, across(p))
		lowest, highest = math.Min(lowest, up(p)), math.Max(highest, up(p))
	}
	step := (boardWide - 2*boardMargin) / (right - left)
	radius := 0.34 * step
	away := radius + 12 // of a name from its Point
	at := func(p rules.Point) (x, y float64) {
		return (across(p)-left)*step + boardMargin, (highest-up(p))*step + boardMargin
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="board" viewBox="0 0 %.1f %.1f" role="img" aria-label="%s"><g class="run r%d">`,
		boardWide, (highest-lowest)*step+2*boardMargin, html.EscapeString(title), run)
	for _, p := range points {
		x, y := at(p)
		for _, d := range [][2]int{{0, 1}, {1, 0}, {1, 1}} {
			if q, ok := rules.PointAt(p.Column()+d[0], p.Number()+d[1]); ok && on[q] {
				x2, y2 := at(q)
				fmt.Fprintf(&b, `<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, x, y, x2, y2)
			}
		}
		if q, ok := rules.PointAt(p.Column(), p.Number()-1); !ok || !on[q] {
			fmt.Fprintf(&b, `<text class="tick mid" x="%.1f" y="%.1f">%c</text>`, x, y+away+4, 'a'+p.Column())
		}
		if q, ok := rules.PointAt(p.Column()-1, p.Number()); !ok || !on[q] {
			fmt.Fprintf(&b, `<text class="tick mid" x="%.1f" y="%.1f">%d</text>`, x-away*math.Sqrt(3)/2, y-away/2+4, p.Number())
		}
	}
	for _, p := range points {
		x, y := at(p)
		n := counts[p]
		fmt.Fprintf(&b, `<circle class="hole" cx="%.1f" cy="%.1f" r="%.1f"/>`, x, y, radius)
		fmt.Fprintf(&b, `<circle class="heat" cx="%.1f" cy="%.1f" r="%.1f" fill-opacity="%.3f"><title>%v: %d games, %s %%</title></circle>`,
			x, y, radius, float64(n)/float64(most), p, n, figure(100*float64(n)/float64(total), 0.1))
	}
	b.WriteString(`</g></svg>`)
	return template.HTML(b.String())
}
