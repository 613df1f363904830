package publish

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/llm-gate/gate"
)

func annotationLines(t *testing.T, n *Notice) []string {
	t.Helper()
	r, w := newRunner(t)
	if err := (Annotations{w}).Publish(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(r.log.String(), "\n"), "\n")
}

func TestAnnotations(t *testing.T) {
	observing := redVerdict()
	observing.Blocked, observing.Observing = false, true
	for _, tt := range []struct {
		name   string
		notice *Notice
		want   []string
	}{
		{"red", &Notice{Phase: Done, Verdict: redVerdict()}, []string{
			"::error col=3,file=llm-gate.yml,line=12,title=llm-gate · chat-8b · TTFT P95::TTFT P95: fail: 19.2 %25 slower, 15 %25 allowed",
			"::warning title=llm-gate · chat-8b · E2E P95::E2E P95: undecided: 12 %25 slower (3 more rounds would decide)",
		}},
		{"observed", &Notice{Phase: Done, Verdict: observing}, []string{
			"::warning col=3,file=llm-gate.yml,line=12,title=llm-gate · chat-8b · TTFT P95::TTFT P95: fail: 19.2 %25 slower, 15 %25 allowed",
			"::warning title=llm-gate · chat-8b · E2E P95::E2E P95: undecided: 12 %25 slower (3 more rounds would decide)",
		}},
		{"not judged", &Notice{Phase: Done, Verdict: &gate.Verdict{Name: "chat-8b", Blocked: true, Reasons: []string{"the target was never ready"},
			Findings: []gate.Finding{{Title: "KV-cache hit rate", Stage: "steady", Reason: "no counters"}}}}, []string{
			"::error title=llm-gate · chat-8b::the target was never ready",
			"::error title=llm-gate · chat-8b · KV-cache hit rate::KV-cache hit rate in steady: unknown: no counters",
		}},
		{"no verdict", &Notice{Phase: Done, Reason: "interrupted"}, []string{
			"::error title=llm-gate%3A not judged::The run ended without a verdict: interrupted",
		}},
		{"green", &Notice{Phase: Done, Verdict: greenVerdict()}, []string{""}},
		{"started", &Notice{Phase: Started}, []string{""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, annotationLines(t, tt.notice)); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnnotationsCannotSmuggleACommand(t *testing.T) {
	v := redVerdict()
	v.Name = "x,file=/etc/passwd::\n::set-output name=blocked::false"
	v.Findings = v.Findings[:1]
	v.Findings[0].Reason = "boom\r\n::stop-commands::x\n##[error]y %0A::z"
	want := []string{"::error col=3,file=llm-gate.yml,line=12,title=llm-gate · x%2Cfile=/etc/passwd%3A %3A %3A %3Aset-output name=blocked%3A %3Afalse · TTFT P95" +
		"::TTFT P95: fail: boom : :stop-commands: :x ## [error]y %250A: :z"}
	if diff := cmp.Diff(want, annotationLines(t, &Notice{Phase: Done, Verdict: v})); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestAnnotationPositions(t *testing.T) {
	for pos, want := range map[string]string{
		"":                     "",
		"llm-gate.yml":         "",
		"llm-gate.yml:x":       "",
		"a/b.yml:7":            "a/b.yml 7 ",
		"./a/b.yml:7:9":        "a/b.yml 7 9",
		"/tmp/llm-gate.yml:7":  "",
		"../llm-gate.yml:7:1":  "",
		"odd,name:1.yml:12:13": "odd,name:1.yml 12 13",
	} {
		p := annotation{pos: pos}.properties()
		got := ""
		if p["file"] != "" {
			got = fmt.Sprintf("%s %s %s", p["file"], p["line"], p["col"])
		}
		if got != want {
			t.Errorf("position of %q = %q, want %q", pos, got, want)
		}
	}
}

func TestAnnotationsAreAtMostTenAKind(t *testing.T) {
	v := &gate.Verdict{Name: "chat-8b", Conclusion: gate.Red, Blocked: true}
	for i := range 12 {
		v.Findings = append(v.Findings, gate.Finding{Title: fmt.Sprint("m", i), Status: gate.Fail})
	}
	for i := range 10 {
		v.Findings = append(v.Findings, gate.Finding{Title: fmt.Sprint("w", i), Status: gate.Near})
	}
	lines := annotationLines(t, &Notice{Phase: Done, Verdict: v})
	count := map[string]int{}
	for _, l := range lines {
		kind, _, _ := strings.Cut(strings.TrimPrefix(l, "::"), " ")
		count[kind]++
	}
	if diff := cmp.Diff(map[string]int{"error": 10, "warning": 10}, count); diff != "" {
		t.Errorf("annotations a kind (-want +got):\n%s", diff)
	}
	if want := "::error title=llm-gate::3 more: see the report"; lines[9] != want {
		t.Errorf("tenth error = %q, want %q", lines[9], want)
	}
}
