package telemetry

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	lt "github.com/org/llm-gate/loadtest"
)

var near = cmpopts.EquateApprox(1e-12, 0)

func rawPage(t *testing.T, id, text string) raw {
	t.Helper()
	samples, err := parsePage([]byte(text), false)
	if err != nil {
		t.Fatalf("parse %s: %v", id, err)
	}
	return raw{id, indexed(samples)}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestDialects(t *testing.T) {
	tests := []struct {
		file    string
		dialect string
		values  map[string]float64
		info    map[string]string
		start   float64
	}{
		{file: "vllm-like-metrics.txt", dialect: "vllm", values: map[string]float64{
			lt.PrefixQueries: 24, lt.PrefixHits: 0, lt.KVUsage: 0, lt.Running: 0, lt.Waiting: 0,
			lt.PromptTokens: 24, lt.GenerationTokens: 2,
			lt.ServerTTFTSum: 0.044, lt.ServerTTFTCount: 1, lt.ServerITLSum: 0.007, lt.ServerITLCount: 1,
			lt.ServerE2ESum: 0.05175853, lt.ServerE2ECount: 1, lt.ServerPrefillSum: 0.04427093, lt.ServerPrefillCount: 1,
			lt.ServerDecodeSum: 0.007359113, lt.ServerDecodeCount: 1,
		}, info: map[string]string{"block_size": "16", "num_gpu_blocks": "1024", "model": "sim/model"}},
		{file: "vllm-two-engines.txt", dialect: "vllm", start: 1796095523.12, values: map[string]float64{
			lt.PrefixQueries: 1500, lt.PrefixHits: 750, lt.KVUsage: 0.75, lt.Running: 7, lt.Waiting: 3, lt.Preemptions: 3,
			lt.SpecDrafts: 10, lt.SpecDraftTokens: 30, lt.SpecAcceptedTokens: 21,
			lt.ServerITLSum: 0.5, lt.ServerITLCount: 7, lt.ProcessCPU: 125.5, lt.ResidentMemory: 2000,
		}, info: map[string]string{
			"block_size": "16", "cache_dtype": "auto", "enable_prefix_caching": "True", "gpu_memory_utilization": "0.9",
			"num_gpu_blocks": "27000, 27004", "sliding_window": "None", "model": "meta-llama/Llama-3.1-8B-Instruct",
		}},
		{file: "vllm-old.txt", dialect: "vllm", values: map[string]float64{
			lt.PrefixQueries: 100, lt.PrefixHits: 40, lt.KVUsage: 0.5, lt.HitRateGauge: 0.9, lt.ServerITLSum: 0.4, lt.ServerITLCount: 20,
		}, info: map[string]string{"model": "m"}},
		{file: "openmetrics.txt", dialect: "vllm", values: map[string]float64{
			lt.PrefixQueries: 100, lt.ServerE2ESum: 4.5, lt.ServerE2ECount: 3,
		}, info: map[string]string{"model": `a "quoted} name"`}},
		{file: "llama-metrics.txt", dialect: "llamacpp", values: map[string]float64{
			lt.PrefixQueries: 111, lt.PrefixHits: 64, lt.PromptTokens: 111, lt.GenerationTokens: 43, lt.Running: 0, lt.Waiting: 0,
			lt.ServerPrefillSum: 0.005351, lt.ServerDecodeSum: 0.007391, lt.SpecDrafts: 0, lt.SpecDraftTokens: 0, lt.SpecAcceptedTokens: 0,
		}},
		{file: "llama-metrics-saturated.txt", dialect: "llamacpp", values: map[string]float64{
			lt.PrefixQueries: 50, lt.PrefixHits: 32, lt.PromptTokens: 50, lt.GenerationTokens: 176, lt.Running: 2, lt.Waiting: 4,
			lt.ServerPrefillSum: 0.044399, lt.ServerDecodeSum: 0.879886, lt.SpecDrafts: 0, lt.SpecDraftTokens: 0, lt.SpecAcceptedTokens: 0,
		}},
		{file: "sglang.txt", dialect: "sglang", values: map[string]float64{
			lt.PrefixQueries: 5000, lt.PrefixHits: 1200, lt.PromptTokens: 5000, lt.GenerationTokens: 1200, lt.HitRateGauge: 0.9,
			lt.KVUsage: 0.28, lt.Running: 6, lt.Waiting: 2, lt.Preemptions: 4, lt.SpecAcceptLength: 2.4,
			lt.ServerTTFTSum: 12.5, lt.ServerTTFTCount: 50,
		}, info: map[string]string{"model": "Qwen/Qwen3-8B"}},
		{file: "trtllm.txt", dialect: "trtllm", values: map[string]float64{
			lt.PrefixQueries: 100, lt.PrefixHits: 30, lt.HitRateGauge: 0.99, lt.KVUsage: 0.4, lt.Running: 5,
			lt.SpecDraftTokens: 80, lt.SpecAcceptedTokens: 60, lt.ServerE2ESum: 4.5, lt.ServerE2ECount: 3,
		}, info: map[string]string{"model": "m"}},
		{file: "triton.txt", dialect: "triton", values: map[string]float64{
			lt.PrefixQueries: 100, lt.PrefixHits: 25, lt.KVUsage: 0.25, lt.Running: 2, lt.Waiting: 1, lt.ServerQueueSum: 3,
			lt.GPUMemoryUsed: 3072, lt.GPUUtilization: 0.6,
		}, info: map[string]string{"model": "preprocessing, tensorrt_llm", "gpu_count": "2"}},
		{file: "lmdeploy.txt", dialect: "lmdeploy", values: map[string]float64{
			lt.PrefixQueries: 600, lt.PrefixHits: 300, lt.PromptTokens: 600, lt.KVUsage: 0.3, lt.Waiting: 8,
		}, info: map[string]string{"model": "internlm3"}},
		{file: "tgi.txt", dialect: "tgi", values: map[string]float64{
			lt.Waiting: 3, lt.Running: 12, lt.ServerQueueSum: 1.2, lt.ServerQueueCount: 10, lt.GenerationTokens: 640,
		}},
		{file: "dynamo.txt", dialect: "dynamo", values: map[string]float64{
			lt.HitRateGauge: 0.71, lt.KVUsage: 0.82, lt.Running: 3, lt.Waiting: 2,
		}, info: map[string]string{"model": "Qwen/Qwen3-0.6B"}},
		{file: "dcgm.txt", dialect: "", values: map[string]float64{
			lt.GPUMemoryUsed: 130000, lt.GPUMemoryFree: 30000, lt.GPUUtilization: 0.97, lt.GPUPower: 1001, lt.GPUTemperature: 61, lt.GPUClock: 1980,
		}, info: map[string]string{"gpu_model": "NVIDIA H100 80GB HBM3", "gpu_count": "2"}},
		{file: "node.txt", dialect: "", values: map[string]float64{ // the exporter's own process is not the server's
			lt.NodeCPUBusy: 60, lt.NodeCPUTotal: 285, lt.NodeLoad1: 1.5,
		}},
	}
	r := newReader()
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			dialect, pages, err := r.read([]raw{rawPage(t, tt.file, readFile(t, tt.file))})
			if err != nil {
				t.Fatal(err)
			}
			if dialect != tt.dialect {
				t.Errorf("dialect = %q, want %q", dialect, tt.dialect)
			}
			want := lt.Page{ID: tt.file, Start: tt.start, Values: tt.values, Nulls: map[string]string{}, Info: tt.info}
			if diff := cmp.Diff(want, pages[0], near, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("page (-want +got):\n%s", diff)
			}
		})
	}
}

func TestColonAndUnderscorePrefixes(t *testing.T) {
	for _, swap := range [][3]string{{"trtllm.txt", "trtllm_", "trtllm:"}, {"vllm-two-engines.txt", "vllm:", "vllm_"}, {"sglang.txt", "sglang:", "sglang_"}} {
		plain := rawPage(t, "p", readFile(t, swap[0]))
		swapped := rawPage(t, "p", strings.ReplaceAll(readFile(t, swap[0]), swap[1], swap[2]))
		_, want, _ := newReader().read([]raw{plain})
		dialect, got, err := newReader().read([]raw{swapped})
		if diff := cmp.Diff(want, got); err != nil || diff != "" || dialect == "" {
			t.Errorf("%s with %q: dialect %q, err %v\n%s", swap[0], swap[2], dialect, err, diff)
		}
	}
}

func TestNotANumberIsNull(t *testing.T) {
	const page = `
vllm:kv_cache_usage_perc{engine="0"} -nan
vllm:kv_cache_usage_perc{engine="1"} 0.5
vllm:prefix_cache_queries_total NaN
vllm:prefix_cache_hits_total 1e999
vllm:num_requests_running -nan(ind)
vllm:num_requests_waiting 4
vllm:e2e_request_latency_seconds_sum +Inf
vllm:e2e_request_latency_seconds_count 2
`
	_, pages, err := newReader().read([]raw{rawPage(t, "p", page)})
	if err != nil {
		t.Fatal(err)
	}
	wantValues := map[string]float64{lt.Waiting: 4, lt.ServerE2ECount: 2}
	wantNulls := map[string]string{
		lt.KVUsage:       "vllm:kv_cache_usage_perc is NaN",
		lt.PrefixQueries: "vllm:prefix_cache_queries_total is NaN",
		lt.PrefixHits:    "vllm:prefix_cache_hits_total is +Inf",
		lt.Running:       "vllm:num_requests_running is NaN",
		lt.ServerE2ESum:  "vllm:e2e_request_latency_seconds_sum is +Inf",
	}
	if diff := cmp.Diff(wantValues, pages[0].Values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantNulls, pages[0].Nulls); diff != "" {
		t.Errorf("nulls (-want +got):\n%s", diff)
	}
}

func TestHalfOfASumIsMissing(t *testing.T) {
	_, pages, err := newReader().read([]raw{rawPage(t, "p", "llamacpp:prompt_tokens_total 47\nllamacpp:requests_processing 1\n")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]float64{lt.Running: 1}, pages[0].Values); diff != "" {
		t.Errorf("without the cached tokens there are no queries (-want +got):\n%s", diff)
	}
}

func TestSeveralPages(t *testing.T) {
	r := newReader()
	t.Run("engine, Dynamo frontend and DCGM", func(t *testing.T) {
		dialect, pages, err := r.read([]raw{
			rawPage(t, "worker", readFile(t, "vllm-two-engines.txt")),
			rawPage(t, "frontend", readFile(t, "dynamo.txt")+"process_resident_memory_bytes 1e6\n"),
			rawPage(t, "gpu", readFile(t, "dcgm.txt")+"process_resident_memory_bytes 1e6\n"),
		})
		if err != nil || dialect != "vllm" {
			t.Fatalf("dialect %q, err %v", dialect, err)
		}
		if len(pages[1].Values) != 0 {
			t.Errorf("the frontend's figures count beside the engine's: %v", pages[1].Values)
		}
		if _, ok := pages[2].Values[lt.ResidentMemory]; ok || pages[2].Values[lt.GPUMemoryUsed] != 130000 {
			t.Errorf("GPU page = %v", pages[2].Values)
		}
	})
	t.Run("GPU memory of DCGM and Triton counts once", func(t *testing.T) {
		_, pages, err := r.read([]raw{rawPage(t, "triton", readFile(t, "triton.txt")), rawPage(t, "gpu", readFile(t, "dcgm.txt"))})
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := pages[0].Values[lt.GPUMemoryUsed]; ok {
			t.Errorf("Triton's page says %v MiB beside DCGM's", v)
		}
	})
	t.Run("two engines", func(t *testing.T) {
		_, _, err := r.read([]raw{rawPage(t, "http://a/metrics", "vllm:num_requests_running 1\n"), rawPage(t, "http://b/metrics", "sglang:num_queue_reqs 1\n")})
		if err == nil || !strings.Contains(err.Error(), "vllm at http://a/metrics, sglang at http://b/metrics") {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("no engine", func(t *testing.T) {
		dialect, pages, err := r.read([]raw{rawPage(t, "p", "my_requests_total 3\nprocess_cpu_seconds_total 4\n")})
		if err != nil || dialect != "" || pages[0].Values[lt.ProcessCPU] != 4 {
			t.Errorf("dialect %q, pages %v, err %v", dialect, pages, err)
		}
	})
}

// Every canonical name in a table is known, every name begins with the
// dialect's prefix, and ratios are gauges.
func TestTables(t *testing.T) {
	for _, d := range slices.Concat(engines(), hardware()) {
		seen := map[string]bool{}
		for _, m := range d.rows() {
			if _, ok := lt.KindOf(m.name); !ok || seen[m.name] {
				t.Errorf("%s: canonical name %q is unknown or stands twice", d.name, m.name)
			}
			seen[m.name] = true
			for _, f := range m.from {
				for _, s := range f.series() {
					if !strings.HasPrefix(s.name, d.prefixes[0]) {
						t.Errorf("%s: %s does not begin with %s", d.name, s.name, d.prefixes[0])
					}
				}
				if m.name == lt.PrefixHits && strings.Contains(f.String(), "rate") {
					t.Errorf("%s: hits from a gauge: %s", d.name, f)
				}
			}
		}
	}
}

func TestNames(t *testing.T) {
	want := []string{"llamacpp:prompt_tokens_total + llamacpp:prompt_tokens_cached_total"}
	if got := NamesIn("llamacpp", lt.PrefixQueries); !slices.Equal(got, want) {
		t.Errorf("NamesIn(llamacpp) = %q, want %q", got, want)
	}
	want = []string{
		`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction"}`,
		`nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used"} / nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max"}`,
	}
	if got := NamesIn("triton", lt.KVUsage); !slices.Equal(got, want) {
		t.Errorf("NamesIn(triton) = %q, want %q", got, want)
	}
	if got := NamesIn("tgi", lt.GPUMemoryUsed); !slices.Equal(got, []string{"DCGM_FI_DEV_FB_USED", "nv_gpu_memory_used_bytes"}) {
		t.Errorf("NamesIn(tgi, GPU memory) = %q", got)
	}
	if got := Names(lt.PrefixHits); !slices.Contains(got, "vllm:gpu_prefix_cache_hits_total") || !slices.Contains(got, "sglang:cached_tokens_total") {
		t.Errorf("Names = %q", got)
	}
	if got := Names("nothing"); len(got) != 0 {
		t.Errorf("Names(nothing) = %q", got)
	}
}

func FuzzPage(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("vllm:x -nan\n"))
	r := newReader()
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, openMetrics := range []bool{false, true} {
			samples, err := parsePage(data, openMetrics)
			if err != nil {
				continue
			}
			_, pages, err := r.read([]raw{{"p", indexed(samples)}})
			if err != nil {
				continue
			}
			for name, v := range pages[0].Values {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Errorf("%s = %v is a value", name, v)
				}
				if _, both := pages[0].Nulls[name]; both {
					t.Errorf("%s is both a value and null", name)
				}
			}
		}
	})
}
