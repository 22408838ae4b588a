package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"yinshzero/internal/atomicfile"
)

// A spool keeps finished games on disk while the hub is out of reach: one file a game, named by the game's hash. A nil
// spool keeps nothing.
type spool struct {
	dir  string
	most int64 // bytes

	mu   sync.Mutex
	held map[string]int64 // hash to bytes
	size int64

	draining sync.Mutex // held by the one who delivers
}

const spoolExtension = ".game"

// openSpool makes the directory if need be and finds the games in it.
func openSpool(dir string, most int64) (*spool, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	if _, err := atomicfile.RemoveTemps(dir); err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	s := &spool{dir: dir, most: most, held: map[string]int64{}}
	for _, e := range entries {
		hash, ok := strings.CutSuffix(e.Name(), spoolExtension)
		info, err := e.Info()
		if !ok || err != nil || !info.Mode().IsRegular() {
			continue
		}
		s.held[hash] = info.Size()
		s.size += info.Size()
	}
	return s, nil
}

func (s *spool) path(hash string) string { return filepath.Join(s.dir, hash+spoolExtension) }

// add keeps a game. It returns false if there is no room.
func (s *spool) add(hash string, b []byte) (bool, error) {
	if s == nil {
		return false, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.held[hash]; ok {
		return true, nil
	}
	if s.size+int64(len(b)) > s.most {
		return false, nil
	}
	if err := atomicfile.WriteBytes(s.path(hash), b); err != nil {
		return false, fmt.Errorf("spool game: %w", err)
	}
	s.held[hash] = int64(len(b))
	s.size += int64(len(b))
	return true, nil
}

// count returns how many games are kept.
func (s *spool) count() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held)
}

func (s *spool) hashes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]string, 0, len(s.held))
	for h := range s.held {
		all = append(all, h)
	}
	return all
}

// drain passes the games to deliver, and forgets those for which it returns nil, until the hub is found full or out of
// reach. Games that it refuses stay, and the first refusal is returned. If another goroutine is at it, drain does nothing.
func (s *spool) drain(deliver func(hash string, b []byte) error) error {
	if s.count() == 0 || !s.draining.TryLock() {
		return nil
	}
	defer s.draining.Unlock()
	var refused error
	for _, hash := range s.hashes() {
		b, err := os.ReadFile(s.path(hash))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read spooled game: %w", err)
		}
		if err == nil {
			if err := deliver(hash, b); err != nil && (isFull(err) || isAway(err)) {
				return err
			} else if err != nil {
				refused = cmp.Or(refused, err)
				continue
			}
		}
		if err := os.Remove(s.path(hash)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove spooled game: %w", err)
		}
		s.mu.Lock()
		s.size -= s.held[hash]
		delete(s.held, hash)
		s.mu.Unlock()
	}
	return refused
}
