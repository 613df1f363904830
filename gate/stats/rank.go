package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Rank is the nearest rank of the p-quantile of n values, ⌈p·n⌉ within 1…n; 0
// where n is not positive. A product that lies within rounding of a whole
// number is taken as that number: 0.95 · 20 is rank 19, not 20.
func Rank(p float64, n int64) int64 {
	if n <= 0 || math.IsNaN(p) {
		return 0
	}
	x := p * float64(n)
	r := math.Round(x)
	if math.Abs(x-r) > 1e-9*math.Max(1, x) {
		r = math.Ceil(x)
	}
	return min(max(int64(r), 1), n)
}

// RankBounds gives the ranks whose values bound the p-quantile of the
// population from below and from above, each at the one-sided confidence conf.
// A rank of 0 says that n values cannot bound that side. The count of values
// below the quantile is binomial(n, p): the lower rank is the largest l with
// P(B < l) ≤ 1 − conf, the upper the smallest u with P(B ≥ u) ≤ 1 − conf.
func RankBounds(p float64, n int64, conf float64) (low, high int64) {
	if n <= 0 || !(p > 0 && p < 1) || !(conf > 0 && conf < 1) {
		return 0, 0
	}
	b := distuv.Binomial{N: float64(n), P: p}
	alpha := 1 - conf
	// P(B ≤ l − 1) grows with l: find the last l that keeps it within alpha.
	low = searchLast(n, func(l int64) bool { return b.CDF(float64(l-1)) <= alpha })
	// P(B ≥ u) = 1 − P(B ≤ u − 1) falls with u.
	last := searchLast(n, func(u int64) bool { return 1-b.CDF(float64(u-1)) > alpha })
	if last < n {
		high = last + 1
	}
	return low, high
}

// searchLast is the largest i in 1…n for which ok holds, 0 for none; ok holds
// up to some i and not beyond.
func searchLast(n int64, ok func(int64) bool) int64 {
	lo, hi := int64(0), n
	for lo < hi {
		mid := hi - (hi-lo)/2
		if ok(mid) {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// SmallestSample is the least n with which the value exceeded by only
// exceedances of the sample bounds the p-quantile from above at the confidence
// conf: P(B ≤ exceedances) ≤ 1 − conf for B binomial(n, 1 − p). At 95 % it is
// 59, 93, 124 for P95 and 299, 473, 628 for P99 with 0, 1, 2 exceedances. It is
// 0 where p or conf lies outside (0, 1).
func SmallestSample(p, conf float64, exceedances int) int64 {
	if !(p > 0 && p < 1) || !(conf > 0 && conf < 1) || exceedances < 0 {
		return 0
	}
	alpha := 1 - conf
	tail := func(n int64) float64 {
		if n <= int64(exceedances) {
			return 1
		}
		return distuv.Binomial{N: float64(n), P: 1 - p}.CDF(float64(exceedances))
	}
	hi := int64(exceedances) + 1
	for tail(hi) > alpha+1e-12 {
		hi *= 2
	}
	last := searchLast(hi, func(n int64) bool { return tail(n) > alpha+1e-12 })
	return last + 1
}
