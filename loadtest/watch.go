package loadtest

import (
	"context"
	"time"
)

// pollInterval is how often gauges are read within a segment.
const pollInterval = time.Second

// watch reads the server's metrics around and within segments.
type watch struct {
	source Source
	slow   time.Duration // the source's own interval
	run    *windowBuilder
	seg    *windowBuilder
	ended  time.Time // when the last judged segment was drained
}

func newWatch(source Source) *watch {
	w := &watch{source: source}
	if source != nil {
		w.slow = Seconds(source.Describe().IntervalS).Duration()
	}
	return w
}

// sampleTimeout bounds one reading; a source that refreshes at intervals needs
// up to two of them until a scrape made after the drain shows.
func (w *watch) sampleTimeout() time.Duration { return 10*time.Second + 3*w.slow }

func (w *watch) sample(ctx context.Context, at time.Time) (Samples, error) {
	ctx, cancel := context.WithTimeout(ctx, w.sampleTimeout())
	defer cancel()
	return w.source.Sample(ctx, at)
}

// tooSlow reports whether the source refreshes too seldom for the segment.
func (w *watch) tooSlow(seg Segment) bool {
	length := seg.scheduled()
	return w.slow > 0 && length > 0 && w.slow > length/4
}

// begin opens the windows before a segment's load.
func (w *watch) begin(ctx context.Context, seg Segment) {
	if w.source == nil || seg.Kind == Warmup {
		return
	}
	opensRun := seg.Kind == Judged && w.run == nil
	if w.tooSlow(seg) && !opensRun {
		return
	}
	now := time.Now()
	first, err := w.sample(ctx, now)
	open := func() *windowBuilder {
		if err != nil {
			return failedWindow(now, err)
		}
		return newWindow(first)
	}
	if opensRun {
		w.run = open()
	}
	if !w.tooSlow(seg) {
		w.seg = open()
	}
}

// poll reads once within a segment. What fails is an event, not an end.
func (w *watch) poll(ctx context.Context, at time.Time, judged bool) {
	s, err := w.sample(ctx, at)
	if ctx.Err() != nil && err != nil {
		return // the segment ended under the reading
	}
	builders := []*windowBuilder{w.seg}
	if judged {
		builders = append(builders, w.run)
	}
	for _, b := range builders {
		switch {
		case b == nil:
		case err != nil:
			b.fail(time.Now(), err)
		default:
			b.add(s)
		}
	}
}

// end closes the segment's window after its drain; nil where there is none.
func (w *watch) end(ctx context.Context, seg Segment) *Window {
	if w.source == nil || seg.Kind == Warmup {
		return nil
	}
	w.ended = time.Now()
	if w.seg == nil {
		return nil
	}
	w.poll(ctx, w.ended, seg.Kind == Judged)
	window := w.seg.finish()
	w.seg = nil
	return window
}

// closeRun closes the window around all judged rounds; nil where none is open.
func (w *watch) closeRun(ctx context.Context) *Window {
	if w.run == nil {
		return nil
	}
	if w.run.window.To.Before(w.ended) && ctx.Err() == nil {
		w.poll(ctx, w.ended, true)
	}
	window := w.run.finish()
	w.run = nil
	return window
}
