// Package config reads llm-gate.yml into the types of the packages that carry
// it out: loadtest.Spec and gate.Policy.
//
// One table of fields says which keys exist, what they hold, what they are
// where nothing is written, and how they are read. The loader, the JSON Schema
// for editors and the reference in the documentation all come from it, so none
// of them can promise a key that another refuses.
//
// Reading is strict: unknown and duplicate keys, missing units and settings
// that contradict each other are errors with file:line:column. Values that came
// from the environment never appear in an error.
package config
