//go:build !amd64

package kernel

func machineSets() []*Set { return nil }
