package publish

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	long := strings.Repeat("line\n", 40)
	for _, tt := range []struct {
		name, in string
		limit    int
		want     string
	}{
		{"fits", "## red\n", 7, "## red\n"},
		{"at a line", "## red\n" + long, 75, "## red\nline\nline\n" + cutNote},
		{"open details", "## red\n<details><summary>x</summary>\n" + long, 121, "## red\n<details><summary>x</summary>\nline\nline\n\n</details>\n" + cutNote},
		{"open code", "## red\n```mermaid\n" + long, 90, "## red\n```mermaid\nline\nline\n```\n" + cutNote},
		{"closed code", "```\nx\n```\n" + long, 75, "```\nx\n```\nline\n" + cutNote},
		{"details in code is text", "```\n<details>\n```\n" + long, 88, "```\n<details>\n```\nline\nline\n" + cutNote},
		{"one long line", strings.Repeat("x", 500), 100, cutNote},
		{"no room", long, 10, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := cut(tt.in, tt.limit, utf8.RuneCountInString); got != tt.want {
				t.Errorf("cut = %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzCut(f *testing.F) {
	f.Add("## red\n<details>\n```\nx\n", 60)
	f.Add(strings.Repeat("é\n", 4000), 100)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		got := cut(s, limit, utf8.RuneCountInString)
		if n := utf8.RuneCountInString(got); n > max(limit, 0) {
			t.Errorf("%d characters, limit %d", n, limit)
		}
	})
}
