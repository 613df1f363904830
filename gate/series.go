package gate

import (
	"fmt"
	"math"

	"github.com/org/llm-gate/loadtest"
)

// reading measures one result, each stage and scenario pooled only once.
type reading struct {
	res    *loadtest.Result
	stages map[stageKey]stageScopes
}

type stageKey struct{ stage, scenario string }

type stageScopes struct {
	pooled *scope
	rounds []*scope
}

func newReading(res *loadtest.Result) *reading {
	return &reading{res: res, stages: map[stageKey]stageScopes{}}
}

func (r *reading) scopes(stage, scenario string) stageScopes {
	key := stageKey{stage, scenario}
	s, ok := r.stages[key]
	if !ok {
		s = stageScopes{pooled: pooledScope(r.res, stage, scenario), rounds: roundScopes(r.res, stage, scenario)}
		r.stages[key] = s
	}
	return s
}

// series is one metric of one run: pooled, and round by round.
type series struct {
	pooled Value
	rounds []float64 // values of the rounds that have one, in the metric's unit
	// planned counts the rounds that ran, censored those above timeout.
	planned, censored int
	// short says how many samples the metric needs where it has fewer, else 0.
	short int64
}

func (r *reading) series(m Metric, stage, scenario string) series {
	scopes := r.scopes(stage, scenario)
	s := series{pooled: measure(m, scopes.pooled), planned: len(scopes.rounds)}
	if need := smallestSample(m); s.pooled.N < need && (s.pooled.V != nil || s.pooled.Censored != "") {
		s.short = need
	}
	if m.census {
		return s
	}
	for _, sc := range scopes.rounds {
		switch v := measure(m, sc); {
		case v.Censored != "":
			s.censored++
		case v.V != nil:
			s.rounds = append(s.rounds, *v.V)
		}
	}
	return s
}

// usable reports whether the run can stand as a baseline of the metric.
func (s series) usable() bool { return s.pooled.V != nil && s.short == 0 }

// statistics are the values that the comparison rests on: the rounds', or the
// run's own where rounds have none or one of them is censored.
func (s series) statistics() []float64 {
	if len(s.rounds) == 0 || s.censored > 0 {
		return []float64{*s.pooled.V}
	}
	return s.rounds
}

// gaps says in words which rounds have no value, "" where all have.
func (s series) gaps() string {
	switch missing := s.planned - len(s.rounds) - s.censored; {
	case s.censored > 0:
		return fmt.Sprintf("%d of %d rounds are above timeout", s.censored, s.planned)
	case len(s.rounds) > 0 && missing > 0:
		return fmt.Sprintf("%d of %d rounds have no value", missing, s.planned)
	}
	return ""
}

// axis is the scale on which the rounds of a metric are compared.
type axis struct {
	log    bool
	sigma0 float64 // prior standard deviation of a run or a round
}

// The priors of spreads on the plain scale. A ratio's spread follows that of a
// single draw, √(p(1−p)), of which it is 2 %: about one point in the middle,
// less towards 0 and 1, never under a tenth of a point. Other plain figures
// take 3 % of their size, like latencies.
const (
	ratioSigma    = 0.02
	ratioSigmaMin = 0.001
	plainSigma    = 0.03
)

// axisOf chooses the scale for the values at hand: the log scale needs positive
// ones.
func axisOf(m Metric, values ...float64) axis {
	positive, sum := true, 0.0
	for _, v := range values {
		positive = positive && v > 0
		sum += math.Abs(v)
	}
	mean := sum / math.Max(1, float64(len(values)))
	switch {
	case m.Scale == Log && positive:
		return axis{log: true, sigma0: 0.03}
	case m.Unit == Ratio:
		p := math.Min(mean, 1)
		return axis{sigma0: math.Max(ratioSigmaMin, ratioSigma*math.Sqrt(p*(1-p)))}
	}
	return axis{sigma0: plainSigma * mean}
}

func (a axis) to(v float64) float64 {
	if a.log {
		return math.Log(v)
	}
	return v
}

func (a axis) from(x float64) float64 {
	if a.log {
		return math.Exp(x)
	}
	return x
}

func (a axis) all(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = a.to(v)
	}
	return out
}

// tidy drops the digits that a way through logarithms leaves behind.
func tidy(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	scale := math.Pow(10, 11-math.Ceil(math.Log10(math.Abs(v))))
	if math.IsInf(scale, 0) || scale == 0 {
		return v
	}
	if t := math.Round(v*scale) / scale; !math.IsNaN(t) && !math.IsInf(t, 0) {
		return t
	}
	return v
}
