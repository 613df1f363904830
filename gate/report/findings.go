package report

import (
	"math"
	"slices"
	"strings"

	"github.com/org/llm-gate/gate"
)

// severity orders findings in a report: what blocks first, what passes last.
var severity = map[gate.Status]int{
	gate.Veto: 0, gate.Fail: 1, gate.Unknown: 2, gate.Near: 3, gate.Undecided: 4, gate.Pass: 5,
}

// inOrder returns the findings with failures first, else in policy order.
func inOrder(findings []gate.Finding) []gate.Finding {
	out := slices.Clone(findings)
	slices.SortStableFunc(out, func(a, b gate.Finding) int { return severity[a.Status] - severity[b.Status] })
	return out
}

// look is how a status is drawn.
type look struct {
	mark  string // Markdown
	word  string // terminal, three characters at most
	long  string // HTML
	class string
}

func lookOf(s gate.Status) look {
	switch s {
	case gate.Veto:
		return look{"🔴", "BAD", "veto", "red"}
	case gate.Fail:
		return look{"🔴", "BAD", "fail", "red"}
	case gate.Near:
		return look{"🟡", "~~", "near", "yellow"}
	case gate.Undecided:
		return look{"🟡", "~~", "undecided", "yellow"}
	case gate.Pass:
		return look{"🟢", "ok", "pass", "green"}
	}
	return look{"⚪", "??", "unknown", "grey"}
}

// findingTitle names a finding with its scenario and stage in one line.
func findingTitle(f gate.Finding) string {
	return plain(orElse(f.Title, f.Metric, "unnamed check"), 80) + scope(f)
}

func findingID(f gate.Finding) string { return plain(orElse(f.Metric, f.Title, "?"), 80) + scope(f) }

func scope(f gate.Finding) string {
	s := ""
	if f.Scenario != "" {
		s += " · " + plain(f.Scenario, 40)
	}
	if f.Stage != "" {
		s += " · " + plain(f.Stage, 40)
	}
	return s
}

func metricOf(f gate.Finding) gate.Metric {
	return gate.Metric{ID: f.Metric, Unit: f.Unit, Direction: f.Direction}
}

func nowText(f gate.Finding) string { return gate.FormatMeasure(f.Unit, f.Now) }

func baselineText(f gate.Finding) string {
	if f.Baseline == nil {
		return "–"
	}
	return gate.FormatMeasure(f.Unit, *f.Baseline)
}

// changeText is the change in words with what the status adds to it.
func changeText(f gate.Finding) string {
	s := gate.FormatChange(f)
	switch f.Status {
	case gate.Unknown:
		if f.Now.V == nil && f.Now.Censored == "" {
			return "not measured"
		}
		if s == "–" || s == "new" {
			return "not compared"
		}
		return s + ", not judged"
	case gate.Near:
		return s + ", near the limit"
	case gate.Undecided:
		return s + ", not certain"
	case gate.Veto:
		return s + ", past the veto"
	}
	if f.Suspicious {
		s += ", suspiciously better"
	}
	return s
}

func allowedText(f gate.Finding) string {
	if f.Check == nil {
		return "–"
	}
	return orElse(gate.FormatAllowed(*f.Check, metricOf(f)), "–")
}

// phrase says a finding in half a sentence: "TTFT P95 19.2 % slower (182 ms →
// 217 ms, 15 % allowed)".
func phrase(f gate.Finding) string {
	if f.Now.V == nil && f.Now.Censored == "" {
		return findingTitle(f) + " not measured"
	}
	s := findingTitle(f)
	if f.Baseline != nil && f.Baseline.V != nil && f.Change != nil && f.Change.Value != nil {
		s += " " + gate.FormatChange(f) + " (" + fromTo(baselineText(f), nowText(f))
	} else {
		s += " " + nowText(f) + " ("
		if f.Baseline != nil {
			s += "was " + baselineText(f)
		} else {
			s += "no baseline"
		}
	}
	if a := allowedText(f); a != "–" {
		s += ", " + a + " allowed"
	}
	return s + ")"
}

// fromTo is "182 → 217 ms": a unit that both share stands once.
func fromTo(from, to string) string {
	figure, unit, ok := strings.Cut(from, " ")
	if _, other, _ := strings.Cut(to, " "); ok && unit == other {
		from = figure
	}
	return from + " → " + to
}

// used is the share of its limit that a finding has used up; ok is false where
// it cannot be told. 1 is at the limit.
func used(f gate.Finding) (share float64, ok bool) {
	if f.Check == nil || f.Now.V == nil {
		return 0, false
	}
	c := f.Check
	share = math.Inf(-1)
	if t := c.Tolerance; t != nil && t.Value > 0 && f.Change != nil && f.Change.Value != nil {
		worse := math.Abs(*f.Change.Value)
		if !f.Change.Worse {
			worse = -worse
		}
		share = worse / t.Value
	}
	if c.Max != nil && *c.Max > 0 {
		share = max(share, *f.Now.V/(*c.Max*(1-c.Guard)))
	}
	if c.Min != nil && *f.Now.V > 0 {
		share = max(share, *c.Min*(1+c.Guard)/(*f.Now.V))
	}
	return share, finite(share)
}

// worst finds the finding closest to its limit.
func worst(findings []gate.Finding) (gate.Finding, bool) {
	var found gate.Finding
	best, any := math.Inf(-1), false
	for _, f := range findings {
		if share, ok := used(f); ok && share > best {
			found, best, any = f, share, true
		}
	}
	return found, any
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
