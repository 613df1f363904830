package github

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ErrNotActions says that the environment is not that of GitHub Actions.
var ErrNotActions = errors.New("not a GitHub Actions run: GITHUB_REPOSITORY and GITHUB_EVENT_NAME are not set")

// Repo names a repository.
type Repo struct{ Owner, Name string }

// String is owner/name.
func (r Repo) String() string { return r.Owner + "/" + r.Name }

// Env is where a run stands: what GitHub Actions says in its environment and in
// the file of the event. It holds no secret.
type Env struct {
	// Event is the event's name ("pull_request", "push", ...).
	Event string
	Repo  Repo
	// SHA is the head commit that the run judges: the head of the pull request
	// (never the merge commit of GITHUB_SHA), of the merge group, of the
	// workflow run, of the deployment or of the push.
	SHA string
	// Ref is the ref of the judged commit where the event names one, else
	// GITHUB_REF.
	Ref string
	// PullRequest is the number of the pull request, 0 where there is none or
	// where the event does not say (a workflow_run of a fork).
	PullRequest int
	// ForPullRequest says that the commit stands in a pull request that is not
	// merged, merge groups included: its figures are no baseline by themselves.
	ForPullRequest bool
	// Fork says that the commit comes from another repository: the content of
	// the run is in the hands of a stranger and the token is read-only.
	Fork bool
	// BaseRef (a branch name) and BaseSHA are what a pull request or a merge
	// group goes into; "" elsewhere.
	BaseRef, BaseSHA string
	// DefaultBranch is the repository's, "" where the event does not say.
	DefaultBranch string
	// RunID, RunAttempt (from 1) and RunURL identify this workflow run.
	RunID      int64
	RunAttempt int
	RunURL     string
	// TriggerRunID and TriggerEvent are those of the run that a workflow_run
	// event follows; 0 and "" elsewhere.
	TriggerRunID int64
	TriggerEvent string
	Actor        string
	// Job is the job's id in the workflow file, Workflow the workflow's name.
	Job, Workflow string
	// DeploymentID, Environment and EnvironmentURL are those of a deployment or
	// deployment_status event. DeploymentState is the status reported. The URL
	// is data from outside.
	DeploymentID    int64
	DeploymentState string
	Environment     string
	EnvironmentURL  string
	// APIURL and ServerURL are the addresses of the API and of the site.
	APIURL, ServerURL string
	// Workspace and RunnerTemp are directories that end with the runner.
	Workspace, RunnerTemp string
}

// OnDefaultBranch reports that the judged commit stands on the repository's
// default branch by what the event says; false where it does not say. A
// deployment of a preview is no pull request's by its event, but it is not on
// the default branch either.
func (e Env) OnDefaultBranch() bool {
	return e.DefaultBranch != "" && !e.ForPullRequest && !e.Fork && strings.TrimPrefix(e.Ref, "refs/heads/") == e.DefaultBranch
}

var commitSHA = regexp.MustCompile(`^[0-9a-f]{40}(?:[0-9a-f]{24})?$`)

// FromEnv reads the environment through getenv (os.Getenv) and the file that
// GITHUB_EVENT_PATH names. Outside Actions the error is ErrNotActions. A file
// that is missing or malformed where the event needs it is an error that names
// the file: the commit to judge is never guessed.
func FromEnv(getenv func(string) string) (Env, error) {
	env := Env{
		Event: getenv("GITHUB_EVENT_NAME"), SHA: strings.ToLower(getenv("GITHUB_SHA")), Ref: getenv("GITHUB_REF"),
		Actor: getenv("GITHUB_ACTOR"), Job: getenv("GITHUB_JOB"), Workflow: getenv("GITHUB_WORKFLOW"),
		APIURL: getenv("GITHUB_API_URL"), ServerURL: strings.TrimSuffix(getenv("GITHUB_SERVER_URL"), "/"),
		Workspace: getenv("GITHUB_WORKSPACE"), RunnerTemp: getenv("RUNNER_TEMP"),
		BaseRef: getenv("GITHUB_BASE_REF"), RunAttempt: 1,
	}
	repository := getenv("GITHUB_REPOSITORY")
	if repository == "" && env.Event == "" {
		return Env{}, ErrNotActions
	}
	owner, name, ok := strings.Cut(repository, "/")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return Env{}, fmt.Errorf("read GITHUB_REPOSITORY %q: want owner/name", repository)
	}
	env.Repo = Repo{owner, name}
	if env.APIURL == "" {
		env.APIURL = DefaultAPIURL
	}
	if env.ServerURL == "" {
		env.ServerURL = "https://github.com"
	}
	if text := getenv("GITHUB_RUN_ID"); text != "" {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return Env{}, fmt.Errorf("read GITHUB_RUN_ID %q: want a number", text)
		}
		env.RunID = id
	}
	if text := getenv("GITHUB_RUN_ATTEMPT"); text != "" {
		attempt, err := strconv.Atoi(text)
		if err != nil || attempt < 1 {
			return Env{}, fmt.Errorf("read GITHUB_RUN_ATTEMPT %q: want a number from 1", text)
		}
		env.RunAttempt = attempt
	}
	if env.RunID != 0 {
		env.RunURL = fmt.Sprintf("%s/%s/actions/runs/%d", env.ServerURL, env.Repo, env.RunID)
		if env.RunAttempt > 1 {
			env.RunURL += fmt.Sprintf("/attempts/%d", env.RunAttempt)
		}
	}
	if err := env.readEvent(getenv("GITHUB_EVENT_PATH")); err != nil {
		return Env{}, err
	}
	if !commitSHA.MatchString(env.SHA) {
		return Env{}, fmt.Errorf("find head commit of event %q: %q is not a commit id", env.Event, env.SHA)
	}
	return env, nil
}
