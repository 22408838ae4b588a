// Package pb is ONNX's file format as Go code: [ModelProto] and what it is made of, with their protobuf encoding.
//
// onnx.proto is the schema of ONNX 1.12 as the ONNX project publishes it (Apache-2.0): IR version 8, the one of operator
// set 17. onnx.pb.go is generated from it and not edited:
//
//	b, err := proto.Marshal(&pb.ModelProto{IrVersion: proto.Int64(8)})
//
// The package knows no network; net/onnx does.
package pb

//go:generate go run -C ../gen . -dir ../pb
