package github

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// actions is an environment of Actions for one event.
func actions(event, path string, changes ...string) func(string) string {
	env := map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": event, "GITHUB_EVENT_PATH": path,
		"GITHUB_REPOSITORY": "Codertocat/Hello-World", "GITHUB_SHA": strings.Repeat("0", 39) + "1", "GITHUB_REF": "refs/heads/main",
		"GITHUB_SERVER_URL": "https://github.com", "GITHUB_API_URL": "https://api.github.com",
		"GITHUB_RUN_ID": "42", "GITHUB_RUN_ATTEMPT": "1", "GITHUB_ACTOR": "octocat", "GITHUB_JOB": "gate",
	}
	for i := 0; i < len(changes); i += 2 {
		env[changes[i]] = changes[i+1]
	}
	return func(name string) string { return env[name] }
}

func sample(event string) string { return filepath.Join("testdata", "events", event+".json") }

func written(t *testing.T, payload string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "event.json")
	if err := os.WriteFile(path, []byte(payload), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFromEnvReadsGitHubsOwnExamples(t *testing.T) {
	base := Env{
		Repo: Repo{"Codertocat", "Hello-World"}, SHA: strings.Repeat("0", 39) + "1", Ref: "refs/heads/main", DefaultBranch: "master",
		RunID: 42, RunAttempt: 1, RunURL: "https://github.com/Codertocat/Hello-World/actions/runs/42",
		Actor: "octocat", Job: "gate", APIURL: "https://api.github.com", ServerURL: "https://github.com",
	}
	for _, test := range []struct {
		event string
		want  func(*Env)
	}{
		{"pull_request", func(e *Env) {
			e.SHA, e.Ref, e.PullRequest, e.ForPullRequest = "ec26c3e57ca3a959ca5aad62de7213c562f8c821", "changes", 2, true
			e.BaseSHA, e.BaseRef = "f95f852bd8fca8fcc58a9a2d6c842781e32a215e", "master"
		}},
		{"merge_group", func(e *Env) {
			e.SHA = "2ffea6db159f6b6c47a24e778fb9ef40cf6b1c7d"
			e.Ref = "refs/heads/gh-readonly-queue/main/pr-104-929f8209d40f77f4abc622a499c93a83babdbe64"
			e.PullRequest, e.ForPullRequest = 104, true
			e.BaseSHA, e.BaseRef = "380387fbc80638b734a49e1be1c4dfec1c01b33c", "main"
		}},
		{"workflow_run", func(e *Env) { // its head lies in octo-org/octo-repo
			e.SHA, e.Ref, e.Fork = "5779607b49aab1200488439f02372c57b4f75444", "main", true
			e.TriggerRunID, e.TriggerEvent = 1589141559, "workflow_dispatch"
		}},
		{"deployment", func(e *Env) {
			e.SHA, e.Ref, e.DeploymentID, e.Environment = "f95f852bd8fca8fcc58a9a2d6c842781e32a215e", "master", 145988746, "production"
		}},
		{"deployment_status", func(e *Env) {
			e.SHA, e.Ref, e.DeploymentID, e.Environment = "f95f852bd8fca8fcc58a9a2d6c842781e32a215e", "master", 145988746, "production"
			e.DeploymentState = "success"
		}},
		{"push", func(e *Env) { e.SHA = "6113728f27ae82c7b1a177c8d03f9e96e0adf246" }},
		{"workflow_dispatch", func(*Env) {}},
	} {
		t.Run(test.event, func(t *testing.T) {
			got, err := FromEnv(actions(test.event, sample(test.event)))
			if err != nil {
				t.Fatal(err)
			}
			want := base
			want.Event = test.event
			test.want(&want)
			if got.DefaultBranch != "" { // the examples are of several repositories
				want.DefaultBranch = got.DefaultBranch
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFromEnvCases(t *testing.T) {
	sha := strings.Repeat("a", 40)
	head := func(repo string) string {
		return `{"number":3,"pull_request":{"number":3,"head":{"sha":"` + sha + `","ref":"f","repo":` + repo + `},"base":{"ref":"main","sha":"` + sha + `"}}}`
	}
	for _, test := range []struct {
		name, event, payload string
		check                func(Env) bool
	}{
		{"fork", "pull_request", head(`{"full_name":"stranger/Hello-World"}`), func(e Env) bool { return e.Fork && e.PullRequest == 3 && e.SHA == sha }},
		{"deleted fork", "pull_request", head(`null`), func(e Env) bool { return e.Fork }},
		{"same repository in another case", "pull_request", head(`{"full_name":"codertocat/hello-world"}`), func(e Env) bool { return !e.Fork }},
		{"pull_request_target judges the head", "pull_request_target", head(`{"full_name":"stranger/Hello-World"}`), func(e Env) bool { return e.SHA == sha && e.Fork }},
		{"workflow_run of a pull request", "workflow_run",
			`{"workflow_run":{"id":9,"head_sha":"` + sha + `","event":"pull_request","head_repository":{"full_name":"Codertocat/Hello-World"},"pull_requests":[{"number":5,"base":{"ref":"main"}}]}}`,
			func(e Env) bool {
				return e.PullRequest == 5 && e.ForPullRequest && !e.Fork && e.BaseRef == "main" && e.TriggerRunID == 9
			}},
		{"workflow_run of a fork", "workflow_run",
			`{"workflow_run":{"id":9,"head_sha":"` + sha + `","event":"pull_request","head_repository":{"full_name":"stranger/Hello-World"},"pull_requests":[]}}`,
			func(e Env) bool { return e.PullRequest == 0 && e.ForPullRequest && e.Fork }},
		{"deployment_status with its address", "deployment_status",
			`{"deployment":{"id":1,"sha":"` + sha + `","environment":"staging"},"deployment_status":{"state":"success","environment_url":"https://preview.example.com"}}`,
			func(e Env) bool {
				return e.EnvironmentURL == "https://preview.example.com" && e.Environment == "staging"
			}},
		{"annotated tag", "push", `{"after":"` + strings.Repeat("b", 40) + `","head_commit":{"id":"` + sha + `"}}`, func(e Env) bool { return e.SHA == sha }},
		{"schedule", "schedule", `{"schedule":"0 3 * * *"}`, func(e Env) bool { return !e.ForPullRequest && strings.HasSuffix(e.SHA, "1") }},
		{"an event not known here", "release", `{"action":"published"}`, func(e Env) bool { return strings.HasSuffix(e.SHA, "1") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := FromEnv(actions(test.event, written(t, test.payload)))
			if err != nil || !test.check(got) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
	got, err := FromEnv(actions("push", "", "GITHUB_RUN_ATTEMPT", "3", "GITHUB_SERVER_URL", "https://ghes.example.com/", "GITHUB_API_URL", ""))
	if err != nil || got.RunURL != "https://ghes.example.com/Codertocat/Hello-World/actions/runs/42/attempts/3" || got.APIURL != DefaultAPIURL {
		t.Errorf("attempt 3 of a run: %q, %q, %v", got.RunURL, got.APIURL, err)
	}
}

func TestOnDefaultBranch(t *testing.T) {
	for _, test := range []struct {
		env  Env
		want bool
	}{
		{Env{Ref: "refs/heads/main", DefaultBranch: "main"}, true},
		{Env{Ref: "main", DefaultBranch: "main"}, true},
		{Env{Ref: "preview", DefaultBranch: "main"}, false},
		{Env{Ref: "refs/tags/main", DefaultBranch: "main"}, false},
		{Env{Ref: "main", DefaultBranch: "main", Fork: true}, false},
		{Env{Ref: "main", DefaultBranch: "main", ForPullRequest: true}, false},
		{Env{}, false},
	} {
		if got := test.env.OnDefaultBranch(); got != test.want {
			t.Errorf("%+v: %v, want %v", test.env, got, test.want)
		}
	}
}

func TestFromEnvErrors(t *testing.T) {
	if _, err := FromEnv(func(string) string { return "" }); !errors.Is(err, ErrNotActions) {
		t.Errorf("outside Actions: %v, want ErrNotActions", err)
	}
	cut, err := os.ReadFile(sample("pull_request"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		getenv func(string) string
		want   []string
	}{
		{"no event file", actions("pull_request", ""), []string{"GITHUB_EVENT_PATH"}},
		{"missing event file", actions("pull_request", "/nonexistent/event.json"), []string{"/nonexistent/event.json"}},
		{"cut event file", actions("pull_request", written(t, string(cut[:len(cut)/2]))), []string{"event.json:", "malformed JSON"}},
		{"malformed", actions("push", written(t, "{\n\"after\": !\n}")), []string{"event.json:2", "malformed JSON"}},
		{"malformed where it is not needed", actions("schedule", written(t, "{")), []string{"malformed JSON"}},
		{"wrong kind", actions("pull_request", written(t, `{"pull_request":{"head":{"sha":7}}}`)), []string{"event.json:1", "sha"}},
		{"empty payload", actions("pull_request", written(t, "{}")), []string{"pull_request.head.sha"}},
		{"no number", actions("pull_request", written(t, `{"pull_request":{"head":{"sha":"x"}}}`)), []string{"pull_request.number"}},
		{"no merge group", actions("merge_group", written(t, "{}")), []string{"merge_group.head_sha"}},
		{"no run", actions("workflow_run", written(t, "{}")), []string{"workflow_run.head_sha"}},
		{"no deployment", actions("deployment_status", written(t, "{}")), []string{"deployment.sha"}},
		{"deleted branch", actions("push", written(t, `{"deleted":true}`)), []string{"deleted"}},
		{"sha is no sha", actions("deployment", written(t, `{"deployment":{"sha":"$(rm -rf)"}}`)), []string{"not a commit id"}},
		{"no sha", actions("schedule", "", "GITHUB_SHA", ""), []string{"not a commit id"}},
		{"repository", actions("push", "", "GITHUB_REPOSITORY", "nonsense"), []string{"owner/name"}},
		{"run id", actions("push", "", "GITHUB_RUN_ID", "x"), []string{"GITHUB_RUN_ID"}},
		{"attempt", actions("push", "", "GITHUB_RUN_ATTEMPT", "0"), []string{"GITHUB_RUN_ATTEMPT"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := FromEnv(test.getenv)
			if err == nil {
				t.Fatalf("got %+v, want an error", got)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v: does not say %q", err, want)
				}
			}
		})
	}
}

func FuzzFromEnv(f *testing.F) {
	for event := range eventReaders {
		if data, err := os.ReadFile(sample(event)); err == nil {
			f.Add(event, data)
		}
	}
	f.Fuzz(func(t *testing.T, event string, payload []byte) {
		got, err := FromEnv(actions(event, written(t, string(payload))))
		if err == nil && !commitSHA.MatchString(got.SHA) {
			t.Fatalf("took %q for a commit", got.SHA)
		}
	})
}
