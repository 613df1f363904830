package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/org/llm-gate/loadtest"
)

// scope is what a metric is computed over: segments of one stage pooled, or one
// of them, for all requests or those of one scenario.
type scope struct {
	res      *loadtest.Result
	segments []*loadtest.SegmentResult
	scenario string
	figures  loadtest.Figures // merged over the segments
	duration float64          // seconds, summed
	windows  []*loadtest.Window
	empty    string // why there is nothing to compute over, "" where there is
}

// candidateArm is the arm of a live A/B that is judged.
const candidateArm = "candidate"

// stageSegments picks the measured segments of a stage; "" is the judged one.
func stageSegments(res *loadtest.Result, stage string) []*loadtest.SegmentResult {
	var out []*loadtest.SegmentResult
	for i := range res.Segments {
		s := &res.Segments[i]
		if s.Segment.Kind == loadtest.Warmup || s.Segment.Arm != "" && s.Segment.Arm != candidateArm {
			continue
		}
		if stage == "" && s.Segment.Kind == loadtest.Judged || stage != "" && s.Segment.Stage == stage {
			out = append(out, s)
		}
	}
	return out
}

// pooledScope pools all rounds of a stage.
func pooledScope(res *loadtest.Result, stage, scenario string) *scope {
	segments := stageSegments(res, stage)
	if len(segments) == 0 {
		return &scope{res: res, empty: noStage(res, stage)}
	}
	sc := newScope(res, scenario, segments)
	// Counters around each round leave out what happened between rounds; where
	// a round has no window of its own the metric is of the run.
	if len(sc.windows) < len(segments) && stage == "" && res.Server != nil {
		sc.windows = []*loadtest.Window{res.Server}
	}
	return sc
}

// roundScopes makes one scope of every round of a stage.
func roundScopes(res *loadtest.Result, stage, scenario string) []*scope {
	var out []*scope
	for _, s := range stageSegments(res, stage) {
		out = append(out, newScope(res, scenario, []*loadtest.SegmentResult{s}))
	}
	return out
}

func newScope(res *loadtest.Result, scenario string, segments []*loadtest.SegmentResult) *scope {
	sc := &scope{res: res, segments: segments, scenario: scenario}
	found := false
	for _, s := range segments {
		if d := float64(s.Duration); d > 0 && !math.IsInf(d, 0) {
			sc.duration += d
		}
		if s.Server != nil {
			sc.windows = append(sc.windows, s.Server)
		}
		f := s.Total
		if scenario != "" {
			f = s.Scenarios[scenario]
		}
		if f != nil {
			found = true
			mergeFigures(&sc.figures, f)
		}
	}
	if !found {
		sc.empty = "no requests were recorded"
		if scenario != "" {
			sc.empty = fmt.Sprintf("the run has no scenario %q", scenario)
		}
	}
	return sc
}

func noStage(res *loadtest.Result, stage string) string {
	if stage == "" {
		return "the run has no judged round"
	}
	var names []string
	for i := range res.Segments {
		s := res.Segments[i].Segment
		if s.Kind != loadtest.Warmup && !slices.Contains(names, s.Stage) {
			names = append(names, s.Stage)
		}
	}
	return fmt.Sprintf("the run has no stage %q (it has %s)", stage, strings.Join(names, ", "))
}

// mergeFigures adds what the judge needs of f to into.
func mergeFigures(into *loadtest.Figures, f *loadtest.Figures) {
	if into.Outcomes == nil {
		into.Outcomes = map[loadtest.Outcome]int64{}
		into.TTFT, into.TTFTService, into.FirstAnswer = &loadtest.Histogram{}, &loadtest.Histogram{}, &loadtest.Histogram{}
		into.Gap, into.TPOT = &loadtest.Histogram{}, &loadtest.Histogram{}
		into.E2E, into.E2EService = &loadtest.Histogram{}, &loadtest.Histogram{}
		into.Errors = map[loadtest.Outcome][]string{}
	}
	const most = 1 << 40 // a count beyond it is no count, and sums must not overflow
	for o, n := range f.Outcomes {
		into.Outcomes[o] += min(max(n, 0), most)
	}
	for o, details := range f.Errors {
		into.Errors[o] = append(into.Errors[o], details...)
	}
	if f.MetSLO != nil {
		sum := *f.MetSLO
		if into.MetSLO != nil {
			sum += *into.MetSLO
		}
		into.MetSLO = &sum
	}
	into.TTFT.Merge(f.TTFT)
	into.TTFTService.Merge(f.TTFTService)
	into.FirstAnswer.Merge(f.FirstAnswer)
	into.Gap.Merge(f.Gap)
	into.TPOT.Merge(f.TPOT)
	into.E2E.Merge(f.E2E)
	into.E2EService.Merge(f.E2EService)
	into.OutputTokens.Merge(f.OutputTokens)
	into.PromptTokens.Merge(f.PromptTokens)
	into.CachedTokens.Merge(f.CachedTokens)
	into.PayloadEvents += f.PayloadEvents
}

// counts sums up the outcomes: sent requests that count towards the error
// rate, the failed ones among them, and the successes.
func (sc *scope) counts() (sent, failed, ok int64) {
	for o, n := range sc.figures.Outcomes {
		if !o.Counted() {
			continue
		}
		sent += n
		if o.Failed() {
			failed += n
		}
	}
	return sent, failed, sc.figures.Outcomes[loadtest.OK]
}

// keptUp reports whether the server answered what an open loop offered it, so
// that its throughput is merely the rate that was sent.
func (sc *scope) keptUp() bool {
	_, _, ok := sc.counts()
	var offered float64
	for _, s := range sc.segments {
		if s.Segment.Arrivals.Process == loadtest.Closed || s.OfferedPerS == nil {
			return false
		}
		offered += *s.OfferedPerS * float64(s.Duration)
	}
	return float64(ok) >= keptUpShare*offered
}

// keptUpShare is the share of the offered rate from which on a server counts
// as having kept up. The last answers of a round come after its last send, so
// it lies well below 1.
const keptUpShare = 0.9

// finite makes a value, or a null where v is not a number.
func finite(v float64, n int64) Value {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return null("not a finite number", n)
	}
	return Value{V: &v, N: n}
}

func null(reason string, n int64) Value { return Value{Null: reason, N: n} }

// Measure computes a metric over a whole stage of a result, its rounds pooled.
// stage "" is the judged one, scenario "" all requests. What cannot be computed
// is null with a reason, never zero.
func Measure(res *loadtest.Result, metricID, stage, scenario string) Value {
	m, ok := Lookup(metricID)
	if !ok {
		return null(unknownMetric(metricID), 0)
	}
	if res == nil {
		return null("there is no result", 0)
	}
	return measure(m, pooledScope(res, stage, scenario))
}

// MeasureSegment computes a metric over one segment, a round say.
func MeasureSegment(seg *loadtest.SegmentResult, id string) Value {
	m, ok := Lookup(id)
	if !ok {
		return null(unknownMetric(id), 0)
	}
	if seg == nil {
		return null("there is no segment", 0)
	}
	res := &loadtest.Result{}
	if seg.Server != nil {
		res.Source = &loadtest.SourceInfo{}
	}
	return measure(m, newScope(res, "", []*loadtest.SegmentResult{seg}))
}

func measure(m Metric, sc *scope) Value {
	if sc.empty != "" {
		return null(sc.empty, 0)
	}
	if sc.scenario != "" && m.Source != "client" {
		return null("a "+m.Source+" metric is of all scenarios together", 0)
	}
	v := m.compute(sc)
	if v.V != nil && m.Unit == Ratio && (*v.V < 0 || *v.V > 1) {
		return null(fmt.Sprintf("%v lies outside 0–1, so its parts do not belong together", *v.V), v.N)
	}
	return v
}

func unknownMetric(id string) string { return fmt.Sprintf("unknown metric %q", id) }
