package gate

import (
	"time"

	"github.com/org/llm-gate/loadtest"
)

// VerdictSchema is the version of Verdict that this build writes and reads.
const VerdictSchema = "llm-gate/verdict/v1"

// Verdict is the judge's answer with its evidence and with everything that a
// report draws: what verdict.json holds.
type Verdict struct {
	Schema     string        `json:"schema"`
	ResultID   string        `json:"result_id"`
	Name       string        `json:"name"`
	Tool       loadtest.Tool `json:"tool"`
	StartedAt  time.Time     `json:"started_at"`
	EndedAt    time.Time     `json:"ended_at"`
	Conclusion Conclusion    `json:"conclusion"`
	// Observing is true under fail_on: never; the title then says what would be.
	Observing bool `json:"observing"`
	// Blocked says whether the promotion is blocked; ExitCode is SPEC §5's.
	Blocked  bool `json:"blocked"`
	ExitCode int  `json:"exit_code"`

	// Headline is the finding of the whole run in one or two plain sentences
	// ("First token is 19 % slower (P95 182 → 217 ms, limit +15 %)."); empty where
	// nothing was judged, then Reasons speak.
	Headline string `json:"headline"`
	// Certainty says why it is, or is not, noise ("Not noise: 5 rounds, 6,400
	// requests, 95 % interval +16 … +22 %."); may be empty.
	Certainty string `json:"certainty,omitempty"`
	// Reasons says why nothing could be judged, one reason each.
	Reasons []string `json:"reasons,omitempty"`
	// Next says what to do now, one step each.
	Next []string `json:"next,omitempty"`

	// Findings holds one entry per check in the policy's order; Shown holds the
	// other metrics that could be computed, for information.
	Findings []Finding `json:"findings"`
	Shown    []Finding `json:"shown,omitempty"`

	// Differing conditions made the comparison impossible; Changed lists what
	// the change changed.
	Differing []Difference `json:"differing,omitempty"`
	Changed   []Difference `json:"changed,omitempty"`
	Against   Against      `json:"against"`
	// Degradation is the early-warning score; null where it is not shown.
	Degradation *Score   `json:"degradation"`
	Notes       []string `json:"notes,omitempty"`

	Policy     Policy              `json:"policy"`
	Provenance loadtest.Provenance `json:"provenance"`
	Conditions loadtest.Conditions `json:"conditions"`
	Subject    loadtest.Subject    `json:"subject"`
	Digest     Digest              `json:"digest"`
}

// Finding is one metric, judged or only shown.
type Finding struct {
	Metric    string    `json:"metric"` // id in the catalogue
	Title     string    `json:"title"`  // "TTFT P95", "KV-cache hit rate"
	Scenario  string    `json:"scenario,omitempty"`
	Stage     string    `json:"stage,omitempty"`
	Unit      Unit      `json:"unit"`
	Direction Direction `json:"direction"`
	Status    Status    `json:"status"`

	// Now is the candidate's value, Baseline that of the accepted runs (the
	// mean over them on the scale of comparison); null Value with a reason
	// where there is none.
	Now      Value   `json:"now"`
	Baseline *Value  `json:"baseline"`
	Change   *Change `json:"change"`

	// Check is the row that was judged; null in Shown.
	Check *Check `json:"check"`
	// Rule names what decided ("tolerance", "max", "near", "veto",
	// "sample_size", "missing", ...), Reason says it in words.
	Rule   string `json:"rule,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Certain is false where the estimate had to decide.
	Certain bool `json:"certain"`
	// Needs says what would make an uncertain finding certain.
	Needs string `json:"needs,omitempty"`
	// Rounds is how many rounds the statistic rests on.
	Rounds int `json:"rounds"`
	// StandsInFor names the metric that this finding replaces because the
	// answers' lengths differ; "" mostly.
	StandsInFor string `json:"stands_in_for,omitempty"`
	// Suspicious marks an improvement beyond twice the tolerance.
	Suspicious bool `json:"suspicious,omitempty"`
}

// Value is one metric of one result. V is null where it cannot be computed or
// is censored; then Null or Censored says why.
type Value struct {
	V *float64 `json:"value"`
	// N is the sample size: requests, gaps, tokens or scrapes by the metric.
	N int64 `json:"n"`
	// Null is the reason why there is no value.
	Null string `json:"null,omitempty"`
	// Censored is "failures" where the rank falls among failed requests: the
	// value is above the timeout, worse than any number.
	Censored string `json:"censored,omitempty"`
	// SuccessOnly is the figure over successes alone, where failures count.
	SuccessOnly *float64 `json:"success_only,omitempty"`
	// Low and High bound the quantile at 95 % by order statistics, where known.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Clamped counts values outside the histogram's range.
	Clamped int64 `json:"clamped,omitempty"`
}

// Change is how Now differs from Baseline.
type Change struct {
	// Kind says what the numbers are: Relative (ratio of the baseline), Points
	// (difference of ratios) or Absolute (the metric's unit).
	Kind ToleranceKind `json:"kind"`
	// Value is Now − Baseline on that scale: 0.192 for +19.2 %, 0.0074 for
	// +0.74pp. Null where it does not exist (from zero, censored).
	Value *float64 `json:"value"`
	// Low and High are the one-sided 95 % bounds each way; null where unknown.
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
	// Worse is computed from the metric's direction.
	Worse bool `json:"worse"`
}

// Difference is one field in which two results differ.
type Difference struct {
	Field    string `json:"field"` // "gpu_model", "flags.block_size", ...
	Baseline string `json:"baseline"`
	Now      string `json:"now"`
}

// Against says what the candidate was compared with.
type Against struct {
	Runs   []Reference `json:"runs"` // newest first
	Anchor *Reference  `json:"anchor"`
}

// Reference points at an accepted run.
type Reference struct {
	ID         string    `json:"id"`
	Commit     string    `json:"commit,omitempty"`
	RunURL     string    `json:"run_url,omitempty"`
	RecordedAt time.Time `json:"recorded_at"`
	Reason     string    `json:"reason,omitempty"`
}

// Score is the degradation score with its parts.
type Score struct {
	Value      float64 `json:"value"`
	Throughput float64 `json:"throughput"`
	Latency    float64 `json:"latency"`
	Errors     float64 `json:"errors"`
	WarnAbove  float64 `json:"warn_above"`
	Warn       bool    `json:"warn"`
	// RelativeTo is "design" or "baseline".
	RelativeTo string `json:"relative_to"`
}

// Digest carries what a report draws beyond the findings.
type Digest struct {
	Workload   string                 `json:"workload"`
	Seed       uint64                 `json:"seed"`
	Nonce      string                 `json:"nonce"`
	Stages     []StageFigures         `json:"stages"` // judged stage and shown stages, rounds pooled
	Rounds     []StageFigures         `json:"rounds"` // each judged round by itself
	Generator  loadtest.Health        `json:"generator"`
	Source     *loadtest.SourceInfo   `json:"source"`
	Server     *loadtest.Window       `json:"server"`
	Slowest    []loadtest.SlowRequest `json:"slowest,omitempty"`
	History    []HistoryPoint         `json:"history,omitempty"` // oldest first, the candidate last
	ReadyS     float64                `json:"ready_s"`
	MeasuredS  float64                `json:"measured_s"`
	GPUMinutes *float64               `json:"gpu_minutes"` // GPU count × minutes from first request to last; null where the count is unknown
	Notes      []string               `json:"notes,omitempty"`
}

// StageFigures is one stage, or one round of it, as reports show it.
type StageFigures struct {
	Label                string                     `json:"label"`
	Judged               bool                       `json:"judged"`
	Arrivals             string                     `json:"arrivals"`
	DurationS            float64                    `json:"duration_s"`
	OfferedPerS          *float64                   `json:"offered_per_s"`
	AchievedPerS         float64                    `json:"achieved_per_s"`
	Sent                 int64                      `json:"sent"`
	Failed               int64                      `json:"failed"`
	Outcomes             map[loadtest.Outcome]int64 `json:"outcomes"`
	PredictedConcurrency *float64                   `json:"predicted_concurrency"` // Little: rate × mean latency
	MeasuredConcurrency  float64                    `json:"measured_concurrency"`
	OutputTokensPerS     *float64                   `json:"output_tokens_per_s"`
	// Latencies maps "ttft", "e2e", "tpot", "gap" to quantiles in ms.
	Latencies        map[string]Quantiles `json:"latencies"`
	GPUMemoryPeakMiB *float64             `json:"gpu_memory_peak_mib"`
	KVHitRatio       *float64             `json:"kv_hit_ratio"`
	KVUsagePeakRatio *float64             `json:"kv_usage_peak_ratio"`
	QueuePeak        *float64             `json:"queue_peak"`
}

// QuantileLevels are the levels of Quantiles in order.
var QuantileLevels = []float64{0.50, 0.75, 0.90, 0.95, 0.99, 0.999}

// Quantiles holds one value per entry of QuantileLevels, in ms; null where it
// is censored by failures or there are no samples.
type Quantiles []*float64

// HistoryPoint is one run in the history of the checks.
type HistoryPoint struct {
	Reference
	// Values maps metric ids to values in the metric's unit.
	Values map[string]float64 `json:"values"`
}
