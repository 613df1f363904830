package publish

import (
	"strings"
	"unicode"
)

// reasonLimit is how many characters an output's line may have.
const reasonLimit = 300

// line returns s as one line without control and formatting characters
// (escape sequences, bidirectional overrides) and without anything that the
// runner would take for a command.
func line(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.Is(unicode.C, r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	return separate(separate(s, "::", ": :"), "##[", "## [")
}

// separate replaces until none is left: "::::" holds three overlapping ones.
func separate(s, old, with string) string {
	for strings.Contains(s, old) {
		s = strings.ReplaceAll(s, old, with)
	}
	return s
}

// inert returns s as one line that means nothing to a shell, to Markdown or to
// the runner, since workflows interpolate outputs into scripts: letters,
// digits and a few signs survive, all else is dropped.
func inert(s string) string {
	s = strings.ReplaceAll(line(s), " (", ": ")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r) && r > unicode.MaxASCII:
			return r
		case strings.ContainsRune(" .,:%+-/_=→…–—−×·≤≥±", r):
			return r
		}
		return -1
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	s = strings.TrimLeft(separate(s, "::", ":"), "-+=:./ ")
	if runes := []rune(s); len(runes) > reasonLimit {
		s = strings.TrimSpace(string(runes[:reasonLimit-1])) + "…"
	}
	return s
}

// inertReason is inert, in words also where there are none.
func inertReason(s string) string {
	if s = inert(s); s != "" {
		return s
	}
	return "no reason was given"
}
