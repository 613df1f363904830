package loadtest

import (
	"context"
	"fmt"
	"time"
)

// Runner carries out a plan against a target.
type Runner struct {
	Target   Target
	Source   Source // nil without server metrics
	Workload *Workload
	Spec     Spec
	Plan     Plan // nil for Spec.Plan()
	Seed     uint64
	Nonce    string
	// Log, where set, records every request beside the result.
	Log Recorder
	// Progress, where set, is told of each segment's start, once a second
	// within it, and its end; never concurrently. It must return quickly.
	Progress func(Progress)
}

// Progress is where a run stands.
type Progress struct {
	Segment  Segment
	Elapsed  time.Duration // since the segment's start
	Sent     int64
	InFlight int64
	Failed   int64
	// Done is the finished segment's result, nil until then.
	Done *SegmentResult
}

// interruptDrain is how long requests in flight may still finish after an
// interrupt: the runner's grace is 10 s in all, and reports come after.
const interruptDrain = 2 * time.Second

// Run carries out the plan and fills in res: segments, server windows, the
// generator's health, the slowest requests, times. When ctx ends it stops
// sending at once, drains briefly and marks res as incomplete with the cause
// of ctx; that is no error. An error means that the tool could not do its
// work; res then holds what was finished until then.
func (r *Runner) Run(ctx context.Context, res *Result) error {
	plan := r.Plan
	if plan == nil {
		plan = r.Spec.Plan()
	}
	res.Seed, res.Nonce = r.Seed, r.Nonce
	res.StartedAt = time.Now()
	defer func() { res.EndedAt = time.Now() }()
	watch := newWatch(r.Source)
	if r.Source != nil {
		info := r.Source.Describe()
		res.Source = &info
	}
	deadline := time.Time{}
	if r.Spec.Budget > 0 {
		deadline = res.StartedAt.Add(r.Spec.Budget.Duration())
	}

	var prev *SegmentResult
	var rounds, planned int
	for {
		seg, ok := plan.Next(prev)
		if !ok || seg.Kind != Judged {
			if w := watch.closeRun(ctx); w != nil {
				res.Server = w
			}
		}
		if !ok {
			break
		}
		if err := pause(ctx, seg.Pause.Duration()); err != nil {
			res.Incomplete = fmt.Sprintf("%v before %s", context.Cause(ctx), seg.Label())
			break
		}
		run := &segmentRun{runner: r, seg: seg, deadline: deadline, watch: watch}
		result, slowest, err := run.do(ctx)
		if err != nil {
			res.Incomplete = fmt.Sprintf("failed in %s: %v", seg.Label(), err)
			return fmt.Errorf("run %s: %w", seg.Label(), err)
		}
		res.Segments = append(res.Segments, *result)
		prev = &res.Segments[len(res.Segments)-1]
		if seg.Kind == Judged {
			planned = seg.Rounds
			if result.Incomplete == "" {
				rounds++
			}
			res.Slowest = topSlow(append(res.Slowest, slowest...))
			res.Generator.add(result.Generator)
		}
		if r.Progress != nil {
			r.Progress(Progress{Segment: seg, Elapsed: result.Duration.Duration(), Sent: result.Total.Sent(), Failed: result.Total.Failed(), Done: prev})
		}
		if ctx.Err() != nil {
			res.Incomplete = fmt.Sprintf("%v in %s", context.Cause(ctx), seg.Label())
			break
		}
	}
	if w := watch.closeRun(ctx); w != nil {
		res.Server = w
	}
	if res.Incomplete == "" && rounds < planned {
		note := fmt.Sprintf("the budget of %s was used up after %d of %d rounds", r.Spec.Budget.Duration(), rounds, planned)
		if rounds < MinRounds {
			res.Incomplete = note
		} else {
			res.Notes = append(res.Notes, note)
		}
	}
	if res.Incomplete == "" && rounds == 0 {
		res.Incomplete = "no judged round was run"
	}
	return nil
}

// pause waits for d or for the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
