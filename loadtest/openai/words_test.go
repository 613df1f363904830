package openai

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWords(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                            "plain",
		"a\r\n\tb\x00\x1b[31mc\u2028d ":    "a b [31mc d",
		"right\u202Eleft\u200Bzero":        "right left zero",
		"bad \xff\xfe end":                 "bad \uFFFD end",
		"the key sk-secret! and sk-secret": "the key ***! and ***",
		"":                                 "",
	} {
		if got := words(in, []string{"sk-secret"}); got != want {
			t.Errorf("words(%q) = %q, want %q", in, got, want)
		}
	}
	for _, r := range []string{"a", "é", "你", "🙂"} {
		got := words(strings.Repeat(r, 1000), nil)
		if len(got) > maxWords || len(got) < maxWords-8 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
			t.Errorf("1000 × %s: %d bytes, %q", r, len(got), got)
		}
	}
	// A secret that the cut would part is masked before.
	if got := words(strings.Repeat("x", 295)+"sk-secret", []string{"sk-secret"}); strings.Contains(got, "sk-") {
		t.Errorf("cut through a secret: %q", got)
	}
}

func TestErrorText(t *testing.T) {
	for in, want := range map[string]string{
		`{"error":{"message":"a","code":1}}`: "a",
		`{"error":{"code":1}}`:               `{"code":1}`,
		`{"error":"a"}`:                      "a",
		`{"message":"a"}`:                    "a",
		`{"detail":"a"}`:                     "a",
		`{"detail":[{"loc":["body","x",0],"msg":"a"},{"msg":"b"}]}`: "x: a; b",
		`{"other":1}`: `{"other":1}`,
		`text`:        "text",
		``:            "",
	} {
		if got := errorText([]byte(in)); got != want {
			t.Errorf("errorText(%s) = %q, want %q", in, got, want)
		}
	}
}

func FuzzWords(f *testing.F) {
	f.Add("HTTP 500: a\r\nb\u2028\xff")
	f.Fuzz(func(t *testing.T, in string) {
		got := words(in, []string{"sk-secret"})
		if len(got) > maxWords || !utf8.ValidString(got) || strings.ContainsAny(got, "\r\n\x00\x1b\u2028") {
			t.Errorf("words(%q) = %q", in, got)
		}
		errorText([]byte(in))
	})
}
