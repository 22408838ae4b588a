package onnx

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/proto"

	"yinshzero/internal/atomicfile"
	"yinshzero/net"
	"yinshzero/net/onnx/pb"
	"yinshzero/rules"
)

// A Source is what is to be said of Weights beyond their numbers.
type Source struct {
	Product  string          // the program that writes the model and its version
	Variants []rules.Variant // that the Weights were trained for, at least one
}

// A File is an ONNX model and what it says of itself.
type File struct {
	Description Description
	Model       []byte // the ONNX file
}

// Encode makes the ONNX model of w. Equal arguments give equal bytes. It fails if a number of w is not finite, or if s names
// no Variant or one that is out of range. w is not kept.
func Encode(w *net.Weights, s Source) (File, error) {
	d, err := describe(w.Arch(), s)
	if err != nil {
		return File{}, fmt.Errorf("export weights: %w", err)
	}
	name, err := w.Hash()
	if err != nil {
		return File{}, fmt.Errorf("export weights: %w", err)
	}
	d.Model = hex.EncodeToString(name[:])
	properties, err := d.properties()
	if err != nil {
		return File{}, fmt.Errorf("export weights: %w", err)
	}
	model, err := proto.MarshalOptions{Deterministic: true}.Marshal(&pb.ModelProto{
		IrVersion:     proto.Int64(irVersion),
		OpsetImport:   []*pb.OperatorSetIdProto{{Domain: proto.String(""), Version: proto.Int64(operatorSet)}},
		ProducerName:  proto.String("yinshzero"),
		DocString:     proto.String("A network that plays YINSH, see the metadata: " + strings.Join(keys(properties), ", ") + "."),
		Graph:         newGraph(w),
		MetadataProps: properties,
	})
	if err != nil {
		return File{}, fmt.Errorf("export weights: %w", err)
	}
	return File{d, model}, nil
}

func keys(properties []*pb.StringStringEntryProto) (list []string) {
	for _, p := range properties {
		list = append(list, p.GetKey())
	}
	return list
}

// DescriptionPath is where Save puts the Description of the model at path: model.json beside model.onnx.
func DescriptionPath(path string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + ".json"
}

// Save writes the model at path and its Description, for people, at DescriptionPath(path); path must not end in .json. Both
// files appear whole or not at all, and replace what is there. If one cannot be written the other is left as it was, unless
// the disk fails between the two.
func (f File) Save(path string) error {
	beside := DescriptionPath(path)
	if beside == path {
		return fmt.Errorf("save model: %s is the name of a description: want one that ends in .onnx", path)
	}
	err := atomicfile.Write(beside, 0o644, func(out io.Writer) error {
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(f.Description); err != nil {
			return err
		}
		return atomicfile.WriteBytes(path, f.Model)
	})
	if err != nil {
		return fmt.Errorf("save model: %w", err)
	}
	return nil
}
