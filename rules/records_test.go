package rules

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The records of other people's games and programs, not part of this module.
const recordsDir = "../../shared/records/"

// openRecords opens a file of outside records, unpacked, or skips the test.
func openRecords(t *testing.T, name string) io.Reader {
	t.Helper()
	b, err := os.ReadFile(recordsDir + name)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no outside records: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(name, ".gz") {
		return bytes.NewReader(b)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func readRecords(t *testing.T, name string) []byte {
	t.Helper()
	b, err := io.ReadAll(openRecords(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// fails returns a fault function that reports the first few faults.
func fails(t *testing.T) func(Fault) {
	n := 0
	return func(f Fault) {
		if n++; n <= 10 {
			t.Error(f)
		}
	}
}

// Convert converts the games of one reader.
func Convert(w io.Writer, to Format, r io.Reader, from Format, fault func(Fault)) (ok, bad int, err error) {
	c := Converter{From: from, To: to, W: w, Fault: fault}
	err = c.Read(r)
	return c.Good, c.Bad, errors.Join(c.Err, err)
}

func TestOutsideGames(t *testing.T) {
	ok, bad, err := ReplayGames(openRecords(t, "games.moves"), fails(t))
	if ok != 590 || bad != 0 || err != nil {
		t.Errorf("got ok=%d bad=%d, %v: want ok=590 bad=0", ok, bad, err)
	}
}

func TestOutsideTraces(t *testing.T) {
	for _, test := range []struct {
		name  string
		games int
	}{{"games.trace.gz", 590}, {"random.trace.gz", 487}} {
		t.Run(test.name, func(t *testing.T) {
			ok, bad, err := CheckTrace(openRecords(t, test.name), Variants(), fails(t))
			if ok != test.games || bad != 0 || err != nil {
				t.Errorf("got ok=%d bad=%d, %v: want ok=%d bad=0", ok, bad, err, test.games)
			}
		})
	}
}

func TestTraceOfOutsideGames(t *testing.T) {
	var got bytes.Buffer
	ok, bad, err := Convert(&got, FormatTrace, openRecords(t, "games.moves"), FormatMoves, fails(t))
	if ok != 590 || bad != 0 || err != nil {
		t.Fatalf("got ok=%d bad=%d, %v: want ok=590 bad=0", ok, bad, err)
	}
	if want := readRecords(t, "games.trace.gz"); !bytes.Equal(got.Bytes(), want) {
		g, w := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
		for i := range min(len(g), len(w)) {
			if g[i] != w[i] {
				t.Fatalf("line %d:\ngot  %s\nwant %s", i+1, g[i], w[i])
			}
		}
		t.Fatalf("got %d lines: want %d", len(g), len(w))
	}
}

// Every outside game goes through every other format and comes back as it was. A trace does not name the Variant, which
// shows only where the two differ.
func TestConvertOutsideGames(t *testing.T) {
	want := readRecords(t, "games.moves")
	for _, f := range []Format{FormatTurns, FormatSGF} {
		var there, back bytes.Buffer
		ok, bad, err := Convert(&there, f, bytes.NewReader(want), FormatMoves, fails(t))
		if ok != 590 || bad != 0 || err != nil {
			t.Fatalf("to %v: ok=%d bad=%d, %v: want ok=590 bad=0", f, ok, bad, err)
		}
		ok, bad, err = Convert(&back, FormatMoves, &there, f, fails(t))
		if ok != 590 || bad != 0 || err != nil {
			t.Fatalf("from %v: ok=%d bad=%d, %v: want ok=590 bad=0", f, ok, bad, err)
		}
		g, w := strings.Split(back.String(), "\n"), strings.Split(string(want), "\n")
		different := 0
		for i := range max(len(g), len(w)) {
			if i >= len(g) || i >= len(w) || g[i] != w[i] {
				if different++; different <= 3 {
					t.Errorf("through %v, line %d:\ngot  %s\nwant %s", f, i+1, g[min(i, len(g)-1)], w[min(i, len(w)-1)])
				}
			}
		}
		if different > 0 {
			t.Errorf("through %v: %d lines differ", f, different)
		}
	}
	var b bytes.Buffer
	if ok, bad, err := Convert(&b, FormatMoves, openRecords(t, "games.trace.gz"), FormatTrace, fails(t)); ok != 590 || bad != 0 || err != nil {
		t.Errorf("from the trace: ok=%d bad=%d, %v: want ok=590 bad=0", ok, bad, err)
	}
}

func TestOutsidePerft(t *testing.T) {
	depths := 3
	if testing.Short() {
		depths = 2
	}
	positions := 0
	for line := range strings.Lines(string(readRecords(t, "perft.txt"))) {
		f := strings.Fields(line)
		g, err := ParseGame(f[0] + " unknown played standard " + strings.Join(f[6:], " "))
		if err != nil {
			t.Fatal(err)
		}
		p, err := g.Replay()
		if err != nil {
			t.Fatal(err)
		}
		if p.ToMove().String() != f[1] || p.Phase().String() != f[2] {
			t.Errorf("%s: %v to move, phase %v: want %s, %s", f[0], p.ToMove(), p.Phase(), f[1], f[2])
		}
		for depth := 1; depth <= depths; depth++ {
			want, err := strconv.ParseUint(f[2+depth], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if got := Perft(&p, depth); got != want {
				t.Errorf("%s: perft %d is %d: want %d\n%s", f[0], depth, got, want, p.Draw())
			}
		}
		positions++
	}
	if positions != 39 {
		t.Errorf("%d positions: want 39", positions)
	}
}
