// Package gate judges: it holds the catalogue of metrics, the policy, and one
// pure function from a policy, a result and the accepted results before it to a
// verdict. It does no I/O, reads no clock and draws no random numbers: the same
// input gives the same bytes.
package gate
