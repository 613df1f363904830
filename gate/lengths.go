package gate

import (
	"fmt"
	"strings"

	"github.com/org/llm-gate/gate/stats"
	"github.com/org/llm-gate/loadtest"
)

// lengthMargin is how far the mean output lengths may differ for E2E latencies
// to be compared.
const lengthMargin = 0.05

// lengths is whether the answers are as long as the baseline's.
type lengths struct {
	// differ is true where E2E must not be compared.
	differ bool
	// why says it in words, for the note; "" where the lengths are equivalent.
	why string
}

// compareLengths tests the output lengths of a stage for equivalence, once.
func (j *judging) compareLengths(stage, scenario string) lengths {
	key := stageKey{stage, scenario}
	if l, ok := j.lengths[key]; ok {
		return l
	}
	l := j.testLengths(stage, scenario)
	j.lengths[key] = l
	return l
}

func (j *judging) testLengths(stage, scenario string) lengths {
	now := j.now.scopes(stage, scenario).pooled.figures.OutputTokens
	var base loadtest.Tally
	for _, r := range j.runs {
		base.Merge(r.scopes(stage, scenario).pooled.figures.OutputTokens)
	}
	if now.N == 0 && base.N == 0 {
		return lengths{why: "no usage is reported, so that the answers are equally long is not known"}
	}
	eq := stats.EquivalentMeans(sample(now), sample(base), lengthMargin, confidence)
	meanNow, _ := now.Mean()
	meanBase, _ := base.Mean()
	switch {
	case eq.Equivalent:
		return lengths{}
	case now.N == 0 || base.N == 0:
		side := "this run"
		if base.N == 0 {
			side = "the accepted runs"
		}
		return lengths{true, "the output length of " + side + " is not known"}
	case !eq.Known:
		return lengths{true, "too few answers tell their length"}
	case eq.Ratio.Estimate > lengthMargin || eq.Ratio.Estimate < -lengthMargin:
		word := "longer"
		amount := eq.Ratio.Estimate
		if amount < 0 {
			word, amount = "shorter", -amount
		}
		return lengths{true, fmt.Sprintf("answers are %.0f %% %s than the accepted runs' (mean %s → %s tokens)",
			amount*100, word, number(meanBase), number(meanNow))}
	}
	return lengths{true, fmt.Sprintf("answers are not surely as long as the accepted runs' (mean %s → %s tokens, %d answers)",
		number(meanBase), number(meanNow), now.N)}
}

func sample(t loadtest.Tally) stats.Sample {
	return stats.Sample{N: t.N, Sum: t.Sum, SumSquares: t.SumSquares}
}

// isE2E reports whether a check compares E2E latency with the baseline.
func isE2E(c Check) bool { return strings.HasPrefix(c.Metric, "e2e") && c.Tolerance != nil }

// standIns are the checks that stand in for one on E2E: TTFT and TPOT at the
// same quantile with its tolerance. The absolute limits of the check stay.
func standIns(c Check) []Check {
	suffix := c.Metric[strings.LastIndex(c.Metric, "_"):]
	ttft := "ttft"
	if strings.Contains(c.Metric, "service") {
		ttft = "ttft_service"
	}
	var out []Check
	for _, family := range []string{ttft, "tpot"} {
		s := c
		s.Metric = family + suffix
		s.Max, s.Min, s.Veto, s.Near, s.Guard = nil, nil, nil, 0, 0
		out = append(out, s)
	}
	return out
}
