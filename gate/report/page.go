package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/loadtest"
)

// page is what the HTML template draws. Every string is one inert line; the
// template does the escaping.
type page struct {
	Name, Mark, Word, Class, Title string
	Headline, Certainty            string
	Reasons, Next, Changed, Same   []string
	Alerts                         []fact
	Facts                          []fact
	Against                        []fact
	Differing                      []difference3
	Checks                         []checkRow
	Shown                          []checkRow
	Charts                         []chart
	Heats                          []heat
	ByLoad                         bool
	Stages, Rounds                 []stageRow
	Server                         []fact
	Missing                        []fact
	ServerTitle                    string
	Slowest                        []slowRow
	Generator                      []fact
	GeneratorText                  string
	Unfit                          bool
	Sparks                         []spark
	Policy                         []policyRowDrawn
	PolicySource, PolicyText       string
	Command                        string
	Reproduce                      []fact
	Exit                           int
}

// fact is a name with a value, and an address where it links to one.
type fact struct{ Name, Value, URL, After string }

type difference3 struct{ Field, Baseline, Now string }

type checkRow struct {
	Class, Word, Title, Baseline, Now, Change, Allowed string
	Detail                                             string
	Bar                                                *interval
}

type stageRow struct {
	Label, Arrivals, Sent, Failed, FailedText, Rate, InFlight string
	TTFT50, TTFT95, TTFT99, TPOT95, E2E95, E2E99, Tokens      string
	Memory, KVHit, KVPeak, Queue                              string
	Judged                                                    bool
}

type slowRow struct{ Segment, Scenario, At, Outcome, TTFT, E2E, Tokens string }

type policyRowDrawn struct{ Title, Allowed, Near, Veto, From string }

func pageOf(v *gate.Verdict) page {
	f := faceOf(v)
	figures, byLoad := steps(v)
	p := page{
		Name: plain(v.Name, nameLimit), Mark: map[string]string{"red": "✕", "green": "✓", "yellow": "!"}[f.class],
		Word: f.word, Class: f.class, Title: plain(f.title, proseLimit),
		Headline: inert(headline(v)), Certainty: inert(v.Certainty),
		Reasons: inertAll(reasons(v)), Next: inertAll(next(v)), Changed: inertAll(changed(v)), Same: inertAll(unchanged(v)),
		Facts: pageFacts(v), Against: pageAgainst(v),
		Charts: charts(figures, byLoad), Heats: heats(figures, byLoad), ByLoad: byLoad,
		Rounds:        stageRows(v.Digest.Rounds),
		GeneratorText: inert(generatorText(v)), Unfit: v.Digest.Generator.Unfit != "", Generator: generatorFacts(v.Digest.Generator),
		Sparks: sparks(v), PolicySource: plain(v.Policy.Source, nameLimit), PolicyText: inert(policyText(v)),
		Command: plain(v.Provenance.Command, 4000), Exit: v.ExitCode,
	}
	if p.Mark == "" {
		p.Mark = "?"
	}
	if byLoad || len(v.Digest.Rounds) == 0 {
		p.Stages = stageRows(figures)
	}
	for _, a := range alerts(v) {
		p.Alerts = append(p.Alerts, fact{Name: plain(a.label, 60), Value: inert(a.text)})
	}
	for _, d := range v.Differing {
		p.Differing = append(p.Differing, difference3{plain(fieldName(d.Field), 60), orElse(plain(d.Baseline, 200), "–"), orElse(plain(d.Now, 200), "–")})
	}
	for _, x := range inOrder(v.Findings) {
		p.Checks = append(p.Checks, checkOf(x))
	}
	for _, x := range v.Shown {
		r := checkOf(x)
		r.Change = gate.FormatChange(x)
		p.Shown = append(p.Shown, r)
	}
	p.ServerTitle, p.Server, p.Missing = serverFacts(v)
	for _, s := range v.Digest.Slowest {
		tokens := "–"
		if s.OutputTokens != nil {
			tokens = gate.FormatCount(int64(*s.OutputTokens))
		}
		p.Slowest = append(p.Slowest, slowRow{plain(s.Segment, 60), plain(s.Scenario, 60), fmt.Sprintf("%.1f s", s.IntendedMS/1000),
			plain(string(s.Outcome), 40), millis(s.TTFTMS), millis(s.E2EMS), tokens})
	}
	for _, r := range policyRows(v) {
		p.Policy = append(p.Policy, policyRowDrawn{plain(r.title, 80), r.allowed, r.near, r.veto, plain(r.from, 80)})
	}
	for _, r := range reproduceFacts(v) {
		p.Reproduce = append(p.Reproduce, fact{Name: r[0], Value: plain(r[1], 300)})
	}
	return p
}

func inert(s string) string { return strings.ReplaceAll(plain(s, proseLimit), "`", "") }

func inertAll(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, inert(s))
	}
	return out
}

func checkOf(f gate.Finding) checkRow {
	l := lookOf(f.Status)
	detail := []string{}
	if f.Rounds > 0 {
		detail = append(detail, plural(int64(f.Rounds), "round"))
	}
	if f.Now.N > 0 {
		detail = append(detail, plural(f.Now.N, "sample"))
	}
	if f.Check != nil {
		if t := f.FormatInterval(); t != "" {
			detail = append(detail, "95 % each way "+t)
		}
		detail = append(detail, ruleText(f))
	}
	if w := why(f); w != "" {
		detail = append(detail, w)
	}
	return checkRow{Class: l.class, Word: l.long, Title: findingTitle(f), Baseline: baselineText(f), Now: nowText(f),
		Change: plain(changeText(f), 80), Allowed: plain(allowedText(f), 80), Detail: plain(strings.Join(detail, " · "), proseLimit), Bar: intervalOf(f)}
}

func pageFacts(v *gate.Verdict) []fact {
	var out []fact
	add := func(name, value, address string) {
		if value = plain(value, 120); value != "" {
			out = append(out, fact{Name: name, Value: value, URL: safeURL(address)})
		}
	}
	p := v.Provenance
	add("Commit", shortCommit(p.Commit), "")
	add("Branch", p.Ref, "")
	if p.PullRequest > 0 {
		add("Pull request", fmt.Sprint(p.PullRequest), "")
	}
	add("Image", shortDigest(orElse(p.Image, v.Subject.Image)), "")
	add("Model", v.Subject.Model, "")
	add("Engine", engineText(v), "")
	add("GPU", gpuText(v), "")
	add("Cost", gpuMinutes(v), "")
	if v.Digest.ReadyS > 0 {
		add("Ready after", seconds(v.Digest.ReadyS), "")
	}
	if v.Digest.MeasuredS > 0 {
		add("Measured for", seconds(v.Digest.MeasuredS), "")
	}
	if !v.StartedAt.IsZero() {
		add("Started", v.StartedAt.UTC().Format("2006-01-02 15:04 UTC"), "")
	}
	if p.Attempt > 0 {
		add("Attempt", fmt.Sprint(p.Attempt), "")
	}
	if safeURL(p.RunURL) != "" {
		add("Run", "open the run", p.RunURL)
	}
	add("Tool", strings.TrimSpace("llm-gate "+v.Tool.Version), "")
	return out
}

func pageAgainst(v *gate.Verdict) []fact {
	var out []fact
	if n := len(v.Against.Runs); n > 0 {
		newest := v.Against.Runs[0]
		out = append(out, fact{Name: runsText(v) + ", newest", Value: plain(referenceName(newest), 60), URL: safeURL(newest.RunURL)})
		out[0].After = ago(v, newest.RecordedAt)
	}
	if a := v.Against.Anchor; a != nil {
		out = append(out, fact{Name: "anchor", Value: plain(referenceName(*a), 60), URL: safeURL(a.RunURL)})
	}
	return out
}

func seconds(s float64) string {
	return (time.Duration(s) * time.Second).String()
}

func stageRows(figures []gate.StageFigures) []stageRow {
	var out []stageRow
	for _, s := range figures {
		q := func(kind string, level float64) string { return millis(quantile(s.Latencies[kind], level)) }
		r := stageRow{
			Label: plain(orElse(s.Label, "unnamed"), 60), Arrivals: plain(s.Arrivals, 60), Judged: s.Judged,
			Sent: gate.FormatCount(s.Sent), Failed: gate.FormatCount(s.Failed), FailedText: plain(failuresText(s), 120), InFlight: inFlight(s),
			Rate:   strings.TrimSuffix(gate.FormatValue(gate.PerSecond, s.AchievedPerS), " req/s"),
			TTFT50: q("ttft", .5), TTFT95: q("ttft", .95), TTFT99: q("ttft", .99), TPOT95: q("tpot", .95), E2E95: q("e2e", .95), E2E99: q("e2e", .99),
			Tokens: bare(s.OutputTokensPerS), Memory: optional(gate.MiB, s.GPUMemoryPeakMiB), KVHit: optional(gate.Ratio, s.KVHitRatio),
			KVPeak: optional(gate.Ratio, s.KVUsagePeakRatio), Queue: optional(gate.Count, s.QueuePeak),
		}
		if s.OfferedPerS != nil {
			r.Rate += " of " + strings.TrimSuffix(gate.FormatValue(gate.PerSecond, *s.OfferedPerS), " req/s")
		}
		out = append(out, r)
	}
	return out
}

func serverFacts(v *gate.Verdict) (title string, shown, missing []fact) {
	d := v.Digest
	if d.Source != nil {
		title = plain(d.Source.Kind+" "+strings.Join(d.Source.Addresses, ", "), 200)
	}
	if d.Server == nil {
		return title, nil, nil
	}
	if d.Server.Dialect != "" {
		title = plain(d.Server.Dialect, 40) + " · " + title
	}
	for _, name := range keys(d.Server.Counters) {
		shown = append(shown, fact{Name: plain(strings.ReplaceAll(name, "_", " "), 60), Value: "+" + gate.FormatValue(gate.Count, d.Server.Counters[name])})
	}
	for _, name := range keys(d.Server.Gauges) {
		g, u := d.Server.Gauges[name], gaugeUnit(name)
		shown = append(shown, fact{Name: plain(strings.ReplaceAll(name, "_", " "), 60),
			Value: "mean " + gate.FormatValue(u, g.Mean) + ", " + gate.FormatValue(u, g.Min) + " to " + gate.FormatValue(u, g.Max) + " in " + plural(g.N, "sample")})
	}
	for _, name := range keys(d.Server.Missing) {
		missing = append(missing, fact{Name: plain(strings.ReplaceAll(name, "_", " "), 60), Value: plain(d.Server.Missing[name], 200)})
	}
	return title, shown, missing
}

// gaugeUnit reads a gauge's unit off its canonical name.
func gaugeUnit(name string) gate.Unit {
	switch {
	case strings.HasSuffix(name, "_ratio"), name == loadtest.HitRateGauge:
		return gate.Ratio
	case strings.HasSuffix(name, "_mib"):
		return gate.MiB
	}
	return gate.Count
}

func keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func generatorFacts(g loadtest.Health) []fact {
	if !recorded(g) {
		return nil
	}
	return []fact{
		{Name: "Late sends, median", Value: millis(g.LateP50MS)},
		{Name: "Late sends, P99", Value: millis(g.LateP99MS)},
		{Name: "Late sends, longest", Value: millis(g.LateMaxMS)},
		{Name: "Collections while measuring", Value: gate.FormatCount(int64(g.GCs))},
		{Name: "Longest collection pause", Value: gate.FormatValue(gate.Milliseconds, g.GCPauseMaxMS)},
		{Name: "CPU", Value: gate.FormatValue(gate.Ratio, g.CPURatio)},
		{Name: "Heap peak", Value: gate.FormatValue(gate.MiB, g.HeapPeakMiB)},
	}
}
