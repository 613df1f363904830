package github

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// maxEventBytes is above the 25 MB at which GitHub caps a payload.
const maxEventBytes = 32 << 20

// event is what the payloads hold that matters here. The names are GitHub's.
type event struct {
	Number      int `json:"number"`
	PullRequest *struct {
		Number int      `json:"number"`
		Head   endpoint `json:"head"`
		Base   endpoint `json:"base"`
	} `json:"pull_request"`
	MergeGroup *struct {
		HeadSHA string `json:"head_sha"`
		HeadRef string `json:"head_ref"`
		BaseSHA string `json:"base_sha"`
		BaseRef string `json:"base_ref"`
	} `json:"merge_group"`
	WorkflowRun *struct {
		ID           int64       `json:"id"`
		HeadSHA      string      `json:"head_sha"`
		HeadBranch   string      `json:"head_branch"`
		Event        string      `json:"event"`
		HeadRepo     *repository `json:"head_repository"`
		PullRequests []struct {
			Number int      `json:"number"`
			Base   endpoint `json:"base"`
		} `json:"pull_requests"`
	} `json:"workflow_run"`
	Deployment *struct {
		ID          int64  `json:"id"`
		SHA         string `json:"sha"`
		Ref         string `json:"ref"`
		Environment string `json:"environment"`
	} `json:"deployment"`
	DeploymentStatus *struct {
		State          string `json:"state"`
		Environment    string `json:"environment"`
		EnvironmentURL string `json:"environment_url"`
	} `json:"deployment_status"`
	After      string `json:"after"`
	Deleted    bool   `json:"deleted"`
	HeadCommit *struct {
		ID string `json:"id"`
	} `json:"head_commit"`
	Repository *repository `json:"repository"`
}

type endpoint struct {
	Ref  string      `json:"ref"`
	SHA  string      `json:"sha"`
	Repo *repository `json:"repo"`
}

type repository struct {
	FullName      string `json:"full_name"`
	DefaultBranch string `json:"default_branch"`
}

// eventReaders says how each event fills an Env. An event that stands here
// needs its payload; any other is taken by GITHUB_SHA.
var eventReaders = map[string]func(*Env, *event) error{
	"pull_request":        (*Env).fromPullRequest,
	"pull_request_target": (*Env).fromPullRequest,
	"pull_request_review": (*Env).fromPullRequest,
	"merge_group":         (*Env).fromMergeGroup,
	"workflow_run":        (*Env).fromWorkflowRun,
	"deployment":          (*Env).fromDeployment,
	"deployment_status":   (*Env).fromDeployment,
	"push":                (*Env).fromPush,
}

func (env *Env) readEvent(path string) error {
	read := eventReaders[env.Event]
	if path == "" {
		if read == nil || env.Event == "push" {
			return nil
		}
		return fmt.Errorf("read event %q: GITHUB_EVENT_PATH is not set", env.Event)
	}
	payload, err := decodeEvent(path)
	if err != nil {
		return fmt.Errorf("read event %q: %w", env.Event, err)
	}
	if payload.Repository != nil {
		env.DefaultBranch = payload.Repository.DefaultBranch
	}
	if read == nil {
		return nil
	}
	if err := read(env, payload); err != nil {
		return fmt.Errorf("read event %q from %s: %w", env.Event, path, err)
	}
	return nil
}

func decodeEvent(path string) (*event, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxEventBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxEventBytes:
		return nil, fmt.Errorf("%s is larger than %d MiB", path, maxEventBytes>>20)
	}
	payload := new(event)
	if err := json.Unmarshal(data, payload); err != nil {
		return nil, fmt.Errorf("%s:%d: malformed JSON: %w", path, lineOf(data, err), err)
	}
	return payload, nil
}

// lineOf is the line, from 1, at which decoding failed.
func lineOf(data []byte, err error) int {
	offset := int64(len(data))
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) {
		offset = syntax.Offset
	} else if errors.As(err, &kind) {
		offset = kind.Offset
	}
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}

func (env *Env) fromPullRequest(payload *event) error {
	pr := payload.PullRequest
	if pr == nil || pr.Head.SHA == "" {
		return errors.New("no pull_request.head.sha")
	}
	env.PullRequest = pr.Number
	if env.PullRequest == 0 {
		env.PullRequest = payload.Number
	}
	if env.PullRequest <= 0 {
		return errors.New("no pull_request.number")
	}
	env.SHA, env.Ref = pr.Head.SHA, pr.Head.Ref
	env.BaseSHA, env.BaseRef = pr.Base.SHA, pr.Base.Ref
	env.ForPullRequest = true
	env.Fork = !env.sameRepo(pr.Head.Repo)
	return nil
}

// mergeQueueRef is how GitHub names the branch of a merge group.
var mergeQueueRef = regexp.MustCompile(`/pr-(\d+)-[0-9a-f]+$`)

func (env *Env) fromMergeGroup(payload *event) error {
	group := payload.MergeGroup
	if group == nil || group.HeadSHA == "" {
		return errors.New("no merge_group.head_sha")
	}
	env.SHA, env.Ref = group.HeadSHA, group.HeadRef
	env.BaseSHA, env.BaseRef = group.BaseSHA, strings.TrimPrefix(group.BaseRef, "refs/heads/")
	env.ForPullRequest = true
	if m := mergeQueueRef.FindStringSubmatch(group.HeadRef); m != nil {
		env.PullRequest, _ = strconv.Atoi(m[1]) // 0 where it overflows: not known
	}
	return nil
}

func (env *Env) fromWorkflowRun(payload *event) error {
	run := payload.WorkflowRun
	if run == nil || run.HeadSHA == "" {
		return errors.New("no workflow_run.head_sha")
	}
	env.SHA, env.Ref = run.HeadSHA, run.HeadBranch
	env.TriggerRunID, env.TriggerEvent = run.ID, run.Event
	env.ForPullRequest = strings.HasPrefix(run.Event, "pull_request") || run.Event == "merge_group"
	env.Fork = !env.sameRepo(run.HeadRepo)
	// A fork's run lists no pull requests; those listed may be of other
	// branches with the same head, so only a single one is taken.
	if env.ForPullRequest && len(run.PullRequests) == 1 {
		pr := run.PullRequests[0]
		env.PullRequest, env.BaseSHA, env.BaseRef = pr.Number, pr.Base.SHA, pr.Base.Ref
	}
	return nil
}

func (env *Env) fromDeployment(payload *event) error {
	d := payload.Deployment
	if d == nil || d.SHA == "" {
		return errors.New("no deployment.sha")
	}
	env.SHA, env.Ref = d.SHA, d.Ref
	env.DeploymentID, env.Environment = d.ID, d.Environment
	if s := payload.DeploymentStatus; s != nil {
		env.DeploymentState = s.State
		env.EnvironmentURL = s.EnvironmentURL
		if s.Environment != "" {
			env.Environment = s.Environment
		}
	}
	return nil
}

func (env *Env) fromPush(payload *event) error {
	if payload.Deleted {
		return errors.New("the push deleted its branch: there is nothing to gate")
	}
	switch { // an annotated tag's after is the tag, not the commit
	case payload.HeadCommit != nil && payload.HeadCommit.ID != "":
		env.SHA = payload.HeadCommit.ID
	case payload.After != "":
		env.SHA = payload.After
	}
	return nil
}

// sameRepo reports that a head lies in this repository. A repository that was
// deleted since is null and counts as foreign.
func (env *Env) sameRepo(head *repository) bool {
	return head != nil && strings.EqualFold(head.FullName, env.Repo.String())
}
