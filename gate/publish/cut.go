package publish

import "strings"

const cutNote = "\n_Cut to fit; the whole report is among the run's files._\n"

// cut shortens Markdown to limit, measured by size, at the end of a line, and
// closes what is open there. It is the last resort behind a renderer that
// knows what matters least. "" means that not even the note fits.
func cut(markdown string, limit int, size func(string) int) string {
	if size(markdown) <= limit {
		return markdown
	}
	// A character has at least one byte, so that many bytes less are never too
	// many; what is closed at the end shrinks with the text, so its share goes
	// by and by.
	drop := max(1, size(markdown)+size(cutNote)-limit)
	for kept := markdown; drop < len(kept); {
		kept = kept[:strings.LastIndexByte(kept[:len(kept)-drop], '\n')+1]
		whole := kept + closing(kept) + cutNote
		over := size(whole) - limit
		if over <= 0 && kept != "" {
			return whole
		}
		drop = max(1, over/4)
	}
	if size(cutNote) <= limit {
		return cutNote
	}
	return ""
}

// closing ends the code block and the <details> that are open at the end of
// the text.
func closing(markdown string) string {
	fence, details := "", 0
	for l := range strings.Lines(markdown) {
		l = strings.TrimSpace(l)
		mark := l[:len(l)-len(strings.TrimLeft(l, "`"))]
		switch {
		case fence == "" && len(mark) >= 3:
			fence = mark
		case fence != "" && len(mark) >= len(fence) && mark == l:
			fence = ""
		case fence == "":
			details += strings.Count(l, "<details") - strings.Count(l, "</details>")
		}
	}
	var b strings.Builder
	if fence != "" {
		b.WriteString(fence + "\n")
	}
	for range details {
		b.WriteString("\n</details>\n")
	}
	return b.String()
}
