// Package report draws one verdict: as Markdown for a comment or a job
// summary, as text for a terminal, as JSON, and as one self-contained HTML
// page. A report needs nothing but the verdict, and the same verdict gives the
// same bytes.
//
// Everything in a verdict may hold words from outside: names, branches, server
// errors. They are shown inert; inert.go is the one place that does it.
//
// A verdict that says green while its checks do not is drawn as not judged.
package report
