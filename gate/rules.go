package gate

import (
	"fmt"
	"math"

	"github.com/org/llm-gate/gate/stats"
)

// part is what one rule of a check comes to; a check takes its worst.
type part struct {
	status  Status
	rule    string
	reason  string
	certain bool
	needs   string
}

// severity orders statuses by precedence: veto > fail > unknown > near >
// undecided > pass.
func severity(s Status) int {
	switch s {
	case Veto:
		return 5
	case Fail:
		return 4
	case Near:
		return 2
	case Undecided:
		return 1
	case Pass:
		return 0
	}
	return 3
}

func worst(parts []part) part {
	out := parts[0]
	for _, p := range parts[1:] {
		if severity(p.status) > severity(out.status) {
			out = p
		}
	}
	return out
}

// slack forgives the rounding of a way through logarithms, relative to the
// limit.
const slack = 1e-9

// absoluteParts judge a value with its bounds against the check's targets and
// its veto.
func absoluteParts(c Check, m Metric, s series) []part {
	if c.Max == nil && c.Min == nil && c.Veto == nil {
		return nil
	}
	iv, n := alone(m, s)
	var out []part
	if c.Max != nil {
		p := absolutePart("max", guardedMax(c), c.Near, iv, m)
		out = append(out, needsRounds(p, iv, guardedMax(c), n, m))
	}
	if c.Min != nil {
		mirrored := stats.Interval{Estimate: -iv.Estimate, Low: -iv.High, High: -iv.Low}
		p := absolutePart("min", -guardedMin(c), c.Near, mirrored, m)
		out = append(out, needsRounds(p, iv, guardedMin(c), n, m))
	}
	if c.Veto != nil {
		out = append(out, vetoPart(*c.Veto, iv, m))
	}
	return out
}

// absolutePart: interval inside → pass; estimate within target + near → near;
// else fail. Min is its mirror image.
func absolutePart(rule string, target, near float64, iv stats.Interval, m Metric) part {
	eps := slack * math.Abs(target)
	value, limit := math.Abs(iv.Estimate), math.Abs(target)
	side, shown := "≤", FormatValue(m.Unit, value)
	if rule == "min" {
		side = "≥"
	}
	wanted := side + " " + limitText(m.Unit, limit)
	switch {
	case iv.High <= target+eps:
		return part{Pass, rule, fmt.Sprintf("%s, target %s", shown, wanted), true, ""}
	case iv.Estimate <= target+eps:
		return part{Near, rule, fmt.Sprintf("%s is within the target %s, but not surely", shown, wanted), false, ""}
	case iv.Estimate <= target+near+eps:
		return part{Near, "near", fmt.Sprintf("%s is past the target %s, within %s of it", shown, wanted, limitText(m.Unit, near)),
			iv.Low > target && iv.High <= target+near+eps, ""}
	}
	return part{Fail, rule, fmt.Sprintf("%s, target %s", shown, wanted), iv.Low > target+near, ""}
}

// needsRounds says how many rounds would bring the bound to the target.
func needsRounds(p part, iv stats.Interval, target float64, n int, m Metric) part {
	if p.certain || m.census {
		return p
	}
	half := math.Max(iv.High-iv.Estimate, iv.Estimate-iv.Low)
	distance := math.Abs(iv.Estimate - target)
	p.needs = roundsNeeded(n, half, distance, 0)
	if m.binomial {
		p.needs = "more requests, or a wider target"
	}
	return p
}

// vetoPart: only with the interval wholly past it.
func vetoPart(veto float64, iv stats.Interval, m Metric) part {
	past := iv.Low > veto
	if m.Direction == HigherIsBetter {
		past = iv.High < veto
	}
	shown, limit := FormatValue(m.Unit, iv.Estimate), limitText(m.Unit, veto)
	if past {
		return part{Veto, "veto", fmt.Sprintf("%s is surely past the veto of %s", shown, limit), true, ""}
	}
	if m.Direction.Worse(veto, iv.Estimate) {
		return part{Fail, "veto", fmt.Sprintf("%s is past the veto of %s, though not surely", shown, limit), false, "more rounds"}
	}
	if m.Direction.Worse(veto, iv.High) || m.Direction.Worse(veto, iv.Low) {
		return part{Undecided, "veto", fmt.Sprintf("%s is within the veto of %s, but not surely", shown, limit), false, "more rounds"}
	}
	return part{Pass, "veto", fmt.Sprintf("%s, veto at %s", shown, limit), true, ""}
}

// tolerancePart judges the difference to the accepted runs: wholly past the
// limit → fail, wholly inside → pass, else the estimate decides.
func tolerancePart(t Tolerance, m Metric, c comparison) part {
	const rule = "tolerance"
	allowed := formatTolerance(t, m.Unit)
	switch {
	case c.now.Censored != "" && c.base.Censored != "":
		return part{Fail, "failures", "above timeout, as the accepted runs were: nothing to accept", true, ""}
	case c.now.Censored != "":
		return part{Fail, "failures", fmt.Sprintf("above timeout, worse than any number (baseline %s)", FormatMeasure(m.Unit, c.base)), true, ""}
	case c.base.Censored != "":
		return part{Pass, rule, "the accepted runs were above timeout, this one is not", true, ""}
	}
	limit, worse := c.limit(m, t), c.worse(m)
	eps := slack*limit + 1e-12
	if math.IsInf(limit, 1) {
		return part{Pass, rule, "no value could be past a limit of " + allowed, true, ""}
	}
	f := Finding{Unit: m.Unit, Direction: m.Direction, Now: c.now, Baseline: &c.base, Change: c.change(m, &t)}
	change := FormatChange(f)
	switch {
	case worse.Low > limit+eps:
		return part{Fail, rule, fmt.Sprintf("%s, surely past the %s allowed", change, allowed), true, ""}
	case worse.High <= limit+eps:
		return part{Pass, rule, fmt.Sprintf("%s, surely within the %s allowed", change, allowed), true, ""}
	case worse.Estimate > limit+eps:
		return part{Fail, rule, fmt.Sprintf("%s, past the %s allowed, though not surely", change, allowed), false, c.needs(m, limit)}
	}
	return part{Undecided, rule, fmt.Sprintf("%s is within the %s allowed, but not surely", change, allowed), false, c.needs(m, limit)}
}

// needs says what would make the comparison certain.
func (c comparison) needs(m Metric, limit float64) string {
	worse := c.worse(m)
	distance := math.Abs(worse.Estimate - limit)
	if m.binomial {
		return c.needsRequests(limit, worse.Estimate)
	}
	half := worse.High - worse.Estimate
	if worse.Estimate > limit {
		half = worse.Estimate - worse.Low
	}
	if distance <= c.floor {
		if c.runs < 3 {
			return fmt.Sprintf("more accepted runs (the baseline has %d): the spread between runs alone is wider than the distance to the limit, more load cannot decide it", c.runs)
		}
		return "a wider tolerance or a live A/B: the spread between runs alone is wider than the distance to the limit, so more load cannot decide it"
	}
	return roundsNeeded(c.rounds, half, distance, c.floor)
}

// roundsNeeded is how many rounds narrow the half width to the distance, where
// floor of it stays whatever is done.
func roundsNeeded(rounds int, half, distance, floor float64) string {
	left, now := distance*distance-floor*floor, half*half-floor*floor
	if rounds < 1 || !(left > 0) || !(now > 0) {
		return "more rounds"
	}
	n := math.Ceil(float64(rounds) * now / left)
	if n > 1000 {
		return "more than 1,000 rounds: the value lies on the limit"
	}
	return fmt.Sprintf("about %d rounds of this length (has %d)", int(math.Max(n, float64(rounds+1))), rounds)
}

// needsRequests finds how many requests at the same rate would decide.
func (c comparison) needsRequests(limit, estimate float64) string {
	decided := func(n int64) bool {
		k := int64(math.Round(float64(c.k1) / float64(c.n1) * float64(n)))
		iv := stats.RateDifference(k, n, c.k0, c.n0, confidence)
		return iv.High <= limit || iv.Low > limit
	}
	const most = 1 << 22
	n := c.n1
	for n < most && !decided(n) {
		n *= 2
	}
	if !decided(n) {
		return "more accepted runs: no number of requests in this one decides it"
	}
	lo, hi := n/2, n
	for lo+1 < hi {
		if mid := (lo + hi) / 2; decided(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	if estimate == 0 && c.k1 == 0 {
		return fmt.Sprintf("%s requests without a failure (has %s)", FormatCount(hi), FormatCount(c.n1))
	}
	return fmt.Sprintf("about %s requests at this rate of failures (has %s)", FormatCount(hi), FormatCount(c.n1))
}

// suspicious reports whether the metric improved by more than twice what it may
// get worse.
func suspicious(t Tolerance, m Metric, c comparison) bool {
	if !c.comparable || m.binomial && c.k0 == 0 {
		return false
	}
	now, base := *c.now.V, *c.base.V
	if !m.Direction.Worse(now, base) { // not better
		return false
	}
	amount := math.Abs(now - base)
	if t.Kind == Relative {
		amount /= math.Abs(base)
	}
	return amount > 2*t.Value
}
