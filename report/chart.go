package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// The measures of a chart, in units of its view box. A chart is shown between 320 and 560 pixels wide, so that its text stays
// readable.
const (
	chartWide   = 380.0
	chartHigh   = 240.0
	plotLeft    = 30.0 // and the room for the figures
	plotRight   = 12.0
	plotTop     = 12.0
	plotBottom  = 38.0
	markRadius  = 3.2
	charWide    = 6.2 // of an axis' figures
	xTickSpace  = 62.0
	yTickSpace  = 34.0
	stackColors = 5
)

// A chart is curves over the same axes.
type chart struct {
	title, note    string
	xLabel, yLabel string
	curves         []curve
	zero           bool        // whether the vertical axis begins at 0
	bounds         *[4]float64 // left, right, bottom and top, if they are fixed
	diagonal       bool        // from corner to corner
	missing        string      // what to say if there is not a single point
}

// A curve is points from left to right.
type curve struct {
	run    int
	name   string
	dash   int // kind of line, 0 to 2
	line   bool
	marks  bool
	points []point
}

// A point is drawn as a mark with a bar from low to high, if its curve has marks.
type point struct {
	x, y      float64
	low, high float64 // equal: no bar
	hollow    bool
	broken    bool   // nothing leads here from the point before
	tip       string // what the mark says if it is pointed at
}

// A scale maps a range of figures to a range of pixels.
type scale struct{ from, to, at, length float64 }

func (s scale) pixel(x float64) float64 { return s.at + (x-s.from)/(s.to-s.from)*s.length }

// steps are round figures in the scale, about space pixels apart.
func (s scale) steps(space float64) (ticks []float64, step float64) {
	rough := (s.to - s.from) / max(1, math.Floor(math.Abs(s.length)/space))
	step = math.Pow(10, math.Floor(math.Log10(rough)))
	for _, f := range []float64{1, 2, 5, 10} {
		if f*step >= rough*(1-1e-9) {
			step *= f
			break
		}
	}
	for i := math.Ceil(s.from/step - 1e-9); i*step <= s.to+step*1e-9; i++ {
		ticks = append(ticks, i*step)
	}
	return ticks, step
}

// figure writes a number for people, in steps of step: 1.2M, 40k, 0.05.
func figure(x, step float64) string {
	suffix := ""
	switch big := max(math.Abs(x), step); {
	case big >= 1e6:
		x, step, suffix = x/1e6, step/1e6, "M"
	case big >= 1e4:
		x, step, suffix = x/1e3, step/1e3, "k"
	}
	digits := 0
	for math.Abs(step-math.Round(step)) > 1e-6*step && digits < 9 {
		step *= 10
		digits++
	}
	text := strconv.FormatFloat(x, 'f', digits, 64)
	if strings.Trim(text, "-0.") == "" {
		return "0"
	}
	return strings.Replace(text, "-", "−", 1) + suffix
}

// short writes a number for people to three digits or so.
func short(x float64) string {
	if x == 0 {
		return "0"
	}
	step := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-2)
	if math.Abs(x) < 1e4 {
		step = min(step, 1)
	}
	return figure(x, step)
}

// finite reports whether x can be drawn.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// clean leaves out what cannot be drawn.
func (c *chart) clean() {
	var curves []curve
	for _, k := range c.curves {
		var points []point
		broken := false
		for _, p := range k.points {
			if !finite(p.x) || !finite(p.y) || !finite(p.low) || !finite(p.high) {
				broken = true
				continue
			}
			p.broken = p.broken || broken
			broken = false
			points = append(points, p)
		}
		if k.points = points; len(points) > 0 {
			curves = append(curves, k)
		}
	}
	c.curves = curves
}

// scales are those of the axes.
func (c *chart) scales() (x, y scale) {
	b := [4]float64{math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)}
	marks := [2]float64{math.Inf(1), math.Inf(-1)} // without their bars
	lines := false
	for _, k := range c.curves {
		lines = lines || k.line
		for _, p := range k.points {
			b[0], b[1] = min(b[0], p.x), max(b[1], p.x)
			low, high := p.y, p.y
			marks[0], marks[1] = min(marks[0], p.y), max(marks[1], p.y)
			if p.low != p.high {
				low, high = min(p.low, p.y), max(p.high, p.y)
			}
			b[2], b[3] = min(b[2], low), max(b[3], high)
		}
	}
	if c.bounds != nil {
		b = *c.bounds
	} else {
		beyond := reach*(marks[1]-marks[0]) + minReach
		b[2], b[3] = max(b[2], marks[0]-beyond), min(b[3], marks[1]+beyond)
		if b[0] > 0 && b[0] < 0.3*b[1] {
			b[0] = 0
		}
		if pad := (b[1] - b[0]) * 0.04; !lines {
			b[0], b[1] = b[0]-pad, b[1]+pad
		}
		if c.zero {
			b[2] = min(0, b[2])
		}
		if pad := (b[3] - b[2]) * 0.06; pad > 0 {
			b[3] += pad
			if !c.zero {
				b[2] -= pad
			}
		}
	}
	for i := 0; i < 4; i += 2 { // a single figure, but for rounding, stands in the middle
		if size := max(math.Abs(b[i]), math.Abs(b[i+1])); b[i+1]-b[i] <= 1e-9*size {
			half := max(size*0.1, 1e-6)
			b[i], b[i+1] = b[i]-half, b[i]+half
		}
	}
	return fit(b[0], b[1], b[2], b[3])
}

// Bars of wide intervals may leave the picture, so that the marks have room in it: it shows so much beyond them, as a share of
// their spread and in units of the axis.
const (
	reach    = 0.6
	minReach = 60
)

// fit makes the scales of axes, with room for the figures of the vertical one.
func fit(left, right, bottom, top float64) (x, y scale) {
	y = scale{bottom, top, chartHigh - plotBottom, -(chartHigh - plotTop - plotBottom)}
	wide := 0
	ticks, step := y.steps(yTickSpace)
	for _, t := range ticks {
		wide = max(wide, len([]rune(figure(t, step))))
	}
	at := plotLeft + charWide*float64(wide)
	return scale{left, right, at, chartWide - at - plotRight}, y
}

// svg draws the chart.
func (c *chart) svg() template.HTML {
	c.clean()
	var b strings.Builder
	if len(c.curves) == 0 {
		return emptyChart(c.title, c.missing)
	}
	x, y := c.scales()
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %g %g" role="img" aria-label="%s" data-x="%.7g %.7g %.7g %.7g" data-y="%.7g %.7g %.7g %.7g">`,
		chartWide, chartHigh, html.EscapeString(c.title), x.from, x.to, x.at, x.length, y.from, y.to, y.at, y.length)
	axes(&b, x, y, c.xLabel, c.yLabel)
	if c.diagonal {
		fmt.Fprintf(&b, `<line class="guide" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, x.pixel(x.from), y.pixel(y.from), x.pixel(x.to), y.pixel(y.to))
	}
	for _, k := range c.curves {
		k.draw(&b, x, y)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

// axes draws the grid with its figures and names.
func axes(b *strings.Builder, x, y scale, xLabel, yLabel string) {
	bottom, right := y.at, x.at+x.length
	ticks, step := y.steps(yTickSpace)
	for _, t := range ticks {
		class := "grid"
		if t == 0 && y.from < 0 {
			class = "grid base"
		}
		fmt.Fprintf(b, `<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x.at, y.pixel(t), right, y.pixel(t))
		fmt.Fprintf(b, `<text class="tick end" x="%.1f" y="%.1f">%s</text>`, x.at-6, min(y.pixel(t)+4, bottom+2), figure(t, step))
	}
	ticks, step = x.steps(xTickSpace)
	for _, t := range ticks {
		text := figure(t, step)
		at := x.pixel(t)
		fmt.Fprintf(b, `<line class="grid" x1="%.1f" y1="%g" x2="%.1f" y2="%g"/>`, at, plotTop, at, bottom)
		at = min(at, chartWide-2-charWide*float64(len([]rune(text)))/2)
		fmt.Fprintf(b, `<text class="tick mid" x="%.1f" y="%g">%s</text>`, at, bottom+16, text)
	}
	fmt.Fprintf(b, `<text class="name mid" x="%.1f" y="%g">%s</text>`, x.at+x.length/2, chartHigh-5, html.EscapeString(xLabel))
	fmt.Fprintf(b, `<text class="name mid" transform="translate(11 %g) rotate(-90)">%s</text>`, (plotTop+bottom)/2, html.EscapeString(yLabel))
}

// draw draws a curve.
func (k *curve) draw(b *strings.Builder, x, y scale) {
	fmt.Fprintf(b, `<g class="run r%d d%d" data-name="%s">`, k.run, k.dash, html.EscapeString(k.name))
	if k.line {
		open := false
		for i, p := range k.points {
			if open && p.broken {
				b.WriteString(`"/>`)
				open = false
			}
			if !open {
				b.WriteString(`<polyline points="`)
				open = true
			} else if i > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(b, "%.1f,%.1f", x.pixel(p.x), y.pixel(p.y))
		}
		if open {
			b.WriteString(`"/>`)
		}
	}
	if k.marks || len(k.points) == 1 {
		for _, p := range k.points {
			if p.low != p.high {
				fmt.Fprintf(b, `<line class="bar" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, x.pixel(p.x), y.pixel(max(p.low, y.from)), x.pixel(p.x), y.pixel(min(p.high, y.to)))
			}
		}
		for _, p := range k.points {
			class := "mark"
			if p.hollow {
				class = "mark hollow"
			}
			fmt.Fprintf(b, `<circle class="%s" cx="%.1f" cy="%.1f" r="%g"><title>%s</title></circle>`,
				class, x.pixel(p.x), y.pixel(p.y), markRadius, html.EscapeString(p.tip))
		}
	}
	b.WriteString(`</g>`)
}

// emptyChart says what is missing in a chart's place.
func emptyChart(title, missing string) template.HTML {
	return template.HTML(fmt.Sprintf(`<p class="empty" role="img" aria-label="%s: no data">no data: %s</p>`,
		html.EscapeString(title), html.EscapeString(missing)))
}

// A layer is a band of a stack: the shares of one thing, by point.
type layer struct {
	name   string
	shares []float64
}

// stack draws layers on top of each other from 0 to 1. xs are the points' places, the first span's begin before them.
func stack(title string, run int, xs []float64, layers []layer, xLabel, yLabel, missing string) template.HTML {
	if len(xs) < 2 || len(layers) == 0 {
		return emptyChart(title, missing)
	}
	var b strings.Builder
	x, y := fit(xs[0], xs[len(xs)-1], 0, 100)
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %g %g" role="img" aria-label="%s">`, chartWide, chartHigh, html.EscapeString(title))
	fmt.Fprintf(&b, `<g class="run r%d">`, run)
	below := make([]float64, len(xs))
	for i, l := range layers {
		fmt.Fprintf(&b, `<polygon class="q%d" points="`, i%stackColors)
		for j := range xs {
			fmt.Fprintf(&b, "%.1f,%.1f ", x.pixel(xs[j]), y.pixel(100*(below[j]+l.shares[j])))
		}
		for j := len(xs) - 1; j >= 0; j-- {
			fmt.Fprintf(&b, "%.1f,%.1f", x.pixel(xs[j]), y.pixel(100*below[j]))
			if j > 0 {
				b.WriteByte(' ')
			}
			below[j] += l.shares[j]
		}
		fmt.Fprintf(&b, `"><title>%s: %s %% at the end</title></polygon>`, html.EscapeString(l.name), figure(100*l.shares[len(xs)-1], 0.1))
	}
	b.WriteString(`</g>`)
	axes(&b, x, y, xLabel, yLabel)
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}
