package stats

import "math"

// AgainstRuns compares the rounds of a candidate run with the rounds of
// accepted runs (one slice a run) and returns the difference of the means,
// candidate minus history, bounded each way at the one-sided confidence conf.
// The candidate and every run need at least one value.
//
// Across time the unit is the run. What separates two runs of the same thing
// (another machine state, another day) is in the spread of the runs' means,
// and no number of requests removes it:
//
//	s² = (ν₀·σ₀² + SS of the runs' means) / (ν₀ + N − 1)
//
// With one accepted run this is the prior alone. A mean over rounds is also
// never surer than its own rounds allow: w_c and w_h are the variances of the
// mean from the spread between rounds (the plain sample variance over the number
// of rounds: shrinking it would hide noise that was seen), of the candidate and
// on average over the accepted runs. The runs' means already hold w_h, so it is
// a floor there; the candidate adds what its rounds are noisier or fewer than
// theirs:
//
//	run  = max(s², w_h)
//	var  = run·(1 + 1/N) + max(0, w_c − w_h)
//
// with the degrees of freedom of s², ν₀ + N − 1.
func AgainstRuns(candidate []float64, runs [][]float64, sigma0, conf float64) Interval {
	means := make([]float64, len(runs))
	var wh float64
	for i, r := range runs {
		means[i] = Mean(r)
		wh += varianceOfMean(r) / float64(len(runs))
	}
	s := Shrunk(means, sigma0)
	wc := varianceOfMean(candidate)
	run := math.Max(s.Variance, wh)
	variance := run*(1+1/float64(len(runs))) + math.Max(0, wc-wh)
	return around(Mean(candidate)-Mean(means), variance, s.DF, conf)
}

// varianceOfMean is the variance of the mean of x from its own spread. A
// single value tells nothing about it and claims none.
func varianceOfMean(x []float64) float64 {
	if len(x) < 2 {
		return 0
	}
	n := float64(len(x))
	return sumSquares(x) / (n - 1) / n
}
