package metrics

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"
)

// The names of the files in a metrics folder.
const (
	TrainName       = "train.jsonl"
	HeldOutName     = "held_out.jsonl"
	ProblemsName    = "problems.jsonl"
	TensorBoardName = "tensorboard" // a folder
)

// Losses are means over some positions. A head that the network does not have has a loss of 0.
type Losses struct {
	Loss      float64 `json:"loss"` // the weighted sum of the others
	Policy    float64 `json:"policy_loss"`
	Value     float64 `json:"value_loss"`
	Rings     float64 `json:"rings_loss"`
	Reply     float64 `json:"reply_loss"`
	Ownership float64 `json:"ownership_loss"`
	Plies     float64 `json:"plies_loss"`
}

// A Train is a line of train.jsonl: means over some training steps, the last of which is Step, and counts after it.
type Train struct {
	Time         time.Time `json:"time"`
	Step         int64     `json:"step"`      // training steps ever
	Games        int64     `json:"games"`     // ever taken into the run's records
	Positions    int64     `json:"positions"` // of these games, those that training may draw
	Window       int64     `json:"window"`    // positions trained on
	LearningRate float64   `json:"learning_rate"`
	Losses
	Evaluations int64 `json:"evaluations"` // of networks by the process that wrote the line: a new process counts from 0
}

// A HeldOut is a line of held_out.jsonl: what a candidate costs on positions of games that are held out, which are never
// trained on, and on as many positions of games that are.
type HeldOut struct {
	Time    time.Time `json:"time"`
	Step    int64     `json:"step"`  // at which the candidate was made
	Games   int       `json:"games"` // held out, of those in the window
	HeldOut Losses    `json:"held_out"`
	Trained Losses    `json:"trained"`
}

// A Problems is a line of problems.jsonl: the shares of the problems that a model solves in the search of matches, by
// simulations a Move.
type Problems struct {
	Time      time.Time `json:"time"`
	Model     string    `json:"model"` // its ID
	Step      int64     `json:"step"`  // at which it was made
	Problems  int       `json:"problems"`
	Solved1   float64   `json:"solved_1"`
	Solved32  float64   `json:"solved_32"`
	Solved200 float64   `json:"solved_200"`
}

// A LineError is a line of a file of metrics that cannot be read. Those around it can.
type LineError struct {
	Path string
	Line int // from 1
	Err  error
}

// Error is the path, the line and what is wrong.
func (e *LineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.Path, e.Line, e.Err) }

// Unwrap is what is wrong.
func (e *LineError) Unwrap() error { return e.Err }

// maxLine bounds a line, in bytes.
const maxLine = 1 << 16

// Lines reads a file of metrics, line by line. A line that cannot be read is yielded as a *LineError, and reading goes on
// after it; a last line without its newline is one that a kill has cut short, or that is being written, and is left
// out. A file that cannot be opened or read yields that error, which is fs.ErrNotExist for one that is not there.
func Lines[T any](path string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		f, err := os.Open(path)
		if err != nil {
			yield(none, err)
			return
		}
		defer f.Close() // it was only read
		r := bufio.NewReaderSize(f, maxLine)
		for n := 1; ; n++ {
			b, err := r.ReadSlice('\n')
			if errors.Is(err, io.EOF) {
				return
			}
			long := errors.Is(err, bufio.ErrBufferFull)
			if long {
				err = skipLine(r)
			}
			if err != nil {
				yield(none, fmt.Errorf("read metrics: %w", err))
				return
			}
			line := none
			if long {
				err = fmt.Errorf("longer than %d bytes", maxLine)
			} else {
				err = json.Unmarshal(b, &line)
			}
			if err != nil {
				if !yield(none, &LineError{path, n, err}) {
					return
				}
				continue
			}
			if !yield(line, nil) {
				return
			}
		}
	}
}

// skipLine reads on to the end of the line.
func skipLine(r *bufio.Reader) error {
	for {
		_, err := r.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}
