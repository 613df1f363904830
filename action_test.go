package main_test

import (
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/org/llm-gate/gate/publish"
)

type action struct {
	Inputs map[string]struct {
		Description string
		Default     string
		Required    bool
	}
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []step
	}
}

type step struct {
	ID, Uses, Shell, Run string
	Env                  map[string]string
}

func readAction(t *testing.T) action {
	t.Helper()
	raw, err := os.ReadFile("action.yml")
	if err != nil {
		t.Fatal(err)
	}
	var a action
	if err := yaml.Unmarshal(raw, &a); err != nil {
		t.Fatal(err)
	}
	if len(a.Runs.Steps) == 0 {
		t.Fatal("action.yml has no steps")
	}
	return a
}

func TestActionPassesEveryInputThroughTheEnvironment(t *testing.T) {
	a := readAction(t)
	gate := a.Runs.Steps[len(a.Runs.Steps)-1]
	for name, input := range a.Inputs {
		if input.Description == "" || input.Required {
			t.Errorf("input %s: want a description and not required, since a config may say it", name)
		}
		if name == "version" {
			continue // the installer's
		}
		if name == "metrics" {
			name = "metrics-url"
		}
		variable := "LLM_GATE_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if value := gate.Env[variable]; !strings.HasPrefix(value, "${{ inputs."+strings.TrimSuffix(name, "-url")+" ") {
			t.Errorf("input %s: %s is %q", name, variable, value)
		}
	}
	for _, s := range a.Runs.Steps {
		if strings.Contains(s.Run, "${{") {
			t.Errorf("step %q puts an expression into its script", s.ID)
		}
	}
}

// A cancelled job signals the step's process only.
func TestActionsLastLineReplacesTheShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	a := readAction(t)
	gate := a.Runs.Steps[len(a.Runs.Steps)-1]
	dir := t.TempDir()
	bin, script := filepath.Join(dir, "llm gate"), filepath.Join(dir, "step.sh")
	write(t, bin, "#!/bin/sh\necho $$ \"$@\"\nexit 3\n")
	write(t, script, gate.Run)
	if err := os.Chmod(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bash, "--noprofile", "--norc", "-eo", "pipefail", script)
	cmd.Env = append(os.Environ(), "LLM_GATE_BIN="+bin)
	out, _ := cmd.Output()
	if got, want := string(out), strconv.Itoa(cmd.Process.Pid)+" run\n"; got != want {
		t.Errorf("step printed %q, want %q: the gate in the shell's own process", got, want)
	}
	if code := cmd.ProcessState.ExitCode(); code != 3 {
		t.Errorf("exit %d, want the gate's 3", code)
	}
}

func TestActionDeclaresTheOutputsThatAreSet(t *testing.T) {
	file := filepath.Join(t.TempDir(), "output")
	w := publish.NewWorkflow(io.Discard, func(name string) string {
		if name == "GITHUB_OUTPUT" {
			return file
		}
		return ""
	})
	if err := (publish.Outputs{Workflow: w}).Publish(t.Context(), &publish.Notice{Phase: publish.Done}); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var set []string
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+)<<`).FindAllStringSubmatch(string(raw), -1) {
		set = append(set, m[1])
	}
	a := readAction(t)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(a.Outputs)), slices.Sorted(slices.Values(set))); diff != "" {
		t.Errorf("outputs (-declared +set):\n%s", diff)
	}
	for name, output := range a.Outputs {
		if !strings.HasPrefix(output.Value, "${{ steps.gate.outputs."+name+" ") {
			t.Errorf("output %s is %q", name, output.Value)
		}
	}
}

func TestWorkflowsPinActionsAndPermissions(t *testing.T) {
	paths, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	pinned := regexp.MustCompile(`^(\./.*|[\w.-]+/[\w./-]+@[0-9a-f]{40})$`)
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var w struct {
			Permissions map[string]string
			Jobs        map[string]struct{ Steps []step }
		}
		if err := yaml.Unmarshal(raw, &w); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if diff := cmp.Diff(map[string]string{"contents": "read"}, w.Permissions); diff != "" {
			t.Errorf("%s: permissions of all jobs (-want +got):\n%s", path, diff)
		}
		for name, job := range w.Jobs {
			for _, s := range job.Steps {
				if s.Uses != "" && !pinned.MatchString(s.Uses) {
					t.Errorf("%s: job %s: %s is not pinned by a commit", path, name, s.Uses)
				}
				if strings.Contains(s.Run, "${{") {
					t.Errorf("%s: job %s puts an expression into a script", path, name)
				}
			}
		}
	}
}
