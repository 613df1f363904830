package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	gh "github.com/google/go-github/v62/github"

	"github.com/org/llm-gate/gate/github"
)

// commentLimit is GitHub's for a comment, in characters.
const commentLimit = 65536

// actionsAuthor writes what is written with the token of a workflow.
const actionsAuthor = "github-actions[bot]"

// Comment keeps one comment on the pull request, found by marker and author
// over all pages, created once and then updated in place. A comment of
// somebody else that carries the marker is left alone.
type Comment struct {
	// Client is nil where there is no token; that is an error only where there
	// is a comment to write.
	Client *gh.Client
	// Owner and Repo name the repository, Number the pull request. Number 0 is
	// a run without one: there is nothing to do.
	Owner, Repo string
	Number      int
	// Name is the gate's: each gate has a comment of its own.
	Name   string
	When   When // "" is Always
	Render Markdown
	// Log gets debug lines; nil is silent.
	Log *slog.Logger
	// Sleep replaces the clock in tests; nil is the real one.
	Sleep github.Sleep
}

// Publish writes the comment when the run is done. A run that comes to the
// same text again writes nothing.
func (c *Comment) Publish(ctx context.Context, n *Notice) error {
	switch {
	case n.Phase != Done:
		return nil
	case c.Number == 0:
		c.debug("no comment: the run has no pull request")
		return nil
	case c.When == Never:
		return nil
	}
	if err := c.publish(ctx, n); err != nil {
		return fmt.Errorf("publish comment on %s/%s#%d: %w", c.Owner, c.Repo, c.Number, err)
	}
	return nil
}

func (c *Comment) publish(ctx context.Context, n *Notice) error {
	if c.Client == nil {
		return errors.New("no GitHub token: set the action's token input or GITHUB_TOKEN")
	}
	body, err := c.body(n)
	if err != nil {
		return err
	}
	author, err := c.author(ctx)
	if err != nil {
		return err
	}
	own, err := c.own(ctx, author)
	if err != nil {
		return err
	}
	if len(own) == 0 {
		if c.When == Problems && green(n.Verdict) {
			c.debug("no comment: green, and only problems are commented on")
			return nil
		}
		if own, err = c.create(ctx, author, body); err != nil {
			return err
		}
	}
	return c.settle(ctx, own, body)
}

// body is the marker and the report, within GitHub's limit.
func (c *Comment) body(n *Notice) (string, error) {
	head := Marker(c.Name) + "\n"
	if n.Verdict == nil {
		return head + withoutVerdict(n.Reason), nil
	}
	limit := commentLimit - utf8.RuneCountInString(head)
	var b strings.Builder
	if err := c.Render(&b, n.Verdict, limit); err != nil {
		return "", fmt.Errorf("render the report: %w", err)
	}
	text := strings.ToValidUTF8(b.String(), "\ufffd")
	return head + cut(text, limit, utf8.RuneCountInString), nil
}

// author is the login that the token writes as. A workflow's token may not ask
// for it, which tells that it is one.
func (c *Comment) author(ctx context.Context) (string, error) {
	user, _, err := c.Client.Users.Get(ctx, "")
	switch {
	case err == nil && user.GetLogin() != "":
		return user.GetLogin(), nil
	case err == nil, github.IsPermission(err), github.IsNotFound(err):
		return actionsAuthor, nil
	}
	return "", hint("ask whose token this is", err)
}

// own lists the gate's comments by author, oldest first.
func (c *Comment) own(ctx context.Context, author string) ([]*gh.IssueComment, error) {
	marker := Marker(c.Name)
	opts := &gh.IssueListCommentsOptions{ListOptions: gh.ListOptions{PerPage: 100}}
	var own []*gh.IssueComment
	for {
		page, resp, err := c.Client.Issues.ListComments(ctx, c.Owner, c.Repo, c.Number, opts)
		if err != nil {
			return nil, hint("list comments", err)
		}
		for _, comment := range page {
			if strings.EqualFold(comment.GetUser().GetLogin(), author) && marked(comment.GetBody(), marker) {
				own = append(own, comment)
			}
		}
		if resp.NextPage == 0 {
			break
		}
		opts.Page = resp.NextPage
	}
	slices.SortFunc(own, func(a, b *gh.IssueComment) int { return cmp.Compare(a.GetID(), b.GetID()) })
	return own, nil
}

// create writes a new comment and returns all of the gate's that are there
// then, oldest first: another run may have created one at the same time. The
// answer tells the login for certain, also that of an app, whose token may not
// ask for it.
func (c *Comment) create(ctx context.Context, author, body string) ([]*gh.IssueComment, error) {
	find := func(ctx context.Context) (*gh.IssueComment, bool, error) {
		own, err := c.own(ctx, author)
		if err != nil || len(own) == 0 {
			return nil, false, err
		}
		return own[0], true, nil
	}
	made, err := github.CreateOnce(ctx, c.Sleep, find, func(ctx context.Context) (*gh.IssueComment, error) {
		made, _, err := c.Client.Issues.CreateComment(ctx, c.Owner, c.Repo, c.Number, &gh.IssueComment{Body: &body})
		return made, err
	})
	if err != nil {
		return nil, hint("create the comment", err)
	}
	if login := made.GetUser().GetLogin(); login != "" {
		author = login
	}
	own, err := c.own(ctx, author)
	if err != nil {
		return nil, err
	}
	if len(own) == 0 {
		own = []*gh.IssueComment{made} // a list that lags behind
	}
	return own, nil
}

// settle brings the oldest comment up to date and removes the others, which
// are left from a race.
func (c *Comment) settle(ctx context.Context, own []*gh.IssueComment, body string) error {
	oldest := own[0]
	if sameText(oldest.GetBody(), body) {
		c.debug("comment is up to date", "id", oldest.GetID())
	} else if _, _, err := c.Client.Issues.EditComment(ctx, c.Owner, c.Repo, oldest.GetID(), &gh.IssueComment{Body: &body}); err != nil {
		return hint("update the comment", err)
	}
	var errs []error
	for _, extra := range own[1:] {
		_, err := c.Client.Issues.DeleteComment(ctx, c.Owner, c.Repo, extra.GetID())
		if err != nil && !github.IsNotFound(err) {
			errs = append(errs, hint("remove a second comment", err))
		}
	}
	return errors.Join(errs...)
}

// sameText compares as GitHub stores: it may change line ends and drops white
// space at the end.
func sameText(a, b string) bool {
	norm := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	return norm(a) == norm(b)
}

func (c *Comment) debug(msg string, args ...any) {
	if c.Log != nil {
		c.Log.Debug(msg, args...)
	}
}

// hint says what to do about a refusal.
func hint(what string, err error) error {
	switch {
	case github.IsPermission(err):
		return fmt.Errorf("%s: %w; the token lacks a permission: add `pull-requests: write` to the job's permissions (on a fork's pull request it is read-only, there the job summary has the report)", what, err)
	case github.Status(err) == http.StatusUnauthorized:
		return fmt.Errorf("%s: %w; the token is not valid any more: check the action's token input", what, err)
	case github.IsNotFound(err):
		return fmt.Errorf("%s: %w; the pull request does not exist or the token may not see it: add `pull-requests: write` to the job's permissions", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
