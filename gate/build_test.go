package gate

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/org/llm-gate/loadtest"
)

// build makes a result out of what a test cares about; everything else is a
// healthy run of 5 rounds of 1,600 requests.
type build struct {
	id       string
	seed     uint64
	rounds   int
	requests int
	ttft     float64 // P95 in ms
	tpot     float64
	e2e      float64
	sigma    float64 // of the log of a latency; 0 makes every request equal
	runShift float64 // log shift of every latency of the run
	failures int     // of each round
	outcome  loadtest.Outcome
	dead     int     // rounds from the end in which every request fails
	tokens   float64 // mean output tokens, 0 for no usage
	hits     float64 // hit rate, < 0 for none on the page
	queries  float64
	rate     float64
	edit     func(*loadtest.Result)
}

func healthy() build {
	return build{
		id: "run", seed: 1, rounds: 5, requests: 1600, ttft: 182, tpot: 9.1, e2e: 1500, sigma: 0.3,
		outcome: loadtest.HTTP5xx, tokens: 128, hits: .714, queries: 1e5, rate: 12,
	}
}

var epoch = time.Date(2026, 12, 1, 5, 0, 0, 0, time.UTC)

// result builds it. Latencies are lognormal with the asked P95, drawn from the
// seed.
func (b build) result() *loadtest.Result {
	rng := rand.New(rand.NewPCG(b.seed, 99))
	res := &loadtest.Result{
		Schema: loadtest.ResultSchema, ID: b.id, Name: "chat-8b", StartedAt: epoch, EndedAt: epoch.Add(12 * time.Minute),
		Tool:       loadtest.Tool{Version: "1.2.0", Go: "go1.26", OS: "linux", Arch: "amd64"},
		Conditions: loadtest.Conditions{Workload: "w1", API: "chat", CacheState: "nonce", GPUModel: "H100", GPUCount: 1},
		Subject:    loadtest.Subject{Model: "Llama-3.1-8B", Engine: "vllm", EngineVersion: "0.11.0", Flags: map[string]string{"block_size": "16"}},
		Seed:       7, Nonce: "n", Workload: "synthetic", Source: &loadtest.SourceInfo{Kind: "scrape", Addresses: []string{"http://127.0.0.1/metrics"}},
	}
	at := epoch
	add := func(s loadtest.SegmentResult) {
		s.StartedAt = at
		at = at.Add(s.Duration.Duration() + time.Second)
		res.Segments = append(res.Segments, s)
	}
	warm := b
	warm.requests = 10
	add(warm.segment(rng, "warmup", loadtest.Warmup, 1, 1))
	for r := 1; r <= b.rounds; r++ {
		one := b
		if r > b.rounds-b.dead {
			one.failures, one.outcome = b.requests, loadtest.Connect
		}
		add(one.segment(rng, "steady", loadtest.Judged, r, b.rounds))
	}
	res.Server = b.window(float64(b.rounds))
	if b.edit != nil {
		b.edit(res)
	}
	return res
}

func (b build) window(times float64) *loadtest.Window {
	w := &loadtest.Window{
		From: epoch, To: epoch.Add(time.Minute), Dialect: "vllm", Missing: map[string]string{},
		Counters: map[string]float64{loadtest.PrefixQueries: b.queries * times, loadtest.PrefixHits: b.queries * b.hits * times, loadtest.Preemptions: 0},
		Gauges: map[string]loadtest.Gauge{
			loadtest.KVUsage: {Min: .1, Max: .6, Mean: .4, Last: .2, N: 30}, loadtest.Waiting: {Max: 3, N: 30},
			loadtest.GPUMemoryUsed: {Min: 60000, Max: 60512, Mean: 60200, Last: 60000, N: 30},
		},
	}
	if b.hits < 0 {
		delete(w.Counters, loadtest.PrefixQueries)
		delete(w.Counters, loadtest.PrefixHits)
		w.Missing[loadtest.PrefixQueries] = "the page shows none of vllm:prefix_cache_queries_total, vllm:gpu_prefix_cache_queries_total"
	}
	return w
}

func (b build) segment(rng *rand.Rand, stage string, kind loadtest.SegmentKind, round, rounds int) loadtest.SegmentResult {
	f := &loadtest.Figures{
		Outcomes: map[loadtest.Outcome]int64{},
		TTFT:     &loadtest.Histogram{}, TTFTService: &loadtest.Histogram{}, FirstAnswer: &loadtest.Histogram{}, Gap: &loadtest.Histogram{},
		TPOT: &loadtest.Histogram{}, E2E: &loadtest.Histogram{}, E2EService: &loadtest.Histogram{},
	}
	draw := func(p95 float64) time.Duration {
		ms := p95 * math.Exp(b.runShift+b.sigma*(rng.NormFloat64()-1.6448536))
		return time.Duration(ms * float64(time.Millisecond))
	}
	for i := range b.requests {
		if i < b.failures {
			f.Outcomes[b.outcome]++
			continue
		}
		f.Outcomes[loadtest.OK]++
		ttft, e2e := draw(b.ttft), draw(b.e2e)
		f.TTFT.Record(ttft)
		f.TTFTService.Record(ttft)
		f.FirstAnswer.Record(ttft)
		f.E2E.Record(e2e)
		f.E2EService.Record(e2e)
		f.Gap.Record(draw(b.tpot))
		if b.tokens > 0 {
			f.TPOT.Record(draw(b.tpot))
			f.OutputTokens.Add(b.tokens)
			f.PromptTokens.Add(512)
		}
	}
	d := float64(b.requests) / b.rate
	s := loadtest.SegmentResult{
		Segment:     loadtest.Segment{Stage: stage, Kind: kind, Round: round, Rounds: rounds, Arrivals: loadtest.Arrivals{Process: loadtest.Poisson, RatePerS: b.rate}},
		OfferedPerS: pointer(b.rate), AchievedPerS: b.rate, Duration: loadtest.Seconds(d), MeanConcurrency: 10, PeakConcurrency: 20,
		Total: f, Server: b.window(1),
	}
	return s
}

// accepted makes a history of n healthy runs, each of its own draws.
func accepted(n int, edit ...func(*build)) []Accepted {
	var out []Accepted
	for i := range n {
		b := healthy()
		b.id, b.seed = fmt.Sprintf("base-%d", i), uint64(100+i)
		for _, e := range edit {
			e(&b)
		}
		out = append(out, Accepted{
			Reference: Reference{ID: b.id, Commit: fmt.Sprintf("a41c9e%d", i), RecordedAt: epoch.Add(-time.Duration(i+1) * 24 * time.Hour)},
			Result:    b.result(),
		})
	}
	return out
}

func defaultPolicy(checks ...Check) Policy {
	if checks == nil {
		checks = DefaultChecks()
	}
	return Policy{Checks: checks, FailOn: FailOnRed, NotJudged: BlockUnknown, Keep: 5, Degradation: DefaultDegradation}
}

func userCheck(metric string, edit func(*Check)) Check {
	c := Check{Metric: metric, Origin: FromUser}
	edit(&c)
	return c
}

func byMetric(t *testing.T, v *Verdict, id string) Finding {
	t.Helper()
	for _, f := range slices.Concat(v.Findings, v.Shown) {
		if f.Metric == id {
			return f
		}
	}
	t.Fatalf("no finding of %s", id)
	return Finding{}
}

// dump shows a verdict when a test fails.
func dump(v *Verdict) string {
	out := fmt.Sprintf("%s exit %d: %s\n%s\nreasons %q\nnext %q\nnotes %q\n", v.Conclusion, v.ExitCode, v.Headline, v.Certainty, v.Reasons, v.Next, v.Notes)
	for _, f := range v.Findings {
		out += fmt.Sprintf("  %-9s %-12s %s %s [%s] %s | needs: %s\n", f.Status, f.Metric, FormatMeasure(f.Unit, f.Now), FormatChange(f), f.FormatInterval(), f.Reason, f.Needs)
	}
	return out
}

func marshal(t *testing.T, v *Verdict) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("marshal verdict: %v", err)
	}
	return out
}
