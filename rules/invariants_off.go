//go:build !invariants

package rules

const invariants = false
