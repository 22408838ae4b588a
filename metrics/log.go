package metrics

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A Log appends to the files of a metrics folder. Any goroutine may write; one process writes to a folder at a time.
type Log struct {
	dir         string
	tensorBoard bool

	mu     sync.Mutex
	whole  map[string]bool // files that are known to end with a whole line
	events *eventFile      // nil until the first line
}

// Open returns a Log to the folder dir, which must be there, with event files for TensorBoard or without. It touches nothing.
func Open(dir string, tensorBoard bool) *Log {
	return &Log{dir: dir, tensorBoard: tensorBoard, whole: map[string]bool{}}
}

// Train appends a line to train.jsonl.
func (l *Log) Train(t Train) error {
	return l.add(TrainName, t, t.Time, t.Step, append(t.scalars("loss"),
		scalar{"training/learning_rate", t.LearningRate}, scalar{"training/window", float64(t.Window)},
		scalar{"selfplay/games", float64(t.Games)}, scalar{"selfplay/positions", float64(t.Positions)},
		scalar{"selfplay/evaluations", float64(t.Evaluations)},
	))
}

// HeldOut appends a line to held_out.jsonl.
func (l *Log) HeldOut(h HeldOut) error {
	return l.add(HeldOutName, h, h.Time, h.Step, append(h.HeldOut.scalars("held_out"), h.Trained.scalars("trained")...))
}

// scalars are the losses in a group of TensorBoard.
func (l Losses) scalars(group string) []scalar {
	return []scalar{
		{group + "/total", l.Loss}, {group + "/policy", l.Policy}, {group + "/value", l.Value}, {group + "/rings", l.Rings},
		{group + "/reply", l.Reply}, {group + "/ownership", l.Ownership}, {group + "/plies", l.Plies},
	}
}

// Problems appends a line to problems.jsonl.
func (l *Log) Problems(p Problems) error {
	return l.add(ProblemsName, p, p.Time, p.Step, []scalar{
		{"problems/solved_1", p.Solved1}, {"problems/solved_32", p.Solved32}, {"problems/solved_200", p.Solved200},
	})
}

func (l *Log) add(name string, line any, at time.Time, step int64, scalars []scalar) error {
	b, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.append(filepath.Join(l.dir, name), append(b, '\n')); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	if !l.tensorBoard {
		return nil
	}
	if l.events == nil {
		if l.events, err = newEventFile(filepath.Join(l.dir, TensorBoardName), at); err != nil {
			return fmt.Errorf("write events: %w", err)
		}
	}
	if err := l.events.add(at, step, scalars); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	return nil
}

// append puts a line at the end of a file. What a kill has left of a line there is cut off first.
func (l *Log) append(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	if !l.whole[path] {
		if err := cutTorn(f); err != nil {
			return errors.Join(err, f.Close())
		}
		l.whole[path] = true
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Close())
}

// cutTorn cuts off what comes after the last newline, if that is among the last maxLine bytes.
func cutTorn(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	from := max(0, info.Size()-maxLine)
	tail := make([]byte, info.Size()-from)
	if _, err := f.ReadAt(tail, from); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	end := bytes.LastIndexByte(tail, '\n') + 1
	if end == len(tail) || end == 0 && from > 0 {
		return nil
	}
	return f.Truncate(from + int64(end))
}

// Close ends the event file, if there is one. Nothing may be written after it.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.events == nil {
		return nil
	}
	return l.events.file.Close()
}
