package gate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// subjectFields are what RequireSame may name.
var subjectFields = []string{"model", "model_revision", "engine", "engine_version", "image", "flags"}

// Validate refuses a policy that could not judge anything, or not what it
// seems to: no checks, unknown metrics, tolerances and limits that do not fit
// their metric. Every fault is named with where it was written.
func (p Policy) Validate() error {
	var faults []error
	if len(p.Checks) == 0 {
		faults = append(faults, errors.New("checks: the list is empty: name at least one metric, or leave the list out for the default checks"))
	}
	for _, c := range p.Checks {
		for _, fault := range c.faults() {
			where := ""
			if c.Pos != "" {
				where = c.Pos + ": "
			}
			faults = append(faults, fmt.Errorf("%scheck %s: %s", where, c.Metric, fault))
		}
	}
	switch p.FailOn {
	case "", FailOnRed, FailOnYellow, FailOnNever:
	default:
		faults = append(faults, fmt.Errorf("fail_on %q: want red, yellow or never", p.FailOn))
	}
	switch p.NotJudged {
	case "", BlockUnknown, WarnUnknown:
	default:
		faults = append(faults, fmt.Errorf("not_judged %q: want block or warn", p.NotJudged))
	}
	for _, field := range p.RequireSame {
		if !slices.Contains(subjectFields, field) && !strings.HasPrefix(field, "flags.") {
			faults = append(faults, fmt.Errorf("require_same %q: unknown field%s (known: %s, flags.NAME)", field, didYouMean(field, subjectFields), strings.Join(subjectFields, ", ")))
		}
	}
	if p.Keep < 0 {
		faults = append(faults, fmt.Errorf("keep %d: want 1 or more", p.Keep))
	}
	if p.MaxAge < 0 {
		faults = append(faults, fmt.Errorf("max_age %s: want a positive age", p.MaxAge))
	}
	return errors.Join(faults...)
}

// faults says what is wrong with a check, one sentence each.
func (c Check) faults() []string {
	m, ok := Lookup(c.Metric)
	if !ok {
		return []string{"unknown metric" + didYouMean(c.Metric, MetricIDs())}
	}
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if !c.finite() {
		add("a limit is not a finite number")
		return out
	}
	if c.Tolerance == nil && c.Max == nil && c.Min == nil && c.Veto == nil {
		add("no limit is set: want tolerance, max, min or veto")
	}
	if t := c.Tolerance; t != nil {
		switch t.Kind {
		case Relative:
			if t.Value >= 1 && m.Direction == HigherIsBetter {
				add("a tolerance of %s lets the metric fall to nothing", formatTolerance(*t, m.Unit))
			}
		case Points:
			if m.Unit != Ratio {
				add("a tolerance in points fits ratios only, %s is in %s: want a percentage or %s", m.ID, m.Unit, m.Unit)
			}
		case Absolute:
		default:
			add("unknown kind of tolerance %q", t.Kind)
		}
		if t.Value <= 0 {
			add("a tolerance must be above zero")
		}
		if m.Direction == Neither {
			add("%s has no better side, so it cannot have a tolerance", m.ID)
		}
	}
	if c.Near < 0 {
		add("near must not be negative")
	}
	if c.Near > 0 && c.Max == nil && c.Min == nil {
		add("near says how far past a target is still near: it needs max or min")
	}
	if c.Guard < 0 || c.Guard >= 1 {
		add("guard must lie in 0 … 100 %%")
	}
	if c.Guard > 0 && c.Max == nil && c.Min == nil {
		add("guard tightens a target: it needs max or min")
	}
	if c.Max != nil && c.Min != nil && guardedMin(c) > guardedMax(c) {
		add("min lies above max: nothing could pass")
	}
	if c.Scenario != "" && m.Source != "client" {
		add("%s is of all scenarios together, it cannot be judged for one", m.ID)
	}
	return append(out, c.vetoFaults(m)...)
}

// vetoFaults checks that the veto lies past the target on the worse side.
func (c Check) vetoFaults(m Metric) []string {
	switch {
	case c.Veto == nil:
		return nil
	case m.Direction == Neither:
		return []string{m.ID + " has no better side, so it cannot have a veto"}
	case m.Direction == LowerIsBetter && c.Max != nil && *c.Veto < *c.Max,
		m.Direction == HigherIsBetter && c.Min != nil && *c.Veto > *c.Min:
		return []string{fmt.Sprintf("the veto %s lies on the better side of the target", limitText(m.Unit, *c.Veto))}
	}
	return nil
}

// finite reports whether every limit is a number.
func (c Check) finite() bool {
	ok := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	okp := func(v *float64) bool { return v == nil || ok(*v) }
	return (c.Tolerance == nil || ok(c.Tolerance.Value)) && okp(c.Max) && okp(c.Min) && okp(c.Veto) && ok(c.Near) && ok(c.Guard)
}
