// Package seed derives random streams from one number, so that the same run gives the same games on any machine.
//
// It has one type, Seed. A run has one; what needs randomness gets a child of its own, drawn before the work is handed
// out:
//
//	run := seed.New(1)
//	rng := run.Child("game", 17).Rand() // the same game on any worker
//
// Children with different labels or numbers are independent streams. The package reads no clock and has no state.
package seed
