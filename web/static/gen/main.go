// Command gen makes the files of web/static/built: web/wasm compiled to WebAssembly and compressed, the script of the Go
// distribution that starts it, and their licences. It is run in web/static, by go generate.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"yinshzero/internal/atomicfile"
)

const (
	root = "../.."
	to   = "built"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run() error {
	program, err := build()
	if err != nil {
		return err
	}
	goRoot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	distribution := strings.TrimSpace(string(goRoot))
	if err := write("yinshzero.wasm.gz", program); err != nil {
		return err
	}
	for name, from := range map[string]string{
		"wasm_exec.js":   filepath.Join(distribution, "lib", "wasm", "wasm_exec.js"),
		"LICENSE-go.txt": filepath.Join(distribution, "LICENSE"),
		"LICENSE.txt":    filepath.Join(root, "LICENSE"),
	} {
		b, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := write(name, b); err != nil {
			return err
		}
	}
	return nil
}

// build is web/wasm, compiled and compressed. The same source gives the same bytes.
func build() ([]byte, error) {
	dir, err := os.MkdirTemp("", "yinshzero-wasm-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "yinshzero.wasm")
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, "./web/wasm")
	c.Dir, c.Env, c.Stderr = root, append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0"), os.Stderr
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("build web/wasm: %w", err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(program); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// write writes a file unless it is there: go build looks at its date.
func write(name string, b []byte) error {
	path := filepath.Join(to, name)
	if before, err := os.ReadFile(path); err == nil && bytes.Equal(before, b) {
		return nil
	}
	return atomicfile.WriteBytes(path, b)
}
