// Package exporter shows how a run stands to Prometheus: a page of text with the figures of its Status, made anew whenever it
// is asked for, and those of the Go runtime and the process.
package exporter
