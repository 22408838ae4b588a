package metrics

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

var noon = time.Date(2024, 5, 1, 12, 0, 0, 250_000_000, time.UTC)

func read[T any](t *testing.T, path string) (lines []T, faults []string) {
	t.Helper()
	for l, err := range Lines[T](path) {
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		lines = append(lines, l)
	}
	return lines, faults
}

func TestLinesComeBack(t *testing.T) {
	dir := t.TempDir()
	log := Open(dir, false)
	train := []Train{{Time: noon, Step: 20, Games: 3, Losses: Losses{Loss: 2.5, Policy: 1.5}, Evaluations: 7}, {Time: noon.Add(time.Minute), Step: 40}}
	problems := Problems{Time: noon, Model: "ab", Step: 40, Problems: 100, Solved1: 0.25, Solved32: 0.5, Solved200: 0.75}
	for _, l := range train {
		if err := log.Train(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Problems(problems); err != nil {
		t.Fatal(err)
	}
	held := HeldOut{Time: noon, Step: 40, Games: 2, HeldOut: Losses{Loss: 2.5, Plies: 1}, Trained: Losses{Loss: 2, Rings: 0.5}}
	if err := errors.Join(log.HeldOut(held), log.Close()); err != nil {
		t.Fatal(err)
	}
	if got, faults := read[HeldOut](t, filepath.Join(dir, HeldOutName)); !slices.Equal(got, []HeldOut{held}) || faults != nil {
		t.Errorf("got %v and the faults %v, want %v", got, faults, held)
	}
	if got, faults := read[Train](t, filepath.Join(dir, TrainName)); !slices.Equal(got, train) || faults != nil {
		t.Errorf("got %v and the faults %v, want %v", got, faults, train)
	}
	if got, _ := read[Problems](t, filepath.Join(dir, ProblemsName)); !slices.Equal(got, []Problems{problems}) {
		t.Errorf("got %v, want %v", got, problems)
	}
	if _, err := os.Stat(filepath.Join(dir, TensorBoardName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("event files nobody asked for: %v", err)
	}
}

func TestDamagedLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), TrainName)
	text := `{"step":20}` + "\nrubbish\n" + strings.Repeat("x", 3*maxLine) + "\n" + `{"step":"forty"}` + "\n" + `{"step":40}` + "\n" + `{"step":6`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	lines, faults := read[Train](t, path)
	if len(lines) != 2 || lines[0].Step != 20 || lines[1].Step != 40 {
		t.Errorf("got %v, want the steps 20 and 40", lines)
	}
	if len(faults) != 3 || !strings.Contains(faults[0], "train.jsonl:2:") || !strings.Contains(faults[1], ":3: longer than") || !strings.Contains(faults[2], ":4:") {
		t.Errorf("got the faults %q, want one each of the lines 2, 3 and 4", faults)
	}
	for range Lines[Train](path) {
		break // may be left at any line
	}
}

// What a kill has left of a line does not spoil the one after it.
func TestTornLine(t *testing.T) {
	for _, before := range []string{"", "{\"step\":20}\n"} {
		dir := t.TempDir()
		path := filepath.Join(dir, TrainName)
		if err := os.WriteFile(path, []byte(before+`{"step":3`), 0o644); err != nil {
			t.Fatal(err)
		}
		log := Open(dir, false)
		for range 2 {
			if err := log.Train(Train{Step: 60}); err != nil {
				t.Fatal(err)
			}
		}
		lines, faults := read[Train](t, path)
		if n := strings.Count(before, "\n") + 2; len(lines) != n || lines[n-1].Step != 60 || lines[n-2].Step != 60 || faults != nil {
			t.Errorf("after %q: got %v and the faults %v", before, lines, faults)
		}
	}
}

func TestNoFile(t *testing.T) {
	n := 0
	for _, err := range Lines[Train](filepath.Join(t.TempDir(), "none")) {
		if n++; !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v, want that it does not exist", err)
		}
	}
	if n != 1 {
		t.Errorf("%d errors, want one", n)
	}
}

// eventType is the schema of event.proto, built by hand, for a reader that shares nothing with the writer.
func eventType(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	field := func(name string, number int32, kind descriptorpb.FieldDescriptorProto_Type, of string) *descriptorpb.FieldDescriptorProto {
		f := &descriptorpb.FieldDescriptorProto{
			Name: &name, Number: &number, Type: &kind, Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
		if of != "" {
			f.TypeName = &of
		}
		return f
	}
	value := field("value", 1, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, ".tensorflow.Summary.Value")
	value.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("event.proto"), Package: proto.String("tensorflow"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: proto.String("Event"), Field: []*descriptorpb.FieldDescriptorProto{
				field("wall_time", 1, descriptorpb.FieldDescriptorProto_TYPE_DOUBLE, ""),
				field("step", 2, descriptorpb.FieldDescriptorProto_TYPE_INT64, ""),
				field("file_version", 3, descriptorpb.FieldDescriptorProto_TYPE_STRING, ""),
				field("summary", 5, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, ".tensorflow.Summary"),
			}},
			{Name: proto.String("Summary"), Field: []*descriptorpb.FieldDescriptorProto{value},
				NestedType: []*descriptorpb.DescriptorProto{{Name: proto.String("Value"), Field: []*descriptorpb.FieldDescriptorProto{
					field("tag", 1, descriptorpb.FieldDescriptorProto_TYPE_STRING, ""),
					field("simple_value", 2, descriptorpb.FieldDescriptorProto_TYPE_FLOAT, ""),
				}}}},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file.Messages().ByName("Event")
}

// crc32c is the checksum bit by bit, from its polynomial.
func crc32c(b []byte) uint32 {
	c := ^uint32(0)
	for _, x := range b {
		c ^= uint32(x)
		for range 8 {
			low := c & 1
			c >>= 1
			if low == 1 {
				c ^= 0x82f63b78
			}
		}
	}
	return ^c
}

// records cuts a file into its records and checks both checksums of each.
func records(t *testing.T, path string) (all [][]byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, data, sum []byte) {
		c := crc32c(data)
		if want := ((c >> 15) | (c << 17)) + 0xa282ead8; binary.LittleEndian.Uint32(sum) != want {
			t.Fatalf("%s: checksum of the %s is %08x, want %08x", path, what, sum, want)
		}
	}
	for len(b) > 0 {
		n := int(binary.LittleEndian.Uint64(b))
		check("length", b[:8], b[8:])
		check("event", b[12:12+n], b[12+n:])
		all = append(all, b[12:12+n])
		b = b[16+n:]
	}
	return all
}

func TestCRC32C(t *testing.T) {
	if got := crc32c([]byte("123456789")); got != 0xe3069283 { // the check value of the catalogue of checksums
		t.Fatalf("the test's own checksum is %08x", got)
	}
}

func TestEventFiles(t *testing.T) {
	dir := t.TempDir()
	held := HeldOut{Step: 60, HeldOut: Losses{Loss: 2.25}, Trained: Losses{Loss: 2, Plies: 0.5}}
	for range 2 { // two processes in the same second
		log := Open(dir, true)
		if err := log.Train(Train{Time: noon, Step: 20, Losses: Losses{Loss: 2.5, Policy: 1.5}, Window: 12345, Games: 6}); err != nil {
			t.Fatal(err)
		}
		if err := log.Problems(Problems{Time: noon.Add(time.Second), Step: 1 << 40, Solved32: 0.5}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(log.HeldOut(held), log.Close()); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, TensorBoardName, "events.out.tfevents.*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("got the files %v and %v, want two", files, err)
	}
	kind := eventType(t)
	for _, path := range files {
		all := records(t, path)
		if len(all) != 4 {
			t.Fatalf("%s: %d events, want 4", path, len(all))
		}
		var events []*dynamicpb.Message
		for _, b := range all {
			m := dynamicpb.NewMessage(kind)
			if err := proto.Unmarshal(b, m); err != nil {
				t.Fatal(err)
			}
			if len(m.ProtoReflect().GetUnknown()) > 0 {
				t.Errorf("%s: fields that the schema does not have", path)
			}
			events = append(events, m)
		}
		get := func(i int, name protoreflect.Name) protoreflect.Value {
			return events[i].Get(kind.Fields().ByName(name))
		}
		if got := get(0, "file_version").String(); got != "brain.Event:2" {
			t.Errorf("version %q", got)
		}
		if got := get(1, "wall_time").Float(); math.Abs(got-1714564800.25) > 1e-6 {
			t.Errorf("wall time %f", got)
		}
		if got := get(2, "step").Int(); got != 1<<40 {
			t.Errorf("step %d", got)
		}
		tags := map[string]float64{}
		for i := 1; i < len(all); i++ {
			summary := get(i, "summary").Message()
			values := summary.Get(summary.Descriptor().Fields().ByName("value")).List()
			for k := range values.Len() {
				v := values.Get(k).Message()
				tags[v.Get(v.Descriptor().Fields().ByName("tag")).String()] = v.Get(v.Descriptor().Fields().ByName("simple_value")).Float()
			}
		}
		for tag, want := range map[string]float64{
			"loss/total": 2.5, "loss/policy": 1.5, "loss/rings": 0, "training/window": 12345, "selfplay/games": 6, "problems/solved_32": 0.5,
			"held_out/total": 2.25, "held_out/plies": 0, "trained/total": 2, "trained/plies": 0.5,
		} {
			if got, ok := tags[tag]; !ok || got != want {
				t.Errorf("%s is %v, %v, want %v", tag, got, ok, want)
			}
		}
	}
}

func TestConcurrentWriters(t *testing.T) {
	dir := t.TempDir()
	log := Open(dir, true)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 20 {
				if err := log.Train(Train{Time: noon, Step: int64(i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if lines, faults := read[Train](t, filepath.Join(dir, TrainName)); len(lines) != 160 || faults != nil {
		t.Errorf("%d lines and the faults %v, want 160 and none", len(lines), faults)
	}
}

func TestFolderThatIsAFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, TensorBoardName), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Open(dir, true).Train(Train{}); err == nil || !strings.Contains(err.Error(), TensorBoardName) {
		t.Errorf("got %v, want an error with the folder's name", err)
	}
	if err := Open(filepath.Join(dir, "none"), false).Train(Train{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that there is no such folder", err)
	}
}
