package main

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/spf13/cobra"

	"yinshzero/net"
)

func newBench() *cobra.Command {
	return group("bench", "Measure speed, on this machine and now",
		newBenchRules(), newBenchEval(), newBenchInt8(), newBenchTrain(), newBenchSearch(), newBenchSelfplay(), newBenchGate(), newVectors(), newSignature())
}

// benchTime is how long a measurement takes unless --for says otherwise.
const benchTime = 3 * time.Second

// A lengthFlag is --for of a measurement.
type lengthFlag time.Duration

func (f *lengthFlag) Type() string   { return "duration" }
func (f *lengthFlag) String() string { return time.Duration(*f).String() }

func (f *lengthFlag) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return errors.New("want more than 0 with a unit, such as 300ms or 5s")
	}
	*f = lengthFlag(d)
	return nil
}

func addFor(c *cobra.Command) *time.Duration {
	length := benchTime
	c.Flags().Var((*lengthFlag)(&length), "for", "how long to measure")
	return &length
}

// An archFlag is --arch.
type archFlag struct{ net.Arch }

func (f *archFlag) Type() string { return "ARCH" }

func (f *archFlag) Set(s string) (err error) {
	f.Arch, err = net.ParseArch(s)
	return err
}

func addArch(c *cobra.Command) *archFlag {
	f := &archFlag{net.Arch{Channels: 64, Blocks: 6}}
	c.Flags().Var(f, "arch", "channels x blocks of the network, p for pooling")
	return f
}

// printFigures prints the fields of a struct: as one JSON object, or a line for each.
func printFigures(c *cobra.Command, figures any, asJSON bool) error {
	if asJSON {
		return printJSON(c, figures)
	}
	v := reflect.ValueOf(figures)
	for i := range v.NumField() {
		verb := "%v"
		if v.Field(i).Kind() == reflect.Float64 {
			verb = "%.4g"
			if v.Field(i).Float() >= 1000 {
				verb = "%.0f"
			}
		}
		f := v.Type().Field(i)
		if _, err := fmt.Fprintf(c.OutOrStdout(), "%s="+verb+"\n", cmp.Or(f.Tag.Get("json"), f.Name), v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

func newBenchEval() *cobra.Command {
	c := &cobra.Command{
		Use:     "eval",
		Short:   "Evaluations of a network a second, one thread",
		Example: "  yinshzero bench eval --arch 32x4p --json",
	}
	arch, asJSON, length := addArch(c), addJSON(c), addFor(c)
	c.Args = cobra.NoArgs
	c.RunE = func(c *cobra.Command, _ []string) error {
		speed, err := net.BenchEval(c.Context(), arch.Arch, *length)
		if err != nil {
			return err
		}
		return printFigures(c, struct {
			Arch        string  `json:"arch"`
			ISA         string  `json:"isa"`
			Evaluations float64 `json:"evals_per_second"`
			Rate        float64 `json:"gmacs"`
			Peak        float64 `json:"fma_peak_gmacs"`
		}{arch.String(), speed.ISA, speed.Evaluations, speed.Rate / 1e9, speed.Peak / 1e9}, *asJSON)
	}
	return c
}
