package publish

import (
	"fmt"
	"strings"
)

const hexDigits = "0123456789ABCDEF"

// Marker is the hidden first line of the comment of the gate called name.
// Different names have different markers, and no name can end the HTML comment
// that it stands in.
func Marker(name string) string { return "<!-- llm-gate:" + safeName(name) + " -->" }

// safeName percent-encodes all but letters, digits, "." and "_" and a single
// "-", since "--" may end an HTML comment.
func safeName(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_',
			c == '-' && i > 0 && name[i-1] != '-':
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String()
}

// marked reports whether body is that of the gate's comment. The marker has to
// open it: elsewhere it may be a quotation.
func marked(body, marker string) bool {
	return strings.HasPrefix(strings.TrimLeft(body, " \t\r\n\ufeff"), marker)
}

// When says on which verdicts a pull request is commented on.
type When string

// The values of comment in the config.
const (
	Always   When = "always"
	Problems When = "problems" // not on green; a comment that is there is still updated
	Never    When = "never"
)

// ParseWhen reads the config's word; "" is Always.
func ParseWhen(s string) (When, error) {
	switch w := When(s); w {
	case "":
		return Always, nil
	case Always, Problems, Never:
		return w, nil
	}
	return "", fmt.Errorf("unknown comment %q: want one of always, problems, never", s)
}
