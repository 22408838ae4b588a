package static

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"yinshzero/internal/atomicfile"
	"yinshzero/net"
	"yinshzero/net/onnx"
	"yinshzero/web/site"
)

//go:embed built ort
var embedded embed.FS

// program is the file of built that go generate makes.
const program = "yinshzero.wasm.gz"

// errNotBuilt is why a binary can write no page.
var errNotBuilt = errors.New("this binary was built by plain go build, without the WebAssembly that the page runs: build it with make build, or with go generate ./web/static && go build ./cmd/yinshzero")

// Write makes the folder dir, with page, which holds the files of web/page, and the model of w, of which s tells more. If dir
// is there it has to be empty, or to hold nothing but what Write has put there, which is replaced. On any error dir is as it
// was. An error says what is wrong with dir, w or s, or that this binary carries no WebAssembly. It returns the name of the
// model, 64 hex digits.
func Write(dir string, page fs.FS, w *net.Weights, s onnx.Source) (model string, err error) {
	f, err := newFolder(page, w, s)
	if err != nil {
		return "", fmt.Errorf("export page: %w", err)
	}
	if err := f.write(dir, embedded); err != nil {
		return "", fmt.Errorf("export page: %w", err)
	}
	return f.site.Model, nil
}

// A folder is what is to be written.
type folder struct {
	page  fs.FS
	site  site.Site // but for Files
	model []byte    // the ONNX file
}

func newFolder(page fs.FS, w *net.Weights, s onnx.Source) (*folder, error) {
	f, err := onnx.Encode(w, s)
	if err != nil {
		return nil, err
	}
	d := f.Description
	about := site.Site{Format: site.Format, Product: d.Product, Model: d.Model, Arch: d.Arch, Encoder: d.Encoder}
	for _, v := range d.Variants {
		about.Variants = append(about.Variants, v.Name)
	}
	return &folder{page, about, f.Model}, nil
}

func (f *folder) write(dir string, carried fs.FS) error {
	files, err := f.files(carried)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target
	}
	if err := replaceable(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".yinshzero-web-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	fresh, old := filepath.Join(temp, "new"), filepath.Join(temp, "old")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		to := filepath.Join(fresh, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := atomicfile.WriteBytes(to, files[name]); err != nil {
			return err
		}
	}
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(fresh, dir); err != nil {
		return errors.Join(err, os.Rename(old, dir))
	}
	return nil
}

// replaceable returns an error if something is at dir that Write has not made.
func replaceable(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	var s site.Site
	text, err := os.ReadFile(filepath.Join(dir, site.Name))
	if err != nil || json.Unmarshal(text, &s) != nil || !strings.HasPrefix(s.Format, "yinshzero web ") {
		return fmt.Errorf("%s is not empty, and no page that was exported: choose another folder", dir)
	}
	return fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if _, ours := s.Files[name]; err == nil && !ours && !d.IsDir() && name != site.Name {
			err = fmt.Errorf("%s holds %s, which was not exported: move it elsewhere, or choose another folder", dir, name)
		}
		return err
	})
}

// files are the contents of the folder, by path.
func (f *folder) files(carried fs.FS) (map[string][]byte, error) {
	files := map[string][]byte{"model.onnx": f.model}
	for _, from := range []fs.FS{f.page, below(carried, "built"), below(carried, "ort")} {
		if err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path.Ext(name) == ".md" {
				return err
			}
			files[name], err = fs.ReadFile(from, name)
			return err
		}); err != nil {
			return nil, err
		}
	}
	if files[program] == nil {
		return nil, errNotBuilt
	}
	var err error
	if files["index.html"], err = f.index(string(files["index.html"])); err != nil {
		return nil, err
	}
	files["README.txt"] = f.readme(files)
	s := f.site
	s.Files = map[string]int64{}
	for name, b := range files {
		s.Files[name] = int64(len(b))
	}
	files[site.Name], err = json.MarshalIndent(s, "", "  ")
	return files, err
}

// below is a folder of an embedded file system.
func below(fsys fs.FS, dir string) fs.FS {
	sub, err := fs.Sub(fsys, dir)
	if err != nil {
		panic(err) // the names are constants
	}
	return sub
}

const (
	served   = `<meta name="backend" content="http">`
	exported = `<meta name="backend" content="worker">
<meta name="model" content="%s, %s, for %s">`
)

// index is the page for a worker instead of a server, and says which model it plays with.
func (f *folder) index(text string) ([]byte, error) {
	if strings.Count(text, served) != 1 {
		return nil, fmt.Errorf("index.html: want %s in it, once", served)
	}
	about := fmt.Sprintf(exported, f.site.ShortModel(), f.site.Arch, strings.Join(f.site.Variants, " and "))
	return []byte(strings.Replace(text, served, about, 1)), nil
}

// readme tells whoever finds the folder what it is.
func (f *folder) readme(files map[string][]byte) []byte {
	size := 0
	for _, b := range files {
		size += len(b)
	}
	return fmt.Appendf(nil, `This folder is a page on which people play YINSH against a program and analyse their games.

    written by      %s
    model           %s
                    %s, trained for %s

Put it on any web server, under any path, as it is; nothing else runs there. All the thinking is done in the visitor's browser,
which loads %.0f MB, once. To try it on your own machine, say in this folder

    python3 -m http.server --bind 127.0.0.1 8000

and open http://127.0.0.1:8000/ in a browser. To open index.html from the disk does not do: browsers start no workers then.

    *.html, *.css, *.svg, *.js            the page: Apache License 2.0, LICENSE.txt
    yinshzero.wasm.gz                     the rules and the search: the same, and LICENSE-go.txt for what Go adds
    wasm_exec.js                          starts them: LICENSE-go.txt
    ort.js, ort.wasm.gz                   onnxruntime-web %s runs the model: LICENSE-onnxruntime.txt; what it contains of
                                          others: https://github.com/microsoft/onnxruntime/blob/v%[6]s/ThirdPartyNotices.txt
    model.onnx                            the network, which describes itself
    site.json                             what all this is, for the page
`, f.site.Product, f.site.Model, f.site.Arch, strings.Join(f.site.Variants, " and "), float64(size)/1e6, runtimeVersion)
}

// runtimeVersion is that of onnxruntime-web in ort. scripts/ort-web.sh puts it there.
const runtimeVersion = "1.30.0"
