// Package report shows what became of one or several runs: a page of curves that is one file.
//
// [Read] reads a run's directory into a [Run]: figures only, of bounded size however long the run is. A [Report] holds the
// Runs to be compared; it is the report's JSON, and WriteHTML draws it.
//
//	run, err := report.Read("runs/standard", report.Params{MaxGames: 20_000})
//	err = report.New(run).WriteHTML(file)
//
// What a run does not have yet is in Run.Missing, what is damaged in Run.Faults; neither stops the reading, and both are told
// on the page. Nothing is invented: a curve has a gap where there are no figures.
//
// Files of lines are streamed into buckets that grow with their number, games are read from evenly chosen shards. The page is
// well-formed XML, asks the network for nothing, and follows the reader's choice of a light or a dark scheme. It needs its
// script only to read figures off curves and to hide runs.
//
// The package changes nothing in a run and may read one that is under way.
package report
