// Package githubtest is a GitHub that runs on loopback for tests: comments,
// check runs, statuses and the Git data API over state in memory.
//
// Every request and every answer is validated against GitHub's published
// OpenAPI description; what does not validate is a problem, which fails the
// test. Answers are GitHub's own examples with the facts filled in. Refs are
// updated as Git does it: only forwards, unless forced.
package githubtest
