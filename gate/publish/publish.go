package publish

import (
	"context"
	"errors"
	"io"

	"github.com/org/llm-gate/gate"
)

// Phase says how far the run is.
type Phase int

// The phases. Started is published once before the load, Progress any number
// of times, Done once at the end, also of an interrupted run.
const (
	Started Phase = iota + 1
	Progress
	Done
)

// String is the phase's name in logs.
func (p Phase) String() string {
	switch p {
	case Started:
		return "started"
	case Progress:
		return "progress"
	case Done:
		return "done"
	}
	return "unknown phase"
}

// Notice is what there is to publish.
type Notice struct {
	Phase Phase
	// Verdict is nil before Done. At Done nil means that the run ended without
	// one: that is published as not judged and blocked, never as nothing.
	Verdict *gate.Verdict
	// Reason says in words why there is no verdict; "" with a verdict.
	Reason string
	// Files says where the run's files lie; "" for one that was not written.
	Files Files
}

// Files are the paths of what a run wrote.
type Files struct {
	Verdict string // verdict.json
	Result  string // result.json
	Report  string // the Markdown report
	HTML    string // the self-contained HTML report
}

// Publisher shows a notice in one place.
//
// Publish is idempotent: the same notice twice leaves the place as once. It
// ignores phases that it has nothing to show for, gives up when ctx ends,
// never changes the notice or what it points to, and returns an error that
// names the place and holds no secret. It need not be safe for concurrent use.
type Publisher interface {
	Publish(ctx context.Context, n *Notice) error
}

// Markdown renders a verdict within limit characters by dropping detail from
// the end, never the verdict. It has the same output for the same verdict.
type Markdown func(w io.Writer, v *gate.Verdict, limit int) error

// All publishes to every publisher in order. The first failure does not stop
// the rest: all are tried and what failed is joined.
func All(publishers ...Publisher) Publisher { return all(publishers) }

type all []Publisher

func (a all) Publish(ctx context.Context, n *Notice) error {
	var errs []error
	for _, p := range a {
		if err := p.Publish(ctx, n); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
