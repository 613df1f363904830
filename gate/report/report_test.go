package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/loadtest"
)

func draw(t *testing.T, f func(io.Writer, *gate.Verdict) error, v *gate.Verdict) string {
	t.Helper()
	var b bytes.Buffer
	if err := f(&b, v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func terminalText(w io.Writer, v *gate.Verdict) error {
	return Terminal(w, v, TerminalOptions{ReportPath: "out/report.html"})
}

func TestTitles(t *testing.T) {
	with := func(v *gate.Verdict, change func(*gate.Verdict)) *gate.Verdict { change(v); return v }
	blocked := func(v *gate.Verdict) { v.Blocked = true }
	observe := func(v *gate.Verdict) { v.Observing = true }
	for _, tt := range []struct {
		name        string
		v           *gate.Verdict
		mark, title string
	}{
		{"red", red(), "🔴", "promotion blocked"},
		{"red observing", observing(), "🔴", "would be red (observing, nothing is blocked)"},
		{"red waived", with(red(), func(v *gate.Verdict) { v.Blocked = false }), "🔴", "worse than allowed, not blocked"},
		{"green", green(), "🟢", "safe to promote"},
		{"green observing", with(green(), observe), "🟢", "would be green (observing)"},
		{"yellow", yellow(), "🟡", "look at TPOT P95 and TTFT P99"},
		{"yellow blocked", with(yellow(), blocked), "🟡", "promotion blocked: look at TPOT P95 and TTFT P99"},
		{"first", first(), "🟡", "first baseline recorded"},
		{"not judged", noBaseline(), "⚪", "not judged, promotion blocked"},
		{"not judged, warn", warned(), "🟡", "not judged, let through with a warning"},
		{"not judged observing", with(noBaseline(), func(v *gate.Verdict) { v.Observing, v.Blocked = true, false }), "⚪", "would be not judged (observing, nothing is blocked)"},
		{"zero", &gate.Verdict{}, "⚪", "not judged"},
		{"a conclusion of another version", &gate.Verdict{Conclusion: 99}, "⚪", "not judged"},
		{"green without checks", with(green(), func(v *gate.Verdict) { v.Findings = nil }), "⚪", "not judged"},
		{"green over a fail", with(green(), func(v *gate.Verdict) { v.Findings[0].Status = gate.Fail }), "⚪", "not judged"},
		{"green over an unknown", with(green(), func(v *gate.Verdict) { v.Findings[0].Status = gate.Unknown }), "⚪", "not judged"},
		{"green over a profile's unknown", with(green(), func(v *gate.Verdict) {
			v.Findings[0].Status, v.Findings[0].Check.Origin = gate.Unknown, gate.FromProfile
		}), "🟢", "safe to promote"},
		{"yellow over a veto", with(yellow(), func(v *gate.Verdict) { v.Findings[0].Status = gate.Veto }), "⚪", "not judged"},
		{"first over a fail", with(first(), func(v *gate.Verdict) { v.Findings[0].Status = gate.Fail }), "⚪", "not judged"},
	} {
		f := faceOf(tt.v)
		if f.mark != tt.mark || f.title != tt.title {
			t.Errorf("%s: %s %q, want %s %q", tt.name, f.mark, f.title, tt.mark, tt.title)
		}
	}
}

// Nothing but a green verdict with passing checks may carry the green mark in
// its title.
func TestNilIsNotJudged(t *testing.T) {
	for name, f := range map[string]func(io.Writer, *gate.Verdict) error{"Markdown": Markdown, "Terminal": terminalText, "HTML": HTML, "JSON": JSON} {
		text := draw(t, f, nil)
		if !regexp.MustCompile(`(?i)not.judged`).MatchString(text) || strings.Contains(text, "🟢") || strings.Contains(text, "GREEN") {
			t.Errorf("%s of no verdict:\n%s", name, text)
		}
	}
	if got := Line(nil); got != "not judged: nothing was measured and compared" {
		t.Errorf("Line(nil) = %q", got)
	}
}

var cell = regexp.MustCompile(`(?:^|[^\\])\|`)

// Every table row has as many cells as its head, every block is closed, and
// outside fences there is no HTML but ours.
func TestMarkdownIsWellFormed(t *testing.T) {
	for _, tt := range verdicts {
		checkMarkdown(t, tt.name, draw(t, Markdown, tt.make()))
	}
}

func checkMarkdown(t *testing.T, name, text string) {
	t.Helper()
	cells, fence, details := 0, "", 0
	for i, l := range strings.Split(text, "\n") {
		if fence != "" {
			if l == fence {
				fence = ""
			}
			continue
		}
		if strings.HasPrefix(l, "```") {
			fence = strings.TrimRight(l, "shmerai d")
			continue
		}
		details += strings.Count(l, "<details>") - strings.Count(l, "</details>")
		if !strings.HasPrefix(l, "|") {
			cells = 0
		} else if n := len(cell.FindAllString(l, -1)); cells != 0 && n != cells {
			t.Errorf("%s line %d: %d cell borders, want %d: %s", name, i+1, n, cells, l)
		} else {
			cells = n
		}
		l = regexp.MustCompile(`</?(details|summary|sub)>`).ReplaceAllString(l, "")
		l = regexp.MustCompile(`\]\(https?://[^ ()<>|@]*\)`).ReplaceAllString(l, "]")
		l = regexp.MustCompile("`[^`]*`").ReplaceAllString(l, "")
		if m := raw.FindString(l) + mention.FindString(l) + address.FindString(l); m != "" {
			t.Errorf("%s line %d holds a live %q: %s", name, i+1, m, l)
		}
	}
	if fence != "" || details != 0 {
		t.Errorf("%s: open fence %q, %d open <details>", name, fence, details)
	}
}

func TestMarkdownLimit(t *testing.T) {
	giant := red()
	for i := range 600 {
		f := latency(fmt.Sprintf("m%d", i), fmt.Sprintf("Metric %d", i), 100, 100+float64(i%9), 0, .1, gate.Pass)
		f.Reason = strings.Repeat("words ", 20)
		giant.Findings, giant.Shown = append(giant.Findings, f), append(giant.Shown, f)
		giant.Notes = append(giant.Notes, nasty)
		giant.Digest.Stages = append(giant.Digest.Stages, stage(fmt.Sprint("s", i), float64(i), 1, false))
	}
	many := green()
	many.Findings = nil
	for range 3000 {
		many.Findings = append(many.Findings, latency("ttft_p95", "TTFT P95", 182, 183, 0, .01, gate.Pass))
	}
	for name, v := range map[string]*gate.Verdict{"giant": giant, "giant green": many, "hostile": hostile()} {
		for _, limit := range []int{SummaryLimit, CommentLimit, 20000, 5000, 1500} {
			var b bytes.Buffer
			if err := MarkdownLimit(&b, v, limit); err != nil {
				t.Fatalf("%s in %d: %v", name, limit, err)
			}
			text := b.String()
			if len(text) > limit {
				t.Errorf("%s in %d: %d bytes", name, limit, len(text))
			}
			first, _, _ := strings.Cut(text, "\n")
			if want := faceOf(v).title; !strings.Contains(first, want) {
				t.Errorf("%s in %d: first line %q lacks %q", name, limit, first, want)
			}
			checkMarkdown(t, name, text)
		}
	}
	var b bytes.Buffer
	if err := MarkdownLimit(&b, red(), 10); err == nil || b.Len() != 0 {
		t.Errorf("a limit below the verdict: error %v, %d bytes written", err, b.Len())
	}
}

func TestTerminalFits(t *testing.T) {
	for _, tt := range verdicts {
		for _, width := range []int{0, 40, 72, 100, 500} {
			var b bytes.Buffer
			if err := Terminal(&b, tt.make(), TerminalOptions{Width: width}); err != nil {
				t.Fatal(err)
			}
			limit := width
			if width == 0 || width > 100 {
				limit = 100
			}
			for _, l := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
				if n := utf8.RuneCountInString(l); n > limit {
					t.Errorf("%s at %d: a line of %d: %q", tt.name, width, n, l)
				}
				checkLine(t, "Terminal", tt.name, l)
			}
			if strings.Contains(b.String(), "\x1b") {
				t.Errorf("%s: colour where none was asked for", tt.name)
			}
		}
	}
}

func TestTerminalColorsOnlyWords(t *testing.T) {
	var plainText, colored bytes.Buffer
	if err := Terminal(&plainText, red(), TerminalOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := Terminal(&colored, red(), TerminalOptions{Color: true}); err != nil {
		t.Fatal(err)
	}
	bare := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(colored.String(), "")
	if diff := cmp.Diff(plainText.String(), bare); diff != "" {
		t.Errorf("colour changes more than colour:\n%s", diff)
	}
	if !strings.Contains(colored.String(), "\x1b[1;31mBAD\x1b[0m ttft_p95") {
		t.Errorf("no red BAD in:\n%s", colored.String())
	}
}

func TestLineIsInert(t *testing.T) {
	for _, tt := range verdicts {
		l := Line(tt.make())
		checkLine(t, "Line", tt.name, l)
		if strings.ContainsAny(l, "\r\n`$\"'\\;&|<>") || utf8.RuneCountInString(l) > 400 || l == "" {
			t.Errorf("%s: Line = %q", tt.name, l)
		}
	}
}

func TestHTML(t *testing.T) {
	for _, tt := range verdicts {
		text := draw(t, HTML, tt.make())
		if len(text) > 1<<20 {
			t.Errorf("%s: %d bytes, want under 1 MiB", tt.name, len(text))
		}
		for _, bad := range []string{"<script", "<img", "ZgotmplZ", "NaN", "Inf", "javascript:", "src=\"", "@import", "url("} {
			if strings.Contains(text, bad) {
				t.Errorf("%s: the page holds %q", tt.name, bad)
			}
		}
		d := xml.NewDecoder(strings.NewReader(text))
		d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
		svgs, titles := 0, 0
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: not well formed: %v", tt.name, err)
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "svg" {
				svgs++
				next, _ := d.Token()
				for _, isText := next.(xml.CharData); isText; _, isText = next.(xml.CharData) {
					next, _ = d.Token()
				}
				if s, ok := next.(xml.StartElement); ok && s.Name.Local == "title" {
					titles++
				}
			}
		}
		if svgs != titles {
			t.Errorf("%s: %d drawings, %d with a title first", tt.name, svgs, titles)
		}
	}
}

// Figures that no run has must neither panic nor reach a drawing.
func TestStrangeFigures(t *testing.T) {
	v := stairs()
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1e300, 5e-324}
	for i := range v.Findings {
		x := odd[i%len(odd)]
		f := &v.Findings[i]
		f.Now.V, f.Change.Value, f.Change.Low, f.Change.High = &x, &x, &x, ptr(odd[(i+1)%len(odd)])
		f.Check.Tolerance.Value = x
	}
	v.Findings = append(v.Findings, gate.Finding{Check: &gate.Check{Max: ptr(0.)}, Now: gate.Value{V: ptr(0.)}},
		gate.Finding{Check: &gate.Check{Min: ptr(math.NaN())}, Now: gate.Value{V: ptr(1.)}}, gate.Finding{})
	for i := range v.Digest.Stages {
		s := &v.Digest.Stages[i]
		x := odd[i%len(odd)]
		s.AchievedPerS, s.OfferedPerS, s.MeasuredConcurrency, s.GPUMemoryPeakMiB = x, &x, x, &x
		s.Latencies = map[string]gate.Quantiles{"ttft": {&x, &x}, "e2e": {&x, ptr(math.NaN()), nil, ptr(1.), ptr(2.), ptr(3.), ptr(4.)}}
	}
	v.Digest.History = []gate.HistoryPoint{{Values: map[string]float64{"ttft_p95": math.NaN()}}, {}, {Values: map[string]float64{"ttft_p95": 1e300}}, {Values: map[string]float64{"ttft_p95": -1e300}}}
	v.Digest.GPUMinutes = ptr(math.NaN())
	for name, f := range map[string]func(io.Writer, *gate.Verdict) error{"Markdown": Markdown, "Terminal": terminalText, "HTML": HTML} {
		text := draw(t, f, v)
		if m := regexp.MustCompile(`NaN|[+-]?Inf\b`).FindString(text); m != "" {
			i := strings.Index(text, m)
			t.Errorf("%s shows %s: …%s", name, m, text[max(0, i-80):min(len(text), i+40)])
		}
	}
	if err := JSON(io.Discard, v); err == nil {
		t.Error("JSON of NaN: no error")
	}
}

func TestReadVerdict(t *testing.T) {
	for _, tt := range verdicts {
		want := tt.make()
		text := draw(t, JSON, want)
		got, err := ReadVerdict(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if again := draw(t, JSON, got); again != text {
			t.Errorf("%s reads back as another verdict:\n%s", tt.name, cmp.Diff(text, again))
		}
	}
	good := draw(t, JSON, red())
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "not a JSON document"},
		{"cut off", good[:len(good)/2], "not a JSON document"},
		{"other schema", strings.Replace(good, "verdict/v1", "verdict/v9", 1), `schema "llm-gate/verdict/v9": this version reads "llm-gate/verdict/v1"`},
		{"no schema", "{}", `schema ""`},
		{"unknown field", strings.Replace(good, `"name"`, `"nome"`, 1), `unknown field "nome"`},
		{"unknown conclusion", strings.Replace(good, `"conclusion": "red"`, `"conclusion": "purple"`, 1), `unknown conclusion "purple"`},
		{"unknown status", strings.Replace(good, `"status": "fail"`, `"status": "fine"`, 1), `unknown status "fine"`},
		{"two documents", good + good, "invalid character"},
		{"painted green", strings.Replace(good, `"conclusion": "red"`, `"conclusion": "green"`, 1), "says green and its check ttft_p95 says fail"},
	} {
		if _, err := ReadVerdict(strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.want)
		}
	}
}

func FuzzReadVerdict(f *testing.F) {
	for _, tt := range verdicts {
		var b bytes.Buffer
		if err := JSON(&b, tt.make()); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := ReadVerdict(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, f := range []func(io.Writer, *gate.Verdict) error{Markdown, terminalText, HTML} {
			if err := f(io.Discard, v); err != nil {
				t.Fatal(err)
			}
		}
		if l := Line(v); l == "" || strings.HasPrefix(l, "green") && v.Conclusion != gate.Green {
			t.Fatalf("Line = %q", l)
		}
	})
}

func TestOutcomesInOrder(t *testing.T) {
	s := gate.StageFigures{Outcomes: map[loadtest.Outcome]int64{"zeta": 1, loadtest.Timeout: 2, loadtest.OK: 5, "alpha": 3, loadtest.Connect: 4}}
	if got, want := failuresText(s), "4 connect, 2 timeout, 3 alpha, 1 zeta"; got != want {
		t.Errorf("failuresText = %q, want %q", got, want)
	}
}
