package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"yinshzero/infer"
	"yinshzero/net"
	"yinshzero/rules"
)

// A reply is any answer.
type reply struct {
	answer
	NoResults bool
	Error     string
	Warning   string
	Field     string
}

func parseReply(t testing.TB, line string) (r reply) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return r
}

func (e *end) reply() reply {
	e.t.Helper()
	return parseReply(e.t, e.next())
}

// final is the next reply that is none on the way.
func (e *end) final() reply {
	e.t.Helper()
	for {
		if r := e.reply(); !r.IsDuringSearch {
			return r
		}
	}
}

// forever is a query that ends when it is told to, and reports on the way.
const forever = `{"id":"forever","moves":[],"maxVisits":1000000000,"reportDuringSearchEvery":0.01}`

// A thousand queries at once, searched by several goroutines and read slowly, have the answers that they have one by one.
func TestThousandQueries(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 200
	}
	rng := rand.New(rand.NewPCG(3, 4))
	var queries []string
	for i := range n {
		g := rules.RandomGame(rules.Mini(), rules.Rows, rng)
		var moves []string
		for _, m := range g.Moves[:rng.IntN(len(g.Moves)+1)] {
			moves = append(moves, g.Variant.MoveText(m))
		}
		list, _ := json.Marshal(append([]string{}, moves...))
		queries = append(queries, fmt.Sprintf(`{"id":"%d","rules":"mini","moves":%s,"maxVisits":%d,"priority":%d}`, i, list, 1+rng.IntN(20), rng.IntN(3)))
	}
	ask := func(threads int) map[string]string {
		p := tiny(t, "32x1")
		p.Threads = threads
		in, inWrite := io.Pipe()
		out, outWrite := io.Pipe()
		done := make(chan error, 1)
		go func() {
			done <- JSON(t.Context(), in, outWrite, p)
			outWrite.Close()
		}()
		go func() {
			io.WriteString(inWrite, strings.Join(queries, "\n"))
			inWrite.Close()
		}()
		text, err := io.ReadAll(iotest.OneByteReader(out)) // as slowly as can be
		if err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		answers := map[string]string{}
		for l := range strings.Lines(string(text)) {
			r := parseReply(t, l)
			if _, twice := answers[r.ID]; twice || r.Error != "" {
				t.Fatalf("%s", l)
			}
			answers[r.ID] = l
		}
		return answers
	}
	one, many := ask(1), ask(4)
	if len(one) != n || !maps.Equal(one, many) {
		t.Errorf("%d and %d answers to %d queries, or different ones", len(one), len(many), n)
	}
}

// Searches that run and queries that wait can be ended; each is answered once, the running one with what it has.
func TestTerminate(t *testing.T) {
	e := begin(t, JSON, uniform())
	e.send(forever)
	if r := e.reply(); !r.IsDuringSearch || r.ID != "forever" || r.RootInfo.Visits < 2 {
		t.Fatalf("%+v", r)
	}
	e.send(`{"id":"w","moves":["e5","e6"],"analyzeTurns":[0,1,2],"maxVisits":2}`, `{"id":"x","action":"terminate","terminateId":"w","turnNumbers":[1]}`)
	if r := e.final(); r.ID != "x" {
		t.Fatalf("%+v", r)
	}
	if r := e.final(); r.ID != "w" || r.TurnNumber != 1 || !r.NoResults {
		t.Fatalf("%+v", r)
	}
	e.send(`{"id":"y","action":"terminate_all","turnNumbers":[2]}`)
	e.final()
	if r := e.final(); r.ID != "w" || r.TurnNumber != 2 || !r.NoResults {
		t.Fatalf("%+v", r)
	}
	e.send(`{"id":"z","action":"terminate","terminateId":"forever"}`)
	e.final()
	if r := e.final(); r.ID != "forever" || r.RootInfo.Visits < 2 {
		t.Fatalf("%+v", r)
	}
	if r := e.final(); r.ID != "w" || r.TurnNumber != 0 || r.RootInfo.Visits != 2 {
		t.Fatalf("%+v", r)
	}
	e.in.Close()
	if err := e.ended(); err != nil {
		t.Error(err)
	}
}

// What waits is taken by priority, then in the order in which it came, and there is an end to how much may wait.
func TestQueue(t *testing.T) {
	e := begin(t, JSON, uniform())
	e.send(forever)
	e.next() // it runs
	e.send(
		`{"id":"a","moves":["e5","e6"],"analyzeTurns":[0,1,2],"priorities":[1,5,3],"maxVisits":1}`,
		`{"id":"b","moves":[],"priority":3,"maxVisits":1}`, `{"id":"c","moves":[],"priority":-1,"maxVisits":1}`, `{"id":"d","moves":[],"maxVisits":1}`)
	e.send(`{"id":"t","action":"terminate","terminateId":"forever"}`)
	var order []string
	for range 8 {
		if r := e.final(); r.ID != "t" && r.ID != "forever" {
			order = append(order, fmt.Sprint(r.ID, r.TurnNumber))
		}
	}
	if got := strings.Join(order, " "); got != "a1 a2 b0 a0 d0 c0" {
		t.Errorf("order %s", got)
	}
	e.send(forever)
	e.next()
	for range maxQueue {
		e.send(`{"id":"q","moves":[],"maxVisits":1}`)
	}
	e.send(`{"id":"last","moves":[],"maxVisits":1}`)
	if r := e.final(); r.ID != "last" || !strings.Contains(r.Error, "10000 positions are waiting") {
		t.Fatalf("%+v", r)
	}
	e.send(`{"id":"all","action":"terminate_all"}`)
	for ended := 0; ended < maxQueue; {
		if e.final().NoResults {
			ended++
		}
	}
}

// What cannot be asked is refused with the field's name.
func TestQueryFaults(t *testing.T) {
	position := rules.New(rules.Mini())
	e := begin(t, JSON, tiny(t, "32x1-ownership"))
	for query, want := range map[string]string{
		`"moves":[],"boardXSize":19`:       "boardXSize: means nothing in YINSH",
		`"moves":[],"initialStones":[]`:    "initialStones: means nothing",
		`"rules":"mini"`:                   "moves: is missing",
		`"moves":"e5"`:                     "moves: got string, want a list",
		`"moves":null`:                     "moves: null is no value",
		`"moves":[5]`:                      "moves: move 0: got number, want a text",
		`"moves":[["W"]]`:                  "moves: move 0: 1 texts",
		`"moves":[["B","e5"]]`:             `moves: move 0: side "B": W is to move`,
		`"moves":["e5","zz"]`:              "moves: move 1:",
		`"moves":[],"rules":"go"`:          "rules: variant",
		`"moves":[],"rules":{"radius":9}`:  "rules: variant",
		`"moves":[],"rules":{"komi":9}`:    "rules: json: unknown field",
		`"moves":[],"rules":7`:             "rules: got number, want an object: want a variant",
		`"moves":[],"initialPosition":"x"`: "initialPosition: position",
		`"moves":[],"rules":"blitz","initialPosition":"` + position.String() + `"`: "rules: blitz",
		`"moves":[],"analyzeTurns":[1]`:                                            "analyzeTurns: 1: want 0 to 0",
		`"moves":[],"analyzeTurns":[0,0]`:                                          "analyzeTurns: 0 is there twice",
		`"moves":[],"analyzeTurns":[0.5]`:                                          "analyzeTurns: got number 0.5, want a whole number",
		`"moves":[],"priority":1,"priorities":[1]`:                                 "priorities: there is priority too",
		`"moves":[],"priorities":[1,2]`:                                            "priorities: 2 numbers for 1 turns",
		`"moves":[],"maxVisits":0`:                                                 "maxVisits: 0: want 1",
		`"moves":[],"maxVisits":1e30`:                                              "maxVisits: got number 1e30",
		`"moves":[],"maxTime":-1`:                                                  "maxTime: -1: want 0.001 to",
		`"moves":[],"reportDuringSearchEvery":0`:                                   "reportDuringSearchEvery: 0: want 0.01",
		`"moves":[],"includePolicy":1`:                                             "includePolicy: got number, want true or false",
		`"moves":[],"includeOwnership":true`:                                       "includeOwnership: the model tiny has no ownership head",
		`"moves":[],"avoidMoves":[{"player":"X"}]`:                                 `avoidMoves: player "X"`,
		`"moves":[],"avoidMoves":[{"player":"W","moves":["zz"]}]`:                  `avoidMoves: "zz" is no move`,
		`"moves":[],"avoidMoves":[{"player":"W","moves":["e5"],"untilDepth":3}]`:   "avoidMoves: untilDepth 3: want 1",
		`"moves":[],"allowMoves":[]`:                                               "allowMoves: 0 lists: want one",
		`"moves":[],"avoidMoves":[],"allowMoves":[{}]`:                             "allowMoves: there is avoidMoves too",
		`"moves":[],"allowMoves":[{"player":"W","moves":["pass"]}]`:                "allowMoves: turn 0: no legal move is left",
		`"moves":[],"overrideSettings":{"speed":9}`:                                "overrideSettings: speed: there is none of this name: want cPuct",
		`"moves":[],"overrideSettings":{"cPuct":-9}`:                               "overrideSettings: mcts: CPuct is -9",
		`"moves":[],"overrideSettings":{"reportAnalysisWinratesAs":"RED"}`:         `overrideSettings: reportAnalysisWinratesAs: "RED"`,
		`"action":"sing"`:                                                          `action: "sing": want query_version`,
		`"action":3`:                                                               "action: got number, want a text",
		`"action":"terminate"`:                                                     "terminateId: is missing",
		`"action":"terminate_all","turnNumbers":"x"`:                               "turnNumbers: got string, want a list",
	} {
		e.send(`{"id":"q",` + query + `}`)
		if r := e.reply(); r.ID != "q" || !strings.HasPrefix(r.Field+": "+r.Error, want) {
			t.Errorf("%s: got %s: %s, want %s", query, r.Field, r.Error, want)
		}
	}
	for line, want := range map[string]string{
		"{": "not a JSON object", "[]": "not a JSON object", "null": "not a JSON object", `{"moves":[]}`: "without an id", `{"id":3}`: "id: got number, want a text",
		`{"id":"` + strings.Repeat("x", maxJSONLine) + `"}`: "a line of more than 1048576 bytes",
	} {
		e.send(line)
		if r := e.reply(); r.ID != "" || !strings.Contains(r.Error, want) {
			t.Errorf("%.50s: got %q, want %s", line, r.Error, want)
		}
	}
	e.in.Write([]byte(`{"id":"cut","moves":[`)) // the input ends in the middle
	e.in.Close()
	if r := e.reply(); !strings.Contains(r.Error, "not a JSON object") {
		t.Errorf("%+v", r)
	}
	if err := e.ended(); err != nil {
		t.Error(err)
	}
}

// The network's answers are told as it gives them, in the view that is asked for.
func TestAnswer(t *testing.T) {
	p := tiny(t, "32x1")
	model, _ := p.Load("tiny", p.Variant)
	e := begin(t, JSON, p)
	game := rules.RandomGame(rules.Standard(), rules.Rows, rand.New(rand.NewPCG(5, 6)))
	var moves []string
	for _, m := range game.Moves[:25] {
		moves = append(moves, game.Variant.MoveText(m))
	}
	list, _ := json.Marshal(moves)
	pos := rules.New(game.Variant)
	for turn := range 26 {
		ask := func(view string) reply {
			e.send(fmt.Sprintf(`{"id":"a","moves":%s,"analyzeTurns":[%d],"maxVisits":9,"includePolicy":true,"includeOwnership":true,"includePVVisits":true,"overrideSettings":{"reportAnalysisWinratesAs":"%s"}}`,
				list, turn, view))
			r := e.reply()
			if r.Error != "" {
				t.Fatalf("%+v", r)
			}
			return r
		}
		mover, white, black := ask("SIDETOMOVE"), ask("WHITE"), ask("BLACK")
		same, other := white, black
		if pos.ToMove() == rules.Black {
			same, other = black, white
		}
		if fmt.Sprint(same.MoveInfos, same.RootInfo.Winrate, same.Ownership) != fmt.Sprint(mover.MoveInfos, mover.RootInfo.Winrate, mover.Ownership) {
			t.Errorf("turn %d: the mover's view is not his side's", turn)
		}
		near := func(what string, a, b float32) {
			if math.Abs(float64(a-b)) > 1e-5 {
				t.Errorf("turn %d: %s is %v, want %v", turn, what, a, b)
			}
		}
		legal := pos.AppendMoves(nil)
		out := net.Output{Logits: make([]float32, len(legal))}
		program := model.Network()
		if err := program.Forward(net.AppendPlanes(nil, &pos), legal, &out); err != nil {
			t.Fatal(err)
		}
		var owners infer.Ownership
		program.Ownership(&owners)
		top, sum := out.Logits[0], float32(0)
		for i, m := range legal {
			sum += mover.Policy[game.Variant.MoveText(m)]
			if out.Logits[i] > top {
				top = out.Logits[i]
			}
		}
		near("the policy's sum", sum, 1)
		if len(mover.Policy) != len(legal) {
			t.Errorf("turn %d: a policy of %d moves, want %d", turn, len(mover.Policy), len(legal))
		}
		infer.Softmax(out.WDL[:])
		near("rawWinrate", mover.RootInfo.RawWinrate, out.WDL[0]+out.WDL[1]/2)
		near("rawWinrate of the other", other.RootInfo.RawWinrate, 1-mover.RootInfo.RawWinrate)
		near("winrate of the other", other.RootInfo.Winrate, 1-mover.RootInfo.Winrate)
		near("scoreLead of the other", *other.RootInfo.ScoreLead, -*mover.RootInfo.ScoreLead)
		for _, pt := range pos.AppendBoard(nil) {
			o := owners[pt.Grid()]
			infer.Softmax(o[:])
			near("ownership", mover.Ownership[pt], o[0]-o[2])
			near("ownership of the other", other.Ownership[pt], o[2]-o[0])
		}
		visits := int32(1)
		for i, m := range mover.MoveInfos {
			visits += m.Visits
			near("winrate of the other", other.MoveInfos[i].Winrate, 1-m.Winrate)
			if m.Order != i || len(m.PV) == 0 || m.PV[0] != m.Move || len(m.PVVisits) != len(m.PV) || m.PVVisits[0] != m.Visits {
				t.Errorf("turn %d: %+v", turn, m)
			}
			if m.Visits > 0 && m.Proven == "" && (m.LCB >= m.Winrate || other.MoveInfos[i].LCB <= other.MoveInfos[i].Winrate) {
				t.Errorf("turn %d: bounds %v and %v of %v", turn, m.LCB, other.MoveInfos[i].LCB, m.Winrate)
			}
		}
		if mover.RootInfo.Visits != visits || mover.RootInfo.CurrentPlayer != pos.ToMove().String() || mover.RootInfo.Phase != pos.Phase().String() {
			t.Errorf("turn %d: %+v, %d visits", turn, mover.RootInfo, visits)
		}
		if turn < 25 {
			pos.Play(game.Moves[turn])
		}
	}
}

// failing is a Network that fails.
type failing struct{}

func (failing) Forward([]float32, []rules.Move, *net.Output) error { return errors.New("out of order") }
func (failing) Ownership(*infer.Ownership)                         { panic("asked after a failure") }

// A network that fails is told, and ends neither the session nor the other queries.
func TestFailingNetwork(t *testing.T) {
	p := uniform()
	p.Load = func(name string, _ rules.Variant) (Model, error) {
		return Model{Name: name, Network: func() infer.Network { return failing{} }}, nil
	}
	e := begin(t, JSON, p)
	for range 2 {
		e.send(`{"id":"a","moves":[],"maxVisits":9}`)
		if r := e.reply(); r.ID != "a" || !strings.Contains(r.Error, "out of order") {
			t.Errorf("got %+v", r)
		}
	}
}

// panicking is a network with a bug.
type panicking struct{ failing }

func (panicking) Forward([]float32, []rules.Move, *net.Output) error { panic("out of bounds") }

// A bug in a search costs its answer, and neither the session nor the next query.
func TestPanicCostsAnAnswer(t *testing.T) {
	p := tiny(t, "32x1")
	p.Threads = 1
	load, bugs := p.Load, 2
	p.Load = func(name string, v rules.Variant) (Model, error) {
		m, err := load(name, v)
		sound := m.Network
		m.Network = func() infer.Network {
			if bugs--; bugs >= 0 {
				return panicking{}
			}
			return sound()
		}
		return m, err
	}
	e := begin(t, JSON, p)
	for i := range 2 {
		e.send(`{"id":"a","moves":[],"maxVisits":9}`)
		if r := e.reply(); r.ID != "a" || (i == 0) != strings.Contains(r.Error, "out of bounds") {
			t.Errorf("query %d: %+v", i, r)
		}
	}
}

// A query about another variant is judged by the model for that one.
func TestVariantsHaveTheirModels(t *testing.T) {
	p := tiny(t, "32x1")
	standard := p.Load
	p.Threads = 1
	p.Load = func(name string, v rules.Variant) (Model, error) {
		switch {
		case v.Same(rules.Blitz()):
			return Model{Name: name, Network: func() infer.Network { return failing{} }}, nil
		case v.Same(rules.Mini()):
			return Model{}, errors.New("none for mini")
		}
		return standard(name, v)
	}
	e := begin(t, JSON, p)
	first := ""
	for range 2 {
		e.send(`{"id":"a","moves":[],"maxVisits":9}`)
		if got := e.next(); strings.Contains(got, "error") || first != "" && got != first {
			t.Errorf("standard: got %s, want %s", got, first)
		} else {
			first = got
		}
		e.send(`{"id":"b","rules":"blitz","moves":[],"maxVisits":9}`)
		if r := e.reply(); !strings.Contains(r.Error, "out of order") {
			t.Errorf("blitz: got %+v", r)
		}
		e.send(`{"id":"c","rules":"mini","moves":[],"maxVisits":9}`)
		if r := e.reply(); r.Error != "none for mini" || r.Field != "rules" {
			t.Errorf("mini: got %+v", r)
		}
	}
}

// Moves that are barred are not searched, and what is allowed is.
func TestBarred(t *testing.T) {
	e := begin(t, JSON, tiny(t, "32x1"))
	e.send(`{"id":"a","rules":{"radius":3,"rings":3,"markers":21,"rowLength":4,"ringsToWin":1},"moves":["c4"],"analyzeTurns":[0,1],"maxVisits":60,"avoidMoves":[{"player":"W","moves":["d4","d5","e5"],"untilDepth":1}]}`,
		`{"id":"b","rules":"mini","moves":[],"maxVisits":60,"allowMoves":[{"player":"W","moves":["d4","d5"]}]}`)
	for range 3 {
		r := e.reply()
		seen := map[string]bool{}
		for _, m := range r.MoveInfos {
			seen[m.Move] = true
		}
		switch {
		case r.ID == "b" && (len(seen) != 2 || !seen["d4"] || !seen["d5"]), r.ID == "a" && r.TurnNumber == 0 && (seen["d4"] || seen["d5"] || seen["e5"]), r.Error != "":
			t.Errorf("%+v", r)
		}
	}
}

// A game that is over has its result, and a cleared cache changes nothing.
func TestOverAndCleared(t *testing.T) {
	e := begin(t, JSON, tiny(t, "32x1"))
	e.send(`{"id":"a","rules":"3-2-20-4-2","moves":["g4","d3","f6","f7","g4-g5","d3-g6","g5-d5","g6-e4","d5-e6","f7-e7","f6-g7","e7-c5","e6-d6","e4-e5","g7-i7","e5-f5","d6-h6;xg4-g7xh6","xe4-e7xc5;f5-f4","i7-h7","f4-h6;xf4-f7xh6"],"overrideSettings":{"reportAnalysisWinratesAs":"WHITE","solver":false}}`)
	if r := e.reply(); r.RootInfo.Winrate != 0 || r.RootInfo.Phase != "over" || r.RootInfo.Proven != "B" || len(r.MoveInfos) != 0 {
		t.Errorf("%+v", r)
	}
	const query = `{"id":"b","moves":["e5"],"maxVisits":30,"overrideSettings":{"cPuct":2,"fpu":0.1}}`
	e.send(query)
	first := e.next()
	e.send(`{"id":"c","action":"clear_cache"}`)
	e.next()
	e.send(query)
	if got := e.next(); got != first {
		t.Errorf("got %s, want %s", got, first)
	}
	e.send(`{"id":"t","moves":[],"maxVisits":1000000000,"maxTime":0.02}`)
	if r := e.reply(); r.RootInfo.Visits < 2 || r.IsDuringSearch {
		t.Errorf("%+v", r)
	}
}

// Whatever comes in, objects go out and the engine ends well.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`{"id":"a","moves":["e5",["B","e6"]],"analyzeTurns":[0,1],"maxVisits":3}`, `{"id":"a","action":"query_models"}`, "{}\n[]\n\"", forever,
		`{"id":"b","moves":[],"rules":"mini","avoidMoves":[{"player":"W","moves":["c4"]}],"overrideSettings":{"cPuct":1}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		p := uniform()
		p.Simulations = 10
		if err := JSON(t.Context(), strings.NewReader(string(in)+"\n"+`{"id":"end","action":"terminate_all"}`), &out, p); err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(out.String()) {
			var o map[string]any
			if err := json.Unmarshal([]byte(l), &o); err != nil {
				t.Fatalf("%q: %v", l, err)
			}
		}
	})
}
