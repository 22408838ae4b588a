// Command yinshzero trains a YINSH player from nothing but the rules, and holds the tools around it.
//
// It is wiring: each command reads flags, calls the packages that do the work and prints what they say. Logs go to
// standard error, results to standard output; with --json a result is one object with stable keys.
//
//	yinshzero run --config configs/standard.yaml --dir runs/standard
//	yinshzero match --a uct:200 --b random --variant mini --pairs 10
//
// The exit code is 0 when all was done, 1 when the world failed, 2 for wrong usage and 3 when a check found faults.
package main
