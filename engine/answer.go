package engine

import (
	"context"

	"yinshzero/mcts"
	"yinshzero/rules"
)

// An answer is what is told of one Position.
type answer struct {
	ID             string             `json:"id"`
	TurnNumber     int                `json:"turnNumber"`
	IsDuringSearch bool               `json:"isDuringSearch"`
	RootInfo       rootInfo           `json:"rootInfo"`
	MoveInfos      []moveInfo         `json:"moveInfos"`
	Policy         map[string]float32 `json:"policy,omitempty"`
	Ownership      []float32          `json:"ownership,omitempty"`
}

type rootInfo struct {
	Visits        int32    `json:"visits"`
	Winrate       float32  `json:"winrate"`
	RawWinrate    float32  `json:"rawWinrate"`
	ScoreLead     *float32 `json:"scoreLead,omitempty"`
	CurrentPlayer string   `json:"currentPlayer"`
	Phase         string   `json:"phase"`
	Proven        string   `json:"proven,omitempty"`
}

type moveInfo struct {
	Move     string   `json:"move"`
	Order    int      `json:"order"`
	Visits   int32    `json:"visits"`
	Winrate  float32  `json:"winrate"`
	Prior    float32  `json:"prior"`
	LCB      float32  `json:"lcb"`
	Proven   string   `json:"proven,omitempty"`
	Plies    int32    `json:"plies,omitempty"`
	PV       []string `json:"pv"`
	PVVisits []int32  `json:"pvVisits,omitempty"`
}

// noResults is the answer of a job that was ended before it began.
type noResults struct {
	ID             string `json:"id"`
	TurnNumber     int    `json:"turnNumber"`
	IsDuringSearch bool   `json:"isDuringSearch"`
	NoResults      bool   `json:"noResults"`
}

// analyse searches as j asks and tells what it finds.
func (a *analyst) analyse(j *job, s *mcts.Searcher) {
	pos := j.positions[j.turn]
	if res, over := pos.Result(); over {
		rate := winrate(res.Outcome.Value(), j.view.of(pos.ToMove()))
		a.send(answer{ID: j.id, TurnNumber: j.turn, MoveInfos: []moveInfo{}, RootInfo: rootInfo{
			Winrate: rate, RawWinrate: rate, CurrentPlayer: pos.ToMove().String(), Phase: pos.Phase().String(), Proven: res.Outcome.String(),
		}})
		return
	}
	ctx := j.ctx
	if ctx.Err() != nil {
		a.send(noResults{ID: j.id, TurnNumber: j.turn, NoResults: true})
		return
	}
	if j.time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, j.time)
		defer cancel()
	}
	look, err := j.model.look(&pos)
	if err != nil {
		a.send(problem{ID: &j.id, TurnNumber: &j.turn, Error: err.Error()})
		return
	}
	run := search{
		searcher: s, pos: pos, simulations: j.visits - 1, batch: 1, every: j.every,
		report: func(r mcts.Root, _ int) { a.send(j.answer(s, &r, &look, true)) },
	}
	root, _, err := run.run(ctx)
	if err != nil {
		a.send(problem{ID: &j.id, TurnNumber: &j.turn, Error: err.Error()})
		return
	}
	a.send(j.answer(s, &root, &look, false))
}

// answer tells what a search has found.
func (j *job) answer(s *mcts.Searcher, r *mcts.Root, l *look, during bool) answer {
	pos := j.positions[j.turn]
	v, mover := pos.Variant(), pos.ToMove()
	c := j.view.of(mover)
	turned := own(own(1, mover), c) // 1 where the view is the mover's, else −1
	a := answer{ID: j.id, TurnNumber: j.turn, IsDuringSearch: during, MoveInfos: []moveInfo{}, RootInfo: rootInfo{
		Visits: 1, Winrate: winrate(r.Value, c), RawWinrate: winrate(r.Raw, c), CurrentPlayer: mover.String(), Phase: pos.Phase().String(),
	}}
	if l.rings != nil {
		lead := turned * *l.rings
		a.RootInfo.ScoreLead = &lead
	}
	if r.Proven {
		a.RootInfo.Proven = provenBy(r.Value).String()
	}
	free := *r
	free.Edges = nil
	for _, e := range r.Edges {
		a.RootInfo.Visits += e.Visits
		if !j.barred[j.turn][e.Move] {
			free.Edges = append(free.Edges, e)
		}
	}
	for i, e := range ranked(&free, mover) {
		bound := own(e.Value, mover) - float32(j.search.LCB)*e.Error
		m := moveInfo{
			Move: v.MoveText(e.Move), Order: i, Visits: e.Visits, Prior: e.Prior,
			Winrate: winrate(e.Value, c), LCB: winrate(own(bound, mover), c), Plies: e.Plies,
		}
		if e.Proven != rules.Unfinished {
			m.Proven = e.Proven.String()
		}
		line := s.AppendLine([]rules.Move{e.Move}, e.Move)
		for k, move := range line {
			m.PV = append(m.PV, v.MoveText(move))
			if j.pvVisits {
				m.PVVisits = append(m.PVVisits, s.Visits(line[:k+1]...))
			}
		}
		a.MoveInfos = append(a.MoveInfos, m)
	}
	if j.policy {
		a.Policy = map[string]float32{}
		for i, m := range pos.AppendMoves(nil) {
			a.Policy[v.MoveText(m)] = l.policy[i]
		}
	}
	if j.ownership {
		a.Ownership = make([]float32, rules.NumPoints)
		for i, x := range l.ownership {
			a.Ownership[i] = turned * x
		}
	}
	return a
}

// provenBy is the outcome that has a proven value.
func provenBy(value float32) rules.Outcome {
	switch {
	case value > 0:
		return rules.WhiteWins
	case value < 0:
		return rules.BlackWins
	}
	return rules.Draw
}

// winrate is a value in White's view as c's chance to win, a draw counted half.
func winrate(value float32, c rules.Color) float32 { return (1 + own(value, c)) / 2 }
