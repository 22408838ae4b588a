// Package static writes the page as plain files, which anyone can host: the files of web/page, web/wasm instead of the server,
// and a model as ONNX with ONNX Runtime to run it. What is not made from source when the program is built lies in ort.
//
//	model, err := static.Write("public", web.Page(), weights, onnx.Source{Product: "yinshzero 1.0", Variants: variants})
//
// What a binary can write it carries itself: go generate ./web/static, and so make build, compile web/wasm before the binary.
// A binary made by go build alone has no WebAssembly and says so.
package static

//go:generate go run ./gen
