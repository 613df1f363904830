package loadtest

import (
	"fmt"
	"hash/fnv"
	"math"
	"time"
)

// Seconds is a length of time in a file, in seconds.
type Seconds float64

// Duration converts s.
func (s Seconds) Duration() time.Duration {
	return time.Duration(math.Round(float64(s) * float64(time.Second)))
}

// ToSeconds converts d.
func ToSeconds(d time.Duration) Seconds { return Seconds(d.Seconds()) }

// Process is how requests arrive.
type Process string

// The arrival processes. Closed is a mode of the runner, not a schedule: the
// next request of a stream starts when the last one is answered, so intended
// and actual start are equal.
const (
	Constant Process = "constant"
	Poisson  Process = "poisson"
	Closed   Process = "closed"
)

// Arrivals says how the requests of a segment arrive.
type Arrivals struct {
	Process Process `json:"process"`
	// RatePerS is the offered rate of an open loop in requests per second.
	RatePerS float64 `json:"rate_per_s,omitempty"`
	// Concurrency is the number of streams of a closed loop.
	Concurrency int `json:"concurrency,omitempty"`
}

// Describe says it in words: "12 req/s poisson", "32 streams closed loop".
func (a Arrivals) Describe() string {
	if a.Process == Closed {
		return fmt.Sprintf("%d streams closed loop", a.Concurrency)
	}
	return fmt.Sprintf("%.3g req/s %s", a.RatePerS, a.Process)
}

// SegmentKind is what a segment's figures are for.
type SegmentKind string

// The kinds of segment.
const (
	Warmup SegmentKind = "warmup" // not measured
	Judged SegmentKind = "judged" // a round of the steady stage that checks judge
	Shown  SegmentKind = "shown"  // a stair or step: shown, judged only by checks that name its stage
)

// Segment is one stage × round × arm of a plan: a stretch of load with a pacer
// of its own that ends drained.
type Segment struct {
	Stage string      `json:"stage"`
	Kind  SegmentKind `json:"kind"`
	// Round counts from 1 within the stage, of Rounds planned.
	Round  int `json:"round"`
	Rounds int `json:"rounds"`
	// Arm is the deployment under load in a live A/B, "" without one.
	Arm      string   `json:"arm,omitempty"`
	Arrivals Arrivals `json:"arrivals"`
	// Requests ends the segment after so many requests; 0 for no such bound.
	Requests int `json:"requests,omitempty"`
	// Length ends the segment after so long; 0 for no such bound. A segment
	// has at least one of the two bounds.
	Length Seconds `json:"length_s,omitempty"`
	// Pause is the cool-down before the segment starts.
	Pause Seconds `json:"pause_s,omitempty"`
}

// Seed derives the segment's seed from the run's: equal for both arms of a
// round, so that they see the same arrivals and prompts.
func (s Segment) Seed(run uint64) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d\x00%s\x00%d", run, s.Stage, s.Round)
	return h.Sum64()
}

// Label names the segment for people: "steady 2/5", "stair-3".
func (s Segment) Label() string {
	label := s.Stage
	if s.Rounds > 1 {
		label = fmt.Sprintf("%s %d/%d", s.Stage, s.Round, s.Rounds)
	}
	if s.Arm != "" {
		label += " " + s.Arm
	}
	return label
}
