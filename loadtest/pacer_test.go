package loadtest

import (
	"math"
	"testing"
	"time"
)

func offsets(t *testing.T, seg Segment, seed uint64) []time.Duration {
	t.Helper()
	p, err := NewPacer(seg, seed)
	if err != nil {
		t.Fatal(err)
	}
	var out []time.Duration
	for {
		at, ok := p.Next()
		if !ok {
			return out
		}
		if n := len(out); n > 0 && at < out[n-1] {
			t.Fatalf("offset %d: %v after %v", n, at, out[n-1])
		}
		out = append(out, at)
	}
}

func TestConstantPacer(t *testing.T) {
	got := offsets(t, Segment{Arrivals: Arrivals{Constant, 3, 0}, Length: 2}, 1)
	want := []time.Duration{0, 333333333, 666666666, 1000000000, 1333333333, 1666666666}
	if len(got) != len(want) {
		t.Fatalf("%d starts %v, want %d", len(got), got, len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("start %d at %v, want %v", i, got[i], want[i])
		}
	}
}

func TestPacerBounds(t *testing.T) {
	seg := Segment{Arrivals: Arrivals{Constant, 100, 0}, Length: 10, Requests: 7}
	if got := offsets(t, seg, 1); len(got) != 7 {
		t.Errorf("%d starts, want the 7 requests that come before the length", len(got))
	}
	seg.Requests, seg.Length = 7, 0.03
	if got := offsets(t, seg, 1); len(got) != 3 {
		t.Errorf("%d starts, want the 3 within the length that comes before the 7 requests", len(got))
	}
}

func TestPoissonPacer(t *testing.T) {
	seg := Segment{Stage: "s", Arrivals: Arrivals{Poisson, 50, 0}, Requests: 20_000}
	got := offsets(t, seg, 7)
	var sum, squares float64
	for i := 1; i < len(got); i++ {
		gap := (got[i] - got[i-1]).Seconds()
		sum += gap
		squares += gap * gap
	}
	n := float64(len(got) - 1)
	mean := sum / n
	cv := math.Sqrt(squares/n-mean*mean) / mean
	if math.Abs(mean-0.02) > 0.0005 || math.Abs(cv-1) > 0.03 { // 3 standard errors and more
		t.Errorf("mean gap %.5f s and coefficient of variation %.3f, want 0.02 and 1", mean, cv)
	}
	again, other := offsets(t, seg, 7), offsets(t, seg, 8)
	for i := range got {
		if got[i] != again[i] {
			t.Fatalf("start %d: %v, then %v with the same seed", i, got[i], again[i])
		}
	}
	if got[0] == other[0] {
		t.Error("two seeds give the same first start")
	}
}

func TestPacerRefusals(t *testing.T) {
	for name, seg := range map[string]Segment{
		"closed":   {Arrivals: Arrivals{Closed, 1, 4}, Requests: 1},
		"unknown":  {Arrivals: Arrivals{"weekly", 1, 0}, Requests: 1},
		"zero":     {Arrivals: Arrivals{Constant, 0, 0}, Requests: 1},
		"nan":      {Arrivals: Arrivals{Constant, math.NaN(), 0}, Requests: 1},
		"infinite": {Arrivals: Arrivals{Constant, math.Inf(1), 0}, Requests: 1},
		"unbound":  {Arrivals: Arrivals{Constant, 1, 0}},
	} {
		if _, err := NewPacer(seg, 1); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
