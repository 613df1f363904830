package loadtest

import (
	"context"
	"time"
)

// Source is where the server's own metrics come from: its pages, or a
// Prometheus that scrapes them. The runner uses one Source from one goroutine.
type Source interface {
	// Sample returns the server's figures as of the first scrape made at or
	// after at; the zero at means the newest figures there are. It waits for
	// that scrape within ctx. An unreachable page is an error; a metric the
	// server does not show is merely absent from the page.
	Sample(ctx context.Context, at time.Time) (Samples, error)
	// Describe names the source for the result, without credentials.
	Describe() SourceInfo
}

// SourceInfo describes a Source in the result.
type SourceInfo struct {
	// Kind is "scrape" or "prometheus".
	Kind string `json:"kind"`
	// Addresses are the pages or the query API, without user info.
	Addresses []string `json:"addresses"`
	// IntervalS is how far apart two distinct samples can lie, in seconds; 0
	// for a direct scrape, which is always fresh. Where it is too long for a
	// round, counters are read around the whole run only.
	IntervalS float64 `json:"interval_s,omitempty"`
}

// Samples is one reading of a Source.
type Samples struct {
	// At is when the figures were true: the scrape's time.
	At time.Time
	// Dialect is the engine recognised by what the pages hold ("vllm",
	// "sglang", ...); "" where none was.
	Dialect string
	// Pages holds one entry per process scraped.
	Pages []Page
}

// Page is the figures of one process.
type Page struct {
	// ID is the page's address, or the instance label in Prometheus.
	ID string
	// Start is process_start_time_seconds, 0 where the page does not show it.
	Start float64
	// Values maps canonical names (the constants below) to values summed over
	// every series of the page. A name that is absent was not on the page.
	Values map[string]float64
	// Nulls says for names that were on the page without a usable value (NaN,
	// Inf) why they are null.
	Nulls map[string]string
	// Info holds facts from the page's info metrics: block_size, gpu_model,
	// engine_version, model, ...
	Info map[string]string
}

// Canonical names of server metrics. A dialect maps an engine's names to
// these; the unit is part of the name where it is not a plain count.
const (
	// Counters.
	PrefixQueries      = "prefix_queries"       // prompt tokens (or blocks) looked up in the prefix cache
	PrefixHits         = "prefix_hits"          // of these, found
	Preemptions        = "preemptions"          // requests preempted
	PromptTokens       = "prompt_tokens"        // prompt tokens the server counted
	GenerationTokens   = "generation_tokens"    // tokens the server generated
	SpecDrafts         = "spec_drafts"          // speculative steps
	SpecDraftTokens    = "spec_draft_tokens"    // tokens drafted
	SpecAcceptedTokens = "spec_accepted_tokens" // drafted tokens accepted
	ServerTTFTSum      = "server_ttft_s_sum"
	ServerTTFTCount    = "server_ttft_s_count"
	ServerITLSum       = "server_itl_s_sum"
	ServerITLCount     = "server_itl_s_count"
	ServerE2ESum       = "server_e2e_s_sum"
	ServerE2ECount     = "server_e2e_s_count"
	ServerQueueSum     = "server_queue_s_sum"
	ServerQueueCount   = "server_queue_s_count"
	ServerPrefillSum   = "server_prefill_s_sum"
	ServerPrefillCount = "server_prefill_s_count"
	ServerDecodeSum    = "server_decode_s_sum"
	ServerDecodeCount  = "server_decode_s_count"
	ProcessCPU         = "process_cpu_s" // CPU seconds of the server's process
	NodeCPUBusy        = "node_cpu_busy_s"
	NodeCPUTotal       = "node_cpu_total_s"
	// Gauges.
	KVUsage           = "kv_usage_ratio"      // share of KV blocks in use, 0–1
	Running           = "requests_running"    // requests in the batch
	Waiting           = "requests_waiting"    // requests queued
	SpecAcceptLength  = "spec_accept_length"  // mean accepted length as the engine tells it
	HitRateGauge      = "kv_hit_rate_gauge"   // shown beside the counters, never used for kv_hit_rate
	GPUMemoryUsed     = "gpu_memory_used_mib" // device memory in use
	GPUMemoryFree     = "gpu_memory_free_mib"
	GPUMemoryReserved = "gpu_memory_reserved_mib"
	GPUUtilization    = "gpu_utilization_ratio"
	GPUPower          = "gpu_power_w"
	GPUTemperature    = "gpu_temperature_c"
	GPUClock          = "gpu_sm_clock_mhz"
	ResidentMemory    = "resident_memory_mib"
	NodeLoad1         = "node_load1"
)

// Kind says how a server metric accumulates and combines over pages.
type Kind int

// The kinds of server metric.
const (
	Counter  Kind = iota // grows; Δ over a window, summed over pages
	GaugeSum             // a level; summed over pages
	GaugeMax             // a level; the highest page counts
)

// KindOf tells the kind of a canonical name; ok is false for an unknown name.
func KindOf(name string) (kind Kind, ok bool) {
	kind, ok = kinds[name]
	return kind, ok
}

var kinds = map[string]Kind{
	PrefixQueries: Counter, PrefixHits: Counter, Preemptions: Counter, PromptTokens: Counter,
	GenerationTokens: Counter, SpecDrafts: Counter, SpecDraftTokens: Counter, SpecAcceptedTokens: Counter,
	ServerTTFTSum: Counter, ServerTTFTCount: Counter, ServerITLSum: Counter, ServerITLCount: Counter,
	ServerE2ESum: Counter, ServerE2ECount: Counter, ServerQueueSum: Counter, ServerQueueCount: Counter,
	ServerPrefillSum: Counter, ServerPrefillCount: Counter, ServerDecodeSum: Counter, ServerDecodeCount: Counter,
	ProcessCPU: Counter, NodeCPUBusy: Counter, NodeCPUTotal: Counter,
	KVUsage: GaugeMax, Running: GaugeSum, Waiting: GaugeSum, SpecAcceptLength: GaugeMax, HitRateGauge: GaugeMax,
	GPUMemoryUsed: GaugeSum, GPUMemoryFree: GaugeSum, GPUMemoryReserved: GaugeSum, GPUUtilization: GaugeMax,
	GPUPower: GaugeSum, GPUTemperature: GaugeMax, GPUClock: GaugeMax, ResidentMemory: GaugeSum, NodeLoad1: GaugeMax,
}
