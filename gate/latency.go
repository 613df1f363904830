package gate

import (
	"fmt"

	"github.com/org/llm-gate/gate/stats"
	"github.com/org/llm-gate/loadtest"
)

// confidence is the one-sided confidence of every interval and bound.
const confidence = 0.95

// failureShareOfMean is the share of failed requests above which a mean over
// successes is no figure of the service any more: it is then censored.
const failureShareOfMean = 0.01

// distribution is one histogram of Figures with the quantiles that the
// catalogue shows of it.
type distribution struct {
	family, title, noun string
	formula             string
	histogram           func(*loadtest.Figures) *loadtest.Histogram
	// failuresAbove ranks every failed request above every success.
	failuresAbove bool
	// silentAbove ranks a success without any payload there too: it has no
	// first token and no last.
	silentAbove bool
}

var distributions = []distribution{
	{"ttft", "TTFT", "First token", "first event with a payload − intended start",
		func(f *loadtest.Figures) *loadtest.Histogram { return f.TTFT }, true, true},
	{"first_answer", "First answer", "First answer token", "first event with content (not reasoning) − intended start",
		func(f *loadtest.Figures) *loadtest.Histogram { return f.FirstAnswer }, true, false},
	{"gap", "Inter-chunk gap", "The gap between chunks", "time between two payload events of successes",
		func(f *loadtest.Figures) *loadtest.Histogram { return f.Gap }, false, false},
	{"tpot", "TPOT", "Time per output token", "(last payload − first payload) / (output tokens − tokens of the first chunk) of successes",
		func(f *loadtest.Figures) *loadtest.Histogram { return f.TPOT }, false, false},
	{"e2e", "E2E latency", "The whole answer", "last payload − intended start",
		func(f *loadtest.Figures) *loadtest.Histogram { return f.E2E }, true, true},
	{"ttft_service", "TTFT from send", "First token (from the send)", "first event with a payload − actual send",
		func(f *loadtest.Figures) *loadtest.Histogram { return f.TTFTService }, true, true},
	{"e2e_service", "E2E latency from send", "The whole answer (from the send)", "last payload − actual send",
		func(f *loadtest.Figures) *loadtest.Histogram { return f.E2EService }, true, true},
}

var levels = []struct {
	suffix, title string
	level         float64
}{
	{"p50", "P50", .50}, {"p90", "P90", .90}, {"p95", "P95", .95}, {"p99", "P99", .99}, {"p999", "P99.9", .999},
}

// rows are the catalogue's rows of a distribution: its quantiles and its mean.
func (d distribution) rows() []Metric {
	var out []Metric
	for _, l := range levels {
		formula := "nearest rank ⌈p·n⌉ of: " + d.formula
		if d.failuresAbove {
			formula += "; a failed request ranks above every success"
		}
		out = append(out, Metric{
			ID: d.family + "_" + l.suffix, Title: d.title + " " + l.title,
			Unit: Milliseconds, Direction: LowerIsBetter, Scale: Log, Source: "client", Formula: formula,
			noun: d.noun, level: l.level, family: d.family,
			compute: func(sc *scope) Value { return d.quantile(sc, l.level) },
		})
	}
	return append(out, Metric{
		ID: d.family + "_mean", Title: d.title + " mean",
		Unit: Milliseconds, Direction: LowerIsBetter, Scale: Log, Source: "client",
		Formula: "mean over successes of: " + d.formula + "; above timeout where more than 1 % of requests failed",
		noun:    d.noun, family: d.family,
		compute: d.mean,
	})
}

// above counts the requests that rank above every value of the histogram.
func (d distribution) above(sc *scope) int64 {
	if !d.failuresAbove {
		return 0
	}
	_, failed, ok := sc.counts()
	if d.silentAbove {
		failed += max(0, ok-d.histogram(&sc.figures).N())
	}
	return failed
}

func (d distribution) quantile(sc *scope, level float64) Value {
	h, above := d.histogram(&sc.figures), d.above(sc)
	n := h.N() + above
	if n == 0 {
		return null(d.nothing(sc), 0)
	}
	v := Value{N: n, Clamped: h.Clamped()}
	if x, ok := h.AtRank(stats.Rank(level, n)); ok {
		v.V = &x
	} else {
		v.Censored = "failures"
	}
	if above > 0 {
		if x, ok := h.AtRank(stats.Rank(level, h.N())); ok {
			v.SuccessOnly = &x
		}
	}
	low, high := stats.RankBounds(level, n, confidence)
	if x, ok := h.AtRank(low); ok {
		v.Low = &x
	}
	if x, ok := h.AtRank(high); ok {
		v.High = &x
	}
	return v
}

func (d distribution) mean(sc *scope) Value {
	h, above := d.histogram(&sc.figures), d.above(sc)
	n := h.N() + above
	if n == 0 {
		return null(d.nothing(sc), 0)
	}
	mean, ok := h.Mean()
	if float64(above) > failureShareOfMean*float64(n) {
		v := Value{N: n, Censored: "failures", Clamped: h.Clamped()}
		if ok {
			v.SuccessOnly = &mean
		}
		return v
	}
	v := finite(mean, h.N())
	v.Clamped = h.Clamped()
	return v
}

// nothing says why a distribution holds no value.
func (d distribution) nothing(sc *scope) string {
	sent, failed, ok := sc.counts()
	switch {
	case sent == 0:
		return "no request was sent"
	case ok == 0:
		return fmt.Sprintf("none of %s requests succeeded", FormatCount(failed))
	case d.family == "tpot" && sc.figures.OutputTokens.N == 0:
		return "the server reports no usage, so the number of output tokens is unknown"
	case d.family == "tpot":
		return "no answer had two output tokens"
	case d.family == "gap":
		return "no answer came in two chunks"
	}
	return "no answer held what this measures"
}
