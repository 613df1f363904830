package gate

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/org/llm-gate/loadtest"
)

func TestSameInputSameBytes(t *testing.T) {
	b := healthy()
	b.ttft = 217
	in := Input{Policy: defaultPolicy(), Candidate: b.result(), History: accepted(3)}
	first := marshal(t, Judge(in))
	for range 5 {
		if again := marshal(t, Judge(in)); !bytes.Equal(first, again) {
			t.Fatal("the same input gave other bytes")
		}
	}
	var back Verdict
	if err := json.Unmarshal(first, &back); err != nil {
		t.Fatalf("read the verdict back: %v", err)
	}
	if back.Conclusion != Red {
		t.Errorf("conclusion read back as %s", back.Conclusion)
	}
}

// A check that passes never makes a verdict redder, whatever the others say.
func TestAddingAPassingCheckNeverReddens(t *testing.T) {
	b := healthy()
	b.ttft, b.requests = 217, 400
	candidate, history := b.result(), accepted(3, func(b *build) { b.requests = 400 })
	var checks []Check
	for _, id := range []string{"ttft_p95", "tpot_p95", "e2e_p95", "gap_p90"} {
		checks = append(checks, userCheck(id, func(c *Check) { c.Tolerance = &Tolerance{Relative, .15} }))
	}
	checks = append(checks, userCheck("ttft_p50", func(c *Check) { c.Max, c.Near = pointer(130.), 10 }))
	for mask := range 1 << len(checks) {
		var some []Check
		for i, c := range checks {
			if mask>>i&1 == 1 {
				some = append(some, c)
			}
		}
		before := Judge(Input{Policy: defaultPolicy(append([]Check{}, some...)...), Candidate: candidate, History: history})
		passing := userCheck("e2e_p50", func(c *Check) { c.Max = pointer(1e6) })
		after := Judge(Input{Policy: defaultPolicy(append(some, passing)...), Candidate: candidate, History: history})
		if len(some) > 0 && after.Conclusion != before.Conclusion {
			t.Errorf("checks %05b: %s became %s", mask, before.Conclusion, after.Conclusion)
		}
	}
}

// A tolerance is about ratios: the same run on a server ten times slower gives
// the same statuses and changes.
func TestScaleOfTimeDoesNotMatter(t *testing.T) {
	times := func(k float64) func(*build) {
		return func(b *build) { b.ttft, b.tpot, b.e2e = b.ttft*k, b.tpot*k, b.e2e*k }
	}
	judge := func(k float64) *Verdict {
		b := healthy()
		b.ttft = 205
		times(k)(&b)
		return Judge(Input{Policy: defaultPolicy(), Candidate: b.result(), History: accepted(3, times(k))})
	}
	a, b := judge(1), judge(10)
	for i := range a.Findings {
		fa, fb := a.Findings[i], b.Findings[i]
		if fa.Status != fb.Status || math.Abs(*fa.Change.Value-*fb.Change.Value) > .002 {
			t.Errorf("%s: %s %v and %s %v", fa.Metric, fa.Status, *fa.Change.Value, fb.Status, *fb.Change.Value)
		}
	}
}

// Whatever part of a result is missing, the gate is not green: every part that
// a default check needs is taken away in turn.
func TestMissingIsNeverGreen(t *testing.T) {
	history := accepted(3)
	for name, take := range map[string]func(*loadtest.SegmentResult){
		"total":         func(s *loadtest.SegmentResult) { s.Total = nil },
		"ttft":          func(s *loadtest.SegmentResult) { s.Total.TTFT = nil },
		"tpot":          func(s *loadtest.SegmentResult) { s.Total.TPOT = nil },
		"e2e":           func(s *loadtest.SegmentResult) { s.Total.E2E = nil },
		"outcomes":      func(s *loadtest.SegmentResult) { s.Total.Outcomes = nil },
		"all zero":      func(s *loadtest.SegmentResult) { s.Total = &loadtest.Figures{} },
		"only dropped":  func(s *loadtest.SegmentResult) { s.Total.Outcomes = map[loadtest.Outcome]int64{loadtest.Dropped: 1600} },
		"counters":      func(s *loadtest.SegmentResult) { s.Server.Counters = nil },
		"queries":       func(s *loadtest.SegmentResult) { delete(s.Server.Counters, loadtest.PrefixQueries) },
		"NaN hits":      func(s *loadtest.SegmentResult) { s.Server.Counters[loadtest.PrefixHits] = math.NaN() },
		"infinite hits": func(s *loadtest.SegmentResult) { s.Server.Counters[loadtest.PrefixHits] = math.Inf(1) },
		"warm-up only":  func(s *loadtest.SegmentResult) { s.Segment.Kind = loadtest.Warmup },
		"other arm":     func(s *loadtest.SegmentResult) { s.Segment.Arm = "stable" },
		"cut short":     func(s *loadtest.SegmentResult) { s.Incomplete = "drain ended" },
		"unfit":         func(s *loadtest.SegmentResult) { s.Generator.Unfit = "late sends" },
	} {
		t.Run(name, func(t *testing.T) {
			for _, rounds := range [][]int{{1, 2, 3, 4, 5}, {2}} {
				if len(rounds) == 1 && slices.Contains([]string{"counters", "queries", "NaN hits", "infinite hits", "warm-up only", "other arm"}, name) {
					continue // the other rounds still tell
				}
				res := healthy().result()
				res.Server = nil
				for _, r := range rounds {
					take(&res.Segments[r])
				}
				v := Judge(Input{Policy: defaultPolicy(), Candidate: res, History: history})
				if v.Conclusion == Green || v.Conclusion == First {
					t.Errorf("rounds %v without it: %s", rounds, dump(v))
				}
				marshal(t, v)
			}
		})
	}
	t.Run("nothing", func(t *testing.T) {
		for _, in := range []Input{{}, {Policy: defaultPolicy()}, {Candidate: &loadtest.Result{}}, {Policy: defaultPolicy(), Candidate: &loadtest.Result{}, MayRecord: true}, {Policy: defaultPolicy(), Unjudgeable: []string{"target never became ready"}}} {
			v := Judge(in)
			if v.Conclusion != NotJudged || v.ExitCode != 3 || len(v.Reasons) == 0 {
				t.Errorf("%s", dump(v))
			}
			marshal(t, v)
		}
	})
}

// FuzzJudge judges mutated results: no panic, and always valid JSON.
func FuzzJudge(f *testing.F) {
	small := func(edit func(*build)) []byte {
		b := healthy()
		b.requests, b.rounds = 20, 2
		edit(&b)
		data, err := json.Marshal(b.result())
		if err != nil {
			f.Fatal(err)
		}
		return data
	}
	f.Add(small(func(*build) {}))
	f.Add(small(func(b *build) { b.failures = 20 }))
	f.Add(small(func(b *build) { b.tokens, b.hits = 0, -1 }))
	f.Add([]byte(`{"schema":"llm-gate/result/v1","segments":[{"segment":{"kind":"judged","stage":"s"},"total":null},{"segment":{"kind":"shown","stage":"t"},"offered_per_s":1e308,"duration_s":-1}]}`))
	f.Add([]byte(`{"schema":"llm-gate/result/v1","segments":[{"segment":{"kind":"judged"},"duration_s":1e-300,"total":{"outcomes":{"ok":9223372036854775807,"timeout":-5},"met_slo":-3,"output_tokens":{"n":-1,"sum":1e308,"sum_squares":-1}}}]}`))
	policy := defaultPolicy(DefaultChecks()...)
	for _, m := range Catalogue() {
		policy.Checks = append(policy.Checks, userCheck(m.ID, func(c *Check) {
			c.Tolerance, c.Max, c.Veto, c.Near = &Tolerance{kindOf(m), .1}, pointer(5.), pointer(9.), 1
		}))
	}
	b := healthy()
	b.requests, b.rounds = 20, 2
	history := []Accepted{{Reference: Reference{ID: "base"}, Result: b.result()}}
	f.Fuzz(func(t *testing.T, data []byte) {
		var res loadtest.Result
		if json.Unmarshal(data, &res) != nil {
			return
		}
		for _, in := range []Input{
			{Policy: policy, Candidate: &res, History: history, MayRecord: true},
			{Policy: policy, Candidate: history[0].Result, History: []Accepted{{Result: &res}}},
		} {
			v := Judge(in)
			if v.Conclusion == Green && in.Candidate == &res && res.Incomplete != "" {
				t.Error("an incomplete run is green")
			}
			marshal(t, v)
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	c := healthy()
	c.ttft = 217
	in := Input{Policy: defaultPolicy(), Candidate: c.result(), History: accepted(5)}
	b.ReportAllocs()
	for b.Loop() {
		Judge(in)
	}
}
