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
	kept := markdown
	for {
		end := strings.LastIndexByte(strings.TrimSuffix(kept, "\n"), '\n')
		if end < 0 {
			break
		}
		kept = kept[:end+1]
		if over := size(kept) - limit; over > 1<<12 {
			// Far past the limit: no line shorter than that can help.
			kept = kept[:len(kept)-over/2]
			continue
		}
		if whole := kept + closing(kept) + cutNote; size(whole) <= limit {
			return whole
		}
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
