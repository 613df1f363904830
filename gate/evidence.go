package gate

import (
	"math"

	"github.com/org/llm-gate/gate/stats"
)

// smallestSample is how many values bound a metric's quantile from above at 95 %
// confidence with no exceedance; 0 for what is no quantile.
func smallestSample(m Metric) int64 {
	if m.level == 0 {
		return 0
	}
	return stats.SmallestSample(m.level, confidence, 0)
}

// comparison is a candidate's metric against that of the accepted runs.
type comparison struct {
	now, base Value
	// hasBase is false where no accepted run has the metric; base may still be
	// censored.
	hasBase bool
	axis    axis
	// diff is now − base on the axis, of which floor is the half width that the
	// spread between runs alone leaves.
	diff  stats.Interval
	floor float64
	// comparable is true where diff holds.
	comparable bool
	runs       int // accepted runs that have the metric
	rounds     int // rounds of the candidate behind diff
	// k and n are the counts behind an exact rate.
	k1, n1, k0, n0 int64
}

// compareSeries compares on the metric's scale: means over rounds, and across
// time means over runs.
func compareSeries(m Metric, cand series, history []series) comparison {
	c := comparison{now: cand.pooled, rounds: max(len(cand.rounds), 1)}
	if cand.pooled.Censored != "" || m.census {
		c.rounds = max(cand.planned, 1)
	}
	var runs []series
	censored := false
	for _, h := range history {
		if h.usable() {
			runs = append(runs, h)
		}
		censored = censored || h.pooled.Censored != ""
	}
	c.runs = len(runs)
	switch {
	case len(runs) > 0:
		c.hasBase = true
	case censored:
		c.hasBase, c.base = true, Value{Censored: "failures"}
		return c
	default:
		return c
	}
	if m.binomial {
		c.rounds = cand.planned
		c.compareRates(cand, runs)
		return c
	}
	whole := cand.pooled.V == nil || cand.censored > 0 || m.census || len(cand.rounds) == 0
	values := make([][]float64, len(runs))
	var all []float64
	for i, r := range runs {
		values[i] = r.statistics()
		if whole {
			values[i] = []float64{*r.pooled.V}
		}
		all = append(all, values[i]...)
		c.base.N += r.pooled.N
	}
	var now []float64
	if cand.pooled.V != nil {
		now = cand.statistics()
		all = append(all, now...)
	}
	c.axis = axisOf(m, all...)
	means := make([]float64, len(runs))
	for i := range values {
		values[i] = c.axis.all(values[i])
		means[i] = stats.Mean(values[i])
	}
	c.base.V = pointer(tidy(c.axis.from(stats.Mean(means))))
	if cand.pooled.V == nil {
		return c
	}
	x := c.axis.all(now)
	c.now.V = pointer(tidy(c.axis.from(stats.Mean(x))))
	c.diff = stats.AgainstRuns(x, values, c.axis.sigma0, confidence)
	alone := stats.AgainstRuns([]float64{stats.Mean(x)}, values, c.axis.sigma0, confidence)
	c.floor = alone.High - alone.Estimate
	c.widenBySample(cand.pooled, now)
	c.comparable = true
	return c
}

// widenBySample keeps a run without rounds from being surer than its own
// sample: the bounds of the quantile by order statistics are a floor.
func (c *comparison) widenBySample(v Value, rounds []float64) {
	if len(rounds) >= 2 || v.V == nil || !c.axis.log {
		return
	}
	if v.Low != nil && *v.Low > 0 {
		c.diff.Low = math.Min(c.diff.Low, c.diff.Estimate-math.Log(*v.V / *v.Low))
	}
	if v.High != nil && *v.High > 0 {
		c.diff.High = math.Max(c.diff.High, c.diff.Estimate+math.Log(*v.High / *v.V))
	}
}

// compareRates compares exact counts, those of the history pooled.
func (c *comparison) compareRates(cand series, runs []series) {
	for _, r := range runs {
		c.k0 += successes(r.pooled)
		c.n0 += r.pooled.N
	}
	c.base = Value{V: pointer(float64(c.k0) / float64(c.n0)), N: c.n0}
	if cand.pooled.V == nil {
		return
	}
	c.k1, c.n1 = successes(cand.pooled), cand.pooled.N
	c.diff = stats.RateDifference(c.k1, c.n1, c.k0, c.n0, confidence)
	c.comparable = true
}

func successes(v Value) int64 { return int64(math.Round(*v.V * float64(v.N))) }

// change writes the difference as files and reports show it: relative for what
// is compared on the log scale, points for ratios; in the unit where the check
// allows a difference in the unit.
func (c comparison) change(m Metric, tolerance *Tolerance) *Change {
	if !c.hasBase || c.now.V == nil && c.now.Censored == "" {
		return nil
	}
	if !c.comparable {
		worse := c.now.Censored != "" && c.base.Censored == "" && m.Direction != Neither
		return &Change{Kind: kindOf(m), Worse: worse}
	}
	base := *c.base.V
	kind := kindOf(m)
	switch {
	case tolerance != nil && tolerance.Kind == Absolute && m.Unit != Ratio:
		kind = Absolute
	case kind == Relative && base == 0:
		kind = Absolute // a ratio to zero does not exist
	}
	on := func(x float64) float64 {
		if c.axis.log {
			x = math.Expm1(x)
			if kind == Absolute {
				x *= base
			}
			return tidy(x)
		}
		if kind == Relative {
			x /= math.Abs(base)
		}
		return tidy(x)
	}
	out := &Change{Kind: kind, Value: finitePointer(on(c.diff.Estimate)), Low: finitePointer(on(c.diff.Low)), High: finitePointer(on(c.diff.High))}
	out.Worse = m.Direction.Worse(0, c.diff.Estimate)
	return out
}

func kindOf(m Metric) ToleranceKind {
	if m.Unit == Ratio {
		return Points
	}
	return Relative
}

// limit is how far on the axis the metric may get worse under the tolerance, as
// a positive distance; +Inf where nothing could be past it.
func (c comparison) limit(m Metric, t Tolerance) float64 {
	base := *c.base.V
	amount := t.Value // of the base, as a share
	if t.Kind != Relative {
		if !c.axis.log {
			return t.Value
		}
		amount = t.Value / base
	}
	if !c.axis.log {
		return amount * math.Abs(base)
	}
	if m.Direction == HigherIsBetter {
		if amount >= 1 {
			return math.Inf(1)
		}
		return -math.Log1p(-amount)
	}
	return math.Log1p(amount)
}

// worse turns the difference so that worse is positive.
func (c comparison) worse(m Metric) stats.Interval {
	if m.Direction == HigherIsBetter {
		return stats.Interval{Estimate: -c.diff.Estimate, Low: -c.diff.High, High: -c.diff.Low}
	}
	return c.diff
}

// alone is the candidate's own value with its bounds, in the metric's unit: the
// mean over its rounds on the metric's scale. What was observed as a whole (a
// peak, a count) is its own bound.
func alone(m Metric, s series) (stats.Interval, int) {
	v := *s.pooled.V
	if m.census {
		return stats.Interval{Estimate: v, Low: v, High: v}, s.planned
	}
	if m.binomial {
		return stats.ClopperPearson(successes(s.pooled), s.pooled.N, confidence), s.planned
	}
	values := s.statistics()
	a := axisOf(m, values...)
	iv := stats.MeanInterval(a.all(values), a.sigma0, confidence)
	out := stats.Interval{Estimate: tidy(a.from(iv.Estimate)), Low: a.from(iv.Low), High: a.from(iv.High)}
	if len(values) < 2 {
		if s.pooled.Low != nil {
			out.Low = math.Min(out.Low, *s.pooled.Low)
		}
		if s.pooled.High != nil {
			out.High = math.Max(out.High, *s.pooled.High)
		}
	}
	return out, len(values)
}

func pointer[T any](v T) *T { return &v }

// finitePointer is nil for what JSON cannot carry.
func finitePointer(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
