// Package baselines keeps the results that were accepted: a history for every
// service, GPU and workload, one file a run.
//
// Store is what every place to keep them fulfils; Dir is a directory and
// Branch is an orphan branch on GitHub, written without a clone. A baseline
// that cannot be read is never taken for one that is not there: it is a
// CorruptError, and no store ever overwrites it.
package baselines
