// Package rulestest makes Positions for tests and holds a second, slow engine to compare package rules with.
//
// Its types are Drawing (a Position from a picture) and Reference (YINSH from coordinates and maps, sharing no code and no
// table with package rules). RandomPosition and Walk give Positions of random games.
//
//	pos, err := rulestest.Drawing{Picture: picture, ToMove: rules.White, Phase: rules.PhaseRemoveRow}.Position()
//
// Only tests import it, and the benchmark that measures package rules against the Reference. It knows nothing about
// package testing.
package rulestest
