package publish

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/llm-gate/gate"
)

// runner stands for the Actions runner: the step's log and files.
type runner struct {
	log             bytes.Buffer
	output, summary string
	env             map[string]string
}

func newRunner(t *testing.T) (*runner, *Workflow) {
	t.Helper()
	dir := t.TempDir()
	r := &runner{output: filepath.Join(dir, "output"), summary: filepath.Join(dir, "summary")}
	r.env = map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": r.output, "GITHUB_STEP_SUMMARY": r.summary}
	return r, NewWorkflow(&r.log, func(name string) string { return r.env[name] })
}

// outputs reads the file as the runner does: last one wins.
func (r *runner) outputs(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(r.output)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		name, delimiter, ok := strings.Cut(lines[i], "<<")
		if !ok {
			t.Fatalf("output file, line %d: %q", i+1, lines[i])
		}
		var value []string
		for i++; i < len(lines) && lines[i] != delimiter; i++ {
			value = append(value, lines[i])
		}
		got[name] = strings.Join(value, "\n")
	}
	return got
}

func TestOutsideOfActionsNothingHappens(t *testing.T) {
	var log bytes.Buffer
	w := NewWorkflow(&log, func(string) string { return "" })
	n := &Notice{Phase: Done, Verdict: redVerdict()}
	unused := func(io.Writer, *gate.Verdict, int) error { return errors.New("rendered for nobody") }
	for name, err := range map[string]error{
		"outputs":     Outputs{w}.Publish(t.Context(), n),
		"summary":     Summary{w, unused}.Publish(t.Context(), n),
		"annotations": Annotations{w}.Publish(t.Context(), n),
		"mask":        w.Mask("s3cret"),
		"group":       w.Group("round 1"),
		"end group":   w.EndGroup(),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if log.Len() != 0 {
		t.Errorf("log = %q, want nothing: a mask would show the secret", log.String())
	}
}

func TestMask(t *testing.T) {
	for _, tt := range []struct{ name, secret, want string }{
		{"word", "s3cret", "::add-mask::s3cret\n"},
		{"line end of a file", "s3cret\n", "::add-mask::s3cret\n"},
		{"empty", " \n", ""},
		{"command inside", "a\n::error::b", "::add-mask::a%0A::error::b\n::add-mask::a\n::add-mask::::error::b\n"},
		{"percent", "50%0Aoff", "::add-mask::50%250Aoff\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, w := newRunner(t)
			if err := w.Mask(tt.secret); err != nil {
				t.Fatal(err)
			}
			if got := r.log.String(); got != tt.want {
				t.Errorf("log = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestGroup(t *testing.T) {
	r, w := newRunner(t)
	if err := errors.Join(w.Group("round 1\n::set-output name=x::y"), w.EndGroup()); err != nil {
		t.Fatal(err)
	}
	if got, want := r.log.String(), "::group::round 1 : :set-output name=x: :y\n::endgroup::\n"; got != want {
		t.Errorf("log = %q, want %q", got, want)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestFailedWritesAreErrorsNotPanics(t *testing.T) {
	env := map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": "/nonexistent/output", "GITHUB_STEP_SUMMARY": "/nonexistent/summary"}
	w := NewWorkflow(brokenWriter{}, func(name string) string { return env[name] })
	n := &Notice{Phase: Done, Verdict: redVerdict()}
	for want, p := range map[string]Publisher{
		"publish outputs: ":     Outputs{w},
		"publish job summary: ": Summary{w, text("report")},
		"publish annotations: ": Annotations{w},
	} {
		if err := p.Publish(t.Context(), n); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error = %v, want one that starts with %q", err, want)
		}
	}
	if err := w.Mask("s3cret"); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("mask: error = %v, want one without the secret", err)
	}
}

// text is a renderer of always the same text.
func text(s string) Markdown {
	return func(w io.Writer, _ *gate.Verdict, _ int) error {
		_, err := io.WriteString(w, s)
		return err
	}
}
