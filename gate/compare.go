package gate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/org/llm-gate/loadtest"
)

// workloadWords is the load in words with its hash, which alone tells two loads
// apart that read alike.
func workloadWords(r *loadtest.Result) string {
	hash := fmt.Sprintf("%.8s", r.Conditions.Workload)
	if r.Workload == "" {
		return hash
	}
	return r.Workload + " (" + hash + ")"
}

// differences lists the conditions in which two results differ.
func differences(base, now *loadtest.Result) []Difference {
	var out []Difference
	add := func(field, a, b string) {
		if a != b {
			out = append(out, Difference{Field: field, Baseline: a, Now: b})
		}
	}
	add("schema", base.Schema, now.Schema)
	a, b := base.Conditions, now.Conditions
	if a.Workload != b.Workload {
		add("workload", workloadWords(base), workloadWords(now))
	}
	add("api", a.API, b.API)
	add("cache_state", a.CacheState, b.CacheState)
	add("gpu_model", a.GPUModel, b.GPUModel)
	add("gpu_count", strconv.Itoa(a.GPUCount), strconv.Itoa(b.GPUCount))
	return out
}

// changes lists what differs in the subject: what a change may change.
func changes(base, now loadtest.Subject) []Difference {
	var out []Difference
	add := func(field, a, b string) {
		if a != b {
			out = append(out, Difference{Field: field, Baseline: a, Now: b})
		}
	}
	add("model", base.Model, now.Model)
	add("model_revision", base.ModelRevision, now.ModelRevision)
	add("engine", base.Engine, now.Engine)
	add("engine_version", base.EngineVersion, now.EngineVersion)
	add("image", base.Image, now.Image)
	names := slices.Collect(maps.Keys(base.Flags))
	names = slices.AppendSeq(names, maps.Keys(now.Flags))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		add("flags."+name, base.Flags[name], now.Flags[name])
	}
	return out
}

// requiredDifferences are the changes of the subject that the policy turns into
// conditions. "flags" stands for every flag.
func requiredDifferences(required []string, base, now loadtest.Subject) []Difference {
	var out []Difference
	for _, d := range changes(base, now) {
		isFlag := len(d.Field) > 6 && d.Field[:6] == "flags."
		if slices.Contains(required, d.Field) || isFlag && slices.Contains(required, "flags") {
			out = append(out, d)
		}
	}
	return out
}

// unfitForJudging says why a result cannot be judged at all, nor stand as a
// baseline; nil where it can.
func unfitForJudging(res *loadtest.Result) []string {
	var out []string
	if res.Schema != loadtest.ResultSchema {
		out = append(out, fmt.Sprintf("the result's schema is %q, this build judges %q", res.Schema, loadtest.ResultSchema))
	}
	if res.Incomplete != "" {
		out = append(out, "the run is incomplete: "+res.Incomplete)
	}
	if res.Generator.Unfit != "" {
		out = append(out, "the load generator was unfit, so the figures are not the server's: "+res.Generator.Unfit)
	}
	segments := stageSegments(res, "")
	for _, s := range segments {
		if s.Incomplete != "" && res.Incomplete == "" {
			out = append(out, fmt.Sprintf("%s was cut short: %s", s.Segment.Label(), s.Incomplete))
		}
		if s.Generator.Unfit != "" && res.Generator.Unfit == "" {
			out = append(out, fmt.Sprintf("the load generator was unfit in %s, so the figures are not the server's: %s", s.Segment.Label(), s.Generator.Unfit))
		}
	}
	if own, all := ownFailures(segments); float64(own) > ownFailureShare*float64(all) {
		out = append(out, fmt.Sprintf("%s of %s requests failed on the load generator's own machine or were never sent", FormatCount(own), FormatCount(all)))
	}
	if len(segments) == 0 && res.Incomplete == "" {
		out = append(out, "the run has no judged round")
	}
	return out
}

// ownFailureShare is the share of requests that this machine may fail to send
// before the load is no longer the one that was asked for.
const ownFailureShare = 0.05

// ownFailures counts the requests that stand on neither side of the error rate,
// of all.
func ownFailures(segments []*loadtest.SegmentResult) (own, all int64) {
	for _, s := range segments {
		if s.Total == nil {
			continue
		}
		for o, n := range s.Total.Outcomes {
			n = min(max(n, 0), 1<<40)
			all += n
			if !o.Counted() {
				own += n
			}
		}
	}
	return own, all
}

// history is what of the accepted runs can be compared with.
type history struct {
	used []Accepted // newest first
	// reason says why there is none, in words; differing names the conditions.
	reason    string
	differing []Difference
	notes     []string
}

// chooseHistory keeps the newest accepted runs that were made under the
// candidate's conditions and are not too old.
func chooseHistory(in Input) history {
	var h history
	now := in.Candidate
	keep := in.Policy.Keep
	if keep <= 0 {
		keep = DefaultKeep
	}
	var old, broken, other int
	var self []Accepted
	seen := map[string]bool{}
	for _, a := range in.History {
		switch {
		case a.Result == nil || len(unfitForJudging(a.Result)) > 0:
			broken++
		case a.ID != "" && seen[a.ID]:
			// listed twice
		case in.Policy.MaxAge > 0 && !a.RecordedAt.IsZero() && now.StartedAt.Sub(a.RecordedAt) > in.Policy.MaxAge:
			old++
		default:
			seen[a.ID] = true
			differing := differences(a.Result, now)
			differing = append(differing, requiredDifferences(in.Policy.RequireSame, a.Result.Subject, now.Subject)...)
			switch {
			case len(differing) > 0:
				other++
				if h.differing == nil {
					h.differing = differing
				}
			case a.Result.ID == now.ID && now.ID != "":
				self = append(self, a)
			case len(h.used) < keep:
				h.used = append(h.used, a)
			}
		}
	}
	if len(h.used) == 0 && len(self) > 0 {
		h.used = self[:1]
		h.notes = append(h.notes, "The candidate was compared with itself: it is the only accepted run.")
	}
	count := func(n int, what string) {
		if n > 0 {
			h.notes = append(h.notes, fmt.Sprintf("%s not used: %s.", plural(n, "accepted run"), what))
		}
	}
	count(broken, "incomplete or unfit")
	count(old, fmt.Sprintf("older than %s", days(in.Policy.MaxAge)))
	count(other, "made under other conditions")
	if len(h.used) > 0 {
		h.differing = nil
		return h
	}
	if h.differing == nil {
		for _, a := range in.Elsewhere {
			if a.Result != nil {
				h.differing = differences(a.Result, now)
				h.differing = append(h.differing, requiredDifferences(in.Policy.RequireSame, a.Result.Subject, now.Subject)...)
				break
			}
		}
	}
	switch {
	case len(h.differing) > 0:
		h.reason = "the conditions differ from the accepted runs': " + inWords(h.differing)
	case broken > 0 && old == 0:
		h.reason = "no baseline: every accepted run of this service is incomplete or unfit"
	case old > 0:
		h.reason = fmt.Sprintf("no baseline: every accepted run is older than %s", days(in.Policy.MaxAge))
	default:
		h.reason = "no baseline: no accepted run of this service under these conditions"
	}
	return h
}

// fieldWords are the names of conditions and subject fields in sentences.
var fieldWords = map[string]string{
	"schema": "result schema", "workload": "workload", "api": "API", "cache_state": "cache state",
	"gpu_model": "GPU model", "gpu_count": "GPU count",
	"model": "model", "model_revision": "model revision", "engine": "engine", "engine_version": "engine version", "image": "image",
}

func inWords(ds []Difference) string {
	out := ""
	for i, d := range ds {
		if i > 0 {
			out += ", "
		}
		name, ok := fieldWords[d.Field]
		if !ok {
			name = d.Field
		}
		out += fmt.Sprintf("%s %s → %s", name, orNone(d.Baseline), orNone(d.Now))
	}
	return out
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}
