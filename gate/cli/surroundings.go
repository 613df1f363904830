package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	gh "github.com/google/go-github/v62/github"

	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/gate/config"
	"github.com/org/llm-gate/gate/github"
	"github.com/org/llm-gate/gate/publish"
	"github.com/org/llm-gate/gate/report"
	"github.com/org/llm-gate/loadtest"
)

// surroundings are where a run takes place: a workflow of GitHub Actions, or
// nothing of the kind.
type surroundings struct {
	actions  bool
	env      github.Env
	client   *gh.Client // nil without a token
	workflow *publish.Workflow
}

// surroundings reads the environment. tokenEnv names the variable that holds
// the token; GITHUB_TOKEN is looked at after it.
func (a *app) surroundings(tokenEnv string) (*surroundings, error) {
	s := &surroundings{workflow: publish.NewWorkflow(a.env.Stdout, a.env.Getenv)}
	env, err := github.FromEnv(a.env.Getenv)
	if errors.Is(err, github.ErrNotActions) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read where the workflow runs: %w", err)
	}
	s.actions, s.env = true, env
	token := cmp.Or(a.env.Getenv(tokenEnv), a.env.Getenv("GITHUB_TOKEN"))
	if token == "" {
		return s, nil
	}
	if err := s.workflow.Mask(token); err != nil {
		return nil, err
	}
	s.client, err = github.New(github.Options{Token: token, APIURL: env.APIURL, Log: a.log})
	return s, err
}

// mask keeps the config's secrets out of the workflow's log.
func (s *surroundings) mask(cfg *config.Config) error {
	for _, secret := range cfg.Secrets() {
		if err := s.workflow.Mask(secret); err != nil {
			return err
		}
	}
	return nil
}

// provenance is where the run came from.
func (s *surroundings) provenance() loadtest.Provenance {
	if !s.actions {
		return loadtest.Provenance{}
	}
	return loadtest.Provenance{
		Commit: s.env.SHA, Ref: s.env.Ref, Repository: s.env.Repo.String(), RunURL: s.env.RunURL,
		Event: s.env.Event, PullRequest: s.env.PullRequest, Attempt: s.env.RunAttempt,
	}
}

// publishers are the places that show the verdict, in order.
func (s *surroundings) publishers(a *app, cfg *config.Config) publish.Publisher {
	if !s.actions {
		return publish.All()
	}
	comment := &publish.Comment{
		Client: s.client, Owner: s.env.Repo.Owner, Repo: s.env.Repo.Name, Number: s.env.PullRequest,
		Name: cfg.Name, When: publish.When(cfg.Comment), Render: renderMarkdown, Log: a.log,
	}
	if s.env.Fork {
		comment.When = publish.Never // its token is read-only: the summary has the report
	}
	return publish.All(
		publish.Outputs{Workflow: s.workflow},
		publish.Summary{Workflow: s.workflow, Render: renderMarkdown},
		publish.Annotations{Workflow: s.workflow},
		comment,
	)
}

func renderMarkdown(w io.Writer, v *gate.Verdict, limit int) error {
	return report.MarkdownLimit(w, v, limit)
}

// publishTimeout bounds publishing; of an interrupted run it is short, since
// the runner kills the process 10 s after the first signal.
const (
	publishTimeout            = 3 * time.Minute
	publishTimeoutInterrupted = 2500 * time.Millisecond
)

// publish shows the notice everywhere. What fails is said and changes nothing.
func (a *app) publish(ctx context.Context, p publish.Publisher, n *publish.Notice) {
	timeout := publishTimeout
	if ctx.Err() != nil {
		timeout = publishTimeoutInterrupted
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	if err := p.Publish(ctx, n); err != nil {
		a.log.Warn("publishing failed; the verdict stands", "because", err)
	}
}
