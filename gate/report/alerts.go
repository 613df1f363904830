package report

import (
	"fmt"

	"github.com/org/llm-gate/gate"
)

// alert is what must be seen even over a green verdict. Neither text is
// escaped.
type alert struct{ label, text string }

func alerts(v *gate.Verdict) []alert {
	var out []alert
	for _, f := range v.Findings {
		if f.Suspicious {
			out = append(out, alert{"Suspicious", phrase(f) + ": better than twice the tolerance, so it does not become a baseline unasked"})
		}
		if f.StandsInFor != "" {
			out = append(out, alert{"Stands in", findingTitle(f) + " is judged in place of " + plain(f.StandsInFor, 80) + ", because the answers' lengths differ"})
		}
	}
	if s := v.Degradation; s != nil && s.Warn {
		out = append(out, alert{"Early warning", scoreText(s) + "; it is no part of the verdict"})
	}
	for _, n := range append(append([]string(nil), v.Notes...), v.Digest.Notes...) {
		out = append(out, alert{"Note", n})
	}
	return out
}

func scoreText(s *gate.Score) string {
	return fmt.Sprintf("degradation score %.1f against the %s (throughput %.1f, latency %.1f, errors %.1f; warns above %.1f)",
		s.Value, plain(orElse(s.RelativeTo, "baseline"), 40), s.Throughput, s.Latency, s.Errors, s.WarnAbove)
}
