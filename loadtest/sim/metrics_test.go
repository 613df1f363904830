package sim

import (
	"math"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// scrape reads the page as a Prometheus would.
func scrape(t *testing.T, url string) map[string]*dto.MetricFamily {
	t.Helper()
	status, body := get(t, url+"/metrics", "")
	if status != 200 {
		t.Fatal(status, body)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// value of a page's only series of that name.
func value(t *testing.T, page map[string]*dto.MetricFamily, name string) float64 {
	t.Helper()
	family := page[name]
	if family == nil || len(family.GetMetric()) != 1 {
		t.Fatalf("%s: want one series, got %v", name, family)
	}
	m := family.GetMetric()[0]
	switch family.GetType() {
	case dto.MetricType_COUNTER:
		return m.GetCounter().GetValue()
	case dto.MetricType_HISTOGRAM:
		return float64(m.GetHistogram().GetSampleCount())
	default:
		return m.GetGauge().GetValue()
	}
}

func TestMetricsPage(t *testing.T) {
	cfg := fast()
	cfg.SpecTokens, cfg.SpecAcceptance = 2, 1
	e, url := serve(t, cfg)
	for range 2 {
		post(t, url+"/v1/chat/completions", chatBody(`"max_tokens":7,`, strings.Repeat("word ", 45)))
	}
	page := scrape(t, url)
	want := map[string]float64{
		"vllm:num_requests_running":                  0,
		"vllm:num_requests_waiting":                  0,
		"vllm:kv_cache_usage_perc":                   0,
		"vllm:num_preemptions_total":                 0,
		"vllm:prefix_cache_queries_total":            96,
		"vllm:prefix_cache_hits_total":               32,
		"vllm:prompt_tokens_total":                   96,
		"vllm:generation_tokens_total":               14,
		"vllm:spec_decode_num_drafts_total":          4,
		"vllm:spec_decode_num_draft_tokens_total":    8,
		"vllm:spec_decode_num_accepted_tokens_total": 8,
		"vllm:cache_config_info":                     1,
		// Histograms: their counts.
		"vllm:time_to_first_token_seconds":           2,
		"vllm:inter_token_latency_seconds":           4,
		"vllm:request_time_per_output_token_seconds": 2,
		"vllm:e2e_request_latency_seconds":           2,
		"vllm:request_queue_time_seconds":            2,
		"vllm:request_prefill_time_seconds":          2,
		"vllm:request_decode_time_seconds":           2,
		"DCGM_FI_DEV_FB_USED":                        cfg.GPUMemoryUsedMiB,
		"DCGM_FI_DEV_FB_FREE":                        cfg.GPUMemoryMiB - cfg.GPUMemoryUsedMiB,
		"DCGM_FI_DEV_SM_CLOCK":                       clockMHz,
	}
	for name, v := range want {
		if got := value(t, page, name); got != v {
			t.Errorf("%s is %v, want %v", name, got, v)
		}
	}
	for _, name := range []string{"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_GPU_TEMP"} {
		if v := value(t, page, name); math.IsNaN(v) || v < 0 {
			t.Errorf("%s is %v", name, v)
		}
	}
	start := value(t, page, processStart)
	if d := math.Abs(start - float64(e.started.UnixNano())/1e9); d > 1e-3 {
		t.Errorf("%s is %v s off", processStart, d)
	}
	if n := len(page["vllm:spec_decode_num_accepted_tokens_per_pos_total"].GetMetric()); n != 2 {
		t.Errorf("%d draft positions, want 2", n)
	}
	for name, family := range page {
		if !strings.HasPrefix(name, "vllm:") {
			continue
		}
		for _, m := range family.GetMetric() {
			labels := make(map[string]string)
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["model_name"] != cfg.Model {
				t.Errorf("%s: model_name is %q", name, labels["model_name"])
			}
			if name == "vllm:cache_config_info" && (labels["block_size"] != "16" || labels["num_gpu_blocks"] != "8192") {
				t.Errorf("%s: %v", name, labels)
			}
		}
	}
}

func TestNoSpeculationNoSeries(t *testing.T) {
	_, url := serve(t, fast())
	if page := scrape(t, url); page["vllm:spec_decode_num_drafts_total"] != nil {
		t.Error("an engine that drafts nothing counts drafts")
	}
}

func TestMemoryJitter(t *testing.T) {
	cfg := DefaultConfig()
	cfg.GPUMemoryJitterMiB, cfg.GPUs = 200, 2
	low, high := math.Inf(1), math.Inf(-1)
	a, b := newGPU(cfg), newGPU(cfg)
	for now := time.Duration(0); now < 10*time.Second; now += memoryTick {
		used := a.memory(1, now)
		if used != b.memory(1, now) {
			t.Fatal("one seed gives two memories")
		}
		low, high = min(low, used), max(high, used)
	}
	if half := (high - low) / 2; half < 180 || half > 200 {
		t.Errorf("memory strays by ±%.0f MiB, want nearly ±200", half)
	}
}

func TestBusyMeter(t *testing.T) {
	var m busyMeter
	if got := m.at(500*time.Millisecond, 250*time.Millisecond); got != 0.5 {
		t.Errorf("in the first second %v, want 0.5", got)
	}
	if got := m.at(time.Second, 750*time.Millisecond); got != 0.75 {
		t.Errorf("first window %v, want 0.75", got)
	}
	if got := m.at(2*time.Second, 750*time.Millisecond); got != 0 {
		t.Errorf("idle window %v, want 0", got)
	}
}
