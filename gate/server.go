package gate

import (
	"fmt"

	"github.com/org/llm-gate/loadtest"
)

// serverMetrics are computed from the server's own figures around the load.
var serverMetrics = []Metric{
	{
		ID: "kv_hit_rate", Title: "KV-cache hit rate", Unit: Ratio, Direction: HigherIsBetter, Scale: Plain, Source: "server",
		Formula: "Δhits / Δqueries of the prefix cache's counters around the window; null where no query was made",
		Names:   []string{loadtest.PrefixHits, loadtest.PrefixQueries},
		noun:    "Prefix-cache hits",
		compute: func(sc *scope) Value {
			return sc.counterRatio(loadtest.PrefixHits, loadtest.PrefixQueries, 1, "no query was made of the prefix cache")
		},
	},
	gaugePeak("kv_usage_peak", "KV-cache usage peak", "KV-cache usage", Ratio, loadtest.KVUsage),
	gaugePeak("queue_peak", "Queue peak", "The queue", Count, loadtest.Waiting),
	gaugePeak("running_peak", "Running requests peak", "Running requests", Count, loadtest.Running),
	{
		ID: "preemptions", Title: "Preemptions", Unit: Count, Direction: LowerIsBetter, Scale: Plain, Source: "server",
		Formula: "Δ of preempted requests over the rounds",
		Names:   []string{loadtest.Preemptions},
		noun:    "Preemptions", census: true,
		compute: func(sc *scope) Value {
			return sc.counterSum(loadtest.Preemptions)
		},
	},
	{
		ID: "spec_acceptance", Title: "Speculative acceptance", Unit: Ratio, Direction: HigherIsBetter, Scale: Plain, Source: "server",
		Formula: "Δaccepted / Δdrafted tokens",
		Names:   []string{loadtest.SpecAcceptedTokens, loadtest.SpecDraftTokens},
		noun:    "Speculative acceptance",
		compute: func(sc *scope) Value {
			return sc.counterRatio(loadtest.SpecAcceptedTokens, loadtest.SpecDraftTokens, 1, "no token was drafted")
		},
	},
	{
		ID: "spec_accepted_length", Title: "Speculative accepted length", Unit: Factor, Direction: HigherIsBetter, Scale: Log, Source: "server",
		Formula: "1 + Δaccepted / Δdrafts: tokens a step, the speed-up against one token a step",
		Names:   []string{loadtest.SpecAcceptedTokens, loadtest.SpecDrafts},
		noun:    "The length accepted per speculative step",
		compute: func(sc *scope) Value {
			v := sc.counterRatio(loadtest.SpecAcceptedTokens, loadtest.SpecDrafts, 1, "no draft was made")
			if v.V != nil {
				*v.V++
			}
			return v
		},
	},
	counterMean("server_ttft_mean", "Server's TTFT mean", loadtest.ServerTTFTSum, loadtest.ServerTTFTCount),
	counterMean("server_itl_mean", "Server's inter-token latency mean", loadtest.ServerITLSum, loadtest.ServerITLCount),
	counterMean("server_e2e_mean", "Server's E2E mean", loadtest.ServerE2ESum, loadtest.ServerE2ECount),
	counterMean("server_queue_mean", "Server's queue time mean", loadtest.ServerQueueSum, loadtest.ServerQueueCount),
	counterMean("server_prefill_mean", "Server's prefill time mean", loadtest.ServerPrefillSum, loadtest.ServerPrefillCount),
	counterMean("server_decode_mean", "Server's decode time mean", loadtest.ServerDecodeSum, loadtest.ServerDecodeCount),
	gaugePeak("gpu_memory_peak", "GPU memory peak", "GPU memory", MiB, loadtest.GPUMemoryUsed),
	{
		ID: "gpu_memory_jitter", Title: "GPU memory jitter", Unit: MiB, Direction: LowerIsBetter, Scale: Plain, Source: "server",
		Formula: "half of (max − min) of used memory within the stage",
		Names:   []string{loadtest.GPUMemoryUsed},
		noun:    "GPU memory jitter", census: true,
		compute: func(sc *scope) Value {
			g, reason := sc.gauge(loadtest.GPUMemoryUsed)
			if reason != "" {
				return null(reason, 0)
			}
			return finite((g.Max-g.Min)/2, g.N)
		},
	},
	{
		ID: "gpu_memory_fragmentation", Title: "GPU memory fragmentation", Unit: Ratio, Direction: LowerIsBetter, Scale: Plain, Source: "server",
		Formula: "(reserved − used) / reserved memory, means over the stage",
		Names:   []string{loadtest.GPUMemoryReserved, loadtest.GPUMemoryUsed},
		noun:    "GPU memory fragmentation", census: true,
		compute: func(sc *scope) Value {
			reserved, reason := sc.gauge(loadtest.GPUMemoryReserved)
			if reason != "" {
				return null(reason, 0)
			}
			used, reason := sc.gauge(loadtest.GPUMemoryUsed)
			if reason != "" {
				return null(reason, 0)
			}
			if reserved.Mean <= 0 {
				return null("no memory is reserved", reserved.N)
			}
			return finite((reserved.Mean-used.Mean)/reserved.Mean, reserved.N)
		},
	},
	{
		ID: "cpu_saturation", Title: "CPU saturation", Unit: Ratio, Direction: LowerIsBetter, Scale: Plain, Source: "server",
		Formula: "Δbusy / Δtotal CPU seconds of the server's node",
		Names:   []string{loadtest.NodeCPUBusy, loadtest.NodeCPUTotal},
		noun:    "CPU use",
		compute: func(sc *scope) Value {
			return sc.counterRatio(loadtest.NodeCPUBusy, loadtest.NodeCPUTotal, 1, "the node's CPU time did not advance")
		},
	},
}

func gaugePeak(id, title, noun string, unit Unit, name string) Metric {
	return Metric{
		ID: id, Title: title, Unit: unit, Direction: LowerIsBetter, Scale: Plain, Source: "server",
		Formula: "highest sample of " + name + " within the stage", Names: []string{name},
		noun: noun, census: true,
		compute: func(sc *scope) Value {
			g, reason := sc.gauge(name)
			if reason != "" {
				return null(reason, 0)
			}
			return finite(g.Max, g.N)
		},
	}
}

func counterMean(id, title, sum, count string) Metric {
	return Metric{
		ID: id, Title: title, Unit: Milliseconds, Direction: LowerIsBetter, Scale: Log, Source: "server",
		Formula: "Δsum / Δcount of the server's histogram", Names: []string{sum, count},
		noun: title,
		compute: func(sc *scope) Value {
			return sc.counterRatio(sum, count, 1000, "the server counted no request")
		},
	}
}

// counterRatio is factor · Δa / Δb over the windows that show both.
func (sc *scope) counterRatio(a, b string, factor float64, zero string) Value {
	var sumA, sumB float64
	found := false
	for _, w := range sc.windows {
		da, okA := w.Counters[a]
		db, okB := w.Counters[b]
		if okA && okB {
			sumA, sumB, found = sumA+da, sumB+db, true
		}
	}
	switch {
	case !found && sc.missing(b) != "":
		return null(sc.missing(b), 0)
	case !found:
		return null(sc.missing(a), 0)
	case sumB <= 0:
		return null(zero, 0)
	}
	return finite(factor*sumA/sumB, int64(min(sumB, 1<<62)))
}

func (sc *scope) counterSum(name string) Value {
	var sum float64
	var n int64
	for _, w := range sc.windows {
		if d, ok := w.Counters[name]; ok {
			sum, n = sum+d, n+1
		}
	}
	if n == 0 {
		return null(sc.missing(name), 0)
	}
	return finite(sum, n)
}

// gauge sums a level up over the windows; reason says why there is none.
func (sc *scope) gauge(name string) (out loadtest.Gauge, reason string) {
	var weighted float64
	for _, w := range sc.windows {
		g, ok := w.Gauges[name]
		if !ok || g.N <= 0 {
			continue
		}
		if out.N == 0 {
			out.Min, out.Max = g.Min, g.Max
		}
		out.Min, out.Max, out.Last = min(out.Min, g.Min), max(out.Max, g.Max), g.Last
		out.N += g.N
		weighted += g.Mean * float64(g.N)
	}
	if out.N == 0 {
		return out, sc.missing(name)
	}
	out.Mean = weighted / float64(out.N)
	return out, ""
}

// missing says why the windows show no value of a canonical name; "" where one
// of them has it as a counter.
func (sc *scope) missing(name string) string {
	if len(sc.windows) == 0 {
		if sc.res.Source == nil {
			return fmt.Sprintf("the run had no source of server metrics, so %s was not read", name)
		}
		return fmt.Sprintf("%s was not read around this stage", name)
	}
	dialect := ""
	for _, w := range sc.windows {
		if _, ok := w.Counters[name]; ok {
			return ""
		}
		if reason := w.Missing[name]; reason != "" {
			return fmt.Sprintf("%s: %s", name, reason)
		}
		dialect = w.Dialect
	}
	if dialect == "" {
		return fmt.Sprintf("the server's pages show no %s (no known engine was recognised on them)", name)
	}
	return fmt.Sprintf("the server's pages show no %s (recognised as %s)", name, dialect)
}
