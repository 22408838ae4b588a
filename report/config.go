package report

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// configName is the effective configuration in a run's directory.
const configName = "config.yaml"

// readConfig reads a configuration of any version.
func (r *Run) readConfig(path string) {
	r.Config = map[string]string{}
	b, err := os.ReadFile(path)
	if err != nil {
		r.fault(fmt.Errorf("read configuration: %w", err))
		return
	}
	var tree yaml.Node
	if err := yaml.Unmarshal(b, &tree); err != nil {
		r.fault(fmt.Errorf("read configuration %s: %w", path, err))
		return
	}
	r.flatten("", &tree)
}

// flatten puts the values below a node into the Config, under their paths. A list is one value.
func (r *Run) flatten(path string, n *yaml.Node) {
	switch n.Kind {
	case yaml.DocumentNode:
		for _, c := range n.Content {
			r.flatten(path, c)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if path != "" {
				key = path + "." + key
			}
			r.flatten(key, n.Content[i+1])
		}
	case yaml.SequenceNode:
		var values []string
		for _, c := range n.Content {
			values = append(values, c.Value)
		}
		r.Config[path] = strings.Join(values, ", ")
	case yaml.ScalarNode:
		r.Config[path] = n.Value
	}
}

// A Difference is a key of the configuration that the runs do not agree on.
type Difference struct {
	Key    string   `json:"key"`
	Values []string `json:"values"` // by run; empty for a run that does not have the key
}

// settings are the keys of any of the runs with their values.
func settings(runs []*Run) (all []Difference) {
	keys := map[string]bool{}
	for _, r := range runs {
		for k := range r.Config {
			keys[k] = true
		}
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		d := Difference{Key: k}
		for _, r := range runs {
			d.Values = append(d.Values, r.Config[k])
		}
		all = append(all, d)
	}
	return all
}

// differences are the settings that the runs do not agree on.
func differences(runs []*Run) []Difference {
	return slices.DeleteFunc(settings(runs), func(d Difference) bool {
		return !slices.ContainsFunc(d.Values, func(v string) bool { return v != d.Values[0] })
	})
}
