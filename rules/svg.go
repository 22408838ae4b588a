package rules

import (
	"fmt"
	"strings"
)

// The measures of a picture, in pixels: a step along a letter is one down, and columns lie so far apart that the other
// steps are as long.
const (
	svgUp     = 60 // a step along a letter
	svgAcross = 52 // from column to column: 60 times the root of 3/4, rounded
	svgMargin = 60 // around the Points, for their names
	svgFoot   = 70 // for two lines of text
)

// svgStyle draws in colours that suit a light page or a dark one, whichever the reader has.
const svgStyle = `<style>
.page{fill:#fff}
.line{stroke:#8a8a8a;stroke-width:2;stroke-linecap:round}
.text{fill:#555;font:22px sans-serif;text-anchor:middle}
.ring{fill:none;stroke-width:9}
.edge{fill:none;stroke:#333;stroke-width:13}
.disc{stroke:#333;stroke-width:2}
.white{stroke:#fff}
.black{stroke:#111}
.disc.white{fill:#fff;stroke:#333}
.disc.black{fill:#111;stroke:#333}
@media(prefers-color-scheme:dark){
.page{fill:#0d1117}
.line{stroke:#5a626c}
.text{fill:#b0b8c0}
.edge{stroke:#9aa4ae}
.disc.white,.disc.black{stroke:#9aa4ae}
}
</style>
`

// SVG is a picture of p as a file of Scalable Vector Graphics: the board as Draw shows it with its lines, their letters
// and numbers, rings, markers, and text about the rest.
func (p *Position) SVG() []byte {
	points := p.AppendBoard(nil)
	board := boards[p.radius]
	height := func(pt Point) int { return 2*pt.Number() - pt.Column() }
	left, right, lowest, highest := GridSize, 0, GridSize, -GridSize
	for _, pt := range points {
		left, right = min(left, pt.Column()), max(right, pt.Column())
		lowest, highest = min(lowest, height(pt)), max(highest, height(pt))
	}
	at := func(pt Point) (x, y int) {
		return svgMargin + svgAcross*(pt.Column()-left), svgMargin + svgUp/2*(highest-height(pt))
	}
	width, depth := 2*svgMargin+svgAcross*(right-left), 2*svgMargin+svgUp/2*(highest-lowest)+svgFoot

	var b strings.Builder
	next, counts := p.caption()
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\">\n", width, depth)
	fmt.Fprintf(&b, "<title>YINSH, %s, %s</title>\n%s<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", next, counts, svgStyle, width, depth)
	text := func(x, y int, s string) {
		const half = 8 // of a letter's height
		fmt.Fprintf(&b, "<text class=\"text\" x=\"%d\" y=\"%d\">%s</text>\n", x, y+half, s)
	}
	for axis, step := range steps {
		for _, pt := range points {
			first := pt.Grid()
			if board.has(first - step) {
				continue // a line begins where there is nothing before
			}
			last := first
			for board.has(last + step) {
				last += step
			}
			x, y := at(pt)
			x2, y2 := at(Point(pointOf[last]))
			fmt.Fprintf(&b, "<line class=\"line\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n", x, y, x2, y2)
			const away = 36 // of a name from its line's end
			switch Axis(axis) {
			case AxisLetter:
				text(x, y+away, string(rune('a'+pt.Column())))
			case AxisNumber: // one step on is to the right and half a step down
				text(x-away*svgAcross/svgUp, y-away/2, fmt.Sprint(pt.Number()))
			}
		}
	}
	for _, pt := range points {
		x, y := at(pt)
		const ring, disc = 22, 15 // radii
		color := "white"
		switch p.At(pt) {
		case Empty:
			continue
		case BlackRing, BlackMarker:
			color = "black"
		}
		switch p.At(pt) {
		case WhiteRing, BlackRing:
			fmt.Fprintf(&b, "<circle class=\"edge\" cx=\"%d\" cy=\"%d\" r=\"%d\"/>\n", x, y, ring)
			fmt.Fprintf(&b, "<circle class=\"ring %s\" cx=\"%d\" cy=\"%d\" r=\"%d\"/>\n", color, x, y, ring)
		default:
			fmt.Fprintf(&b, "<circle class=\"disc %s\" cx=\"%d\" cy=\"%d\" r=\"%d\"/>\n", color, x, y, disc)
		}
	}
	text(width/2, depth-svgFoot+10, next)
	text(width/2, depth-svgFoot+40, counts)
	b.WriteString("</svg>\n")
	return []byte(b.String())
}
