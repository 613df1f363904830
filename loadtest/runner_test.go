package loadtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// targetFunc answers requests in-process.
type targetFunc func(ctx context.Context, req *Request, reply *Reply) error

func (f targetFunc) Do(ctx context.Context, req *Request, reply *Reply) error {
	reply.Reset()
	reply.Sent = time.Now()
	return f(ctx, req, reply)
}

// answer is a server that takes d to its first token and 2·d to its last.
func answer(d time.Duration) targetFunc {
	return func(ctx context.Context, req *Request, reply *Reply) error {
		select {
		case <-ctx.Done():
			reply.Outcome = Unfinished
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				reply.Outcome = Timeout
			}
			reply.End = time.Since(reply.Sent)
			return nil
		case <-time.After(2 * d):
		}
		reply.Outcome, reply.Answer, reply.FinishReason = OK, 0, "length"
		reply.Arrivals = append(reply.Arrivals, d, 2*d)
		reply.End = 2 * d
		reply.SetUsage(Usage{PromptTokens: 10, CompletionTokens: 3, CachedTokens: -1})
		return nil
	}
}

func quickSpec() Spec {
	spec := DefaultSpec()
	spec.Arrivals = Arrivals{Process: Constant, RatePerS: 200}
	spec.Rounds, spec.Requests, spec.Length, spec.Warmup = 2, 20, 0, 5
	spec.LateLimit = 60 // these machines are shared: lateness is not under test
	return spec
}

func run(ctx context.Context, t *testing.T, r *Runner) *Result {
	t.Helper()
	var err error
	if r.Workload, err = NewWorkload(r.Spec); err != nil {
		t.Fatal(err)
	}
	res := &Result{Schema: ResultSchema}
	if err := r.Run(ctx, res); err != nil {
		t.Fatal(err)
	}
	return res
}

func TestRunnerOpenLoop(t *testing.T) {
	var log bytes.Buffer
	requests := NewRequestLog(&log)
	spec := quickSpec()
	spec.SLO = SLO{TTFT: 60}
	res := run(t.Context(), t, &Runner{Target: answer(5 * time.Millisecond), Spec: spec, Seed: 3, Nonce: "n", Log: requests})
	if res.Incomplete != "" {
		t.Fatalf("incomplete: %s", res.Incomplete)
	}
	var labels []string
	for _, seg := range res.Segments {
		labels = append(labels, seg.Segment.Label())
	}
	if got := strings.Join(labels, ", "); got != "warmup, steady 1/2, steady 2/2" {
		t.Fatalf("segments %s", got)
	}
	for _, seg := range res.Segments[1:] {
		f := seg.Total
		if f.Sent() != 20 || f.Failed() != 0 || f.TTFT.N() != 20 || f.Gap.N() != 20 || f.TPOT.N() != 20 || *f.MetSLO != 20 {
			t.Errorf("%s: sent %d, failed %d, ttft %d, gaps %d, tpot %d, met SLO %d, want 20, 0, 20, 20, 20, 20",
				seg.Segment.Label(), f.Sent(), f.Failed(), f.TTFT.N(), f.Gap.N(), f.TPOT.N(), *f.MetSLO)
		}
		if ms, _ := f.TTFTService.AtRank(1); math.Abs(ms-5) > 0.005 {
			t.Errorf("TTFT from the send %g ms, want 5", ms)
		}
		if service, _ := f.TTFTService.Mean(); true {
			if intended, _ := f.TTFT.Mean(); intended < service {
				t.Errorf("TTFT from the intended start %g ms, less than from the send %g", intended, service)
			}
		}
		// (10 − 5) ms / (3 − 1) tokens.
		if ms, _ := f.TPOT.AtRank(20); math.Abs(ms-2.5) > 0.0025 {
			t.Errorf("TPOT %g ms, want 2.5", ms)
		}
		if f.OutputTokens.N != 20 || f.OutputTokens.Sum != 60 || f.CachedTokens.N != 0 {
			t.Errorf("output tokens %+v cached %+v", f.OutputTokens, f.CachedTokens)
		}
		if seg.OfferedPerS == nil || *seg.OfferedPerS != 200 {
			t.Errorf("offered %v, want 200", seg.OfferedPerS)
		}
	}
	if err := requests.Flush(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 40 {
		t.Fatalf("%d lines in the log, want 40: the warm-up is not measured", len(lines))
	}
	var line map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &line); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"scenario": "synthetic", "stage": "steady", "round": 1.0, "outcome": "ok", "error": nil, "tpot_ms": 2.5, "output_tokens": 3.0, "payload_events": 2.0, "finish_reason": "length"} {
		if got, ok := line[key]; !ok || got != want {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
	for _, key := range []string{"intended_start_ms", "sent_ms", "ttft_ms", "e2e_ms", "first_answer_ms"} {
		if _, ok := line[key].(float64); !ok {
			t.Errorf("%s: %v, want a number", key, line[key])
		}
	}
}

func TestClosedLoop(t *testing.T) {
	spec := quickSpec()
	spec.Arrivals = Arrivals{Process: Closed, Concurrency: 4}
	var flying, peak atomic.Int64
	slow := answer(2 * time.Millisecond)
	target := targetFunc(func(ctx context.Context, req *Request, reply *Reply) error {
		n := flying.Add(1)
		defer flying.Add(-1)
		for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
		}
		return slow(ctx, req, reply)
	})
	res := run(t.Context(), t, &Runner{Target: target, Spec: spec, Seed: 3, Nonce: "n"})
	seg := res.Segments[1]
	if seg.Total.Sent() != 20 || seg.OfferedPerS != nil || seg.Generator.LateP99MS != nil {
		t.Errorf("sent %d, offered %v, late %v: want 20 and no schedule", seg.Total.Sent(), seg.OfferedPerS, seg.Generator.LateP99MS)
	}
	if seg.PeakConcurrency > 4 || peak.Load() > 4 || peak.Load() < 2 {
		t.Errorf("peak concurrency %d, the server saw %d, want at most 4", seg.PeakConcurrency, peak.Load())
	}
}

func TestRunnerInterrupted(t *testing.T) {
	spec := quickSpec()
	spec.Warmup, spec.Arrivals.RatePerS, spec.Requests = 0, 50, 100_000
	spec.Budget = 0
	ctx, cancel := context.WithCancelCause(t.Context())
	began := time.Now()
	var n atomic.Int64
	quick, stuck := answer(time.Millisecond), answer(time.Hour)
	target := targetFunc(func(ctx context.Context, req *Request, reply *Reply) error {
		if n.Add(1) == 5 {
			cancel(errors.New("interrupted"))
		}
		if n.Load() < 5 {
			return quick(ctx, req, reply)
		}
		return stuck(ctx, req, reply)
	})
	res := run(ctx, t, &Runner{Target: target, Spec: spec, Seed: 3, Nonce: "n"})
	if want := "interrupted in steady 1/2"; res.Incomplete != want {
		t.Errorf("incomplete %q, want %q", res.Incomplete, want)
	}
	if len(res.Segments) != 1 || res.Segments[0].Total.Outcomes[OK] != 4 || res.Segments[0].Total.Outcomes[Unfinished] < 1 {
		t.Errorf("segments %+v: want what was seen until then", res.Segments)
	}
	// The drain takes 2 s; 6 s is what an interrupted run may take in all.
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("took %v to stop", took)
	}
}

func TestRunnerToolFailure(t *testing.T) {
	spec := quickSpec()
	w, err := NewWorkload(spec)
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{Spec: spec, Workload: w, Target: targetFunc(func(context.Context, *Request, *Reply) error { return errors.New("cannot express this") })}
	res := &Result{}
	if err := r.Run(t.Context(), res); err == nil || !strings.Contains(err.Error(), "cannot express this") || res.Incomplete == "" {
		t.Errorf("error %v, incomplete %q", err, res.Incomplete)
	}
}

func TestRunnerAllFail(t *testing.T) {
	spec := quickSpec()
	refused := targetFunc(func(_ context.Context, _ *Request, reply *Reply) error {
		reply.Outcome, reply.Detail = Connect, "connection refused"
		return nil
	})
	res := run(t.Context(), t, &Runner{Target: refused, Spec: spec, Seed: 3, Nonce: "n"})
	seg := res.Segments[1]
	if seg.Total.Failed() != 20 || seg.Total.TTFT.N() != 0 || res.Incomplete != "" {
		t.Errorf("failed %d, ttft %d, incomplete %q: want 20 failures in a whole run", seg.Total.Failed(), seg.Total.TTFT.N(), res.Incomplete)
	}
	if details := seg.Total.Errors[Connect]; len(details) != 1 || !strings.Contains(details[0], "connection refused") {
		t.Errorf("details %v", details)
	}
}

// pages is a Source whose counter grows with every reading.
type pages struct {
	n     atomic.Int64
	err   error
	every float64
}

func (p *pages) Sample(context.Context, time.Time) (Samples, error) {
	n := float64(p.n.Add(1))
	return Samples{At: time.Now(), Dialect: "vllm", Pages: []Page{{ID: "a", Values: map[string]float64{PrefixQueries: 10 * n, PrefixHits: 4 * n}}}}, p.err
}

func (p *pages) Describe() SourceInfo { return SourceInfo{Kind: "scrape", IntervalS: p.every} }

func TestRunnerWindows(t *testing.T) {
	src := &pages{}
	res := run(t.Context(), t, &Runner{Target: answer(time.Millisecond), Source: src, Spec: quickSpec(), Seed: 3, Nonce: "n"})
	for _, seg := range res.Segments[1:] {
		if seg.Server == nil || seg.Server.Counters[PrefixQueries] < 10 {
			t.Errorf("%s: window %+v", seg.Segment.Label(), seg.Server)
		}
	}
	if res.Segments[0].Server != nil {
		t.Error("the warm-up has a window")
	}
	if res.Server == nil || res.Server.Counters[PrefixQueries] < 30 || res.Server.Counters[PrefixHits] != res.Server.Counters[PrefixQueries]*0.4 {
		t.Errorf("window of the run %+v", res.Server)
	}
}

func TestRunnerSlowSourceCountsTheRunOnly(t *testing.T) {
	spec := quickSpec()
	spec.Length, spec.Requests = 0.1, 0
	res := run(t.Context(), t, &Runner{Target: answer(time.Millisecond), Source: &pages{every: 30}, Spec: spec, Seed: 3, Nonce: "n"})
	for _, seg := range res.Segments {
		if seg.Server != nil {
			t.Errorf("%s has a window of a source that refreshes every 30 s", seg.Segment.Label())
		}
	}
	if res.Server == nil || res.Server.Counters[PrefixQueries] == 0 {
		t.Errorf("window of the run %+v", res.Server)
	}
}

func TestRunnerUnreadableSource(t *testing.T) {
	res := run(t.Context(), t, &Runner{Target: answer(time.Millisecond), Source: &pages{err: errors.New("refused")}, Spec: quickSpec(), Seed: 3, Nonce: "n"})
	if w := res.Server; w == nil || len(w.Counters) != 0 || !strings.Contains(w.Missing[Everything], "refused") {
		t.Errorf("window %+v: want no counts and the reason", w)
	}
}

func TestUnfit(t *testing.T) {
	figures := func(ttft time.Duration, outcomes map[Outcome]int64) *Figures {
		f := NewFigures(SLO{})
		for range 100 {
			f.TTFT.Record(ttft)
		}
		f.Outcomes = outcomes
		return f
	}
	ok := map[Outcome]int64{OK: 100}
	ms := func(v float64) *float64 { return &v }
	for name, c := range map[string]struct {
		seg  SegmentResult
		want string
	}{
		"fit":                 {SegmentResult{Total: figures(100*time.Millisecond, ok), Generator: Health{LateP99MS: ms(9.9)}}, ""},
		"late":                {SegmentResult{Total: figures(100*time.Millisecond, ok), Generator: Health{LateP99MS: ms(10.5)}}, "late by 10.5 ms"},
		"late within 5 %":     {SegmentResult{Total: figures(time.Second, ok), Generator: Health{LateP99MS: ms(49)}}, ""},
		"late past 5 %":       {SegmentResult{Total: figures(time.Second, ok), Generator: Health{LateP99MS: ms(51)}}, "late by 51"},
		"achieved too little": {SegmentResult{Total: figures(time.Second, ok), OfferedPerS: ms(10), AchievedPerS: 9.4}, "9.4 of the 10 req/s"},
		"client failures":     {SegmentResult{Total: figures(time.Second, map[Outcome]int64{OK: 90, Client: 2})}, "failed to send 2 of 92"},
		"few client failures": {SegmentResult{Total: figures(time.Second, map[Outcome]int64{OK: 999, Client: 2})}, ""},
	} {
		got := unfit(&c.seg, 0)
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
