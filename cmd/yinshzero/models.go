package main

import (
	"path/filepath"
	"slices"

	"yinshzero/builtin"
	"yinshzero/engine"
	"yinshzero/infer"
	"yinshzero/registry"
	"yinshzero/rules"
	"yinshzero/web/desk"
)

// The names of models that are no files.
const (
	uniformModel = "uniform" // knows nothing
	bestModel    = "best"    // of a run
)

// modelName is the model that is taken where flags name this one, in the run in dir, if there is one.
func modelName(name, dir string) string {
	switch {
	case name != "":
		return name
	case dir != "":
		return bestModel
	}
	return builtin.Name
}

// A modelSource is what a server may be asked for: one model or, of a run, those that were promoted.
type modelSource struct {
	name, dir string
	infer     infer.Params
	variant   rules.Variant // of the run, or standard
}

// newModelSource is the source of the model that flags name, in the run in dir, if there is one.
func newModelSource(name, dir string, p infer.Params) (*modelSource, error) {
	s := &modelSource{modelName(name, dir), dir, p, rules.Standard()}
	if dir == "" {
		return s, nil
	}
	if err := isRun(dir); err != nil {
		return nil, err
	}
	text, err := variantOf(filepath.Join(dir, configName))
	if err != nil {
		return nil, err
	}
	s.variant, err = rules.ParseVariant(text)
	return s, err
}

// follows reports whether the models are those of a run, as it goes on.
func (s *modelSource) follows() bool { return s.dir != "" && s.name == bestModel }

func (s *modelSource) registry() (*registry.Registry, error) {
	return registry.Open(filepath.Join(s.dir, "models"))
}

// list names the models, the one to take first at the head: of a run the best, if there is one, and then those that were it.
func (s *modelSource) list() []desk.Model {
	if !s.follows() {
		return []desk.Model{{Name: filepath.Base(s.name)}}
	}
	const most = 20
	models, err := s.registry()
	if err != nil { // asking for the model tells
		return []desk.Model{{Name: bestModel}}
	}
	var list []desk.Model
	if _, ok := models.Best(); ok {
		list = append(list, desk.Model{Name: bestModel, Variant: s.variant.String()})
	}
	for _, e := range slices.Backward(models.All()) {
		if e.Standing == registry.Former && len(list) < most {
			list = append(list, desk.Model{Name: e.ID.Short(), Variant: s.variant.String()})
		}
	}
	return list
}

// meaning is what engineModel knows a model by.
func (s *modelSource) meaning(name string) (string, error) {
	if !s.follows() {
		return s.name, nil
	}
	models, err := s.registry()
	if err != nil {
		return "", err
	}
	e, err := models.Find(name)
	return e.ID.String(), err
}

// load loads a model by its meaning.
func (s *modelSource) load(name string, v rules.Variant) (engine.Model, error) {
	return engineModel(name, s.dir, s.infer, v)
}
