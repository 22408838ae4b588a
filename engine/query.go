package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"yinshzero/mcts"
	"yinshzero/net"
	"yinshzero/rules"
)

// A problem is the answer to a query that cannot be answered, or in part only.
type problem struct {
	ID         *string `json:"id,omitempty"`
	TurnNumber *int    `json:"turnNumber,omitempty"`
	Error      string  `json:"error,omitempty"`
	Warning    string  `json:"warning,omitempty"`
	Field      string  `json:"field,omitempty"`
}

// A fieldError is what is wrong with a field.
type fieldError struct {
	field string
	err   error
}

func (e *fieldError) Error() string { return e.field + ": " + e.err.Error() }

func fieldf(field, format string, args ...any) error {
	return &fieldError{field, fmt.Errorf(format, args...)}
}

// An object is a query as it came in.
type object struct {
	id     string
	fields map[string]json.RawMessage
}

// parseObject reads a line. An error means that there is no id to answer to.
func parseObject(text string) (*object, error) {
	q := &object{}
	var syntax *json.SyntaxError
	if err := json.Unmarshal([]byte(text), &q.fields); errors.As(err, &syntax) {
		return nil, fmt.Errorf("%q is not a JSON object: byte %d: %w", abridge(text), syntax.Offset, err)
	} else if err != nil || q.fields == nil {
		return nil, fmt.Errorf("%q is not a JSON object", abridge(text))
	}
	raw, ok := q.fields["id"]
	if !ok {
		return nil, errors.New("a query without an id")
	}
	if err := decode(raw, &q.id); err != nil {
		return nil, fmt.Errorf("id: %w", err)
	}
	return q, nil
}

// decode reads a value of a known type; null is none.
func decode(raw json.RawMessage, to any) error {
	if string(raw) == "null" {
		return errors.New("null is no value: leave the field out")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(to)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		at := ""
		if kind.Field != "" {
			at = kind.Field + ": "
		}
		return fmt.Errorf("%sgot %s, want %s", at, kind.Value, kindName(kind.Type.String()))
	}
	return err
}

// kindName is what a front end calls a type.
func kindName(kind string) string {
	switch {
	case strings.HasPrefix(kind, "[]"), strings.HasPrefix(kind, "*[]"):
		return "a list"
	case strings.HasPrefix(kind, "int"):
		return "a whole number"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	case kind == "bool":
		return "true or false"
	case kind == "string":
		return "a text"
	}
	return "an object"
}

// read decodes a field, if it is there.
func (q *object) read(name string, to any) (bool, error) {
	raw, ok := q.fields[name]
	if !ok {
		return false, nil
	}
	if err := decode(raw, to); err != nil {
		return true, &fieldError{name, err}
	}
	return true, nil
}

// add puts a value beside the fields that came in.
func (q *object) add(name string, value any) { q.fields[name], _ = json.Marshal(value) }

// problem is the answer with an error.
func (q *object) problem(err error) problem {
	p := problem{ID: &q.id, Error: err.Error()}
	var at *fieldError
	if errors.As(err, &at) {
		p.Field, p.Error = at.field, at.err.Error()
	}
	return p
}

// refused are fields of KataGo's queries that mean nothing here, and why.
var refused = map[string]string{
	"komi":                       "there is no komi",
	"boardXSize":                 "the board is the variant's: say rules",
	"boardYSize":                 "the board is the variant's: say rules",
	"initialStones":              "say initialPosition",
	"initialPlayer":              "initialPosition says who moves",
	"whiteHandicapBonus":         "there is no handicap",
	"includeMovesOwnership":      "ownership is told of the position alone: say includeOwnership",
	"includeMovesOwnershipStdev": "ownership is told of the position alone: say includeOwnership",
	"includeOwnershipStdev":      "ownership is the network's alone: say includeOwnership",
	"includeNoResultValue":       "every game has a result",
	"rootPolicyTemperature":      "the search has none",
	"rootFpuReductionMax":        "say fpu in overrideSettings",
}

// A request is a query that can be answered.
type request struct {
	id         string
	model      Model                       // for the Variant
	positions  []rules.Position            // by turn number
	turns      []int                       // to be analysed
	priorities []int                       // of turns
	barred     map[int]map[rules.Move]bool // by turn number

	visits    int
	time      time.Duration // 0 for any
	every     time.Duration // between reports; 0 for none
	policy    bool
	ownership bool
	pvVisits  bool
	search    mcts.Params
	view      view
}

// variant is that of all positions.
func (r *request) variant() rules.Variant { return r.positions[0].Variant() }

// A view is whose view values are told in, by KataGo's names.
type view string

// The views.
const (
	viewMover view = "SIDETOMOVE"
	viewWhite view = "WHITE"
	viewBlack view = "BLACK"
)

// of is the side whose view it is where toMove moves.
func (v view) of(toMove rules.Color) rules.Color {
	switch v {
	case viewWhite:
		return rules.White
	case viewBlack:
		return rules.Black
	}
	return toMove
}

// A queryField reads fields into a request, in the order of the table, as later ones need earlier ones.
type queryField struct {
	names []string
	read  func(a *analyst, q *object, r *request) error
}

var queryFields = []queryField{
	{[]string{"id"}, func(_ *analyst, q *object, r *request) error {
		r.id = q.id
		return nil
	}},
	{[]string{"rules", "initialPosition"}, (*analyst).readStart},
	{[]string{"moves"}, (*analyst).readMoves},
	{[]string{"analyzeTurns"}, (*analyst).readTurns},
	{[]string{"priority", "priorities"}, (*analyst).readPriorities},
	{[]string{"maxVisits"}, func(a *analyst, q *object, r *request) error {
		r.visits = a.params.Simulations
		_, err := q.read("maxVisits", &r.visits)
		most := cmp.Or(a.params.MaxVisits, MaxSimulations)
		if err == nil && (r.visits < 1 || r.visits > most) {
			err = fieldf("maxVisits", "%d: want 1 to %d", r.visits, most)
		}
		return err
	}},
	{[]string{"maxTime"}, func(a *analyst, q *object, r *request) (err error) {
		most := a.params.MaxTime
		r.time, err = q.seconds("maxTime", 0.001, cmp.Or(most, anyTime))
		if r.time == 0 {
			r.time = most
		}
		return err
	}},
	{[]string{"reportDuringSearchEvery"}, func(_ *analyst, q *object, r *request) (err error) {
		r.every, err = q.seconds("reportDuringSearchEvery", 0.01, anyTime)
		return err
	}},
	{[]string{"includePolicy"}, func(_ *analyst, q *object, r *request) error {
		_, err := q.read("includePolicy", &r.policy)
		return err
	}},
	{[]string{"includePVVisits"}, func(_ *analyst, q *object, r *request) error {
		_, err := q.read("includePVVisits", &r.pvVisits)
		return err
	}},
	{[]string{"includeOwnership"}, (*analyst).readOwnership},
	{[]string{"avoidMoves", "allowMoves"}, (*analyst).readBarred},
	{[]string{"overrideSettings"}, (*analyst).readSettings},
}

// anyTime bounds what a query may ask for.
const anyTime = 1_000_000 * time.Second

// seconds reads a number of seconds, 0 if the field is missing.
func (q *object) seconds(name string, least float64, most time.Duration) (time.Duration, error) {
	var x float64
	ok, err := q.read(name, &x)
	if err == nil && ok && !(x >= least && x <= most.Seconds()) {
		err = fieldf(name, "%v: want %v to %s seconds", x, least, strconv.FormatFloat(most.Seconds(), 'f', -1, 64))
	}
	return time.Duration(x * float64(time.Second)), err
}

// parse reads a query. Of fields that nobody knows it warns.
func (a *analyst) parse(q *object) (*request, error) {
	r := &request{search: a.params.Search, view: viewMover}
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(q.fields)) {
		if why, ok := refused[name]; ok {
			return nil, fieldf(name, "means nothing in YINSH: %s", why)
		}
		if !slices.ContainsFunc(queryFields, func(f queryField) bool { return slices.Contains(f.names, name) }) {
			unknown = append(unknown, name)
		}
	}
	for _, f := range queryFields {
		if err := f.read(a, q, r); err != nil {
			return nil, err
		}
	}
	for _, name := range unknown {
		a.send(problem{ID: &q.id, Warning: "unknown field, left out of account", Field: abridge(name)})
	}
	return r, nil
}

// readStart reads rules and initialPosition: where the moves begin.
func (a *analyst) readStart(q *object, r *request) error {
	v := a.params.Variant
	raw, named := q.fields["rules"]
	if named {
		var err error
		if v, err = parseRules(raw); err != nil {
			return &fieldError{"rules", err}
		}
	}
	start := rules.New(v)
	var text string
	if ok, err := q.read("initialPosition", &text); err != nil {
		return err
	} else if ok {
		if start, err = rules.ParsePosition(text); err != nil {
			return &fieldError{"initialPosition", err}
		}
		if got := start.Variant(); named && !got.Same(v) {
			return fieldf("rules", "%v, but initialPosition is of the variant %v: leave rules out", v, got)
		}
	}
	r.positions, r.model = append(r.positions, start), a.model
	if of := start.Variant(); !of.Same(a.params.Variant) {
		var err error
		if r.model, err = a.params.Load(a.params.Model, of); err != nil {
			return &fieldError{"rules", err}
		}
	}
	return nil
}

// parseRules reads a Variant by name or by its numbers.
func parseRules(raw json.RawMessage) (rules.Variant, error) {
	var text string
	if decode(raw, &text) == nil {
		return rules.ParseVariant(text)
	}
	var n struct {
		Radius     int `json:"radius"`
		Rings      int `json:"rings"`
		Markers    int `json:"markers"`
		RowLength  int `json:"rowLength"`
		RingsToWin int `json:"ringsToWin"`
	}
	if err := decode(raw, &n); err != nil {
		return rules.Variant{}, fmt.Errorf("%w: want a variant's name, or an object with radius, rings, markers, rowLength and ringsToWin", err)
	}
	return rules.ParseVariant(fmt.Sprintf("%d-%d-%d-%d-%d", n.Radius, n.Rings, n.Markers, n.RowLength, n.RingsToWin))
}

// readMoves plays the moves: each a whole turn or a single Move, as a text or as [side, text].
func (a *analyst) readMoves(q *object, r *request) error {
	var moves []json.RawMessage
	if ok, err := q.read("moves", &moves); err != nil {
		return err
	} else if !ok {
		return fieldf("moves", "is missing: want a list of turns, [] for none")
	}
	pos := r.positions[0]
	for i, raw := range moves {
		some, err := parseEntry(&pos, raw)
		if err != nil {
			return fieldf("moves", "move %d: %w", i, err)
		}
		for _, m := range some {
			pos.Play(m)
		}
		r.positions = append(r.positions, pos)
	}
	return nil
}

// parseEntry reads one of the moves.
func parseEntry(pos *rules.Position, raw json.RawMessage) ([]rules.Move, error) {
	var text string
	if raw[0] == '[' {
		var pair []string
		if err := decode(raw, &pair); err != nil {
			return nil, err
		}
		if len(pair) != 2 {
			return nil, fmt.Errorf("%d texts: want side and turn", len(pair))
		}
		if _, over := pos.Result(); !over && pair[0] != pos.ToMove().String() {
			return nil, fmt.Errorf("side %q: %v is to move", abridge(pair[0]), pos.ToMove())
		}
		text = pair[1]
	} else if err := decode(raw, &text); err != nil {
		return nil, err
	}
	turn, err := pos.ParseTurn(text)
	if err != nil {
		m, single := pos.ParseMove(text)
		if single != nil {
			return nil, err
		}
		turn = []rules.Move{m}
	}
	return turn, nil
}

func (a *analyst) readTurns(q *object, r *request) error {
	last := len(r.positions) - 1
	r.turns = []int{last}
	if _, err := q.read("analyzeTurns", &r.turns); err != nil {
		return err
	}
	for i, t := range r.turns {
		if t < 0 || t > last {
			return fieldf("analyzeTurns", "%d: want 0 to %d", t, last)
		}
		if slices.Contains(r.turns[:i], t) {
			return fieldf("analyzeTurns", "%d is there twice", t)
		}
	}
	return nil
}

func (a *analyst) readPriorities(q *object, r *request) error {
	var one int
	single, err := q.read("priority", &one)
	if err != nil {
		return err
	}
	r.priorities = slices.Repeat([]int{one}, len(r.turns))
	var list []int
	several, err := q.read("priorities", &list)
	switch {
	case err != nil || !several:
		return err
	case single:
		return fieldf("priorities", "there is priority too: want one of them")
	case len(list) != len(r.turns):
		return fieldf("priorities", "%d numbers for %d turns", len(list), len(r.turns))
	}
	r.priorities = list
	return nil
}

func (a *analyst) readOwnership(q *object, r *request) error {
	_, err := q.read("includeOwnership", &r.ownership)
	if m := r.model; err == nil && r.ownership && (m.Network == nil || !m.Arch.Has(net.Ownership)) {
		err = fieldf("includeOwnership", "the model %s has no ownership head", m.Name)
	}
	return err
}

// A moveList is an element of avoidMoves or allowMoves.
type moveList struct {
	Player     string   `json:"player"`
	Moves      []string `json:"moves"`
	UntilDepth *int     `json:"untilDepth"`
}

// readBarred reads avoidMoves and allowMoves: what is barred where the player is to move.
func (a *analyst) readBarred(q *object, r *request) error {
	var lists, allow []moveList
	avoids, err := q.read("avoidMoves", &lists)
	if err != nil {
		return err
	}
	allows, err := q.read("allowMoves", &allow)
	switch {
	case err != nil:
		return err
	case allows && avoids:
		return fieldf("allowMoves", "there is avoidMoves too: want one of them")
	case allows && len(allow) != 1:
		return fieldf("allowMoves", "%d lists: want one", len(allow))
	}
	name := "avoidMoves"
	if allows {
		name, lists = "allowMoves", allow
	}
	r.barred = map[int]map[rules.Move]bool{}
	for _, l := range lists {
		if err := r.bar(l, allows); err != nil {
			return &fieldError{name, err}
		}
	}
	for _, t := range r.turns {
		if n := len(r.barred[t]); n > 0 && n == r.positions[t].NumMoves() {
			return fieldf(name, "turn %d: no legal move is left", t)
		}
	}
	return nil
}

// bar bars the Moves of l, or all but those, at every turn to be analysed where its player is to move.
func (r *request) bar(l moveList, others bool) error {
	if l.Player != rules.White.String() && l.Player != rules.Black.String() {
		return fmt.Errorf("player %q: want W or B", abridge(l.Player))
	}
	if l.UntilDepth != nil && *l.UntilDepth != 1 {
		return fmt.Errorf("untilDepth %d: want 1, as moves are barred in the position itself", *l.UntilDepth)
	}
	v := r.positions[0].Variant()
	named := map[rules.Move]bool{}
	for _, text := range l.Moves {
		m, err := v.ParseMove(text)
		if err != nil {
			return err
		}
		named[m] = true
	}
	for _, t := range r.turns {
		pos := &r.positions[t]
		if pos.ToMove().String() != l.Player {
			continue
		}
		for _, m := range pos.AppendMoves(nil) {
			if named[m] == others {
				continue
			}
			if r.barred[t] == nil {
				r.barred[t] = map[rules.Move]bool{}
			}
			r.barred[t][m] = true
		}
	}
	return nil
}

// settings are what overrideSettings may hold, beside the view.
var settings = map[string]func(p *mcts.Params) any{
	"cPuct":     func(p *mcts.Params) any { return &p.CPuct },
	"cPuctBase": func(p *mcts.Params) any { return &p.CPuctBase },
	"fpu":       func(p *mcts.Params) any { return &p.FPU },
	"lcb":       func(p *mcts.Params) any { return &p.LCB },
	"solver":    func(p *mcts.Params) any { return &p.Solver },
}

func (a *analyst) readSettings(q *object, r *request) error {
	const viewName = "reportAnalysisWinratesAs"
	var over map[string]json.RawMessage
	if _, err := q.read("overrideSettings", &over); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(over)) {
		var err error
		at, known := settings[name]
		switch {
		case known:
			err = decode(over[name], at(&r.search))
		case name == viewName:
			err = decode(over[name], &r.view)
			if err == nil && r.view != viewMover && r.view != viewWhite && r.view != viewBlack {
				err = fmt.Errorf("%q: want %s, %s or %s", abridge(string(r.view)), viewMover, viewWhite, viewBlack)
			}
		default:
			names := append(slices.Sorted(maps.Keys(settings)), viewName)
			err = fmt.Errorf("there is none of this name: want %s", strings.Join(names, ", "))
		}
		if err != nil {
			return fieldf("overrideSettings", "%s: %w", abridge(name), err)
		}
	}
	if err := r.search.Validate(); err != nil {
		return &fieldError{"overrideSettings", err}
	}
	return nil
}
