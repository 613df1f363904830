package telemetry

import "testing"

func FuzzMatcher(f *testing.F) {
	for _, seed := range []string{``, `{}`, `{namespace="pr-412"}`, `a=~"x|y",b!~"\"",`, `{a="b"}[5m]`, `{a="b"} or up`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parseMatcher(text)
		if err != nil {
			return
		}
		again, err := parseMatcher(m.String())
		if err != nil || again.String() != m.String() {
			t.Errorf("parseMatcher(%q) = %s, which reads as %s, %v", text, m, again, err)
		}
	})
}
