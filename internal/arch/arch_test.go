package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	root   = "../.."
	module = "yinshzero"
	table  = root + "/docs/architecture.md"
)

// openToTests are the packages that any test may import.
var openToTests = []string{"internal/rulestest", "internal/seed", "github.com/rogpeppe/go-internal"}

// A room is a line of the map.
type room struct{ imports, modules []string }

func (r room) allows(imported string) bool {
	if own, ok := strings.CutPrefix(imported, module+"/"); ok {
		return slices.Contains(r.imports, own) || slices.Contains(r.imports, "anything")
	}
	return slices.Contains(r.modules, "anything") || slices.ContainsFunc(r.modules, func(m string) bool {
		return imported == m || strings.HasPrefix(imported, m+"/")
	})
}

// rooms reads the map: package, contents, imports, modules.
func rooms(t *testing.T) map[string]room {
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]room{}
	inMap := false
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "## ") {
			inMap = strings.TrimSpace(line) == "## The map"
		}
		cells := strings.Split(line, "|")
		if !inMap || len(cells) != 6 || strings.Contains(cells[1], "---") || strings.TrimSpace(cells[1]) == "package" {
			continue
		}
		name := strings.TrimSpace(cells[1])
		if _, twice := all[name]; twice {
			t.Errorf("%s: %s is there twice", table, name)
		}
		all[name] = room{strings.Fields(cells[3]), strings.Fields(cells[4])}
	}
	if len(all) == 0 {
		t.Fatalf("%s: no map", table)
	}
	return all
}

// A file is one Go file: the package's folder, whether it is a test, and its imports.
type file struct {
	name, dir string
	test      bool
	imports   []*ast.ImportSpec
}

// files parses every Go file of the module; folders with a go.mod of their own are other modules.
func files(t *testing.T) (list []file) {
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != root {
			if strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "runs" {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
				return filepath.SkipDir
			}
		}
		if d.IsDir() || filepath.Ext(name) != ".go" {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		name, err = filepath.Rel(root, name)
		name = filepath.ToSlash(name)
		list = append(list, file{name, path.Dir(name), strings.HasSuffix(name, "_test.go"), parsed.Imports})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// standard reports whether an import path is of the standard library: no dot in its first element.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".") && first != module
}

func TestImportsFollowTheMap(t *testing.T) {
	all := rooms(t)
	seen := map[string]bool{}
	for _, f := range files(t) {
		r, ok := all[f.dir]
		if !ok {
			for above := range all { // a folder below the commands is wiring too
				if slices.Contains(all[above].imports, "anything") && strings.HasPrefix(f.dir, above+"/") {
					r, ok = all[above], true
				}
			}
		}
		if !ok {
			t.Errorf("%s: package %s is not in the map of docs/architecture.md: decide where it stands", f.name, f.dir)
			continue
		}
		seen[f.dir] = true
		if f.test {
			r.imports = append(slices.Clone(r.imports), openToTests...)
			r.imports = append(r.imports, f.dir)
			r.modules = append(slices.Clone(r.modules), openToTests...)
		}
		for _, spec := range f.imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if spec.Name != nil && spec.Name.Name == "." {
				t.Errorf("%s: dot import of %s", f.name, imported)
			}
			if !standard(imported) && !r.allows(imported) {
				t.Errorf("%s: %s may not import %s: the map of docs/architecture.md allows %v and the modules %v",
					f.name, f.dir, imported, r.imports, r.modules)
			}
			if imported == module+"/internal/rulestest" && !f.test && f.dir != "cmd/yinshzero" {
				t.Errorf("%s: internal/rulestest is for tests", f.name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !seen[name] {
			t.Errorf("%s is in the map of docs/architecture.md and has no Go file", name)
		}
	}
}

// Imports of the map go down only: a package may import what stands below it.
func TestTheMapGoesDown(t *testing.T) {
	all := rooms(t)
	var visit func(name string, above []string)
	visit = func(name string, above []string) {
		if slices.Contains(above, name) {
			t.Fatalf("a circle: %v, %s", above, name)
		}
		for _, below := range all[name].imports {
			if _, ok := all[below]; !ok && below != "anything" {
				t.Errorf("%s may import %s, which is not in the map", name, below)
			}
			visit(below, append(slices.Clone(above), name))
		}
	}
	for name := range all {
		visit(name, nil)
	}
}
