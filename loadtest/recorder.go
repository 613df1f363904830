package loadtest

import (
	"cmp"

	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Observation is one finished request. Recorders keep nothing of it: the
// runner reuses the reply.
type Observation struct {
	Segment  *Segment
	Began    time.Time // the segment's start, from which IntendedMS counts
	Request  *Request
	Reply    *Reply
	Intended time.Time
}

// TTFT is the first payload event's time from the intended start; ok is false
// where there was none.
func (o *Observation) TTFT() (d time.Duration, ok bool) {
	if len(o.Reply.Arrivals) == 0 {
		return 0, false
	}
	return o.late() + o.Reply.Arrivals[0], true
}

// E2E is the last payload event's time from the intended start.
func (o *Observation) E2E() (d time.Duration, ok bool) {
	if n := len(o.Reply.Arrivals); n > 0 {
		return o.late() + o.Reply.Arrivals[n-1], true
	}
	return 0, false
}

// TPOT is (last payload − first payload) / (output tokens − k), k the tokens
// of the first event; defined where the server reported more than k tokens.
// assumed says that k is the 1 of the field's definition.
func (o *Observation) TPOT() (d time.Duration, assumed, ok bool) {
	r := o.Reply
	if r.Usage == nil || len(r.Arrivals) < 2 {
		return 0, false, false
	}
	k := r.FirstTokens
	if assumed = k < 1; assumed {
		k = 1
	}
	rest := r.Usage.CompletionTokens - k
	if rest < 1 {
		return 0, assumed, false
	}
	return (r.Arrivals[len(r.Arrivals)-1] - r.Arrivals[0]) / time.Duration(rest), assumed, true
}

func (o *Observation) late() time.Duration { return o.Reply.Sent.Sub(o.Intended) }

// Recorder counts finished requests.
type Recorder interface {
	// Record is called once per finished request, concurrently.
	Record(o *Observation)
}

// NewFigures returns empty figures ready for recording.
func NewFigures(slo SLO) *Figures {
	f := &Figures{
		Outcomes: map[Outcome]int64{},
		TTFT:     &Histogram{}, TTFTService: &Histogram{}, FirstAnswer: &Histogram{}, Gap: &Histogram{},
		TPOT: &Histogram{}, E2E: &Histogram{}, E2EService: &Histogram{},
		TPOTBasis: map[string]int64{}, FinishReasons: map[string]int64{}, Errors: map[Outcome][]string{},
	}
	if !slo.IsZero() {
		f.MetSLO = new(int64)
	}
	return f
}

// Sent is how many requests count: neither those that this machine failed to
// send nor those it never sent.
func (f *Figures) Sent() (n int64) {
	for outcome, count := range f.Outcomes {
		if outcome.Counted() {
			n += count
		}
	}
	return n
}

// Failed is how many of Sent failed.
func (f *Figures) Failed() (n int64) {
	for outcome, count := range f.Outcomes {
		if outcome.Failed() {
			n += count
		}
	}
	return n
}

// Merge adds everything in other.
func (f *Figures) Merge(other *Figures) {
	addAll(f.Outcomes, other.Outcomes)
	if other.MetSLO != nil {
		if f.MetSLO == nil {
			f.MetSLO = new(int64)
		}
		*f.MetSLO += *other.MetSLO
	}
	f.TTFT.Merge(other.TTFT)
	f.TTFTService.Merge(other.TTFTService)
	f.FirstAnswer.Merge(other.FirstAnswer)
	f.Gap.Merge(other.Gap)
	f.TPOT.Merge(other.TPOT)
	f.E2E.Merge(other.E2E)
	f.E2EService.Merge(other.E2EService)
	f.OutputTokens.Merge(other.OutputTokens)
	f.PromptTokens.Merge(other.PromptTokens)
	f.CachedTokens.Merge(other.CachedTokens)
	addAll(f.TPOTBasis, other.TPOTBasis)
	addAll(f.FinishReasons, other.FinishReasons)
	f.PayloadEvents += other.PayloadEvents
	f.Resends += other.Resends
	for outcome, details := range other.Errors {
		for _, detail := range details {
			f.noteError(outcome, detail)
		}
	}
}

func addAll[K comparable](into, from map[K]int64) {
	for k, n := range from {
		into[k] += n
	}
}

// errorDetails is how many details of one outcome are kept.
const errorDetails = 3

// noteError keeps the first of each different detail, which begins with when
// it happened ("at 1.5 s: connection refused").
func (f *Figures) noteError(outcome Outcome, detail string) {
	details := f.Errors[outcome]
	_, what, _ := strings.Cut(detail, ": ")
	known := slices.ContainsFunc(details, func(d string) bool { return strings.HasSuffix(d, ": "+what) })
	if len(details) < errorDetails && !known {
		f.Errors[outcome] = append(details, detail)
	}
}

// record counts one request.
func (f *Figures) record(o *Observation, slo SLO) {
	r := o.Reply
	f.Outcomes[r.Outcome]++
	f.Resends += int64(r.Resends)
	if r.Outcome != OK {
		f.noteError(r.Outcome, fmt.Sprintf("at %.1f s: %s", o.Intended.Sub(o.Began).Seconds(), cmp.Or(r.Detail, "no detail")))
		return
	}
	f.PayloadEvents += int64(len(r.Arrivals))
	f.FinishReasons[cmp.Or(r.FinishReason, "none")]++
	ttft, gotTTFT := o.TTFT()
	e2e, _ := o.E2E()
	if gotTTFT {
		f.TTFT.Record(ttft)
		f.TTFTService.Record(r.Arrivals[0])
		f.E2E.Record(e2e)
		f.E2EService.Record(r.Arrivals[len(r.Arrivals)-1])
	}
	if r.Answer >= 0 {
		f.FirstAnswer.Record(o.late() + r.Arrivals[r.Answer])
	}
	for i := 1; i < len(r.Arrivals); i++ {
		f.Gap.Record(r.Arrivals[i] - r.Arrivals[i-1])
	}
	tpot, assumed, gotTPOT := o.TPOT()
	if gotTPOT {
		f.TPOT.Record(tpot)
		basis := "server"
		if assumed {
			basis = "assumed_one"
		}
		f.TPOTBasis[basis]++
	}
	if u := r.Usage; u != nil {
		f.OutputTokens.Add(float64(u.CompletionTokens))
		f.PromptTokens.Add(float64(u.PromptTokens))
		if u.CachedTokens >= 0 {
			f.CachedTokens.Add(float64(u.CachedTokens))
		}
	}
	if f.MetSLO != nil && gotTTFT && slo.met(ttft, e2e, tpot, gotTPOT) {
		*f.MetSLO++
	}
}

// met reports whether a successful request met every bound that is set. A TPOT
// that is undefined (one token) meets its bound.
func (s SLO) met(ttft, e2e, tpot time.Duration, gotTPOT bool) bool {
	return (s.TTFT == 0 || ttft <= s.TTFT.Duration()) &&
		(s.E2E == 0 || e2e <= s.E2E.Duration()) &&
		(s.TPOT == 0 || !gotTPOT || tpot <= s.TPOT.Duration())
}

// shard is one worker's share of a segment's recording.
type shard struct {
	mu        sync.Mutex
	total     *Figures
	scenarios map[string]*Figures
	late      Histogram
	ends
	slowest []SlowRequest
}

// ends says how long requests were in flight and when they ended.
type ends struct {
	busy       time.Duration // Σ time in flight
	lastEnd    time.Time     // of any request
	lastAnswer time.Time     // of a successful one
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// segmentRecorder spreads a segment's requests over shards that are merged at
// the end. A lock is taken once a request, on a shard that few others use.
type segmentRecorder struct {
	slo    SLO
	shards []shard
	also   []Recorder
}

func newSegmentRecorder(slo SLO, shards int, also ...Recorder) *segmentRecorder {
	rec := &segmentRecorder{slo: slo, shards: make([]shard, max(shards, 1)), also: also}
	for i := range rec.shards {
		rec.shards[i].total = NewFigures(slo)
		rec.shards[i].scenarios = map[string]*Figures{}
	}
	return rec
}

// record counts o in the shard of worker.
func (rec *segmentRecorder) record(worker int, o *Observation) {
	sh := &rec.shards[worker%len(rec.shards)]
	sh.mu.Lock()
	sh.total.record(o, rec.slo)
	f := sh.scenarios[o.Request.Scenario]
	if f == nil {
		f = NewFigures(rec.slo)
		sh.scenarios[o.Request.Scenario] = f
	}
	f.record(o, rec.slo)
	if o.Reply.Outcome != Dropped {
		sh.late.Record(o.late())
		sh.busy += o.Reply.End
		end := o.Reply.Sent.Add(o.Reply.End)
		sh.lastEnd = latest(sh.lastEnd, end)
		if o.Reply.Outcome == OK {
			sh.lastAnswer = latest(sh.lastAnswer, end)
		}
	}
	if o.Segment.Kind == Judged {
		sh.slowest = insertSlow(sh.slowest, o)
	}
	sh.mu.Unlock()
	for _, r := range rec.also {
		r.Record(o)
	}
}

// recorded is a segment's shards put together.
type recorded struct {
	total     *Figures
	scenarios map[string]*Figures
	late      *Histogram
	ends
	slowest []SlowRequest
}

// merge puts the shards together. Nothing may be recorded any more.
func (rec *segmentRecorder) merge() recorded {
	out := recorded{total: NewFigures(rec.slo), scenarios: map[string]*Figures{}, late: &Histogram{}}
	for i := range rec.shards {
		sh := &rec.shards[i]
		out.total.Merge(sh.total)
		for name, f := range sh.scenarios {
			if out.scenarios[name] == nil {
				out.scenarios[name] = NewFigures(rec.slo)
			}
			out.scenarios[name].Merge(f)
		}
		out.late.Merge(&sh.late)
		out.busy += sh.busy
		out.lastEnd = latest(out.lastEnd, sh.lastEnd)
		out.lastAnswer = latest(out.lastAnswer, sh.lastAnswer)
		out.slowest = append(out.slowest, sh.slowest...)
	}
	if len(out.scenarios) == 1 {
		out.scenarios = nil // it would only repeat the total
	}
	out.slowest = topSlow(out.slowest)
	return out
}

// slowestKept is how many of the slowest requests a run keeps.
const slowestKept = 10

// insertSlow adds o to the list where it is among the slowest.
func insertSlow(list []SlowRequest, o *Observation) []SlowRequest {
	e2e, ok := o.E2E()
	if !ok || o.Reply.Outcome != OK {
		return list
	}
	ms := e2e.Seconds() * 1000
	if len(list) >= slowestKept && *list[len(list)-1].E2EMS >= ms {
		return list
	}
	slow := SlowRequest{
		Segment: o.Segment.Label(), Scenario: o.Request.Scenario, Outcome: o.Reply.Outcome,
		IntendedMS: o.Intended.Sub(o.Began).Seconds() * 1000, E2EMS: &ms,
	}
	if ttft, ok := o.TTFT(); ok {
		v := ttft.Seconds() * 1000
		slow.TTFTMS = &v
	}
	if u := o.Reply.Usage; u != nil {
		n := u.CompletionTokens
		slow.OutputTokens = &n
	}
	return topSlow(append(list, slow))
}

// topSlow sorts slowest first and keeps the first few.
func topSlow(list []SlowRequest) []SlowRequest {
	slices.SortStableFunc(list, func(a, b SlowRequest) int { return cmp.Compare(*b.E2EMS, *a.E2EMS) })
	return list[:min(len(list), slowestKept)]
}
