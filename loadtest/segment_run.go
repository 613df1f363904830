package loadtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// maxInFlight bounds the requests in flight of an open loop; more are dropped
// and make the run unfit rather than this machine fall over.
const maxInFlight = 20_000

// segmentRun is one segment while it runs.
type segmentRun struct {
	runner   *Runner
	seg      Segment
	deadline time.Time // of the whole run's budget; zero for none
	watch    *watch

	rec      *segmentRecorder
	began    time.Time
	inflight context.Context // of the requests; outlives the end of sending
	wg       sync.WaitGroup
	replies  sync.Pool

	sent     atomic.Int64
	failed   atomic.Int64
	flying   atomic.Int64
	peak     atomic.Int64
	failure  atomic.Pointer[error] // the tool's own, not a request's
	stopSend context.CancelFunc
}

// do runs the segment to its drained end.
func (s *segmentRun) do(ctx context.Context) (*SegmentResult, []SlowRequest, error) {
	r := s.runner
	s.watch.begin(ctx, s.seg)
	var also []Recorder
	if r.Log != nil && s.seg.Kind != Warmup {
		also = append(also, r.Log)
	}
	s.rec = newSegmentRecorder(r.Spec.SLO, runtime.GOMAXPROCS(0), also...)
	s.replies.New = func() any { return new(Reply) }

	sending, stop := context.WithCancel(ctx)
	defer stop()
	s.stopSend = stop
	if !s.deadline.IsZero() {
		var cancel context.CancelFunc
		sending, cancel = context.WithDeadline(sending, s.deadline)
		defer cancel()
	}
	inflight, cancelInflight := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelInflight()
	s.inflight = inflight

	restore := quietHeap()
	defer restore()
	health := startHealth()
	s.began = time.Now()
	observed := s.observe(inflight)

	schedule, err := s.send(sending)
	stop()
	if err != nil {
		cancelInflight()
		s.wg.Wait()
		observed()
		return nil, nil, err
	}
	// Where the caller gave up, what is in flight gets a moment to finish.
	stopDrain := context.AfterFunc(ctx, func() {
		time.AfterFunc(interruptDrain, cancelInflight)
	})
	s.wg.Wait()
	stopDrain()
	observed()
	if failure := s.failure.Load(); failure != nil {
		return nil, nil, *failure
	}

	out := s.rec.merge()
	result := &SegmentResult{Segment: s.seg, StartedAt: s.began, Total: out.total, Scenarios: out.scenarios, PeakConcurrency: int(s.peak.Load())}
	s.sumUp(result, schedule, out)
	late := out.late
	if s.seg.Arrivals.Process == Closed {
		late = nil
	}
	result.Generator = health.finish(late)
	switch {
	case ctx.Err() != nil:
		result.Incomplete = context.Cause(ctx).Error()
	case schedule.cut:
		result.Incomplete = fmt.Sprintf("the budget of %s was used up while it ran", r.Spec.Budget.Duration())
	}
	if s.seg.Kind != Warmup {
		result.Generator.Unfit = unfit(result, r.Spec.LateLimit.Duration())
	}
	if ctx.Err() == nil {
		result.Server = s.watch.end(ctx, s.seg)
	}
	return result, out.slowest, nil
}

// schedule sums up what the pacer asked for.
type schedule struct {
	requests int64
	first    time.Duration // intended start of the first request
	span     time.Duration // from the segment's start to the schedule's end
	lastSend time.Duration // actual, of the last request
	cut      bool          // ended before the schedule did
}

// sumUp fills in rates, duration and concurrency.
func (s *segmentRun) sumUp(result *SegmentResult, sched schedule, out recorded) {
	end := out.lastAnswer
	if end.IsZero() {
		end = out.lastEnd
	}
	first := s.began.Add(sched.first)
	if end.After(first) {
		result.Duration = ToSeconds(end.Sub(first))
		result.MeanConcurrency = out.busy.Seconds() / out.lastEnd.Sub(first).Seconds()
	}
	sent := float64(s.sent.Load())
	if s.seg.Arrivals.Process == Closed {
		if result.Duration > 0 {
			result.AchievedPerS = sent / float64(result.Duration)
		}
		return
	}
	if span := sched.span.Seconds(); span > 0 {
		offered := float64(sched.requests) / span
		result.OfferedPerS = &offered
		// A late last request stretches what was really sent.
		lag := max(sched.lastSend-sched.span, 0).Seconds()
		result.AchievedPerS = sent / (span + lag)
	}
}

// send offers the segment's requests and returns when all were started (open
// loop) or answered (closed loop), or when ctx ends.
func (s *segmentRun) send(ctx context.Context) (schedule, error) {
	scenario := s.runner.Workload.Scenario(s.seg, s.runner.Seed, s.runner.Nonce)
	rng := newRand(s.seg.Seed(s.runner.Seed), "prompts")
	if s.seg.Arrivals.Process == Closed {
		return s.sendClosed(ctx, scenario, rng), nil
	}
	pacer, err := NewPacer(s.seg, s.seg.Seed(s.runner.Seed))
	if err != nil {
		return schedule{}, err
	}
	return s.sendOpen(ctx, pacer, scenario, rng), nil
}

func (s *segmentRun) sendOpen(ctx context.Context, pacer Pacer, scenario Scenario, rng *rand.Rand) (sched schedule) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var last time.Duration
	for {
		offset, ok := pacer.Next()
		if !ok {
			break
		}
		session := scenario.Session(rng)
		req, ok := session.Next(nil)
		if !ok {
			continue
		}
		intended := s.began.Add(offset)
		timer.Reset(time.Until(intended))
		select {
		case <-ctx.Done():
			sched.cut = true
		case <-timer.C:
		}
		if sched.cut {
			break
		}
		if sched.requests == 0 {
			sched.first = offset
		}
		sched.requests++
		last = offset
		sched.lastSend = time.Since(s.began)
		if s.flying.Load() >= maxInFlight {
			s.drop(req, intended)
			continue
		}
		s.depart()
		s.wg.Add(1)
		go func(worker int) {
			defer s.wg.Done()
			s.serve(worker, session, req, intended)
		}(int(sched.requests))
	}
	switch {
	case s.seg.Length > 0 && s.seg.Requests == 0 && !sched.cut:
		sched.span = s.seg.Length.Duration()
	default: // a count, or a schedule that was cut: one mean gap follows the last start
		sched.span = last + time.Duration(float64(time.Second)/s.seg.Arrivals.RatePerS)
	}
	return sched
}

// sendClosed keeps Concurrency streams busy.
func (s *segmentRun) sendClosed(ctx context.Context, scenario Scenario, rng *rand.Rand) (sched schedule) {
	if s.seg.Length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, s.began.Add(s.seg.Length.Duration()))
		defer cancel()
	}
	sessions := make(chan Session)
	for worker := range s.seg.Arrivals.Concurrency {
		s.wg.Add(1)
		go func() {
			defer s.wg.Done()
			for session := range sessions {
				if req, ok := session.Next(nil); ok {
					s.depart()
					s.serve(worker, session, req, time.Now())
				}
			}
		}()
	}
	defer close(sessions)
	for s.seg.Requests == 0 || sched.requests < int64(s.seg.Requests) {
		select {
		case <-ctx.Done():
			sched.cut = s.seg.Length == 0 || time.Since(s.began) < s.seg.Length.Duration()
			return sched
		case sessions <- scenario.Session(rng):
			sched.requests++
		}
	}
	return sched
}

// depart counts a request that is about to be sent.
func (s *segmentRun) depart() {
	s.sent.Add(1)
	flying := s.flying.Add(1)
	for {
		peak := s.peak.Load()
		if flying <= peak || s.peak.CompareAndSwap(peak, flying) {
			return
		}
	}
}

// serve runs one session to its end.
func (s *segmentRun) serve(worker int, session Session, req *Request, intended time.Time) {
	reply := s.replies.Get().(*Reply)
	defer s.replies.Put(reply)
	for {
		ctx, cancel := context.WithDeadline(s.inflight, intended.Add(s.runner.Spec.RequestTimeout.Duration()))
		err := s.runner.Target.Do(ctx, req, reply)
		cancel()
		s.flying.Add(-1)
		if err != nil {
			s.failure.CompareAndSwap(nil, &err)
			s.stopSend()
			return
		}
		if reply.Outcome.Failed() {
			s.failed.Add(1)
		}
		s.rec.record(worker, &Observation{Segment: &s.seg, Began: s.began, Request: req, Reply: reply, Intended: intended})
		var more bool
		if req, more = session.Next(reply); !more || s.inflight.Err() != nil {
			return
		}
		intended = time.Now()
		s.depart()
	}
}

// drop records a request that was never sent.
func (s *segmentRun) drop(req *Request, intended time.Time) {
	reply := &Reply{Answer: -1, Outcome: Dropped, Detail: fmt.Sprintf("%d requests were in flight already", maxInFlight)}
	s.rec.record(0, &Observation{Segment: &s.seg, Began: s.began, Request: req, Reply: reply, Intended: intended})
}

// observe polls the server's metrics and tells progress until the returned
// function is called, which waits for the last poll to end.
func (s *segmentRun) observe(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	if s.watch.seg != nil || s.watch.run != nil {
		wg.Go(func() {
			every(ctx, pollInterval, func() { s.watch.poll(ctx, time.Time{}, s.seg.Kind == Judged) })
		})
	}
	if tell := s.runner.Progress; tell != nil {
		tell(Progress{Segment: s.seg})
		wg.Go(func() {
			every(ctx, time.Second, func() {
				tell(Progress{Segment: s.seg, Elapsed: time.Since(s.began), Sent: s.sent.Load(), InFlight: s.flying.Load(), Failed: s.failed.Load()})
			})
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// every calls do at an interval until ctx ends.
func every(ctx context.Context, interval time.Duration, do func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			do()
		}
	}
}
