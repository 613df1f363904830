package report

import (
	"slices"

	"github.com/org/llm-gate/gate"
)

func orZero(v *gate.Verdict) *gate.Verdict {
	if v == nil {
		return &gate.Verdict{}
	}
	return v
}

// prepared is the verdict as it is drawn: none is the zero one, and figures
// that are no number are missing ones, which never pass. The judge makes none
// of these; a report is the last place to catch them.
func prepared(v *gate.Verdict) *gate.Verdict {
	out := *orZero(v)
	out.Findings, out.Shown = slices.Clone(out.Findings), slices.Clone(out.Shown)
	for _, list := range [][]gate.Finding{out.Findings, out.Shown} {
		for i := range list {
			prepare(&list[i])
		}
	}
	out.Policy.Checks = slices.Clone(out.Policy.Checks)
	for i, c := range out.Policy.Checks {
		out.Policy.Checks[i] = finiteCheck(c)
	}
	return &out
}

func prepare(f *gate.Finding) {
	if f.Now.V != nil && !finite(*f.Now.V) {
		f.Now.V, f.Now.Null = nil, "not a finite number"
	}
	if f.Status == gate.Pass && (f.Now.V == nil || f.Check == nil) {
		f.Status, f.Reason = gate.Unknown, orElse(f.Reason, f.Now.Null, "there is no value")
	}
	if b := f.Baseline; b != nil && b.V != nil && !finite(*b.V) {
		f.Baseline = &gate.Value{N: b.N, Null: "not a finite number"}
	}
	if c := f.Change; c != nil {
		cleaned := *c
		for _, p := range []**float64{&cleaned.Value, &cleaned.Low, &cleaned.High} {
			if *p != nil && !finite(**p) {
				*p = nil
			}
		}
		f.Change = &cleaned
	}
	if f.Check != nil {
		c := finiteCheck(*f.Check)
		f.Check = &c
	}
}

// finiteCheck leaves out the limits that are no number.
func finiteCheck(c gate.Check) gate.Check {
	if t := c.Tolerance; t != nil && !finite(t.Value) {
		c.Tolerance = nil
	}
	for _, p := range []**float64{&c.Max, &c.Min, &c.Veto} {
		if *p != nil && !finite(**p) {
			*p = nil
		}
	}
	return c
}
