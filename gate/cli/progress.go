package cli

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/gate/publish"
	"github.com/org/llm-gate/loadtest"
)

// progress tells where a run stands: a live line on a terminal, a plain line a
// segment elsewhere, within a group in a workflow's log.
type progress struct {
	log      *slog.Logger
	live     io.Writer // nil where there is no live line
	workflow *publish.Workflow
}

func (a *app) newProgress() *progress {
	p := &progress{log: a.log}
	if _, tty := terminal(a.env.Stderr); tty && !a.inActions() && !a.quiet && a.logFormat == "text" {
		p.live = a.env.Stderr
	}
	if a.inActions() && !a.quiet && a.logFormat == "text" {
		p.workflow = publish.NewWorkflow(a.env.Stderr, a.env.Getenv)
		if err := p.workflow.Group("load"); err != nil {
			p.log.Warn("open a group in the log", "because", err)
			p.workflow = nil
		}
	}
	return p
}

// clearLine takes the live line away.
const clearLine = "\r\033[K"

func (p *progress) tell(now loadtest.Progress) {
	if now.Done != nil {
		if p.live != nil {
			fmt.Fprint(p.live, clearLine)
		}
		p.done(now.Done)
		return
	}
	if p.live != nil {
		fmt.Fprintf(p.live, "%s%-12s %4s  %d sent, %d in flight, %d failed", clearLine, now.Segment.Label(), now.Elapsed.Round(time.Second), now.Sent, now.InFlight, now.Failed)
	}
}

// done says how a segment went.
func (p *progress) done(seg *loadtest.SegmentResult) {
	text := fmt.Sprintf("%-12s %s sent, %s failed", seg.Segment.Label(),
		gate.FormatValue(gate.Count, float64(seg.Total.Sent())), gate.FormatValue(gate.Count, float64(seg.Total.Failed())))
	if seg.Segment.Kind != loadtest.Warmup {
		text += "   TTFT P95 " + gate.FormatMeasure(gate.Milliseconds, gate.MeasureSegment(seg, "ttft_p95"))
	}
	if seg.Incomplete != "" {
		text += "   " + seg.Incomplete
	}
	p.log.Info(text, slog.Group(dataGroup, "stage", seg.Segment.Stage, "round", seg.Segment.Round,
		"sent", seg.Total.Sent(), "failed", seg.Total.Failed(), "duration_s", float64(seg.Duration)))
}

// close takes the live line away and ends the group.
func (p *progress) close() {
	if p.live != nil {
		fmt.Fprint(p.live, clearLine)
	}
	if p.workflow != nil {
		if err := p.workflow.EndGroup(); err != nil {
			p.log.Warn("close the group in the log", "because", err)
		}
	}
}
