package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/loadtest"
)

const checkOff = "off"

// checksField reads the checks: a map of metric ids, each off, one row, or a
// list of rows (one for each stage or scenario).
func checksField() field[Config] {
	return field[Config]{
		info: info{key: "checks", typ: "mapping of metric ids", def: "the default checks", schema: checksSchema,
			doc:    "What is judged. A metric listed here replaces its default check, off removes it; the other defaults stay.",
			fields: func() []info { return infos(checkFields(gate.Milliseconds)) }},
		read: func(l *loader, c *Config, n *node, at string) { l.checks(c, n, at) },
	}
}

func (l *loader) checks(c *Config, n *node, at string) {
	if n.shape != isMapping && n.shape != isEmpty {
		l.fail(n, at, "is "+string(n.shape)+", not a mapping: write ttft_p95: {tolerance: 15%}")
		return
	}
	if len(n.pairs) == 0 {
		l.failAt(l.keyOf(at, n), at, "is empty, so nothing would be judged: list a check, or remove it for the defaults")
		return
	}
	merged := slices.Clone(c.Policy.Checks)
	failed := len(l.errs)
	for _, p := range l.unique(n, at) {
		path := join(at, p.key)
		m, ok := gate.Lookup(p.key)
		if !ok {
			l.failAt(spot{p.line, p.column}, path, "unknown metric: "+metricHint(p.key))
			continue
		}
		l.written[path] = spot{p.line, p.column}
		merged = replace(merged, m.ID, l.rows(m, p, path))
	}
	if len(merged) == 0 && len(l.errs) == failed {
		l.failAt(l.keyOf(at, n), at, "has every check off, so nothing would be judged: leave one on")
	}
	c.Policy.Checks = merged
}

// replace puts the rows where the metric's checks were, or at the end.
func replace(checks []gate.Check, id string, rows []gate.Check) []gate.Check {
	at := slices.IndexFunc(checks, func(c gate.Check) bool { return c.Metric == id })
	checks = slices.DeleteFunc(checks, func(c gate.Check) bool { return c.Metric == id })
	if at < 0 {
		at = len(checks)
	}
	return slices.Insert(checks, at, rows...)
}

// rows reads the rows of one metric.
func (l *loader) rows(m gate.Metric, p pair, at string) []gate.Check {
	switch n := p.value; n.shape {
	case isMapping:
		return []gate.Check{l.row(m, n, spot{p.line, p.column}, at)}
	case isList:
		if len(n.items) == 0 {
			l.fail(n, at, "is an empty list: write off to remove the check")
		}
		var out []gate.Check
		for i, item := range n.items {
			path := at + "[" + strconv.Itoa(i) + "]"
			row := l.row(m, item, spot{item.line, item.column}, path)
			if slices.ContainsFunc(out, func(c gate.Check) bool { return c.Stage == row.Stage && c.Scenario == row.Scenario }) {
				l.fail(item, path, "checks the same stage and scenario as a row before it: put both in one row")
			}
			out = append(out, row)
		}
		return out
	default:
		l.expand(n, at)
		if n.shape == isString && n.text == checkOff {
			return nil
		}
		what := n.shown()
		if n.shape == isEmpty {
			what = "nothing"
		}
		l.fail(n, at, fmt.Sprintf("%s is not a check: write {tolerance: %s} or off", what, exampleTolerance(m.Unit)))
		return nil
	}
}

func (l *loader) row(m gate.Metric, n *node, pos spot, at string) gate.Check {
	row := gate.Check{Metric: m.ID, Origin: gate.FromUser, Pos: fmt.Sprintf("%s:%d:%d", l.file, pos.line, pos.column)}
	before := len(l.errs)
	mapping(l, checkFields(m.Unit), &row, n, at)
	if len(l.errs) == before {
		l.sensible(m, row, n, pos, at)
	}
	return row
}

// sensible reports limits that contradict each other.
func (l *loader) sensible(m gate.Metric, c gate.Check, n *node, pos spot, at string) {
	bad := func(key, msg string) {
		path := join(at, key)
		l.failAt(l.keyOf(path, n), path, msg)
	}
	has := func(key string) bool { _, ok := l.written[join(at, key)]; return ok }
	if !has("tolerance") && !has("max") && !has("min") && !has("veto") {
		l.failAt(pos, at, fmt.Sprintf("has no limit: write tolerance (%s), max, min or veto", exampleTolerance(m.Unit)))
	}
	if c.Tolerance != nil && m.Direction == gate.Neither {
		bad("tolerance", "this metric is neither better high nor low: use max or min")
	}
	if t := c.Tolerance; t != nil && t.Kind == gate.Relative && t.Value >= 1 && m.Direction == gate.HigherIsBetter {
		bad("tolerance", "of 100% or more lets it fall to nothing: write less")
	}
	if c.Scenario != "" && m.Source != "client" {
		bad("scenario", "this metric is of all scenarios together: remove it")
	}
	for _, key := range []string{"near", "guard"} {
		if has(key) && c.Max == nil && c.Min == nil {
			bad(key, "needs a max or min to belong to")
		}
	}
	if c.Max != nil && c.Min != nil && *c.Min >= *c.Max {
		bad("min", "must be below max")
	}
	if c.Veto == nil {
		return
	}
	// The veto lies beyond the target on the worse side.
	switch {
	case m.Direction == gate.Neither:
		bad("veto", "this metric is neither better high nor low: use max or min")
	case m.Direction == gate.LowerIsBetter && c.Max != nil && *c.Veto < *c.Max+c.Near:
		bad("veto", "must not be below max + near: it is the limit beyond the target")
	case m.Direction == gate.HigherIsBetter && c.Min != nil && *c.Veto > *c.Min-c.Near:
		bad("veto", "must not be above min − near: it is the limit beyond the target")
	}
}

// checkFields are the keys of a check of a metric with the unit.
func checkFields(u gate.Unit) []field[gate.Check] {
	return []field[gate.Check]{
		optional("tolerance", toleranceKind(u), func(c *gate.Check) **gate.Tolerance { return &c.Tolerance },
			"How much worse than the baseline it may be."),
		optional("max", limit(u), func(c *gate.Check) **float64 { return &c.Max }, "Absolute target from above."),
		optional("min", limit(u), func(c *gate.Check) **float64 { return &c.Min }, "Absolute target from below."),
		scalar("near", margin(u), func(c *gate.Check) *float64 { return &c.Near },
			"How far past the target is still only near.").defaults("0"),
		scalar("guard", guard, func(c *gate.Check) *float64 { return &c.Guard },
			"Tightens the target: tested at max · (1 − guard) or min · (1 + guard).").defaults("0%"),
		optional("veto", limit(u), func(c *gate.Check) **float64 { return &c.Veto },
			"Absolute limit past which nothing is waived."),
		scalar("scenario", words, func(c *gate.Check) *string { return &c.Scenario }, "Only this scenario's requests.").defaults("all together"),
		scalar("stage", stage, func(c *gate.Check) *string { return &c.Stage }, "This stage, for example stair-3.").defaults("the judged rounds"),
	}
}

var guard = func() kind[float64] {
	k := percent(99)
	k.name = "percentage below 100%"
	return k
}()

var stage = text("stage", "steady, or stair-1, stair-2, …", `^(`+loadtest.SteadyStage+`|stair-[1-9][0-9]?)$`,
	"is not a stage: write steady, or stair-1, stair-2, …")

// unitText says how values of a unit are written.
type unitText struct {
	suffixes map[string]float64 // what may follow the number, and its factor to the metric's unit
	order    []string           // the suffixes for the pattern
	example  string             // "800ms"
	named    string             // "milliseconds": the metric's unit in words
}

func unitOf(u gate.Unit) unitText {
	switch u {
	case gate.Milliseconds:
		return unitText{map[string]float64{"us": 1e-3, "µs": 1e-3, "ms": 1, "s": 1e3, "m": 6e4}, []string{"us", "µs", "ms", "s", "m"}, "800ms", "a time"}
	case gate.Ratio:
		return unitText{map[string]float64{"%": 0.01}, []string{"%"}, "1%", "a percentage"}
	case gate.PerSecond:
		return unitText{map[string]float64{"/s": 1, "req/s": 1, "requests/s": 1}, []string{"/s", "req/s", "requests/s"}, "12 req/s", "requests per second"}
	case gate.TokensPerS:
		return unitText{map[string]float64{"tok/s": 1, "tokens/s": 1}, []string{"tok/s", "tokens/s"}, "2400 tokens/s", "tokens per second"}
	case gate.Tokens:
		return unitText{map[string]float64{"": 1, "tokens": 1}, []string{"tokens", ""}, "128 tokens", "tokens"}
	case gate.MiB:
		return unitText{map[string]float64{"MiB": 1, "GiB": 1024}, []string{"MiB", "GiB"}, "512MiB", "memory"}
	case gate.Factor:
		return unitText{map[string]float64{"": 1, "x": 1, "×": 1}, []string{"x", "×", ""}, "1.5x", "a factor"}
	}
	return unitText{map[string]float64{"": 1}, []string{""}, "3", "a plain number"}
}

func (t unitText) pattern() string {
	quoted := make([]string, len(t.order))
	for i, s := range t.order {
		quoted[i] = regexp.QuoteMeta(s)
	}
	return `^` + number + ` ?(` + strings.Join(quoted, "|") + `)$`
}

// bare reports whether a number without unit may be written.
func (t unitText) bare() bool { _, ok := t.suffixes[""]; return ok }

// parse reads text in the unit.
func (t unitText) parse(text string) (float64, error) {
	digits := leading.FindString(text)
	suffix := strings.TrimPrefix(text[len(digits):], " ")
	factor, ok := t.suffixes[suffix]
	switch {
	case digits == "" && strings.HasPrefix(text, "-"):
		return 0, fmt.Errorf("must not be negative")
	case digits != "" && suffix == "" && !ok:
		return 0, fmt.Errorf("has no unit: write %s", t.example)
	case digits == "" || !ok:
		return 0, fmt.Errorf("is not in this metric's unit, %s: write %s", t.named, t.example)
	}
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || v > 1e12 {
		return 0, fmt.Errorf("is too large")
	}
	return v * factor, nil
}

func (t unitText) kind(name string) kind[float64] {
	k := kind[float64]{
		name: name, doc: "In the metric's unit: " + t.example + ".", pattern: t.pattern(), accepts: []shape{isString},
		parse: t.parse, show: trim,
	}
	if t.bare() {
		k.accepts = append(k.accepts, isInteger, isNumber)
	}
	return k
}

// limit is an absolute value in the metric's unit.
func limit(u gate.Unit) kind[float64] {
	k := unitOf(u).kind("limit")
	if u != gate.Ratio {
		return k
	}
	k.parse = func(text string) (float64, error) {
		v, err := unitOf(u).parse(text)
		if err == nil && v > 1 {
			return 0, fmt.Errorf("is more than 100%%")
		}
		return v, err
	}
	return k
}

// margin is a distance in the metric's unit: points for a ratio.
func margin(u gate.Unit) kind[float64] {
	if u != gate.Ratio {
		return unitOf(u).kind("margin")
	}
	return points.kind("margin")
}

var points = unitText{map[string]float64{"pp": 0.01}, []string{"pp"}, "0.5pp", "percentage points"}

// toleranceKind is a tolerance for metrics of the unit: percent of the
// baseline, points for ratios, or a difference in the metric's unit.
func toleranceKind(u gate.Unit) kind[gate.Tolerance] {
	own, kindOwn := unitOf(u), gate.Absolute
	if u == gate.Ratio {
		own, kindOwn = points, gate.Points
	}
	suffixes := []string{"%"}
	for _, s := range own.order {
		if s != "" {
			suffixes = append(suffixes, regexp.QuoteMeta(s))
		}
	}
	example := exampleTolerance(u)
	return kind[gate.Tolerance]{
		name: "tolerance", doc: "How much worse than the baseline: " + example + ".",
		pattern: `^` + number + ` ?(` + strings.Join(suffixes, "|") + `)$`, accepts: []shape{isString},
		parse: func(text string) (gate.Tolerance, error) {
			digits := leading.FindString(text)
			suffix := strings.TrimPrefix(text[len(digits):], " ")
			out := gate.Tolerance{Kind: gate.Relative}
			factor, ok := own.suffixes[suffix]
			switch {
			case digits == "" && strings.HasPrefix(text, "-"):
				return out, fmt.Errorf("must not be negative: the metric's direction says which way is worse")
			case suffix == "" && digits != "":
				return out, fmt.Errorf("has no unit: write %s", example)
			case suffix == "%" && digits != "":
				factor = 0.01
			case !ok || digits == "":
				return out, fmt.Errorf("is not a tolerance of this metric: write %s", example)
			default:
				out.Kind = kindOwn
			}
			v, err := strconv.ParseFloat(digits, 64)
			if err != nil || v <= 0 || v > 1e12 {
				return out, fmt.Errorf("must be above 0: write %s", example)
			}
			out.Value = v * factor
			if out.Kind == gate.Points && out.Value > 1 {
				return out, fmt.Errorf("is more than 100pp")
			}
			return out, nil
		},
	}
}

func exampleTolerance(u gate.Unit) string {
	switch u {
	case gate.Milliseconds:
		return "15% or 10ms"
	case gate.Ratio:
		return "15% or 0.5pp"
	case gate.PerSecond:
		return "15% or 2 req/s"
	case gate.TokensPerS:
		return "15% or 100 tokens/s"
	case gate.Tokens:
		return "15% or 10 tokens"
	case gate.MiB:
		return "15% or 100MiB"
	case gate.Factor:
		return "15% or 0.2x"
	}
	return "15%"
}

// metricHint names what somebody who wrote id may have meant.
func metricHint(id string) string {
	ids := make([]string, 0, 64)
	for _, m := range gate.Catalogue() {
		ids = append(ids, m.ID)
	}
	if q := quantileOf.FindString(strings.ToLower(id)); q != "" {
		// A latency without more is the end-to-end one.
		rest := strings.Trim(strings.Replace(strings.ToLower(id), q, "", 1), "_- ")
		if e2e := "e2e_" + q; (rest == "" || rest == "latency") && slices.Contains(ids, e2e) {
			return fmt.Sprintf("did you mean %q?", e2e)
		}
		if near := gate.Nearest(rest+"_"+q, ids); near != "" {
			return fmt.Sprintf("did you mean %q?", near)
		}
	}
	return suggest(id, ids)
}

var quantileOf = regexp.MustCompile(`p[0-9]{2,3}`)
