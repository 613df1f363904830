package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// ClopperPearson bounds the probability behind k of n, each way at the
// one-sided confidence conf, exactly: the coverage is never below conf. n must
// be positive and 0 ≤ k ≤ n.
func ClopperPearson(k, n int64, conf float64) Interval {
	alpha := 1 - conf
	out := Interval{Estimate: float64(k) / float64(n), Low: 0, High: 1}
	if k > 0 {
		out.Low = mathext.InvRegIncBeta(float64(k), float64(n-k+1), alpha)
	}
	if k < n {
		out.High = mathext.InvRegIncBeta(float64(k+1), float64(n-k), conf)
	}
	return out
}

// RateDifference bounds the difference of two rates, k1/n1 − k0/n0, each way
// at the one-sided confidence conf. It squares and adds the distances of each
// rate to its Clopper–Pearson bound (Newcombe's hybrid method with exact
// bounds in place of Wilson's): unlike a normal approximation it holds where
// errors are rare or none, it needs no search over a nuisance parameter, and
// with exact bounds it errs on the wide side.
func RateDifference(k1, n1, k0, n0 int64, conf float64) Interval {
	a, b := ClopperPearson(k1, n1, conf), ClopperPearson(k0, n0, conf)
	d := a.Estimate - b.Estimate
	return Interval{
		Estimate: d,
		Low:      math.Max(-1, d-math.Hypot(a.Estimate-a.Low, b.High-b.Estimate)),
		High:     math.Min(1, d+math.Hypot(a.High-a.Estimate, b.Estimate-b.Low)),
	}
}
