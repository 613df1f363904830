package publish

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/org/llm-gate/gate"
)

// Outputs sets the step's outputs: verdict, blocked, reason, verdict-file,
// result, report, html, gpu-minutes and baseline.
//
// Before the load it sets "not_judged" and "blocked", so that a run that is
// killed leaves outputs on which nothing is promoted.
type Outputs struct {
	Workflow *Workflow
}

type output struct{ name, value string }

// Publish sets the outputs. All are tried.
func (o Outputs) Publish(_ context.Context, n *Notice) error {
	var outputs []output
	switch n.Phase {
	case Started:
		outputs = conclusion(nil, "the gate did not finish")
	case Done:
		outputs = append(conclusion(n.Verdict, n.Reason),
			output{"verdict-file", n.Files.Verdict},
			output{"result", n.Files.Result},
			output{"report", n.Files.Report},
			output{"html", n.Files.HTML},
			output{"gpu-minutes", gpuMinutes(n.Verdict)},
			output{"baseline", baseline(n.Verdict)},
		)
	default:
		return nil
	}
	var errs []error
	for _, out := range outputs {
		errs = append(errs, o.Workflow.output(out.name, out.value))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("publish outputs: %w", err)
	}
	return nil
}

func conclusion(v *gate.Verdict, why string) []output {
	verdict, blocked, reason := "not_judged", true, why
	if v != nil {
		verdict, blocked, reason = colour(v), v.Blocked, reasonOf(v)
		if !sound(v) {
			verdict, blocked = "not_judged", true
			reason = "the verdict contradicts its own findings"
		}
	}
	return []output{{"verdict", verdict}, {"blocked", strconv.FormatBool(blocked)}, {"reason", inertReason(reason)}}
}

// colour is the conclusion as the output tells it: a first run is yellow.
func colour(v *gate.Verdict) string {
	if v.Conclusion == gate.First {
		return gate.Yellow.String()
	}
	return v.Conclusion.String()
}

// sound reports whether a green verdict rests on findings that are green: a
// verdict read from a file is not believed to be so by its colour alone.
func sound(v *gate.Verdict) bool {
	if v.Conclusion != gate.Green {
		return true
	}
	passed := 0
	for _, f := range v.Findings {
		switch {
		case f.Status == gate.Pass:
			passed++
		case f.Status == gate.Unknown && f.Check != nil && f.Check.Origin == gate.FromProfile:
			// a profile's row that could not be measured costs no colour
		default:
			return false
		}
	}
	return passed > 0
}

// green reports whether there is a verdict and it is green on good grounds.
func green(v *gate.Verdict) bool { return v != nil && v.Conclusion == gate.Green && sound(v) }

func reasonOf(v *gate.Verdict) string {
	if v.Conclusion == gate.NotJudged && len(v.Reasons) > 0 {
		return strings.Join(v.Reasons, ", ")
	}
	if v.Headline != "" {
		return v.Headline
	}
	return strings.Join(v.Reasons, ", ")
}

// gpuMinutes is "" where the number of GPUs is unknown, never 0.
func gpuMinutes(v *gate.Verdict) string {
	if v == nil || v.Digest.GPUMinutes == nil {
		return ""
	}
	return strconv.FormatFloat(*v.Digest.GPUMinutes, 'f', 1, 64)
}

// baseline is the newest accepted run that was compared with; "" without one.
func baseline(v *gate.Verdict) string {
	if v == nil || len(v.Against.Runs) == 0 {
		return ""
	}
	return inert(v.Against.Runs[0].ID)
}
