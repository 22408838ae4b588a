//go:build !amd64

package kernel

func machineBytes() *byteSet { return nil }
