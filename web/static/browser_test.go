package static

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"yinshzero/rules"
)

// TestBrowser opens an exported page in a real browser, from a server of plain files and below a path, plays and analyses.
func TestBrowser(t *testing.T) {
	needWorker(t)
	skip := t.Skip
	if os.Getenv("CI") != "" {
		skip = t.Fatal
	}
	if _, err := os.Stat(filepath.Join("..", "testdata", "browser", "node_modules", "playwright-core")); err != nil {
		skip("nothing that drives a browser: run scripts/browser.sh: ", err)
	}
	browser := ""
	for _, name := range []string{os.Getenv("BROWSER"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && browser == "" {
			browser = path
		}
	}
	if browser == "" {
		skip("no Chromium: run scripts/browser.sh, or name one in $BROWSER")
	}
	dir := filepath.Join(t.TempDir(), "public")
	if err := newTestFolder(t, randomWeights(t, "32x1p"), rules.Standard()).write(dir, embedded); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.StripPrefix("/some/path/", http.FileServer(http.Dir(dir))))
	defer server.Close()
	c := exec.CommandContext(t.Context(), "node", filepath.Join("testdata", "browser.mjs"), server.URL+"/some/path/", browser)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
