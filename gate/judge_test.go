package gate

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/org/llm-gate/loadtest"
)

func TestCatalogue(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Catalogue() {
		if m.ID == "" || m.Title == "" || m.Formula == "" || m.Source == "" || m.noun == "" || m.compute == nil || seen[m.ID] {
			t.Errorf("row %q is incomplete or listed twice", m.ID)
		}
		seen[m.ID] = true
		for _, name := range m.Names {
			if _, ok := loadtest.KindOf(name); !ok {
				t.Errorf("%s needs %q, which is no canonical name", m.ID, name)
			}
		}
		// Of nothing, nothing: null with a reason, never zero.
		if v := Measure(&loadtest.Result{}, m.ID, "", ""); v.V != nil || v.Null == "" {
			t.Errorf("%s of an empty result is %+v", m.ID, v)
		}
	}
	for _, c := range DefaultChecks() {
		if !seen[c.Metric] {
			t.Errorf("default check %s is not in the catalogue", c.Metric)
		}
	}
}

func TestMeasureQuantiles(t *testing.T) {
	b := healthy()
	b.sigma, b.rounds, b.requests, b.failures = 0, 2, 100, 4
	res := b.result()
	v := Measure(res, "ttft_p95", "", "")
	if v.V == nil || math.Abs(*v.V-182) > .1 || v.N != 200 || v.SuccessOnly == nil {
		t.Errorf("P95 with 4 %% failures: %+v", v)
	}
	if v := Measure(res, "ttft_p99", "", ""); v.V != nil || v.Censored != "failures" || v.SuccessOnly == nil {
		t.Errorf("P99 with 4 %% failures: %+v", v)
	}
	if v := Measure(res, "tpot_p99", "", ""); v.V == nil || v.N != 192 {
		t.Errorf("TPOT P99 is of successes: %+v", v)
	}
	if v := MeasureSegment(&res.Segments[1], "error_rate"); v.V == nil || *v.V != .04 || v.N != 100 {
		t.Errorf("error rate of a round: %+v", v)
	}
	if v := Measure(res, "goodput_ratio", "", ""); v.Null != "no SLO is configured" {
		t.Errorf("goodput without an SLO: %+v", v)
	}
	if v := Measure(res, "ttft_p95", "stair-1", ""); !strings.Contains(v.Null, `no stage "stair-1" (it has steady)`) {
		t.Errorf("a stage that is not there: %+v", v)
	}
}

func TestDegradation(t *testing.T) {
	b := healthy()
	b.sigma, b.e2e, b.requests, b.failures = 0, 170, 1000, 8
	policy := defaultPolicy()
	policy.Degradation.DesignThroughputPerS = 15
	v := Judge(Input{Policy: policy, Candidate: b.result(), History: accepted(2)})
	s := v.Degradation
	// r = 11.904 / 15; p99 170 ms; e = 0.8 %.
	if s == nil || s.RelativeTo != "design" || math.Abs(s.Throughput-(.9-11.904/15)*50) > .01 || math.Abs(s.Latency-2) > .02 || math.Abs(s.Errors-16) > 1e-6 || !s.Warn {
		t.Errorf("score %+v", s)
	}
	relative := Judge(Input{Policy: defaultPolicy(), Candidate: healthy().result(), History: accepted(2)}).Degradation
	if relative == nil || relative.RelativeTo != "baseline" || relative.Value > 1 || relative.Warn {
		t.Errorf("a healthy run relative to its baseline: %+v", relative)
	}
	if none := Judge(Input{Policy: defaultPolicy(), Candidate: healthy().result(), MayRecord: true}).Degradation; none != nil {
		t.Errorf("without design or baseline: %+v", none)
	}
}

func TestSuspicious(t *testing.T) {
	b := healthy()
	b.ttft = 90
	v := Judge(Input{Policy: defaultPolicy(), Candidate: b.result(), History: accepted(3)})
	if f := byMetric(t, v, "ttft_p95"); !f.Suspicious || f.Status != Pass || v.Conclusion != Green {
		t.Errorf("a P95 half as long: %s", dump(v))
	}
}

func TestChangedAndDigest(t *testing.T) {
	b := healthy()
	b.edit = func(r *loadtest.Result) { r.Subject.EngineVersion, r.Subject.Flags["block_size"] = "0.12.0", "64" }
	v := Judge(Input{Policy: defaultPolicy(), Candidate: b.result(), History: accepted(7)})
	want := []Difference{{"engine_version", "0.11.0", "0.12.0"}, {"flags.block_size", "16", "64"}}
	if !slices.Equal(v.Changed, want) {
		t.Errorf("changed %v, want %v", v.Changed, want)
	}
	if len(v.Against.Runs) != 5 || v.Against.Runs[0].ID != "base-0" {
		t.Errorf("against %v: want the newest five", v.Against.Runs)
	}
	d := v.Digest
	if len(d.Stages) != 1 || len(d.Rounds) != 5 || len(d.History) != 6 || d.History[5].ID != "run" || d.GPUMinutes == nil {
		t.Fatalf("digest: %d stages, %d rounds, %d points, GPU minutes %v", len(d.Stages), len(d.Rounds), len(d.History), d.GPUMinutes)
	}
	if s := d.Stages[0]; s.Sent != 8000 || s.PredictedConcurrency == nil || len(s.Latencies["ttft"]) != len(QuantileLevels) || s.KVHitRatio == nil {
		t.Errorf("stage %+v", s)
	}
}

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		name  string
		check Check
		want  string
	}{
		{"unknown metric", Check{Metric: "ttft_p59", Max: pointer(1.)}, `did you mean "ttft_p95"?`},
		{"no limit", Check{Metric: "ttft_p95"}, "no limit is set"},
		{"points of a latency", Check{Metric: "ttft_p95", Tolerance: &Tolerance{Points, .05}}, "fits ratios only"},
		{"tolerance without a better side", Check{Metric: "output_tokens_mean", Tolerance: &Tolerance{Relative, .05}}, "no better side"},
		{"near without target", Check{Metric: "ttft_p95", Tolerance: &Tolerance{Relative, .1}, Near: 5}, "needs max or min"},
		{"veto on the better side", Check{Metric: "ttft_p95", Max: pointer(200.), Veto: pointer(100.)}, "better side of the target"},
		{"NaN", Check{Metric: "ttft_p95", Max: pointer(math.NaN())}, "not a finite number"},
		{"zero tolerance", Check{Metric: "ttft_p95", Tolerance: &Tolerance{Relative, 0}}, "above zero"},
		{"scenario of a server metric", Check{Metric: "kv_hit_rate", Scenario: "a", Min: pointer(.5)}, "all scenarios together"},
	} {
		tt.check.Pos = "llm-gate.yml:12:3"
		err := Policy{Checks: []Check{tt.check}}.Validate()
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "llm-gate.yml:12:3: ") {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if err := (Policy{}).Validate(); err == nil {
		t.Error("an empty list of checks is refused")
	}
	if err := defaultPolicy().Validate(); err != nil {
		t.Errorf("the default policy: %v", err)
	}
}
