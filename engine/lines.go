package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// A line is what came in, without its end; err says that it was too long, and then text is empty.
type line struct {
	text string
	err  error
}

// readLines sends the lines of r that are not blank until r ends, and then closes the channel. An error of r that is not
// io.EOF goes to end first, which may be nil. It stops early when ctx ends, though not while r keeps it waiting.
func readLines(ctx context.Context, r io.Reader, longest int, end func(error)) <-chan line {
	lines := make(chan line)
	go func() {
		defer close(lines)
		b := bufio.NewReaderSize(r, longest)
		for {
			text, err := b.ReadSlice('\n')
			l := line{text: strings.TrimSpace(string(text))}
			if err == bufio.ErrBufferFull {
				l = line{err: fmt.Errorf("a line of more than %d bytes", longest)}
				for err == bufio.ErrBufferFull {
					_, err = b.ReadSlice('\n')
				}
			}
			if l.text != "" || l.err != nil {
				select {
				case lines <- l:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				if end != nil && !errors.Is(err, io.EOF) {
					end(fmt.Errorf("read a line: %w", err))
				}
				return
			}
		}
	}()
	return lines
}

// A writer writes whole lines, from any goroutine. A reader that is slow makes its users wait; one that is gone makes
// every later line void.
type writer struct {
	mu  sync.Mutex
	w   io.Writer
	err error
	end func(error) // called once, with the first error
}

// write writes lines with their ends.
func (w *writer) write(lines []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	if _, w.err = w.w.Write(lines); w.err != nil {
		w.end(fmt.Errorf("write an answer: %w", w.err))
	}
}

// printf writes one line. What comes in the arguments may not break it.
func (w *writer) printf(format string, args ...any) {
	w.write(append([]byte(oneLine(fmt.Sprintf(format, args...))), '\n'))
}

// oneLine replaces what would end a line.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

// abridge keeps error messages about long texts short.
func abridge(s string) string {
	const longest = 100
	if len(s) > longest {
		return strings.ToValidUTF8(s[:longest], "") + "…"
	}
	return s
}
