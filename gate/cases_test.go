package gate

import (
	"strings"
	"testing"
	"time"

	"github.com/org/llm-gate/loadtest"
)

// The situations at the gate, one case each.
func TestSituations(t *testing.T) {
	flat := func(b *build) { b.sigma = 0 }
	for _, tt := range []struct {
		name       string
		candidate  func(*build)
		history    []Accepted
		input      func(*Input)
		conclusion Conclusion
		exit       int
		metric     string
		status     Status
		certain    bool
		change     string
		says       []string // somewhere in headline, reasons, notes, next, finding reasons
	}{
		{
			name:      "P95 182 to 217 ms, tolerance 15 %",
			candidate: func(b *build) { b.sigma, b.ttft = 0, 217 }, history: accepted(5, flat, func(b *build) { b.ttft = 182.1 }),
			conclusion: Red, exit: 1, metric: "ttft_p95", status: Fail, change: "19.2 % slower",
			says: []string{"First token is 19 % slower (P95 182 → 217 ms, limit +15 %)."},
		},
		{
			name:      "error rate 0.12 % to 0.86 %",
			candidate: func(b *build) { b.rounds, b.requests, b.failures = 5, 10000, 86 },
			history:   accepted(2, func(b *build) { b.requests, b.failures = 10000, 12 }), conclusion: Red, exit: 1,
			metric: "error_rate", status: Fail, certain: true, change: "0.74 pp higher",
			says: []string{"Errors rose 0.12 % → 0.86 % (limit +0.5 pp)."},
		},
		{
			name:      "latency 475.34 to 759.85",
			candidate: func(b *build) { b.sigma, b.e2e = 0, 759.85 }, history: accepted(5, func(b *build) { b.sigma, b.e2e = 0, 475.34 }),
			conclusion: Red, exit: 1, metric: "e2e_p95", status: Fail, certain: true, change: "59.9 % slower",
		},
		{
			name:      "error rate from 0 to 0.2 %, n = 20,000 each",
			candidate: func(b *build) { b.requests, b.failures = 4000, 8 }, history: accepted(1, func(b *build) { b.requests = 4000 }),
			conclusion: Green, metric: "error_rate", status: Pass, certain: true, change: "0.20 pp higher",
		},
		{
			name: "error rate 0 and now 0", candidate: func(*build) {}, history: accepted(3),
			conclusion: Green, metric: "error_rate", status: Pass, certain: true, change: "unchanged",
			says: []string{"No check is worse than its baseline."},
		},
		{
			name: "the metric of a written check is absent", candidate: func(b *build) { b.hits = -1 }, history: accepted(3, func(b *build) { b.hits = -1 }),
			input: func(in *Input) {
				in.Policy = defaultPolicy(userCheck("kv_hit_rate", func(c *Check) { c.Min = pointer(.5) }))
			},
			conclusion: NotJudged, exit: 3, metric: "kv_hit_rate", status: Unknown,
			says: []string{"prefix_queries", "vllm:gpu_prefix_cache_queries_total"},
		},
		{
			name: "a default hit rate that the engine never shows is omitted and said", candidate: func(b *build) { b.hits = -1 }, history: accepted(3, func(b *build) { b.hits = -1 }),
			conclusion: Green, says: []string{"KV-cache hit rate is not judged: "},
		},
		{
			name: "a default hit rate that could not be read is not omitted",
			candidate: func(b *build) {
				b.hits = -1
				b.edit = func(r *loadtest.Result) {
					r.Segments[2].Server.Events = []loadtest.Event{{Kind: "scrape_failed", Text: "connection refused", At: epoch}}
				}
			}, history: accepted(3, func(b *build) { b.hits = -1 }),
			conclusion: NotJudged, exit: 3, metric: "kv_hit_rate", status: Unknown,
		},
		{
			name: "hit rate lost since the baseline", candidate: func(b *build) { b.hits = -1 }, history: accepted(3),
			conclusion: NotJudged, exit: 3, metric: "kv_hit_rate", status: Unknown, says: []string{"lost since the baseline (which has 71.4 %)"},
		},
		{
			name: "a metric is new", candidate: func(*build) {}, history: accepted(3, func(b *build) { b.hits = -1 }),
			conclusion: Green, metric: "kv_hit_rate", status: Unknown, change: "new", says: []string{"KV-cache hit rate is new"},
		},
		{
			name: "a new metric with an absolute limit is judged by it", candidate: func(*build) {}, history: accepted(3, func(b *build) { b.hits = -1 }),
			input: func(in *Input) {
				in.Policy = defaultPolicy(userCheck("kv_hit_rate", func(c *Check) { c.Tolerance, c.Min = &Tolerance{Points, .05}, pointer(.8) }))
			},
			conclusion: Red, exit: 1, metric: "kv_hit_rate", status: Fail, change: "new", says: []string{"new: no accepted run has this metric"},
		},
		{
			name: "no baseline, run on the default branch", candidate: func(*build) {}, input: func(in *Input) { in.MayRecord = true },
			conclusion: First, exit: 0, metric: "ttft_p95", status: Unknown, says: []string{"5 rounds, 8,000 requests"},
		},
		{
			name: "no baseline, run on the default branch, an absolute limit broken", candidate: func(*build) {},
			input: func(in *Input) {
				in.MayRecord = true
				in.Policy = defaultPolicy(userCheck("ttft_p95", func(c *Check) { c.Max = pointer(100.) }))
			},
			conclusion: Red, exit: 1, metric: "ttft_p95", status: Fail, certain: true, says: []string{"First token P95 is 18"},
		},
		{
			name: "no baseline, pull request", candidate: func(*build) {},
			conclusion: NotJudged, exit: 3, says: []string{"no baseline", "baseline promote"},
		},
		{
			name: "no baseline, pull request, not_judged: warn", candidate: func(*build) {},
			input:      func(in *Input) { in.Policy.NotJudged = WarnUnknown },
			conclusion: Yellow, exit: 0, says: []string{"no baseline"},
		},
		{
			name: "all requests fail", candidate: func(b *build) { b.failures = b.requests }, history: accepted(3),
			conclusion: Red, exit: 1, metric: "ttft_p95", status: Fail, certain: true, change: "above timeout", says: []string{"Every request failed: 8,000 http_5xx of 8,000."},
		},
		{
			name: "all requests fail on the very first run", candidate: func(b *build) { b.failures = b.requests }, input: func(in *Input) { in.MayRecord = true },
			conclusion: Red, exit: 1, metric: "ttft_p95", status: Fail,
		},
		{
			name: "30 % of requests answer 429", candidate: func(b *build) { b.failures, b.outcome = b.requests*3/10, loadtest.HTTP429 }, history: accepted(3),
			conclusion: Red, exit: 1, metric: "ttft_p95", status: Fail, certain: true, change: "above timeout",
			says: []string{"First token P95 is above timeout: 2,400 of 8,000 requests failed (2,400 http_429)", "of the successes alone it is 18"},
		},
		{
			name: "30 % of requests fail on the very first run", candidate: func(b *build) { b.failures = b.requests * 3 / 10 }, input: func(in *Input) { in.MayRecord = true },
			conclusion: Red, exit: 1, metric: "ttft_p95", status: Fail,
		},
		{
			name: "a hit-rate gauge disagrees with the counters",
			candidate: func(b *build) {
				b.edit = func(r *loadtest.Result) {
					for i := range r.Segments {
						r.Segments[i].Server.Gauges[loadtest.HitRateGauge] = loadtest.Gauge{Min: .1, Max: .1, Mean: .1, Last: .1, N: 9}
					}
				}
			}, history: accepted(3),
			conclusion: Green, metric: "kv_hit_rate", status: Pass, certain: true, change: "unchanged",
		},
		{
			name: "hit rate 71.4 % to 52.0 %", candidate: func(b *build) { b.hits, b.ttft = .52, 217 }, history: accepted(5),
			conclusion: Red, exit: 1, metric: "kv_hit_rate", status: Fail, certain: true, change: "19.4 pp lower",
			says: []string{"Prefix-cache hits fell 71 % → 52 %, the likely cause."},
		},
		{
			name: "hit rate 71.4 % to 52.0 % against one run", candidate: func(b *build) { b.hits = .52 }, history: accepted(1),
			conclusion: Red, exit: 1, metric: "kv_hit_rate", status: Fail, certain: true, change: "19.4 pp lower",
		},
		{
			name: "the server restarts in the run",
			candidate: func(b *build) {
				b.edit = func(r *loadtest.Result) {
					r.Segments[3].Server.Events = []loadtest.Event{{Kind: "restart", Text: "the server restarted: counters began again", At: epoch}}
				}
			}, history: accepted(3),
			conclusion: Green, says: []string{"the server restarted: counters began again"},
		},
		{
			name: "answers are half as long", candidate: func(b *build) { b.tokens, b.e2e = 64, 750 }, history: accepted(3),
			conclusion: Green, metric: "e2e_p95", status: Unknown, says: []string{"E2E latency P95 is not compared: answers are 50 % shorter", "stand in"},
		},
		{
			name: "answers are half as long and each token slower", candidate: func(b *build) { b.tokens, b.e2e, b.tpot = 64, 750, 12 }, history: accepted(3),
			conclusion: Red, exit: 1, metric: "tpot_p95", status: Fail, certain: true,
		},
		{
			name:      "other GPU",
			candidate: func(b *build) { b.edit = func(r *loadtest.Result) { r.Conditions.GPUModel = "L40S" } }, history: accepted(3),
			conclusion: NotJudged, exit: 3, says: []string{"GPU model H100 → L40S"},
		},
		{
			name:      "other workload",
			candidate: func(b *build) { b.edit = func(r *loadtest.Result) { r.Conditions.Workload = "w2" } }, history: nil,
			input:      func(in *Input) { in.Elsewhere, in.MayRecord = accepted(2), true },
			conclusion: NotJudged, exit: 3, says: []string{"workload synthetic (w1) → synthetic (w2)"},
		},
		{
			name:      "other cache state",
			candidate: func(b *build) { b.edit = func(r *loadtest.Result) { r.Conditions.CacheState = "shared" } }, history: accepted(3),
			conclusion: NotJudged, exit: 3, says: []string{"cache state nonce → shared"},
		},
		{
			name: "other engine version and flags are compared and listed",
			candidate: func(b *build) {
				b.edit = func(r *loadtest.Result) { r.Subject.EngineVersion, r.Subject.Flags["block_size"] = "0.12.0", "64" }
			}, history: accepted(3),
			conclusion: Green,
		},
		{
			name: "require_same: engine_version",
			candidate: func(b *build) {
				b.edit = func(r *loadtest.Result) { r.Subject.EngineVersion = "0.12.0" }
			}, history: accepted(3), input: func(in *Input) { in.Policy.RequireSame = []string{"engine_version"} },
			conclusion: NotJudged, exit: 3, says: []string{"engine version 0.11.0 → 0.12.0"},
		},
		{
			name: "40 samples and a P99 check", candidate: func(b *build) { b.requests = 8 }, history: accepted(3, func(b *build) { b.requests = 8 }),
			input: func(in *Input) {
				in.Policy = defaultPolicy(userCheck("ttft_p99", func(c *Check) { c.Max = pointer(1000.) }))
			},
			conclusion: NotJudged, exit: 3, metric: "ttft_p99", status: Unknown, says: []string{"TTFT P99: needs 299 requests at least", "has 40"},
		},
		{
			name: "the load generator sends late",
			candidate: func(b *build) {
				b.ttft = 500
				b.edit = func(r *loadtest.Result) { r.Generator.Unfit = "late sends p99 31 ms" }
			}, history: accepted(3),
			conclusion: NotJudged, exit: 3, says: []string{"late sends p99 31 ms"},
		},
		{
			name: "the server dies in the middle of the run", candidate: func(b *build) { b.dead = 2 }, history: accepted(3),
			conclusion: Red, exit: 1, metric: "ttft_p95", status: Fail, says: []string{"Most fail from steady 4/5 on", "connect"},
		},
		{
			name: "the server dies in the last round", candidate: func(b *build) { b.dead = 1 }, history: accepted(3),
			conclusion: Red, exit: 1, metric: "error_rate", status: Fail,
		},
		{
			name: "three checks near their targets", candidate: func(b *build) { b.sigma = 0 }, history: accepted(3, flat),
			input: func(in *Input) {
				near := func(id string, target, margin float64) Check {
					return userCheck(id, func(c *Check) { c.Max, c.Near = pointer(target), margin })
				}
				in.Policy = defaultPolicy(near("ttft_p95", 175, 15), near("tpot_p95", 8.9, 1), near("e2e_p95", 1450, 200))
			},
			conclusion: Red, exit: 1, metric: "ttft_p95", status: Near, says: []string{"3 checks are near their targets"},
		},
		{
			name: "two checks near their targets", candidate: func(b *build) { b.sigma = 0 }, history: accepted(3, flat),
			input: func(in *Input) {
				near := func(id string, target, margin float64) Check {
					return userCheck(id, func(c *Check) { c.Max, c.Near = pointer(target), margin })
				}
				in.Policy = defaultPolicy(near("ttft_p95", 175, 15), near("tpot_p95", 8.9, 1))
			},
			conclusion: Yellow, exit: 0, metric: "ttft_p95", status: Near,
		},
		{
			name: "four checks undecided", candidate: func(b *build) { b.sigma, b.runShift = 0, .10 }, history: accepted(3, flat),
			input: func(in *Input) {
				var cs []Check
				for _, id := range []string{"ttft_p95", "tpot_p95", "e2e_p95", "gap_p95"} {
					cs = append(cs, userCheck(id, func(c *Check) { c.Tolerance = &Tolerance{Relative, .15} }))
				}
				in.Policy = defaultPolicy(cs...)
			},
			conclusion: Yellow, exit: 0, metric: "gap_p95", status: Undecided,
		},
		{
			name:      "fail_on: never and a red verdict",
			candidate: func(b *build) { b.ttft = 300 }, history: accepted(3), input: func(in *Input) { in.Policy.FailOn = FailOnNever },
			conclusion: Red, exit: 0, metric: "ttft_p95", status: Fail, certain: true,
		},
		{
			name: "fail_on: yellow", candidate: func(b *build) { b.sigma, b.runShift = 0, .10 }, history: accepted(3, flat),
			input:      func(in *Input) { in.Policy.FailOn = FailOnYellow },
			conclusion: Yellow, exit: 1,
		},
		{
			name: "interrupted",
			candidate: func(b *build) {
				b.edit = func(r *loadtest.Result) { r.Incomplete = "interrupted by SIGTERM in steady 3/5" }
			}, history: accepted(3),
			input:      func(in *Input) { in.Policy.NotJudged = WarnUnknown },
			conclusion: NotJudged, exit: 3, says: []string{"interrupted by SIGTERM in steady 3/5"},
		},
		{
			name: "an accepted run that is too old", candidate: func(*build) {}, history: accepted(3),
			input:      func(in *Input) { in.Policy.MaxAge = 12 * time.Hour },
			conclusion: NotJudged, exit: 3, says: []string{"every accepted run is older than 12h0m0s"},
		},
		{
			name: "veto", candidate: func(*build) {}, history: accepted(3),
			input: func(in *Input) {
				in.Policy = defaultPolicy(userCheck("ttft_p95", func(c *Check) { c.Max, c.Veto = pointer(100.), pointer(120.) }))
			},
			conclusion: Red, exit: 1, metric: "ttft_p95", status: Veto, certain: true, says: []string{"past the veto of 120 ms"},
		},
		{
			name: "a guard tightens the target", candidate: func(b *build) { b.sigma = 0 }, history: accepted(3),
			input: func(in *Input) {
				in.Policy = defaultPolicy(userCheck("ttft_p95", func(c *Check) { c.Max, c.Guard = pointer(200.), .1 }))
			},
			conclusion: Red, exit: 1, metric: "ttft_p95", status: Fail, says: []string{"≤ 180 ms"},
		},
		{
			name: "a throughput of an open loop that the server keeps up with", candidate: func(*build) {}, history: accepted(3),
			input: func(in *Input) {
				in.Policy = defaultPolicy(userCheck("request_throughput", func(c *Check) { c.Tolerance = &Tolerance{Relative, .1} }))
			},
			conclusion: NotJudged, exit: 3, metric: "request_throughput", status: Unknown, says: []string{"merely the rate that was sent"},
		},
		{
			name: "a profile's row without a value costs no colour", candidate: func(b *build) { b.hits = -1 }, history: accepted(3),
			input: func(in *Input) {
				in.Policy = defaultPolicy(
					Check{Metric: "ttft_p95", Origin: FromProfile, Max: pointer(250.)},
					Check{Metric: "cpu_saturation", Origin: FromProfile, Max: pointer(.8)},
				)
			},
			conclusion: Green, metric: "cpu_saturation", status: Unknown, says: []string{"1 of 2 measured"},
		},
		{
			name: "no reported usage: TPOT cannot be measured", candidate: func(b *build) { b.tokens = 0 }, history: accepted(3),
			conclusion: NotJudged, exit: 3, metric: "tpot_p95", status: Unknown, says: []string{"reports no usage"},
		},
		{
			name: "one round cannot be green", candidate: func(b *build) { b.rounds = 1 }, history: accepted(3, func(b *build) { b.rounds = 1 }),
			conclusion: Yellow, exit: 0, metric: "ttft_p95", status: Undecided, says: []string{"of one round"},
		},
		{
			name: "an unknown metric is never green", candidate: func(*build) {}, history: accepted(3),
			input: func(in *Input) {
				in.Policy = defaultPolicy(userCheck("ttft_p59", func(c *Check) { c.Max = pointer(1.) }))
			},
			conclusion: NotJudged, exit: 3, says: []string{`did you mean "ttft_p95"?`},
		},
		{
			name: "an empty list of checks is never green", candidate: func(*build) {}, history: accepted(3),
			input:      func(in *Input) { in.Policy.Checks = nil },
			conclusion: NotJudged, exit: 3, says: []string{"no check could be judged"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := healthy()
			tt.candidate(&b)
			in := Input{Policy: defaultPolicy(), Candidate: b.result(), History: tt.history}
			if tt.input != nil {
				tt.input(&in)
			}
			v := Judge(in)
			if v.Conclusion != tt.conclusion || v.ExitCode != tt.exit || v.Blocked != (tt.exit != 0) {
				t.Errorf("%s, exit %d, blocked %v: want %s, exit %d\n%s", v.Conclusion, v.ExitCode, v.Blocked, tt.conclusion, tt.exit, dump(v))
			}
			if tt.metric != "" {
				f := byMetric(t, v, tt.metric)
				if f.Status != tt.status || tt.certain && !f.Certain {
					t.Errorf("%s is %s, certain %v: want %s, certain %v\n%s", tt.metric, f.Status, f.Certain, tt.status, tt.certain, dump(v))
				}
				if tt.change != "" && FormatChange(f) != tt.change {
					t.Errorf("%s changed %q: want %q", tt.metric, FormatChange(f), tt.change)
				}
			}
			text := dump(v)
			for _, f := range v.Shown {
				text += f.Reason + "\n"
			}
			for _, want := range tt.says {
				if !strings.Contains(text, want) {
					t.Errorf("nothing says %q:\n%s", want, text)
				}
			}
			marshal(t, v)
			if testing.Verbose() {
				t.Log(dump(v))
			}
		})
	}
}
