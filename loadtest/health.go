package loadtest

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
)

// gcBudget is how much heap a measured segment may use before a collection is
// forced in it. Between segments the heap is collected.
const gcBudget = 256 << 20

// The limits past which the generator is unfit to be judged by (SPEC §3).
const (
	lateFloor       = 10 * time.Millisecond
	lateShareOfTTFT = 0.05
	achievedFloor   = 0.95
	// clientShare is how many requests this machine may fail to send before
	// the rest no longer stands for the load that was planned.
	clientShare = 0.01
)

// quietHeap collects garbage and then turns collection off within the budget
// until the returned function restores what was.
func quietHeap() (restore func()) {
	runtime.GC()
	percent := debug.SetGCPercent(-1)
	limit := debug.SetMemoryLimit(gcBudget)
	return func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}
}

// healthMeter measures the generator over one segment.
type healthMeter struct {
	began time.Time
	cpu   time.Duration
	gcs   uint32
	heap  uint64
}

func startHealth() *healthMeter {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return &healthMeter{began: time.Now(), cpu: processCPU(), gcs: m.NumGC, heap: m.HeapAlloc}
}

// finish sums up: late is the histogram of late sends, nil in a closed loop.
func (h *healthMeter) finish(late *Histogram) Health {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	out := Health{GCs: m.NumGC - h.gcs, HeapPeakMiB: float64(max(m.HeapAlloc, h.heap)) / (1 << 20)}
	for i := range min(out.GCs, uint32(len(m.PauseNs))) {
		pause := m.PauseNs[(m.NumGC-1-i)%uint32(len(m.PauseNs))]
		out.GCPauseMaxMS = max(out.GCPauseMaxMS, float64(pause)/1e6)
	}
	if wall := time.Since(h.began); wall > 0 {
		out.CPURatio = float64(processCPU()-h.cpu) / float64(wall) / float64(runtime.NumCPU())
	}
	if late != nil {
		out.LateP50MS = lateQuantile(late, 0.50)
		out.LateP99MS = lateQuantile(late, 0.99)
		out.LateMaxMS = lateQuantile(late, 1)
	}
	return out
}

// lateQuantile is the nearest-rank quantile; null without sends.
func lateQuantile(h *Histogram, p float64) *float64 {
	ms, ok := h.AtRank(int64(math.Ceil(p * float64(h.N()))))
	return known(ms, ok)
}

func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// add takes in the health of another segment: the worst of each.
func (h *Health) add(o Health) {
	h.LateP50MS = worst(h.LateP50MS, o.LateP50MS)
	h.LateP99MS = worst(h.LateP99MS, o.LateP99MS)
	h.LateMaxMS = worst(h.LateMaxMS, o.LateMaxMS)
	h.GCs += o.GCs
	h.GCPauseMaxMS = max(h.GCPauseMaxMS, o.GCPauseMaxMS)
	h.CPURatio = max(h.CPURatio, o.CPURatio)
	h.HeapPeakMiB = max(h.HeapPeakMiB, o.HeapPeakMiB)
	if h.Unfit == "" {
		h.Unfit = o.Unfit
	}
}

func worst(a, b *float64) *float64 {
	if a == nil || (b != nil && *b > *a) {
		return b
	}
	return a
}

// unfit says why a segment's figures must not be judged, "" where they may be.
// limit replaces the limit on late sends where it is not 0.
func unfit(seg *SegmentResult, limit time.Duration) string {
	f := seg.Total
	mine := f.Outcomes[Client] + f.Outcomes[Dropped]
	if all := f.Sent() + mine; mine > 0 && float64(mine) > clientShare*float64(all) {
		return fmt.Sprintf("%s: this machine failed to send %d of %d requests%s", seg.Segment.Label(), mine, all, firstDetail(f, Client, Dropped))
	}
	if seg.Segment.Arrivals.Process == Closed {
		return ""
	}
	if late := seg.Generator.LateP99MS; late != nil {
		if limit == 0 {
			limit = lateFloor
			if ms, ok := f.TTFT.AtRank((f.TTFT.N() + 1) / 2); ok {
				limit = max(limit, time.Duration(lateShareOfTTFT*ms*float64(time.Millisecond)))
			}
		}
		if *late > milliseconds(limit) {
			return fmt.Sprintf("%s: sends were late by %.1f ms at P99, more than the %.1f ms allowed: the load generator's machine is too busy", seg.Segment.Label(), *late, milliseconds(limit))
		}
	}
	if offered := seg.OfferedPerS; offered != nil && seg.AchievedPerS < achievedFloor*(*offered) && seg.Incomplete == "" {
		return fmt.Sprintf("%s: %.3g of the %.3g req/s offered were sent: the load generator's machine is too busy", seg.Segment.Label(), seg.AchievedPerS, *offered)
	}
	return ""
}

func firstDetail(f *Figures, outcomes ...Outcome) string {
	for _, o := range outcomes {
		if details := f.Errors[o]; len(details) > 0 {
			return " (" + details[0] + ")"
		}
	}
	return ""
}
