package report

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"yinshzero/arena"
	"yinshzero/registry"
)

// matchExtension is how the names of match files end.
const matchExtension = ".pairs"

// A Model is one of a run's models.
type Model struct {
	ID       string            `json:"id"` // the short one
	Step     int64             `json:"step"`
	Hours    float64           `json:"hours"` // when it was made
	Games    int64             `json:"games"` // of self-play by then; 0 if unknown
	Standing registry.Standing `json:"standing"`
	Judged   time.Time         `json:"judged,omitzero"`
	Reason   string            `json:"reason,omitempty"`
	Rating   *Rating           `json:"rating,omitempty"` // nil if no chain of matches leads to the player random
	Gate     *Gate             `json:"gate,omitempty"`   // nil if it has played none
}

// Promoted reports whether the model is or was the best.
func (m *Model) Promoted() bool { return m.Standing == registry.Best || m.Standing == registry.Former }

// A Rating is a player's Elo over the player random, with its 95 % interval, by all matches of the run.
type Rating struct {
	Elo   float64 `json:"elo"`
	Low   float64 `json:"elo_low"`
	High  float64 `json:"elo_high"`
	Games int     `json:"games"`
}

// An Anchor is one of the fixed players.
type Anchor struct {
	Name string `json:"name"`
	Rating
}

// A Gate is a candidate's match against the best model of its time, with its 95 % interval.
type Gate struct {
	Opponent string  `json:"opponent"`
	Pairs    int     `json:"pairs"`
	Wins     int     `json:"wins"` // games
	Draws    int     `json:"draws"`
	Losses   int     `json:"losses"`
	Elo      float64 `json:"elo"`
	Low      float64 `json:"elo_low"`
	High     float64 `json:"elo_high"`
}

func (r *Run) readModels(dir string) {
	models, err := registry.Open(dir)
	if err != nil {
		r.fault(err)
		return
	}
	for _, e := range models.All() {
		if r.Begun.IsZero() {
			r.Begun = e.Created
		}
		r.Models = append(r.Models, Model{
			ID: e.ID.Short(), Step: e.Step, Hours: r.hours(e.Created), Standing: e.Standing, Judged: e.Verdict.At, Reason: e.Verdict.Reason,
		})
	}
	if len(r.Models) == 0 {
		r.missing("no models yet: there is no registry in %s", dir)
	}
	if !slices.ContainsFunc(r.Models, func(m Model) bool { return m.Step > 0 }) {
		r.missing("no candidate yet, and so no gate")
	}
	slices.SortStableFunc(r.Models, func(a, b Model) int { return cmp.Compare(a.Step, b.Step) })
}

// model is the short ID of the model that a player is, or empty. Its simulations do not matter here.
func model(player string) string {
	if spec, err := arena.ParseSpec(player); err == nil {
		return spec.Model
	}
	return ""
}

// readMatches rates all players and gives every model its gate.
func (r *Run) readMatches(dir string) {
	files, err := os.ReadDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			r.missing("no matches yet: there is no %s", dir)
		} else {
			r.fault(err)
		}
		return
	}
	models := map[string]*Model{}
	for i := range r.Models {
		models[r.Models[i].ID] = &r.Models[i]
	}
	random := arena.Spec{Kind: arena.SpecRandom}.String()
	ladder, anchored := arena.NewLadder(random), false
	for _, f := range files {
		if filepath.Ext(f.Name()) != matchExtension {
			continue
		}
		m, err := readMatch(filepath.Join(dir, f.Name()))
		if err != nil {
			r.fault(err)
		}
		if m.score.N() == 0 {
			continue
		}
		anchored = anchored || m.a == random || m.b == random
		if m.kind != "gate" {
			ladder.Add(m.a, m.b, m.score)
			continue
		}
		ladder.AddGate(m.a, m.b, m.score)
		if candidate := models[model(m.a)]; candidate != nil {
			e, s := m.score.Elo(), m.score
			candidate.Gate = &Gate{m.b, s.N(), s.Wins, s.Draws, s.Losses, e.Elo, e.Low, e.High}
		}
	}
	if !anchored {
		r.missing("no ratings: the player random, whose Elo is 0, has played no match")
		return
	}
	table, err := ladder.Fit()
	if err != nil {
		r.fault(fmt.Errorf("rate %s: %w", dir, err))
	}
	for _, x := range table.Ratings {
		rating := Rating{x.Elo, x.EloLow, x.EloHigh, x.Games}
		if m := models[model(x.Name)]; m != nil {
			if m.Rating == nil || m.Rating.Games < x.Games { // with other simulations it is another player
				m.Rating = &rating
			}
		} else if spec, err := arena.ParseSpec(x.Name); err == nil && spec.Kind != arena.SpecModel {
			r.Anchors = append(r.Anchors, Anchor{x.Name, rating})
		}
	}
}

// A match is what a match file says.
type match struct {
	kind, a, b string
	score      arena.Score
}

// readMatch returns the pairs up to the first damaged line, if there is one, with an error. A line that is being written is
// left out.
func readMatch(path string) (m match, err error) {
	f, err := os.Open(path)
	if err != nil {
		return m, err
	}
	defer f.Close() // it was only read
	for e, err := range arena.Entries(f) {
		if errors.Is(err, arena.ErrTorn) {
			break
		}
		if err != nil {
			return m, fmt.Errorf("match %s: %w", path, err)
		}
		m.kind, m.a, m.b = e.Kind, e.A, e.B
		m.score.Add(e.Result)
	}
	return m, nil
}
