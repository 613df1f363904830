package stats

import (
	"testing"
	"time"
)

// Counts far beyond any run stay quick: the bounds come from closed forms and
// bisections, not from loops over the counts.
func TestHugeCounts(t *testing.T) {
	start := time.Now()
	for _, n := range []int64{1, 2, 1 << 20, 1 << 30, 1 << 40, 1 << 44} {
		for _, k := range []int64{0, 1, n / 1000, n / 2, n - 1, n} {
			t0 := time.Now()
			RateDifference(k, n, 0, 1, .95)
			RateDifference(k, n, 1, 2, .95)
			RateDifference(0, 1, k, n, .95)
			if d := time.Since(t0); d > 50*time.Millisecond {
				t.Logf("rate %d of %d: %v", k, n, d)
			}
		}
		t0 := time.Now()
		for _, p := range []float64{.5, .95, .999} {
			RankBounds(p, n, .95)
		}
		if d := time.Since(t0); d > 50*time.Millisecond {
			t.Logf("ranks of %d: %v", n, d)
		}
	}
	// Wide: a loop over the counts would take hours.
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("took %v", d)
	}
}
