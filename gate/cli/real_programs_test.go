package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The tests in real_*_test.go try the built binary on real programs, and skip
// where those are missing. .ci/run installs them and fails if anything skipped.

// repository is the repository, absolute.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// program finds a real program: by the variable, in .tools, in PATH.
func program(t *testing.T, variable, inTools, name string) string {
	t.Helper()
	if path := os.Getenv(variable); path != "" {
		return path
	}
	path := filepath.Join(repository(t), ".tools", inTools, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("no %s: install it, or name it in %s (.ci/run does both)", name, variable)
	}
	return path
}

// build builds a command of this repository and returns the binary's path.
func build(t *testing.T, pkg string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "binary")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", binary, pkg)
	cmd.Dir = repository(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return binary
}

// plainEnv is the environment without what a surrounding workflow, or whoever
// runs the tests, sets for llm-gate.
func plainEnv() []string {
	var env []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		switch {
		case strings.HasPrefix(name, "GITHUB_"), strings.HasPrefix(name, "RUNNER_"),
			strings.HasPrefix(name, "LLM_GATE_"), strings.HasPrefix(name, "ACTIONS_"):
		default:
			env = append(env, pair)
		}
	}
	return env
}

// measured is a command with priority over the other work of this machine where
// that is allowed: neither an engine nor the generator may share its core with a
// compiler, as the figures of the run would be those of the compiler.
func measured(ctx context.Context, name string, args ...string) *exec.Cmd {
	if nice, err := exec.LookPath("nice"); err == nil {
		name, args = nice, append([]string{"-n", "-15", name}, args...)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = plainEnv()
	return cmd
}

// output collects what a program writes and lets a test wait for it.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// waitFor waits until the program has written what matches, and returns the
// match with its groups.
func (o *output) waitFor(t *testing.T, pattern string) []string {
	t.Helper()
	want := regexp.MustCompile(pattern)
	timeout := time.NewTimer(time.Minute)
	defer timeout.Stop()
	for {
		o.mu.Lock()
		match := want.FindStringSubmatch(o.text.String())
		if match != nil {
			o.mu.Unlock()
			return match
		}
		if o.changed == nil {
			o.changed = make(chan struct{})
		}
		changed := o.changed
		o.mu.Unlock()
		select {
		case <-changed:
		case <-timeout.C:
			t.Fatalf("the program never wrote %q, but:\n%s", pattern, o)
		}
	}
}

// start starts a program that ends with the test.
func start(t *testing.T, name string, args ...string) *output {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	out := new(output)
	cmd := measured(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // how it ends is of no interest
	})
	return out
}

// gateBinary is the built llm-gate.
type gateBinary string

// run runs it and returns its exit code and all that it wrote.
func (g gateBinary) run(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	cmd := measured(t.Context(), string(g), args...)
	cmd.Dir = t.TempDir()
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run llm-gate: %v", err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// verdictFile is what of verdict.json these tests look at, read as a script
// would read it.
type verdictFile struct {
	Conclusion string `json:"conclusion"`
	Blocked    bool   `json:"blocked"`
	Headline   string `json:"headline"`
	Findings   []struct {
		Metric string `json:"metric"`
		Status string `json:"status"`
		Now    struct {
			Value *float64 `json:"value"`
			Null  string   `json:"null"`
		} `json:"now"`
		Change *struct {
			Value *float64 `json:"value"`
			Worse bool     `json:"worse"`
		} `json:"change"`
	} `json:"findings"`
	Changed []struct {
		Field         string `json:"field"`
		Baseline, Now string
	} `json:"changed"`
	Notes []string `json:"notes"`
}

func readVerdict(t *testing.T, dir string) verdictFile {
	t.Helper()
	var v verdictFile
	readJSON(t, filepath.Join(dir, "verdict.json"), &v)
	return v
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// now is a finding's value.
func (v verdictFile) now(t *testing.T, metric string) float64 {
	t.Helper()
	for _, f := range v.Findings {
		if f.Metric == metric {
			if f.Now.Value == nil {
				t.Fatalf("%s has no value: %s", metric, f.Now.Null)
			}
			return *f.Now.Value
		}
	}
	t.Fatalf("the verdict has no finding of %s: %+v", metric, v.Findings)
	return 0
}

// summary lists the findings for a test's log.
func (v verdictFile) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", v.Conclusion, v.Headline)
	for _, f := range v.Findings {
		fmt.Fprintf(&b, "\n  %-12s %s", f.Metric, f.Status)
		if f.Change != nil && f.Change.Value != nil {
			fmt.Fprintf(&b, " %+.3f", *f.Change.Value)
		}
	}
	return b.String()
}
