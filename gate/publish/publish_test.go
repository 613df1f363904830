package publish

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/llm-gate/gate"
)

type publisherFunc func(context.Context, *Notice) error

func (f publisherFunc) Publish(ctx context.Context, n *Notice) error { return f(ctx, n) }

func TestAllTriesEveryPublisherAndJoinsErrors(t *testing.T) {
	first, third := errors.New("first"), errors.New("third")
	var tried []string
	p := All(
		publisherFunc(func(context.Context, *Notice) error { tried = append(tried, "1"); return first }),
		publisherFunc(func(context.Context, *Notice) error { tried = append(tried, "2"); return nil }),
		publisherFunc(func(context.Context, *Notice) error { tried = append(tried, "3"); return third }),
	)
	n := &Notice{Phase: Done, Verdict: redVerdict()}
	before := mustJSON(t, n.Verdict)
	err := p.Publish(t.Context(), n)
	if !errors.Is(err, first) || !errors.Is(err, third) {
		t.Errorf("error = %v, want both failures", err)
	}
	if diff := cmp.Diff([]string{"1", "2", "3"}, tried); diff != "" {
		t.Errorf("tried (-want +got):\n%s", diff)
	}
	if after := mustJSON(t, n.Verdict); after != before {
		t.Error("a failing publisher changed the verdict")
	}
	if err := All().Publish(t.Context(), n); err != nil {
		t.Errorf("no publishers: %v", err)
	}
}

func TestPhaseNames(t *testing.T) {
	for phase, want := range map[Phase]string{0: "unknown phase", Started: "started", Progress: "progress", Done: "done"} {
		if got := phase.String(); got != want {
			t.Errorf("Phase(%d) = %q, want %q", int(phase), got, want)
		}
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func redVerdict() *gate.Verdict {
	minutes := 10.04
	return &gate.Verdict{
		Name: "chat-8b", Conclusion: gate.Red, Blocked: true, ExitCode: 1,
		Headline: "First token is 19 % slower (P95 182 → 217 ms, limit +15 %).",
		Findings: []gate.Finding{
			{Metric: "ttft_p95", Title: "TTFT P95", Status: gate.Fail, Reason: "19.2 % slower, 15 % allowed", Check: &gate.Check{Pos: "llm-gate.yml:12:3"}},
			{Metric: "e2e_p95", Title: "E2E P95", Status: gate.Undecided, Reason: "12 % slower", Needs: "3 more rounds would decide"},
			{Metric: "tpot_p95", Title: "TPOT P95", Status: gate.Pass},
		},
		Against: gate.Against{Runs: []gate.Reference{{ID: "20261129T050040Z-9f2c61b4"}}},
		Digest:  gate.Digest{GPUMinutes: &minutes},
	}
}

func greenVerdict() *gate.Verdict {
	return &gate.Verdict{
		Name: "chat-8b", Conclusion: gate.Green, Headline: "Safe to promote.",
		Findings: []gate.Finding{{Metric: "ttft_p95", Title: "TTFT P95", Status: gate.Pass}},
	}
}
