// Package config reads the YAML file that says how a training run works.
//
// Its one type of weight is [Config], a plain struct whose fields are the keys of the file and whose tags hold their
// ranges: the schema is written once, there. [Load] lays a file and then command-line overrides over [Default]:
//
//	c, err := config.Load("configs/standard.yaml", []string{"search.simulations=32"})
//
// It is strict. An unknown or misspelt key, a wrong type, a value out of range or two values that do not fit each other
// is a [Fault] that names file, line and column, and the remedy; the error joins all of them. [Config.YAML] writes the
// effective values for the run's directory.
//
// A [Sweep] is a file with several configurations to be compared; [LoadSweep] is as strict.
//
// It knows nothing of what the values do: the commands hand them to the packages concerned.
package config
