package loadtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Pacer is the schedule of an open loop.
type Pacer interface {
	// Next returns the intended start of the next request as an offset from
	// the segment's start, never less than the one before; ok is false after
	// the last. It is pure: no clock, no sleep, and one seed gives one
	// sequence.
	Next() (offset time.Duration, ok bool)
}

// pacers lists the arrival processes of an open loop. A process returns the
// gap between two starts, in units of the mean gap.
var pacers = []struct {
	process Process
	gap     func(*rand.Rand) float64
}{
	{Constant, func(*rand.Rand) float64 { return 1 }},
	{Poisson, func(rng *rand.Rand) float64 { return rng.ExpFloat64() }},
}

// NewPacer returns the schedule of an open-loop segment, bounded by its
// Requests and Length. The first request starts at 0 for Constant and after
// one gap for the others. It fails for a closed loop, an unknown process, a
// rate that is not positive, and a segment without a bound.
func NewPacer(seg Segment, seed uint64) (Pacer, error) {
	if rate := seg.Arrivals.RatePerS; !(rate > 0) || math.IsInf(rate, 0) {
		return nil, fmt.Errorf("segment %s: rate %g: want a positive number of requests per second", seg.Label(), seg.Arrivals.RatePerS)
	}
	if seg.Requests <= 0 && seg.Length <= 0 {
		return nil, fmt.Errorf("segment %s has neither a number of requests nor a length", seg.Label())
	}
	for _, p := range pacers {
		if p.process == seg.Arrivals.Process {
			return &renewal{
				rng:      newRand(seed, "arrivals"),
				gap:      p.gap,
				mean:     float64(time.Second) / seg.Arrivals.RatePerS,
				constant: p.process == Constant,
				requests: seg.Requests,
				length:   seg.Length.Duration(),
			}, nil
		}
	}
	return nil, fmt.Errorf("segment %s: arrival process %q has no schedule", seg.Label(), seg.Arrivals.Process)
}

// renewal is a renewal process: independent gaps of one distribution.
type renewal struct {
	rng      *rand.Rand
	gap      func(*rand.Rand) float64
	mean     float64 // ns
	constant bool
	requests int
	length   time.Duration

	n  int
	at float64 // ns; a float, so that rounding does not add up
}

func (p *renewal) Next() (time.Duration, bool) {
	if p.requests > 0 && p.n >= p.requests {
		return 0, false
	}
	if p.constant {
		p.at = float64(p.n) * p.mean
	} else {
		p.at += p.gap(p.rng) * p.mean
	}
	p.n++
	offset := time.Duration(p.at)
	if p.length > 0 && offset >= p.length {
		return 0, false
	}
	return offset, true
}

// newRand derives a generator for one purpose from a seed, so that a draw more
// in one place moves nothing in another.
func newRand(seed uint64, purpose string) *rand.Rand {
	return rand.New(rand.NewPCG(seed, hash64(purpose)))
}
