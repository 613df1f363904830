package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// The prior of a spread: as if Nu0 further values had been seen with the
// standard deviation Sigma0 (3 % on the log scale). Few values alone tell
// almost nothing about a spread; without a prior two equal rounds would claim
// certainty.
const (
	Nu0    = 5.0
	Sigma0 = 0.03
)

// Spread is a variance with the degrees of freedom it is worth.
type Spread struct {
	Variance float64
	DF       float64
}

// Shrunk estimates the variance of the values x, shrunk towards a prior
// standard deviation: s² = (ν₀·σ₀² + SS) / (ν₀ + n − 1), worth ν₀ + n − 1
// degrees of freedom. Without values the prior alone speaks, with ν₀ degrees.
func Shrunk(x []float64, sigma0 float64) Spread {
	n := float64(len(x))
	df := Nu0 + math.Max(n-1, 0)
	return Spread{Variance: (Nu0*sigma0*sigma0 + sumSquares(x)) / df, DF: df}
}

// Mean is the mean of x; NaN where x is empty.
func Mean(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// sumSquares is the sum of squared differences from the mean.
func sumSquares(x []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	m := Mean(x)
	var ss float64
	for _, v := range x {
		ss += (v - m) * (v - m)
	}
	return ss
}

// TQuantile is the value that Student's t with df degrees of freedom stays
// below with probability p.
func TQuantile(p, df float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(p)
}

// Interval is an estimate with its one-sided bounds each way.
type Interval struct {
	Estimate, Low, High float64
}

// around is the interval of an estimate with the given variance.
func around(estimate, variance, df, conf float64) Interval {
	half := TQuantile(conf, df) * math.Sqrt(variance)
	return Interval{Estimate: estimate, Low: estimate - half, High: estimate + half}
}

// MeanInterval bounds the mean of x, one value a round, each way at the
// one-sided confidence conf, with the spread shrunk towards sigma0. x must not
// be empty.
func MeanInterval(x []float64, sigma0, conf float64) Interval {
	s := Shrunk(x, sigma0)
	return around(Mean(x), s.Variance/float64(len(x)), s.DF, conf)
}
