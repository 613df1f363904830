package config

import (
	"fmt"
	"strings"
)

// Error is one thing wrong in a configuration file.
type Error struct {
	File string
	// Line and Column count from 1; 0 where the error is about the whole file.
	Line, Column int
	// Path is the field, "checks.ttft_p95.tolerance"; "" where it is not one.
	Path string
	// Msg says what is wrong and what to write instead.
	Msg string
}

// Error is "llm-gate.yml:12:3: checks.ttft_p95.tolerance: …".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": ")
	if e.Path != "" {
		b.WriteString(e.Path)
		b.WriteString(": ")
	}
	b.WriteString(e.Msg)
	return b.String()
}

// Errors are all things found wrong in one file, in the order found.
type Errors []*Error

// shownErrors bounds the text of Errors.
const shownErrors = 20

// keptErrors bounds how many are kept at all.
const keptErrors = 200

// Error has one line per error, at most shownErrors of them.
func (es Errors) Error() string {
	lines := make([]string, 0, shownErrors+1)
	for i, e := range es {
		if i == shownErrors {
			lines = append(lines, fmt.Sprintf("%s: and %d more", e.File, len(es)-i))
			break
		}
		lines = append(lines, e.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the errors one by one.
func (es Errors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}
