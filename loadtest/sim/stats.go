package sim

import (
	"sort"
	"time"
)

// stats is everything the scheduler counts for the metrics page.
type stats struct {
	prefixQueries, prefixHits uint64 // tokens
	promptTokens, genTokens   uint64
	preemptions               uint64
	drafts, draftTokens       uint64
	acceptedPerPos            []uint64
	stopped, cut              uint64        // requests finished by stop, by length
	busy                      time.Duration // Σ step times

	ttft, interToken, e2e, queue, prefill, decode, inference, perToken, prompt, generation histogram
}

// accepted is the number of drafted tokens accepted.
func (s *stats) accepted() uint64 {
	var sum uint64
	for _, n := range s.acceptedPerPos {
		sum += n
	}
	return sum
}

// vLLM's own bucket bounds.
func newStats(specTokens int) stats {
	ttft := []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	token := []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	request := []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	count := []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000}
	return stats{
		acceptedPerPos: make([]uint64, specTokens),
		ttft:           newHistogram(ttft),
		interToken:     newHistogram(token),
		perToken:       newHistogram(token),
		e2e:            newHistogram(request),
		queue:          newHistogram(request),
		prefill:        newHistogram(request),
		decode:         newHistogram(request),
		inference:      newHistogram(request),
		prompt:         newHistogram(count),
		generation:     newHistogram(count),
	}
}

// tokens counts the n tokens that q got at now.
func (s *stats) tokens(q *sequence, n int, now time.Duration) {
	s.genTokens += uint64(n)
	if q.generated == n { // the first
		q.first = now
		s.promptTokens += uint64(len(q.prompt))
		s.ttft.observe((now - q.arrived).Seconds())
	} else {
		s.interToken.observe((now - q.last).Seconds())
	}
	q.last = now
}

// finished counts q, which got its last token at now.
func (s *stats) finished(q *sequence, now time.Duration) {
	if q.stop {
		s.stopped++
	} else {
		s.cut++
	}
	s.e2e.observe((now - q.arrived).Seconds())
	s.queue.observe((q.scheduled - q.arrived).Seconds())
	s.prefill.observe((q.first - q.scheduled).Seconds())
	s.decode.observe((now - q.first).Seconds())
	s.inference.observe((now - q.scheduled).Seconds())
	if q.generated > 1 {
		s.perToken.observe((now - q.first).Seconds() / float64(q.generated-1))
	}
	s.prompt.observe(float64(len(q.prompt)))
	s.generation.observe(float64(q.generated))
}

// histogram counts values under bounds as a Prometheus histogram does.
type histogram struct {
	bounds []float64
	counts []uint64 // not cumulative
	n      uint64
	sum    float64
}

func newHistogram(bounds []float64) histogram {
	return histogram{bounds: bounds, counts: make([]uint64, len(bounds))}
}

func (h *histogram) observe(v float64) {
	if i := sort.SearchFloat64s(h.bounds, v); i < len(h.counts) {
		h.counts[i]++
	}
	h.n++
	h.sum += v
}

// cumulative is the count at or under each bound.
func (h *histogram) cumulative() map[float64]uint64 {
	out := make(map[float64]uint64, len(h.bounds))
	var sum uint64
	for i, bound := range h.bounds {
		sum += h.counts[i]
		out[bound] = sum
	}
	return out
}
