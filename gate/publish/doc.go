// Package publish shows one verdict where reviewers look: as the pull
// request's sticky comment, the job's summary, its outputs and its
// annotations.
//
// A publisher reads the verdict and never changes it: what fails here is an
// error for the log, and the conclusion and the exit code stay what they are.
// Words from outside (names, branches, server errors) reach the runner only
// escaped, and outputs only stripped to characters without a meaning to any
// shell.
package publish
