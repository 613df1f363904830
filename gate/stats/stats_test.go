package stats

import (
	"math"
	"math/rand/v2"
	"sort"
	"testing"
)

func close(a, b, within float64) bool { return math.Abs(a-b) <= within }

func TestRank(t *testing.T) {
	for _, tt := range []struct {
		p    float64
		n    int64
		want int64
	}{
		{.95, 20, 19}, {.95, 100, 95}, {.95, 21, 20}, {.99, 100, 99}, {.99, 40, 40},
		{.999, 1000, 999}, {.5, 1, 1}, {.5, 2, 1}, {.5, 3, 2}, {.07, 100, 7}, {.29, 100, 29},
		{0, 10, 1}, {1, 10, 10}, {.95, 0, 0}, {.95, -3, 0}, {.95, 8_000_000_000, 7_600_000_000},
	} {
		if got := Rank(tt.p, tt.n); got != tt.want {
			t.Errorf("Rank(%v, %d) = %d, want %d", tt.p, tt.n, got, tt.want)
		}
	}
}

// Rank agrees with exact arithmetic on every p of whole percents.
func TestRankExact(t *testing.T) {
	for c := int64(1); c <= 100; c++ {
		for n := int64(1); n <= 2000; n++ {
			want := (c*n + 99) / 100
			if got := Rank(float64(c)/100, n); got != want {
				t.Fatalf("Rank(%d %%, %d) = %d, want %d", c, n, got, want)
			}
		}
	}
}

func TestSmallestSample(t *testing.T) {
	for _, tt := range []struct {
		p    float64
		want [3]int64
	}{
		{.95, [3]int64{59, 93, 124}},
		{.99, [3]int64{299, 473, 628}},
		{.50, [3]int64{5, 8, 11}},
		{.90, [3]int64{29, 46, 61}},
	} {
		for k, want := range tt.want {
			if got := SmallestSample(tt.p, .95, k); got != want {
				t.Errorf("SmallestSample(%v, %d exceedances) = %d, want %d", tt.p, k, got, want)
			}
		}
	}
	if got := SmallestSample(1, .95, 0); got != 0 {
		t.Errorf("SmallestSample(1) = %d, want 0", got)
	}
}

func TestRankBounds(t *testing.T) {
	// 58 values cannot bound P95 from above at 95 %, 59 can by their largest.
	if _, high := RankBounds(.95, 58, .95); high != 0 {
		t.Errorf("upper rank of 58 = %d, want none", high)
	}
	if _, high := RankBounds(.95, 59, .95); high != 59 {
		t.Errorf("upper rank of 59 = %d, want 59", high)
	}
	low, high := RankBounds(.5, 100, .975)
	if low != 40 || high != 61 {
		t.Errorf("median of 100 at 95 %% two-sided: ranks %d…%d, want 40…61", low, high)
	}
}

// The bounds cover the true quantile as often as they say.
func TestRankBoundsCover(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n, trials = 300, 2000
	low, high := RankBounds(.95, n, .95)
	var below, above int
	x := make([]float64, n)
	for range trials {
		for i := range x {
			x[i] = rng.Float64()
		}
		sort.Float64s(x)
		if x[low-1] > .95 {
			below++
		}
		if x[high-1] < .95 {
			above++
		}
	}
	if limit := int(trials * .065); below > limit || above > limit {
		t.Errorf("missed %d below and %d above of %d: want at most %d", below, above, trials, limit)
	}
}

func TestTQuantile(t *testing.T) {
	for _, tt := range []struct{ df, want float64 }{{5, 2.0150}, {9, 1.8331}, {4, 2.1318}, {1e6, 1.6449}} {
		if got := TQuantile(.95, tt.df); !close(got, tt.want, 1e-4) {
			t.Errorf("TQuantile(0.95, %v) = %v, want %v", tt.df, got, tt.want)
		}
	}
}

func TestShrunk(t *testing.T) {
	// Two values 0.1 apart: SS = 0.005; (5·0.0009 + 0.005)/6.
	got := Shrunk([]float64{1, 1.1}, Sigma0)
	if !close(got.Variance, (5*.0009+.005)/6, 1e-12) || got.DF != 6 {
		t.Errorf("Shrunk = %+v", got)
	}
	if got := Shrunk([]float64{1}, Sigma0); !close(got.Variance, .0009, 1e-12) || got.DF != 5 {
		t.Errorf("Shrunk of one value = %+v, want the prior", got)
	}
}

func TestAgainstOneRun(t *testing.T) {
	same := []float64{5, 5, 5, 5, 5}
	got := AgainstRuns(same, [][]float64{same}, Sigma0, .95)
	if half := 2.0150 * .03 * math.Sqrt2; !close(got.High, half, 1e-5) || !close(got.Low, -half, 1e-5) {
		t.Errorf("one run: %+v, want ±%v from the prior alone", got, half)
	}
}

// Noisy rounds widen the interval even where the runs' means agree.
func TestAgainstRunsNoisyRounds(t *testing.T) {
	calm := []float64{5, 5.01, 4.99, 5, 5}
	noisy := []float64{4, 6, 5, 4.5, 5.5}
	a := AgainstRuns(calm, [][]float64{calm, calm, calm}, Sigma0, .95)
	b := AgainstRuns(noisy, [][]float64{calm, calm, calm}, Sigma0, .95)
	c := AgainstRuns(noisy, [][]float64{noisy}, Sigma0, .95)
	if !(b.High-b.Low > 3*(a.High-a.Low)) || !(c.High-c.Low > 3*(a.High-a.Low)) {
		t.Errorf("widths calm %v, noisy candidate %v, noisy both %v", a.High-a.Low, b.High-b.Low, c.High-c.Low)
	}
}

// The interval misses the true difference about as often as it says, at run
// spreads at and above the prior.
func TestAgainstRunsCovers(t *testing.T) {
	for _, tt := range []struct {
		name       string
		run, round float64
		n          int
	}{
		{"run spread 3 %", .03, .01, 5},
		{"noisy rounds, one baseline", .03, .15, 1},
		{"noisy rounds", .03, .10, 5},
	} {
		rng := rand.New(rand.NewPCG(3, 4))
		draw := func() []float64 {
			shift := rng.NormFloat64() * tt.run
			out := make([]float64, 5)
			for i := range out {
				out[i] = 5 + shift + rng.NormFloat64()*tt.round
			}
			return out
		}
		const trials = 3000
		var missed int
		for range trials {
			runs := make([][]float64, tt.n)
			for i := range runs {
				runs[i] = draw()
			}
			if AgainstRuns(draw(), runs, Sigma0, .95).Low > 0 {
				missed++
			}
		}
		if share := float64(missed) / trials; share > .065 {
			t.Errorf("%s: missed %.3f, want about 0.05 at most", tt.name, share)
		}
	}
}

func TestClopperPearson(t *testing.T) {
	got := ClopperPearson(0, 598, .95)
	if got.Low != 0 || !close(got.High, 1-math.Pow(.05, 1./598), 1e-9) {
		t.Errorf("0 of 598: %+v", got)
	}
	got = ClopperPearson(10, 10, .95)
	if got.High != 1 || !close(got.Low, math.Pow(.05, .1), 1e-9) {
		t.Errorf("10 of 10: %+v", got)
	}
	got = ClopperPearson(5, 100, .975) // tabulated: 1.643 % … 11.284 %
	if !close(got.Low, .016432, 1e-5) || !close(got.High, .112835, 1e-5) {
		t.Errorf("5 of 100: %+v", got)
	}
}

func TestRateDifference(t *testing.T) {
	got := RateDifference(40, 20000, 0, 20000, .95)
	if !close(got.Estimate, .002, 1e-12) || got.High > .005 || got.Low < .001 {
		t.Errorf("0 to 0.2 %%: %+v", got)
	}
	if got := RateDifference(0, 700, 0, 700, .95); got.Estimate != 0 || got.High > .005 {
		t.Errorf("0 to 0 of 700: %+v, want within 0.5 points", got)
	}
}

func TestRateDifferenceCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const trials, n = 2000, 400
	for _, p := range []float64{.002, .05, .3} {
		var low, high int
		for range trials {
			var k1, k0 int64
			for range n {
				if rng.Float64() < p {
					k1++
				}
				if rng.Float64() < p {
					k0++
				}
			}
			iv := RateDifference(k1, n, k0, n, .95)
			if iv.Low > 0 {
				low++
			}
			if iv.High < 0 {
				high++
			}
		}
		if limit := int(trials * .06); low > limit || high > limit {
			t.Errorf("p = %v: missed %d and %d of %d", p, low, high, trials)
		}
	}
}

func TestEquivalentMeans(t *testing.T) {
	exact := func(n int64, v float64) Sample {
		return Sample{N: n, Sum: float64(n) * v, SumSquares: float64(n) * v * v}
	}
	spread := func(n int64, m, sd float64) Sample {
		return Sample{N: n, Sum: float64(n) * m, SumSquares: float64(n)*m*m + float64(n-1)*sd*sd}
	}
	for _, tt := range []struct {
		name              string
		a, b              Sample
		known, equivalent bool
	}{
		{"exact and equal", exact(100, 128), exact(500, 128), true, true},
		{"exact, 4 % longer", exact(100, 133), exact(100, 128), true, true},
		{"exact, 6 % longer", exact(100, 136), exact(100, 128), true, false},
		{"half as long", spread(6400, 64, 20), spread(6400, 128, 20), true, false},
		{"equal with spread", spread(700, 128, 32), spread(700, 128, 32), true, true},
		{"too few to tell", spread(20, 128, 64), spread(20, 128, 64), true, false},
		{"no usage", Sample{}, exact(100, 128), false, false},
		{"zero tokens", exact(100, 0), exact(100, 0), false, false},
	} {
		got := EquivalentMeans(tt.a, tt.b, .05, .95)
		if got.Known != tt.known || got.Equivalent != tt.equivalent {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}
