package gate

import (
	"maps"
	"math"
	"slices"

	"github.com/org/llm-gate/gate/stats"
	"github.com/org/llm-gate/loadtest"
)

// digest collects what a report draws.
func (j *judging) digest(v *Verdict) Digest {
	res := j.now.res
	d := Digest{
		Workload: res.Workload, Seed: res.Seed, Nonce: res.Nonce,
		Stages: []StageFigures{}, Rounds: []StageFigures{},
		Generator: finiteHealth(res.Generator), Source: res.Source, Server: finiteWindow(res.Server),
		ReadyS: orZero(float64(res.ReadyAfterS)), Notes: slices.Clone(res.Notes),
	}
	for _, r := range res.Slowest {
		r.IntendedMS = orZero(r.IntendedMS)
		r.TTFTMS, r.E2EMS = finiteOrNil(r.TTFTMS), finiteOrNil(r.E2EMS)
		d.Slowest = append(d.Slowest, r)
	}
	judged := j.now.scopes("", "")
	if len(judged.pooled.segments) > 0 {
		d.Stages = append(d.Stages, stageFigures(judged.pooled, judged.pooled.segments[0].Segment.Stage, true))
	}
	for _, sc := range judged.rounds {
		d.Rounds = append(d.Rounds, stageFigures(sc, sc.segments[0].Segment.Label(), true))
	}
	for _, stage := range risingStages(res) {
		if sc := j.now.scopes(stage, "").pooled; len(sc.segments) > 0 {
			d.Stages = append(d.Stages, stageFigures(sc, stage, false))
		}
	}
	d.MeasuredS = orZero(judged.pooled.duration)
	if n := res.Conditions.GPUCount; n > 0 {
		if minutes, ok := loadMinutes(res); ok {
			d.GPUMinutes = pointer(tidy(float64(n) * minutes))
		}
	}
	d.History = j.historyPoints(v)
	return d
}

// loadMinutes runs from the first request, of the warm-up, to the last answer.
func loadMinutes(res *loadtest.Result) (float64, bool) {
	if len(res.Segments) == 0 {
		return 0, false
	}
	first := res.Segments[0].StartedAt
	last := res.Segments[len(res.Segments)-1]
	d := float64(last.Duration)
	if math.IsNaN(d) || math.IsInf(d, 0) {
		return 0, false
	}
	minutes := (last.StartedAt.Sub(first).Seconds() + d) / 60
	return minutes, minutes > 0
}

// stageFigures sums a stage up. Rates and concurrencies are averaged over its
// segments, weighted by their length.
func stageFigures(sc *scope, label string, judged bool) StageFigures {
	sent, failed, _ := sc.counts()
	f := StageFigures{
		Label: label, Judged: judged, Arrivals: sc.segments[0].Segment.Arrivals.Describe(), DurationS: sc.duration,
		Sent: sent, Failed: failed, Outcomes: maps.Clone(sc.figures.Outcomes), Latencies: map[string]Quantiles{},
	}
	if f.Outcomes == nil {
		f.Outcomes = map[loadtest.Outcome]int64{}
	}
	f.AchievedPerS = orZero(weighted(sc, func(s *loadtest.SegmentResult) *float64 { return &s.AchievedPerS }))
	f.MeasuredConcurrency = orZero(weighted(sc, func(s *loadtest.SegmentResult) *float64 { return &s.MeanConcurrency }))
	f.OfferedPerS = finitePointer(weighted(sc, func(s *loadtest.SegmentResult) *float64 { return s.OfferedPerS }))
	if sc.empty != "" {
		return f
	}
	if mean, ok := sc.figures.E2E.Mean(); ok {
		f.PredictedConcurrency = finitePointer(f.AchievedPerS * mean / 1000)
	}
	for _, d := range distributions {
		if d.family == "ttft" || d.family == "e2e" || d.family == "tpot" || d.family == "gap" {
			f.Latencies[d.family] = d.quantiles(sc)
		}
	}
	value := func(id string) *float64 {
		m, _ := Lookup(id)
		return measure(m, sc).V
	}
	f.OutputTokensPerS = value("output_token_throughput")
	f.GPUMemoryPeakMiB, f.KVHitRatio = value("gpu_memory_peak"), value("kv_hit_rate")
	f.KVUsagePeakRatio, f.QueuePeak = value("kv_usage_peak"), value("queue_peak")
	return f
}

func (d distribution) quantiles(sc *scope) Quantiles {
	h, above := d.histogram(&sc.figures), d.above(sc)
	out := make(Quantiles, len(QuantileLevels))
	for i, level := range QuantileLevels {
		if x, ok := h.AtRank(stats.Rank(level, h.N()+above)); ok {
			out[i] = &x
		}
	}
	return out
}

// weighted is the mean over segments by duration; NaN where a segment has none.
func weighted(sc *scope, of func(*loadtest.SegmentResult) *float64) float64 {
	var sum, weight float64
	for _, s := range sc.segments {
		v := of(s)
		if v == nil {
			return math.NaN()
		}
		w := math.Max(float64(s.Duration), 1e-9)
		sum, weight = sum+*v*w, weight+w
	}
	return sum / weight
}

// historyPoints lists the runs, oldest first and the candidate last, with the
// metrics that are judged and those of the default checks.
func (j *judging) historyPoints(v *Verdict) []HistoryPoint {
	type column struct {
		m               Metric
		stage, scenario string
	}
	var columns []column
	seen := map[string]bool{}
	add := func(id, stage, scenario string) {
		if m, ok := Lookup(id); ok && !seen[id] && stage == "" && scenario == "" {
			seen[id] = true
			columns = append(columns, column{m, stage, scenario})
		}
	}
	for _, f := range v.Findings {
		add(f.Metric, f.Stage, f.Scenario)
	}
	for _, c := range DefaultChecks() {
		add(c.Metric, "", "")
	}
	var out []HistoryPoint
	point := func(ref Reference, r *reading) {
		p := HistoryPoint{Reference: ref, Values: map[string]float64{}}
		for _, c := range columns {
			if x := measure(c.m, r.scopes(c.stage, c.scenario).pooled); x.V != nil {
				p.Values[c.m.ID] = *x.V
			}
		}
		out = append(out, p)
	}
	for i := len(j.runs) - 1; i >= 0; i-- {
		point(j.history.used[i].Reference, j.runs[i])
	}
	res := j.now.res
	point(Reference{ID: res.ID, Commit: res.Provenance.Commit, RunURL: res.Provenance.RunURL, RecordedAt: res.EndedAt}, j.now)
	return out
}

// finiteHealth, finiteWindow and their like keep what JSON cannot carry out of
// the verdict.
func finiteHealth(h loadtest.Health) loadtest.Health {
	h.LateP50MS, h.LateP99MS, h.LateMaxMS = finiteOrNil(h.LateP50MS), finiteOrNil(h.LateP99MS), finiteOrNil(h.LateMaxMS)
	h.GCPauseMaxMS, h.CPURatio, h.HeapPeakMiB = orZero(h.GCPauseMaxMS), orZero(h.CPURatio), orZero(h.HeapPeakMiB)
	return h
}

func finiteWindow(w *loadtest.Window) *loadtest.Window {
	if w == nil {
		return nil
	}
	out := *w
	out.Counters, out.Gauges = map[string]float64{}, map[string]loadtest.Gauge{}
	for name, v := range w.Counters {
		if finitePointer(v) != nil {
			out.Counters[name] = v
		}
	}
	for name, g := range w.Gauges {
		if finitePointer(g.Min+g.Max+g.Mean+g.Last) != nil {
			out.Gauges[name] = g
		}
	}
	return &out
}

func finiteOrNil(v *float64) *float64 {
	if v == nil {
		return nil
	}
	return finitePointer(*v)
}

func orZero(v float64) float64 {
	if finitePointer(v) == nil {
		return 0
	}
	return v
}
