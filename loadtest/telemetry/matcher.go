package telemetry

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A matcher narrows a query to one deployment: `namespace="x",pod=~"llm-.*"`.
type matcher struct {
	text   string // without braces, "" for none
	labels []string
}

var oneMatcher = regexp.MustCompile(`^\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*(=~|!~|!=|=)\s*("(?:[^"\\\n]|\\.)*")\s*(,|$)`)

// parseMatcher reads `{a="b",c=~"d"}`, with or without the braces.
func parseMatcher(text string) (matcher, error) {
	inner := strings.TrimSpace(text)
	if bare, ok := strings.CutPrefix(inner, "{"); ok {
		if inner, ok = strings.CutSuffix(bare, "}"); !ok {
			return matcher{}, fmt.Errorf("label matcher %s: the closing brace is missing", text)
		}
	}
	var m matcher
	var parts []string
	for rest := strings.TrimSpace(inner); rest != ""; {
		found := oneMatcher.FindStringSubmatch(rest)
		if found == nil {
			return matcher{}, fmt.Errorf(`label matcher %s: cannot read %q: want {label="value",other=~"regexp"}`, text, rest)
		}
		if _, err := strconv.Unquote(found[3]); err != nil {
			return matcher{}, fmt.Errorf("label matcher %s: the value %s: %w", text, found[3], err)
		}
		m.labels = append(m.labels, found[1])
		parts = append(parts, found[1]+found[2]+found[3])
		rest = strings.TrimSpace(rest[len(found[0]):])
	}
	m.text = strings.Join(parts, ",")
	return m, nil
}

// String writes the matcher in braces.
func (m matcher) String() string { return "{" + m.text + "}" }

// selector is a range selector of the last window's raw samples of every
// metric that the name pattern matches.
func (m matcher) selector(pattern string, windowMS int64) string {
	sep := ""
	if m.text != "" {
		sep = ","
	}
	return fmt.Sprintf("{__name__=~%q%s%s}[%dms]", pattern, sep, m.text, windowMS)
}
