package data

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"yinshzero/rules"
)

// TestMoveListRoundTrip exports games, imports them and exports them again.
func TestMoveListRoundTrip(t *testing.T) {
	dir := t.TempDir()
	custom, err := rules.ParseVariant("4-4-35-5-2")
	if err != nil {
		t.Fatal(err)
	}
	var recs []*Record
	for _, v := range append(rules.Variants(), custom) {
		recs = append(recs, randomRecords(1, 5, v)...)
	}
	resigned := randomRecords(2, 1, rules.Standard())[0]
	resigned.Plies = resigned.Plies[:15]
	pos := rules.New(rules.Standard())
	for _, p := range resigned.Plies {
		pos.Play(p.Move)
	}
	resigned.Final, resigned.Result = pos.Hash(), rules.Result{Outcome: rules.BlackWins, Reason: rules.Resigned}
	recs = append(recs, resigned)
	fault, faults := collect()
	export := func(path string) []string {
		var out bytes.Buffer
		if err := Export(&out, []string{path}, fault); err != nil {
			t.Fatal(err)
		}
		return strings.Split(out.String(), "\n")
	}
	first := export(addShard(t, dir, recs))
	copied := filepath.Join(dir, "copy.shard")
	info, err := Import(copied, strings.NewReader("# a comment\n\n"+strings.Join(first, "\n")), "list", fault)
	if err != nil || len(*faults) > 0 || info.Games != len(recs) {
		t.Fatalf("imported %+v, faults %v, %v", info, *faults, err)
	}
	second := export(copied)
	if len(first) != len(recs)+1 || len(second) != len(first) {
		t.Fatalf("%d lines, then %d: want %d", len(first), len(second), len(recs)+1)
	}
	for i := range first {
		_, want, _ := strings.Cut(first[i], " ") // the ids differ: imported games have no search
		if _, got, _ := strings.Cut(second[i], " "); got != want {
			t.Errorf("line %d: got %q, want %q", i, got, want)
		}
	}
}

func TestExportStart(t *testing.T) {
	r := randomRecords(3, 1, rules.Mini())[0]
	pos := rules.New(r.Variant)
	pos.Play(r.Plies[0].Move)
	r.Start, r.Plies = pos.String(), r.Plies[1:]
	fault, faults := collect()
	var out bytes.Buffer
	if err := Export(&out, []string{addShard(t, t.TempDir(), []*Record{r})}, fault); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 0 || len(*faults) != 1 {
		t.Errorf("got %q, faults %v: want a fault", out.String(), *faults)
	}
}

func TestImportFaults(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"fields", "g1 W played", "3 fields"},
		{"variant", "g1 W played huge e5", "variant"},
		{"result", "g1 unknown played standard e5", `result "unknown"`},
		{"how", "g1 W won standard e5", `ended by "won"`},
		{"text", "g1 W played standard e5 z9", "move 2"},
		{"illegal", "g1 W played standard e5 e5", "move 2: e5 is illegal"},
		{"short", "g1 W played standard e5 e6", "after 2 moves the game is not over"},
		{"resigned draw", "g1 draw resign standard e5 e6", "resignation"},
	} {
		fault, faults := collect()
		path := filepath.Join(t.TempDir(), "a.shard")
		_, err := Import(path, strings.NewReader("\n"+test.in+"\n"), "list.txt", fault)
		if err == nil || len(*faults) != 1 {
			t.Errorf("%s: got %v, faults %v", test.name, err, *faults)
			continue
		}
		if got := (*faults)[0].Error(); !strings.HasPrefix(got, "list.txt:2: ") || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s: a shard was written", test.name)
		}
	}
}

// TestRealGames imports games that people and other programs have played, and gets the same lists back.
func TestRealGames(t *testing.T) {
	list, err := os.ReadFile(filepath.Join("..", "..", "shared", "records", "games.moves"))
	if err != nil {
		t.Skip("no games of others at ../shared/records:", err)
	}
	fault, faults := collect()
	path := filepath.Join(t.TempDir(), "a.shard")
	info, err := Import(path, bytes.NewReader(list), "games.moves", fault)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for lines := bufio.NewScanner(bytes.NewReader(list)); lines.Scan(); {
		_, game, _ := strings.Cut(lines.Text(), " ")
		want = append(want, game)
	}
	t.Logf("%d games of %d plies in %d bytes", info.Games, info.Plies[Opening], info.Bytes)
	if info.Games != len(want) || len(*faults) > 0 {
		t.Errorf("%d games and %d faults: want %d and none", info.Games, len(*faults), len(want))
	}
	var out bytes.Buffer
	if err := Export(&out, []string{path}, fault); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		_, game, _ := strings.Cut(lines.Text(), " ")
		got[game] = true
	}
	found := 0
	for _, game := range want {
		if got[game] {
			found++
		}
	}
	if found != info.Games {
		t.Errorf("%d games came back as they were: want %d", found, info.Games)
	}
}

func TestImportOverwritesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.shard")
	if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	fault, _ := collect()
	_, err := Import(path, strings.NewReader("g1 W resign mini e6 f5\n"), "list", fault)
	if err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("got %v, want an error that it exists", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "mine" {
		t.Errorf("the file holds %q, %v", b, err)
	}
}

func FuzzImport(f *testing.F) {
	f.Add("g1 W resign standard e5 e6 f6")
	f.Add("g1 draw played 4-4-35-5-2 e5")
	path := filepath.Join(f.TempDir(), "a.shard")
	f.Fuzz(func(t *testing.T, line string) {
		r, err := parseGame(line)
		if err != nil {
			return
		}
		if _, err := WriteShard(path, []*Record{r}); err != nil {
			t.Fatal(err)
		}
	})
}
