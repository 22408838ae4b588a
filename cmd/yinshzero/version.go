package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"yinshzero/data"
	"yinshzero/fleet"
	"yinshzero/net"
	"yinshzero/net/kernel"
)

// A version is what yinshzero version prints.
type version struct {
	Build    string `json:"build"` // the commit, -dirty if files had changed, or the module's version
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Kernels  string `json:"kernels"` // instruction set of the network's kernels
	Encoder  int    `json:"encoder"` // version of the network's input
	Record   int    `json:"record"`  // version of the shard format
	Protocol int    `json:"protocol"`
	Worker   int    `json:"worker"`
}

func newVersion() *cobra.Command {
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the build and the versions of its formats",
		Example: "  yinshzero version --json",
		Args:    cobra.NoArgs,
	}
	asJSON := addJSON(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		kernels, err := kernel.Best()
		if err != nil {
			return err
		}
		v := version{
			Build: build(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Kernels: kernels.Name(),
			Encoder: net.EncoderVersion, Record: data.ShardVersion, Protocol: fleet.Protocol, Worker: fleet.Version,
		}
		if *asJSON {
			return printJSON(c, v)
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "yinshzero %s, %s %s\nkernels %s, encoder %d, record %d, protocol %d, worker %d\n",
			v.Build, v.Go, v.Platform, v.Kernels, v.Encoder, v.Record, v.Protocol, v.Worker)
		return err
	}
	return c
}

// build names the source that the binary was made of.
func build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, dirty := info.Main.Version, ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	return revision + dirty
}
