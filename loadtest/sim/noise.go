package sim

import (
	"math"
	"time"
)

// lognormal draws factors of mean 1 around a step's time.
type lognormal struct {
	sigma  float64
	stream uint64
	n      uint64
}

func (l *lognormal) next() float64 {
	if l.sigma == 0 {
		return 1
	}
	l.n++
	// Box-Muller: two uniform draws make a normal one.
	radius := math.Sqrt(-2 * math.Log(1-unit(mix(l.stream, 2*l.n))))
	z := radius * math.Cos(2*math.Pi*unit(mix(l.stream, 2*l.n+1)))
	return math.Exp(l.sigma*z - l.sigma*l.sigma/2)
}

// stalls holds the engine up every now and then, counted in time of work, so
// that an idle engine owes none.
type stalls struct {
	every, length time.Duration
	left          time.Duration // work until the next one
	stream        uint64
	n             uint64
}

func newStalls(cfg Config) stalls {
	s := stalls{every: cfg.StallEvery, length: cfg.StallFor, stream: mix(cfg.Seed, streamStalls)}
	s.left = s.gap()
	return s
}

// gap is the work to the next stall: every ± 50 %, uniform.
func (s *stalls) gap() time.Duration {
	s.n++
	return time.Duration(float64(s.every) * (0.5 + unit(mix(s.stream, s.n))))
}

// within returns the time lost to a stall during d of work.
func (s *stalls) within(d time.Duration) time.Duration {
	if s.every == 0 || s.length == 0 {
		return 0
	}
	if s.left -= d; s.left > 0 {
		return 0
	}
	s.left = s.gap()
	return s.length
}

// acceptChance finds the chance p with which each draft must be accepted,
// given that all before it were, so that of drafts of length k the share rate
// is accepted on the whole: Σ pⁱ, i = 1…k, is rate·k.
func acceptChance(rate float64, k int) float64 {
	if rate <= 0 || k == 0 {
		return 0
	}
	if rate >= 1 {
		return 1
	}
	low, high := 0.0, 1.0
	for range 60 {
		p := (low + high) / 2
		sum, power := 0.0, 1.0
		for range k {
			power *= p
			sum += power
		}
		if sum < rate*float64(k) {
			low = p
		} else {
			high = p
		}
	}
	return (low + high) / 2
}
