package baselines

import (
	"fmt"
	"testing"
	"time"

	"github.com/org/llm-gate/loadtest"
)

var day = time.Date(2026, 12, 1, 5, 0, 0, 0, time.UTC)

// sampleResult is a small whole run.
func sampleResult(name, id string) *loadtest.Result {
	h := new(loadtest.Histogram)
	for i := range 50 {
		h.Record(time.Duration(100+i) * time.Millisecond)
	}
	return &loadtest.Result{
		Schema: loadtest.ResultSchema, ID: id, Name: name, StartedAt: day, EndedAt: day.Add(time.Minute),
		Provenance: loadtest.Provenance{Commit: "a41c9e2", Event: "push"},
		Conditions: loadtest.Conditions{Workload: "sha256:9f2c", API: "chat", GPUModel: "NVIDIA H100", GPUCount: 2},
		Segments: []loadtest.SegmentResult{{
			Segment: loadtest.Segment{Stage: "steady", Kind: loadtest.Judged, Round: 1, Rounds: 1},
			Total:   &loadtest.Figures{Outcomes: map[loadtest.Outcome]int64{loadtest.OK: 50}, TTFT: h},
		}},
	}
}

func sampleEntry(t testing.TB, name string, n int) *Entry {
	t.Helper()
	e, err := NewEntry(sampleResult(name, fmt.Sprintf("20261201T0500%02dZ-%08x", n, n)), Green, "", day.Add(time.Duration(n)*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func ids(entries []*Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.ID)
	}
	return out
}

func refIDs(refs []Ref) []string {
	var out []string
	for _, r := range refs {
		out = append(out, r.ID)
	}
	return out
}
