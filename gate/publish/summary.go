package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// summaryLimit is what GitHub shows of one step's summary, in bytes; a longer
// one it drops as a whole.
const summaryLimit = 1024 * 1024

// Summary writes the report to the job's summary, once, when the run is done.
type Summary struct {
	Workflow *Workflow
	Render   Markdown
}

// Publish appends the report to what the step's summary already holds.
func (s Summary) Publish(_ context.Context, n *Notice) error {
	if n.Phase != Done || s.Workflow.getenv("GITHUB_STEP_SUMMARY") == "" {
		return nil
	}
	if n.Verdict == nil {
		return s.write(withoutVerdict(n.Reason))
	}
	limit := summaryLimit - int(min(s.Workflow.summarySize(), summaryLimit)) - 1 // the closing line break
	var b bytes.Buffer
	if err := s.Render(&b, n.Verdict, limit); err != nil {
		return fmt.Errorf("publish job summary: render the report: %w", err)
	}
	return s.write(cut(b.String(), limit, func(s string) int { return len(s) }))
}

func (s Summary) write(markdown string) error {
	if markdown == "" {
		return errors.New("publish job summary: no room is left in this step's summary")
	}
	if err := s.Workflow.summary(markdown); err != nil {
		return fmt.Errorf("publish job summary: %w", err)
	}
	return nil
}

// withoutVerdict is the report of a run that came to none.
func withoutVerdict(reason string) string {
	return "## ⚪ llm-gate · not judged\n\nThe run ended without a verdict: " + inertReason(reason) + "\n"
}
