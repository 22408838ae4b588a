package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// A Fault is one thing wrong with a configuration.
type Fault struct {
	Where   string // file:line:column, or the --set argument
	Key     string // dotted path, such as search.simulations; empty for the file as a whole
	Problem string // what is wrong and what is wanted
}

// Error returns where: key: problem.
func (f *Fault) Error() string {
	if f.Key == "" {
		return f.Where + ": " + f.Problem
	}
	return f.Where + ": " + f.Key + ": " + f.Problem
}

// MaxBytes is the size of the largest file that Load reads.
const MaxBytes = 1 << 20

// Load reads the YAML file at path over the defaults, then the overrides, each key=value with a dotted key. An empty
// path means the defaults alone. The error joins every [Fault], in the order of the file.
func Load(path string, overrides []string) (Config, error) {
	l, err := load(path, overrides)
	return l.config, err
}

func load(path string, overrides []string) (layer, error) {
	if path == "" {
		return parse("defaults", nil, overrides)
	}
	text, err := read(path)
	if err != nil {
		return layer{}, err
	}
	return parse(path, text, overrides)
}

// read reads a file.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read config: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read config: %w", err)
	}
	if len(text) > MaxBytes {
		return nil, &Fault{path, "", "is larger than 1 MiB: want a YAML file with keys such as seed, variant"}
	}
	return text, nil
}

// A layer is a configuration, and where those of its keys stand that were given.
type layer struct {
	config Config
	where  map[string]string
}

// Parse is [Load] for a text already read; name stands for the file in errors.
func Parse(name string, text []byte, overrides []string) (Config, error) {
	l, err := parse(name, text, overrides)
	return l.config, err
}

func parse(name string, text []byte, overrides []string) (layer, error) {
	l := layer{Default(), map[string]string{}}
	d := decoder{name: name, where: l.where}
	if root := d.parse(text); root != nil {
		d.value(root, reflect.ValueOf(&l.config).Elem(), "", "")
	}
	for _, o := range overrides {
		d.override(&l.config, o)
	}
	if len(d.faults) == 0 {
		l.config.check(d.fault)
	}
	return l, errors.Join(d.faults...)
}

// YAML returns the whole configuration, every key present; [Parse] reads it back to the same Config.
func (c Config) YAML() []byte {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(c); err != nil {
		panic(fmt.Sprintf("config: encode: %v", err)) // a Config has only kinds that YAML can hold
	}
	return b.Bytes()
}

// A decoder walks YAML nodes and Config fields side by side and collects Faults.
type decoder struct {
	name   string
	set    string            // the override being read, if any
	where  map[string]string // of the keys given so far
	faults []error
}

func (d *decoder) fault(key, format string, args ...any) {
	where, ok := d.where[key]
	if !ok {
		where = d.name
	}
	d.faults = append(d.faults, &Fault{where, key, fmt.Sprintf(format, args...)})
}

// at notes where a key stands.
func (d *decoder) at(key string, n *yaml.Node) {
	if d.set != "" {
		d.where[key] = d.set
	} else {
		d.where[key] = fmt.Sprintf("%s:%d:%d", d.name, n.Line, n.Column)
	}
}

var syntaxLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

// parse returns the root mapping of the only document in text, or nil if there is none.
func (d *decoder) parse(text []byte) *yaml.Node {
	r := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	err := r.Decode(&doc)
	if err == io.EOF {
		return nil
	}
	if err == nil {
		if err = r.Decode(&more); err == nil {
			d.faults = append(d.faults, &Fault{fmt.Sprintf("%s:%d:%d", d.name, more.Line, more.Column), "", "a second document: want one"})
			return nil
		}
	}
	if err != io.EOF {
		where, problem := d.name, err.Error()
		if m := syntaxLine.FindStringSubmatch(problem); m != nil {
			problem = m[2]
			if m[1] != "" {
				where += ":" + m[1] + ":1"
			}
		}
		if line := tabbed(text); line > 0 {
			where, problem = fmt.Sprintf("%s:%d:1", d.name, line), "a line begins with a tab: use spaces, not tabs"
		}
		d.faults = append(d.faults, &Fault{where, "", "not YAML: " + problem})
		return nil
	}
	return doc.Content[0]
}

// tabbed returns the number of the first line that is indented with tabs, 0 if there is none.
func tabbed(text []byte) int {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if bytes.ContainsRune(line[:len(line)-len(bytes.TrimLeft(line, " \t"))], '\t') {
			return n
		}
	}
	return 0
}

// override decodes one key=value argument.
func (d *decoder) override(c *Config, arg string) {
	d.set = "--set " + short(arg)
	defer func() { d.set = "" }()
	key, text, ok := strings.Cut(arg, "=")
	if !ok || key == "" {
		d.faults = append(d.faults, &Fault{d.set, "", "want key=value, such as search.simulations=32"})
		return
	}
	v, tag := reflect.ValueOf(c).Elem(), reflect.StructTag("")
	path := ""
	for name := range strings.SplitSeq(key, ".") {
		i := -1
		if v.Kind() == reflect.Struct {
			i = fieldNamed(v.Type(), name)
		}
		if i < 0 {
			d.where[short(key)] = d.set
			d.unknown(short(key), path, name, v)
			return
		}
		tag, v = v.Type().Field(i).Tag, v.Field(i)
		path = join(path, name)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil || len(doc.Content) == 0 {
		doc.Content = []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}}
	}
	d.value(doc.Content[0], v, path, tag)
}

// value decodes n into v, whose dotted key and field tag are given.
func (d *decoder) value(n *yaml.Node, v reflect.Value, key string, tag reflect.StructTag) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	d.at(key, n)
	switch {
	case v.Type() == reflect.TypeFor[yaml.Node](): // to be decoded later
		v.Set(reflect.ValueOf(*n))
	case v.Kind() == reflect.Struct:
		d.mapping(n, v, key)
	case v.Kind() == reflect.Slice:
		d.list(n, v, key, tag)
	case v.Type() == reflect.TypeFor[time.Duration]():
		d.duration(n, v, key, tag)
	default:
		d.scalar(n, v, key, tag)
	}
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, key string) {
	if n.Kind != yaml.MappingNode {
		d.fault(key, "is %s: want keys such as %s", describe(n), strings.Join(firstTwo(names(v.Type())), ", "))
		return
	}
	seen := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		name := n.Content[i].Value
		path := join(key, short(name))
		d.at(path, n.Content[i])
		field := fieldNamed(v.Type(), name)
		if field < 0 {
			d.unknown(path, key, name, v)
			continue
		}
		if line, ok := seen[name]; ok {
			d.fault(path, "given twice: line %d has it already", line)
			continue
		}
		seen[name] = n.Content[i].Line
		d.value(n.Content[i+1], v.Field(field), path, v.Type().Field(field).Tag)
	}
}

func (d *decoder) list(n *yaml.Node, v reflect.Value, key string, tag reflect.StructTag) {
	if n.Kind != yaml.SequenceNode {
		example := "[random, greedy]"
		if v.Type().Elem().Kind() != reflect.String {
			example = "[1000, 2000]"
		}
		d.fault(key, "is %s: want a list, such as %s", describe(n), example)
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.value(item, v.Index(i), fmt.Sprintf("%s[%d]", key, i), tag)
	}
}

func (d *decoder) duration(n *yaml.Node, v reflect.Value, key string, tag reflect.StructTag) {
	got, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		d.fault(key, "is %s: want a duration with its unit, such as 30s or 5m", describe(n))
		return
	}
	low, high, _ := strings.Cut(tag.Get("range"), "..")
	lo, _ := time.ParseDuration(low)
	hi, _ := time.ParseDuration(high)
	if got < lo || got > hi {
		d.fault(key, "is %s: want %s to %s", got, low, high)
		return
	}
	v.SetInt(int64(got))
}

var kindWanted = map[reflect.Kind]string{
	reflect.Bool: "true or false", reflect.String: "a word", reflect.Float64: "a number",
	reflect.Int: "a whole number", reflect.Int64: "a whole number", reflect.Uint64: "a whole number, 0 or more",
}

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, key string, tag reflect.StructTag) {
	want := kindWanted[v.Kind()]
	if b, ok := tag.Lookup("range"); ok {
		low, high, _ := strings.Cut(b, "..")
		want += " from " + low + " to " + high
	}
	if words, ok := tag.Lookup("oneof"); ok {
		want = "one of " + strings.ReplaceAll(words, " ", ", ")
	}
	if !assign(n, v) || !allowed(v, tag) {
		d.fault(key, "is %s: want %s", describe(n), want)
	}
}

// assign sets v to the scalar n if its YAML type is right for v's kind.
func assign(n *yaml.Node, v reflect.Value) bool {
	if n.Kind != yaml.ScalarNode {
		return false
	}
	tags := map[reflect.Kind]string{reflect.Bool: "!!bool", reflect.String: "!!str", reflect.Float64: "!!float !!int"}
	if want := cmp.Or(tags[v.Kind()], "!!int"); !slices.Contains(strings.Fields(want), n.ShortTag()) {
		return false
	}
	return n.Decode(v.Addr().Interface()) == nil
}

// allowed reports whether v is in its range or among its words.
func allowed(v reflect.Value, tag reflect.StructTag) bool {
	if words, ok := tag.Lookup("oneof"); ok {
		return slices.Contains(strings.Fields(words), v.String())
	}
	var x float64
	switch v.Kind() {
	case reflect.Float64:
		x = v.Float()
	case reflect.Int, reflect.Int64:
		x = float64(v.Int())
	default:
		return true
	}
	lo, hi := bounds(tag)
	return x >= lo && x <= hi // false for not-a-number
}

// bounds returns the range of a number's tag; without one, every finite number.
func bounds(tag reflect.StructTag) (lo, hi float64) {
	low, high, ok := strings.Cut(tag.Get("range"), "..")
	if !ok {
		return -math.MaxFloat64, math.MaxFloat64
	}
	lo, errLow := strconv.ParseFloat(low, 64)
	hi, errHigh := strconv.ParseFloat(high, 64)
	if err := errors.Join(errLow, errHigh); err != nil {
		panic(fmt.Sprintf("config: range %q: %v", tag.Get("range"), err))
	}
	return lo, hi
}

// unknown reports a key that does not exist, with the name it may have been meant for.
func (d *decoder) unknown(path, section, name string, v reflect.Value) {
	if v.Kind() != reflect.Struct {
		d.fault(path, "no such key: %s has no keys below it", section)
		return
	}
	if near := nearest(name, names(v.Type())); near != "" {
		d.fault(path, "no such key: did you mean %s?", join(section, near))
		return
	}
	for _, k := range Keys() {
		if k == name || strings.HasSuffix(k, "."+name) {
			d.fault(path, "no such key: did you mean %s?", k)
			return
		}
	}
	d.fault(path, "no such key: want one of %s", strings.Join(names(v.Type()), ", "))
}

// Keys lists the dotted path of every value in a Config, in the order of its fields.
func Keys() []string { return keys(nil, reflect.TypeFor[Config](), "") }

func keys(dst []string, t reflect.Type, path string) []string {
	for f := range t.Fields() {
		key := join(path, f.Tag.Get("yaml"))
		if f.Type.Kind() == reflect.Struct {
			dst = keys(dst, f.Type, key)
		} else {
			dst = append(dst, key)
		}
	}
	return dst
}

// Differ lists the dotted paths of the values on which c and d do not agree.
func (c Config) Differ(d Config) []string {
	return differ(nil, reflect.ValueOf(c), reflect.ValueOf(d), "")
}

func differ(dst []string, c, d reflect.Value, path string) []string {
	for i := range c.NumField() {
		f := c.Type().Field(i)
		key := join(path, f.Tag.Get("yaml"))
		if f.Type.Kind() == reflect.Struct {
			dst = differ(dst, c.Field(i), d.Field(i), key)
		} else if !reflect.DeepEqual(c.Field(i).Interface(), d.Field(i).Interface()) {
			dst = append(dst, key)
		}
	}
	return dst
}

func names(t reflect.Type) (list []string) {
	for f := range t.Fields() {
		list = append(list, f.Tag.Get("yaml"))
	}
	return list
}

func firstTwo(list []string) []string { return list[:min(2, len(list))] }

func fieldNamed(t reflect.Type, name string) int { return slices.Index(names(t), name) }

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// describe says what a node is, for an error.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.ShortTag() == "!!null":
		return "empty"
	case n.ShortTag() == "!!str":
		return strconv.Quote(short(n.Value))
	}
	return short(n.Value)
}

// quoted is how many characters of a text errors quote.
const quoted = 60

// short is a text as errors quote it.
func short(s string) string {
	n := 0
	for i := range s {
		if n++; n > quoted {
			return s[:i] + "…"
		}
	}
	return s
}

// nearest returns the name at the smallest edit distance, or "" if none is within a third of the word.
func nearest(word string, list []string) (best string) {
	least := max(1, len(word)/3) + 1
	for _, name := range list {
		if n := distance(word, name); n < least {
			best, least = name, n
		}
	}
	return best
}

// distance counts the insertions, deletions and replacements of bytes that turn a into b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
