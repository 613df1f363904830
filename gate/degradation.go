package gate

import (
	"math"
)

// normalised fills in SPEC §4's constants where none is set.
func (d Degradation) normalised() Degradation {
	design := d.DesignThroughputPerS
	if math.IsNaN(design) || math.IsInf(design, 0) || design < 0 {
		design = 0
	}
	d.DesignThroughputPerS = 0
	finite := true
	for _, v := range []float64{d.ThroughputFloor, d.ThroughputWeight, d.P99LimitMS, d.P99DivisorMS, d.ErrorFloorPercent, d.ErrorWeight, d.WarnAbove, d.RelativeP99MS} {
		finite = finite && !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	if d == (Degradation{}) || !finite {
		d = DefaultDegradation
	}
	d.DesignThroughputPerS = design
	return d
}

// degradation is the early warning beside the verdict, never part of it:
//
//	(floor − r)·weight           where r < floor
//	+ (p99 − limit) / divisor    where p99 > limit
//	+ e·weight                   where e > floor
//
// with r = achieved / design throughput, p99 = e2e_p99 in ms and e the error
// rate in percent. Without a design value it is relative to the accepted runs:
// r = achieved / their throughput, p99 rescaled so that theirs is 120 ms. nil
// where neither is there or a part is missing.
func (j *judging) degradation() *Score {
	d := j.in.Policy.Degradation
	achieved := j.figure("request_throughput")
	if peak := j.figure("peak_throughput"); d.DesignThroughputPerS > 0 && peak.now.V != nil {
		achieved = peak
	}
	p99, errors := j.figure("e2e_p99"), j.figure("error_rate")
	if achieved.now.V == nil || errors.now.V == nil {
		return nil
	}
	s := &Score{WarnAbove: d.WarnAbove, RelativeTo: "design"}
	r, scale := *achieved.now.V/d.DesignThroughputPerS, 1.0
	if d.DesignThroughputPerS <= 0 {
		if achieved.base.V == nil || *achieved.base.V <= 0 || p99.base.V == nil || *p99.base.V <= 0 {
			return nil
		}
		s.RelativeTo = "baseline"
		r, scale = *achieved.now.V / *achieved.base.V, d.RelativeP99MS / *p99.base.V
	}
	latency := p99.now.V
	if p99.now.Censored != "" {
		// No number is high enough; the errors' part speaks, and it warns.
		latency, s.Warn = p99.now.SuccessOnly, true
	} else if latency == nil {
		return nil
	}
	if r < d.ThroughputFloor {
		s.Throughput = (d.ThroughputFloor - r) * d.ThroughputWeight
	}
	if latency != nil && *latency*scale > d.P99LimitMS && d.P99DivisorMS > 0 {
		s.Latency = (*latency*scale - d.P99LimitMS) / d.P99DivisorMS
	}
	if e := *errors.now.V * 100; e > d.ErrorFloorPercent {
		s.Errors = e * d.ErrorWeight
	}
	s.Throughput, s.Latency, s.Errors = tidy(s.Throughput), tidy(s.Latency), tidy(s.Errors)
	s.Value = tidy(s.Throughput + s.Latency + s.Errors)
	if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
		return nil
	}
	s.Warn = s.Warn || s.Value > s.WarnAbove
	return s
}

// figure is a metric of the judged stage with its baseline, both pooled.
func (j *judging) figure(id string) comparison {
	m, _ := Lookup(id)
	cand, runs := j.seriesOf(m, "", "")
	return compareSeries(m, cand, runs)
}
