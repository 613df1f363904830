package gate

import (
	"fmt"
	"slices"

	"github.com/org/llm-gate/loadtest"
)

// Accepted is one accepted run of the history.
type Accepted struct {
	Reference
	Result *loadtest.Result
}

// Input is everything a judgement depends on.
type Input struct {
	Policy    Policy
	Candidate *loadtest.Result
	// History holds the accepted runs of the candidate's key, newest first.
	History []Accepted
	// Elsewhere holds the newest accepted runs of the same name under other
	// conditions: where History is empty, what differs is named from these.
	Elsewhere []Accepted
	// MayRecord says that this run may become a baseline: it is not a pull
	// request's. With no history it then concludes First, else NotJudged.
	MayRecord bool
	// Unjudgeable carries reasons from outside why nothing can be judged
	// (target never ready, unreadable baseline): they become Reasons.
	Unjudgeable []string
}

// Rules that decide without a limit.
const (
	ruleNoBaseline = "no_baseline"
	ruleNotJudged  = "not_judged"
)

// Judge compares the candidate with its history under the policy. It never
// fails: what cannot be judged is a verdict of its own. Candidate may be nil
// only with Unjudgeable set.
func Judge(in Input) *Verdict {
	in.Policy = in.Policy.normalised()
	v := newVerdict(in)
	res := in.Candidate
	reasons := slices.Clone(in.Unjudgeable)
	if res == nil {
		if len(reasons) == 0 {
			reasons = []string{"there is no result"}
		}
		v.conclude(reasons, false)
		return v
	}
	reasons = append(reasons, unfitForJudging(res)...)
	j := &judging{in: in, now: newReading(res), lengths: map[stageKey]lengths{}}
	if len(reasons) == 0 {
		j.history = chooseHistory(in)
		for _, a := range j.history.used {
			j.runs = append(j.runs, newReading(a.Result))
			v.Against.Runs = append(v.Against.Runs, a.Reference)
		}
		v.Notes = append(v.Notes, j.history.notes...)
		v.Differing = j.history.differing
	}
	if len(j.history.used) > 0 {
		v.Changed = changes(j.history.used[0].Result.Subject, res.Subject)
	}
	if len(reasons) > 0 {
		j.showOnly(v)
	} else {
		j.judgeAll(v)
	}
	v.Shown = append(v.Shown, j.shown(v)...)
	v.Degradation = j.degradation()
	v.Digest = j.digest(v)
	v.Notes = append(v.Notes, j.eventNotes()...)
	v.Notes = append(v.Notes, j.notes...)
	failed := len(reasons) == 0 && j.allFailed()
	j.concludeWith(v, reasons, failed)
	j.putInWords(v, failed)
	return v
}

func newVerdict(in Input) *Verdict {
	v := &Verdict{
		Schema: VerdictSchema, Policy: in.Policy, Observing: in.Policy.FailOn == FailOnNever,
		Findings: []Finding{}, Against: Against{Runs: []Reference{}},
		Digest: Digest{Stages: []StageFigures{}, Rounds: []StageFigures{}},
	}
	if r := in.Candidate; r != nil {
		v.ResultID, v.Name, v.Tool, v.StartedAt, v.EndedAt = r.ID, r.Name, r.Tool, r.StartedAt, r.EndedAt
		v.Provenance, v.Conditions, v.Subject = r.Provenance, r.Conditions, r.Subject
	}
	return v
}

// normalised fills in what zero values stand for.
func (p Policy) normalised() Policy {
	if p.FailOn == "" {
		p.FailOn = FailOnRed
	}
	if p.NotJudged == "" {
		p.NotJudged = BlockUnknown
	}
	if p.Keep <= 0 {
		p.Keep = DefaultKeep
	}
	p.Degradation = p.Degradation.normalised()
	p.Checks = slices.Clone(p.Checks)
	for i, c := range p.Checks {
		if !c.finite() { // JSON cannot carry it, and it limits nothing
			p.Checks[i] = Check{Metric: c.Metric, Scenario: c.Scenario, Stage: c.Stage, Origin: c.Origin, Pos: c.Pos}
		}
		if c.Origin == "" {
			p.Checks[i].Origin = FromUser // the strictest reading
		}
	}
	return p
}

// judgeAll makes the findings of the policy's checks.
func (j *judging) judgeAll(v *Verdict) {
	for _, c := range j.in.Policy.Checks {
		if note := j.omitted(c); note != "" {
			j.notes = append(j.notes, note)
			continue
		}
		if isE2E(c) && len(j.runs) > 0 && !j.failing(c) {
			l := j.compareLengths(c.Stage, c.Scenario)
			if l.differ {
				j.standIn(v, c, l)
				continue
			}
			if l.why != "" {
				j.note("E2E latency was compared on trust: " + l.why + ".")
			}
		}
		f := j.judge(c)
		if c.Origin == FromDefault && f.Rule == "new" && f.Status == Undecided {
			// Nothing to judge it by yet: shown as new, judged from the next baseline on.
			f.Status, f.Check = Unknown, nil
			v.Shown = append(v.Shown, f)
			j.note(fmt.Sprintf("%s is new: no accepted run has it, so it is shown and not judged until one does.", f.Title))
			continue
		}
		v.Findings = append(v.Findings, f)
	}
}

// failing reports whether so many requests fail that a check has no number:
// lengths of answers do not excuse that.
func (j *judging) failing(c Check) bool {
	m, ok := Lookup(c.Metric)
	return ok && measure(m, j.now.scopes(c.Stage, c.Scenario).pooled).Censored != ""
}

// standIn puts TTFT and TPOT in the place of an E2E check.
func (j *judging) standIn(v *Verdict, c Check, l lengths) {
	title := c.Metric
	if m, ok := Lookup(c.Metric); ok {
		title = m.Title
	}
	j.note(fmt.Sprintf("%s is not compared: %s. TTFT and TPOT stand in with its tolerance.", title, l.why))
	for _, s := range standIns(c) {
		f := j.judge(s)
		f.StandsInFor = c.Metric
		v.Findings = append(v.Findings, f)
	}
	absolute := c
	absolute.Tolerance = nil
	f := j.judge(absolute)
	f.Change = nil
	if c.Max != nil || c.Min != nil || c.Veto != nil {
		f.Reason += "; not compared: " + l.why
		v.Findings = append(v.Findings, f)
		return
	}
	f.Status, f.Check, f.Rule, f.Certain, f.Needs = Unknown, nil, "output_length", false, ""
	f.Reason = "not compared: " + l.why
	v.Shown = append(v.Shown, f)
}

// showOnly lists the policy's checks with their values and judges none.
func (j *judging) showOnly(v *Verdict) {
	for _, c := range j.in.Policy.Checks {
		f := j.judge(c)
		f.Status, f.Rule, f.Certain, f.Needs = Unknown, ruleNotJudged, false, ""
		f.Reason = "not judged"
		v.Findings = append(v.Findings, f)
	}
}

// shown lists the other metrics that have a value.
func (j *judging) shown(v *Verdict) []Finding {
	var out []Finding
	for _, m := range catalogue {
		has := func(f Finding) bool { return f.Metric == m.ID && f.Stage == "" && f.Scenario == "" }
		if slices.ContainsFunc(v.Findings, has) || slices.ContainsFunc(v.Shown, has) {
			continue
		}
		cand, runs := j.seriesOf(m, "", "")
		if cand.pooled.V == nil && cand.pooled.Censored == "" {
			continue
		}
		f := j.finding(m, "", "", cand, compareSeries(m, cand, runs), nil)
		f.Reason = j.openLoop(m, Check{Metric: m.ID})
		out = append(out, f)
	}
	return out
}

// omitted says why the default check of the hit rate is left out, "" where it
// is judged: neither this run nor an accepted one shows it, and nothing says
// that reading it failed.
func (j *judging) omitted(c Check) string {
	if c.Metric != "kv_hit_rate" || c.Origin != FromDefault {
		return ""
	}
	m, _ := Lookup(c.Metric)
	cand, runs := j.seriesOf(m, c.Stage, c.Scenario)
	if cand.pooled.V != nil || slices.ContainsFunc(runs, func(s series) bool { return s.pooled.V != nil }) {
		return ""
	}
	if j.readingFailed() {
		return ""
	}
	return fmt.Sprintf("%s is not judged: %s.", m.Title, cand.pooled.Null)
}

// readingFailed reports whether a source of server metrics was there but could
// not be read: a silence that must not pass for an engine without the metric.
func (j *judging) readingFailed() bool {
	res := j.now.res
	if res.Source == nil {
		return false
	}
	windows := j.now.scopes("", "").pooled.windows
	if len(windows) == 0 {
		return true
	}
	for _, w := range windows {
		for _, e := range w.Events {
			if e.Kind == "scrape_failed" {
				return true
			}
		}
	}
	return false
}

// allFailed reports whether not one counted request of the judged stage
// succeeded.
func (j *judging) allFailed() bool {
	sent, failed, _ := j.now.scopes("", "").pooled.counts()
	return sent > 0 && failed == sent
}

// eventNotes tells what happened to the server, once each.
func (j *judging) eventNotes() []string {
	var out []string
	add := func(w *loadtest.Window) {
		if w == nil {
			return
		}
		for _, e := range w.Events {
			text := fmt.Sprintf("%s (%s, %s).", e.Text, e.Kind, e.At.UTC().Format("15:04:05 UTC"))
			if !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	add(j.now.res.Server)
	for _, s := range stageSegments(j.now.res, "") {
		add(s.Server)
	}
	const most = 10
	if len(out) > most {
		out = append(out[:most], fmt.Sprintf("… and %d more events of the server.", len(out)-most))
	}
	return out
}

func (j *judging) note(text string) {
	if !slices.Contains(j.notes, text) {
		j.notes = append(j.notes, text)
	}
}
