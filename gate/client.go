package gate

import (
	"github.com/org/llm-gate/loadtest"
)

// clientMetrics are computed from the outcomes and token counts of requests.
var clientMetrics = []Metric{
	{
		ID: "error_rate", Title: "Error rate", Unit: Ratio, Direction: LowerIsBetter, Scale: Plain, Source: "client",
		Formula: "failed / sent; failures of the load generator's own machine on neither side",
		noun:    "Errors", binomial: true,
		compute: func(sc *scope) Value {
			sent, failed, _ := sc.counts()
			return share(failed, sent)
		},
	},
	{
		ID: "request_throughput", Title: "Request throughput", Unit: PerSecond, Direction: HigherIsBetter, Scale: Log, Source: "client",
		Formula: "successful requests / (first intended start → last answer)",
		noun:    "Request throughput", throughput: true,
		compute: func(sc *scope) Value {
			_, _, ok := sc.counts()
			return sc.perSecond(float64(ok), ok)
		},
	},
	{
		ID: "prompt_throughput", Title: "Prompt throughput", Unit: PerSecond, Direction: HigherIsBetter, Scale: Log, Source: "client",
		Formula: "requests whose whole answer arrived / (first intended start → last answer)",
		noun:    "Prompt throughput", throughput: true,
		compute: func(sc *scope) Value {
			whole := sc.figures.Outcomes[loadtest.OK] + sc.figures.Outcomes[loadtest.Assertion]
			return sc.perSecond(float64(whole), whole)
		},
	},
	{
		ID: "output_token_throughput", Title: "Output token throughput", Unit: TokensPerS, Direction: HigherIsBetter, Scale: Log, Source: "client",
		Formula: "Σ output tokens by the server's usage / (first intended start → last answer)",
		noun:    "Output token throughput", throughput: true,
		compute: func(sc *scope) Value {
			t := sc.figures.OutputTokens
			if t.N == 0 {
				return null(noUsage(sc), 0)
			}
			return sc.perSecond(t.Sum, t.N)
		},
	},
	{
		ID: "peak_throughput", Title: "Peak throughput", Unit: PerSecond, Direction: HigherIsBetter, Scale: Log, Source: "client",
		Formula: "highest rate of successful requests over the stages of rising load of this run",
		noun:    "Peak throughput", throughput: true, census: true,
		compute: peakThroughput,
	},
	{
		ID: "goodput", Title: "Goodput", Unit: PerSecond, Direction: HigherIsBetter, Scale: Log, Source: "client",
		Formula: "requests that met every SLO / (first intended start → last answer)",
		noun:    "Goodput",
		compute: func(sc *scope) Value {
			if sc.figures.MetSLO == nil {
				return null("no SLO is configured", 0)
			}
			return sc.perSecond(float64(*sc.figures.MetSLO), *sc.figures.MetSLO)
		},
	},
	{
		ID: "goodput_ratio", Title: "Goodput share", Unit: Ratio, Direction: HigherIsBetter, Scale: Plain, Source: "client",
		Formula: "requests that met every SLO / all sent, failures in the denominator",
		noun:    "Requests within the SLOs",
		compute: func(sc *scope) Value {
			if sc.figures.MetSLO == nil {
				return null("no SLO is configured", 0)
			}
			sent, _, _ := sc.counts()
			return share(*sc.figures.MetSLO, sent)
		},
	},
	{
		ID: "output_tokens_mean", Title: "Output tokens mean", Unit: Tokens, Direction: Neither, Scale: Log, Source: "client",
		Formula: "mean output tokens of successes by the server's usage",
		noun:    "Output length",
		compute: func(sc *scope) Value { return tallyMean(sc, sc.figures.OutputTokens) },
	},
	{
		ID: "input_tokens_mean", Title: "Input tokens mean", Unit: Tokens, Direction: Neither, Scale: Log, Source: "client",
		Formula: "mean prompt tokens of successes by the server's usage",
		noun:    "Input length",
		compute: func(sc *scope) Value { return tallyMean(sc, sc.figures.PromptTokens) },
	},
	{
		ID: "cached_token_ratio", Title: "Cached prompt tokens", Unit: Ratio, Direction: HigherIsBetter, Scale: Plain, Source: "client",
		Formula: "mean cached tokens / mean prompt tokens by the server's usage: a cross-check of kv_hit_rate",
		noun:    "Cached prompt tokens",
		compute: func(sc *scope) Value {
			cached, ok := sc.figures.CachedTokens.Mean()
			if !ok {
				return null("the server's usage does not tell cached tokens", 0)
			}
			prompt, ok := sc.figures.PromptTokens.Mean()
			if !ok || prompt == 0 {
				return null("the server's usage counts no prompt tokens", 0)
			}
			return finite(cached/prompt, sc.figures.CachedTokens.N)
		},
	},
}

// share is part / whole, null where nothing was sent.
func share(part, whole int64) Value {
	if whole <= 0 {
		return null("no request was sent", 0)
	}
	return finite(float64(part)/float64(whole), whole)
}

func (sc *scope) perSecond(amount float64, n int64) Value {
	if sc.duration <= 0 {
		return null("the stage has no duration", n)
	}
	return finite(amount/sc.duration, n)
}

func tallyMean(sc *scope, t loadtest.Tally) Value {
	mean, ok := t.Mean()
	if !ok {
		return null(noUsage(sc), 0)
	}
	return finite(mean, t.N)
}

func noUsage(sc *scope) string {
	if _, failed, ok := sc.counts(); ok == 0 && failed > 0 {
		return "none of " + FormatCount(failed) + " requests succeeded"
	}
	return "the server reports no usage, so the number of tokens is unknown"
}

// peakThroughput looks over the stages of rising load. The capacity kept with a
// baseline is not this run's and would always equal itself.
func peakThroughput(sc *scope) Value {
	best := null("the run has no stage of rising load (stairs or a capacity search)", 0)
	for _, s := range risingStages(sc.res) {
		v := pooledThroughput(sc.res, s)
		if v.V != nil && (best.V == nil || *v.V > *best.V) {
			best = v
		}
	}
	return best
}

func pooledThroughput(res *loadtest.Result, stage string) Value {
	one := pooledScope(res, stage, "")
	_, _, ok := one.counts()
	return one.perSecond(float64(ok), ok)
}

// risingStages names the shown stages in the order in which they ran.
func risingStages(res *loadtest.Result) []string {
	var out []string
	for i := range res.Segments {
		s := res.Segments[i].Segment
		if s.Kind == loadtest.Shown && (len(out) == 0 || out[len(out)-1] != s.Stage) {
			out = append(out, s.Stage)
		}
	}
	return out
}
