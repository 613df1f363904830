package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/gate/github"
	"github.com/org/llm-gate/gate/github/githubtest"
)

const fullName = "org/app"

func noSleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// newComment is the publisher of the pull request 7 of a fake GitHub.
func newComment(t *testing.T, maxWait time.Duration) (*githubtest.Server, *Comment) {
	t.Helper()
	server := githubtest.New(t)
	head := server.AddRepo(fullName)
	server.AddPull(fullName, githubtest.Pull{Number: 7, HeadRef: "change", HeadSHA: head})
	client, err := github.New(github.Options{Token: "ghs_token", APIURL: server.URL, Sleep: noSleep, MaxWait: maxWait})
	if err != nil {
		t.Fatal(err)
	}
	return server, &Comment{
		Client: client, Owner: "org", Repo: "app", Number: 7, Name: "chat-8b", Sleep: noSleep,
		Render: func(w io.Writer, v *gate.Verdict, _ int) error {
			_, err := fmt.Fprintf(w, "## %s\n%s\n", v.Conclusion, v.Headline)
			return err
		},
	}
}

func done(v *gate.Verdict) *Notice { return &Notice{Phase: Done, Verdict: v} }

func publish(t *testing.T, c *Comment, v *gate.Verdict) {
	t.Helper()
	if err := c.Publish(t.Context(), done(v)); err != nil {
		t.Fatal(err)
	}
}

// bodies are the comments as "author: last line of the body".
func bodies(server *githubtest.Server) []string {
	var got []string
	for _, c := range server.Comments(fullName, 7) {
		lines := strings.Split(strings.TrimSpace(c.Body), "\n")
		got = append(got, c.Author+": "+lines[len(lines)-1])
	}
	return got
}

func calls(server *githubtest.Server, method string) int {
	n := 0
	for _, r := range server.Requests() {
		if r.Method == method && r.Status < 300 {
			n++
		}
	}
	return n
}

func want(t *testing.T, server *githubtest.Server, comments ...string) {
	t.Helper()
	if diff := cmp.Diff(comments, bodies(server)); diff != "" {
		t.Errorf("comments (-want +got):\n%s", diff)
	}
}

func TestCommentIsCreatedOnceThenUpdated(t *testing.T) {
	server, c := newComment(t, 0)
	for _, phase := range []Phase{Started, Progress} {
		if err := c.Publish(t.Context(), &Notice{Phase: phase}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(server.Requests()); n != 0 {
		t.Errorf("%d requests before the run is done", n)
	}
	publish(t, c, redVerdict())
	publish(t, c, greenVerdict())
	publish(t, c, greenVerdict())
	want(t, server, "github-actions[bot]: Safe to promote.")
	if post, patch := calls(server, "POST"), calls(server, "PATCH"); post != 1 || patch != 1 {
		t.Errorf("%d created, %d updated; want 1 and 1, as the third run says the same", post, patch)
	}
	if got := server.Comments(fullName, 7)[0].Body; !strings.HasPrefix(got, "<!-- llm-gate:chat-8b -->\n## green\n") {
		t.Errorf("body = %q", got)
	}
}

func TestCommentsOfTwoGatesStandApart(t *testing.T) {
	server, c := newComment(t, 0)
	other := *c
	other.Name = "chat-70b"
	publish(t, c, redVerdict())
	publish(t, &other, greenVerdict())
	publish(t, c, greenVerdict())
	want(t, server, "github-actions[bot]: Safe to promote.", "github-actions[bot]: Safe to promote.")
}

func TestCommentOfSomebodyElseIsNeverEdited(t *testing.T) {
	server, c := newComment(t, 0)
	server.AddComment(fullName, 7, "mallory", Marker("chat-8b")+"\nmine")
	publish(t, c, redVerdict())
	publish(t, c, greenVerdict())
	want(t, server, "mallory: mine", "github-actions[bot]: Safe to promote.")
}

func TestCommentOfAUsersToken(t *testing.T) {
	server, c := newComment(t, 0)
	server.AddComment(fullName, 7, githubtest.Bot, Marker("chat-8b")+"\nthe workflow's")
	server.SetUser("release-manager")
	publish(t, c, redVerdict())
	publish(t, c, greenVerdict())
	want(t, server, githubtest.Bot+": the workflow's", "release-manager: Safe to promote.")
}

func TestCommentIsFoundOnTheThirdPage(t *testing.T) {
	server, c := newComment(t, 0)
	for i := range 250 {
		server.AddComment(fullName, 7, "reviewer", fmt.Sprint("remark ", i))
	}
	publish(t, c, redVerdict())
	publish(t, c, greenVerdict())
	got := bodies(server)
	if len(got) != 251 || got[250] != "github-actions[bot]: Safe to promote." {
		t.Errorf("%d comments, the last %q; want 251 and ours updated", len(got), got[len(got)-1])
	}
}

func TestCommentAfterALostRaceSettlesOnTheOldest(t *testing.T) {
	server, c := newComment(t, 0)
	raced := false
	server.Fail(func(r *http.Request) *githubtest.Answer {
		raced = raced || r.Method == http.MethodPost
		return nil
	})
	// Two runs that both saw no comment have created one each.
	server.AddComment(fullName, 7, githubtest.Bot, Marker("chat-8b")+"\nof the first")
	server.AddComment(fullName, 7, "reviewer", "between")
	server.AddComment(fullName, 7, githubtest.Bot, Marker("chat-8b")+"\nof the second")
	publish(t, c, redVerdict())
	want(t, server, "github-actions[bot]: "+redVerdict().Headline, "reviewer: between")
	if raced {
		t.Error("a third comment was created")
	}
}

func TestCommentSeesTheRaceThatItLost(t *testing.T) {
	server, c := newComment(t, 0)
	lists := 0
	server.Fail(func(r *http.Request) *githubtest.Answer {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/comments") {
			if lists++; lists == 1 { // what was there before the other run wrote
				return &githubtest.Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: "[]"}
			}
		}
		return nil
	})
	server.AddComment(fullName, 7, githubtest.Bot, Marker("chat-8b")+"\nof the other run")
	publish(t, c, redVerdict())
	want(t, server, "github-actions[bot]: "+redVerdict().Headline)
	if n := calls(server, "DELETE"); n != 1 {
		t.Errorf("%d removed, want the one that came second", n)
	}
}

func TestCommentOnProblemsOnly(t *testing.T) {
	server, c := newComment(t, 0)
	c.When = Problems
	publish(t, c, greenVerdict())
	want(t, server)
	publish(t, c, &gate.Verdict{Conclusion: gate.Green, Headline: "green without a finding"})
	want(t, server, "github-actions[bot]: green without a finding")
	publish(t, c, redVerdict())
	publish(t, c, greenVerdict()) // else it would still say red
	want(t, server, "github-actions[bot]: Safe to promote.")
}

func TestCommentOfARunWithoutAVerdictDoesNotStayGreen(t *testing.T) {
	server, c := newComment(t, 0)
	c.When = Problems
	server.AddComment(fullName, 7, githubtest.Bot, Marker("chat-8b")+"\nSafe to promote.")
	if err := c.Publish(t.Context(), &Notice{Phase: Done, Reason: "disk full: @team <b>"}); err != nil {
		t.Fatal(err)
	}
	want(t, server, "github-actions[bot]: The run ended without a verdict: disk full: team b")
}

func TestCommentWhereThereIsNothingToDo(t *testing.T) {
	server, c := newComment(t, 0)
	c.When = Never
	publish(t, c, redVerdict())
	c.When, c.Number = Always, 0
	publish(t, c, redVerdict())
	if n := len(server.Requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
}

func TestCommentStaysWithinGitHubsLimit(t *testing.T) {
	server, c := newComment(t, 0)
	c.Render = func(w io.Writer, _ *gate.Verdict, limit int) error {
		_, err := io.WriteString(w, "## 🔴 red\n<details>\n"+strings.Repeat("дétail 🔴\n", limit))
		return err
	}
	publish(t, c, redVerdict())
	body := server.Comments(fullName, 7)[0].Body
	if n := utf8.RuneCountInString(body); n > 65536 || n < 65000 {
		t.Errorf("%d characters, want just under 65,536", n)
	}
	if !strings.HasPrefix(body, Marker("chat-8b")+"\n## 🔴 red\n") || !strings.HasSuffix(body, "</details>\n"+cutNote) {
		t.Error("the comment lost its head or leaves its details open")
	}
}

func TestCommentWithoutPermissionSaysWhichIsLacking(t *testing.T) {
	for method, want := range map[string]string{"GET": "list comments", "POST": "create the comment", "PATCH": "update the comment"} {
		t.Run(method, func(t *testing.T) {
			server, c := newComment(t, 0)
			if method == "PATCH" {
				publish(t, c, greenVerdict())
			}
			server.Fail(func(r *http.Request) *githubtest.Answer {
				if r.Method != method {
					return nil
				}
				return &githubtest.Answer{Status: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}},
					Body: `{"message":"Resource not accessible by integration","documentation_url":"https://docs.github.com/rest"}`}
			})
			v := redVerdict()
			before := mustJSON(t, v)
			err := c.Publish(t.Context(), done(v))
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range []string{"publish comment on org/app#7: " + want, "pull-requests: write"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error = %q, want %q in it", err, part)
				}
			}
			if strings.Contains(err.Error(), "ghs_token") {
				t.Error("the error holds the token")
			}
			if mustJSON(t, v) != before {
				t.Error("the verdict changed")
			}
		})
	}
}

func TestCommentWaitsOutARateLimit(t *testing.T) {
	limited := func(times int) githubtest.Fault {
		return func(r *http.Request) *githubtest.Answer {
			if r.Method != http.MethodPost || times == 0 {
				return nil
			}
			times--
			return &githubtest.Answer{Status: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}, "Retry-After": {"1"}},
				Body: `{"message":"You have exceeded a secondary rate limit","documentation_url":"https://docs.github.com/rest"}`}
		}
	}
	t.Run("that ends", func(t *testing.T) {
		server, c := newComment(t, 0)
		server.Fail(limited(2))
		publish(t, c, redVerdict())
		want(t, server, "github-actions[bot]: "+redVerdict().Headline)
	})
	t.Run("that stays", func(t *testing.T) {
		server, c := newComment(t, 2*time.Second)
		server.Fail(limited(-1))
		err := c.Publish(t.Context(), done(redVerdict()))
		if !github.IsRateLimited(err) || strings.Contains(err.Error(), "pull-requests: write") {
			t.Errorf("error = %v, want one by rate without a word of permissions", err)
		}
		want(t, server)
	})
}

func TestCommentSurvivesServerErrors(t *testing.T) {
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprintf("carried out %v", after), func(t *testing.T) {
			server, c := newComment(t, 0)
			failed := map[string]int{}
			server.Fail(func(r *http.Request) *githubtest.Answer {
				if failed[r.Method]++; failed[r.Method] > 1 {
					return nil
				}
				return &githubtest.Answer{Status: http.StatusBadGateway, Body: "<html>", After: after}
			})
			publish(t, c, redVerdict())
			publish(t, c, greenVerdict())
			want(t, server, "github-actions[bot]: Safe to promote.")
		})
	}
}

func TestCommentErrors(t *testing.T) {
	_, c := newComment(t, 0)
	missing, anonymous, unrendered := *c, *c, *c
	missing.Number = 8
	anonymous.Client = nil
	broken := errors.New("broken")
	unrendered.Render = func(io.Writer, *gate.Verdict, int) error { return broken }
	for _, tt := range []struct {
		name string
		c    *Comment
		n    *Notice
		want string
	}{
		{"no pull request of that number", &missing, done(redVerdict()), "does not exist"},
		{"no token", &anonymous, done(redVerdict()), "no GitHub token"},
		{"renderer", &unrendered, done(redVerdict()), "render the report: broken"},
	} {
		if err := tt.c.Publish(t.Context(), tt.n); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error = %v, want %q in it", tt.name, err, tt.want)
		}
	}
}

func TestCommentGivesUpWhenTheContextEnds(t *testing.T) {
	_, c := newComment(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Publish(ctx, done(redVerdict())); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want %v", err, context.Canceled)
	}
}
