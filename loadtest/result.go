package loadtest

import (
	"time"
)

// ResultSchema is the version of Result that this build writes and reads.
const ResultSchema = "llm-gate/result/v1"

// Result is everything one run did and saw: what result.json holds, what a
// baseline keeps and what the judge compares.
type Result struct {
	Schema string `json:"schema"`
	// ID identifies the run: the time of its start and random bits, unique
	// and sorting by time ("20261201T050040Z-9f2c61b4").
	ID string `json:"id"`
	// Name is the service the run belongs to, one baseline history each.
	Name string `json:"name"`
	Tool Tool   `json:"tool"`

	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
	// Incomplete says why the plan was not carried out to its end ("interrupted
	// by SIGTERM in steady 3/5"); "" for a whole run. An incomplete run is
	// never judged and never a baseline.
	Incomplete string `json:"incomplete,omitempty"`

	Provenance Provenance `json:"provenance"`
	Conditions Conditions `json:"conditions"`
	Subject    Subject    `json:"subject"`

	// Seed gives the arrivals, prompts and draws; Nonce opens the prompts. With
	// both a run can be replayed exactly.
	Seed  uint64 `json:"seed"`
	Nonce string `json:"nonce"`
	// Workload describes the load in the words of the config, for people.
	Workload string `json:"workload"`
	// CapacityPerS is the highest rate that met the SLOs where it was measured
	// or came along with the baseline; null where none is known.
	CapacityPerS *float64 `json:"capacity_per_s"`
	// ReadyAfterS is how long the target took to become ready.
	ReadyAfterS Seconds `json:"ready_after_s"`
	// ServerUptimeS is the server's uptime when the load began; null where unknown.
	ServerUptimeS *Seconds `json:"server_uptime_s"`

	// Segments holds every segment in the order in which it ran, the warm-up
	// first.
	Segments []SegmentResult `json:"segments"`
	// Server is the window around all judged rounds; null without a source of
	// server metrics.
	Server *Window `json:"server"`
	// Source says where server metrics came from; null without one.
	Source *SourceInfo `json:"source"`
	// Generator is the load generator's own health over the whole run.
	Generator Health `json:"generator"`
	// Slowest holds the slowest judged requests by E2E latency, slowest first.
	Slowest []SlowRequest `json:"slowest,omitempty"`
	// Notes are remarks for people that no check carries.
	Notes []string `json:"notes,omitempty"`
}

// Tool identifies the program that wrote a file.
type Tool struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// Provenance says where a run came from. Everything may be empty outside CI.
type Provenance struct {
	Commit      string `json:"commit,omitempty"`
	Ref         string `json:"ref,omitempty"`
	Repository  string `json:"repository,omitempty"` // owner/name
	RunURL      string `json:"run_url,omitempty"`
	Event       string `json:"event,omitempty"`
	PullRequest int    `json:"pull_request,omitempty"`
	Attempt     int    `json:"attempt,omitempty"`
	Image       string `json:"image,omitempty"` // digest of what was deployed
	// ConfigHash identifies the policy and plan used.
	ConfigHash string `json:"config_hash,omitempty"`
	// Command reproduces the run, without secrets.
	Command string `json:"command,omitempty"`
}

// Conditions must be equal for two results to be compared at all.
type Conditions struct {
	// Workload is a hash over everything that shapes the load, the nonce and
	// the seed excepted.
	Workload string `json:"workload"`
	API      string `json:"api"`
	// CacheState is how the prefix cache stands towards the prompts: "nonce"
	// where every round opens its prompts afresh, "shared" where not.
	CacheState string `json:"cache_state"`
	GPUModel   string `json:"gpu_model"` // "unknown" where nothing tells
	GPUCount   int    `json:"gpu_count"`
}

// Subject is what a change may change. It is recorded and listed.
type Subject struct {
	Model         string `json:"model,omitempty"`
	ModelRevision string `json:"model_revision,omitempty"`
	Engine        string `json:"engine,omitempty"`
	EngineVersion string `json:"engine_version,omitempty"`
	Image         string `json:"image,omitempty"`
	// Flags are the engine's settings as it tells them (block_size, ...).
	Flags map[string]string `json:"flags,omitempty"`
}

// SegmentResult is what happened in one segment.
type SegmentResult struct {
	Segment   Segment   `json:"segment"`
	StartedAt time.Time `json:"started_at"`
	// OfferedPerS is the rate the schedule asked for; null in a closed loop.
	// AchievedPerS is what was sent, over the same span.
	OfferedPerS  *float64 `json:"offered_per_s"`
	AchievedPerS float64  `json:"achieved_per_s"`
	// Duration runs from the first intended start to the last answer.
	Duration Seconds `json:"duration_s"`
	// MeanConcurrency is the time average of requests in flight over Duration;
	// Little's prediction is AchievedPerS × mean E2E latency.
	MeanConcurrency float64 `json:"mean_concurrency"`
	PeakConcurrency int     `json:"peak_concurrency"`
	// Total covers all requests, Scenarios each scenario by name where there
	// are several.
	Total     *Figures            `json:"total"`
	Scenarios map[string]*Figures `json:"scenarios,omitempty"`
	// Server is the window of this segment; null where there is no source or
	// its interval is too long for a segment.
	Server    *Window `json:"server"`
	Generator Health  `json:"generator"`
	// Incomplete says why the segment was cut short, "" where it was not.
	Incomplete string `json:"incomplete,omitempty"`
}

// Figures are the counts and distributions of a set of requests. Latencies
// count from the intended start; the *Service ones from the actual send.
type Figures struct {
	Outcomes map[Outcome]int64 `json:"outcomes"`
	// MetSLO counts requests that met every configured SLO; null where none is
	// configured.
	MetSLO *int64 `json:"met_slo"`

	TTFT        *Histogram `json:"ttft"`         // successes only
	TTFTService *Histogram `json:"ttft_service"` // successes only
	FirstAnswer *Histogram `json:"first_answer"` // successes with content
	Gap         *Histogram `json:"gap"`          // inter-chunk gaps of successes
	TPOT        *Histogram `json:"tpot"`         // successes with ≥ 2 output tokens
	E2E         *Histogram `json:"e2e"`          // successes only
	E2EService  *Histogram `json:"e2e_service"`

	OutputTokens Tally `json:"output_tokens"` // by the server's usage, successes
	PromptTokens Tally `json:"prompt_tokens"`
	CachedTokens Tally `json:"cached_tokens"` // where the server says
	// TPOTBasis counts by how the tokens of the first chunk were known:
	// "server" (per-chunk usage or logprobs) or "assumed_one".
	TPOTBasis     map[string]int64 `json:"tpot_basis,omitempty"`
	FinishReasons map[string]int64 `json:"finish_reasons,omitempty"`
	PayloadEvents int64            `json:"payload_events"`
	Resends       int64            `json:"resends,omitempty"`
	// Errors keeps the first few details of each outcome class that is not ok.
	Errors map[Outcome][]string `json:"errors,omitempty"`
}

// Tally sums a count per request over the N requests that have it.
type Tally struct {
	N          int64   `json:"n"`
	Sum        float64 `json:"sum"`
	SumSquares float64 `json:"sum_squares"`
}

// Add counts one value.
func (t *Tally) Add(v float64) { t.N++; t.Sum += v; t.SumSquares += v * v }

// Merge adds everything in other.
func (t *Tally) Merge(other Tally) {
	t.N += other.N
	t.Sum += other.Sum
	t.SumSquares += other.SumSquares
}

// Mean is Sum / N; ok is false where nothing was counted.
func (t Tally) Mean() (mean float64, ok bool) {
	if t.N == 0 {
		return 0, false
	}
	return t.Sum / float64(t.N), true
}

// Window is the server's own figures over a stretch of time.
type Window struct {
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Dialect string    `json:"dialect"`
	// Counters holds Δ of each counter, summed over pages; stretches in which a
	// page's counters went back are left out and stand in Events.
	Counters map[string]float64 `json:"counters"`
	Gauges   map[string]Gauge   `json:"gauges"`
	// Missing says, for canonical names that the source could have shown, why
	// there is no value.
	Missing map[string]string `json:"missing,omitempty"`
	Events  []Event           `json:"events,omitempty"`
}

// Gauge sums up a level over a window. N counts the samples.
type Gauge struct {
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
	Last float64 `json:"last"`
	N    int64   `json:"n"`
}

// Event is something that happened to the server or the source in a window.
type Event struct {
	At   time.Time `json:"at"`
	Kind string    `json:"kind"` // "restart", "counter_reset", "scrape_failed"
	Text string    `json:"text"`
}

// Health is how well the load generator itself did.
type Health struct {
	// Late sends: actual minus intended start, in ms. Null in a closed loop.
	LateP50MS *float64 `json:"late_p50_ms"`
	LateP99MS *float64 `json:"late_p99_ms"`
	LateMaxMS *float64 `json:"late_max_ms"`
	// GCs counts collections within measured segments, GCPauseMaxMS their
	// longest pause.
	GCs          uint32  `json:"gcs"`
	GCPauseMaxMS float64 `json:"gc_pause_max_ms"`
	// CPURatio is the process's CPU time over wall time × cores, 0–1.
	CPURatio float64 `json:"cpu_ratio"`
	// HeapPeakMiB is the largest live heap seen.
	HeapPeakMiB float64 `json:"heap_peak_mib"`
	// Unfit says why the figures must not be judged, "" where they may.
	Unfit string `json:"unfit,omitempty"`
}

// SlowRequest is one of the slowest requests.
type SlowRequest struct {
	Segment      string   `json:"segment"`
	Scenario     string   `json:"scenario"`
	IntendedMS   float64  `json:"intended_start_ms"` // since the segment's start
	Outcome      Outcome  `json:"outcome"`
	TTFTMS       *float64 `json:"ttft_ms"`
	E2EMS        *float64 `json:"e2e_ms"`
	OutputTokens *int     `json:"output_tokens"`
}
