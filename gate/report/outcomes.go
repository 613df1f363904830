package report

import (
	"slices"

	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/loadtest"
)

// sortedOutcomes returns the outcomes of a stage in the order of reports,
// classes that this build does not know last.
func sortedOutcomes(s gate.StageFigures) []loadtest.Outcome {
	var out, unknown []loadtest.Outcome
	for _, o := range loadtest.Outcomes {
		if _, ok := s.Outcomes[o]; ok {
			out = append(out, o)
		}
	}
	for o := range s.Outcomes {
		if !slices.Contains(loadtest.Outcomes, o) {
			unknown = append(unknown, o)
		}
	}
	slices.Sort(unknown)
	return append(out, unknown...)
}
