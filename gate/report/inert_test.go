package report

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestPlain(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		limit    int
		want     string
	}{
		{"words", "chat-8b", 10, "chat-8b"},
		{"lines", "a\r\nb\n\n\tc  d", 100, "a b c d"},
		{"line separators", "a\u2028b\u2029c", 100, "a b c"},
		{"escape sequence", "\x1b[31mred\x1b[0m", 100, "[31mred[0m"},
		{"bidi and zero width", "a\u202eb\u2066c\u200bd\ufeffe", 100, "abcde"},
		{"tag characters", "a\U000e0041b", 100, "ab"},
		{"workflow command", "::set-output name=x::y", 100, ": :set-output name=x: :y"},
		{"many colons", ":::::", 100, ": : : : :"},
		{"command split by a control", ":\x00:error", 100, ": :error"},
		{"old command", "##[error]x", 100, "## [error]x"},
		{"not UTF-8", "a\xffb", 100, "a\ufffdb"},
		{"cut", "abcdefgh", 4, "abc…"},
		{"fits", "abcd", 5, "abcd"},
		{"only space", " \n\t ", 5, ""},
	} {
		if got := plain(tt.in, tt.limit); got != tt.want {
			t.Errorf("%s: plain(%q, %d) = %q, want %q", tt.name, tt.in, tt.limit, got, tt.want)
		}
	}
}

func TestMarkdownText(t *testing.T) {
	const z = zeroWidth
	for _, tt := range []struct{ name, in, want string }{
		{"plain words stay", "TTFT P95 is 19.2 % slower (+15 %)", "TTFT P95 is 19.2 % slower (+15 %)"},
		{"pipe", "a|b", `a\|b`},
		{"backtick", "a`b`", "a\\`b\\`"},
		{"link", "[x](http://e)", `\[x\](http:` + z + `//e)`},
		{"image", "![x](y)", `!\[x\](y)`},
		{"bare address", "https://e.example", "https:" + z + "//e.example"},
		{"bare host", "see www.e.example", "see www." + z + "e.example"},
		{"mention", "@team", `\@` + z + "team"},
		{"mail", "a@b.example", `a\@` + z + "b.example"},
		{"issue", "fixes #123 and org/x#4", `fixes \#` + z + `123 and org/x\#` + z + "4"},
		{"issue by prefix", "GH-12", "GH-" + z + "12"},
		{"html", "<b>&amp;</b>", "&lt;b&gt;&amp;amp;&lt;/b&gt;"},
		{"emphasis", "*a* _b_ ~c~", `\*a\* \_b\_ \~c\~`},
		{"math", "$x$", `\$x\$`},
		{"emoji", ":tada:", ":" + z + "tada:"},
		{"clock", "5:30", "5:30"},
		{"bullet", "- x", `\- x`},
		{"rule", "---", `\---`},
		{"negative number", "-19.4 pp", "-19.4 pp"},
		{"numbered", "12. x", `12\. x`},
		{"decimal", "9.1 ms", "9.1 ms"},
		{"heading", "# x", `\#` + z + " x"},
		{"backslash", `\|`, `\\\|`},
		{"newline", "a\n| b |", `a \| b \|`},
		{"fence", "```\nx", "\\`\\`\\` x"},
	} {
		if got := markdown(tt.in); got != tt.want {
			t.Errorf("%s: markdown(%q) = %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

func TestCodeAndProse(t *testing.T) {
	for _, tt := range []struct{ in, code, prose string }{
		{"a41c9e2", "`a41c9e2`", "a41c9e2"},
		{"a`b", "a\\`b", "a'b"},
		{"a|b", `a\|b`, `a\|b`},
		{"say `/llm-gate override` now", "say \\`/llm-gate override\\` now", "say `/llm-gate override` now"},
		{"`<b>|`", "\\`&lt;b&gt;\\|\\`", `&lt;b&gt;\|`},
		{"", "", ""},
	} {
		if got := code(tt.in); got != tt.code {
			t.Errorf("code(%q) = %q, want %q", tt.in, got, tt.code)
		}
		if got := prose(tt.in); got != tt.prose {
			t.Errorf("prose(%q) = %q, want %q", tt.in, got, tt.prose)
		}
	}
}

func TestSafeURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://github.com/org/chat/actions/runs/1": "https://github.com/org/chat/actions/runs/1",
		"http://127.0.0.1:8080/x?a=b&c=d":            "http://127.0.0.1:8080/x?a=b&c=d",
		"javascript:alert(1)":                        "",
		"data:text/html,x":                           "",
		"//evil.example/x":                           "",
		"https://user:secret@example.com/":           "",
		"https://e.example/a)b|c<d":                  "https://e.example/a%29b%7Cc%3Cd",
		"https://e.example/a b":                      "",
		"https://e.example/\nx":                      "",
		"":                                           "",
	} {
		if got := safeURL(in); got != want {
			t.Errorf("safeURL(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFenced(t *testing.T) {
	if got, want := fenced("a\n```\nb"), "````sh\na\n```\nb\n````\n"; got != want {
		t.Errorf("fenced = %q, want %q", got, want)
	}
}

// What a Markdown renderer acts on and inert text must not hold.
var (
	mention    = regexp.MustCompile(`@[A-Za-z0-9]`)
	issue      = regexp.MustCompile(`#[0-9]|(?i)\bgh-[0-9]`)
	address    = regexp.MustCompile(`(?i)://|www\.[a-z0-9]`)
	unescaped  = regexp.MustCompile("(^|[^\\\\])(\\\\\\\\)*[|`*_\\[\\]~$]")
	raw        = regexp.MustCompile(`[<>]`)
	entity     = regexp.MustCompile(`&(amp|lt|gt);`)
	blockStart = regexp.MustCompile(`^([-+] |[0-9]+[.)] |#|---)`)
)

func checkInert(t *testing.T, what, in, out string) {
	t.Helper()
	for name, re := range map[string]*regexp.Regexp{"mention": mention, "issue": issue, "address": address, "unescaped": unescaped, "HTML": raw, "block": blockStart} {
		if m := re.FindString(out); m != "" {
			t.Errorf("%s(%q) = %q holds a live %s: %q", what, in, out, name, m)
		}
	}
	if rest := entity.ReplaceAllString(out, ""); strings.Contains(rest, "&") {
		t.Errorf("%s(%q) = %q holds a live entity", what, in, out)
	}
	checkLine(t, what, in, out)
}

// checkLine checks what holds for every format: one line, no control.
func checkLine(t *testing.T, what, in, out string) {
	t.Helper()
	if strings.Contains(out, "::") || strings.Contains(out, "##[") {
		t.Errorf("%s(%q) = %q holds a workflow command", what, in, out)
	}
	for _, r := range strings.ReplaceAll(out, zeroWidth, "") {
		if unicode.Is(unicode.C, r) || r == '\u2028' || r == '\u2029' {
			t.Errorf("%s(%q) = %q holds the control character %U", what, in, out, r)
		}
	}
	if !utf8.ValidString(out) {
		t.Errorf("%s(%q) is not UTF-8", what, in)
	}
}

func FuzzInert(f *testing.F) {
	for _, s := range []string{nasty, "", ":::a:", "#@#@1", "a\\", "\\`", "1.", "www.www.x", "GH-GH-1", "``", "`a`b`", "&lt;", "https://a@b/", "ＷＷＷ.x", "gh\u200b-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		checkLine(t, "plain", in, plain(in, 80))
		checkInert(t, "markdown", in, markdown(in))
		if out := summary(in); raw.MatchString(out) || mention.MatchString(out) || issue.MatchString(out) || address.MatchString(out) {
			t.Errorf("summary(%q) = %q is live", in, out)
		}
		if out := code(in); !strings.HasPrefix(out, "`") {
			checkInert(t, "code", in, out)
		} else if strings.ContainsAny(out[1:len(out)-1], "`|<>@") {
			t.Errorf("code(%q) = %q can be broken out of", in, out)
		}
		if u := safeURL(in); u != "" && (strings.ContainsAny(u, "()<>| `\"'[]@\n\\") || !strings.HasPrefix(u, "http")) {
			t.Errorf("safeURL(%q) = %q can be broken out of", in, u)
		}
		inner := strings.TrimSuffix(fenced(in), "\n")
		fence, body, _ := strings.Cut(inner, "sh\n")
		if strings.Contains(strings.TrimSuffix(body, fence), fence) {
			t.Errorf("fenced(%q) = %q can be broken out of", in, inner)
		}
	})
}
