package report

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// zeroWidth breaks up what a Markdown renderer would turn into a link, a
// mention or an emoji after it has resolved all escapes.
const zeroWidth = "\u200b"

// How many characters of a foreign text are shown.
const (
	nameLimit  = 120
	proseLimit = 1000
	longest    = 1 << 16 // bytes looked at
)

// plain returns s as one line of at most limit characters without anything
// that a terminal or a log could take for an instruction: no control,
// formatting or bidirectional characters, no line breaks, no workflow command.
func plain(s string, limit int) string {
	if len(s) > longest {
		s = s[:longest]
	}
	var b strings.Builder
	space := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r) || r == '\u2028' || r == '\u2029':
			space = b.Len() > 0
			continue
		case unicode.Is(unicode.C, r) || r == '\u034f' || r == '\u3164':
			continue // control, formatting (bidi, zero width, tags), private use
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	s = commands.Replace(commands.Replace(b.String()))
	if utf8.RuneCountInString(s) > limit {
		s = string([]rune(s)[:limit-1]) + "…"
	}
	return s
}

// commands defuses the two spellings of a workflow command of a runner's log.
var commands = strings.NewReplacer("::", ": :", "##[", "## [")

// markdown returns s as inert Markdown text for any place within a line, table
// cells included.
func markdown(s string) string { return escapeMarkdown(plain(s, proseLimit)) }

// prose is markdown for sentences written by the judge, in which a pair of
// backticks marks a command. What is in it stays inert.
func prose(s string) string {
	parts := strings.Split(plain(s, proseLimit), "`")
	if len(parts)%2 == 0 {
		return escapeMarkdown(strings.Join(parts, "'"))
	}
	for i, part := range parts {
		if i%2 == 0 {
			parts[i] = escapeInner(part, i == 0, `\`)
		} else {
			parts[i] = code(part)
		}
	}
	return strings.Join(parts, "")
}

func escapeMarkdown(s string) string { return escapeInner(s, true, `\`) }

// summary returns s as inert text for a <summary>, where GitHub reads HTML and
// no Markdown, but still looks for mentions and links.
func summary(s string) string { return escapeInner(plain(s, proseLimit), false, "") }

// escapeInner escapes s, which plain made one line. opens says that it may
// stand at the start of a block, where lists and headings are recognised; escape
// is what stands before a character of Markdown's.
func escapeInner(s string, opens bool, escape string) string {
	var b strings.Builder
	for i, r := range s {
		rest := s[i+utf8.RuneLen(r):]
		switch r {
		case '&':
			b.WriteString("&amp;")
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '@', '#':
			b.WriteString(escape)
			b.WriteRune(r)
			b.WriteString(zeroWidth)
		case '\\', '`', '*', '_', '[', ']', '~', '|', '$':
			b.WriteString(escape)
			b.WriteRune(r)
		case ':':
			b.WriteRune(r)
			if strings.HasPrefix(rest, "/") || shortcode(rest) {
				b.WriteString(zeroWidth)
			}
		case '.':
			if opens && allDigits(s[:i]) && marker(rest) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
			if i >= 3 && strings.EqualFold(s[i-3:i], "www") {
				b.WriteString(zeroWidth)
			}
		case ')':
			if opens && allDigits(s[:i]) && marker(rest) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		case '-', '+', '=':
			if opens && i == 0 && (marker(rest) || rest[0] == byte(r)) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
			if r == '-' && i >= 2 && strings.EqualFold(s[i-2:i], "gh") {
				b.WriteString(zeroWidth)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// shortcode reports whether s goes on like ":tada:" after its first colon.
func shortcode(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == ':' {
			return i > 0
		}
		if c != '_' && c != '+' && c != '-' && !alphanumeric(c) {
			return false
		}
	}
	return false
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// marker reports whether a list marker may end here: before a space or the end.
func marker(rest string) bool { return rest == "" || rest[0] == ' ' }

func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// code returns s as an inline code span, or as inert text where a character of
// it could end the span or the table cell around it.
func code(s string) string {
	s = plain(s, nameLimit*2)
	if s == "" {
		return ""
	}
	for _, r := range s {
		if r < 0x80 && !alphanumeric(byte(r)) && !strings.ContainsRune(" ._:/+=,-%()'\"#?", r) {
			return escapeMarkdown(s)
		}
	}
	return "`" + s + "`"
}

// fenced returns s as a fenced block that nothing in s can end. Lines are kept.
func fenced(s string) string {
	var lines []string
	fence := "```"
	for line := range strings.Lines(s) {
		line = plain(line, 4000)
		for strings.Contains(line, fence) {
			fence += "`"
		}
		lines = append(lines, line)
	}
	return fence + "sh\n" + strings.Join(lines, "\n") + "\n" + fence + "\n"
}

// link returns a Markdown link to address with a code span as its text; only
// the text where the address is not http or https.
func link(text, address string) string {
	shown := code(text)
	safe := safeURL(address)
	if safe == "" || shown == "" {
		return shown
	}
	return "[" + shown + "](" + safe + ")"
}

// safeURL returns address in a form that can stand in a Markdown link, a table
// cell and an attribute; "" where it is not an absolute http or https address,
// or carries user information.
func safeURL(address string) string {
	if len(address) > 2000 || strings.ContainsFunc(address, func(r rune) bool { return unicode.Is(unicode.C, r) || unicode.IsSpace(r) }) {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return ""
	}
	return linkEscapes.Replace(u.String())
}

// linkEscapes percent-encodes what could end a Markdown link or cell.
var linkEscapes = strings.NewReplacer(
	"(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "[", "%5B", "]", "%5D", "|", "%7C", "`", "%60",
	`"`, "%22", "'", "%27", `\`, "%5C", "*", "%2A", "@", "%40", "$", "%24",
)
