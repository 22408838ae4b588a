package metrics

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// A scalar is a number under its name in TensorBoard.
type scalar struct {
	tag   string
	value float64
}

// An eventFile is a file of TensorFlow events. Every event is one write, so that a kill cuts at most the last one short,
// which readers leave out.
type eventFile struct{ file *os.File }

// newEventFile makes a file in dir, and dir if need be. Its name is one that TensorBoard looks for and that sorts by time; if
// it is taken, by a process that ran a moment ago, a number at its end tells them apart.
func newEventFile(dir string, at time.Time) (*eventFile, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for i := 0; ; i++ {
		path := filepath.Join(dir, fmt.Sprintf("events.out.tfevents.%010d.yinshzero.%d", at.Unix(), i))
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		e := &eventFile{file}
		first := appendWallTime(nil, at)
		first = protowire.AppendTag(first, eventFileVersion, protowire.BytesType)
		first = protowire.AppendString(first, "brain.Event:2")
		if err := e.write(first); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		return e, nil
	}
}

// The field numbers of event.proto.
const (
	eventWallTime    = 1
	eventStep        = 2
	eventFileVersion = 3
	eventSummary     = 5
	summaryValue     = 1
	valueTag         = 1
	valueSimple      = 2
)

func appendWallTime(b []byte, at time.Time) []byte {
	b = protowire.AppendTag(b, eventWallTime, protowire.Fixed64Type)
	return protowire.AppendFixed64(b, math.Float64bits(float64(at.UnixMicro())/1e6))
}

// add writes the scalars of a step as one event.
func (e *eventFile) add(at time.Time, step int64, scalars []scalar) error {
	var summary, value []byte
	for _, s := range scalars {
		value = protowire.AppendTag(value[:0], valueTag, protowire.BytesType)
		value = protowire.AppendString(value, s.tag)
		value = protowire.AppendTag(value, valueSimple, protowire.Fixed32Type)
		value = protowire.AppendFixed32(value, math.Float32bits(float32(s.value)))
		summary = protowire.AppendTag(summary, summaryValue, protowire.BytesType)
		summary = protowire.AppendBytes(summary, value)
	}
	b := appendWallTime(nil, at)
	b = protowire.AppendTag(b, eventStep, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(step))
	b = protowire.AppendTag(b, eventSummary, protowire.BytesType)
	b = protowire.AppendBytes(b, summary)
	return e.write(b)
}

// write appends an event as a record: its length in eight bytes, the masked checksum of these, the event, the masked checksum
// of the event, all little-endian (tensorflow/core/lib/io/record_writer.h).
func (e *eventFile) write(event []byte) error {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(event)))
	b = binary.LittleEndian.AppendUint32(b, masked(b))
	b = append(b, event...)
	b = binary.LittleEndian.AppendUint32(b, masked(event))
	_, err := e.file.Write(b)
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is the CRC-32C of b, turned right by 15 bits and moved by a constant, so that a checksum of bytes that hold
// checksums is no trivial one (tensorflow/core/lib/hash/crc32c.h).
func masked(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}
