package loadtest

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestHistogramRanks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 19, 20, 21, 1000} {
		var h Histogram
		values := make([]float64, n)
		for i := range values {
			d := time.Duration(math.Exp(rng.NormFloat64()*2+12)) * time.Microsecond / 10
			values[i] = float64(d) / float64(time.Millisecond)
			h.Record(d)
		}
		slices.Sort(values)
		for rank := 1; rank <= n; rank++ {
			got, ok := h.AtRank(int64(rank))
			if want := values[rank-1]; !ok || math.Abs(got-want) > want*0.0006+0.0011 {
				t.Fatalf("n %d rank %d: %g ms, want %g", n, rank, got, want)
			}
		}
		for _, rank := range []int64{0, -1, int64(n) + 1} {
			if _, ok := h.AtRank(rank); ok {
				t.Errorf("n %d: rank %d has a value", n, rank)
			}
		}
	}
}

func TestHistogramClampsAndCounts(t *testing.T) {
	var h Histogram
	h.Record(-time.Second)
	h.Record(2 * time.Hour)
	h.Record(time.Second)
	if h.N() != 3 || h.Clamped() != 2 {
		t.Errorf("n %d, clamped %d, want 3 and 2", h.N(), h.Clamped())
	}
	if top, _ := h.AtRank(3); math.Abs(top-3_600_000) > 3600 {
		t.Errorf("largest %g ms, want the range's end of 3,600,000", top)
	}
}

// TestHistogramMergeEqualsRecording is the property that lets one worker keep
// a histogram of its own.
func TestHistogramMergeEqualsRecording(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var whole, merged Histogram
	parts := make([]Histogram, 5)
	for range 5000 {
		d := time.Duration(rng.ExpFloat64() * float64(80*time.Millisecond))
		whole.Record(d)
		parts[rng.IntN(len(parts))].Record(d)
	}
	for i := range parts {
		merged.Merge(&parts[i])
	}
	if whole.N() != merged.N() || math.Abs(whole.sum-merged.sum) > 1 {
		t.Fatalf("merged n %d sum %g, whole n %d sum %g", merged.N(), merged.sum, whole.N(), whole.sum)
	}
	for rank := int64(1); rank <= whole.N(); rank++ {
		a, _ := whole.AtRank(rank)
		b, _ := merged.AtRank(rank)
		if a != b {
			t.Fatalf("rank %d: merged %g, whole %g", rank, b, a)
		}
	}
}

func TestHistogramJSON(t *testing.T) {
	var h, empty, back Histogram
	for i := range 300 {
		h.Record(time.Duration(i*i) * time.Microsecond)
	}
	data, err := json.Marshal(&h)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(&back)
	if err != nil || string(again) != string(data) {
		t.Errorf("read back and written again: %s, want %s (%v)", again, data, err)
	}
	if data, err = json.Marshal(&empty); err != nil || string(data) != `{"unit":"us","n":0,"sum_us":0}` {
		t.Errorf("empty: %s %v", data, err)
	}
	for _, bad := range []string{
		`{"unit":"ms","n":0,"sum_us":0}`,
		`{"unit":"us","n":3,"sum_us":0}`,
		`{"unit":"us","n":3,"sum_us":0,"hdr":"AAAA"}`,
		`[]`,
	} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

func BenchmarkHistogramRecord(b *testing.B) {
	var h Histogram
	rng := rand.New(rand.NewPCG(1, 1))
	values := make([]time.Duration, 4096)
	for i := range values {
		values[i] = time.Duration(rng.ExpFloat64() * float64(20*time.Millisecond))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		h.Record(values[i%len(values)])
	}
}
