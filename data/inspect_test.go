package data

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"yinshzero/rules"
)

// collect returns a fault handler and what it was given.
func collect() (fault func(error), faults *[]error) {
	faults = new([]error)
	return func(err error) { *faults = append(*faults, err) }, faults
}

func TestVerify(t *testing.T) {
	dir := t.TempDir()
	mini, standard := randomRecords(1, 5, rules.Mini()), randomRecords(1, 2, rules.Standard())
	addShard(t, dir, mini)
	second := addShard(t, dir, append(standard, mini[0]))
	fault, faults := collect()
	got, err := Verify([]string{dir}, fault)
	if err != nil || len(*faults) > 0 {
		t.Fatal(err, *faults)
	}
	all := append(append(mini[:5:5], standard...), mini[0])
	if got.Shards != 2 || got.Blocks != 2 || got.Games != 8 || got.Duplicates != 1 || got.Faults != 0 ||
		got.Plies != positions(all, Full, Fast, Forced, Opening) || got.Kinds["full"] != positions(all, Full) ||
		got.Variants["mini"] != 6 || got.Variants["standard"] != 2 || got.Models[all[0].White.String()] != 8 {
		t.Errorf("got %+v", got)
	}
	results := 0
	for _, n := range got.Results {
		results += n
	}
	if results != 8 {
		t.Errorf("results %v: want 8 together", got.Results)
	}
	var text strings.Builder
	if err := got.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"games       8, 1 of them duplicates\n", "variants    6 mini\n            2 standard\n", "faults      0\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("text lacks %q:\n%s", want, text.String())
		}
	}
	if b, err := json.Marshal(got); err != nil || !bytes.Contains(b, []byte(`"games":8`)) {
		t.Errorf("got %s, %v", b, err)
	}

	b, err := os.ReadFile(second)
	if err != nil {
		t.Fatal(err)
	}
	b[60] ^= 4
	write(t, second, b)
	got, err = Verify([]string{second}, fault)
	if err != nil || got.Faults != 1 || got.Games != 0 || len(*faults) != 1 {
		t.Errorf("damaged: got %+v, %v, %v", got, *faults, err)
	}
	for _, path := range []string{filepath.Join(dir, "none"), t.TempDir()} {
		if _, err := Verify([]string{path}, fault); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want an error that names it", path, err)
		}
	}
}

func TestDump(t *testing.T) {
	dir := t.TempDir()
	recs := randomRecords(2, 2, rules.Mini())
	path := addShard(t, dir, recs)
	var out strings.Builder
	fault, faults := collect()
	if err := Dump(&out, []string{path}, fault); err != nil || len(*faults) > 0 {
		t.Fatal(err, *faults)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if want := 4 + len(recs[0].Plies) + len(recs[1].Plies); len(lines) != want {
		t.Fatalf("got %d lines, want %d:\n%s", len(lines), want, out.String())
	}
	hash := recs[0].Hash()
	if want := fmt.Sprintf("game %x variant mini result ", hash[:6]); !strings.HasPrefix(lines[0], want) {
		t.Errorf("got %q, want it to begin with %q", lines[0], want)
	}
	for i, p := range recs[0].Plies {
		f := strings.Fields(lines[2+i])
		if f[0] != fmt.Sprint(i) || f[3] != p.Kind.String() || f[4] != rules.Mini().MoveText(p.Move) {
			t.Errorf("ply %d: got %q", i, lines[2+i])
		}
		if p.Kind == Full && len(f) != 7+len(p.Policy) {
			t.Errorf("ply %d: got %q, want %d moves", i, lines[2+i], len(p.Policy))
		}
	}
}

func TestRepair(t *testing.T) {
	path, b, recs, second := twoBlocks(t)
	whole := bytes.Clone(b)
	if losses, err := Repair([]string{path}); err != nil || losses != nil {
		t.Fatalf("a shard without damage: %v, %v", losses, err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, whole) {
		t.Fatal("a shard without damage was touched")
	}
	tests := []struct {
		name  string
		spoil func(b []byte) []byte
		want  []*Record
	}{
		{"first block", func(b []byte) []byte { b[shardHeader+40]++; return b }, recs[3:]},
		{"second block", func(b []byte) []byte { b[second+40]++; return b }, recs[:3]},
		{"header", func(b []byte) []byte { b[3]++; return b }, recs},
		{"index", func(b []byte) []byte { b[len(b)-20]++; return b }, recs},
		{"cut in the index", func(b []byte) []byte { return b[:len(b)-30] }, recs},
		{"cut in the second block", func(b []byte) []byte { return b[:second+100] }, recs[:3]},
		{"cut in the first block", func(b []byte) []byte { return b[:second-1] }, nil},
	}
	for _, test := range tests {
		damaged := test.spoil(bytes.Clone(whole))
		write(t, path, damaged)
		losses, err := Repair([]string{path})
		if err != nil || len(losses) != 1 || losses[0].Shard != path || losses[0].Games != len(test.want) ||
			len(losses[0].Faults) == 0 {
			t.Fatalf("%s: got %+v, %v", test.name, losses, err)
		}
		if kept, err := os.ReadFile(losses[0].Kept); err != nil || !bytes.Equal(kept, damaged) {
			t.Fatalf("%s: the damaged file was not kept: %v", test.name, err)
		}
		if test.want == nil {
			if _, err := os.Stat(path); !os.IsNotExist(err) {
				t.Errorf("%s: a shard without games is still there", test.name)
			}
		} else if got, faults, err := readShard(t, path); err != nil || faults != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: after repair %d games, faults %v, %v", test.name, len(got), faults, err)
		}
		write(t, path, damaged)
		if _, err := Repair([]string{path}); err == nil || !strings.Contains(err.Error(), "exists already") {
			t.Errorf("%s: got %v, want that the kept file is not overwritten", test.name, err)
		}
		if err := os.Remove(losses[0].Kept); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRepairNoShard checks that a file that is no shard is left alone and does not keep others from being repaired.
func TestRepairNoShard(t *testing.T) {
	dir := t.TempDir()
	none := filepath.Join(dir, "notes.txt")
	write(t, none, []byte("notes"))
	if err := os.Rename(addShard(t, dir, randomRecords(6, 2, rules.Mini())), filepath.Join(dir, "b.shard")); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "b.shard"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "b.shard"), b[:len(b)-1])
	losses, err := Repair([]string{none, dir})
	if err == nil || !strings.Contains(err.Error(), none) || len(losses) != 1 || losses[0].Games != 2 {
		t.Errorf("got %+v, %v", losses, err)
	}
	if got, err := os.ReadFile(none); err != nil || string(got) != "notes" {
		t.Errorf("the other file is %q, %v", got, err)
	}
}

// TestRepairInvalidGame repairs a block in which one game is not valid.
func TestRepairInvalidGame(t *testing.T) {
	recs := randomRecords(5, 3, rules.Mini())
	var streams [numStreams][]byte
	var info blockInfo
	for _, r := range recs {
		if err := r.appendStreams(&streams); err != nil {
			t.Fatal(err)
		}
		info.games++
		for _, p := range r.Plies {
			info.plies[p.Kind]++
		}
	}
	streams[streamNumbers][8] ^= 1 // the hash of the first game's last position
	path := filepath.Join(t.TempDir(), "a.shard")
	if _, err := writeShard(path, func(yield func([]byte, error) bool) { yield(block(info, streams), nil) }); err != nil {
		t.Fatal(err)
	}
	losses, err := Repair([]string{path})
	if err != nil || len(losses) != 1 || losses[0].Games != 2 {
		t.Fatalf("got %+v, %v", losses, err)
	}
	if got, faults, err := readShard(t, path); err != nil || faults != nil || !reflect.DeepEqual(got, recs[1:]) {
		t.Errorf("after repair %d games, faults %v, %v", len(got), faults, err)
	}
}

// TestRepairSetsNothingAside: a shard of which nothing is left is set aside whole.
func TestRepairSetsNothingAside(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"00000001.shard", "00000002.shard", "notes.txt"} {
		content := []byte("nothing of a shard")
		if name == "00000002.shard" {
			content = nil
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	losses, err := Repair([]string{dir})
	if err != nil || len(losses) != 2 || losses[0].Games != 0 || len(losses[0].Faults) != 1 {
		t.Errorf("got %+v, %v: want two shards set aside", losses, err)
	}
	if left, err := Shards(dir); err != nil || len(left) != 0 {
		t.Errorf("shards left: %v, %v", left, err)
	}
	for _, loss := range losses {
		if _, err := os.Stat(loss.Kept); err != nil {
			t.Error(err)
		}
	}
}
