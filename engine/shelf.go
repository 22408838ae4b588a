package engine

import (
	"errors"
	"slices"
	"sync"

	"yinshzero/rules"
)

// Remember returns a Params.Load, for any number of goroutines, that keeps the models it has loaded, the newest most of them.
// What a name stands for is asked each time, so that one whose meaning changes, such as the best model of a run, is loaded
// again then; load is asked for what the name stands for. Models that cannot be loaded are tried again.
func Remember(
	most int, meaning func(name string) (string, error), load func(name string, v rules.Variant) (Model, error),
) func(string, rules.Variant) (Model, error) {
	s := &shelf{most: most}
	return func(name string, v rules.Variant) (Model, error) {
		exact, err := meaning(name)
		if err != nil {
			return Model{}, err
		}
		m := s.find(exact, v)
		m.once.Do(func() {
			m.err = errors.New("engine: loading the model broke off") // so it stays for others who wait, if load panics
			defer func() {
				if m.err != nil {
					s.drop(m)
				}
			}()
			m.model, m.err = load(exact, v)
		})
		return m.model, m.err
	}
}

// A shelf holds models.
type shelf struct {
	most int

	mu     sync.Mutex
	models []*shelved // the one that was asked for last at the end
}

// A shelved is a model that is on a shelf, or is being put there.
type shelved struct {
	name    string
	variant rules.Variant

	once  sync.Once
	model Model
	err   error
}

// find is the place of a model, which may be new.
func (s *shelf) find(name string, v rules.Variant) *shelved {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.models, func(m *shelved) bool { return m.name == name && m.variant.Same(v) })
	m := &shelved{name: name, variant: v}
	if i >= 0 {
		m = s.models[i]
		s.models = slices.Delete(s.models, i, i+1)
	}
	s.models = append(s.models, m)
	if len(s.models) > s.most {
		s.models = slices.Delete(s.models, 0, 1)
	}
	return m
}

func (s *shelf) drop(m *shelved) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.models = slices.DeleteFunc(s.models, func(n *shelved) bool { return n == m })
}
