package config

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/org/llm-gate/gate"
)

func TestStarterLoadsAndObserves(t *testing.T) {
	for _, o := range []StarterOptions{{}, {Name: "chat-8b", TargetURL: "http://127.0.0.1:8000"}, {Name: "bad\nname: x", TargetURL: "nonsense\nx: y"}} {
		c, err := Load("llm-gate.yml", Starter(o), env)
		if err != nil {
			t.Errorf("%+v: %v", o, err)
			continue
		}
		if c.Policy.FailOn != gate.FailOnNever {
			t.Errorf("fail_on is %s", c.Policy.FailOn)
		}
		// What it writes out is the default plan, so that nobody is surprised.
		if diff := cmp.Diff(Default().Load, c.Load); diff != "" {
			t.Errorf("the starter's plan is not the default (-want +got):\n%s", diff)
		}
	}
}

func TestStarterWorkflow(t *testing.T) {
	type job struct {
		RunsOn      []string          `yaml:"runs-on"`
		Permissions map[string]string `yaml:"permissions"`
		Concurrency struct {
			Group  string `yaml:"group"`
			Cancel *bool  `yaml:"cancel-in-progress"`
		} `yaml:"concurrency"`
		Steps []struct {
			Uses string            `yaml:"uses"`
			With map[string]string `yaml:"with"`
		} `yaml:"steps"`
	}
	var w struct {
		Jobs map[string]job `yaml:"jobs"`
	}
	text := StarterWorkflow(StarterOptions{RunnerLabel: "h100"})
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	j, ok := w.Jobs["llm-gate"]
	if !ok || len(w.Jobs) != 1 {
		t.Fatalf("jobs: %v", w.Jobs)
	}
	if diff := cmp.Diff([]string{"self-hosted", "h100"}, j.RunsOn); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"contents": "write", "pull-requests": "write"}, j.Permissions); diff != "" {
		t.Error(diff)
	}
	if j.Concurrency.Group != "h100-gate" || j.Concurrency.Cancel == nil || *j.Concurrency.Cancel {
		t.Errorf("concurrency: %+v", j.Concurrency)
	}
	if len(j.Steps) != 2 || j.Steps[1].Uses != "org/llm-gate@v1" || j.Steps[1].With["target"] == "" {
		t.Errorf("steps: %+v", j.Steps)
	}
	if strings.Contains(string(text), "pull_request_target") {
		t.Error("never advise pull_request_target")
	}
}
