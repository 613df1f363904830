package report

import (
	"math"

	"github.com/org/llm-gate/gate"
)

// interval draws a finding against its limit. Worse is always to the right.
type interval struct {
	Desc                string
	Class               string
	Limit               float64 // where the allowed part ends
	LimitText           string
	Zero                *float64 // where the baseline stands
	Low, High, Point    float64
	HasInterval         bool
	Beyond              bool // the figure lies past the right edge
	LimitAnchor, Middle string
	LimitTextX          float64
}

// intervalOf lays out a finding; nil where there is nothing to draw.
func intervalOf(f gate.Finding) *interval {
	if f.Check == nil {
		return nil
	}
	c, ch := f.Check, f.Change
	side := 1.0
	if f.Direction == gate.HigherIsBetter {
		side = -1
	}
	var limit, p float64
	low, high := f.Now.Low, f.Now.High
	var zero *float64
	switch {
	case f.Now.Censored != "":
		return beyond(f)
	case c.Tolerance != nil && c.Tolerance.Value > 0 && ch != nil && ch.Value != nil:
		limit, p, low, high = c.Tolerance.Value, side**ch.Value, ch.Low, ch.High
		zero = new(float64)
	case f.Now.V == nil:
		return nil
	case c.Max != nil:
		side, limit, p = 1, *c.Max*(1-c.Guard), *f.Now.V
	case c.Min != nil:
		side, limit, p = -1, -*c.Min*(1+c.Guard), -*f.Now.V
	case c.Veto != nil:
		limit, p = side**c.Veto, side**f.Now.V
	default:
		return nil
	}
	if !finite(limit) || !finite(p) {
		return nil
	}
	l, h, has := p, p, false
	if low != nil && high != nil && finite(*low) && finite(*high) {
		l, h, has = min(side**low, side**high), max(side**low, side**high), true
	}
	lo, hi := min(l, p), max(h, p, limit)
	if zero != nil {
		lo, hi = max(min(lo*1.15, -.6*limit), -3*limit), min(max(h*1.12, 1.7*limit), 8*limit)
	} else {
		pad := max((hi-lo)*.35, math.Abs(limit)*.05, 1e-9)
		lo, hi = lo-pad, hi+pad
	}
	at := func(v float64) float64 {
		x := 4 + (v-lo)/(hi-lo)*(intervalW-8)
		return math.Round(min(max(x, 4), intervalW-4)*10) / 10
	}
	out := &interval{Class: lookOf(f.Status).class, Limit: at(limit), Low: at(l), High: at(h), Point: at(p), HasInterval: has, Beyond: p > hi}
	if zero != nil {
		x := at(0)
		out.Zero = &x
	}
	out.label(f)
	return out
}

// beyond is the drawing of a value above the timeout.
func beyond(f gate.Finding) *interval {
	zero := 40.0
	out := &interval{Class: lookOf(f.Status).class, Limit: 110, Zero: &zero, Low: intervalW - 4, High: intervalW - 4, Point: intervalW - 8, Beyond: true}
	out.label(f)
	return out
}

func (i *interval) label(f gate.Finding) {
	i.LimitText = plain(allowedText(f), 24)
	i.LimitAnchor, i.LimitTextX = "middle", i.Limit
	switch {
	case i.Limit > intervalW-46:
		i.LimitAnchor, i.LimitTextX = "end", intervalW-2
	case i.Limit < 46:
		i.LimitAnchor, i.LimitTextX = "start", 2
	}
	i.Desc = findingTitle(f) + ": " + changeText(f) + ", allowed " + allowedText(f)
	if t := f.FormatInterval(); t != "" {
		i.Desc += ", interval " + t
	}
}
