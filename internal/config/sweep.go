package config

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// A Sweep says which configurations are compared: each trains a run with each of the seeds, until the first of the bounds that
// are not 0.
type Sweep struct {
	For            time.Duration // of training, breaks left out
	Games          int64         // of self-play
	Positions      int64         // of self-play
	Seeds          []uint64      // one or more
	Common         Config        // what all begin with
	Configurations []Configuration
}

// A Configuration is one that a Sweep compares, all of the same Variant. Its Config's seed is the first one of the Sweep.
type Configuration struct {
	Name   string // letters, digits, - and _
	Config Config
}

// sweepFile is the YAML of a Sweep. What is below common and below each name of configurations are keys of a Config.
type sweepFile struct {
	Base           string        `yaml:"base"`
	Common         yaml.Node     `yaml:"common"`
	Seeds          []uint64      `yaml:"seeds"`
	For            time.Duration `yaml:"for" range:"0s..10000h"`
	Games          int64         `yaml:"games" range:"0..1e12"`
	Positions      int64         `yaml:"positions" range:"0..1e12"`
	Configurations yaml.Node     `yaml:"configurations"`
}

// LoadSweep reads the YAML file of a Sweep, and the configuration that it names as its base, whose path is relative to the
// file's folder. Keys are laid one over the other: the defaults, the base, common, the configuration's own. The error joins
// every [Fault], in the order of the file.
func LoadSweep(path string) (Sweep, error) {
	text, err := read(path)
	if err != nil {
		return Sweep{}, err
	}
	var f sweepFile
	d := decoder{name: path, where: map[string]string{}}
	if root := d.parse(text); root != nil {
		d.value(root, reflect.ValueOf(&f).Elem(), "", "")
	}
	if len(d.faults) > 0 {
		return Sweep{}, errors.Join(d.faults...)
	}
	if f.Base != "" && !filepath.IsAbs(f.Base) {
		f.Base = filepath.Join(filepath.Dir(path), f.Base)
	}
	base, err := load(f.Base, nil)
	if err != nil {
		return Sweep{}, fmt.Errorf("the base of %s: %w", path, err)
	}
	s := Sweep{For: f.For, Games: f.Games, Positions: f.Positions, Seeds: f.Seeds}
	if len(s.Seeds) == 0 {
		s.Seeds = []uint64{base.config.Seed}
	}
	if slices.Max([]int64{int64(s.For), s.Games, s.Positions}) == 0 {
		d.fault("for", "there is no bound: want for, games or positions above 0, such as positions: 500000")
	}
	for i, x := range s.Seeds {
		if slices.Contains(s.Seeds[:i], x) {
			d.fault(fmt.Sprintf("seeds[%d]", i), "is %d, which is there already", x)
		}
	}
	common, faults := base.add(path, "common", &f.Common)
	d.faults = append(d.faults, faults...)
	s.Common = common.config
	s.Common.Seed = s.Seeds[0]
	if len(faults) == 0 { // else each configuration would have them again
		s.Configurations = d.configurations(common, s.Seeds[0], &f.Configurations)
	}
	return s, errors.Join(d.faults...)
}

// configurationName is what a Configuration may be called: it becomes a part of file names and of runs' names.
var configurationName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// configurations decodes the mapping of names to configurations.
func (d *decoder) configurations(common layer, seed uint64, n *yaml.Node) (list []Configuration) {
	const key = "configurations"
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		d.fault(key, "want names, each with the keys that make it different, such as plain: {network: {arch: 32x4}}")
		return nil
	}
	lines := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		name := n.Content[i].Value
		path := join(key, short(name))
		d.at(path, n.Content[i])
		if line, ok := lines[strings.ToLower(name)]; ok { // also where file systems do not tell a from A
			d.fault(path, "given twice: line %d has it already", line)
			continue
		}
		lines[strings.ToLower(name)] = n.Content[i].Line
		if !configurationName.MatchString(name) {
			d.fault(path, "is no name: want 1 to 64 letters, digits, - and _, and a letter or a digit first")
			continue
		}
		l, faults := common.add(d.name, path, n.Content[i+1])
		d.faults = append(d.faults, faults...)
		if len(faults) == 0 && l.config.Variant != common.config.Variant {
			d.fault(path, "plays %s and the others %s: want variant under common, as models of different games cannot meet",
				short(l.config.Variant), short(common.config.Variant))
		}
		l.config.Seed = seed
		list = append(list, Configuration{name, l.config})
	}
	return list
}

// add lays the keys below n, which stands at a path of a file, over l. Nothing below n is no key.
func (l layer) add(file, path string, n *yaml.Node) (layer, []error) {
	d := decoder{name: file, where: maps.Clone(l.where)}
	delete(d.where, "seed")
	if n.Kind != 0 && n.ShortTag() != "!!null" {
		d.value(n, reflect.ValueOf(&l.config).Elem(), "", "")
	}
	if d.where["seed"] != "" {
		d.fault("seed", "want it in the list seeds, so that all configurations have the same")
	}
	if len(d.faults) == 0 {
		l.config.check(d.fault)
	}
	for i, err := range d.faults {
		f := *err.(*Fault)
		f.Key = strings.TrimSuffix(path+"."+f.Key, ".")
		d.faults[i] = &f
	}
	return layer{l.config, d.where}, d.faults
}
