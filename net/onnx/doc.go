// Package onnx writes Weights as an ONNX model, so that other programs can run the network.
//
// It has two types. A [Source] is what the numbers do not tell: the variants that they were trained for and the program
// that writes them. A [File] is a model and its [Description], which says, in the model's metadata and in a JSON file
// beside it, what goes in and what comes out: every plane, every global, and where the policy has the logit of each Move.
//
//	f, err := onnx.Encode(weights, onnx.Source{Product: "yinshzero 1.0", Variants: []rules.Variant{rules.Standard()}})
//	err = f.Save("model.onnx") // and model.json
//
// The model computes what the comment of package net says, from the planes and globals of [net.AppendPlanes], for any
// number of Positions at once, in float32 and with operators of ONNX's operator set 17 that every runtime has. The scales
// are folded into the convolutions. Cells that are no Points are multiplied by zero after every layer, and pooling looks
// at the Points of the Variant's board alone, so that the outputs are those of [net.Program.Forward] and
// [net.Program.Auxiliary] up to rounding. docs/models.md tells how to use it.
//
// The package reads no ONNX files and runs none.
package onnx
