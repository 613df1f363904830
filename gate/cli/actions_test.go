package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/llm-gate/baselines"
	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/gate/cli"
	"github.com/org/llm-gate/gate/github/githubtest"
	"github.com/org/llm-gate/gate/report"
	"github.com/org/llm-gate/loadtest/sim"
)

const (
	actionsRepo  = "o/r"
	actionsToken = "ghs_0123456789abcdefghijklmnopqrstuvwxyz"
)

// actionsConfig is a quick gate: what is under test is who decides.
const actionsConfig = `version: 1
name: chat
load:
  arrivals: constant
  rate: %s/s
  rounds: 2
  requests: 60
  warmup: 2
  late_limit: 5s
  prompts: {input: 32, output: 3}
checks:
  tpot_p95: {tolerance: 500%%}
  ttft_p95: off
  e2e_p95: off
  kv_hit_rate: off
  error_rate: {max: 50%%}
`

// workflow is a step of a GitHub workflow without the workflow: the environment
// and files that a runner makes, and GitHub's API.
type workflow struct {
	github    *githubtest.Server
	workspace string
	target    string
}

func newWorkflow(t *testing.T) *workflow {
	t.Helper()
	w := &workflow{github: githubtest.New(t), workspace: t.TempDir()}
	base := w.github.AddRepo(actionsRepo)
	w.github.AddPull(actionsRepo, githubtest.Pull{Number: 7, HeadSHA: strings.Repeat("ab", 20), HeadRef: "changes", BaseSHA: base, BaseRef: "main"})
	cfg := sim.DefaultConfig()
	cfg.StepBase = 20 * time.Millisecond
	engine, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(engine)
	t.Cleanup(func() {
		engine.Close()
		server.Close()
	})
	w.target = server.URL
	return w
}

// baseFile puts a file on the default branch.
func (w *workflow) baseFile(name, text string) {
	w.github.SetFile(actionsRepo, "main", name, []byte(text))
}

// file puts a file into the checkout.
func (w *workflow) file(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.workspace, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// step is what one step left.
type step struct {
	code           int
	stdout, stderr string
	outputs        string
	summary        string
	verdict        *gate.Verdict // nil where none was written
}

// run runs the gate for an event, with further flags.
func (w *workflow) run(t *testing.T, event string, args ...string) step {
	t.Helper()
	head := strings.Repeat("ab", 20)
	repo := map[string]any{"name": "r", "full_name": actionsRepo, "default_branch": "main", "owner": map[string]any{"login": "o"}}
	payload := map[string]any{"repository": repo}
	env := map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": event, "GITHUB_REPOSITORY": actionsRepo, "GITHUB_SHA": head,
		"GITHUB_REF": "refs/heads/main", "GITHUB_API_URL": w.github.URL, "GITHUB_SERVER_URL": "https://github.com", "GITHUB_TOKEN": actionsToken,
		"GITHUB_WORKSPACE": w.workspace, "GITHUB_RUN_ID": "1", "GITHUB_RUN_ATTEMPT": "1",
	}
	switch event {
	case "push":
		payload["ref"], payload["after"], payload["head_commit"] = "refs/heads/main", head, map[string]any{"id": head}
	case "pull_request":
		env["GITHUB_REF"] = "refs/pull/7/merge"
		payload["number"] = 7
		payload["pull_request"] = map[string]any{
			"number": 7, "head": map[string]any{"sha": head, "ref": "changes", "repo": repo},
			"base": map[string]any{"sha": w.github.Head(actionsRepo, "main"), "ref": "main", "repo": repo},
		}
	}
	data, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"event.json": string(data), "outputs": "", "summary": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env["GITHUB_EVENT_PATH"], env["GITHUB_OUTPUT"], env["GITHUB_STEP_SUMMARY"] = filepath.Join(dir, "event.json"), filepath.Join(dir, "outputs"), filepath.Join(dir, "summary")
	out := filepath.Join(dir, "out")
	var stdout, stderr bytes.Buffer
	got := step{code: cli.Main(t.Context(),
		append([]string{"run", "--target", w.target, "--out", out, "--config", filepath.Join(w.workspace, "llm-gate.yml")}, args...),
		cli.Env{Stdout: &stdout, Stderr: &stderr, Getenv: func(name string) string { return env[name] }})}
	got.stdout, got.stderr = stdout.String(), stderr.String()
	for name, to := range map[string]*string{"outputs": &got.outputs, "summary": &got.summary} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		*to = string(text)
	}
	if file, err := os.Open(filepath.Join(out, "verdict.json")); err == nil {
		defer file.Close()
		if got.verdict, err = report.ReadVerdict(file); err != nil {
			t.Fatal(err)
		}
	}
	return got
}

func (s step) expect(t *testing.T, code int, says ...string) {
	t.Helper()
	if s.code != code {
		t.Errorf("exit code %d, want %d", s.code, code)
	}
	for _, want := range says {
		if !strings.Contains(s.stdout+s.stderr+s.summary, want) {
			t.Errorf("nothing says %q", want)
		}
	}
	// The mask command alone may name the token: it is how the runner learns it.
	if rest := strings.ReplaceAll(s.stdout, "::add-mask::"+actionsToken, ""); strings.Contains(rest+s.stderr+s.summary+s.outputs, actionsToken) {
		t.Error("the token stands in what the step wrote")
	}
	if t.Failed() {
		t.Logf("stdout:\n%s\nstderr:\n%s\nsummary:\n%s\noutputs:\n%s", s.stdout, s.stderr, s.summary, s.outputs)
	}
}

func (w *workflow) recorded() int { return w.github.CommitCount(actionsRepo, baselines.DefaultBranch) }

func TestPullRequestWithoutBaseline(t *testing.T) {
	w := newWorkflow(t)
	config := fmt.Sprintf(actionsConfig, "40")
	w.baseFile("llm-gate.yml", config)
	w.file(t, "llm-gate.yml", config)
	w.run(t, "pull_request").expect(t, 3, "not judged", "run the gate once on the default branch", "unchanged by this pull request")
	w.run(t, "pull_request", "--not-judged", "warn").expect(t, 0, "let through with a warning")
	if n := w.recorded(); n != 0 {
		t.Errorf("%d baselines recorded by a pull request", n)
	}
	if got := w.github.Comments(actionsRepo, 7); len(got) != 1 || !strings.Contains(got[0].Body, "let through with a warning") {
		t.Errorf("comments %+v: want one, updated in place", got)
	}
}

// TestPullRequestJudgedByItsBase has pull requests that bring a policy of their
// own.
func TestPullRequestJudgedByItsBase(t *testing.T) {
	w := newWorkflow(t)
	config := fmt.Sprintf(actionsConfig, "40")
	w.file(t, "llm-gate.yml", config)
	w.run(t, "push").expect(t, 0, "first baseline recorded")
	if n := w.recorded(); n != 1 {
		t.Fatalf("%d baselines recorded by the default branch, want 1", n)
	}

	// The base has no policy yet: the pull request's only observes.
	got := w.run(t, "pull_request")
	got.expect(t, 0, "observing", "has no llm-gate.yml yet")

	// The pull request changes rate and tolerance: the base's are used, and said.
	w.baseFile("llm-gate.yml", config)
	w.file(t, "llm-gate.yml", strings.ReplaceAll(fmt.Sprintf(actionsConfig, "50"), "500%", "900%"))
	got = w.run(t, "pull_request")
	got.expect(t, 0, "this pull request changes llm-gate.yml")
	if policy := got.verdict.Policy.Checks[0]; policy.Metric != "tpot_p95" || policy.Tolerance.Value != 5 {
		t.Errorf("judged by %+v, want the base's tolerance of 500 %%", policy)
	}

	// It cannot take the policy away either.
	if err := os.Remove(filepath.Join(w.workspace, "llm-gate.yml")); err != nil {
		t.Fatal(err)
	}
	w.file(t, "llm-gate.yml", "version: 1\nname: other\n")
	got = w.run(t, "pull_request")
	if got.verdict.Name != "chat" {
		t.Errorf("judged as %q, want the base's chat", got.verdict.Name)
	}
	if n := w.recorded(); n != 1 {
		t.Errorf("%d baselines after pull requests, want the 1 before", n)
	}
}

func TestActionsRefusals(t *testing.T) {
	w := newWorkflow(t)
	w.file(t, "llm-gate.yml", fmt.Sprintf(actionsConfig, "40"))
	w.run(t, "push", "--baseline-dir", filepath.Join(w.workspace, "store")).expect(t, 2, "GITHUB_WORKSPACE")
	got := w.run(t, "push", "--token-env", "ABSENT", "--fail-on", "orange")
	got.expect(t, 2, "red, yellow or never")
	if !strings.Contains(got.outputs, "not_judged") || !strings.Contains(got.outputs, "blocked") {
		t.Errorf("outputs of a run that could not start: %q, want not_judged and blocked", got.outputs)
	}
}
