package gate

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// noValue stands where there is nothing to show; the reason stands elsewhere.
const noValue = "–"

// aboveTimeout stands for a value whose rank falls among failed requests.
const aboveTimeout = "above timeout"

// FormatValue writes v in words that keep its unit: "182 ms", "71.4 %",
// "6,400", "12.3 req/s", "1.2 GiB". A value that is not finite is "–"; a value
// that is not zero never reads as zero.
func FormatValue(u Unit, v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return noValue
	}
	switch u {
	case Milliseconds:
		return number(v) + " ms"
	case Ratio:
		return percent(v * 100)
	case PerSecond:
		return number(v) + " req/s"
	case TokensPerS:
		return number(v) + " tok/s"
	case Tokens:
		return number(v) + " tokens"
	case MiB:
		if math.Abs(v) >= 1024 {
			return fixed(v/1024, 1) + " GiB"
		}
		return number(v) + " MiB"
	case Factor:
		return fixed(v, 2) + "×"
	}
	if v == math.Trunc(v) {
		return fixed(v, 0)
	}
	return number(v)
}

// FormatMeasure writes a value that may be missing: "–" for null, "above
// timeout" where failures censor it.
func FormatMeasure(u Unit, v Value) string {
	switch {
	case v.Censored != "":
		return aboveTimeout
	case v.V == nil:
		return noValue
	}
	return FormatValue(u, *v.V)
}

// FormatChange says in words how a finding changed: "19.2 % slower", "0.02 pp
// higher", "unchanged", "from 0", "new", "–".
func FormatChange(f Finding) string {
	if word, done := changeWithoutNumber(f); done {
		return word
	}
	v := *f.Change.Value
	amount := changeAmount(f.Change.Kind, f.Unit, math.Abs(v))
	if amount == "" {
		return "unchanged"
	}
	return amount + " " + changeWord(f.Unit, v)
}

// FormatChangeSigned writes the change with its sign: "+19.2 %", "-19.4pp",
// "+0.02pp". The sign is that of now − baseline; whether that is worse stands
// in the finding.
func FormatChangeSigned(f Finding) string {
	if word, done := changeWithoutNumber(f); done {
		return word
	}
	v := *f.Change.Value
	amount := changeAmount(f.Change.Kind, f.Unit, math.Abs(v))
	if amount == "" {
		return "unchanged"
	}
	return sign(v) + strings.Replace(amount, " pp", "pp", 1)
}

// FormatInterval writes the bounds of the change, "+16.1 … +22.4 %"; "" where
// there are none. Each bound is one-sided at 95 %.
func (f Finding) FormatInterval() string {
	c := f.Change
	if c == nil || c.Low == nil || c.High == nil {
		return ""
	}
	bound := func(v float64) string {
		switch c.Kind {
		case Relative:
			return sign(v) + fixed(math.Abs(v)*100, 1)
		case Points:
			return sign(v) + points(math.Abs(v)*100)
		}
		return sign(v) + number(math.Abs(v))
	}
	return bound(*c.Low) + " … " + bound(*c.High) + changeUnit(c.Kind, f.Unit)
}

// FormatAllowed says what a check allows: "15 %", "0.5 pp", "≤ 200 ms",
// "15 %, ≤ 200 ms", "veto > 1,200 ms".
func FormatAllowed(c Check, m Metric) string {
	return strings.Join(allowed(c, m, ""), ", ")
}

// FormatAllowedSigned is FormatAllowed with the sign that is worse: "+15 %",
// "-5 pp", "≤ 200 ms".
func FormatAllowedSigned(c Check, m Metric) string {
	s := "+"
	if m.Direction == HigherIsBetter {
		s = "-"
	}
	return strings.Join(allowed(c, m, s), ", ")
}

// FormatCount writes a whole number with thousands separators: "6,400".
func FormatCount(n int64) string { return thousands(strconv.FormatInt(n, 10)) }

func allowed(c Check, m Metric, sign string) []string {
	var out []string
	if t := c.Tolerance; t != nil {
		out = append(out, sign+formatTolerance(*t, m.Unit))
	}
	if c.Max != nil {
		out = append(out, "≤ "+limitText(m.Unit, guardedMax(c))+guardText(c, m.Unit, *c.Max))
	}
	if c.Min != nil {
		out = append(out, "≥ "+limitText(m.Unit, guardedMin(c))+guardText(c, m.Unit, *c.Min))
	}
	if c.Veto != nil && len(out) == 0 {
		side := ">"
		if m.Direction == HigherIsBetter {
			side = "<"
		}
		out = append(out, "veto "+side+" "+limitText(m.Unit, *c.Veto))
	}
	return out
}

func formatTolerance(t Tolerance, u Unit) string {
	switch t.Kind {
	case Relative:
		return short(t.Value*100) + " %"
	case Points:
		return short(t.Value*100) + " pp"
	}
	return limitText(u, t.Value)
}

func guardText(c Check, u Unit, plain float64) string {
	if c.Guard == 0 {
		return ""
	}
	return " (" + limitText(u, plain) + ", guard " + short(c.Guard*100) + " %)"
}

// limitText writes a configured figure: as FormatValue, without the trailing
// zeros that a measurement carries.
func limitText(u Unit, v float64) string {
	switch u {
	case Ratio:
		return short(v*100) + " %"
	case MiB:
		if math.Abs(v) >= 1024 {
			return short(v/1024) + " GiB"
		}
	}
	_, unit, _ := strings.Cut(FormatValue(u, 1), " ")
	if u == Factor {
		return short(v) + "×"
	}
	if unit == "" {
		return short(v)
	}
	return short(v) + " " + unit
}

// changeWithoutNumber is the word for a change that has no figure.
func changeWithoutNumber(f Finding) (word string, done bool) {
	switch {
	case f.Now.Censored != "" && f.Baseline != nil && f.Baseline.Censored != "":
		return "still above timeout", true
	case f.Now.Censored != "":
		return aboveTimeout, true
	case f.Now.V == nil:
		return noValue, true
	case f.Baseline != nil && f.Baseline.Censored != "":
		return "was above timeout", true
	case f.Baseline == nil:
		return noValue, true // no accepted run at all
	case f.Baseline.V == nil:
		return "new", true // accepted runs, but none has the metric
	case f.Change == nil:
		return noValue, true
	case f.Change.Value == nil && *f.Baseline.V == 0:
		return "from 0", true
	case f.Change.Value == nil:
		return noValue, true
	}
	return "", false
}

// changeAmount writes the size of a change, "" where it reads as none.
func changeAmount(k ToleranceKind, u Unit, v float64) string {
	switch {
	case v == 0:
		return ""
	case k == Relative:
		if v*100 < 0.05 {
			return ""
		}
		return fixed(v*100, 1) + " %"
	case k == Points:
		if v*100 < 0.005 {
			return ""
		}
		return points(v*100) + " pp"
	}
	return FormatValue(u, v)
}

func changeUnit(k ToleranceKind, u Unit) string {
	switch k {
	case Relative:
		return " %"
	case Points:
		return " pp"
	}
	if _, unit, ok := strings.Cut(FormatValue(u, 1), " "); ok {
		return " " + unit
	}
	return ""
}

func changeWord(u Unit, v float64) string {
	switch {
	case u == Milliseconds && v > 0:
		return "slower"
	case u == Milliseconds:
		return "faster"
	case v > 0:
		return "higher"
	}
	return "lower"
}

func sign(v float64) string {
	if v < 0 {
		return "-"
	}
	return "+"
}

// number keeps three significant digits or so and all digits before the point.
func number(v float64) string {
	a := math.Abs(v)
	switch {
	case a == 0:
		return "0"
	case a >= 100:
		return fixed(v, 0)
	case a >= 1:
		return fixed(v, 1)
	case a >= 0.01:
		return fixed(v, 2)
	}
	return strconv.FormatFloat(v, 'g', 1, 64)
}

// percent writes a figure in percent.
func percent(v float64) string {
	a := math.Abs(v)
	switch {
	case a == 0:
		return "0 %"
	case a >= 10:
		return fixed(v, 1) + " %"
	case a >= 0.01:
		return fixed(v, 2) + " %"
	}
	return strconv.FormatFloat(v, 'g', 1, 64) + " %"
}

func points(v float64) string {
	if v >= 1 {
		return fixed(v, 1)
	}
	return fixed(v, 2)
}

// short writes a configured number as it was written.
func short(v float64) string {
	s := strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64)
	return thousands(s)
}

func fixed(v float64, digits int) string {
	s := thousands(strconv.FormatFloat(v, 'f', digits, 64))
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return s
}

// thousands puts commas into the digits before the point.
func thousands(s string) string {
	whole, frac, point := strings.Cut(s, ".")
	neg := strings.HasPrefix(whole, "-")
	whole = strings.TrimPrefix(whole, "-")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if neg {
		whole = "-" + whole
	}
	if point {
		return whole + "." + frac
	}
	return whole
}

// guardedMax is the target that is tested for a Max with its guard.
func guardedMax(c Check) float64 { return *c.Max * (1 - c.Guard) }

// guardedMin is the target that is tested for a Min with its guard.
func guardedMin(c Check) float64 { return *c.Min * (1 + c.Guard) }

// days writes an age in whole days where it is one.
func days(d time.Duration) string {
	if day := 24 * time.Hour; d >= day && d%day == 0 {
		return plural(int(d/day), "day")
	}
	return d.String()
}
