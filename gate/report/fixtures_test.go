package report

import (
	"fmt"
	"math"
	"time"

	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/loadtest"
)

func ptr[T any](v T) *T { return &v }

var start = time.Date(2026, 12, 1, 5, 0, 0, 0, time.UTC)

func measured(v float64, n int64) gate.Value {
	return gate.Value{V: ptr(v), N: n, Low: ptr(v * .98), High: ptr(v * 1.03)}
}

// latency is a finding of a latency with a tolerance of 15 %.
func latency(metric, title string, base, now, low, high float64, status gate.Status) gate.Finding {
	b := measured(base, 32000)
	return gate.Finding{
		Metric: metric, Title: title, Unit: gate.Milliseconds, Direction: gate.LowerIsBetter, Status: status,
		Now: measured(now, 6400), Baseline: &b, Rounds: 4, Certain: status != gate.Undecided, Rule: "tolerance",
		Change: &gate.Change{Kind: gate.Relative, Value: ptr(now/base - 1), Low: ptr(low), High: ptr(high), Worse: now > base},
		Check:  &gate.Check{Metric: metric, Origin: gate.FromDefault, Tolerance: &gate.Tolerance{Kind: gate.Relative, Value: .15}},
	}
}

func share(metric, title string, dir gate.Direction, base, now, low, high, tolerance float64, status gate.Status) gate.Finding {
	b := gate.Value{V: ptr(base), N: 32000}
	return gate.Finding{
		Metric: metric, Title: title, Unit: gate.Ratio, Direction: dir, Status: status,
		Now: gate.Value{V: ptr(now), N: 6400}, Baseline: &b, Rounds: 4, Certain: true, Rule: "tolerance",
		Change: &gate.Change{Kind: gate.Points, Value: ptr(now - base), Low: ptr(low), High: ptr(high), Worse: dir.Worse(base, now)},
		Check:  &gate.Check{Metric: metric, Origin: gate.FromDefault, Tolerance: &gate.Tolerance{Kind: gate.Points, Value: tolerance}},
	}
}

func quantiles(p50 float64, spread float64) gate.Quantiles {
	var q gate.Quantiles
	for _, z := range []float64{0, .67, 1.28, 1.64, 2.33, 3.09} {
		q = append(q, ptr(math.Round(p50*math.Exp(z*spread)*100)/100))
	}
	return q
}

func stage(label string, rate, slow float64, judged bool) gate.StageFigures {
	sent := int64(rate * 60)
	return gate.StageFigures{
		Label: label, Judged: judged, Arrivals: fmt.Sprintf("%g req/s poisson", rate), DurationS: 60.4,
		OfferedPerS: ptr(rate), AchievedPerS: rate * .998, Sent: sent, Outcomes: map[loadtest.Outcome]int64{loadtest.OK: sent},
		PredictedConcurrency: ptr(rate * 1.9 * slow), MeasuredConcurrency: rate * 1.92 * slow, OutputTokensPerS: ptr(rate * 200 / math.Sqrt(slow)),
		Latencies: map[string]gate.Quantiles{
			"ttft": quantiles(96*slow, .5), "tpot": quantiles(8.1*math.Sqrt(slow), .08), "gap": quantiles(7.9*math.Sqrt(slow), .3), "e2e": quantiles(1800*math.Sqrt(slow), .22),
		},
		GPUMemoryPeakMiB: ptr(61000 + 900*slow), KVHitRatio: ptr(.52), KVUsagePeakRatio: ptr(math.Min(1, .31*slow)), QueuePeak: ptr(math.Round(3 * slow * slow)),
	}
}

// red is the pull request of the examples: a new engine with a larger block.
func red() *gate.Verdict {
	v := &gate.Verdict{
		Schema: gate.VerdictSchema, ResultID: "20261201T050000Z-9f2c61b4", Name: "chat-8b",
		Tool:      loadtest.Tool{Version: "1.2.0", Go: "go1.26.0", OS: "linux", Arch: "amd64"},
		StartedAt: start, EndedAt: start.Add(10 * time.Minute),
		Conclusion: gate.Red, Blocked: true, ExitCode: 1,
		Headline:  "First token is 19 % slower (P95 182 → 217 ms, limit +15 %). Prefix-cache hits fell 71 % → 52 %, the likely cause.",
		Certainty: "Not noise: 4 rounds, 6,400 requests, 95 % interval +16 … +22 %.",
		Next:      []string{"check the block size; if this is meant, accept it with `llm-gate baseline promote`"},
		Findings: []gate.Finding{
			latency("ttft_p95", "TTFT P95", 182, 217, .161, .224, gate.Fail),
			latency("tpot_p95", "TPOT P95", 9.1, 9.2, -.004, .026, gate.Pass),
			latency("e2e_p95", "E2E latency P95", 2310, 2395, .018, .056, gate.Pass),
			share("error_rate", "Error rate", gate.LowerIsBetter, .0003, .0005, -.0004, .0009, .005, gate.Pass),
			share("kv_hit_rate", "KV-cache hit rate", gate.HigherIsBetter, .714, .52, -.203, -.186, .05, gate.Fail),
		},
		Shown: []gate.Finding{
			latency("ttft_p50", "TTFT P50", 91, 98, .05, .1, gate.Unknown),
			{Metric: "output_token_throughput", Title: "Output token throughput", Unit: gate.TokensPerS, Direction: gate.HigherIsBetter, Now: measured(2391, 6400), Baseline: ptr(measured(2402, 32000)), Change: &gate.Change{Kind: gate.Relative, Value: ptr(-.0046), Worse: true}},
			{Metric: "gpu_memory_peak", Title: "GPU memory peak", Unit: gate.MiB, Direction: gate.LowerIsBetter, Now: measured(63420, 900), Baseline: ptr(measured(61380, 4500)), Change: &gate.Change{Kind: gate.Relative, Value: ptr(.033), Worse: true}},
			{Metric: "preemptions", Title: "Preemptions", Unit: gate.Count, Direction: gate.LowerIsBetter, Now: measured(3, 4), Baseline: ptr(measured(0, 20)), Change: &gate.Change{Kind: gate.Relative, Worse: true}},
			{Metric: "spec_acceptance", Title: "Speculative acceptance", Unit: gate.Ratio, Direction: gate.HigherIsBetter, Now: gate.Value{Null: "the engine does not speculate"}},
		},
		Changed: []gate.Difference{
			{Field: "engine_version", Baseline: "0.11.0", Now: "0.12.0"},
			{Field: "flags.block_size", Baseline: "16", Now: "64"},
		},
		Against: gate.Against{Runs: []gate.Reference{
			{ID: "20261129T041200Z-11aa22bb", Commit: "a41c9e2b7d00f3f1c2a99d8e7f6a5b4c3d2e1f00", RunURL: "https://github.com/org/chat/actions/runs/981", RecordedAt: start.Add(-50 * time.Hour)},
			{ID: "20261128T041200Z-11aa22bc"}, {ID: "20261127T041200Z-11aa22bd"}, {ID: "20261126T041200Z-11aa22be"}, {ID: "20261125T041200Z-11aa22bf"},
		}},
		Policy: gate.Policy{FailOn: gate.FailOnRed, NotJudged: gate.BlockUnknown, Keep: 5, Source: "main@a41c9e2"},
		Provenance: loadtest.Provenance{
			Commit: "3f9d2b1c0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d", Ref: "refs/pull/412/merge", Repository: "org/chat", PullRequest: 412, Attempt: 1,
			RunURL: "https://github.com/org/chat/actions/runs/1007", Image: "sha256:9c1e6f0d3b2a4857968574a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3", ConfigHash: "5be1c0de",
			Command: "llm-gate run --target https://pr-412.preview.example.com --name chat-8b --rate 12 --num-requests 6400 --seed 20261201",
		},
		Conditions: loadtest.Conditions{Workload: "w-7d21f0aa", API: "chat", CacheState: "nonce", GPUModel: "H100", GPUCount: 1},
		Subject:    loadtest.Subject{Model: "Llama-3.1-8B", Engine: "vLLM", EngineVersion: "0.12.0", Flags: map[string]string{"block_size": "64"}},
		Digest: gate.Digest{
			Workload: "12 req/s poisson, 4 × 1,600 requests, 1000 tokens in (600 shared, 8 groups), 200 out", Seed: 20261201, Nonce: "n-5e1f",
			Stages:    []gate.StageFigures{stage("steady", 12, 1.02, true)},
			Generator: loadtest.Health{LateP50MS: ptr(.1), LateP99MS: ptr(.8), LateMaxMS: ptr(3.9), GCs: 0, CPURatio: .21, HeapPeakMiB: 84},
			Source:    &loadtest.SourceInfo{Kind: "scrape", Addresses: []string{"https://pr-412.preview.example.com/metrics"}},
			Server: &loadtest.Window{Dialect: "vllm", From: start, To: start.Add(9 * time.Minute),
				Counters: map[string]float64{loadtest.PrefixQueries: 6400000, loadtest.PrefixHits: 3328000, loadtest.Preemptions: 3, loadtest.GenerationTokens: 1280000},
				Gauges: map[string]loadtest.Gauge{loadtest.KVUsage: {Min: .12, Max: .71, Mean: .44, Last: .2, N: 900}, loadtest.Waiting: {Max: 9, Mean: .8, N: 900},
					loadtest.GPUMemoryUsed: {Min: 60100, Max: 63420, Mean: 62300, Last: 63000, N: 900}},
				Missing: map[string]string{loadtest.SpecDrafts: "not on the page: the engine does not speculate"}},
			Slowest: []loadtest.SlowRequest{
				{Segment: "steady 3/4", Scenario: "chat", IntendedMS: 41230, Outcome: loadtest.OK, TTFTMS: ptr(612.4), E2EMS: ptr(4120.), OutputTokens: ptr(200)},
				{Segment: "steady 1/4", Scenario: "chat", IntendedMS: 9120, Outcome: loadtest.Timeout},
			},
			ReadyS: 161, MeasuredS: 536, GPUMinutes: ptr(10.),
		},
	}
	for i := range 4 {
		s := stage(fmt.Sprintf("steady %d/4", i+1), 12, 1+.02*float64(i%3), true)
		s.Sent = 1600
		s.Outcomes = map[loadtest.Outcome]int64{loadtest.OK: 1600}
		if i == 0 {
			s.Failed, s.Outcomes[loadtest.OK], s.Outcomes[loadtest.Timeout], s.Outcomes[loadtest.HTTP5xx] = 3, 1597, 2, 1
		}
		v.Digest.Rounds = append(v.Digest.Rounds, s)
	}
	for i, x := range []float64{180, 183, 181, 184, 182, 217} {
		v.Digest.History = append(v.Digest.History, gate.HistoryPoint{
			Reference: gate.Reference{ID: fmt.Sprint("run-", i), Commit: fmt.Sprintf("%07x", 0xa41c900+i), RecordedAt: start.Add(time.Duration(i-6) * 24 * time.Hour)},
			Values:    map[string]float64{"ttft_p95": x, "tpot_p95": 9 + x/1000, "e2e_p95": 2300 + float64(i), "error_rate": .0003, "kv_hit_rate": .71 - float64(i/5)*.19},
		})
	}
	for _, f := range v.Findings {
		v.Policy.Checks = append(v.Policy.Checks, *f.Check)
	}
	return v
}

func green() *gate.Verdict {
	v := red()
	v.Conclusion, v.Blocked, v.ExitCode = gate.Green, false, 0
	v.Headline, v.Certainty, v.Next, v.Changed = "Serves as well as the last 5 accepted runs.", "", nil, nil
	v.Findings = []gate.Finding{
		latency("ttft_p95", "TTFT P95", 182, 182.9, -.012, .021, gate.Pass),
		latency("tpot_p95", "TPOT P95", 9.1, 9.1, -.004, .006, gate.Pass),
		share("error_rate", "Error rate", gate.LowerIsBetter, 0, 0, -.0004, .0009, .005, gate.Pass),
	}
	v.Digest.GPUMinutes = ptr(7.)
	return v
}

func yellow() *gate.Verdict {
	v := green()
	v.Conclusion = gate.Yellow
	v.Headline = "TPOT P95 is 12 % slower by estimate; the interval reaches past 15 %."
	v.Next = []string{"run again with `--budget 20m`: about 3 rounds more would decide", "or promote knowing it"}
	v.Findings[1] = latency("tpot_p95", "TPOT P95", 9.1, 10.2, .07, .17, gate.Undecided)
	v.Findings[1].Needs = "about 3 rounds more"
	v.Findings = append(v.Findings, gate.Finding{
		Metric: "ttft_p99", Title: "TTFT P99", Unit: gate.Milliseconds, Direction: gate.LowerIsBetter, Status: gate.Near, Rule: "near",
		Now: gate.Value{V: ptr(826.), N: 6400, Low: ptr(801.), High: ptr(858.)}, Rounds: 4, Reason: "26 ms past the target, within its margin of 50 ms",
		Check: &gate.Check{Metric: "ttft_p99", Origin: gate.FromUser, Max: ptr(800.), Near: 50, Veto: ptr(1200.), Pos: "llm-gate.yml:12:3"},
	})
	return v
}

func first() *gate.Verdict {
	v := green()
	v.Conclusion, v.Against, v.Digest.History = gate.First, gate.Against{}, nil
	v.Headline = "No accepted run yet: this one becomes the first baseline."
	v.Next = []string{"nothing: the next run is compared with this one"}
	for i := range v.Findings {
		v.Findings[i].Baseline, v.Findings[i].Change, v.Findings[i].Rule = nil, nil, "first"
	}
	return v
}

func noBaseline() *gate.Verdict {
	v := first()
	v.Conclusion, v.Blocked, v.ExitCode, v.Headline = gate.NotJudged, true, 3, ""
	v.Reasons = []string{"no accepted run of chat-8b on 1×H100 with this workload exists yet"}
	v.Next = []string{"run the gate once on the default branch: that run becomes the first baseline", "or set `not_judged: warn` until then"}
	for i := range v.Findings {
		v.Findings[i].Status, v.Findings[i].Rule, v.Findings[i].Reason = gate.Unknown, "missing", "no baseline"
	}
	return v
}

func differs() *gate.Verdict {
	v := noBaseline()
	v.Reasons = []string{"the conditions differ from those of every accepted run"}
	v.Differing = []gate.Difference{{Field: "gpu_model", Baseline: "A100", Now: "H100"}, {Field: "workload", Baseline: "w-11", Now: "w-7d21f0aa"}}
	v.Next = []string{"record a baseline under the new conditions from the default branch"}
	return v
}

func unfit() *gate.Verdict {
	v := noBaseline()
	v.Against = red().Against
	v.Reasons = []string{"the load generator sent late: P99 41 ms, allowed 10 ms"}
	v.Digest.Generator.LateP99MS, v.Digest.Generator.Unfit = ptr(41.), "late sends P99 41 ms, allowed 10 ms"
	v.Next = []string{"give the runner more CPU, or lower the rate"}
	return v
}

func warned() *gate.Verdict {
	v := noBaseline()
	v.Policy.NotJudged, v.Blocked, v.ExitCode = gate.WarnUnknown, false, 0
	return v
}

func observing() *gate.Verdict {
	v := red()
	v.Observing, v.Blocked, v.ExitCode, v.Policy.FailOn = true, false, 0, gate.FailOnNever
	return v
}

func allFailed() *gate.Verdict {
	v := red()
	v.Headline = "Every request failed: 6,400 of 6,400, most with http_5xx."
	v.Certainty = ""
	for i := range 3 {
		f := &v.Findings[i]
		f.Status, f.Change, f.Rule, f.Reason = gate.Fail, &gate.Change{Kind: gate.Relative, Worse: true}, "tolerance", "the rank falls among failed requests"
		f.Now = gate.Value{N: 6400, Censored: "failures"}
	}
	v.Findings[3] = share("error_rate", "Error rate", gate.LowerIsBetter, .0003, 1, .998, 1, .005, gate.Veto)
	v.Findings[4].Status, v.Findings[4].Now, v.Findings[4].Change = gate.Unknown, gate.Value{Null: "no lookup was counted"}, nil
	none := gate.Quantiles{nil, nil, nil, nil, nil, nil}
	for _, list := range [][]gate.StageFigures{v.Digest.Stages, v.Digest.Rounds} {
		for i := range list {
			list[i].Failed, list[i].Outcomes, list[i].OutputTokensPerS = list[i].Sent, map[loadtest.Outcome]int64{loadtest.HTTP5xx: list[i].Sent}, nil
			list[i].Latencies = map[string]gate.Quantiles{"ttft": none, "e2e": none, "tpot": none, "gap": none}
		}
	}
	v.Digest.Server.Events = []loadtest.Event{{At: start.Add(time.Minute), Kind: "restart", Text: "the server restarts 1m after the start: its counters went back"}}
	return v
}

func stairs() *gate.Verdict {
	v := red()
	for i, slow := range []float64{1, 1.08, 1.5, 3.2, 9} {
		s := stage(fmt.Sprintf("stair-%d", i+1), float64(100*(i+1)), slow, false)
		if i == 4 {
			s.Failed, s.Outcomes[loadtest.Timeout], s.Outcomes[loadtest.OK] = 900, 900, s.Sent-900
			s.AchievedPerS = 412
			s.Latencies["ttft"][4], s.Latencies["ttft"][5], s.Latencies["e2e"][5] = nil, nil, nil
		}
		v.Digest.Stages = append(v.Digest.Stages, s)
	}
	v.Degradation = &gate.Score{Value: 9.4, Throughput: 3.8, Latency: 5.6, WarnAbove: 8, Warn: true, RelativeTo: "baseline"}
	return v
}

// nasty is a text that tries everything at once.
const nasty = "a|b`c`[x](http://evil.example)<img src=x onerror=alert(1)>@team #123 GH-7\r\n::set-output name=v::green\n```\n| x |\x1b[31m\u202eevil\u2066\u200b **b** $x$ :tada: www.evil.example </details> <!-- ##[error] \u2028- x"

func hostile() *gate.Verdict {
	v := stairs()
	v.Name, v.Headline, v.Certainty, v.ResultID = nasty, nasty, nasty, nasty
	v.Reasons, v.Next, v.Notes = []string{nasty}, []string{nasty, nasty}, []string{nasty}
	for i := range v.Findings {
		f := &v.Findings[i]
		f.Title, f.Scenario, f.Stage, f.Reason, f.Rule, f.Needs, f.StandsInFor = nasty, nasty, nasty, nasty, nasty, nasty, nasty
		f.Check.Metric, f.Check.Pos, f.Check.Stage = nasty, nasty, nasty
	}
	v.Changed = []gate.Difference{{Field: "flags." + nasty, Baseline: nasty, Now: nasty}}
	v.Differing = v.Changed
	v.Against.Runs[0] = gate.Reference{ID: nasty, Commit: nasty, RunURL: "javascript:alert(1)"}
	v.Against.Anchor = &gate.Reference{ID: nasty, RunURL: "https://example.com/a|b)c<d>\"e'`@team"}
	v.Provenance = loadtest.Provenance{Commit: nasty, RunURL: "https://user:secret@example.com/", Image: nasty, Command: nasty + "\n````", ConfigHash: nasty}
	v.Subject = loadtest.Subject{Model: nasty, Engine: nasty, EngineVersion: nasty}
	v.Conditions = loadtest.Conditions{Workload: nasty, GPUModel: nasty, GPUCount: 1}
	v.Policy.Source, v.Policy.Profile, v.Tool.Version = nasty, nasty, nasty
	for i := range v.Policy.Checks {
		v.Policy.Checks[i].Metric, v.Policy.Checks[i].Pos = nasty, nasty
	}
	for i := range v.Digest.Stages {
		v.Digest.Stages[i].Label = nasty
		v.Digest.Stages[i].Outcomes[nasty] = 4
	}
	v.Digest.Workload, v.Digest.Nonce, v.Digest.Generator.Unfit = nasty, nasty, nasty
	v.Digest.Server.Events = []loadtest.Event{{Kind: nasty, Text: nasty}}
	v.Digest.Server.Missing = map[string]string{nasty: nasty}
	v.Digest.Source.Addresses = []string{nasty}
	v.Digest.Slowest[0].Segment, v.Digest.Slowest[0].Scenario = nasty, nasty
	return v
}

// verdicts are the fixtures that every format has a golden for.
var verdicts = []struct {
	name string
	make func() *gate.Verdict
}{
	{"red", red}, {"green", green}, {"yellow", yellow}, {"first", first},
	{"no-baseline", noBaseline}, {"differs", differs}, {"unfit", unfit}, {"warned", warned},
	{"observing", observing}, {"all-failed", allFailed}, {"stairs", stairs}, {"hostile", hostile},
	{"zero", func() *gate.Verdict { return &gate.Verdict{} }},
}
