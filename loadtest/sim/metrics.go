package sim

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// processStart is shown per engine, not per process: two engines in one
// process are two servers to whoever scrapes them.
const processStart = "process_start_time_seconds"

// metricsPage serves the engine's figures in vLLM's names, the DCGM exporter's
// gauges and the process's own.
func (e *Engine) metricsPage() http.Handler {
	own := prometheus.NewRegistry()
	own.MustRegister(newCollector(e))
	process := prometheus.NewRegistry()
	process.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	pages := prometheus.Gatherers{own, without{process, processStart}}
	return promhttp.HandlerFor(pages, promhttp.HandlerOpts{})
}

// without drops one family from what a gatherer finds.
type without struct {
	from prometheus.Gatherer
	name string
}

func (w without) Gather() ([]*dto.MetricFamily, error) {
	families, err := w.from.Gather()
	kept := families[:0]
	for _, f := range families {
		if f.GetName() != w.name {
			kept = append(kept, f)
		}
	}
	return kept, err
}

// series is one line of the page: a name and how to read it.
type series struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(s *scheduler) float64
}

// distribution is one histogram of the page.
type distribution struct {
	desc *prometheus.Desc
	read func(s *stats) *histogram
}

// collector reads every figure under one lock, so that a page is consistent in
// itself.
type collector struct {
	engine        *Engine
	series        []series
	distributions []distribution
	success       *prometheus.Desc
	position      *prometheus.Desc
	start, lag    *prometheus.Desc
	gpu           gpu
}

func newCollector(e *Engine) *collector {
	labels := prometheus.Labels{"model_name": e.cfg.Model, "engine": "0"}
	desc := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, variable, labels)
	}
	counter := func(name, help string, read func(s *stats) uint64) series {
		return series{desc(name, help), prometheus.CounterValue, func(s *scheduler) float64 { return float64(read(&s.stats)) }}
	}
	gauge := func(name, help string, read func(s *scheduler) float64) series {
		return series{desc(name, help), prometheus.GaugeValue, read}
	}
	c := &collector{
		engine: e,
		series: []series{
			gauge("vllm:num_requests_running", "Number of requests in model execution batches.", func(s *scheduler) float64 { return float64(len(s.running)) }),
			gauge("vllm:num_requests_waiting", "Number of requests waiting to be processed.", func(s *scheduler) float64 { return float64(len(s.waiting)) }),
			gauge("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", func(s *scheduler) float64 {
				return 1 - float64(s.pool.free)/float64(s.pool.size())
			}),
			counter("vllm:num_preemptions_total", "Cumulative number of preemptions from the engine.", func(s *stats) uint64 { return s.preemptions }),
			counter("vllm:prefix_cache_queries_total", "Prefix cache queries, in terms of number of queried tokens.", func(s *stats) uint64 { return s.prefixQueries }),
			counter("vllm:prefix_cache_hits_total", "Prefix cache hits, in terms of number of cached tokens.", func(s *stats) uint64 { return s.prefixHits }),
			counter("vllm:prompt_tokens_total", "Number of prefill tokens processed.", func(s *stats) uint64 { return s.promptTokens }),
			counter("vllm:generation_tokens_total", "Number of generation tokens processed.", func(s *stats) uint64 { return s.genTokens }),
		},
		distributions: []distribution{
			{desc("vllm:time_to_first_token_seconds", "Histogram of time to first token in seconds."), func(s *stats) *histogram { return &s.ttft }},
			{desc("vllm:inter_token_latency_seconds", "Histogram of inter-token latency in seconds."), func(s *stats) *histogram { return &s.interToken }},
			{desc("vllm:request_time_per_output_token_seconds", "Histogram of time_per_output_token_seconds per request."), func(s *stats) *histogram { return &s.perToken }},
			{desc("vllm:e2e_request_latency_seconds", "Histogram of e2e request latency in seconds."), func(s *stats) *histogram { return &s.e2e }},
			{desc("vllm:request_queue_time_seconds", "Histogram of time spent in WAITING phase for request."), func(s *stats) *histogram { return &s.queue }},
			{desc("vllm:request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request."), func(s *stats) *histogram { return &s.prefill }},
			{desc("vllm:request_decode_time_seconds", "Histogram of time spent in DECODE phase for request."), func(s *stats) *histogram { return &s.decode }},
			{desc("vllm:request_inference_time_seconds", "Histogram of time spent in RUNNING phase for request."), func(s *stats) *histogram { return &s.inference }},
			{desc("vllm:request_prompt_tokens", "Number of prefill tokens processed."), func(s *stats) *histogram { return &s.prompt }},
			{desc("vllm:request_generation_tokens", "Number of generation tokens processed."), func(s *stats) *histogram { return &s.generation }},
		},
		success:  desc("vllm:request_success_total", "Count of successfully processed requests.", "finished_reason"),
		position: desc("vllm:spec_decode_num_accepted_tokens_per_pos_total", "Accepted tokens per draft position.", "position"),
		start:    prometheus.NewDesc(processStart, "Start time of the process since unix epoch in seconds.", nil, nil),
		lag:      prometheus.NewDesc("sim:step_lag_seconds", "How late the simulation finished its last step; large values mean that this machine is too slow for the load.", nil, labels),
		gpu:      newGPU(e.cfg),
	}
	if e.cfg.SpecTokens > 0 {
		c.series = append(c.series,
			counter("vllm:spec_decode_num_drafts_total", "Number of spec decoding drafts.", func(s *stats) uint64 { return s.drafts }),
			counter("vllm:spec_decode_num_draft_tokens_total", "Number of draft tokens.", func(s *stats) uint64 { return s.draftTokens }),
			counter("vllm:spec_decode_num_accepted_tokens_total", "Number of accepted tokens.", (*stats).accepted),
		)
	}
	info := prometheus.NewDesc("vllm:cache_config_info", "Information of the LLMEngine CacheConfig", nil, prometheus.Labels{
		"model_name": e.cfg.Model, "engine": "0",
		"block_size":            strconv.Itoa(e.cfg.BlockSize),
		"num_gpu_blocks":        strconv.Itoa(e.cfg.KVBlocks),
		"enable_prefix_caching": strconv.FormatBool(e.cfg.PrefixCache),
	})
	c.series = append(c.series, series{info, prometheus.GaugeValue, func(*scheduler) float64 { return 1 }})
	return c
}

// Describe sends nothing: the page's series depend on the configuration.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect reads the page.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	e := c.engine
	now := e.now()
	for _, m := range c.read() {
		out <- m
	}
	for _, m := range c.gpu.read(now, e.busyAt(now)) {
		out <- m
	}
	started := float64(e.started.UnixMicro()) / 1e6
	out <- prometheus.MustNewConstMetric(c.start, prometheus.GaugeValue, started)
}

// read makes the metrics of the scheduler.
func (c *collector) read() []prometheus.Metric {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	sched := c.engine.sched
	var page []prometheus.Metric
	for _, s := range c.series {
		page = append(page, prometheus.MustNewConstMetric(s.desc, s.kind, s.read(sched)))
	}
	for _, d := range c.distributions {
		h := d.read(&sched.stats)
		page = append(page, prometheus.MustNewConstHistogram(d.desc, h.n, h.sum, h.cumulative()))
	}
	for pos, n := range sched.stats.acceptedPerPos {
		page = append(page, prometheus.MustNewConstMetric(c.position, prometheus.CounterValue, float64(n), strconv.Itoa(pos)))
	}
	page = append(page,
		prometheus.MustNewConstMetric(c.success, prometheus.CounterValue, float64(sched.stats.stopped), "stop"),
		prometheus.MustNewConstMetric(c.success, prometheus.CounterValue, float64(sched.stats.cut), "length"),
		prometheus.MustNewConstMetric(c.lag, prometheus.GaugeValue, c.engine.lag.Seconds()))
	return page
}
