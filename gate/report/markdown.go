package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/org/llm-gate/gate"
)

// The lengths that GitHub takes, in bytes. The limit of a comment is meant in
// characters; counting bytes stays on the safe side of it.
const (
	CommentLimit = 65536
	SummaryLimit = 1024 * 1000
)

// rowLimit bounds the table that is always in sight; every check stands in the
// collapsed one.
const rowLimit = 40

// Markdown writes the verdict as a comment on GitHub shows it.
func Markdown(w io.Writer, v *gate.Verdict) error { return MarkdownLimit(w, v, CommentLimit) }

// MarkdownLimit is Markdown in at most limit bytes: detail is dropped from the
// end and the report says so, the verdict is never dropped. It fails where not
// even the verdict fits.
func MarkdownLimit(w io.Writer, v *gate.Verdict, limit int) error {
	v = prepared(v)
	doc := fullDocument(v)
	if conclusionOf(v) == gate.Green && !v.Observing {
		doc = shortDocument(v)
	}
	text, err := doc.fit(limit)
	if err != nil {
		return err
	}
	return write(w, []byte(text))
}

// document is a report in pieces, the most needed first. What does not fit is
// dropped from the end.
type document struct {
	title  string
	pieces []string
	// collapsed, where set, is the title of a block that holds the pieces from
	// the index fold on.
	collapsed string
	fold      int
}

const (
	cutNotice = "\n<sub>Cut here to fit; the report file holds the rest.</sub>\n"
	endBlock  = "\n</details>\n"
)

// fit puts the pieces together in at most limit bytes.
func (d document) fit(limit int) (string, error) {
	room := limit - len(d.title) - len(cutNotice) - len(d.opening())
	if d.collapsed != "" {
		room -= len(endBlock)
	}
	if room < 0 {
		return "", fmt.Errorf("write Markdown in %d bytes: the verdict alone needs %d", limit, limit-room)
	}
	var b strings.Builder
	b.WriteString(d.title)
	cut := false
	for i, piece := range d.pieces {
		if i == d.fold {
			b.WriteString(d.opening())
		}
		if room -= len(piece); room < 0 {
			cut = true
			if i < d.fold {
				b.WriteString(d.opening())
			}
			break
		}
		b.WriteString(piece)
	}
	if cut {
		b.WriteString(cutNotice)
	}
	if d.collapsed != "" {
		b.WriteString(endBlock)
	}
	return b.String(), nil
}

func (d document) opening() string {
	if d.collapsed == "" {
		return ""
	}
	return "\n<details><summary>" + d.collapsed + "</summary>\n"
}

// shortDocument is a green verdict: one line, and one collapsed block.
func shortDocument(v *gate.Verdict) document {
	f := faceOf(v)
	line := "**" + f.mark + " " + subjectLine(v) + " · " + f.title + ".**"
	if w, ok := worst(v.Findings); ok {
		line += " Worst: " + markdown(findingTitle(w)+" "+gate.FormatChange(w)) + " (" + markdown(allowedText(w)) + " allowed)."
	}
	if m := measuredText(v); m != "" {
		line += " " + m + "."
	}
	if g := gpuMinutes(v); g != "" {
		line += " " + g
	}
	d := document{title: line + "\n", collapsed: "Every check, and how it was measured"}
	for _, n := range alerts(v) {
		d.pieces = append(d.pieces, "\n**"+markdown(n.label)+":** "+prose(n.text)+"\n")
	}
	d.fold = len(d.pieces)
	d.pieces = append(d.pieces, "\n")
	d.pieces = append(d.pieces, table(v)...)
	d.pieces = append(d.pieces, context(v)...)
	for _, s := range sections(v) {
		d.pieces = append(d.pieces, "\n#### "+markdown(s.title)+"\n"+s.body)
	}
	return d
}

// fullDocument is every verdict that wants reading.
func fullDocument(v *gate.Verdict) document {
	f := faceOf(v)
	d := document{title: "## " + f.mark + " " + subjectLine(v) + " · " + markdown(f.title) + "\n"}
	if h := headline(v); h != "" {
		d.pieces = append(d.pieces, "**"+prose(h)+"**\n")
	}
	if c := v.Certainty; c != "" {
		d.pieces = append(d.pieces, prose(c)+"\n")
	}
	if rs := reasons(v); len(rs) > 0 {
		d.pieces = append(d.pieces, "\n**Why:**\n\n")
		for _, r := range rs {
			d.pieces = append(d.pieces, "- "+prose(r)+"\n")
		}
	}
	if len(v.Differing) > 0 {
		d.pieces = append(d.pieces, differing(v))
	}
	d.pieces = append(d.pieces, "\n")
	d.pieces = append(d.pieces, table(v)...)
	for _, n := range alerts(v) {
		d.pieces = append(d.pieces, "**"+markdown(n.label)+":** "+prose(n.text)+"\n\n")
	}
	d.pieces = append(d.pieces, context(v)...)
	for _, s := range sections(v) {
		d.pieces = append(d.pieces, "\n<details><summary>"+summary(s.title)+"</summary>\n"+s.body+endBlock)
	}
	return d
}

func subjectLine(v *gate.Verdict) string {
	if v.Name == "" {
		return "llm-gate"
	}
	return "llm-gate · " + escapeMarkdown(plain(v.Name, nameLimit))
}

// measuredText is "11 of 12 measured", "" where all were.
func measuredText(v *gate.Verdict) string {
	n := 0
	for _, f := range v.Findings {
		if f.Status != gate.Unknown {
			n++
		}
	}
	if n == len(v.Findings) {
		return ""
	}
	return fmt.Sprintf("%d of %d measured", n, len(v.Findings))
}

// table is the judged checks, failures first, one piece a row.
func table(v *gate.Verdict) []string {
	if len(v.Findings) == 0 {
		return nil
	}
	out := []string{"| | Baseline | Now | Change | Allowed |\n|---|---:|---:|---:|---:|\n"}
	findings := inOrder(v.Findings)
	for i, f := range findings {
		if i == rowLimit {
			out = append(out, fmt.Sprintf("| *and %s below* | | | | |\n", plural(int64(len(findings)-i), "check")))
			break
		}
		change := markdown(changeText(f))
		if f.Status == gate.Fail || f.Status == gate.Veto {
			change = "**" + change + "**"
		}
		out = append(out, row(lookOf(f.Status).mark+" "+markdown(findingTitle(f)),
			markdown(baselineText(f)), markdown(nowText(f)), change, markdown(allowedText(f))))
	}
	return append(out, "\n")
}

func row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

func differing(v *gate.Verdict) string {
	var b strings.Builder
	b.WriteString("\n| Differs | Baseline | Now |\n|---|---|---|\n")
	for _, d := range v.Differing {
		b.WriteString(row(markdown(fieldName(d.Field)), orElse(code(d.Baseline), "–"), orElse(code(d.Now), "–")))
	}
	return b.String()
}

// context is what changed, against what, what next, and where it ran.
func context(v *gate.Verdict) []string {
	var out []string
	if c := changedLine(v); c != "" {
		out = append(out, "**Changed:** "+c+"  \n")
	}
	out = append(out, "**Against:** "+againstLine(v)+"  \n")
	switch steps := next(v); len(steps) {
	case 0:
	case 1:
		out = append(out, "**Next:** "+prose(steps[0])+"  \n")
	default:
		out = append(out, "**Next:**\n\n")
		for _, s := range steps {
			out = append(out, "- "+prose(s)+"\n")
		}
		out = append(out, "\n")
	}
	if s := originLine(v); s != "" {
		out = append(out, "<sub>"+s+"</sub>\n")
	}
	return out
}

func changedLine(v *gate.Verdict) string {
	parts := changed(v)
	for i := range parts {
		parts[i] = markdown(parts[i])
	}
	line := strings.Join(parts, ", ")
	same := unchanged(v)
	if line == "" && len(same) > 0 {
		line = "nothing that the server tells"
	}
	if len(same) > 0 {
		line += ". Same " + markdown(strings.Join(same, ", "))
	}
	if line == "" {
		return ""
	}
	return line + "."
}

func againstLine(v *gate.Verdict) string {
	if len(v.Against.Runs) == 0 {
		if len(v.Differing) > 0 {
			return "no accepted run under these conditions."
		}
		return "no accepted run yet."
	}
	newest := v.Against.Runs[0]
	line := runsText(v) + ", newest " + link(referenceName(newest), newest.RunURL)
	if a := ago(v, newest.RecordedAt); a != "" {
		line += ", " + a
	}
	if a := v.Against.Anchor; a != nil {
		line += "; anchor " + link(referenceName(*a), a.RunURL)
	}
	return line + "."
}

// originLine is the small print: commit, image, attempt, cost, run.
func originLine(v *gate.Verdict) string {
	var parts []string
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	p := v.Provenance
	add(code(shortCommit(p.Commit)))
	if image := orElse(p.Image, v.Subject.Image); image != "" {
		add("image " + code(shortDigest(image)))
	}
	if p.Attempt > 0 {
		add(fmt.Sprintf("attempt %d", p.Attempt))
	}
	add(gpuMinutes(v))
	if u := safeURL(p.RunURL); u != "" {
		add("[run](" + u + ")")
	}
	if v.Tool.Version != "" {
		add("llm-gate " + markdown(v.Tool.Version))
	}
	return strings.Join(parts, " · ")
}
