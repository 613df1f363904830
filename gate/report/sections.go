package report

import (
	"fmt"
	"strings"

	"github.com/org/llm-gate/gate"
)

// section is one collapsed part of the Markdown report: a title that is not
// escaped, and a body in Markdown.
type section struct{ title, body string }

// sections returns the parts that hold something, the most asked for first.
func sections(v *gate.Verdict) []section {
	var out []section
	add := func(title, body string) {
		if body != "" {
			out = append(out, section{title, "\n" + body})
		}
	}
	add("Interval, samples and rule per check", evidence(v))
	add("Shown, not judged", shown(v))
	figures, byLoad := steps(v)
	title := "Latency by round"
	if byLoad {
		title = "Latency by load level"
	}
	add(title, latencies(figures, byLoad))
	add("Load generator: "+generatorText(v), generator(v))
	add(policyTitle(v), policy(v))
	add("Reproduce", reproduce(v))
	return out
}

func evidence(v *gate.Verdict) string {
	if len(v.Findings) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| | Change, 95 % each way | Rounds | Samples | Decided by | Why |\n|---|---:|---:|---:|---|---|\n")
	for _, f := range inOrder(v.Findings) {
		b.WriteString(row(lookOf(f.Status).mark+" "+markdown(findingTitle(f)), orElse(markdown(f.FormatInterval()), "–"),
			fmt.Sprint(f.Rounds), gate.FormatCount(f.Now.N), markdown(ruleText(f)), markdown(why(f))))
	}
	return b.String()
}

// ruleText is the rule that decided and how surely.
func ruleText(f gate.Finding) string {
	rule := orElse(strings.ReplaceAll(f.Rule, "_", " "), "no rule")
	switch {
	case f.Status == gate.Unknown:
		return rule
	case f.Certain:
		return rule + ", sure"
	}
	return rule + ", by estimate"
}

// why says in words what a finding rests on.
func why(f gate.Finding) string {
	parts := []string{}
	add := func(s string) {
		if s != "" {
			parts = append(parts, strings.TrimSuffix(s, "."))
		}
	}
	add(f.Reason)
	if f.Now.Null != "" && f.Now.Null != f.Reason {
		add("now: " + f.Now.Null)
	}
	if f.Now.Censored != "" && f.Now.SuccessOnly != nil {
		add("successes alone: " + gate.FormatValue(f.Unit, *f.Now.SuccessOnly))
	}
	if f.Baseline != nil && f.Baseline.Null != "" {
		add("baseline: " + f.Baseline.Null)
	}
	if f.Needs != "" {
		add("needs " + f.Needs)
	}
	if f.Now.Clamped > 0 {
		add(plural(f.Now.Clamped, "value") + " out of range")
	}
	return strings.Join(parts, "; ")
}

func shown(v *gate.Verdict) string {
	if len(v.Shown) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| | Baseline | Now | Change |\n|---|---:|---:|---:|\n")
	for _, f := range v.Shown {
		b.WriteString(row(markdown(findingTitle(f)), markdown(baselineText(f)), markdown(nowText(f)), markdown(gate.FormatChange(f))))
	}
	return b.String()
}

func latencies(figures []gate.StageFigures, byLoad bool) string {
	if len(figures) == 0 {
		return ""
	}
	var b strings.Builder
	if byLoad {
		b.WriteString(mermaid(figures))
	}
	b.WriteString("| | Offered | Sent | Failed | In flight (Little) | TTFT P50 | P95 | P99 | TPOT P95 | E2E P95 | P99 | Out tok/s |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, s := range figures {
		label := markdown(orElse(s.Label, "unnamed"))
		if s.Judged && byLoad {
			label += " (judged)"
		}
		q := func(kind string, level float64) string { return millis(quantile(s.Latencies[kind], level)) }
		failed := gate.FormatCount(s.Failed)
		if t := failuresText(s); t != "" && s.Failed > 0 {
			failed += " (" + markdown(t) + ")"
		}
		b.WriteString(row(label, optional(gate.PerSecond, s.OfferedPerS), gate.FormatCount(s.Sent), failed, inFlight(s),
			q("ttft", .5), q("ttft", .95), q("ttft", .99), q("tpot", .95), q("e2e", .95), q("e2e", .99), bare(s.OutputTokensPerS)))
	}
	return b.String()
}

// inFlight is the measured concurrency beside Little's prediction.
func inFlight(s gate.StageFigures) string {
	text := bare(&s.MeasuredConcurrency)
	if s.PredictedConcurrency != nil {
		text += " (" + bare(s.PredictedConcurrency) + ")"
	}
	return text
}

// bare writes a figure whose unit stands in the head of its column.
func bare(v *float64) string {
	if v == nil {
		return "–"
	}
	return strings.TrimSuffix(gate.FormatValue(gate.TokensPerS, *v), " tok/s")
}

func generator(v *gate.Verdict) string {
	g := v.Digest.Generator
	if !recorded(g) {
		return ""
	}
	var b strings.Builder
	b.WriteString("| Late sends P50 | P99 | Max | Collections | Longest pause | CPU | Heap peak |\n|---:|---:|---:|---:|---:|---:|---:|\n")
	b.WriteString(row(millis(g.LateP50MS), millis(g.LateP99MS), millis(g.LateMaxMS), fmt.Sprint(g.GCs),
		gate.FormatValue(gate.Milliseconds, g.GCPauseMaxMS), gate.FormatValue(gate.Ratio, g.CPURatio), gate.FormatValue(gate.MiB, g.HeapPeakMiB)))
	return b.String()
}

func policyTitle(v *gate.Verdict) string {
	title := "Policy"
	if v.Policy.Source != "" {
		title += ": " + v.Policy.Source
	}
	return title
}

func policy(v *gate.Verdict) string {
	var b strings.Builder
	if len(v.Policy.Checks) > 0 {
		b.WriteString("| Check | Allowed | Near | Veto | From |\n|---|---:|---:|---:|---|\n")
	}
	for _, r := range policyRows(v) {
		b.WriteString(row(markdown(r.title), markdown(r.allowed), markdown(r.near), markdown(r.veto), markdown(r.from)))
	}
	if s := policyText(v); s != "" {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(markdown(s) + "\n")
	}
	return b.String()
}

// policyRow is one check of the policy in words.
type policyRow struct{ title, allowed, near, veto, from string }

func policyRows(v *gate.Verdict) []policyRow {
	var out []policyRow
	for _, c := range v.Policy.Checks {
		m := metricFor(v, c)
		r := policyRow{title: c.Metric, allowed: orElse(gate.FormatAllowed(c, m), "–"), near: "–", veto: "–", from: string(c.Origin)}
		r.title += scope(gate.Finding{Scenario: c.Scenario, Stage: c.Stage})
		if c.Near != 0 {
			r.near = gate.FormatValue(m.Unit, c.Near)
		}
		if c.Veto != nil {
			r.veto = gate.FormatValue(m.Unit, *c.Veto)
		}
		if c.Pos != "" {
			r.from = c.Pos
		}
		out = append(out, r)
	}
	return out
}

// metricFor finds the unit and direction of a check: from its finding, else
// from the catalogue.
func metricFor(v *gate.Verdict, c gate.Check) gate.Metric {
	for _, f := range v.Findings {
		if f.Metric == c.Metric {
			return metricOf(f)
		}
	}
	m, _ := gate.Lookup(c.Metric)
	return m
}

func policyText(v *gate.Verdict) string {
	p := v.Policy
	var parts []string
	if p.Profile != "" {
		parts = append(parts, "profile "+p.Profile)
	}
	if p.FailOn != "" {
		parts = append(parts, "fails on "+string(p.FailOn))
	}
	if p.NotJudged != "" {
		parts = append(parts, "what cannot be judged: "+string(p.NotJudged))
	}
	if p.Keep > 0 {
		parts = append(parts, fmt.Sprintf("history of %d runs", p.Keep))
	}
	if p.MaxAge > 0 {
		parts = append(parts, fmt.Sprintf("none older than %.0f days", p.MaxAge.Hours()/24))
	}
	if len(p.RequireSame) > 0 {
		parts = append(parts, "must be the same: "+strings.Join(p.RequireSame, ", "))
	}
	return strings.Join(parts, "; ")
}

func reproduce(v *gate.Verdict) string {
	var b strings.Builder
	if v.Provenance.Command != "" {
		b.WriteString(fenced(v.Provenance.Command))
	}
	for _, fact := range reproduceFacts(v) {
		b.WriteString("- " + fact[0] + ": " + code(fact[1]) + "\n")
	}
	return b.String()
}

// reproduceFacts are the names and values that replay a run, unescaped.
func reproduceFacts(v *gate.Verdict) [][2]string {
	var out [][2]string
	add := func(name, value string) {
		if value != "" {
			out = append(out, [2]string{name, value})
		}
	}
	add("workload", v.Digest.Workload)
	if v.Digest.Seed != 0 {
		add("seed", fmt.Sprint(v.Digest.Seed))
	}
	add("nonce", v.Digest.Nonce)
	add("workload hash", v.Conditions.Workload)
	add("config hash", v.Provenance.ConfigHash)
	add("result", v.ResultID)
	return out
}
