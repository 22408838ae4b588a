package desk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"yinshzero/engine"
	"yinshzero/rules"
)

// uniform is the Params of a Desk whose only model knows nothing.
func uniform() Params {
	p := Params{Engine: engine.DefaultParams(), Limits: DefaultLimits()}
	p.Engine.Version = "0123456789ab"
	p.Engine.Load = func(name string, _ rules.Variant) (engine.Model, error) { return engine.Model{Name: name}, nil }
	p.Models = func() []Model { return []Model{{Name: "uniform"}} }
	return p
}

func newDesk(t testing.TB, p Params) *Desk {
	t.Helper()
	d, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ask asks a question, whose body is marshalled, and reads the answer into to.
func ask(t testing.TB, d *Desk, name string, body, to any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := d.Answer(t.Context(), name, text, &b); err != nil {
		t.Fatalf("%s %s: %v", name, text, err)
	}
	if err := json.Unmarshal(b.Bytes(), to); err != nil {
		t.Fatalf("%s: %s: %v", name, b.Bytes(), err)
	}
}

// texted is Moves as a game has them.
func texted(v rules.Variant, moves []rules.Move) game {
	g := game{Variant: v.String(), Moves: []string{}}
	for _, m := range moves {
		g.Moves = append(g.Moves, v.MoveText(m))
	}
	return g
}

// Where a game stands is what the rules say, and what a Move is said to do is what it does.
func TestPosition(t *testing.T) {
	d := newDesk(t, uniform())
	results := map[rules.Reason]bool{}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 40 {
		v := []rules.Variant{rules.Standard(), rules.Mini(), rules.Blitz(), {Name: "custom", Radius: 3, Rings: 2, Markers: 20, RowLength: 4, RingsToWin: 2}}[i%4]
		g := rules.RandomGame(v, rules.RandomKind(i%3), rng)
		n := rng.IntN(len(g.Moves) + 1)
		if i%8 < 4 {
			n = len(g.Moves)
		}
		pos, before := rules.New(v), rules.Position{}
		for _, m := range g.Moves[:n] {
			before = pos
			pos.Play(m)
		}
		var a positionAnswer
		ask(t, d, "position", positionQuestion{texted(v, g.Moves[:n])}, &a)
		res, over := pos.Result()
		switch {
		case a.Position != pos.String() || a.Ply != n || a.Over != over || a.Over != (a.Result != nil) || len(a.Legal) != pos.NumMoves():
			t.Fatalf("got %+v, want %v", a, &pos)
		case a.ToMove != pos.ToMove().String() || a.Phase != pos.Phase().String() || a.Pool != pos.Pool() || a.Variant != v.String():
			t.Fatalf("got %+v, want %v", a, &pos)
		case over && a.Result.Winner != res.Outcome.String():
			t.Fatalf("got %+v, want %v", a.Result, res)
		case a.Taken != bySide[int]{pos.Taken(0), pos.Taken(1)} || a.Hand != bySide[int]{pos.Hand(0), pos.Hand(1)}:
			t.Fatalf("got %+v, want %v", a, &pos)
		}
		results[res.Reason] = true
		c := pictureOf(&pos)
		if len(a.Points) != len(c.pieces) {
			t.Fatalf("got %d points, want %d", len(a.Points), len(c.pieces))
		}
		for _, pt := range a.Points {
			if got, want := a.Pieces[pt], map[byte]string{'.': "", 'W': "WR", 'B': "BR", 'w': "WM", 'b': "BM"}[c.pieces[pt]]; got != want {
				t.Fatalf("%v: %s: got %q, want %q", &pos, pt, got, want)
			}
		}
		for _, m := range a.Legal {
			checkMove(t, &pos, m)
		}
		if n > 0 {
			if a.Last.By != before.ToMove().String() || a.Last.Move != v.MoveText(g.Moves[n-1]) {
				t.Fatalf("last is %+v", a.Last)
			}
			checkMove(t, &before, *a.Last)
		} else if a.Last != nil {
			t.Fatalf("last is %+v", a.Last)
		}
		at, ply := rules.New(v), 0
		for i, turn := range a.Turns { // they are turns, and make up the game
			side := at.ToMove()
			moves, err := at.ParseTurn(turn.Text)
			if err != nil && i+1 == len(a.Turns) { // under way
				moves = g.Moves[ply:n]
				if got := string(v.AppendTurn(nil, moves)); got != turn.Text {
					t.Fatalf("turn %q: want %q", turn.Text, got)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			for _, m := range moves {
				at.Play(m)
			}
			if ply += len(moves); turn.Ply != ply || turn.By != side.String() {
				t.Fatalf("turn %+v: want %v, ply %d", turn, side, ply)
			}
		}
		if at != pos {
			t.Fatalf("the turns lead to %v, want %v", &at, &pos)
		}
	}
	for _, r := range []rules.Reason{rules.RingsTaken, rules.PoolEmpty} {
		if !results[r] {
			t.Errorf("no game ended by %v", r)
		}
	}
}

// checkMove plays a Move and looks whether it does what is said of it.
func checkMove(t *testing.T, p *rules.Position, m move) {
	t.Helper()
	played, err := p.ParseMove(m.Move)
	if err != nil {
		t.Fatal(err)
	}
	next := *p
	next.Play(played)
	at := func(p *rules.Position, s string) rules.Piece {
		pt, err := rules.ParsePoint(s)
		if err != nil {
			t.Fatal(err)
		}
		return p.At(pt)
	}
	var turned, gone []string
	for pt := range rules.Point(rules.NumPoints) {
		was, is := p.At(pt), next.At(pt)
		switch marker := func(x rules.Piece) bool { return x == rules.WhiteMarker || x == rules.BlackMarker }; {
		case marker(was) && marker(is) && was != is:
			turned = append(turned, pt.String())
		case marker(was) && is == rules.Empty:
			gone = append(gone, pt.String())
		}
	}
	sorted := slices.Sorted(slices.Values(m.Points))
	ok := false
	switch m.Kind {
	case "place":
		ok = m.To == "" && m.Points == nil && at(p, m.At) == rules.Empty && at(&next, m.At) == ringOf(p.ToMove())
	case "move":
		ok = slices.Equal(sorted, slices.Sorted(slices.Values(turned))) && at(p, m.At) == ringOf(p.ToMove()) && at(&next, m.At) == markerOf(p.ToMove()) && at(&next, m.To) == ringOf(p.ToMove())
	case "row":
		ok = slices.Equal(sorted, slices.Sorted(slices.Values(gone))) && m.At == m.Points[0] && m.To == m.Points[len(m.Points)-1]
	case "ring":
		ok = m.To == "" && m.Points == nil && at(p, m.At) == ringOf(p.ToMove()) && at(&next, m.At) == rules.Empty
	case "pass":
		ok = m.At == "" && m.To == "" && m.Points == nil
	}
	if !ok {
		t.Fatalf("%v: %+v: turned %s, gone %s", p, m, turned, gone)
	}
}

// What is wrong is told, with its field and, if it breaks a rule, that.
func TestErrors(t *testing.T) {
	d := newDesk(t, uniform())
	start := rules.New(rules.Mini())
	for _, c := range []struct{ name, body, message, field, rule string }{
		{"nothing", `{}`, `no question "nothing"`, "", ""},
		{"position", `[]`, "want a JSON object", "", ""},
		{"position", `{"game":{"moves":[]}`, "unexpected EOF", "", ""},
		{"position", `{"game":{"moves":[}}`, "byte 19", "", ""},
		{"position", `{}{}`, "more after the end", "", ""},
		{"position", `{"moves":[]}`, `unknown field "moves"`, "", ""},
		{"position", `{"game":{"moves":[1]}}`, "number", "game.moves", ""},
		{"position", `{"game":{"variant":"huge"}}`, "want standard, blitz", "game.variant", ""},
		{"position", `{"game":{"variant":"blitz","start":"` + start.String() + `"}}`, "leave variant out", "game.variant", ""},
		{"position", `{"game":{"start":"x"}}`, "fields between slashes", "game.start", ""},
		{"position", `{"game":{"moves":["e5","e5"]}}`, "move 2: e5 is not legal", "game.moves", "placing"},
		{"position", `{"game":{"moves":["e5","e5-e6"]}}`, "is not legal", "game.moves", "placing"},
		{"position", `{"game":{"variant":"mini","moves":["e5","a2"]}}`, "is not legal", "game.moves", "board"},
		{"position", `{"game":{"moves":["e5","zz"]}}`, "is no move", "game.moves", ""},
		{"position", `{"game":{"moves":["` + strings.Repeat("a", MaxBody) + `"]}}`, "want at most 1048576", "", ""},
		{"why", `{"at":"z9"}`, "no point", "at", ""},
		{"why", `{"at":"e5","to":"z9"}`, "no point", "to", ""},
		{"write", `{"format":"pgn"}`, "want moves, turns, trace, sgf", "format", ""},
		{"write", `{"format":"sgf","game":{"variant":"mini"}}`, "has no SGF", "format", ""},
		{"write", `{"format":"sgf","id":"# a"}`, "want a word", "id", ""},
		{"write", `{"format":"sgf","result":"draw"}`, "want W or B", "result", ""},
		{"write", `{"format":"moves","game":{"start":"` + strings.Replace(start.String(), "W/place/21/0-0/3-3/B", "B/place/21/0-0/2-3/W", 1)[1:] + `"}}`, "characters", "game.start", ""},
		{"move", `{"simulations":-1}`, "want 0 to 100000", "simulations", ""},
		{"move", `{"simulations":100001}`, "want 0 to 100000", "simulations", ""},
		{"move", `{"temperature":-1}`, "0.01 to 100", "temperature", ""},
		{"move", `{"seed":-1}`, "number -1", "seed", ""},
		{"move", `{"model":"/etc/passwd"}`, "no such model", "model", ""},
		{"analyse", `{"id":"a","moves":[],"model":"other"}`, "no such model", "model", ""},
		{"analyse", `{"id":"a","moves":[],"model":1}`, "want a text", "model", ""},
		{"about", `{"x":1}`, "unknown field", "", ""},
	} {
		var b bytes.Buffer
		err := d.Answer(t.Context(), c.name, []byte(c.body), &b)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Message, c.message) || e.Field != c.field || e.Rule != c.rule || b.Len() > 0 {
			t.Errorf("%s %s: got %#v, wrote %q, want %+v", c.name, abridge(c.body), err, b.String(), c)
		}
	}
	over := rules.RandomGame(rules.Mini(), rules.Rows, rand.New(rand.NewPCG(1, 1)))
	body, _ := json.Marshal(moveQuestion{Game: texted(over.Variant, over.Moves)})
	var e *Error
	if err := d.Answer(t.Context(), "move", body, &bytes.Buffer{}); !errors.As(err, &e) || e.Rule != "end" {
		t.Errorf("a move after the end: got %v", err)
	}
	for want, change := range map[string]func(*Params){
		"Models is missing": func(p *Params) { p.Models = nil },
		"0 simulations":     func(p *Params) { p.Limits.Simulations = 0 },
		"NaN seconds":       func(p *Params) { p.Limits.Seconds /= 0; p.Limits.Seconds -= p.Limits.Seconds },
		"Load is missing":   func(p *Params) { p.Engine.Load = nil },
	} {
		p := uniform()
		change(&p)
		if _, err := New(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// A model that cannot be loaded, and a place without any, is nobody's mistake.
func TestNoModel(t *testing.T) {
	p := uniform()
	p.Engine.Load = func(string, rules.Variant) (engine.Model, error) { return engine.Model{}, errors.New("it is gone") }
	none := uniform()
	none.Models = func() []Model { return nil }
	for want, p := range map[string]Params{"it is gone": p, "there is no model": none} {
		for name, body := range map[string]string{"move": `{}`, "analyse": `{"id":"a","moves":[]}`} {
			var e *Error
			if err := newDesk(t, p).Answer(t.Context(), name, []byte(body), &bytes.Buffer{}); !errors.As(err, &e) || e.Kind != Failed || e.Message != want {
				t.Errorf("%s: got %v, want %s", name, err, want)
			}
		}
	}
}

// Games are read in all formats, and what write has written is read as it was.
func TestReadWrite(t *testing.T) {
	d := newDesk(t, uniform())
	rng := rand.New(rand.NewPCG(2, 1))
	for i := range 40 {
		g := rules.RandomGame([]rules.Variant{rules.Standard(), rules.Blitz()}[i%2], rules.RandomKind(i%3), rng)
		q := writeQuestion{Game: texted(g.Variant, g.Moves), Format: []string{"sgf", "turns", "moves", "trace"}[i/2%4], ID: "a1"}
		want := readGame{ID: "a1", Variant: g.Variant.String(), Result: g.Outcome.String()}
		if i%5 == 0 {
			q.Game.Moves, q.Result = q.Game.Moves[:20], "B"
			want.Result, want.Resigned = "B", true
			if q.Format == "trace" {
				want.Result = "unknown"
			}
		}
		if q.Format == "sgf" {
			q.Names = bySide[string]{"Ann", "Bob"}
			want.Names = q.Names
		}
		if q.Format == "trace" && g.Variant.Same(rules.Blitz()) {
			want.Variant = "" // standard and blitz may have the same trace
		}
		want.Moves = q.Game.Moves
		var text writeAnswer
		ask(t, d, "write", q, &text)
		var back readAnswer
		ask(t, d, "read", readQuestion{Text: "\n# a comment\n"[:i%2] + text.Text, Name: "x.txt"}, &back)
		if len(back.Faults) > 0 || len(back.Games) != 1 {
			t.Fatalf("%s: got %+v", q.Format, back)
		}
		got := back.Games[0]
		if want.Variant == "" {
			got.Variant = ""
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s: got %+v, want %+v", q.Format, got, want)
		}
	}
}

// What is wrong with a text is told with its place, and only so much of it.
func TestReadFaults(t *testing.T) {
	d := newDesk(t, uniform())
	good := "a unknown played mini e5 f6\n"
	for _, c := range []struct {
		text   string
		games  int
		faults []string
	}{
		{"", 0, []string{"f: there is no game in it"}},
		{"# nothing\n\n", 0, []string{"f: there is no game"}},
		{"hello", 0, []string{"f: line 1: 1 words"}},
		{good + "b unknown played mini e5 e5\n" + good, 2, []string{"f: line 2: game b: ply 1: turn \"e5\": e5 is not legal"}},
		{good + strings.Repeat("x\n", MaxFaults+5), 1, append(slices.Repeat([]string{"f: line"}, MaxFaults), "f: and 5 more faults")},
		{strings.Repeat(good, MaxGames+3), MaxGames, []string{"f: 3 more games are left out"}},
		{"(;GM[24]SU[Yinsh]P0[0 place wr G 11])\n(;GM[1])", 1, []string{"f: line 2: game sgf2: GM is \"1\""}},
		{"noise\nnoise (;GM[24]", 0, []string{"f: line 2: game sgf1: the game has no closing"}},
		{"u0 0 W place 85 0000000000000000 e5 x\n", 0, []string{"f: line 1: game u0: ply 0"}},
	} {
		var a readAnswer
		ask(t, d, "read", readQuestion{c.text, "f"}, &a)
		if len(a.Games) != c.games || len(a.Faults) < len(c.faults) {
			t.Errorf("%s: got %d games, faults %q", abridge(c.text), len(a.Games), a.Faults)
			continue
		}
		for i, want := range c.faults {
			if !strings.HasPrefix(a.Faults[i], want) {
				t.Errorf("%s: fault %d is %q, want %q", abridge(c.text), i, a.Faults[i], want)
			}
		}
	}
}

// A turn depends on the question alone, is whole and legal, and what is asked for in the midst of it is its rest.
func TestMove(t *testing.T) {
	d := newDesk(t, uniform())
	rng := rand.New(rand.NewPCG(3, 1))
	var questions []moveQuestion
	var answers []moveAnswer
	long := 0
	two, err := rules.ParseVariant("3-2-20-4-2")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		g := rules.RandomGame(two, rules.Rows, rng)
		n := rng.IntN(len(g.Moves))
		if k := slices.IndexFunc(g.Moves, func(m rules.Move) bool { return m.Kind() == rules.RemoveRow }); i%4 == 0 && k >= 0 {
			n = k
		}
		simulations := []int{0, 1, 30}[i%3]
		q := moveQuestion{Game: texted(g.Variant, g.Moves[:n]), Simulations: &simulations, Temperature: []float64{0, 1, 4}[i/3%3], Seed: uint64(i)}
		var a moveAnswer
		ask(t, d, "move", q, &a)
		pos := rules.New(g.Variant)
		for _, m := range g.Moves[:n] {
			pos.Play(m)
		}
		side := pos.ToMove()
		for k, text := range a.Moves {
			if _, over := pos.Result(); over || pos.ToMove() != side {
				t.Fatalf("%+v: more than a turn: %s", q, a.Moves)
			}
			if k > 0 {
				rest := q
				rest.Game.Moves = append(slices.Clone(q.Game.Moves), a.Moves[:k]...)
				var b moveAnswer
				if ask(t, d, "move", rest, &b); !slices.Equal(b.Moves, a.Moves[k:]) {
					t.Errorf("%+v: the rest of %s is %s", q, a.Moves, b.Moves)
				}
				long++
			}
			m, err := pos.ParseMove(text)
			if err != nil {
				t.Fatal(err)
			}
			pos.Play(m)
		}
		if _, over := pos.Result(); !over && pos.ToMove() == side {
			t.Fatalf("%+v: less than a turn: %s", q, a.Moves)
		}
		if a.Winrate < 0 || a.Winrate > 1 || a.Simulations > simulations*len(a.Moves) || a.Cut || a.Model != "uniform" {
			t.Fatalf("%+v: got %+v", q, a)
		}
		questions, answers = append(questions, q), append(answers, a)
	}
	if long == 0 {
		t.Error("no turn has more than one Move")
	}
	var all sync.WaitGroup
	for i := range questions {
		all.Go(func() {
			var b bytes.Buffer
			body, _ := json.Marshal(questions[i])
			want, _ := json.Marshal(answers[i])
			if err := d.Answer(t.Context(), "move", body, &b); err != nil || strings.TrimSpace(b.String()) != string(want) {
				t.Errorf("%s: got %s, %v, want %s", body, b.Bytes(), err, want)
			}
		})
	}
	all.Wait()
	moves := map[string]bool{}
	for seed := range uint64(30) {
		var a moveAnswer
		ask(t, d, "move", map[string]any{"simulations": 0, "temperature": 1, "seed": seed}, &a)
		moves[a.Moves[0]] = true
	}
	if len(moves) < 10 {
		t.Errorf("30 seeds begin with %d moves", len(moves))
	}
}

// A search that has found the result tells it, in the view of the side to move.
func TestMoveProven(t *testing.T) {
	d := newDesk(t, uniform())
	proven := map[string]bool{}
	rng := rand.New(rand.NewPCG(4, 1))
	for len(proven) < 4 {
		g := rules.RandomGame(rules.Mini(), rules.Rows, rng)
		pos := rules.New(g.Variant)
		for _, m := range g.Moves[:len(g.Moves)-1] {
			pos.Play(m)
		}
		var a moveAnswer
		ask(t, d, "move", map[string]any{"game": texted(g.Variant, g.Moves[:len(g.Moves)-1]), "simulations": 500}, &a)
		if a.Proven == "" || a.Proven == "draw" {
			continue
		}
		want := float32(0)
		if a.Proven == pos.ToMove().String() {
			want = 1
		}
		if a.Winrate != want || a.Proven != pos.ToMove().String() && pos.Phase() == rules.PhaseRemoveRing {
			t.Fatalf("%v: got %+v", &pos, a)
		}
		proven[a.Proven+fmt.Sprint(want)] = true
		if len(proven) == 2 {
			break
		}
	}
}

// When the time is up, or nobody waits any longer, there is a turn all the same, and it says so.
func TestMoveCut(t *testing.T) {
	d := newDesk(t, uniform())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var b bytes.Buffer
	if err := d.Answer(ctx, "move", []byte(`{"simulations":100000}`), &b); err != nil || !strings.Contains(b.String(), `"cut":true`) {
		t.Errorf("got %s, %v", b.Bytes(), err)
	}
	p := uniform()
	p.Limits = Limits{Simulations: engine.MaxSimulations, Seconds: 1e-6}
	var a moveAnswer
	if ask(t, newDesk(t, p), "move", map[string]any{"simulations": engine.MaxSimulations}, &a); !a.Cut || len(a.Moves) != 1 {
		t.Errorf("got %+v", a)
	}
}

// A canceller ends a question when its first line has come.
type canceller struct {
	cancel context.CancelFunc
	lines  []string
}

func (c *canceller) Write(b []byte) (int, error) {
	c.lines = append(c.lines, string(b))
	c.cancel()
	return len(b), nil
}

// An analysis is the engine's, line by line; it ends with its ctx, and keeps to the limits.
func TestAnalyse(t *testing.T) {
	p := uniform()
	p.Limits = Limits{Simulations: 1_000_000_000, Seconds: 1000}
	d := newDesk(t, p)
	var b bytes.Buffer
	if err := d.Answer(t.Context(), "analyse", []byte(`{"id":"a","model":"uniform","rules":"mini","moves":["e5"],"analyzeTurns":[0,1],"maxVisits":20}`), &b); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), `"visits":20,`); n != 2 || strings.Count(b.String(), "\n") != 2 {
		t.Errorf("got %s", b.Bytes())
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := &canceller{cancel: cancel}
	err := d.Answer(ctx, "analyse", []byte(`{"id":"a","moves":[],"reportDuringSearchEvery":0.01,"maxVisits":1000000000}`), w)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for _, l := range w.lines {
		if !strings.HasSuffix(l, "}\n") || strings.Count(l, "\n") != 1 {
			t.Errorf("got the line %q", l)
		}
	}
	d = newDesk(t, uniform())
	for query, want := range map[string]string{
		`{"id":"a","moves":[],"maxVisits":100001}`: "want 1 to 100000",
		`{"id":"a","moves":[],"maxTime":61}`:       "want 0.001 to 60 seconds",
		`{"moves":[]}`:                             "without an id",
	} {
		var b bytes.Buffer
		if err := d.Answer(t.Context(), "analyse", []byte(query), &b); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%s: got %s, %v", query, b.Bytes(), err)
		}
	}
}

// The transcripts of docs/frontends.md are what a Desk with the model uniform says. An ellipsis stands for any text.
func TestTranscripts(t *testing.T) {
	text, err := os.ReadFile("../../docs/frontends.md")
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, uniform())
	asked := map[string]bool{}
	for _, block := range regexp.MustCompile("(?s)```desk\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		var got []string
		for line := range strings.Lines(block[1]) {
			line = strings.TrimSuffix(line, "\n")
			if question, ok := strings.CutPrefix(line, "> "); ok {
				name, body, _ := strings.Cut(question, " ")
				asked[name] = true
				var b bytes.Buffer
				err := d.Answer(t.Context(), name, []byte(body), &b)
				var e *Error
				if errors.As(err, &e) {
					text, _ := json.Marshal(e)
					b.Write(text)
				}
				got = strings.Split(strings.TrimSpace(b.String()), "\n")
				continue
			}
			pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimPrefix(line, "< ")), "…", ".*")
			if len(got) == 0 || !regexp.MustCompile("^"+pattern+"$").MatchString(got[0]) {
				t.Fatalf("got  %q\nwant %s", got, line)
			}
			got = got[1:]
		}
		if len(got) > 0 {
			t.Errorf("more comes: %q", got)
		}
	}
	for name := range questions {
		if !asked[name] {
			t.Errorf("%s is not shown", name)
		}
	}
}

// No bytes break a Desk: the answer is JSON, or the error is, and says what is wrong.
func FuzzAnswer(f *testing.F) {
	for name := range questions {
		for _, body := range []string{
			``, `{}`, `null`, `{"game":{"variant":"mini","moves":["e5","f6"]},"at":"e5","to":"g7"}`, `{"game":{"moves":["e5"]},"format":"sgf","id":"x","names":{"W":"]\\"}}`,
			`{"text":"(;GM[24]P0[0 place wr G 11])","name":"f"}`, `{"text":"a W played mini e5 f6"}`, `{"game":{"variant":"mini"},"simulations":3,"temperature":0.5,"seed":9}`,
			`{"id":"a","moves":["e5"],"maxVisits":3,"analyzeTurns":[0,1],"includePolicy":true}`, `{"id":"b","action":"query_models"}`,
		} {
			f.Add(name, []byte(body))
		}
	}
	p := uniform()
	p.Limits = Limits{Simulations: 4, Seconds: 1}
	d := newDesk(f, p)
	f.Fuzz(func(t *testing.T, name string, body []byte) {
		var b bytes.Buffer
		err := d.Answer(t.Context(), name, body, &b)
		var e *Error
		switch {
		case errors.As(err, &e):
			if text, err := json.Marshal(e); err != nil || e.Message == "" || b.Len() > 0 || !json.Valid(text) {
				t.Errorf("%s %q: %v, %q", name, body, err, b.Bytes())
			}
		case err != nil:
			t.Errorf("%s %q: %v", name, body, err)
		default:
			for line := range bytes.Lines(b.Bytes()) {
				if !json.Valid(line) {
					t.Errorf("%s %q: got %q", name, body, line)
				}
			}
		}
	})
}
