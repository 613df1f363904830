package publish

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/llm-gate/gate"
)

func TestOutputsOfARedRun(t *testing.T) {
	r, w := newRunner(t)
	out := Outputs{w}
	for _, n := range []*Notice{
		{Phase: Started},
		{Phase: Progress},
		{Phase: Done, Verdict: redVerdict(), Files: Files{Verdict: "out/verdict.json", Result: "out/result.json", Report: "out/report.md", HTML: "out/report.html"}},
	} {
		if err := out.Publish(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{
		"verdict": "red", "blocked": "true",
		"reason":       "First token is 19 % slower: P95 182 → 217 ms, limit +15 %.",
		"verdict-file": "out/verdict.json", "result": "out/result.json", "report": "out/report.md", "html": "out/report.html",
		"gpu-minutes": "10.0", "baseline": "20261129T050040Z-9f2c61b4",
	}
	if diff := cmp.Diff(want, r.outputs(t)); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

func TestOutputsConclusion(t *testing.T) {
	profile := &gate.Check{Origin: gate.FromProfile}
	for _, tt := range []struct {
		name                     string
		verdict                  *gate.Verdict
		why                      string
		colour, blocked, because string
	}{
		{"no verdict", nil, "interrupted by SIGTERM", "not_judged", "true", "interrupted by SIGTERM"},
		{"no verdict and no word", nil, "", "not_judged", "true", "no reason was given"},
		{"zero verdict that blocks", &gate.Verdict{Blocked: true, Reasons: []string{"no baseline", "target never ready"}}, "", "not_judged", "true", "no baseline, target never ready"},
		{"green", greenVerdict(), "", "green", "false", "Safe to promote."},
		{"first is yellow", &gate.Verdict{Conclusion: gate.First, Headline: "First baseline"}, "", "yellow", "false", "First baseline"},
		{"red that is only observed", &gate.Verdict{Conclusion: gate.Red, Observing: true, Headline: "Would be red"}, "", "red", "false", "Would be red"},
		{"green without findings", &gate.Verdict{Conclusion: gate.Green}, "", "not_judged", "true", "the verdict contradicts its own findings"},
		{"green over a fail", &gate.Verdict{Conclusion: gate.Green, Findings: []gate.Finding{{Status: gate.Pass}, {Status: gate.Fail}}}, "", "not_judged", "true", "the verdict contradicts its own findings"},
		{"green over an unknown", &gate.Verdict{Conclusion: gate.Green, Findings: []gate.Finding{{Status: gate.Pass}, {}}}, "", "not_judged", "true", "the verdict contradicts its own findings"},
		{"green over an unknown of a profile", &gate.Verdict{Conclusion: gate.Green, Headline: "11 of 12 measured", Findings: []gate.Finding{{Status: gate.Pass}, {Check: profile}}}, "", "green", "false", "11 of 12 measured"},
		{"out of range", &gate.Verdict{Conclusion: 77, Blocked: true, Headline: "?"}, "", "not_judged", "true", "no reason was given"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, w := newRunner(t)
			if err := (Outputs{w}).Publish(t.Context(), &Notice{Phase: Done, Verdict: tt.verdict, Reason: tt.why}); err != nil {
				t.Fatal(err)
			}
			got := r.outputs(t)
			if got["verdict"] != tt.colour || got["blocked"] != tt.blocked || got["reason"] != tt.because {
				t.Errorf("verdict %q, blocked %q, reason %q; want %q, %q, %q", got["verdict"], got["blocked"], got["reason"], tt.colour, tt.blocked, tt.because)
			}
			if got["gpu-minutes"] != "" || got["baseline"] != "" {
				t.Errorf("gpu-minutes %q, baseline %q: want nothing where nothing is known", got["gpu-minutes"], got["baseline"])
			}
		})
	}
}

func TestOutputsOfAKilledRunPromoteNothing(t *testing.T) {
	r, w := newRunner(t)
	if err := (Outputs{w}).Publish(t.Context(), &Notice{Phase: Started}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"verdict": "not_judged", "blocked": "true", "reason": "the gate did not finish"}
	if diff := cmp.Diff(want, r.outputs(t)); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

func TestOutputsRefuseWhatLeavesItsBlock(t *testing.T) {
	for name, path := range map[string]string{
		"lines":     "out\nblocked=false",
		"return":    "out\rblocked=false",
		"delimiter": "out" + outputDelimiter,
	} {
		t.Run(name, func(t *testing.T) {
			r, w := newRunner(t)
			err := Outputs{w}.Publish(t.Context(), &Notice{Phase: Done, Verdict: redVerdict(), Files: Files{Result: path, HTML: "report.html"}})
			if err == nil || !strings.Contains(err.Error(), "set output result") {
				t.Errorf("error = %v, want one that names the output", err)
			}
			got := r.outputs(t)
			if _, set := got["result"]; set || got["blocked"] != "true" || got["html"] != "report.html" {
				t.Errorf("outputs = %v: want all but result", got)
			}
		})
	}
}

func TestInert(t *testing.T) {
	for in, want := range map[string]string{
		"First token is 19 % slower (P95 182 → 217 ms, limit +15 %).": "First token is 19 % slower: P95 182 → 217 ms, limit +15 %.",
		"$(rm -rf /) `id` ${{ secrets.X }}":                           "rm -rf / id secrets.X",
		`a"b'c\d;e|f&g<h>i!j*k?l[m]n{o}p^q~r#s`:                       "abcdefghijklmnopqrs",
		"@team [x](http://evil)":                                      "team xhttp://evil",
		"a\nb\r\nc\td\u2028e":                                         "a b c d e",
		"::error::boom":                                               "error: :boom",
		":::::":                                                       "",
		"-n hello":                                                    "n hello",
		"\x1b[31mred\u202e":                                           "31mred",
		strings.Repeat("a", 400):                                      strings.Repeat("a", 299) + "…",
	} {
		if got := inert(in); got != want {
			t.Errorf("inert(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzInert(f *testing.F) {
	f.Add("::set-output name=x::y")
	f.Add("$(id)`'\"\\;|&<>\n\r\x00")
	f.Add(":(:(:")
	f.Fuzz(func(t *testing.T, s string) {
		got := inert(s)
		if strings.ContainsAny(got, "$`\"'\\;|&<>(){}[]*?!#~^@\n\r\x00\x1b") || strings.Contains(got, "::") {
			t.Errorf("inert(%q) = %q", s, got)
		}
		if n := len([]rune(got)); n > reasonLimit {
			t.Errorf("%d characters", n)
		}
		if l := line(s); strings.ContainsAny(l, "\n\r\x1b") || strings.Contains(l, "::") || strings.Contains(l, "##[") {
			t.Errorf("line(%q) = %q", s, l)
		}
	})
}
