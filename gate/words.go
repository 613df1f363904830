package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/org/llm-gate/loadtest"
)

// label names a finding with its scenario and stage.
func (f Finding) label() string {
	out := f.Title
	if f.Scenario != "" {
		out += " of scenario " + f.Scenario
	}
	if f.Stage != "" {
		out += " in stage " + f.Stage
	}
	return out
}

// putInWords writes the headline, its certainty and what to do next.
func (j *judging) putInWords(v *Verdict, allFailed bool) {
	switch v.Conclusion {
	case Red:
		v.Headline, v.Certainty, v.Next = j.redWords(v, allFailed)
	case Yellow:
		if len(v.Reasons) > 0 { // not_judged: warn
			v.Next = j.notJudgedNext(v)
			break
		}
		v.Headline, v.Certainty, v.Next = j.yellowWords(v)
	case Green:
		v.Headline = greenHeadline(v.Findings)
	case First:
		v.Headline = fmt.Sprintf("%s, %s; %s.", j.roundsWords(), j.requestsWords(), firstLimits(v.Findings))
		v.Next = []string{"Nothing to do: this run becomes the baseline, the next one is compared with it."}
		if e := Measure(j.now.res, "error_rate", "", ""); e.V != nil && *e.V > 0 {
			v.Notes = append(v.Notes, fmt.Sprintf("%s of the requests of this first baseline failed.", FormatValue(Ratio, *e.V)))
		}
	case NotJudged:
		v.Next = j.notJudgedNext(v)
	}
	v.Headline += measuredWords(v.Findings)
	if len(j.runs) == 1 && v.Certainty != "" {
		v.Certainty += " One accepted run only: the spread between runs is assumed, not measured."
	}
}

// measuredWords says how many rows of a profile have a value: "11 of 12
// measured".
func measuredWords(findings []Finding) string {
	var rows, measured int
	for _, f := range findings {
		if f.Check == nil || f.Check.Origin != FromProfile {
			continue
		}
		rows++
		if f.Status != Unknown {
			measured++
		}
	}
	if measured == rows {
		return ""
	}
	return fmt.Sprintf(" %d of %d measured.", measured, rows)
}

func (j *judging) redWords(v *Verdict, allFailed bool) (headline, certainty string, next []string) {
	if allFailed {
		sc := j.now.scopes("", "").pooled
		sent, _, _ := sc.counts()
		return fmt.Sprintf("Every request failed: %s of %s.", failureSummary(sc), FormatCount(sent)) + j.onset(),
			"", []string{"Look at the server's log: after the preflight request not one answer arrived."}
	}
	var bad []Finding
	for _, f := range v.Findings {
		if f.Status == Fail || f.Status == Veto {
			bad = append(bad, f)
		}
	}
	if len(bad) == 0 { // three near
		for _, f := range v.Findings {
			if f.Status == Near {
				bad = append(bad, f)
			}
		}
		headline = plural(len(bad), "check") + " are near their targets, which is red together. "
	}
	headline += j.sentences(bad)
	lead := bad[0]
	for _, f := range bad {
		if f.Certain {
			lead = f
			break
		}
	}
	rounds := fmt.Sprintf("%s, %s", plural(max(lead.Rounds, 1), "round"), j.requestsWords())
	interval, about := lead.FormatInterval(), ""
	if len(bad) > 1 && lead.Metric != j.first(bad).Metric {
		about = " (" + lead.label() + ")"
	}
	switch {
	case lead.Certain && interval != "" && lead.Rule == "tolerance":
		certainty = fmt.Sprintf("Not noise%s: %s, 95 %% interval %s.", about, rounds, interval)
	case lead.Certain:
		certainty = fmt.Sprintf("Not noise%s: %s.", about, rounds)
	case interval != "" && lead.Rule == "tolerance":
		certainty = fmt.Sprintf("Not certain: %s, 95 %% interval %s reaches back within the limit.", rounds, interval)
	default:
		certainty = fmt.Sprintf("Not certain: %s.", rounds)
	}
	if len(v.Changed) > 0 {
		next = append(next, "Look at what changed: "+inWords(v.Changed)+".")
	}
	if lead.Certain {
		return headline, certainty, append(next, "Fix the cause and run again: more load will not change this.")
	}
	if lead.Needs != "" {
		next = append(next, "To be certain: "+lead.Needs+".")
	}
	return headline, certainty, append(next, "Run again, or fix the cause.")
}

// sentences tells the findings, latencies first, a likely cause joined on.
func (j *judging) sentences(bad []Finding) string {
	var latencies, others, causes []Finding
	slow, censored := false, false
	seen := map[string]bool{}
	for _, f := range bad {
		// A stand-in repeats a check, and failures censor every latency alike.
		if seen[f.Metric+f.Stage+f.Scenario] || censored && f.Now.Censored != "" {
			seen[f.Metric+f.Stage+f.Scenario] = true
			continue
		}
		seen[f.Metric+f.Stage+f.Scenario] = true
		censored = censored || f.Now.Censored != ""
		switch {
		case f.Unit == Milliseconds:
			latencies = append(latencies, f)
			slow = slow || f.Change != nil && f.Change.Worse
		case f.Metric == "kv_hit_rate" && f.Change != nil && f.Change.Worse:
			causes = append(causes, f)
		default:
			others = append(others, f)
		}
	}
	if !slow {
		others, causes = append(causes, others...), nil
	}
	const most = 3
	var out []string
	told := 0
	for _, f := range slices.Concat(latencies, others) {
		if told == most-len(causes) {
			break
		}
		out = append(out, j.sentence(f)+".")
		told++
	}
	for _, f := range causes {
		out = append(out, trimLimit(j.sentence(f))+", the likely cause.")
		told++
	}
	if rest := len(latencies) + len(others) + len(causes) - told; rest == 1 {
		out = append(out, "And 1 more check fails.")
	} else if rest > 1 {
		out = append(out, fmt.Sprintf("And %d more checks fail.", rest))
	}
	if len(latencies) > 0 && latencies[0].Now.Censored != "" || len(others) > 0 && others[0].Metric == "error_rate" {
		if onset := j.onset(); onset != "" {
			out = append(out, strings.TrimSpace(onset))
		}
	}
	return strings.Join(out, " ")
}

// first is the finding that the sentences begin with.
func (j *judging) first(bad []Finding) Finding {
	for _, f := range bad {
		if f.Unit == Milliseconds {
			return f
		}
	}
	return bad[0]
}

func trimLimit(s string) string {
	if i := strings.LastIndex(s, " (limit "); i > 0 {
		return s[:i]
	}
	return s
}

// sentence tells one finding: "First token is 19 % slower (P95 182 → 217 ms,
// limit +15 %)".
func (j *judging) sentence(f Finding) string {
	m, _ := Lookup(f.Metric)
	noun := m.noun
	if noun == "" {
		noun = m.Title
	}
	if f.Scenario != "" {
		noun += " of " + f.Scenario
	}
	level := strings.TrimPrefix(m.Title[max(strings.LastIndex(m.Title, " "), 0):], " ")
	if m.family == "" {
		level = ""
	}
	is := "is"
	if strings.HasSuffix(m.noun, "s") {
		is = "are"
	}
	switch {
	case f.Now.Censored != "":
		sc := j.now.scopes(f.Stage, f.Scenario).pooled
		sent, failed, _ := sc.counts()
		return fmt.Sprintf("%s %s is above timeout: %s of %s requests failed (%s)", noun, level, FormatCount(failed), FormatCount(sent), failureSummary(sc))
	case f.Rule == "veto":
		return fmt.Sprintf("%s %s %s, past the veto of %s", strings.TrimSpace(noun+" "+level), is, FormatMeasure(f.Unit, f.Now), limitText(f.Unit, *f.Check.Veto))
	case f.Rule != "tolerance":
		check := *f.Check
		check.Tolerance = nil
		return fmt.Sprintf("%s %s %s (target %s)", strings.TrimSpace(noun+" "+level), is, FormatMeasure(f.Unit, f.Now), FormatAllowed(check, m))
	}
	check := *f.Check
	check.Max, check.Min, check.Veto = nil, nil, nil
	limit := "limit " + FormatAllowedSigned(check, m)
	pair := valuePair(f.Unit, *f.Baseline, f.Now)
	if f.Change.Kind == Points || f.Change.Value == nil {
		return fmt.Sprintf("%s %s %s (%s)", noun, roseOrFell(f), pair, limit)
	}
	change := FormatChange(f)
	if f.Change.Kind == Relative && math.Abs(*f.Change.Value) >= 0.095 {
		change = fixed(math.Abs(*f.Change.Value)*100, 0) + " % " + changeWord(f.Unit, *f.Change.Value)
	}
	return fmt.Sprintf("%s %s %s (%s, %s)", noun, is, change, strings.TrimSpace(level+" "+pair), limit)
}

// valuePair writes two values with their unit once where it is the same:
// "182 → 217 ms", "71.4 % → 52.0 %".
func valuePair(u Unit, base, now Value) string {
	a, b := FormatMeasure(u, base), FormatMeasure(u, now)
	if u == Ratio {
		return wholePercent(base, a) + " → " + wholePercent(now, b)
	}
	na, ua, okA := strings.Cut(a, " ")
	_, ub, okB := strings.Cut(b, " ")
	if okA && okB && ua == ub {
		a = na
	}
	return a + " → " + b
}

// wholePercent drops the decimals of a percentage where they tell little.
func wholePercent(v Value, text string) string {
	if v.V != nil && *v.V >= 0.1 {
		return fixed(*v.V*100, 0) + " %"
	}
	return text
}

func roseOrFell(f Finding) string {
	if f.Now.V != nil && f.Baseline.V != nil && *f.Now.V < *f.Baseline.V {
		return "fell"
	}
	return "rose"
}

func (j *judging) yellowWords(v *Verdict) (headline, certainty string, next []string) {
	var open []Finding
	for _, f := range v.Findings {
		if f.Status == Near || f.Status == Undecided {
			open = append(open, f)
		}
	}
	var out []string
	for i, f := range open {
		if i == 2 && len(open) > 3 {
			out = append(out, fmt.Sprintf("And %d more.", len(open)-i))
			break
		}
		out = append(out, fmt.Sprintf("%s: %s.", f.label(), f.Reason))
	}
	if f := open[0]; f.FormatInterval() != "" && f.Rule == "tolerance" {
		certainty = fmt.Sprintf("Not certain: %s, %s, 95 %% interval %s.", plural(max(f.Rounds, 1), "round"), j.requestsWords(), f.FormatInterval())
	}
	return strings.Join(out, " "), certainty, openNext(open)
}

// openNext says what would settle the findings, those with the same need in
// one step, three steps at most.
func openNext(open []Finding) (next []string) {
	const most = 3
	labels := map[string][]string{}
	var needs []string
	for _, f := range open {
		if f.Needs == "" {
			continue
		}
		need := fmt.Sprintf("would be certain with %s.", f.Needs)
		if f.Rule == "new" {
			need = "has no baseline yet: accept this run by hand to compare with it from now on (llm-gate baseline promote)."
		}
		if labels[need] == nil {
			needs = append(needs, need)
		}
		labels[need] = append(labels[need], f.label())
	}
	for _, need := range needs[:min(len(needs), most)] {
		next = append(next, enumerate(labels[need])+" "+need)
	}
	return next
}

// enumerate joins words as prose does: "a", "a and b", "a, b and c".
func enumerate(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// greenHeadline names the check that came closest to its limit.
func greenHeadline(findings []Finding) string {
	var worst *Finding
	share := 0.0
	for i := range findings {
		f := &findings[i]
		if f.Status != Pass || f.Change == nil || f.Change.Value == nil || f.Check == nil || f.Check.Tolerance == nil || !f.Change.Worse {
			continue
		}
		if FormatChange(*f) == "unchanged" {
			continue
		}
		if s := math.Abs(*f.Change.Value) / f.Check.Tolerance.Value; f.Check.Tolerance.Kind == f.Change.Kind && s > share {
			worst, share = f, s
		}
	}
	if worst == nil {
		if slices.ContainsFunc(findings, func(f Finding) bool { return f.Check != nil && f.Check.Tolerance != nil && f.Change != nil }) {
			return "No check is worse than its baseline."
		}
		return "Every limit holds."
	}
	return fmt.Sprintf("Worst: %s %s (%s allowed).", worst.Title, FormatChange(*worst), formatTolerance(*worst.Check.Tolerance, worst.Unit))
}

func firstLimits(findings []Finding) string {
	for _, f := range findings {
		if c := f.Check; c != nil && (c.Max != nil || c.Min != nil || c.Veto != nil) {
			return "the absolute limits hold"
		}
	}
	return "no absolute limit is set"
}

func (j *judging) notJudgedNext(v *Verdict) []string {
	res := j.now.res
	switch {
	case res.Incomplete != "":
		return []string{"Run again to the end."}
	case res.Generator.Unfit != "" || slices.ContainsFunc(stageSegments(res, ""), func(s *loadtest.SegmentResult) bool { return s.Generator.Unfit != "" }):
		return []string{"Give the load generator more CPU, or lower the rate, and run again."}
	case len(v.Differing) > 0:
		return []string{"Run under the accepted runs' conditions; or, where the change is meant, begin a history under the new ones: one run with --record always, or llm-gate baseline promote RESULT --reason TEXT."}
	case len(j.runs) == 0 && len(j.in.Unjudgeable) == 0 && len(v.Reasons) > 0 && v.Reasons[len(v.Reasons)-1] == j.history.reason:
		return []string{"Record a baseline: run the gate once on the default branch, or accept a run by hand: llm-gate baseline promote RESULT --reason TEXT."}
	}
	var out []string
	for _, f := range v.Findings {
		if f.Status != Unknown || f.Needs == "" || len(out) == 3 || f.Rule == ruleNotJudged || f.Rule == ruleNoBaseline {
			continue
		}
		out = append(out, fmt.Sprintf("%s needs %s.", f.label(), f.Needs))
	}
	if len(out) == 0 && len(j.in.Unjudgeable) == 0 {
		out = append(out, "Give the run what the check needs, or switch the check off in the policy.")
	}
	return out
}

// onset says from which round on most requests failed, where earlier ones did
// not: the server died in the middle.
func (j *judging) onset() string {
	rounds := j.now.scopes("", "").rounds
	for i, sc := range rounds {
		sent, failed, _ := sc.counts()
		if sent == 0 || 2*failed < sent {
			continue
		}
		if i == 0 {
			return ""
		}
		return fmt.Sprintf(" Most fail from %s on (%s).", sc.segments[0].Segment.Label(), sc.segments[0].StartedAt.UTC().Format("15:04:05 UTC"))
	}
	return ""
}

func (j *judging) requestsWords() string {
	sent, _, _ := j.now.scopes("", "").pooled.counts()
	return plural(int(sent), "request")
}

func (j *judging) roundsWords() string { return plural(len(j.now.scopes("", "").rounds), "round") }
