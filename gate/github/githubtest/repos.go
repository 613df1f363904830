package githubtest

import (
	"fmt"
	"net/http"
	"strings"
)

// repo is the state of one repository.
type repo struct {
	owner, name string
	pulls       map[int]*Pull
	order       []int
	comments    []*comment
	checks      []*checkRun
	statuses    []object
	git         gitStore
}

// Pull is a pull request.
type Pull struct {
	Number           int
	HeadSHA, HeadRef string
	// HeadRepo is owner/name of the head, "" for the repository itself.
	HeadRepo         string
	BaseSHA, BaseRef string
}

func repoKey(owner, name string) string { return strings.ToLower(owner + "/" + name) }

// AddRepo makes a repository with one commit on main and returns that commit's
// id. fullName is owner/name.
func (s *Server) AddRepo(fullName string) (head string) {
	r := s.addRepo(fullName)
	s.mu.Lock()
	defer s.mu.Unlock()
	blob := r.git.put("blob", []byte("# "+fullName+"\n"))
	tree := r.git.writeTree(map[string]treeEntry{"README.md": {mode: "100644", kind: "blob", sha: blob}})
	head = r.git.writeCommit(commit{tree: tree, message: "Begin", author: person{"A", "a@example.com", s.now()}, committer: person{"A", "a@example.com", s.now()}})
	r.git.refs["refs/heads/main"] = head
	return head
}

// AddEmptyRepo makes a repository without any commit: its Git API answers 409.
func (s *Server) AddEmptyRepo(fullName string) { s.addRepo(fullName) }

func (s *Server) addRepo(fullName string) *repo {
	owner, name, ok := strings.Cut(fullName, "/")
	if !ok {
		panic(fmt.Sprintf("repository %q: want owner/name", fullName))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &repo{owner: owner, name: name, pulls: map[int]*Pull{}, git: newGitStore()}
	s.repos[repoKey(owner, name)] = r
	return r
}

// AddPull opens a pull request in a repository that was added.
func (s *Server) AddPull(fullName string, pull Pull) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mustRepo(fullName)
	if _, known := r.pulls[pull.Number]; !known {
		r.order = append(r.order, pull.Number)
	}
	if pull.HeadRepo == "" {
		pull.HeadRepo = r.owner + "/" + r.name
	}
	if pull.BaseRef == "" {
		pull.BaseRef = "main"
	}
	r.pulls[pull.Number] = &pull
}

// mustRepo is called under the lock by tests' own methods.
func (s *Server) mustRepo(fullName string) *repo {
	owner, name, _ := strings.Cut(fullName, "/")
	r := s.repos[repoKey(owner, name)]
	if r == nil {
		panic(fmt.Sprintf("repository %q was not added", fullName))
	}
	return r
}

func getUser(c *exchange) (int, any, error) {
	if c.server.user == "" {
		return 0, nil, &apiError{http.StatusForbidden, "Resource not accessible by integration", nil}
	}
	user := c.author(c.server.api.template("issue-comment")["user"].(object))
	for _, key := range []string{"name", "company", "blog", "location", "email", "hireable", "bio"} {
		user[key] = nil
	}
	for _, key := range []string{"public_repos", "public_gists", "followers", "following"} {
		user[key] = 0
	}
	user["user_view_type"] = "public"
	user["created_at"], user["updated_at"], user["blog"] = c.stamp(), c.stamp(), ""
	return http.StatusOK, user, nil
}

func getRepo(c *exchange) (int, any, error) {
	out := c.server.api.template("full-repository")
	c.nameRepo(out, c.repo.owner, c.repo.name)
	out["default_branch"], out["has_discussions"] = "main", false
	for _, nested := range []string{"parent", "source", "template_repository"} {
		delete(out, nested)
	}
	out["fork"] = false
	return http.StatusOK, out, nil
}

func (c *exchange) nameRepo(out object, owner, name string) {
	out["name"], out["full_name"] = name, owner+"/"+name
	out["url"] = fmt.Sprintf("%s/repos/%s/%s", c.server.URL, owner, name)
	out["html_url"] = fmt.Sprintf("https://github.com/%s/%s", owner, name)
	if user, ok := out["owner"].(object); ok {
		user["login"] = owner
	}
}

func getPull(c *exchange) (int, any, error) {
	pull := c.repo.pulls[int(c.id("pull_number"))]
	if pull == nil {
		return 0, nil, notFound
	}
	out := c.server.api.template("pull-request")
	c.fillPull(out, pull)
	return http.StatusOK, out, nil
}

func listPullsOfCommit(c *exchange) (int, any, error) {
	out := []object{}
	for _, number := range c.repo.order {
		if pull := c.repo.pulls[number]; pull.HeadSHA == c.params["commit_sha"] {
			item := c.server.api.templateItem("pull-request-simple-items")
			c.fillPull(item, pull)
			out = append(out, item)
		}
	}
	from, to := c.page(len(out))
	return http.StatusOK, out[from:to], nil
}

func (c *exchange) fillPull(out object, pull *Pull) {
	out["number"], out["state"] = pull.Number, "open"
	out["requested_teams"] = []any{} // GitHub's example of one is out of date
	out["url"] = fmt.Sprintf("%s/repos/%s/%s/pulls/%d", c.server.URL, c.repo.owner, c.repo.name, pull.Number)
	out["html_url"] = fmt.Sprintf("https://github.com/%s/%s/pull/%d", c.repo.owner, c.repo.name, pull.Number)
	head, base := out["head"].(object), out["base"].(object)
	owner, name, _ := strings.Cut(pull.HeadRepo, "/")
	head["sha"], head["ref"], head["label"] = pull.HeadSHA, pull.HeadRef, owner+":"+pull.HeadRef
	base["sha"], base["ref"], base["label"] = pull.BaseSHA, pull.BaseRef, c.repo.owner+":"+pull.BaseRef
	if r, ok := head["repo"].(object); ok {
		c.nameRepo(r, owner, name)
	}
	if r, ok := base["repo"].(object); ok {
		c.nameRepo(r, c.repo.owner, c.repo.name)
	}
}
