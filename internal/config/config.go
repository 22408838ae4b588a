package config

import "time"

// A Config says how a training run works. Every field is a key of the YAML file; its range tag is the closed range of
// a number, or of every number of a list, its oneof tag the words allowed, and its only tag the words of another key of
// its section without which it means nothing and must keep its default.
type Config struct {
	Seed     uint64   `yaml:"seed"`     // of everything random in the run
	Variant  string   `yaml:"variant"`  // the game played: a name, or five numbers as rules.ParseVariant reads them
	Network  Network  `yaml:"network"`  // shape of the weights
	Search   Search   `yaml:"search"`   // of self-play
	SelfPlay SelfPlay `yaml:"selfplay"` // how games are made
	Window   Window   `yaml:"window"`   // which Samples are trained on
	Training Training `yaml:"training"` // how the weights move
	Losses   Losses   `yaml:"losses"`   // weights of the terms of the loss
	Gate     Gate     `yaml:"gate"`     // when a candidate becomes the best model
	Anchors  Anchors  `yaml:"anchors"`  // players that measure progress
	Fleet    Fleet    `yaml:"fleet"`    // transport between processes
}

// Network is the shape of the weights.
type Network struct {
	Arch string `yaml:"arch"` // channels x residual blocks, such as 32x4, 64x6p with pooling, or 64x6p-plies without that head
}

// Search tunes the self-play search. The budget of a full search grows from Simulations to SimulationsEnd, by equal
// factors for equal numbers of positions, while the run makes its first GrowthPositions positions.
type Search struct {
	Simulations     int     `yaml:"simulations" range:"2..100000"`      // a full search, at the start of the run
	SimulationsEnd  int     `yaml:"simulations_end" range:"2..100000"`  // a full search, from growth_positions on
	GrowthPositions int64   `yaml:"growth_positions" range:"1..1e12"`   // positions over which the budget grows
	FastSimulations int     `yaml:"fast_simulations" range:"2..100000"` // a fast search: value target only
	FullShare       float64 `yaml:"full_share" range:"0.01..1"`         // share of Moves searched in full
	Considered      int     `yaml:"considered" range:"2..130"`          // root Moves that Gumbel top-m keeps (m)
	CVisit          float64 `yaml:"c_visit" range:"0..1000"`            // Danihelka et al. 2022, equation 8
	CScale          float64 `yaml:"c_scale" range:"0.001..100"`         // the same equation
	Solver          bool    `yaml:"solver"`                             // proven wins and losses climb the tree
	Cache           int     `yaml:"cache" range:"0..16777216"`          // evaluations kept a worker; 0 = none
	Symmetry        bool    `yaml:"symmetry"`                           // a random one of the twelve an evaluation
	Int8            bool    `yaml:"int8"`                               // 8-bit convolutions where the machine can
}

// SelfPlay says how games are made.
type SelfPlay struct {
	Workers          int           `yaml:"workers" range:"0..4096"`           // games at once in this process; 0 = one a core
	TemperaturePlies int           `yaml:"temperature_plies" range:"0..1000"` // plies drawn from the improved policy
	Temperature      float64       `yaml:"temperature" range:"0..10"`         // of these draws; 0 = the best Move
	RandomOpenings   float64       `yaml:"random_openings" range:"0..1"`      // share of games that start from random placements
	ShardGames       int           `yaml:"shard_games" range:"1..100000"`     // games in a shard file
	ShardAge         time.Duration `yaml:"shard_age" range:"1s..1h"`          // an unfilled shard is written after so long
}

// Window says which Samples are trained on: the newest of all positions, in a number that grows by a power law.
type Window struct {
	MinPositions int64   `yaml:"min_positions" range:"1..1e12"` // before the first training step
	MaxPositions int64   `yaml:"max_positions" range:"1..1e12"` // never more than these
	Exponent     float64 `yaml:"exponent" range:"0.01..1"`      // of the growth; 1 = linear
	Expand       float64 `yaml:"expand" range:"0.01..1"`        // positions more for each new one, at the start
	Scale        int64   `yaml:"scale" range:"1..1e12"`         // positions after which growth slows down
	PerGame      int     `yaml:"per_game" range:"1..1000"`      // positions drawn of one game in a batch, at most
	FastWeight   float64 `yaml:"fast_weight" range:"0..1"`      // draw weight of a fast ply; a full ply has 1
	HoldOut      float64 `yaml:"hold_out" range:"0..0.5"`       // share of games never trained on, to measure the loss
}

// Training says how the weights move.
type Training struct {
	Batch          int     `yaml:"batch" range:"2..65536"`                                          // positions a step
	Replicas       int     `yaml:"replicas" range:"1..64"`                                          // graphs that share a batch, one core each
	Optimiser      string  `yaml:"optimiser" oneof:"adamw sgd"`                                     // update rule
	LearningRate   float64 `yaml:"learning_rate" range:"1e-7..1"`                                   // at its peak
	WarmupSteps    int     `yaml:"warmup_steps" range:"0..1000000"`                                 // linear rise from 0
	Schedule       string  `yaml:"schedule" oneof:"constant halving step cosine"`                   // of the rate after the warm-up
	HalvingSteps   int64   `yaml:"halving_steps" range:"1..1e9" only:"schedule=halving"`            // the rate halves in so many steps
	StepAt         []int64 `yaml:"step_at" range:"1..1e12" only:"schedule=step"`                    // steps after the warm-up at which the rate falls
	StepFactor     float64 `yaml:"step_factor" range:"0.001..0.999" only:"schedule=step"`           // what is left of the rate at each of them
	CosineSteps    int64   `yaml:"cosine_steps" range:"1..1e12" only:"schedule=cosine"`             // steps after the warm-up until the floor
	LearningFloor  float64 `yaml:"learning_floor" range:"0..1" only:"schedule=halving step cosine"` // the rate falls no lower
	Momentum       float64 `yaml:"momentum" range:"0..0.9999" only:"optimiser=sgd"`                 // share of the velocity kept a step
	Beta1          float64 `yaml:"beta1" range:"0..0.9999" only:"optimiser=adamw"`                  // share of the first moment kept a step
	Beta2          float64 `yaml:"beta2" range:"0..0.99999" only:"optimiser=adamw"`                 // share of the second moment kept a step
	Epsilon        float64 `yaml:"epsilon" range:"1e-12..0.1" only:"optimiser=adamw"`               // added to the root of the second moment
	Decay          float64 `yaml:"decay" range:"0..1"`                                              // decoupled weight decay
	Clip           float64 `yaml:"clip" range:"0..1000"`                                            // global norm of the gradient; 0 = none
	Passes         float64 `yaml:"passes" range:"0.1..100"`                                         // over a position, at most
	CandidateSteps int     `yaml:"candidate_steps" range:"1..1000000"`                              // from one candidate to the next
	Average        string  `yaml:"average" oneof:"none ema swa"`                                    // of the weights, which a candidate is made of
	EMAMemory      float64 `yaml:"ema_memory" range:"0.01..0.9999" only:"average=ema"`              // share of the average kept a step
	SWAEvery       int64   `yaml:"swa_every" range:"1..1000000" only:"average=swa"`                 // steps from one snapshot of the weights to the next
	SWASnapshots   int     `yaml:"swa_snapshots" range:"2..64" only:"average=swa"`                  // the newest, whose equal average is taken
	ValueMix       float64 `yaml:"value_mix" range:"0..1"`                                          // share of the root value in the value target
}

// Losses weighs the terms of the loss. Of those from rings on, the ones that the arch has no head for are of no effect.
type Losses struct {
	Policy    float64 `yaml:"policy" range:"0..100"`    // cross-entropy with the improved policy
	Value     float64 `yaml:"value" range:"0..100"`     // cross-entropy of win, draw, loss
	Rings     float64 `yaml:"rings" range:"0..100"`     // cross-entropy of the final difference of rings taken
	Reply     float64 `yaml:"reply" range:"0..100"`     // cross-entropy with the opponent's improved policy afterwards
	Ownership float64 `yaml:"ownership" range:"0..100"` // cross-entropy of whose marker is on a Point at the end, mean over the board
	Plies     float64 `yaml:"plies" range:"0..100"`     // cross-entropy of the plies left
}

// Gate says when a candidate becomes the best model: a sequential probability ratio test on Pairs of games.
type Gate struct {
	Elo0        float64 `yaml:"elo0" range:"-1000..1000"`       // the candidate is no better than this: reject
	Elo1        float64 `yaml:"elo1" range:"-1000..1000"`       // the candidate is at least this good: accept
	Alpha       float64 `yaml:"alpha" range:"0.0001..0.5"`      // chance to accept at elo0
	Beta        float64 `yaml:"beta" range:"0.0001..0.5"`       // chance to reject at elo1
	MaxPairs    int     `yaml:"max_pairs" range:"8..100000"`    // undecided then: reject
	Simulations int     `yaml:"simulations" range:"1..100000"`  // a Move, against anchors too
	Rejected    string  `yaml:"rejected" oneof:"continue best"` // where training goes on from after a rejection
}

// Anchors are the players that a new best model is measured against: fixed ones, and models of the run.
type Anchors struct {
	Players []string `yaml:"players"`                 // random, greedy or uct:SIMULATIONS
	Every   int      `yaml:"every" range:"0..100000"` // the first model and every so many promoted ones, too; 0 = none
	Pairs   int      `yaml:"pairs" range:"0..100000"` // against each, for every new best model
}

// Fleet is the transport between processes.
type Fleet struct {
	MaxBytes int64         `yaml:"max_bytes" range:"1048576..1e15"` // of games under way, on disk
	AckWait  time.Duration `yaml:"ack_wait" range:"1s..1h"`         // a game or Job not acknowledged is given out again
}

// Default returns the values of a key that a file leaves out: the standard run.
func Default() Config {
	return Config{
		Seed:    1,
		Variant: "standard",
		Network: Network{Arch: "32x4p"},
		Search: Search{
			Simulations: 16, SimulationsEnd: 64, GrowthPositions: 5_000_000, FastSimulations: 8, FullShare: 0.25,
			Considered: 16, CVisit: 50, CScale: 0.5, Solver: true, Cache: 20_000, Symmetry: true, Int8: true,
		},
		SelfPlay: SelfPlay{TemperaturePlies: 30, Temperature: 1, RandomOpenings: 0.1, ShardGames: 64, ShardAge: 30 * time.Second},
		Window: Window{
			MinPositions: 20_000, MaxPositions: 2_000_000, Exponent: 0.65, Expand: 0.4,
			Scale: 20_000, PerGame: 2, FastWeight: 0.5, HoldOut: 0.02,
		},
		Training: Training{
			Batch: 128, Replicas: 2, Optimiser: "adamw", LearningRate: 1e-3, WarmupSteps: 200, Schedule: "halving",
			HalvingSteps: 100_000, StepAt: []int64{200_000, 400_000}, StepFactor: 0.3, CosineSteps: 500_000,
			LearningFloor: 1e-4, Momentum: 0.9, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Decay: 1e-4, Clip: 1,
			Passes: 4, CandidateSteps: 1500, Average: "ema", EMAMemory: 0.99, SWAEvery: 50, SWASnapshots: 8, ValueMix: 0.5,
		},
		Losses:  Losses{Policy: 1, Value: 1, Rings: 0.25, Reply: 0.15, Ownership: 0.25, Plies: 0.1},
		Gate:    Gate{Elo0: 0, Elo1: 80, Alpha: 0.05, Beta: 0.05, MaxPairs: 240, Simulations: 32, Rejected: "continue"},
		Anchors: Anchors{Players: []string{"random", "greedy", "uct:100", "uct:1000"}, Every: 10, Pairs: 10},
		Fleet:   Fleet{MaxBytes: 256 << 20, AckWait: 30 * time.Second},
	}
}
