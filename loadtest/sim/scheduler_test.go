package sim

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

// quiet is an engine without noise whose steps are easy to add up.
func quiet() Config {
	cfg := DefaultConfig()
	cfg.StepBase = 10 * time.Millisecond
	cfg.StepPerSequence = time.Millisecond
	cfg.StepPerPrefillToken = 100 * time.Microsecond
	cfg.StepNoise = 0
	return cfg
}

// prompt is n tokens that start with a prefix others may share.
func prompt(prefix string, shared, n int, own string) []token {
	var tokens []token
	for i := range n {
		name := own
		if i < shared {
			name = prefix
		}
		tokens = append(tokens, tokenOf(fmt.Sprint(name, i)))
	}
	return tokens
}

// arrival is a request of a simulated run and what became of it.
type arrival struct {
	at     time.Duration
	seq    *sequence
	tokens int
	steps  []int
	ended  time.Duration
}

// simulate runs the scheduler on a clock of its own until every arrival is
// answered, and checks that the pool is whole again.
func simulate(t *testing.T, s *scheduler, arrivals []*arrival) {
	t.Helper()
	bySeq := make(map[*sequence]*arrival)
	now, left := time.Duration(0), len(arrivals)
	pending := arrivals
	for steps := 0; left > 0; steps++ {
		if steps > 200000 {
			t.Fatal("the scheduler makes no progress")
		}
		for len(pending) > 0 && pending[0].at <= now {
			a := pending[0]
			bySeq[a.seq] = a
			if err := s.submit(a.seq, a.at); err != nil {
				t.Fatal(err)
			}
			pending = pending[1:]
		}
		end, ok := s.begin(now)
		if !ok {
			now = pending[0].at
			continue
		}
		for _, out := range s.finish() {
			a := bySeq[out.seq]
			a.tokens += out.tokens
			a.steps = append(a.steps, out.tokens)
			if out.done {
				a.ended = end
				left--
			}
		}
		now = end
	}
	for i, a := range arrivals {
		if a.tokens != a.seq.target {
			t.Errorf("request %d got %d tokens, want %d", i, a.tokens, a.seq.target)
		}
	}
	if s.pool.free != s.pool.size() {
		t.Errorf("%d of %d blocks free after the last answer", s.pool.free, s.pool.size())
	}
}

func request(cfg Config, at time.Duration, prompt []token, target int) *arrival {
	return &arrival{at: at, seq: newSequence(cfg.Seed, prompt, target, false)}
}

func TestStepTime(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		want   []time.Duration // ends of the steps of one request, 100 prompt and 3 output tokens
	}{
		{"plain", func(*Config) {}, []time.Duration{20, 31, 42}},
		{"slower", func(c *Config) { c.StepFactor = 2 }, []time.Duration{40, 62, 84}},
		{"chunked prefill", func(c *Config) { c.PrefillBudget = 60 }, []time.Duration{16, 30, 41, 52}},
		{"stall in every step", func(c *Config) { c.StallEvery, c.StallFor = time.Millisecond, time.Second }, []time.Duration{1020, 2031, 3042}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := quiet()
			test.change(&cfg)
			s := newScheduler(cfg)
			if err := s.submit(newSequence(1, prompt("", 0, 100, "a"), 3, false), 0); err != nil {
				t.Fatal(err)
			}
			var got []time.Duration
			now := time.Duration(0)
			for {
				end, ok := s.begin(now)
				if !ok {
					break
				}
				s.finish()
				got, now = append(got, end/time.Millisecond), end
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("steps end at %v ms, want %v", got, test.want)
			}
		})
	}
}

func TestPrefixCache(t *testing.T) {
	const shared, length, size = 250, 300, 16
	tests := []struct {
		name   string
		change func(*Config)
		hits   []int // tokens found by requests of groups a, a, b, a
	}{
		{"on", func(*Config) {}, []int{0, shared / size * size, 0, shared / size * size}},
		{"off", func(c *Config) { c.PrefixCache = false }, []int{0, 0, 0, 0}},
		// 20 blocks hold one request of 19: b took all of a's blocks but the
		// first, which is evicted last.
		{"evicted", func(c *Config) { c.KVBlocks = 20 }, []int{0, shared / size * size, 0, size}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := quiet()
			test.change(&cfg)
			s := newScheduler(cfg)
			var arrivals []*arrival
			for i, group := range []string{"a", "a", "b", "a"} {
				at := time.Duration(i) * time.Second
				arrivals = append(arrivals, request(cfg, at, prompt(group, shared, length, fmt.Sprint("own", i)), 2))
			}
			simulate(t, s, arrivals)
			var sum uint64
			for i, a := range arrivals {
				if a.seq.hits != test.hits[i] {
					t.Errorf("request %d found %d tokens, want %d", i, a.seq.hits, test.hits[i])
				}
				sum += uint64(test.hits[i])
			}
			queries := uint64(len(arrivals) * length)
			if !cfg.PrefixCache {
				queries = 0
			}
			if s.stats.prefixHits != sum || s.stats.prefixQueries != queries {
				t.Errorf("counted %d hits of %d, want %d of %d", s.stats.prefixHits, s.stats.prefixQueries, sum, queries)
			}
		})
	}
}

func TestSamePromptComputesLastToken(t *testing.T) {
	cfg := quiet()
	first := request(cfg, 0, prompt("p", 64, 64, ""), 1)
	again := request(cfg, time.Second, prompt("p", 64, 64, ""), 1)
	simulate(t, newScheduler(cfg), []*arrival{first, again})
	if again.seq.hits != 48 {
		t.Errorf("a prompt of 64 known tokens found %d, want 48: the last one must be computed", again.seq.hits)
	}
}

func TestLaterTurnFindsAnswer(t *testing.T) {
	cfg := quiet()
	s := newScheduler(cfg)
	first := request(cfg, 0, prompt("p", 20, 20, ""), 44)
	simulate(t, s, []*arrival{first})
	turn := slices.Clone(first.seq.prompt)
	for i := range 44 {
		turn = append(turn, first.seq.token(20+i, s.words))
	}
	second := request(cfg, 0, append(turn, prompt("", 0, 20, "more")...), 1)
	simulate(t, s, []*arrival{second})
	// 63 of the first turn's 64 tokens were computed, so 3 whole blocks.
	if second.seq.hits != 48 {
		t.Errorf("the second turn found %d tokens, want 48", second.seq.hits)
	}
}

func TestQueueGrowsPastSaturation(t *testing.T) {
	// A request takes 16 + 9·11 = 115 ms of a batch of one: 8.7 a second.
	run := func(rate float64) (first, last time.Duration, queued float64) {
		cfg := quiet()
		cfg.MaxRunning = 1
		s := newScheduler(cfg)
		var arrivals []*arrival
		for i := range 100 {
			at := time.Duration(float64(i) / rate * float64(time.Second))
			arrivals = append(arrivals, request(cfg, at, prompt("", 0, 60, fmt.Sprint(i, "-")), 10))
		}
		simulate(t, s, arrivals)
		ttft := func(a *arrival) time.Duration { return a.seq.first - a.at }
		return ttft(arrivals[0]), ttft(arrivals[99]), s.stats.queue.sum
	}
	if first, last, queued := run(4); first != last || queued != 0 {
		t.Errorf("below saturation TTFT went from %v to %v with %v s queued, want none", first, last, queued)
	}
	if first, last, _ := run(16); last < first+4*time.Second {
		t.Errorf("past saturation TTFT went from %v to %v, want seconds more", first, last)
	}
}

func TestPreemption(t *testing.T) {
	cfg := quiet()
	cfg.KVBlocks = 24
	cfg.SpecTokens = 2
	for _, cache := range []bool{true, false} {
		cfg.PrefixCache = cache
		s := newScheduler(cfg)
		var arrivals []*arrival
		for i := range 12 {
			arrivals = append(arrivals, request(cfg, 0, prompt("p", 32, 60, fmt.Sprint(i, "-")), 100+i))
		}
		simulate(t, s, arrivals)
		if s.stats.preemptions == 0 {
			t.Error("a pool for two and a half of twelve requests preempted none")
		}
		if want := uint64(12 * 60); s.stats.promptTokens != want {
			t.Errorf("counted %d prompt tokens, want %d: recomputing is no new prompt", s.stats.promptTokens, want)
		}
		if want := uint64(12*100 + 66); s.stats.genTokens != want {
			t.Errorf("counted %d tokens, want %d", s.stats.genTokens, want)
		}
		if cache && s.stats.prefixQueries != 12*60 {
			t.Errorf("counted %d queried tokens, want %d", s.stats.prefixQueries, 12*60)
		}
	}
}

func TestSpeculation(t *testing.T) {
	for _, rate := range []float64{0, 0.3, 0.7, 1} {
		cfg := quiet()
		cfg.SpecTokens, cfg.SpecAcceptance = 4, rate
		s := newScheduler(cfg)
		var arrivals []*arrival
		for i := range 50 {
			arrivals = append(arrivals, request(cfg, 0, prompt("", 0, 20, fmt.Sprint(i, "-")), 400))
		}
		simulate(t, s, arrivals)
		got := float64(s.stats.accepted()) / float64(s.stats.draftTokens)
		if math.Abs(got-rate) > 0.02 {
			t.Errorf("accepted %.3f of the drafts, want %.2f", got, rate)
		}
		for pos := 1; pos < 4; pos++ {
			if s.stats.acceptedPerPos[pos] > s.stats.acceptedPerPos[pos-1] {
				t.Errorf("position %d accepted more than the one before: %v", pos, s.stats.acceptedPerPos)
			}
		}
		if longest := slices.Max(arrivals[0].steps); rate == 1 && longest != 5 || rate == 0 && longest != 1 {
			t.Errorf("acceptance %v: the longest step yielded %d tokens", rate, longest)
		}
	}
}

func TestSeedRepeats(t *testing.T) {
	run := func(seed uint64) []time.Duration {
		cfg := DefaultConfig()
		cfg.Seed, cfg.SpecTokens = seed, 3
		cfg.StallEvery, cfg.StallFor = 100*time.Millisecond, 50*time.Millisecond
		var arrivals []*arrival
		for i := range 20 {
			arrivals = append(arrivals, request(cfg, time.Duration(i)*7*time.Millisecond, prompt("", 0, 200, fmt.Sprint(i, "-")), 50))
		}
		simulate(t, newScheduler(cfg), arrivals)
		var ends []time.Duration
		for _, a := range arrivals {
			ends = append(ends, a.ended)
		}
		return ends
	}
	if a, b := run(1), run(1); !slices.Equal(a, b) {
		t.Errorf("one seed gave two runs:\n%v\n%v", a, b)
	}
	if a, b := run(1), run(2); slices.Equal(a, b) {
		t.Error("two seeds gave the same run")
	}
}

func TestNoiseHasMeanOne(t *testing.T) {
	noise := lognormal{sigma: 0.1, stream: 7}
	var sum, squares float64
	const n = 20000
	for range n {
		x := noise.next()
		sum += x
		squares += math.Log(x) * math.Log(x)
	}
	if mean := sum / n; math.Abs(mean-1) > 0.005 {
		t.Errorf("mean %v, want 1", mean)
	}
	if sd := math.Sqrt(squares / n); math.Abs(sd-0.1) > 0.005 {
		t.Errorf("sigma %v, want 0.1", sd)
	}
}

func TestCancelFreesBlocks(t *testing.T) {
	cfg := quiet()
	cfg.MaxRunning = 1
	s := newScheduler(cfg)
	running := newSequence(1, prompt("", 0, 100, "a"), 50, false)
	waiting := newSequence(1, prompt("", 0, 100, "b"), 50, false)
	for _, q := range []*sequence{running, waiting} {
		if err := s.submit(q, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := s.begin(0); !ok {
		t.Fatal("nothing to do")
	}
	s.cancel(running) // while a step computes it
	s.cancel(waiting)
	if out := s.finish(); len(out) != 0 {
		t.Errorf("cancelled requests got %v", out)
	}
	if _, ok := s.begin(0); ok || s.pool.free != s.pool.size() {
		t.Errorf("after cancelling all: work %v, %d of %d blocks free", ok, s.pool.free, s.pool.size())
	}
}

func TestSubmitRefusesWhatCannotFit(t *testing.T) {
	cfg := quiet()
	cfg.KVBlocks = 10
	s := newScheduler(cfg)
	if err := s.submit(newSequence(1, prompt("", 0, 150, "a"), 10, false), 0); err != nil {
		t.Errorf("160 tokens in a pool of 160: %v", err)
	}
	if err := s.submit(newSequence(1, prompt("", 0, 150, "a"), 11, false), 0); err == nil {
		t.Error("161 tokens entered a pool of 160")
	}
}
