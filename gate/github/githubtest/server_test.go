package githubtest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	gh "github.com/google/go-github/v62/github"
	"github.com/org/llm-gate/gate/github"
	"github.com/org/llm-gate/gate/github/githubtest"
)

const sha = "6dcb09b5b57875f334f61aebed695e2e4193db5e"

func client(t *testing.T, s *githubtest.Server) *gh.Client {
	t.Helper()
	c, err := github.New(github.Options{Token: "secret-token", APIURL: s.URL, MaxWait: -1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func must[T any](t *testing.T) func(T, *gh.Response, error) T {
	return func(v T, _ *gh.Response, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestCommentsArePagedCreatedAndUpdated(t *testing.T) {
	s := githubtest.New(t)
	s.AddRepo("org/app")
	s.AddPull("org/app", githubtest.Pull{Number: 7, HeadSHA: sha, HeadRef: "feature"})
	for i := range 35 {
		s.AddComment("org/app", 7, "someone", fmt.Sprint("comment ", i))
	}
	c, ctx := client(t, s), t.Context()
	made := must[*gh.IssueComment](t)(c.Issues.CreateComment(ctx, "org", "app", 7, &gh.IssueComment{Body: gh.String("hello")}))
	if made.GetUser().GetLogin() != githubtest.Bot {
		t.Errorf("author %q: want %q", made.GetUser().GetLogin(), githubtest.Bot)
	}
	must[*gh.IssueComment](t)(c.Issues.EditComment(ctx, "org", "app", made.GetID(), &gh.IssueComment{Body: gh.String("changed")}))
	opts := &gh.IssueListCommentsOptions{}
	var seen []*gh.IssueComment
	for {
		page, resp, err := c.Issues.ListComments(ctx, "org", "app", 7, opts)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, page...)
		if resp.NextPage == 0 {
			break
		}
		opts.Page = resp.NextPage
	}
	if len(seen) != 36 || seen[35].GetBody() != "changed" || seen[0].GetUser().GetLogin() != "someone" {
		t.Errorf("%d comments, last %q by way of pages: want 36, changed", len(seen), seen[len(seen)-1].GetBody())
	}
	_, _, err := c.Issues.CreateComment(ctx, "org", "app", 7, &gh.IssueComment{Body: gh.String(strings.Repeat("x", 65537))})
	if github.Status(err) != http.StatusUnprocessableEntity {
		t.Errorf("comment of 65,537 characters: %v, want 422", err)
	}
	if _, _, err := c.Issues.CreateComment(ctx, "org", "app", 8, &gh.IssueComment{Body: gh.String("x")}); !github.IsNotFound(err) {
		t.Errorf("comment on no pull request: %v, want 404", err)
	}
	if _, _, err := c.Users.Get(ctx, ""); !github.IsPermission(err) {
		t.Errorf("GET /user by an Actions token: %v, want 403", err)
	}
	s.SetUser("octocat")
	if user := must[*gh.User](t)(c.Users.Get(ctx, "")); user.GetLogin() != "octocat" {
		t.Errorf("user %q: want octocat", user.GetLogin())
	}
}

func TestChecksStatusesAndPulls(t *testing.T) {
	s := githubtest.New(t)
	s.AddRepo("org/app")
	s.AddPull("org/app", githubtest.Pull{Number: 7, HeadSHA: sha, HeadRef: "feature", HeadRepo: "fork/app"})
	c, ctx := client(t, s), t.Context()
	pull := must[*gh.PullRequest](t)(c.PullRequests.Get(ctx, "org", "app", 7))
	if pull.GetHead().GetSHA() != sha || pull.GetHead().GetRepo().GetFullName() != "fork/app" {
		t.Errorf("pull request head %s of %s", pull.GetHead().GetSHA(), pull.GetHead().GetRepo().GetFullName())
	}
	if pulls := must[[]*gh.PullRequest](t)(c.PullRequests.ListPullRequestsWithCommit(ctx, "org", "app", sha, nil)); len(pulls) != 1 || pulls[0].GetNumber() != 7 {
		t.Errorf("pull requests of the commit: %v", pulls)
	}
	if repo := must[*gh.Repository](t)(c.Repositories.Get(ctx, "org", "app")); repo.GetFullName() != "org/app" {
		t.Errorf("repository %q", repo.GetFullName())
	}
	run := must[*gh.CheckRun](t)(c.Checks.CreateCheckRun(ctx, "org", "app", gh.CreateCheckRunOptions{Name: "gate", HeadSHA: sha, Status: gh.String("in_progress")}))
	must[*gh.CheckRun](t)(c.Checks.UpdateCheckRun(ctx, "org", "app", run.GetID(), gh.UpdateCheckRunOptions{
		Name: "gate", Conclusion: gh.String("failure"),
		Output: &gh.CheckRunOutput{Title: gh.String("red"), Summary: gh.String("slower"), Annotations: []*gh.CheckRunAnnotation{{
			Path: gh.String("llm-gate.yml"), StartLine: gh.Int(1), EndLine: gh.Int(1), AnnotationLevel: gh.String("failure"), Message: gh.String("m")}}},
	}))
	list := must[*gh.ListCheckRunsResults](t)(c.Checks.ListCheckRunsForRef(ctx, "org", "app", sha, nil))
	if list.GetTotal() != 1 || list.CheckRuns[0].GetStatus() != "completed" || list.CheckRuns[0].GetConclusion() != "failure" {
		t.Errorf("check runs %v", list.CheckRuns)
	}
	if have := s.CheckRuns("org/app", sha); len(have) != 1 || have[0].Title != "red" || len(have[0].Annotations) != 1 {
		t.Errorf("check runs as kept: %+v", have)
	}
	must[*gh.RepoStatus](t)(c.Repositories.CreateStatus(ctx, "org", "app", sha, &gh.RepoStatus{State: gh.String("failure"), Context: gh.String("llm-gate")}))
	must[*gh.DeploymentStatus](t)(c.Repositories.CreateDeploymentStatus(ctx, "org", "app", 5, &gh.DeploymentStatusRequest{State: gh.String("success")}))
	if kept := s.Statuses("org/app"); len(kept) != 2 || kept[0]["sha"] != sha || kept[1]["deployment"] != "5" {
		t.Errorf("statuses as kept: %v", kept)
	}
}

func TestGitMovesRefsOnlyForwards(t *testing.T) {
	s := githubtest.New(t)
	head := s.AddRepo("org/app")
	c, ctx := client(t, s), t.Context()
	blob := must[*gh.Blob](t)(c.Git.CreateBlob(ctx, "org", "app", &gh.Blob{Content: gh.String("hello\n"), Encoding: gh.String("utf-8")}))
	if blob.GetSHA() != "ce013625030ba8dba906f756967f9e9ca394464a" { // git hash-object
		t.Errorf("blob id %s is not Git's", blob.GetSHA())
	}
	first := must[*gh.Commit](t)(c.Git.GetCommit(ctx, "org", "app", head))
	tree := must[*gh.Tree](t)(c.Git.CreateTree(ctx, "org", "app", first.GetTree().GetSHA(), []*gh.TreeEntry{
		{Path: gh.String("a/b.txt"), Mode: gh.String("100644"), Type: gh.String("blob"), SHA: blob.SHA}}))
	next := func(message string) *gh.Commit {
		return must[*gh.Commit](t)(c.Git.CreateCommit(ctx, "org", "app", &gh.Commit{Message: &message, Tree: tree, Parents: []*gh.Commit{{SHA: &head}}}, nil))
	}
	one, two := next("one"), next("two")
	move := func(to *gh.Commit, force bool) error {
		_, _, err := c.Git.UpdateRef(ctx, "org", "app", &gh.Reference{Ref: gh.String("refs/heads/main"), Object: &gh.GitObject{SHA: to.SHA}}, force)
		return err
	}
	if err := move(one, false); err != nil {
		t.Fatal(err)
	}
	if err := move(two, false); github.Status(err) != 422 || !strings.Contains(err.Error(), "fast forward") {
		t.Errorf("update past another's commit: %v, want 422", err)
	}
	if err := move(two, true); err != nil {
		t.Errorf("forced update: %v", err)
	}
	_, _, err := c.Git.CreateRef(ctx, "org", "app", &gh.Reference{Ref: gh.String("refs/heads/main"), Object: &gh.GitObject{SHA: one.SHA}})
	if github.Status(err) != 422 {
		t.Errorf("create a ref that exists: %v, want 422", err)
	}
	listed := must[*gh.Tree](t)(c.Git.GetTree(ctx, "org", "app", tree.GetSHA(), true))
	var paths []string
	for _, e := range listed.Entries {
		paths = append(paths, e.GetPath())
	}
	if got := strings.Join(paths, " "); got != "README.md a a/b.txt" {
		t.Errorf("tree holds %q", got)
	}
	if string(s.Files("org/app", "main")["a/b.txt"]) != "hello\n" {
		t.Errorf("files on main: %q", s.Files("org/app", "main"))
	}
	s.AddEmptyRepo("org/empty")
	if _, _, err := c.Git.GetRef(ctx, "org", "empty", "heads/main"); github.Status(err) != 409 {
		t.Errorf("ref of an empty repository: %v, want 409", err)
	}
	if _, _, err := c.Git.GetRef(ctx, "org", "app", "heads/no/such"); !github.IsNotFound(err) {
		t.Errorf("ref that is not there: %v, want 404", err)
	}
}

// Requests that GitHub's description refuses are problems.
func TestRefusesWhatGitHubWouldNotUnderstand(t *testing.T) {
	s, err := githubtest.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.AddRepo("org/app")
	for _, test := range []struct{ method, path, body, problem string }{
		{"POST", "/repos/org/app/issues/7/comments", `{"text":"no body"}`, `"body" is missing`},
		{"POST", "/repos/org/app/issues/x/comments", `{"body":"b"}`, "issue_number"},
		{"POST", "/repos/org/app/statuses/abc", `{"state":"bogus"}`, "state"},
		{"POST", "/repos/org/app/check-runs", `{"name":"n","head_sha":"s","output":{"title":"t","summary":"` + strings.Repeat("x", 65536) + `"}}`, "65535"},
		{"POST", "/repos/org/app/git/trees", `{"tree":[{"mode":"777"}]}`, "mode"},
		{"GET", "/repos/org/app/nonsense", "", "trim.go"},
	} {
		before := len(s.Problems())
		req, _ := http.NewRequest(test.method, s.URL+"/api/v3"+test.path, strings.NewReader(test.body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer x")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Message string }
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			t.Error(err)
		}
		resp.Body.Close()
		if problems := s.Problems(); len(problems) != before+1 || !strings.Contains(problems[before], test.problem) {
			t.Errorf("%s %s: problems %q, want one with %q", test.method, test.path, problems[before:], test.problem)
		}
		if resp.StatusCode < 400 || answer.Message == "" {
			t.Errorf("%s %s: %d %q", test.method, test.path, resp.StatusCode, answer.Message)
		}
	}
}
