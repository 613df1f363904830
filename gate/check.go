package gate

import (
	"fmt"
	"strings"
)

// judging is one judgement at work.
type judging struct {
	in      Input
	now     *reading
	runs    []*reading // newest first
	history history
	notes   []string
	lengths map[stageKey]lengths
}

func (j *judging) seriesOf(m Metric, stage, scenario string) (cand series, history []series) {
	for _, r := range j.runs {
		history = append(history, r.series(m, stage, scenario))
	}
	return j.now.series(m, stage, scenario), history
}

// judge makes the finding of one check.
func (j *judging) judge(c Check) Finding {
	m, ok := Lookup(c.Metric)
	if !ok {
		return Finding{
			Metric: c.Metric, Title: c.Metric, Scenario: c.Scenario, Stage: c.Stage, Check: &c,
			Now: null(unknownMetric(c.Metric), 0), Rule: "missing", Reason: unknownMetric(c.Metric) + didYouMean(c.Metric, MetricIDs()),
		}
	}
	cand, runs := j.seriesOf(m, c.Stage, c.Scenario)
	cmp := compareSeries(m, cand, runs)
	f := j.finding(m, c.Stage, c.Scenario, cand, cmp, c.Tolerance)
	f.Check = &c
	p := j.decide(c, m, cand, cmp)
	f.Status, f.Rule, f.Reason, f.Certain, f.Needs = p.status, p.rule, p.reason, p.certain, p.needs
	if c.Tolerance != nil && suspicious(*c.Tolerance, m, cmp) {
		f.Suspicious = true
	}
	return f
}

// finding fills in what is measured, without a judgement.
func (j *judging) finding(m Metric, stage, scenario string, cand series, cmp comparison, t *Tolerance) Finding {
	f := Finding{
		Metric: m.ID, Title: m.Title, Scenario: scenario, Stage: stage, Unit: m.Unit, Direction: m.Direction,
		Now: cmp.now, Rounds: cmp.rounds, Change: cmp.change(m, t),
	}
	switch {
	case cmp.hasBase:
		f.Baseline = pointer(cmp.base)
	case len(j.runs) > 0:
		f.Baseline = pointer(null("no accepted run has this metric", 0))
	}
	if !cmp.comparable && cand.pooled.V != nil && !m.census {
		// No baseline: the value shown is the one that limits are tested on.
		iv, n := alone(m, cand)
		f.Now.V, f.Rounds = pointer(iv.Estimate), n
	}
	return f
}

func (j *judging) decide(c Check, m Metric, cand series, cmp comparison) part {
	if p, done := j.unmeasured(c, m, cand, cmp); done {
		return p
	}
	var parts []part
	if cand.pooled.Censored != "" {
		parts = append(parts, j.censored(c, m, cand, cmp))
	} else {
		parts = absoluteParts(c, m, cand)
	}
	openLoop := j.openLoop(m, c)
	switch {
	case openLoop != "" && (c.Stage == "" && m.ID != "peak_throughput"):
		return part{Unknown, "open_loop", openLoop, false, openLoopNeeds}
	case openLoop != "":
		for i, p := range parts {
			if p.status != Pass {
				parts[i] = part{Unknown, "open_loop", openLoop, false, openLoopNeeds}
			}
		}
		if c.Tolerance != nil {
			parts = append(parts, part{Unknown, "open_loop", openLoop, false, openLoopNeeds})
		}
		return worst(parts)
	}
	if c.Tolerance != nil {
		p, compared := j.tolerance(c, m, cmp)
		if !compared && len(parts) > 0 {
			out := j.cap(c, m, cand, worst(parts))
			out.reason += "; " + p.reason
			return out
		}
		parts = append(parts, p)
	}
	if len(parts) == 0 {
		return part{Unknown, "missing", "the check sets no limit", false, ""}
	}
	return j.cap(c, m, cand, worst(parts))
}

// unmeasured handles what no limit can be tested on.
func (j *judging) unmeasured(c Check, m Metric, cand series, cmp comparison) (part, bool) {
	v := cand.pooled
	switch {
	case c.Tolerance != nil && m.Direction == Neither:
		return part{Unknown, "missing", m.Title + " has no better side, so it cannot be judged by a tolerance", false, ""}, true
	case v.V == nil && v.Censored == "" && cmp.hasBase:
		return part{Unknown, "lost", fmt.Sprintf("lost since the baseline (which has %s): %s", FormatMeasure(m.Unit, cmp.base), v.Null), false, ""}, true
	case v.V == nil && v.Censored == "":
		return part{Unknown, "missing", v.Null, false, ""}, true
	case cand.short > 0 && (v.Censored == "" || v.SuccessOnly != nil):
		unit := "requests"
		if m.family == "gap" {
			unit = "gaps"
		}
		return part{Unknown, "sample_size",
			fmt.Sprintf("needs %s %s at least to be bounded at 95 %%, the run has %s", FormatCount(cand.short), unit, FormatCount(v.N)),
			false, fmt.Sprintf("at least %s %s", FormatCount(cand.short), unit)}, true
	}
	return part{}, false
}

// censored judges a value that lies among failures: worse than any number.
func (j *judging) censored(c Check, m Metric, cand series, cmp comparison) part {
	reason := "above timeout: the rank falls among failed requests"
	if cmp.hasBase && cmp.base.V != nil {
		reason += fmt.Sprintf(" (baseline %s)", FormatMeasure(m.Unit, cmp.base))
	}
	if v := cand.pooled.SuccessOnly; v != nil {
		reason += fmt.Sprintf("; of the successes alone it is %s", FormatValue(m.Unit, *v))
	}
	// The lower bound of the quantile falls among failures too: surely past.
	if c.Veto != nil && m.Direction == LowerIsBetter && cand.pooled.Low == nil {
		return part{Veto, "veto", reason, true, ""}
	}
	return part{Fail, "failures", reason, true, ""}
}

// tolerance judges against the baseline; compared is false where there is none.
func (j *judging) tolerance(c Check, m Metric, cmp comparison) (p part, compared bool) {
	switch {
	case len(j.runs) == 0:
		return part{Unknown, ruleNoBaseline, "not compared: " + j.history.reason, false, "an accepted run"}, false
	case !cmp.hasBase:
		return part{Undecided, "new", "new: no accepted run has this metric, so there is nothing to compare it with", false, "an accepted run that has it"}, false
	}
	return tolerancePart(*c.Tolerance, m, cmp), true
}

// cap keeps a pass from resting on too little: a judged stage of one round, or
// rounds without a value.
func (j *judging) cap(c Check, m Metric, cand series, p part) part {
	if p.status != Pass || m.census || cand.pooled.V == nil {
		return p
	}
	gaps := cand.gaps()
	if m.Source != "client" && len(cand.rounds) != 1 {
		gaps = "" // a scrape may miss a round, or all where its interval is too long
	}
	switch {
	case gaps != "":
		return part{Undecided, p.rule, p.reason + ", but " + gaps, false, "a run whose rounds all have a value"}
	case c.Stage == "" && cand.planned < 2 && !m.binomial:
		return part{Undecided, p.rule, p.reason + ", but of one round: its spread is not known", false, "at least 2 rounds"}
	}
	return p
}

const openLoopNeeds = "a closed loop, a stage that overloads the server, or stairs up to saturation"

// openLoop says where a throughput is merely the rate that was sent.
func (j *judging) openLoop(m Metric, c Check) string {
	if !m.throughput {
		return ""
	}
	sc := j.now.scopes(c.Stage, c.Scenario).pooled
	if m.ID == "peak_throughput" {
		stages := risingStages(j.now.res)
		if len(stages) == 0 {
			return ""
		}
		sc = j.now.scopes(stages[len(stages)-1], "").pooled
	}
	if !sc.keptUp() {
		return ""
	}
	return "the server kept up with the open loop, so this is merely the rate that was sent"
}

// failureSummary says which outcomes failed: "12 http_429, 3 timeout".
func failureSummary(sc *scope) string {
	var out []string
	for _, o := range outcomesInOrder() {
		if n := sc.figures.Outcomes[o]; o.Failed() && n > 0 {
			out = append(out, fmt.Sprintf("%s %s", FormatCount(n), o))
		}
	}
	return strings.Join(out, ", ")
}
