package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/org/llm-gate/gate"
)

// TerminalOptions say how Terminal writes.
type TerminalOptions struct {
	// Color adds ANSI colours. Every word reads without them.
	Color bool
	// Width is the number of columns to stay within, 40–100; 0 means 100.
	Width int
	// ReportPath is where the HTML report lies, "" where there is none.
	ReportPath string
}

const (
	maxWidth = 100
	minWidth = 40
	labelGap = 9 // the column of "changed  ", "next     "
)

// Terminal writes the verdict for a terminal or a log, the answer last.
func Terminal(w io.Writer, v *gate.Verdict, opts TerminalOptions) error {
	v = prepared(v)
	t := terminal{v: v, color: opts.Color, width: min(max(opts.Width, minWidth), maxWidth)}
	if opts.Width <= 0 {
		t.width = maxWidth
	}
	t.heading()
	if err := t.checks(); err != nil {
		return err
	}
	t.answer()
	t.closing(opts.ReportPath)
	return write(w, t.out.Bytes())
}

type terminal struct {
	v     *gate.Verdict
	color bool
	width int
	out   bytes.Buffer
}

func (t *terminal) heading() {
	v := t.v
	parts := []string{strings.TrimSpace("llm-gate " + v.Tool.Version)}
	for _, s := range []string{v.Name, v.Subject.Model, engineText(v), gpuText(v)} {
		if s = plain(s, 60); s != "" {
			parts = append(parts, s)
		}
	}
	t.line("", plain(strings.Join(parts, " · "), 400))
	if len(v.Against.Runs) > 0 {
		newest := v.Against.Runs[0]
		text := runsText(v) + ", newest " + referenceName(newest)
		if a := ago(v, newest.RecordedAt); a != "" {
			text += " (" + a + ")"
		}
		t.line("baseline", text)
	} else {
		t.line("baseline", "none to compare with")
	}
	if v.Digest.Workload != "" {
		t.line("load", v.Digest.Workload)
	}
}

// checks writes the table of findings, failures first.
func (t *terminal) checks() error {
	findings := inOrder(t.v.Findings)
	if len(findings) == 0 {
		return nil
	}
	var b bytes.Buffer
	table := tablewriter.NewTable(&b,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone, Symbols: tw.NewSymbols(tw.StyleNone),
			Settings: tw.Settings{Lines: tw.LinesNone, Separators: tw.SeparatorsNone},
		})),
		tablewriter.WithEastAsian(tw.Off),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithConfig(tablewriter.Config{Header: columns(), Row: columns()}),
	)
	table.Header("", "", "baseline", "now", "change", "allowed", "")
	for _, f := range findings {
		if err := table.Append(lookOf(f.Status).word, plain(findingID(f), t.width/3), baselineText(f), nowText(f),
			gate.FormatChangeSigned(f), signedAllowed(f), note(f)); err != nil {
			return fmt.Errorf("draw the table of checks: %w", err)
		}
	}
	if err := table.Render(); err != nil {
		return fmt.Errorf("draw the table of checks: %w", err)
	}
	t.out.WriteByte('\n')
	for i, line := range strings.Split(strings.TrimRight(b.String(), "\n"), "\n") {
		line = clip(strings.TrimRight(line, " "), t.width)
		if i > 0 && i <= len(findings) {
			l := lookOf(findings[i-1].Status)
			line = t.paint(l.class, l.word) + strings.TrimPrefix(line, l.word)
		}
		t.out.WriteString(line + "\n")
	}
	return nil
}

// columns is the layout of the table: words left, figures right, two spaces
// between.
func columns() tw.CellConfig {
	left, right := tw.Padding{Right: " ", Overwrite: true}, tw.Padding{Left: " ", Right: " ", Overwrite: true}
	return tw.CellConfig{
		Formatting: tw.CellFormatting{AutoFormat: tw.Off, AutoWrap: tw.WrapNone},
		Alignment:  tw.CellAlignment{PerColumn: []tw.Align{tw.AlignLeft, tw.AlignLeft, tw.AlignRight, tw.AlignRight, tw.AlignRight, tw.AlignRight, tw.AlignLeft}},
		Padding:    tw.CellPadding{Global: right, PerColumn: []tw.Padding{left, left, right, right, right, right, right}},
	}
}

func signedAllowed(f gate.Finding) string {
	if f.Check == nil {
		return "–"
	}
	return plain(orElse(gate.FormatAllowedSigned(*f.Check, metricOf(f)), "–"), 40)
}

// note says how sure a finding is, or why there is none.
func note(f gate.Finding) string {
	interval := f.FormatInterval()
	switch {
	case f.Status == gate.Unknown && f.Rule == "no_baseline":
		return "no baseline yet"
	case f.Status == gate.Unknown:
		return plain(orElse(f.Reason, f.Now.Null, "could not be measured"), 80)
	case f.Status == gate.Near:
		return "near the limit"
	case f.Status == gate.Undecided && interval != "":
		return "not certain: " + interval
	case f.Suspicious:
		return "suspiciously better"
	case (f.Status == gate.Fail || f.Status == gate.Veto) && interval != "" && f.Certain:
		return "sure: " + interval
	case (f.Status == gate.Fail || f.Status == gate.Veto) && interval != "":
		return "by estimate: " + interval
	case f.Now.Censored != "" && f.Now.SuccessOnly != nil:
		return "successes alone " + gate.FormatValue(f.Unit, *f.Now.SuccessOnly)
	}
	return ""
}

// answer writes what the table comes to.
func (t *terminal) answer() {
	f := faceOf(t.v)
	text := f.title
	if f.word == "NOT JUDGED" {
		text = strings.TrimPrefix(text, "not judged, ") // the word says it
	}
	if text == "not judged" {
		text = "no verdict on this deployment"
	}
	if h := headline(t.v); h != "" {
		if conclusionOf(t.v) == gate.Yellow {
			text = strings.TrimSuffix(strings.TrimSuffix(text, lookAt(t.v)), ": ") // the headline names the checks
		}
		switch {
		case text != "" && conclusionOf(t.v) == gate.Green:
			text += ". "
		case text != "":
			text += ": "
		}
		text += strings.ReplaceAll(h, "`", "")
	} else if w, ok := worst(t.v.Findings); ok && conclusionOf(t.v) == gate.Green {
		text += ". Worst: " + findingTitle(w) + " " + gate.FormatChange(w)
	}
	t.out.WriteByte('\n')
	indent := max(len(f.word)+2, labelGap)
	lines := wrap(plain(text, proseLimit), t.width-indent)
	for i, line := range lines {
		if i == 0 {
			t.out.WriteString(t.paint(f.class, f.word) + strings.Repeat(" ", indent-len(f.word)) + line + "\n")
			continue
		}
		t.out.WriteString(strings.Repeat(" ", indent) + line + "\n")
	}
	t.line("", t.v.Certainty)
	for _, r := range reasons(t.v) {
		t.line("why", r)
	}
	for _, d := range t.v.Differing {
		t.line("differs", difference(t.v, d))
	}
	if c := changed(t.v); len(c) > 0 {
		t.line("changed", strings.Join(c, ", "))
	}
	for _, a := range alerts(t.v) {
		t.line("note", noteStart(a.label)+strings.ReplaceAll(a.text, "`", ""))
	}
	for _, n := range next(t.v) {
		t.line("next", strings.ReplaceAll(n, "`", ""))
	}
}

func (t *terminal) closing(path string) {
	exit := fmt.Sprintf("exit %d", t.v.ExitCode)
	if path = plain(path, 300); path == "" {
		t.out.WriteString(exit + "\n")
		return
	}
	left := fmt.Sprintf("%-*s%s", labelGap, "report", path)
	gap := max(2, min(t.width, 66)-utf8.RuneCountInString(left)-len(exit))
	t.out.WriteString(left + strings.Repeat(" ", gap) + exit + "\n")
}

// line writes a label and its text, wrapped under itself. No text, no line.
func (t *terminal) line(label, text string) {
	if text = plain(text, proseLimit); text == "" {
		return
	}
	indent := labelGap
	if label == "" && t.out.Len() == 0 {
		indent = 0
	}
	label = fmt.Sprintf("%-*s", indent, label)
	for i, line := range wrap(text, t.width-indent) {
		if i > 0 {
			label = strings.Repeat(" ", indent)
		}
		t.out.WriteString(strings.TrimRight(label+line, " ") + "\n")
	}
}

// paint colours a word where colours are asked for.
func (t *terminal) paint(class, word string) string {
	codes := map[string]string{"red": "1;31", "yellow": "1;33", "green": "1;32", "grey": "1;90"}
	if c := codes[class]; t.color && c != "" {
		return "\x1b[" + c + "m" + word + "\x1b[0m"
	}
	return word
}

// wrap breaks s at spaces into lines of at most width characters; a longer
// word is cut.
func wrap(s string, width int) []string {
	var lines []string
	line, n := "", 0
	for _, word := range strings.Fields(s) {
		for utf8.RuneCountInString(word) > width {
			if n > 0 {
				lines, line, n = append(lines, line), "", 0
			}
			r := []rune(word)
			lines, word = append(lines, string(r[:width])), string(r[width:])
		}
		size := utf8.RuneCountInString(word)
		if n > 0 && n+1+size > width {
			lines, line, n = append(lines, line), "", 0
		}
		if n > 0 {
			line += " "
			n++
		}
		line += word
		n += size
	}
	if n > 0 {
		lines = append(lines, line)
	}
	return lines
}

// clip cuts s to width characters.
func clip(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:width-1]), " ") + "…"
}

// noteStart leads into an alert in the column of labels.
func noteStart(label string) string {
	if label == "Note" {
		return ""
	}
	return strings.ToLower(label) + ": "
}
