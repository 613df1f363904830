// Package stats holds the statistics that the judge rests on: nearest-rank
// quantiles and their bounds, smallest samples, Student's t with a spread that
// is shrunk towards a prior, exact binomial bounds and a test of equivalence.
//
// Every function is pure and safe for concurrent use. The package imports
// nothing else of this module.
package stats
