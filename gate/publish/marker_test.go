package publish

import (
	"strings"
	"testing"
)

func TestMarker(t *testing.T) {
	for name, want := range map[string]string{
		"chat-8b":             "<!-- llm-gate:chat-8b -->",
		"":                    "<!-- llm-gate: -->",
		"a/b":                 "<!-- llm-gate:a%2Fb -->",
		"a b":                 "<!-- llm-gate:a%20b -->",
		"x--><img src=y>":     "<!-- llm-gate:x-%2D%3E%3Cimg%20src%3Dy%3E -->",
		"->":                  "<!-- llm-gate:%2D%3E -->",
		"größe":               "<!-- llm-gate:gr%C3%B6%C3%9Fe -->",
		"a\n<!-- llm-gate:b ": "<!-- llm-gate:a%0A%3C%21-%2D%20llm-gate%3Ab%20 -->",
	} {
		if got := Marker(name); got != want {
			t.Errorf("Marker(%q) = %q, want %q", name, got, want)
		}
	}
}

func FuzzMarker(f *testing.F) {
	f.Add("chat", "chat-8b")
	f.Add("-->", "%2D")
	f.Fuzz(func(t *testing.T, a, b string) {
		m := Marker(a)
		inside := strings.TrimSuffix(strings.TrimPrefix(m, "<!-- "), " -->")
		if strings.ContainsAny(inside, "<>\n\r ") || strings.Contains(inside, "--") {
			t.Errorf("Marker(%q) = %q", a, m)
		}
		if (a == b) != (m == Marker(b)) {
			t.Errorf("names %q and %q, markers %q and %q", a, b, m, Marker(b))
		}
	})
}

func TestMarked(t *testing.T) {
	m := Marker("chat-8b")
	for body, want := range map[string]bool{
		m + "\n## red":      true,
		"\r\n" + m:          true,
		"## red\n" + m:      false,
		"> " + m:            false,
		Marker("chat"):      false,
		Marker("chat-8b-2"): false,
		"":                  false,
	} {
		if got := marked(body, m); got != want {
			t.Errorf("marked(%q) = %v, want %v", body, got, want)
		}
	}
}

func TestParseWhen(t *testing.T) {
	for in, want := range map[string]When{"": Always, "always": Always, "problems": Problems, "never": Never} {
		if got, err := ParseWhen(in); err != nil || got != want {
			t.Errorf("ParseWhen(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	if _, err := ParseWhen("sometimes"); err == nil || !strings.Contains(err.Error(), "always, problems, never") {
		t.Errorf("error = %v, want one that lists the known words", err)
	}
}
