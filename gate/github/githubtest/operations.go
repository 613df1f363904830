package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// exchange is one call under the server's lock.
type exchange struct {
	server  *Server
	repo    *repo
	request *http.Request
	params  map[string]string
	body    []byte
	header  http.Header // of the answer
}

type handler func(*exchange) (status int, answer any, err error)

// operations maps the operations of the description to what carries them out.
var operations = map[string]handler{
	"users/get-authenticated": getUser,
	"repos/get":               getRepo,
	"pulls/get":               getPull,
	"repos/list-pull-requests-associated-with-commit": listPullsOfCommit,
	"issues/list-comments":                            listComments,
	"issues/create-comment":                           createComment,
	"issues/get-comment":                              getComment,
	"issues/update-comment":                           updateComment,
	"issues/delete-comment":                           deleteComment,
	"checks/create":                                   createCheckRun,
	"checks/get":                                      getCheckRun,
	"checks/update":                                   updateCheckRun,
	"checks/list-for-ref":                             listCheckRuns,
	"repos/create-commit-status":                      createStatus,
	"repos/create-deployment-status":                  createDeploymentStatus,
	"git/get-ref":                                     getRef,
	"git/create-ref":                                  createRef,
	"git/update-ref":                                  updateRef,
	"git/get-commit":                                  getCommit,
	"git/create-commit":                               createCommit,
	"git/get-tree":                                    getTree,
	"git/create-tree":                                 createTree,
	"git/get-blob":                                    getBlob,
	"git/create-blob":                                 createBlob,
}

// decode reads the body, which is known to validate.
func decode[T any](c *exchange) (T, error) {
	var in T
	if err := json.Unmarshal(c.body, &in); err != nil {
		return in, &apiError{http.StatusBadRequest, "Problems parsing JSON", nil}
	}
	return in, nil
}

func (c *exchange) id(param string) int64 {
	id, _ := strconv.ParseInt(c.params[param], 10, 64) // validated
	return id
}

// stamp is the time as GitHub writes it.
func (c *exchange) stamp() string { return c.server.now().UTC().Format(time.RFC3339) }

func (s *Server) newID() int64 {
	s.nextID++
	return s.nextID
}

// page cuts one page out of n items and sets the Link header.
func (c *exchange) page(n int) (from, to int) {
	query := c.request.URL.Query()
	size, number := 30, 1
	if v, err := strconv.Atoi(query.Get("per_page")); err == nil {
		size = min(max(v, 1), 100)
	}
	if v, err := strconv.Atoi(query.Get("page")); err == nil {
		number = max(v, 1)
	}
	last := max((n+size-1)/size, 1)
	var links []string
	link := func(page int, rel string) {
		query.Set("page", strconv.Itoa(page))
		u := url.URL{Path: c.request.URL.Path, RawQuery: query.Encode()}
		links = append(links, fmt.Sprintf("<%s%s>; rel=%q", c.server.URL, u.RequestURI(), rel))
	}
	if number > 1 {
		link(1, "first")
		link(number-1, "prev")
	}
	if number < last {
		link(number+1, "next")
		link(last, "last")
	}
	if links != nil {
		c.header.Set("Link", strings.Join(links, ", "))
	}
	return min((number-1)*size, n), min(number*size, n)
}

// author is who writes, as the example's user under another name.
func (c *exchange) author(example object) object {
	login, kind := Bot, "Bot"
	if c.server.user != "" {
		login, kind = c.server.user, "User"
	}
	example["login"], example["type"] = login, kind
	example["url"] = c.server.URL + "/users/" + url.PathEscape(login)
	example["html_url"] = "https://github.com/" + url.PathEscape(login)
	return example
}
