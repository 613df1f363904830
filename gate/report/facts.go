package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/loadtest"
)

// changed names each difference of the subject: "vLLM 0.11.0 → 0.12.0".
func changed(v *gate.Verdict) []string {
	var out []string
	for _, d := range v.Changed {
		out = append(out, difference(v, d))
	}
	return out
}

func difference(v *gate.Verdict, d gate.Difference) string {
	name := fieldName(d.Field)
	if d.Field == "engine_version" && v.Subject.Engine != "" {
		name = v.Subject.Engine
	}
	return name + " " + orElse(shortDigest(d.Baseline), "none") + " → " + orElse(shortDigest(d.Now), "none")
}

// fieldName puts a field's name into words: "flags.block_size" is "block size".
func fieldName(field string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(field, "flags."), "subject.")
	name = strings.ReplaceAll(strings.ReplaceAll(name, "_", " "), "gpu", "GPU")
	return orElse(name, "a field without a name")
}

// unchanged names what was equal on both sides: "model, 1×H100, workload".
func unchanged(v *gate.Verdict) []string {
	if len(v.Against.Runs) == 0 || len(v.Differing) > 0 {
		return nil
	}
	has := func(field string) bool {
		return slices.ContainsFunc(v.Changed, func(d gate.Difference) bool { return d.Field == field })
	}
	var out []string
	if v.Subject.Model != "" && !has("model") && !has("model_revision") {
		out = append(out, "model")
	}
	if gpu := gpuText(v); gpu != "" {
		out = append(out, gpu)
	}
	if v.Conditions.Workload != "" {
		out = append(out, "workload")
	}
	return out
}

func gpuText(v *gate.Verdict) string {
	model := v.Conditions.GPUModel
	switch {
	case model == "" || model == "unknown":
		return ""
	case v.Conditions.GPUCount > 0:
		return fmt.Sprintf("%d×%s", v.Conditions.GPUCount, model)
	}
	return model
}

// engineText is the engine with its version, "" where nothing tells.
func engineText(v *gate.Verdict) string {
	return strings.TrimSpace(v.Subject.Engine + " " + v.Subject.EngineVersion)
}

// ago says how long before the run t was: "2 days old". It measures from the
// verdict's own start, so that a report of an old verdict stays the same.
func ago(v *gate.Verdict, t time.Time) string {
	if t.IsZero() || v.StartedAt.IsZero() || t.After(v.StartedAt) {
		return ""
	}
	d := v.StartedAt.Sub(t)
	switch {
	case d < 2*time.Minute:
		return "just recorded"
	case d < 2*time.Hour:
		return fmt.Sprintf("%d minutes old", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d hours old", int(d.Hours()))
	}
	return fmt.Sprintf("%d days old", int(d.Hours()/24))
}

func shortCommit(commit string) string {
	if len(commit) >= 40 && !strings.ContainsFunc(commit, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) }) {
		return commit[:7]
	}
	return commit
}

// shortDigest cuts an image's digest to what people compare by eye.
func shortDigest(image string) string {
	name, hash, ok := strings.Cut(image, "sha256:")
	if !ok || len(hash) <= 12 {
		return image
	}
	return name + "sha256:" + hash[:4] + "…"
}

func referenceName(r gate.Reference) string {
	return orElse(shortCommit(r.Commit), r.ID, "unnamed run")
}

// runsText is "5 accepted runs".
func runsText(v *gate.Verdict) string { return plural(int64(len(v.Against.Runs)), "accepted run") }

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return gate.FormatCount(n) + " " + noun + "s"
}

// gpuMinutes is "10 GPU-min"; "" where it is not known.
func gpuMinutes(v *gate.Verdict) string {
	if m := v.Digest.GPUMinutes; m != nil && finite(*m) {
		return trimZero(fmt.Sprintf("%.1f", *m)) + " GPU-min"
	}
	return ""
}

func trimZero(s string) string { return strings.TrimSuffix(s, ".0") }

// millis writes a duration that may be missing.
func millis(v *float64) string {
	if v == nil {
		return "–"
	}
	return gate.FormatValue(gate.Milliseconds, *v)
}

func optional(u gate.Unit, v *float64) string {
	if v == nil {
		return "–"
	}
	return gate.FormatValue(u, *v)
}

// quantile is the value of q at the level, nil where there is none.
func quantile(q gate.Quantiles, level float64) *float64 {
	i := slices.Index(gate.QuantileLevels, level)
	if i < 0 || i >= len(q) || q[i] == nil || !finite(*q[i]) {
		return nil
	}
	return q[i]
}

// latencyKinds are the latencies of a StageFigures in the order shown.
var latencyKinds = []struct{ key, title string }{
	{"ttft", "TTFT"}, {"tpot", "TPOT"}, {"gap", "Inter-chunk gap"}, {"e2e", "E2E latency"},
}

// levelName is "P99.9".
func levelName(level float64) string { return "P" + trimZero(fmt.Sprintf("%.1f", level*100)) }

// generatorText sums up the load generator's own health.
func generatorText(v *gate.Verdict) string {
	g := v.Digest.Generator
	late := ""
	if g.LateP99MS != nil {
		late = "late sends P99 " + millis(g.LateP99MS)
	}
	switch {
	case g.Unfit != "":
		return "unfit: " + g.Unfit
	case late != "":
		return "fit (" + late + ")"
	case recorded(g):
		return "fit (closed loop, no schedule to be late for)"
	}
	return "not recorded"
}

// recorded reports whether anything is known about the load generator: zeros
// that nobody measured are not shown.
func recorded(g loadtest.Health) bool { return g != loadtest.Health{} }

// steps are the stages of the load by level where there are several, else the
// rounds of the judged stage. byLoad tells which.
func steps(v *gate.Verdict) (figures []gate.StageFigures, byLoad bool) {
	if len(v.Digest.Stages) > 1 {
		figures = slices.Clone(v.Digest.Stages)
		slices.SortStableFunc(figures, func(a, b gate.StageFigures) int { return cmp.Compare(load(a), load(b)) })
		return figures, true
	}
	if len(v.Digest.Rounds) > 0 {
		return v.Digest.Rounds, false
	}
	return v.Digest.Stages, false
}

// load is the rate that a stage put on the server, by which stages are ordered.
func load(s gate.StageFigures) float64 {
	if s.OfferedPerS != nil {
		return *s.OfferedPerS
	}
	return s.AchievedPerS
}

// failuresText lists the failures of a stage by class: "3 timeout, 1 http_5xx".
func failuresText(s gate.StageFigures) string {
	var parts []string
	for _, o := range sortedOutcomes(s) {
		if n := s.Outcomes[o]; n > 0 && o != loadtest.OK {
			parts = append(parts, gate.FormatCount(n)+" "+string(o))
		}
	}
	return strings.Join(parts, ", ")
}
