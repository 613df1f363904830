package sim

import (
	"errors"
	"math"
	"slices"
	"time"
)

// scheduler decides what the engine computes in each step and how long that
// takes. It is a deterministic state machine: it reads no clock and starts
// nothing. begin plans a step, finish applies it; requests may be submitted
// and cancelled between and during steps. Not safe for concurrent use.
//
// It follows vLLM's rules: running sequences come first and waiting ones are
// admitted in order while the batch, the prefill budget and the pool have
// room; where a running sequence finds no block, the newest one is preempted
// and computed anew later.
type scheduler struct {
	cfg     Config
	words   vocabulary
	pool    *blockPool
	waiting []*sequence
	running []*sequence // in order of admission
	noise   lognormal
	stall   stalls
	accept  float64 // chance that a draft is accepted if those before it were
	stats   stats

	stepping bool
	end      time.Duration
	outputs  []output // reused
}

// output is what one step yielded for one sequence.
type output struct {
	seq    *sequence
	tokens int
	done   bool
}

var errTooLong = errors.New("prompt and answer exceed the context")

func newScheduler(cfg Config) *scheduler {
	return &scheduler{
		cfg:    cfg,
		words:  newVocabulary(),
		pool:   newBlockPool(cfg.KVBlocks, cfg.PrefixCache),
		noise:  lognormal{sigma: cfg.StepNoise, stream: mix(cfg.Seed, streamNoise)},
		stall:  newStalls(cfg),
		accept: acceptChance(cfg.SpecAcceptance, cfg.SpecTokens),
		stats:  newStats(cfg.SpecTokens),
	}
}

// submit queues q at now. It refuses a sequence that no empty pool could hold.
func (s *scheduler) submit(q *sequence, now time.Duration) error {
	if len(q.prompt)+q.target > s.cfg.maxContext() || len(q.prompt) == 0 || q.target < 1 {
		return errTooLong
	}
	q.arrived = now
	s.waiting = append(s.waiting, q)
	return nil
}

// cancel takes q out and frees its blocks: at once, or at the end of the step
// that is computing it. A finished sequence stays as it is.
func (s *scheduler) cancel(q *sequence) {
	if q.running {
		q.cancelled = true
		if !s.stepping {
			s.sweep()
		}
		return
	}
	if i := slices.Index(s.waiting, q); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
}

// begin plans the step that starts at now and tells when it ends; ok is false
// where there is nothing to do.
func (s *scheduler) begin(now time.Duration) (end time.Duration, ok bool) {
	if len(s.running) == 0 && len(s.waiting) == 0 {
		return 0, false
	}
	// A loop that runs late begins steps in the past: none takes in a request
	// that had not arrived yet.
	if len(s.running) == 0 {
		now = max(now, s.waiting[0].arrived)
	}
	budget := s.cfg.PrefillBudget
	decoding := 0
	preempted := false
	for i := 0; i < len(s.running); i++ {
		q := s.running[i]
		q.planned, q.drafted = 0, 0
		n, drafts := q.total()-q.computed, 0
		prefill := q.prefilling()
		if prefill {
			n = min(n, budget)
		} else {
			drafts = min(s.cfg.SpecTokens, q.target-q.generated-1)
			n += drafts
		}
		if n == 0 {
			continue // a later step's budget
		}
		for !s.grow(q, q.computed+n) {
			preempted = true
			s.preempt(s.running[len(s.running)-1])
			if !q.running {
				break
			}
		}
		if !q.running {
			break // it was the newest itself, so the last of the batch
		}
		q.planned, q.drafted = n, drafts
		if prefill {
			budget -= n
			s.publish(q, q.computed, q.computed+n)
		} else {
			decoding++
		}
	}
	for !preempted && budget > 0 && len(s.waiting) > 0 && s.waiting[0].arrived <= now && len(s.running) < s.cfg.MaxRunning {
		n := s.admit(s.waiting[0], now, budget)
		if n == 0 {
			break
		}
		budget -= n
		s.waiting[0] = nil
		s.waiting = s.waiting[1:]
	}
	s.stepping = true
	s.end = now + s.duration(decoding, s.cfg.PrefillBudget-budget)
	s.stats.busy += s.end - now
	return s.end, true
}

// duration of a step that decodes so many sequences and computes so many
// prompt tokens.
func (s *scheduler) duration(decoding, prefilled int) time.Duration {
	plain := float64(s.cfg.StepBase) + float64(s.cfg.StepPerSequence)*float64(decoding) +
		float64(s.cfg.StepPerPrefillToken)*float64(prefilled)
	d := time.Duration(math.Round(plain * s.cfg.StepFactor * s.noise.next()))
	d = max(d, time.Microsecond)
	return d + s.stall.within(d)
}

// admit starts q with at most budget prompt tokens and returns how many it
// computes; 0 where the pool has no room for them.
func (s *scheduler) admit(q *sequence, now time.Duration, budget int) int {
	size := s.cfg.BlockSize
	if s.cfg.PrefixCache {
		q.extendHashes(q.total(), size, s.words)
	}
	// The last token is always computed: it yields the next one.
	matchable := q.hashes[:min(len(q.hashes), (q.total()-1)/size)]
	found, foundFree := s.pool.match(matchable)
	cached := found * size
	n := min(q.total()-cached, budget)
	fresh := blocksFor(cached+n, size) - found
	if s.pool.free-foundFree < fresh {
		return 0
	}
	q.held = s.pool.take(s.pool.reuse(q.held[:0], matchable[:found]), fresh)
	q.computed, q.planned, q.drafted = cached, n, 0
	s.publish(q, cached, cached+n)
	q.running = true
	s.running = append(s.running, q)
	if !q.admitted {
		q.admitted = true
		q.scheduled = now
		q.hits = cached
		if s.cfg.PrefixCache {
			s.stats.prefixQueries += uint64(len(q.prompt))
			s.stats.prefixHits += uint64(cached)
		}
	}
	return n
}

// grow gives q blocks for its first tokens tokens; false where the pool lacks
// them.
func (s *scheduler) grow(q *sequence, tokens int) bool {
	need := blocksFor(tokens, s.cfg.BlockSize) - len(q.held)
	if need > s.pool.free {
		return false
	}
	q.held = s.pool.take(q.held, max(need, 0))
	return true
}

// publish makes the blocks that q's tokens from…to fill findable.
func (s *scheduler) publish(q *sequence, from, to int) {
	if !s.cfg.PrefixCache {
		return
	}
	q.extendHashes(to, s.cfg.BlockSize, s.words)
	for i := from / s.cfg.BlockSize; i < to/s.cfg.BlockSize; i++ {
		s.pool.publish(q.held[i], q.hashes[i])
	}
}

// preempt puts the newest running sequence back at the head of the queue; what
// it computed is lost except for blocks that stay in the prefix cache.
func (s *scheduler) preempt(q *sequence) {
	s.running = s.running[:len(s.running)-1]
	s.pool.release(q.held)
	q.held = q.held[:0]
	q.computed, q.planned, q.running = 0, 0, false
	s.waiting = slices.Insert(s.waiting, 0, q)
	s.stats.preemptions++
}

// finish applies the step that begin planned and returns what it yielded; the
// slice is valid until the next call.
func (s *scheduler) finish() []output {
	s.stepping = false
	s.outputs = s.outputs[:0]
	for _, q := range s.running {
		if q.planned == 0 || q.cancelled {
			continue
		}
		if out := s.advance(q); out.tokens > 0 {
			s.outputs = append(s.outputs, out)
		}
	}
	s.sweep()
	return s.outputs
}

// advance moves q past the step.
func (s *scheduler) advance(q *sequence) output {
	decoded := !q.prefilling()
	accepted := 0
	if decoded && q.drafted > 0 {
		accepted = s.verify(q)
	}
	before := q.computed
	q.computed += q.planned - q.drafted + accepted
	q.planned = 0
	if q.computed < len(q.prompt)+q.generated {
		return output{} // more chunks of the prompt to come
	}
	tokens := 1 + accepted
	q.generated += tokens
	if decoded {
		s.publish(q, before, q.computed)
	}
	s.stats.tokens(q, tokens, s.end)
	done := q.generated == q.target
	if done {
		s.stats.finished(q, s.end)
	}
	return output{seq: q, tokens: tokens, done: done}
}

// verify draws how many of q's drafted tokens hold.
func (s *scheduler) verify(q *sequence) int {
	draws := mix(mix(q.seed, streamDrafts), uint64(q.generated))
	accepted := 0
	for accepted < q.drafted && unit(mix(draws, uint64(accepted))) < s.accept {
		s.stats.acceptedPerPos[accepted]++
		accepted++
	}
	s.stats.drafts++
	s.stats.draftTokens += uint64(q.drafted)
	return accepted
}

// sweep takes finished and cancelled sequences out of the batch.
func (s *scheduler) sweep() {
	kept := s.running[:0]
	for _, q := range s.running {
		if q.generated < q.target && !q.cancelled {
			kept = append(kept, q)
			continue
		}
		q.running = false
		s.pool.release(q.held)
		q.held = nil
	}
	clear(s.running[len(kept):])
	s.running = kept
}

func blocksFor(tokens, size int) int { return (tokens + size - 1) / size }
