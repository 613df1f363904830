// Package github makes the one GitHub client that everything else is given,
// and reads where a run stands from the environment of GitHub Actions.
//
// The client waits out what is temporary (server errors, rate limits, broken
// connections) within a budget and tells apart what is not (a missing
// permission). It knows GitHub Enterprise Server through the API's address.
package github
