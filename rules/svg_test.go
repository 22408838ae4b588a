package rules_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"yinshzero/internal/rulestest"
	"yinshzero/rules"
)

// One picture, looked at by a person, stays as it is.
func TestGoldenSVG(t *testing.T) {
	p := rules.New(rules.Mini())
	play(t, &p, "d4 e5 g8 h5 e8 g4 d4-d5 e5-f5 d5-f7 h5-h8")
	const golden = "testdata/position.svg"
	if *update {
		if err := os.WriteFile(golden, p.SVG(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, "picture", string(p.SVG()), string(want))
}

// The pictures in docs/rules.md are of these Positions.
func TestDocsPictures(t *testing.T) {
	jump := drawn(t, rulestest.Drawing{Pieces: "We2 Wc3 Wg9 Wi8 Wh4 Bd8 Bf9 Bg4 Bi6 Bc6 be4 we5 be6", Phase: rules.PhaseMoveRing})
	after := jump
	play(t, &after, "e2-e7")
	rows := drawn(t, rulestest.Drawing{Pieces: "we3-e7 wc5-g5 bg7-h8 We8 Wc3 Wg9 Wi8 Wh4 Bd8 Bf9 Bg3 Bi6 Bc6", Phase: rules.PhaseRemoveRow})
	wantText(t, "rows", legal(&rows), "xc5-g5 xe3-e7")
	board := rules.New(rules.Standard())
	for name, p := range map[string]rules.Position{"board": board, "jump": jump, "jumped": after, "rows": rows} {
		file := "../docs/img/" + name + ".svg"
		if *update {
			if err := os.WriteFile(file, p.SVG(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		wantText(t, name, string(p.SVG()), string(want))
	}
}

func scan(t *testing.T, s, format string, to ...any) {
	t.Helper()
	if _, err := fmt.Sscanf(s, format, to...); err != nil {
		t.Fatalf("%q: %v", s, err)
	}
}

// Every picture is well formed, shows every piece and line once, and stays within its frame.
func TestSVG(t *testing.T) {
	lines := map[string]int{"standard": 33, "blitz": 33, "mini": 21}
	for _, v := range rules.Variants() {
		rulestest.Walk(v, 3, 7, func(_ int, p rules.Position) {
			count := map[string]int{}
			var width, depth int
			d := xml.NewDecoder(bytes.NewReader(p.SVG()))
			for {
				token, err := d.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%v\n%s", err, p.SVG())
				}
				e, ok := token.(xml.StartElement)
				if !ok {
					continue
				}
				kind := e.Name.Local
				for _, a := range e.Attr {
					n := 0
					switch a.Name.Local {
					case "viewBox":
						scan(t, a.Value, "0 0 %d %d", &width, &depth)
					case "class":
						kind += " " + a.Value
					case "x", "x1", "x2", "cx":
						if scan(t, a.Value, "%d", &n); n <= 0 || n >= width {
							t.Fatalf("%s at x=%d of %d", kind, n, width)
						}
					case "y", "y1", "y2", "cy":
						if scan(t, a.Value, "%d", &n); n <= 0 || n >= depth {
							t.Fatalf("%s at y=%d of %d", kind, n, depth)
						}
					}
				}
				count[kind]++
			}
			want := map[string]int{"line line": lines[v.Name]}
			for c, name := range [2]string{"white", "black"} {
				c := rules.Color(c)
				want["circle ring "+name] = len(p.AppendRings(nil, c))
				want["circle disc "+name] = len(p.AppendMarkers(nil, c))
				want["circle edge"] += len(p.AppendRings(nil, c))
			}
			for kind, n := range want {
				if count[kind] != n {
					t.Fatalf("%v: %d of %q, want %d\n%s", &p, count[kind], kind, n, p.SVG())
				}
			}
		})
	}
}
