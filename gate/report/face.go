package report

import (
	"fmt"
	"strings"

	"github.com/org/llm-gate/gate"
)

// face is what a report leads with: how the verdict looks at a glance.
type face struct {
	mark  string // the coloured circle of Markdown
	word  string // the word that says the same without colour: "RED"
	class string // the class of the HTML page: "red"
	title string // what it means for the promotion: "promotion blocked"
}

// faceOf chooses the face. Whatever is not known for certain is not judged.
func faceOf(v *gate.Verdict) face {
	switch conclusionOf(v) {
	case gate.Red:
		f := face{"🔴", "RED", "red", "promotion blocked"}
		if v.Observing {
			f.title = "would be red (observing, nothing is blocked)"
		} else if !v.Blocked {
			f.title = "worse than allowed, not blocked"
		}
		return f
	case gate.Green:
		f := face{"🟢", "GREEN", "green", "safe to promote"}
		if v.Observing {
			f.title = "would be green (observing)"
		}
		return f
	case gate.Yellow:
		f := face{"🟡", "YELLOW", "yellow", lookAt(v)}
		if v.Observing {
			f.title = "would be yellow (observing): " + f.title
		} else if v.Blocked {
			f.title = "promotion blocked: " + f.title
		}
		return f
	case gate.First:
		f := face{"🟡", "FIRST", "yellow", "first baseline recorded"}
		if v.Observing {
			f.title += " (observing)"
		}
		return f
	}
	f := face{"⚪", "NOT JUDGED", "grey", "not judged"}
	switch {
	case v.Observing && !v.Blocked:
		f.title = "would be not judged (observing, nothing is blocked)"
	case v.Blocked:
		f.title = "not judged, promotion blocked"
	case v.Policy.NotJudged == gate.WarnUnknown && contradiction(v) == "":
		f.mark, f.class = "🟡", "yellow"
		f.title = "not judged, let through with a warning"
	}
	return f
}

// lookAt names what makes a verdict yellow.
func lookAt(v *gate.Verdict) string {
	var names []string
	for _, f := range v.Findings {
		if f.Status == gate.Near || f.Status == gate.Undecided {
			names = append(names, findingTitle(f))
		}
	}
	switch len(names) {
	case 0:
		if len(v.Reasons) > 0 {
			return "not judged, let through with a warning"
		}
		return "safe to promote after a look"
	case 1, 2:
		return "look at " + strings.Join(names, " and ")
	}
	return fmt.Sprintf("look at %s, %s and %d more", names[0], names[1], len(names)-2)
}

// conclusionOf is the verdict's conclusion, or NotJudged where the findings
// contradict it: a report never shows green over a check that does not pass.
func conclusionOf(v *gate.Verdict) gate.Conclusion {
	if contradiction(v) != "" {
		return gate.NotJudged
	}
	return v.Conclusion
}

// contradiction says how the conclusion is better than its findings allow; ""
// where it is not.
func contradiction(v *gate.Verdict) string {
	switch v.Conclusion {
	case gate.Green, gate.Yellow, gate.First:
	default:
		return ""
	}
	if v.Conclusion == gate.Green && len(v.Findings) == 0 {
		return "the verdict says green and holds no check"
	}
	for _, f := range v.Findings {
		bad := f.Status == gate.Fail || f.Status == gate.Veto
		if v.Conclusion == gate.Green {
			bad = bad || f.Status == gate.Near || f.Status == gate.Undecided ||
				f.Status == gate.Unknown && (f.Check == nil || f.Check.Origin != gate.FromProfile)
		}
		if bad {
			return fmt.Sprintf("the verdict says %s and its check %s says %s", v.Conclusion, f.Metric, f.Status)
		}
	}
	return ""
}

// reasons says why nothing was judged.
func reasons(v *gate.Verdict) []string {
	out := v.Reasons
	if c := contradiction(v); c != "" {
		out = append([]string{c}, out...)
	}
	if len(out) == 0 && conclusionOf(v) == gate.NotJudged {
		for _, f := range v.Findings {
			if f.Status == gate.Unknown {
				out = append(out, findingTitle(f)+": "+orElse(f.Reason, f.Now.Null, "could not be measured"))
			}
		}
		if len(out) == 0 && v.Headline == "" {
			out = []string{"nothing was measured and compared"}
		}
	}
	return out
}

// next says what to do; a blocked promotion is never left without a way on.
func next(v *gate.Verdict) []string {
	if len(v.Next) > 0 {
		return v.Next
	}
	switch conclusionOf(v) {
	case gate.Red:
		return []string{"see what changed below, fix it and push again"}
	case gate.NotJudged:
		return []string{"remove the reason above and run the gate again"}
	case gate.Yellow:
		return []string{"look at the checks above; another run adds evidence"}
	}
	return nil
}

// headline is the judge's, or one made from the worst findings.
func headline(v *gate.Verdict) string {
	if h := strings.TrimSpace(v.Headline); h != "" && contradiction(v) == "" {
		return h
	}
	switch conclusionOf(v) {
	case gate.Red, gate.Yellow:
		var parts []string
		for _, f := range inOrder(v.Findings) {
			if f.Status != gate.Pass && f.Status != gate.Unknown && len(parts) < 3 {
				parts = append(parts, phrase(f))
			}
		}
		return strings.Join(parts, ", ")
	}
	return ""
}

// Line says the verdict in one inert line for outputs, annotations and logs:
// "red: TTFT P95 19.2 % slower (182 ms → 217 ms, 15 % allowed)". It is at most
// 400 characters long, never empty, and holds no line break, no workflow
// command, and none of the characters that make a shell expand, quote, pipe or
// redirect.
func Line(v *gate.Verdict) string {
	v = prepared(v)
	start := strings.ReplaceAll(conclusionOf(v).String(), "_", " ")
	if v.Observing {
		start = "would be " + start
	}
	var parts []string
	switch conclusionOf(v) {
	case gate.NotJudged:
		parts = reasons(v)
		if len(parts) == 0 {
			parts = []string{v.Headline}
		}
	case gate.Green:
		if f, ok := worst(v.Findings); ok {
			parts = []string{"worst " + phrase(f)}
		}
	case gate.First:
		parts = []string{"first baseline recorded"}
	default:
		for _, f := range inOrder(v.Findings) {
			if f.Status != gate.Pass && f.Status != gate.Unknown && len(parts) < 3 {
				parts = append(parts, phrase(f))
			}
		}
		if len(parts) == 0 {
			parts = []string{v.Headline}
		}
	}
	if len(parts) == 0 || strings.Join(parts, "") == "" {
		return start
	}
	return plain(shellProof.Replace(start+": "+strings.Join(parts, ", ")), 400)
}

// shellProof replaces what a shell would act on: workflows put the line into
// scripts.
var shellProof = strings.NewReplacer("`", "’", "'", "’", `"`, "”", "$", "§", `\`, "/", ";", ",", "&", "+", "|", "/", "<", "‹", ">", "›", "\r", " ", "\n", " ")

func orElse(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}
