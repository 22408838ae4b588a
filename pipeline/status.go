package pipeline

import (
	"time"

	"yinshzero/arena"
	"yinshzero/net/graph"
)

// A Status is what a run looks like at one moment. It is a value: keep it, compare it, draw it.
type Status struct {
	Name    string
	Dir     string
	Elapsed time.Duration // since this process took up the run

	Games       int64 // ever taken into the run's records
	Positions   int64 // of these games, those that training may draw
	Evaluations int64 // of networks by this process's workers, cache hits not counted
	Quarantined int64 // games refused since the process started
	Panics      int64 // games and pairs that this process's workers have lost to a panic

	GamesPerSecond       float64 // over the last half minute or so
	PositionsPerSecond   float64
	EvaluationsPerSecond float64

	WindowSize int64 // positions trained on now
	WindowMin  int64 // positions needed before the first step
	// Waiting is why no training step is under way, such as "4,120 of 20,000 positions", or empty.
	Waiting string

	Step           int64 // training steps ever
	StepsPerSecond float64
	NextCandidate  int64 // step at which the next candidate is made
	LearningRate   float64
	Losses         graph.Losses // mean over the last steps
	HeldOut        graph.Losses // of the newest candidate on games held out; all 0 if this process has not measured one
	HeldOutStep    int64        // at which that candidate was made
	Simulations    int          // of a full search in self-play now

	Gate *GateStatus // nil while no candidate is on trial
	Best ModelStatus

	Promotions int     // in the run's life, the first weights not counted
	Rejections int     // in the run's life
	Events     []Event // the newest last, at most MaxEvents
}

// MaxEvents is how many Events a Status keeps.
const MaxEvents = 50

// An Event is something that people will want to know of: a promotion, a rejection, a game refused.
type Event struct {
	Time time.Time
	Text string
}

// A GateStatus is a candidate's trial against the best model.
type GateStatus struct {
	Candidate string // model ID
	Step      int64  // at which the candidate was made
	Score     arena.Score
	Elo       float64 // of the candidate over the best model
	EloLow    float64 // 95 % interval
	EloHigh   float64
	LLR       float64 // log-likelihood ratio of the sequential test
	Lower     float64 // reject at or below
	Upper     float64 // accept at or above
	MaxPairs  int
}

// A ModelStatus is the best model and its strength.
type ModelStatus struct {
	ID       string
	Step     int64
	Measured bool    // whether games against the anchors have been played
	Elo      float64 // anchored on the player random at 0
	EloLow   float64 // 95 % interval
	EloHigh  float64
}
