package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"yinshzero/net"
	"yinshzero/net/onnx"
	"yinshzero/rules"
	"yinshzero/web/site"
)

// randomWeights draws every number, so that the network prefers some Moves clearly.
func randomWeights(t testing.TB, arch string) *net.Weights {
	t.Helper()
	a, err := net.ParseArch(arch)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 5))
	w := net.Init(a, rng)
	for _, tensor := range w.Tensors() {
		std := 0.2
		if n := len(tensor.Shape); n > 1 {
			std = 1 / math.Sqrt(float64(tensor.Len()/tensor.Shape[n-1]))
		}
		for i := range tensor.Data {
			tensor.Data[i] += float32(std * rng.NormFloat64())
		}
	}
	return w
}

// page is the page's folder.
var page = os.DirFS(filepath.Join("..", "page"))

// newTestFolder is the page with a model.
func newTestFolder(t testing.TB, w *net.Weights, variants ...rules.Variant) *folder {
	t.Helper()
	f, err := newFolder(page, w, onnx.Source{Product: "yinshzero test", Variants: variants})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// carried is what a binary carries that was built as it should be; the WebAssembly is a stand-in.
func carried(t *testing.T) fs.FS {
	t.Helper()
	built := fstest.MapFS{}
	for name, text := range map[string]string{"README.md": "", program: "program", "wasm_exec.js": "go", "LICENSE.txt": "a", "LICENSE-go.txt": "b"} {
		built["built/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	for _, name := range []string{"ort.js", "ort.wasm.gz", "LICENSE-onnxruntime.txt"} {
		b, err := embedded.ReadFile("ort/" + name)
		if err != nil {
			t.Fatal(err)
		}
		built["ort/"+name] = &fstest.MapFile{Data: b}
	}
	return built
}

// TestWrite: the folder holds the page, for a worker, with all that it needs, and says what it holds.
func TestWrite(t *testing.T) {
	f := newTestFolder(t, net.Init(net.Arch{Channels: 32, Blocks: 1}, rand.New(rand.NewPCG(1, 1))), rules.Blitz(), rules.Mini())
	dir := filepath.Join(t.TempDir(), "public")
	if err := f.write(dir, carried(t)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, site.Name))
	if err != nil {
		t.Fatal(err)
	}
	s, err := site.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	if err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == site.Name {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Size() != s.Files[name] {
			t.Errorf("%s has %d bytes, and %d by the site: %v", name, info.Size(), s.Files[name], err)
		}
		files = append(files, name)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(files) != len(s.Files) {
		t.Errorf("%d files, and %d by the site", len(files), len(s.Files))
	}
	if err := fs.WalkDir(f.page, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !slices.Contains(files, name) {
			t.Errorf("the page's %s is missing", name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{program, "wasm_exec.js", "ort.js", "ort.wasm.gz", "model.onnx", "README.txt", "LICENSE.txt", "LICENSE-go.txt", "LICENSE-onnxruntime.txt"} {
		if !slices.Contains(files, name) {
			t.Errorf("%s is missing", name)
		}
	}
	for name, wants := range map[string][]string{
		"index.html": {`<meta name="backend" content="worker">`, s.Model[:12], "32x1", "blitz and mini"},
		"README.txt": {s.Model, "32x1", "blitz and mini", "onnxruntime-web " + runtimeVersion},
	} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(b), want) {
				t.Errorf("%s does not say %s", name, want)
			}
		}
	}
	if strings.Contains(string(mustRead(t, filepath.Join(dir, "index.html"))), served) {
		t.Error("the page asks a server")
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// snapshot is every file under dir, and what it holds.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all[name] = string(mustRead(t, filepath.Join(dir, name)))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestReplace: an export, and an empty folder, are replaced; what holds anything else stays as it is, to the byte, and so does
// an export when the next one fails.
func TestReplace(t *testing.T) {
	f := newTestFolder(t, net.Init(net.Arch{Channels: 32, Blocks: 1}, rand.New(rand.NewPCG(1, 1))), rules.Mini())
	parts := carried(t)
	top := t.TempDir()
	dir := filepath.Join(top, "public")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	old := *f
	old.page = fstest.MapFS{"index.html": &fstest.MapFile{Data: []byte(served)}, "gone/old.js": &fstest.MapFile{Data: []byte("1")}}
	for _, next := range []*folder{&old, f} {
		if err := next.write(dir, parts); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file of the export before is still there: %v", err)
	}

	before := snapshot(t, top)
	bad := *f
	bad.page = fstest.MapFS{"index.html": &fstest.MapFile{Data: []byte("no backend")}}
	if err := bad.write(dir, parts); err == nil || !strings.Contains(err.Error(), "index.html") {
		t.Errorf("a page without a backend: error %v", err)
	}
	if err := f.write(dir, fstest.MapFS{"built/README.md": &fstest.MapFile{}, "ort/ort.js": &fstest.MapFile{}}); !errors.Is(err, errNotBuilt) {
		t.Errorf("a binary without WebAssembly: error %v", err)
	}
	clash := *f
	clash.page = fstest.MapFS{"index.html": &fstest.MapFile{Data: []byte(served)}, "README.txt/x.js": &fstest.MapFile{}}
	if err := clash.write(dir, parts); err == nil {
		t.Error("a folder and a file of one name can both be written")
	}
	if !maps.Equal(before, snapshot(t, top)) {
		t.Error("an export that failed has changed something")
	}

	for name, spoil := range map[string]func(dir string) error{
		"CNAME":     func(dir string) error { return os.WriteFile(filepath.Join(dir, "CNAME"), []byte("a.example"), 0o644) },
		"not empty": func(dir string) error { return os.Remove(filepath.Join(dir, site.Name)) },
		"not a directory": func(dir string) error {
			return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, []byte("x"), 0o644))
		},
	} {
		dir := filepath.Join(t.TempDir(), "public")
		if err := errors.Join(f.write(dir, parts), spoil(dir)); err != nil {
			t.Fatal(err)
		}
		before := snapshot(t, filepath.Dir(dir))
		if err := f.write(dir, parts); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
		if !maps.Equal(before, snapshot(t, filepath.Dir(dir))) {
			t.Errorf("%s: something has changed", name)
		}
	}
}

// TestFoldersAbove: the folders above the page are made.
func TestFoldersAbove(t *testing.T) {
	f := newTestFolder(t, net.Init(net.Arch{Channels: 32, Blocks: 1}, rand.New(rand.NewPCG(1, 1))), rules.Mini())
	dir := filepath.Join(t.TempDir(), "a", "b", "public")
	if err := f.write(dir, carried(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "index.html")); err != nil {
		t.Error(err)
	}
}

// TestRuntime: what ort holds is what the notices say it is, which scripts/ort-web.sh --check compares with npm.
func TestRuntime(t *testing.T) {
	notices := string(mustRead(t, filepath.Join("..", "..", "THIRD_PARTY.md")))
	script := string(mustRead(t, filepath.Join("..", "..", "scripts", "ort-web.sh")))
	if !strings.Contains(notices, "onnxruntime-web "+runtimeVersion) || !strings.Contains(script, "\nversion="+runtimeVersion+"\n") {
		t.Errorf("the notices or the script know another version than %s", runtimeVersion)
	}
	z, err := gzip.NewReader(bytes.NewReader(mustRead(t, "ort/ort.wasm.gz")))
	if err != nil {
		t.Fatal(err)
	}
	wasm, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"ort.js": mustRead(t, "ort/ort.js"), "ort.wasm.gz": wasm} {
		if sum := fmt.Sprintf("%x", sha256.Sum256(b)); !strings.Contains(notices, sum) {
			t.Errorf("THIRD_PARTY.md does not have the SHA-256 of %s, %s", name, sum)
		}
	}
}
