package report

import (
	"strings"
	"testing"
)

// A table is the same figures in a terminal, in Markdown and on the page, whatever its cells hold.
func TestTable(t *testing.T) {
	table := Table{Title: "Two runs", Note: "Figures & more.", Columns: []string{"run", "Elo"}, Rows: [][]string{{"a|b", "+12 ± 3"}, {"<plain>", "−1200"}}}
	var text, markdown strings.Builder
	check(t, table.WriteText(&text))
	check(t, table.WriteMarkdown(&markdown))
	if want := "run          Elo\na|b      +12 ± 3\n<plain>    −1200\n"; text.String() != want {
		t.Errorf("got\n%swant\n%s", text.String(), want)
	}
	if want := "## Two runs\n\n| run | Elo |\n| --- | ---: |\n| a\\|b | +12 ± 3 |\n| <plain> | −1200 |\n\nFigures & more.\n"; markdown.String() != want {
		t.Errorf("got\n%swant\n%s", markdown.String(), want)
	}
	r := New(read(t, newRun(t, "one", config, 1)))
	r.Tables = []Table{table}
	page := drawReport(t, r)
	for _, want := range []string{"<h2>Two runs</h2>", `<th>&lt;plain&gt;</th><td class="right">−1200</td>`, "Figures &amp; more."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
}
