package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed page
var embedded embed.FS

// Page holds the files of the page: index.html and what it needs, all in one folder.
func Page() fs.FS {
	sub, err := fs.Sub(embedded, "page")
	if err != nil {
		panic(err) // the name is a constant
	}
	return sub
}

// kinds are the files that a page may have, by extension: nothing else is served. The system's own table, which differs from
// machine to machine, is not asked.
var kinds = map[string]string{
	".html":        "text/html; charset=utf-8",
	".css":         "text/css; charset=utf-8",
	".js":          "text/javascript; charset=utf-8",
	".svg":         "image/svg+xml",
	".png":         "image/png",
	".ico":         "image/x-icon",
	".json":        "application/json",
	".webmanifest": "application/manifest+json",
	".woff2":       "font/woff2",
}

// A file is one that is served.
type file struct {
	body      []byte
	kind, tag string
}

// newFile is a file with its tag, which hangs on what is in it.
func newFile(body []byte, kind string) file {
	sum := sha256.Sum256(body)
	return file{body, kind, `"` + hex.EncodeToString(sum[:12]) + `"`}
}

// readFiles reads the files of a page, by path.
func readFiles(from fs.FS) (map[string]file, error) {
	files := map[string]file{}
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		kind := kinds[path.Ext(name)]
		if err != nil || d.IsDir() || kind == "" {
			return err
		}
		body, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		files["/"+name] = newFile(body, kind)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	for name, same := range map[string]string{"/": "/index.html", "/favicon.ico": "/icon.svg"} { // what browsers ask for
		if f, ok := files[same]; ok {
			files[name] = f
		}
	}
	return files, nil
}

// ServeHTTP sends the file, or says that the client has it.
func (f file) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.tag)
	for tag := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if strings.TrimPrefix(strings.TrimSpace(tag), "W/") == f.tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	h.Set("Content-Type", f.kind)
	h.Set("Content-Length", fmt.Sprint(len(f.body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(f.body) // the client may be gone
	}
}
