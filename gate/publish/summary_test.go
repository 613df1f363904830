package publish

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/org/llm-gate/gate"
)

func TestSummary(t *testing.T) {
	r, w := newRunner(t)
	s := Summary{w, text("## red\n\nreport")}
	for _, n := range []*Notice{{Phase: Started}, {Phase: Progress}, {Phase: Done, Verdict: redVerdict()}} {
		if err := s.Publish(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := read(t, r.summary), "## red\n\nreport\n"; got != want {
		t.Errorf("summary = %q, want %q", got, want)
	}
}

func TestSummaryWithoutAVerdictSaysSo(t *testing.T) {
	r, w := newRunner(t)
	if err := (Summary{w, text("")}).Publish(t.Context(), &Notice{Phase: Done, Reason: "interrupted by <SIGTERM>"}); err != nil {
		t.Fatal(err)
	}
	if got, want := read(t, r.summary), "## ⚪ llm-gate · not judged\n\nThe run ended without a verdict: interrupted by SIGTERM\n\n"; got != want {
		t.Errorf("summary = %q, want %q", got, want)
	}
}

func TestSummaryStaysWithinItsLimit(t *testing.T) {
	r, w := newRunner(t)
	if err := os.WriteFile(r.summary, []byte(strings.Repeat("x", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	limit := 0
	render := func(w io.Writer, _ *gate.Verdict, l int) error {
		limit = l
		_, err := io.WriteString(w, "## 🔴 red\n"+strings.Repeat("détail of a check\n", 100_000))
		return err
	}
	if err := (Summary{w, render}).Publish(t.Context(), &Notice{Phase: Done, Verdict: redVerdict()}); err != nil {
		t.Fatal(err)
	}
	if want := summaryLimit - 1001; limit != want {
		t.Errorf("limit = %d, want %d", limit, want)
	}
	got := read(t, r.summary)
	if len(got) > summaryLimit || len(got) < summaryLimit*99/100 {
		t.Errorf("summary has %d bytes, want just under %d", len(got), summaryLimit)
	}
	if !strings.HasPrefix(got[1000:], "## 🔴 red\n") || !strings.HasSuffix(got, cutNote+"\n") {
		t.Error("the summary lost its head or does not say that it was cut")
	}
	if err := os.WriteFile(r.summary, []byte(strings.Repeat("x", summaryLimit)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (Summary{w, render}).Publish(t.Context(), &Notice{Phase: Done, Verdict: redVerdict()}); err == nil {
		t.Error("a full summary: want an error")
	}
}

func TestSummaryTellsOfARendererThatFails(t *testing.T) {
	_, w := newRunner(t)
	broken := errors.New("broken")
	s := Summary{w, func(io.Writer, *gate.Verdict, int) error { return broken }}
	if err := s.Publish(t.Context(), &Notice{Phase: Done, Verdict: redVerdict()}); !errors.Is(err, broken) {
		t.Errorf("error = %v, want %v", err, broken)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
