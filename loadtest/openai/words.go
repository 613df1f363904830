package openai

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWords is the most bytes of text that a Detail or an error holds.
const maxWords = 300

// errorText finds the server's own words in an error body: error.message,
// error, message or detail (a text, or FastAPI's list of {msg}), whichever
// comes first; otherwise the body itself.
func errorText(body []byte) string {
	top, err := object(body)
	if err != nil {
		return string(body)
	}
	if inner, err := object(top["error"]); err == nil {
		if s := text(inner["message"]); s != "" {
			return s
		}
		return string(top["error"])
	}
	for _, name := range []string{"error", "message", "detail"} {
		if s := text(top[name]); s != "" {
			return s
		}
	}
	var list []struct {
		Loc []any  `json:"loc"`
		Msg string `json:"msg"`
	}
	if json.Unmarshal(top["detail"], &list) == nil && len(list) > 0 {
		var b strings.Builder
		for i, item := range list {
			if i > 0 {
				b.WriteString("; ")
			}
			for _, step := range item.Loc {
				if s, ok := step.(string); ok && s != "body" {
					b.WriteString(s + ": ")
				}
			}
			b.WriteString(item.Msg)
		}
		return b.String()
	}
	return string(body)
}

// words makes text from outside fit to be shown: secrets masked, control and
// format characters and runs of space as one space, valid UTF-8, at most
// maxWords bytes.
func words(s string, secrets []string) string {
	for _, secret := range secrets {
		s = strings.ReplaceAll(s, secret, "***")
	}
	var b strings.Builder
	space := false
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
		if b.Len() > maxWords {
			return cut(b.String(), maxWords)
		}
	}
	return b.String()
}

// cut shortens s to at most n bytes at a rune border, an ellipsis included.
func cut(s string, n int) string {
	const ellipsis = "…"
	if len(s) <= n {
		return s
	}
	n -= len(ellipsis)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + ellipsis
}
