// Command gen writes the Go code of ONNX's schema: onnx.pb.go beside onnx.proto, in the directory named by -dir. It needs
// no protoc: the schema is compiled by protocompile and printed by the generator of google.golang.org/protobuf.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"os"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const (
	schema     = "onnx.proto"
	importPath = "yinshzero/net/onnx/pb"
)

// write generates the code in dir.
func write(dir string) error {
	compiler := protocompile.Compiler{
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{dir}},
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(context.Background(), schema)
	if err != nil {
		return err
	}
	plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{schema},
		Parameter:      proto.String("paths=source_relative,M" + schema + "=" + importPath),
		ProtoFile:      []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(files[0])},
	})
	if err != nil {
		return err
	}
	internal_gengo.GenerateFile(plugin, plugin.FilesByPath[schema])
	response := plugin.Response()
	if response.Error != nil {
		return errors.New(response.GetError())
	}
	for _, f := range response.File {
		if err := os.WriteFile(filepath.Join(dir, f.GetName()), []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	dir := flag.String("dir", ".", "directory of onnx.proto and of the generated code")
	flag.Parse()
	if err := write(*dir); err != nil {
		log.Fatal(err)
	}
}
