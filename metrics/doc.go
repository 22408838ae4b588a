// Package metrics keeps the figures of a run: as JSON lines, which are the truth, and for TensorBoard if it is wanted.
//
// A [Train] is what is told of some training steps, a [HeldOut] what is told of a candidate and a [Problems] what is told of a
// promoted model. A [Log] writes them to
// the metrics folder of a run, [Lines] reads them back. Each file has one JSON object a line and is only ever appended to:
//
//	train.jsonl     Train
//	held_out.jsonl  HeldOut
//	problems.jsonl  Problems
//	tensorboard/    event files, one for every process that wrote with them on
//
//	log := metrics.Open("run/metrics", true)
//	err := log.Train(metrics.Train{Time: time.Now(), Step: 20, Losses: metrics.Losses{Loss: 2.1}})
//	err = log.Close()
//	for line, err := range metrics.Lines[metrics.Train]("run/metrics/" + metrics.TrainName) { … }
//
// An event file is TensorFlow's record format around protocol buffers; event.proto has the part of their schema that is
// written. Scalars only: there are no histograms, graphs or images. The package computes nothing and knows no network.
package metrics
