package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/llm-gate/baselines"
	"github.com/org/llm-gate/gate/github/githubtest"
)

// consumerWorkflow is a workflow as a user writes it. %s is how it names the
// action; what the action put out lands in $EVIDENCE.
const consumerWorkflow = `name: gate
on: [push, pull_request]
permissions: {contents: write, pull-requests: write}
jobs:
  llm-gate:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - id: gate
        uses: %s
        with: {target: "${{ vars.TARGET }}"}
      - if: always()
        env:
          OUTPUTS: ${{ toJSON(steps.gate.outputs) }}
          OUTCOME: ${{ steps.gate.outcome }}
          VERDICT: ${{ steps.gate.outputs.verdict-file }}
          RESULT: ${{ steps.gate.outputs.result }}
          REPORT: ${{ steps.gate.outputs.report }}
          HTML: ${{ steps.gate.outputs.html }}
        run: |
          printf '%%s' "$OUTPUTS" >"$EVIDENCE/outputs.json"
          printf '%%s' "$OUTCOME" >"$EVIDENCE/outcome"
          for file in "$VERDICT" "$RESULT" "$REPORT" "$HTML"; do test -s "$file"; done
          touch "$EVIDENCE/files"
  promote:
    needs: llm-gate
    runs-on: ubuntu-latest
    steps:
      - run: touch "$EVIDENCE/promoted"
`

// consumerConfig is short; medians, wide tolerances and a high limit on late
// sends let it work on a small and busy machine.
const consumerConfig = `version: 1
name: chat
load:
  rate: 20/s
  arrivals: constant
  rounds: 3
  length: 3s
  warmup: 8
  seed: 1
  late_limit: 200ms
  prompts: {input: 64, output: 16, shared_prefix: 32, groups: 4}
checks:
  ttft_p50: {tolerance: 50%}
  tpot_p50: {tolerance: 50%}
  e2e_p50:  {tolerance: 50%}
  ttft_p95: off
  tpot_p95: off
  e2e_p95:  off
  error_rate: {max: 5%}
`

// Of the payloads in gate/github/testdata.
const (
	consumerRepo = "Codertocat/Hello-World"
	consumerPull = 2
)

// consumer is a repository that uses the action, its GitHub, and act to run its
// workflows.
type consumer struct {
	act, dir, action string
	github           *githubtest.Server
	extra            []string // further arguments of act
}

// newConsumer makes a repository whose workflow names the action as uses. The
// action's files are the working tree's, uncommitted changes included.
func newConsumer(t *testing.T, uses string) *consumer {
	t.Helper()
	c := &consumer{act: program(t, "ACT", "bin", "act"), dir: t.TempDir(), github: githubtest.New(t)}
	c.action = c.dir
	if uses != "./" {
		c.action = t.TempDir()
		c.extra = []string{"--local-repository", uses + "=" + c.action}
	}
	copyTree(t, c.action)
	writeFile(t, filepath.Join(c.dir, ".github/workflows/gate.yml"), fmt.Sprintf(consumerWorkflow, uses))
	writeFile(t, filepath.Join(c.dir, "llm-gate.yml"), consumerConfig)
	c.commit(t)
	c.github.AddRepo(consumerRepo)
	c.github.SetFile(consumerRepo, "main", "llm-gate.yml", []byte(consumerConfig))
	c.github.AddPull(consumerRepo, githubtest.Pull{
		Number: consumerPull, HeadSHA: c.head(t), HeadRef: "changes", BaseSHA: c.github.Head(consumerRepo, "main"), BaseRef: "main",
	})
	// No release of the action is published there: it is built.
	c.github.Fail(func(r *http.Request) *githubtest.Answer {
		if strings.HasSuffix(r.URL.Path, "/releases") {
			return &githubtest.Answer{Status: http.StatusNotFound, Body: `{"message":"Not Found"}`}
		}
		return nil
	})
	return c
}

// copyTree copies what git knows, or would add, of the working tree.
func copyTree(t *testing.T, to string) {
	t.Helper()
	from := repository(t)
	for _, name := range strings.Split(strings.TrimSuffix(git(t, from, "ls-files", "-z", "--cached", "--others", "--exclude-standard"), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(from, name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, ".github/workflows/") {
			continue // our own
		}
		writeFile(t, filepath.Join(to, name), string(data))
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// commit makes the repository that act takes its facts from.
func (c *consumer) commit(t *testing.T) {
	t.Helper()
	git(t, c.dir, "init", "-q", "-b", "main")
	git(t, c.dir, "add", "-A")
	git(t, c.dir, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "-m", "Begin")
	git(t, c.dir, "remote", "add", "origin", "https://github.com/"+consumerRepo+".git")
}

func (c *consumer) head(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(git(t, c.dir, "rev-parse", "HEAD"))
}

// event is the payload of an event with the commits of these repositories.
func (c *consumer) event(t *testing.T, name string) string {
	t.Helper()
	var payload map[string]any
	readJSON(t, filepath.Join(repository(t), "gate/github/testdata/events", name+".json"), &payload)
	payload["repository"].(map[string]any)["default_branch"] = "main"
	switch name {
	case "push":
		payload["ref"], payload["after"] = "refs/heads/main", c.head(t)
		payload["head_commit"].(map[string]any)["id"] = c.head(t)
	case "pull_request":
		pull := payload["pull_request"].(map[string]any)
		pull["head"].(map[string]any)["sha"] = c.head(t)
		base := pull["base"].(map[string]any)
		base["ref"], base["sha"] = "main", c.github.Head(consumerRepo, "main")
	}
	data, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name+".json")
	writeFile(t, path, string(data))
	return path
}

// workflowRun is what a run of the workflow left.
type workflowRun struct {
	green    bool // the workflow's own colour
	outcome  string
	outputs  map[string]string
	summary  string
	promoted bool
	log      string
}

// run runs the workflow for an event against a target.
func (c *consumer) run(t *testing.T, event, target string) workflowRun {
	t.Helper()
	evidence, home := t.TempDir(), t.TempDir()
	args := []string{
		event, "-e", c.event(t, event), "-W", ".github/workflows/gate.yml", "-P", "ubuntu-latest=-self-hosted",
		"--env", "GITHUB_API_URL=" + c.github.URL, "-s", "GITHUB_TOKEN=ghs_0123456789abcdefghijklmnopqrstuvwxyz",
		"--var", "TARGET=" + target, "--env", "EVIDENCE=" + evidence,
		"--cache-server-addr", "127.0.0.1", "--cache-server-path", filepath.Join(home, "cache"),
		"--artifact-server-addr", "127.0.0.1", "--action-offline-mode",
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS"} {
		value, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.TrimSpace(string(value)); text != "" {
			args = append(args, "--env", name+"="+text)
		}
	}
	cmd := measured(t.Context(), c.act, append(args, c.extra...)...)
	cmd.Dir = c.dir
	cmd.Env = append(cmd.Env, "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, ".cache"), "XDG_CONFIG_HOME="+filepath.Join(home, ".config"))
	log, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatalf("run act: %v", err)
	}
	got := workflowRun{green: err == nil, outputs: map[string]string{}, log: string(log)}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(evidence, name))
		if err != nil {
			t.Fatalf("the workflow did not come to its end: %v\n%s", err, log)
		}
		return string(data)
	}
	got.outcome = read("outcome")
	read("files") // is written only where the files that the outputs name are there
	_, got.summary, _ = strings.Cut(got.log, "Summary - ")
	readJSON(t, filepath.Join(evidence, "outputs.json"), &got.outputs)
	_, err = os.Stat(filepath.Join(evidence, "promoted"))
	got.promoted = err == nil
	return got
}

// sim serves a simulated engine until the test ends and returns its address.
func (g gateBinary) sim(t *testing.T, args ...string) string {
	t.Helper()
	return start(t, string(g), append([]string{"sim", "--addr", "127.0.0.1:0"}, args...)...).waitFor(t, `listens on (http://[0-9.:]+)`)[1]
}

// TestRealWorkflow runs a consumer's workflow as a runner would: the default
// branch records a baseline, a healthy pull request is green, one that makes
// the deployment slower is red and does not promote.
func TestRealWorkflow(t *testing.T) {
	c := newConsumer(t, "./")
	gate := gateBinary(build(t, "."))
	// Long steps: beside them the delays of a busy machine are small.
	healthy := gate.sim(t, "--step-base", "40ms")
	slower := gate.sim(t, "--step-base", "40ms", "--step-factor", "3", "--engine-version", "0.12.0")

	push := c.run(t, "push", healthy)
	push.expect(t, true, "yellow", "false", "first baseline")
	if n := len(c.github.Files(consumerRepo, baselines.DefaultBranch)); n == 0 {
		t.Errorf("the branch %s holds no file after the first run\n%s", baselines.DefaultBranch, push.log)
	}
	recorded := c.github.CommitCount(consumerRepo, baselines.DefaultBranch)
	if got := c.github.Comments(consumerRepo, consumerPull); len(got) != 0 {
		t.Errorf("a push wrote %d comments", len(got))
	}

	green := c.run(t, "pull_request", healthy)
	green.expect(t, true, "green", "false", "safe to promote")
	created := c.comment(t, "safe to promote")
	if green.outputs["baseline"] == "" {
		t.Error("the output baseline is empty: the pull request was compared with nothing")
	}

	red := c.run(t, "pull_request", slower)
	red.expect(t, false, "red", "true", "promotion blocked")
	if !strings.Contains(red.log, "exit status 1") && !strings.Contains(red.log, "exitcode '1'") {
		t.Errorf("the step did not fail with exit code 1:\n%s", red.log)
	}
	if updated := c.comment(t, "promotion blocked"); updated.ID != created.ID {
		t.Errorf("the second run wrote comment %d, the first %d: want the same one updated", updated.ID, created.ID)
	}
	if got := c.github.CommitCount(consumerRepo, baselines.DefaultBranch); got != recorded {
		t.Errorf("the branch of baselines has %d commits after pull requests, %d before: they must not record", got, recorded)
	}
}

// TestRealWorkflowByTag uses the action from a repository of its own.
func TestRealWorkflowByTag(t *testing.T) {
	c := newConsumer(t, "org/llm-gate@v1")
	gate := gateBinary(build(t, "."))
	c.run(t, "push", gate.sim(t)).expect(t, true, "yellow", "false", "first baseline")
	if n := c.github.CommitCount(consumerRepo, baselines.DefaultBranch); n == 0 {
		t.Errorf("the branch %s has no commit after the first run", baselines.DefaultBranch)
	}
}

// expect holds a run against the workflow's colour, the outputs and what the
// summary says.
func (r workflowRun) expect(t *testing.T, green bool, verdict, blocked, says string) {
	t.Helper()
	want := map[bool]string{true: "success", false: "failure"}[green]
	if r.green != green || r.outcome != want || r.promoted != green {
		t.Errorf("workflow green %t, outcome %q, promoted %t; want %t, %q, %t", r.green, r.outcome, r.promoted, green, want, green)
	}
	if r.outputs["verdict"] != verdict || r.outputs["blocked"] != blocked || r.outputs["reason"] == "" {
		t.Errorf("outputs %v; want verdict %s, blocked %s and a reason", r.outputs, verdict, blocked)
	}
	if !strings.Contains(strings.ToLower(r.summary), says) {
		t.Errorf("the job's summary does not say %q:\n%s", says, r.summary)
	}
	if t.Failed() {
		t.Logf("the workflow's log:\n%s", r.log)
	}
}

// comment is the pull request's only comment, which must say something.
func (c *consumer) comment(t *testing.T, says string) githubtest.Comment {
	t.Helper()
	got := c.github.Comments(consumerRepo, consumerPull)
	if len(got) != 1 {
		t.Fatalf("the pull request has %d comments, want 1", len(got))
	}
	if got[0].Author != githubtest.Bot || !strings.Contains(got[0].Body, says) {
		t.Errorf("the comment of %s does not say %q:\n%s", got[0].Author, says, got[0].Body)
	}
	return got[0]
}
