package stats

import "math"

// Sample sums up values by their count, sum and sum of squares.
type Sample struct {
	N               int64
	Sum, SumSquares float64
}

// mean and variance of the mean; the variance is never negative, though the
// sums may say so by rounding.
func (s Sample) mean() (mean, variance float64) {
	n := float64(s.N)
	mean = s.Sum / n
	if s.N < 2 {
		return mean, 0
	}
	return mean, math.Max(0, (s.SumSquares-n*mean*mean)/(n-1)) / n
}

// Equivalence is the outcome of two one-sided tests.
type Equivalence struct {
	// Equivalent is true where the ratio of the means surely lies within the
	// margin.
	Equivalent bool
	// Ratio holds the ratio of the means, a over b, less one, with its bounds.
	Ratio Interval
	// Known is false where a sample is too small or a mean is not positive.
	Known bool
}

// EquivalentMeans tests whether the mean of a lies within ±margin of the mean
// of b (a share of it) by two one-sided tests at the confidence conf, which is
// whether both one-sided bounds of the ratio lie within the margin. Welch's
// degrees of freedom; samples without variance compare exactly.
func EquivalentMeans(a, b Sample, margin, conf float64) Equivalence {
	if a.N < 2 || b.N < 2 {
		return Equivalence{}
	}
	ma, va := a.mean()
	mb, vb := b.mean()
	if !(ma > 0) || !(mb > 0) || math.IsInf(ma, 0) || math.IsInf(mb, 0) {
		return Equivalence{}
	}
	ratio := ma / mb
	// Delta method: var(ma/mb) ≈ (va + ratio²·vb) / mb².
	variance := (va + ratio*ratio*vb) / (mb * mb)
	out := Equivalence{Known: true, Ratio: Interval{Estimate: ratio - 1, Low: ratio - 1, High: ratio - 1}}
	// Below the rounding of the sums themselves there is no variance to speak of.
	if variance > 1e-18 {
		x, y := va, ratio*ratio*vb
		df := (x + y) * (x + y) / (x*x/float64(a.N-1) + y*y/float64(b.N-1))
		if !(df >= 1) { // sums that do not belong together
			return Equivalence{}
		}
		out.Ratio = around(ratio-1, variance, math.Min(df, 1e6), conf)
	}
	out.Equivalent = out.Ratio.Low >= -margin && out.Ratio.High <= margin
	return out
}
