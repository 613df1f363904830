package loadtest

import (
	"fmt"
	"math"
	"time"
)

// Plan decides what runs next.
type Plan interface {
	// Next returns the segment to run after prev, which is nil at first; ok is
	// false when the run is over. A plan that stops early once everything is
	// decided looks at prev; it is called from one goroutine.
	Next(prev *SegmentResult) (seg Segment, ok bool)
}

// The stage names of a Spec's plan.
const (
	WarmupStage = "warmup"
	SteadyStage = "steady"
)

// MinRounds and MaxRounds bound the rounds of the judged stage.
const (
	MinRounds = 2
	MaxRounds = 10
)

// Segments lists the plan's segments in order: warm-up, judged rounds, stairs.
func (s Spec) Segments() []Segment {
	var segs []Segment
	if s.Warmup > 0 {
		segs = append(segs, Segment{
			Stage: WarmupStage, Kind: Warmup, Round: 1, Rounds: 1,
			Arrivals: Arrivals{Process: Closed, Concurrency: s.warmupStreams()}, Requests: s.Warmup,
		})
	}
	for round := 1; round <= s.Rounds; round++ {
		segs = append(segs, Segment{
			Stage: SteadyStage, Kind: Judged, Round: round, Rounds: s.Rounds,
			Arrivals: s.Arrivals, Requests: s.Requests, Length: s.Length,
		})
	}
	if st := s.Stairs; st != nil {
		for i := range st.Steps {
			segs = append(segs, Segment{
				Stage: fmt.Sprintf("stair-%d", i+1), Kind: Shown, Round: 1, Rounds: 1,
				Arrivals: Arrivals{Process: s.stairProcess(), RatePerS: st.StartPerS + float64(i)*st.StepPerS},
				Length:   st.Hold, Pause: st.CoolDown,
			})
		}
	}
	return segs
}

// warmupStreams keeps the warm-up about as busy as the judged stage: as many
// closed streams, or one for every request per second within 4…16.
func (s Spec) warmupStreams() int {
	if s.Arrivals.Process == Closed {
		return s.Arrivals.Concurrency
	}
	return min(max(int(math.Ceil(s.Arrivals.RatePerS)), 4), 16)
}

// stairProcess is the judged stage's arrival process, Poisson for a closed loop.
func (s Spec) stairProcess() Process {
	if s.Arrivals.Process == Closed {
		return Poisson
	}
	return s.Arrivals.Process
}

// Scheduled is how long the plan's schedule takes, drains and warm-up
// excepted: those depend on the server. known is false where a closed loop
// counts requests only.
func (s Spec) Scheduled() (d time.Duration, known bool) {
	known = true
	for _, seg := range s.Segments() {
		if seg.Kind == Warmup {
			continue
		}
		length := seg.scheduled()
		known = known && length > 0
		d += length + seg.Pause.Duration()
	}
	return d, known
}

// scheduled is how long the segment's schedule takes; 0 where the server
// decides.
func (s Segment) scheduled() time.Duration {
	length := s.Length.Duration()
	if s.Requests > 0 && s.Arrivals.Process != Closed {
		if byCount := time.Duration(float64(s.Requests) / s.Arrivals.RatePerS * float64(time.Second)); length == 0 || byCount < length {
			length = byCount
		}
	}
	return length
}

// Validate reports the first thing that makes the spec impossible to carry out.
func (s Spec) Validate() error {
	switch a := s.Arrivals; a.Process {
	case Closed:
		if a.Concurrency < 1 {
			return fmt.Errorf("concurrency %d: want at least 1", a.Concurrency)
		}
	case Constant, Poisson:
		if !(a.RatePerS > 0) || math.IsInf(a.RatePerS, 0) {
			return fmt.Errorf("rate %g: want a positive number of requests per second", a.RatePerS)
		}
	default:
		return fmt.Errorf("arrivals %q: want %s, %s or %s", a.Process, Constant, Poisson, Closed)
	}
	if s.Rounds < MinRounds || s.Rounds > MaxRounds {
		return fmt.Errorf("rounds %d: want %d to %d; one round alone cannot tell noise from change", s.Rounds, MinRounds, MaxRounds)
	}
	if s.Requests < 0 || s.Length < 0 || s.Warmup < 0 {
		return fmt.Errorf("requests, length and warm-up cannot be negative")
	}
	if s.Requests == 0 && s.Length == 0 {
		return fmt.Errorf("a round needs a number of requests or a length")
	}
	if s.RequestTimeout <= 0 {
		return fmt.Errorf("request timeout %gs: want a positive time", float64(s.RequestTimeout))
	}
	if st := s.Stairs; st != nil && (st.StartPerS <= 0 || st.Steps < 1 || st.Hold <= 0 || st.CoolDown < 0 || st.StartPerS+float64(st.Steps-1)*st.StepPerS <= 0) {
		return fmt.Errorf("stairs: want a positive start rate, at least one step of a positive rate, and a positive hold")
	}
	if err := s.Prompts.validate(); err != nil {
		return err
	}
	if d, known := s.Scheduled(); known && s.Budget > 0 && d > s.Budget.Duration() {
		return fmt.Errorf("the plan takes %s without drains and warm-up, more than the budget of %s: raise the budget or plan fewer or shorter rounds",
			d.Round(time.Second), s.Budget.Duration().Round(time.Second))
	}
	return nil
}

// Plan returns the sequential plan of the spec. It ends early only when the
// next segment no longer fits into the budget.
func (s Spec) Plan() Plan {
	return &sequence{segments: s.Segments(), budget: s.Budget.Duration()}
}

// sequence runs segments in order while the budget lasts.
type sequence struct {
	segments []Segment
	budget   time.Duration
	began    time.Time
}

func (p *sequence) Next(prev *SegmentResult) (Segment, bool) {
	if len(p.segments) == 0 {
		return Segment{}, false
	}
	seg := p.segments[0]
	if prev != nil {
		if p.began.IsZero() {
			p.began = prev.StartedAt
		}
		ends := prev.StartedAt.Add(prev.Duration.Duration()).Add(seg.Pause.Duration() + seg.scheduled())
		if p.budget > 0 && ends.Sub(p.began) > p.budget {
			return Segment{}, false
		}
	}
	p.segments = p.segments[1:]
	return seg, true
}
