package config

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Load reads an llm-gate.yml. path is the file's name for errors and the place
// from which relative paths in it count; getenv gives the values of ${NAME}.
// With a nil getenv variables stay as they are and values that hold one are not
// checked, for validating a file where its secrets are not.
//
// given lists fields that a flag or action input replaces, "target.url": what
// the file says there is not read.
//
// The error is Errors with everything found wrong, each with its place.
func Load(path string, data []byte, getenv func(string) string, given ...string) (*Config, error) {
	l := &loader{file: path, getenv: getenv, given: given, cfg: Default(), written: map[string]spot{}}
	l.load(data)
	if len(l.errs) > 0 {
		return nil, l.errs
	}
	return l.cfg, nil
}

type loader struct {
	file    string
	getenv  func(string) string
	given   []string
	cfg     *Config
	written map[string]spot // where each field's key stands
	errs    Errors
}

// spot is a place in the file.
type spot struct{ line, column int }

func (l *loader) load(data []byte) {
	if e := l.bounds(data); e != nil {
		l.add(e)
		return
	}
	root, e := parse(bytes.TrimPrefix(data, []byte("\ufeff")))
	if e != nil {
		l.add(e)
		return
	}
	if root == nil {
		l.add(&Error{Line: 1, Column: 1, Path: "version", Msg: `is missing, the file is empty: write "version: 1" in the first line`})
		return
	}
	l.cfg.Policy.Source = l.file
	mapping(l, topFields(), l.cfg, root, "")
	if len(l.errs) == 0 {
		l.finish()
	}
}

// bounds refuses what no parser should be given.
func (l *loader) bounds(data []byte) *Error {
	if len(data) > maxBytes {
		return &Error{Msg: fmt.Sprintf("has %d bytes: a configuration has at most %d", len(data), maxBytes)}
	}
	line := 1
	for rest := data; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			return &Error{Line: line, Column: 1, Msg: "is not UTF-8 text: save the file as UTF-8"}
		}
		if r == 0 {
			return &Error{Line: line, Column: 1, Msg: "holds a zero byte: this is not a text file"}
		}
		if r == '\n' {
			line++
		}
		rest = rest[size:]
	}
	if n := max(bytes.Count(data, []byte("\n")), bytes.Count(data, []byte("\r"))); n > maxLines {
		return &Error{Msg: fmt.Sprintf("has %d lines: a configuration has at most %d", n, maxLines)}
	}
	if at := staircase.FindIndex(data); at != nil {
		return &Error{Line: 1 + bytes.Count(data[:at[0]], []byte("\n")), Column: 1, Msg: fmt.Sprintf("is nested more than %d levels deep", maxDepth)}
	}
	if n := bytes.Count(data, []byte("[")) + bytes.Count(data, []byte("{")); n > maxBrackets {
		return &Error{Msg: fmt.Sprintf("opens %d brackets: a configuration has at most %d", n, maxBrackets)}
	}
	return nil
}

// staircase matches a line that opens more lists or keys than may be nested.
var staircase = regexp.MustCompile(fmt.Sprintf(`(?m)^[ \t]*([-?:&*!'"][^ \t\n]*[ \t]+){%d}`, maxDepth+1))

func (l *loader) add(e *Error) {
	e.File = l.file
	if len(l.errs) < keptErrors {
		l.errs = append(l.errs, e)
	}
}

func (l *loader) failAt(s spot, at, msg string) {
	l.add(&Error{Line: s.line, Column: s.column, Path: at, Msg: msg})
}

func (l *loader) fail(n *node, at, msg string) { l.failAt(spot{n.line, n.column}, at, msg) }

// keyOf is where the key of at stands; the value's place where it is unknown.
func (l *loader) keyOf(at string, n *node) spot {
	if s, ok := l.written[at]; ok {
		return s
	}
	return spot{n.line, n.column}
}

// value reads n as one value of the kind. It reports what is wrong; ok is
// false where there is nothing to use.
func value[T any](l *loader, k kind[T], n *node, at string) (v T, ok bool) {
	if slices.Contains(l.given, at) {
		return v, false
	}
	if !l.expand(n, at) || n.unresolved {
		return v, false
	}
	quote := n.shown() + " "
	if k.private {
		quote = ""
	}
	switch {
	case n.shape == isEmpty:
		l.fail(n, at, "is empty: write a "+k.name+", or remove it")
		return v, false
	case n.shape == isMapping || n.shape == isList:
		msg := fmt.Sprintf("is %s: write a %s", n.shape, k.name)
		if k.free && n.shape == isMapping {
			msg += ", in quotes where it stands inside [ ] or { }"
		}
		l.fail(n, at, msg)
		return v, false
	case slices.Contains(k.accepts, n.shape) || n.expanded:
	case n.shape == isString:
		if _, err := k.parse(n.text); err == nil {
			l.fail(n, at, quote+"is text: write it without quotes")
			return v, false
		}
	case k.free:
		l.fail(n, at, fmt.Sprintf("%sis %s: write it in quotes", quote, n.shape))
		return v, false
	}
	v, err := k.parse(n.text)
	if err != nil {
		l.fail(n, at, quote+err.Error())
		return v, false
	}
	return v, true
}

// expand replaces the variables of a text, once.
func (l *loader) expand(n *node, at string) bool {
	if n.shape != isString || n.looked || !strings.Contains(n.text, "$") {
		return true
	}
	n.looked = true // an alias may bring the node here again
	getenv := l.getenv
	if getenv == nil {
		getenv = func(name string) string { return name }
	}
	text, used, err := expand(n.text, getenv)
	if err != nil {
		l.fail(n, at, err.Error())
		return false
	}
	if used && l.getenv == nil {
		n.unresolved = true
		return true
	}
	n.text, n.expanded = text, used
	return true
}

// relative is a path of the file seen from where the program runs.
func (l *loader) relative(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(l.file), path)
}
