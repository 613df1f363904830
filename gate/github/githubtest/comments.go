package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"unicode/utf8"
)

// maxBody is what GitHub takes as a comment, in characters.
const maxBody = 65536

type comment struct {
	issue int
	id    int64
	body  string
	shown object
}

// Comment is a comment as tests see it.
type Comment struct {
	ID     int64
	Author string
	Body   string
}

// Comments lists the comments of a pull request, oldest first.
func (s *Server) Comments(fullName string, number int) []Comment {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Comment
	for _, c := range s.mustRepo(fullName).comments {
		if c.issue == number {
			out = append(out, Comment{c.id, c.shown["user"].(object)["login"].(string), c.body})
		}
	}
	return out
}

// AddComment writes a comment by someone else.
func (s *Server) AddComment(fullName string, number int, author, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &exchange{server: s, repo: s.mustRepo(fullName)}
	added := c.addComment(number, body)
	user := added.shown["user"].(object)
	user["login"], user["type"] = author, "User"
}

func (c *exchange) addComment(issue int, body string) *comment {
	added := &comment{issue: issue, id: c.server.newID(), body: body, shown: c.server.api.template("issue-comment")}
	added.shown["id"] = added.id
	added.shown["created_at"] = c.stamp()
	added.shown["url"] = fmt.Sprintf("%s/repos/%s/%s/issues/comments/%d", c.server.URL, c.repo.owner, c.repo.name, added.id)
	added.shown["html_url"] = fmt.Sprintf("https://github.com/%s/%s/pull/%d#issuecomment-%d", c.repo.owner, c.repo.name, issue, added.id)
	added.shown["issue_url"] = fmt.Sprintf("%s/repos/%s/%s/issues/%d", c.server.URL, c.repo.owner, c.repo.name, issue)
	c.author(added.shown["user"].(object))
	c.repo.comments = append(c.repo.comments, added)
	return c.write(added, body)
}

func (c *exchange) write(to *comment, body string) *comment {
	to.body = body
	to.shown["body"], to.shown["updated_at"] = body, c.stamp()
	return to
}

func (c *exchange) commentBody() (string, error) {
	in, err := decode[struct{ Body string }](c)
	if err != nil {
		return "", err
	}
	if in.Body == "" {
		return "", &apiError{422, "Validation Failed", []any{object{"resource": "IssueComment", "field": "data", "code": "unprocessable", "message": "Body cannot be blank"}}}
	}
	if utf8.RuneCountInString(in.Body) > maxBody {
		return "", &apiError{422, "Validation Failed", []any{object{"resource": "IssueComment", "field": "data", "code": "unprocessable", "message": "Body is too long (maximum is 65536 characters)"}}}
	}
	return in.Body, nil
}

func listComments(c *exchange) (int, any, error) {
	number := int(c.id("issue_number"))
	if c.repo.pulls[number] == nil {
		return 0, nil, notFound
	}
	all := []object{}
	for _, comment := range c.repo.comments {
		if comment.issue == number {
			all = append(all, comment.shown)
		}
	}
	from, to := c.page(len(all))
	return http.StatusOK, all[from:to], nil
}

func createComment(c *exchange) (int, any, error) {
	number := int(c.id("issue_number"))
	if c.repo.pulls[number] == nil {
		return 0, nil, notFound
	}
	body, err := c.commentBody()
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, c.addComment(number, body).shown, nil
}

func (c *exchange) findComment() (int, error) {
	id := c.id("comment_id")
	i := slices.IndexFunc(c.repo.comments, func(have *comment) bool { return have.id == id })
	if i < 0 {
		return 0, notFound
	}
	return i, nil
}

func getComment(c *exchange) (int, any, error) {
	i, err := c.findComment()
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, c.repo.comments[i].shown, nil
}

func updateComment(c *exchange) (int, any, error) {
	i, err := c.findComment()
	if err != nil {
		return 0, nil, err
	}
	body, err := c.commentBody()
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, c.write(c.repo.comments[i], body).shown, nil
}

func deleteComment(c *exchange) (int, any, error) {
	i, err := c.findComment()
	if err != nil {
		return 0, nil, err
	}
	c.repo.comments = slices.Delete(c.repo.comments, i, i+1)
	return http.StatusNoContent, nil, nil
}
