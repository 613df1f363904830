package loadtest

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range and precision of every Histogram: 1 µs to 1 h in three significant
// digits, so a value read back is within 0.05 % of the one recorded.
const (
	histogramLowest  = int64(1)
	histogramHighest = int64(time.Hour / time.Microsecond)
	histogramDigits  = 3
)

// Histogram counts durations in an HDR histogram of microseconds. Values out
// of range are clamped to it and counted in Clamped. The zero Histogram is
// ready for use. It is not safe for concurrent use; merge one a worker.
type Histogram struct {
	hdr     *hdrhistogram.PackedHistogram
	sum     float64 // µs, exact
	clamped int64
}

// Record counts d.
func (h *Histogram) Record(d time.Duration) {
	us := int64((d + time.Microsecond/2) / time.Microsecond)
	h.sum += float64(d) / float64(time.Microsecond)
	if us < 0 || us > histogramHighest {
		us = min(max(us, 0), histogramHighest)
		h.clamped++
	}
	if err := h.packed().RecordValue(us); err != nil {
		panic(fmt.Sprintf("record %d µs in range: %v", us, err)) // the value was clamped into range
	}
}

// Merge adds everything counted in other.
func (h *Histogram) Merge(other *Histogram) {
	if other == nil || other.hdr == nil {
		return
	}
	h.sum += other.sum
	h.clamped += other.clamped
	if dropped := h.packed().Merge(other.hdr); dropped != 0 {
		panic(fmt.Sprintf("merge histograms of one geometry: %d values dropped", dropped))
	}
}

// N is how many values were counted.
func (h *Histogram) N() int64 {
	if h == nil || h.hdr == nil {
		return 0
	}
	return h.hdr.TotalCount()
}

// Clamped is how many values lay outside the range and were counted at its edge.
func (h *Histogram) Clamped() int64 {
	if h == nil {
		return 0
	}
	return h.clamped
}

// Mean is the exact mean in milliseconds; ok is false where nothing was counted.
func (h *Histogram) Mean() (ms float64, ok bool) {
	if h.N() == 0 {
		return 0, false
	}
	return h.sum / float64(h.N()) / 1000, true
}

// AtRank returns the rank-th smallest value in milliseconds, rank counting
// from 1; ok is false where the rank lies outside 1…N. It walks the buckets
// to the rank (nearest rank) and returns the middle of the bucket found.
func (h *Histogram) AtRank(rank int64) (ms float64, ok bool) {
	if rank < 1 || rank > h.N() {
		return 0, false
	}
	var seen int64
	for value, count := range h.hdr.ForEachBucket {
		if seen += count; seen >= rank {
			return bucketMiddle(value) / 1000, true
		}
	}
	return 0, false
}

// Each calls fn for every non-empty bucket in ascending order with the
// bucket's middle in milliseconds and its count, until fn returns false.
func (h *Histogram) Each(fn func(ms float64, count int64) bool) {
	if h == nil || h.hdr == nil {
		return
	}
	for value, count := range h.hdr.ForEachBucket {
		if !fn(bucketMiddle(value)/1000, count) {
			return
		}
	}
}

// bucketMiddle is the middle of the bucket that starts at us. Three digits
// make 2048 unit buckets; from there on the width doubles with the value.
func bucketMiddle(us int64) float64 {
	if us < 2048 {
		return float64(us)
	}
	width := int64(1) << (bits.Len64(uint64(us)) - 11)
	return float64(us) + float64(width-1)/2
}

func (h *Histogram) packed() *hdrhistogram.PackedHistogram {
	if h.hdr == nil {
		h.hdr = hdrhistogram.NewPacked(histogramLowest, histogramHighest, histogramDigits)
	}
	return h.hdr
}

// histogramJSON is a Histogram's wire form. HDR is the compressed V2 encoding
// in base64, which other HDR tools read too; SumUS is exact.
type histogramJSON struct {
	Unit    string  `json:"unit"`
	N       int64   `json:"n"`
	SumUS   float64 `json:"sum_us"`
	Clamped int64   `json:"clamped,omitempty"`
	HDR     string  `json:"hdr,omitempty"`
}

// MarshalJSON writes the histogram in HDR's compressed V2 encoding.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	out := histogramJSON{Unit: "us", N: h.N(), SumUS: h.sum, Clamped: h.clamped}
	if h.N() > 0 {
		encoded, err := h.hdr.Encode()
		if err != nil {
			return nil, fmt.Errorf("encode histogram: %w", err)
		}
		out.HDR = string(encoded)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote and refuses a histogram of another
// unit, range or count than it claims.
func (h *Histogram) UnmarshalJSON(data []byte) error {
	var in histogramJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	if in.Unit != "us" {
		return fmt.Errorf("histogram unit %q: want \"us\"", in.Unit)
	}
	*h = Histogram{sum: in.SumUS, clamped: in.Clamped}
	if in.N == 0 && in.HDR == "" {
		return nil
	}
	decoded, err := hdrhistogram.DecodePacked([]byte(in.HDR))
	if err != nil {
		return fmt.Errorf("decode histogram: %w", err)
	}
	if decoded.LowestTrackableValue() != histogramLowest || decoded.HighestTrackableValue() != histogramHighest || decoded.SignificantFigures() != histogramDigits {
		return fmt.Errorf("histogram covers %d…%d µs in %d digits: want %d…%d in %d",
			decoded.LowestTrackableValue(), decoded.HighestTrackableValue(), decoded.SignificantFigures(),
			histogramLowest, histogramHighest, histogramDigits)
	}
	if n := decoded.TotalCount(); n != in.N {
		return fmt.Errorf("histogram holds %d values but says %d", n, in.N)
	}
	h.hdr = decoded
	return nil
}
