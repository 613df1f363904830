package githubtest

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Files are the files on a branch by path; nil where there is no such branch.
func (s *Server) Files(fullName, branch string) map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := &s.mustRepo(fullName).git
	head, ok := g.refs["refs/heads/"+branch]
	if !ok {
		return nil
	}
	out := map[string][]byte{}
	for path, e := range g.flatten(g.commits[head].tree) {
		out[path] = slices.Clone(g.blobs[e.sha])
	}
	return out
}

// SetFile commits one file to a branch, as if pushed by hand; nil content
// deletes it. The branch is made where it does not exist.
func (s *Server) SetFile(fullName, branch, path string, content []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := &s.mustRepo(fullName).git
	next := commit{message: "Push", author: person{"A", "a@example.com", s.now()}, committer: person{"A", "a@example.com", s.now()}}
	files := map[string]treeEntry{}
	if head, ok := g.refs["refs/heads/"+branch]; ok {
		next.parents = []string{head}
		files = g.flatten(g.commits[head].tree)
	}
	if content == nil {
		delete(files, path)
	} else {
		files[path] = treeEntry{mode: "100644", kind: "blob", sha: g.put("blob", slices.Clone(content))}
	}
	next.tree = g.writeTree(files)
	g.refs["refs/heads/"+branch] = g.writeCommit(next)
}

// Head is the id of a branch's newest commit; "" where there is no such branch.
func (s *Server) Head(fullName, branch string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mustRepo(fullName).git.refs["refs/heads/"+branch]
}

// CommitCount counts the commits on a branch, 0 where there is none.
func (s *Server) CommitCount(fullName, branch string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := &s.mustRepo(fullName).git
	n := 0
	for id := g.refs["refs/heads/"+branch]; id != ""; n++ {
		c := g.commits[id]
		if id = ""; len(c.parents) > 0 {
			id = c.parents[0]
		}
	}
	return n
}

func (c *exchange) gitURL(kind, id string) string {
	return fmt.Sprintf("%s/repos/%s/%s/git/%s/%s", c.server.URL, c.repo.owner, c.repo.name, kind, id)
}

func (c *exchange) showRef(name string) object {
	id := c.repo.git.refs[name]
	return object{
		"ref": name, "node_id": "REF_" + id[:8], "url": c.gitURL("refs", strings.TrimPrefix(name, "refs/")),
		"object": object{"type": "commit", "sha": id, "url": c.gitURL("commits", id)},
	}
}

func getRef(c *exchange) (int, any, error) {
	if c.repo.git.empty() {
		return 0, nil, emptyRepo
	}
	name := "refs/" + c.params["ref"]
	if _, ok := c.repo.git.refs[name]; !ok {
		return 0, nil, notFound
	}
	return http.StatusOK, c.showRef(name), nil
}

func createRef(c *exchange) (int, any, error) {
	in, err := decode[struct{ Ref, SHA string }](c)
	if err != nil {
		return 0, nil, err
	}
	g := &c.repo.git
	if g.empty() {
		return 0, nil, emptyRepo
	}
	if !strings.HasPrefix(in.Ref, "refs/") || strings.Count(in.Ref, "/") < 2 {
		return 0, nil, unprocessable("Reference name must start with 'refs/' and contain at least one slash after it.")
	}
	if _, ok := g.commits[in.SHA]; !ok {
		return 0, nil, unprocessable("Object does not exist")
	}
	if _, ok := g.refs[in.Ref]; ok {
		return 0, nil, unprocessable("Reference already exists")
	}
	g.refs[in.Ref] = in.SHA
	return http.StatusCreated, c.showRef(in.Ref), nil
}

func updateRef(c *exchange) (int, any, error) {
	in, err := decode[struct {
		SHA   string
		Force bool
	}](c)
	if err != nil {
		return 0, nil, err
	}
	g, name := &c.repo.git, "refs/"+c.params["ref"]
	if g.empty() {
		return 0, nil, emptyRepo
	}
	old, ok := g.refs[name]
	if !ok {
		return 0, nil, unprocessable("Reference does not exist")
	}
	if _, ok := g.commits[in.SHA]; !ok {
		return 0, nil, unprocessable("Object does not exist")
	}
	if !in.Force && !g.contains(in.SHA, old) {
		return 0, nil, unprocessable("Update is not a fast forward")
	}
	g.refs[name] = in.SHA
	return http.StatusOK, c.showRef(name), nil
}

func (p person) show() object {
	return object{"name": p.name, "email": p.email, "date": p.at.UTC().Format(time.RFC3339)}
}

func (c *exchange) showCommit(id string) object {
	found := c.repo.git.commits[id]
	parents := []object{}
	for _, parent := range found.parents {
		parents = append(parents, object{"sha": parent, "url": c.gitURL("commits", parent), "html_url": "https://github.com/" + parent})
	}
	return object{
		"sha": id, "node_id": "C_" + id[:8], "url": c.gitURL("commits", id), "html_url": "https://github.com/" + id,
		"author": found.author.show(), "committer": found.committer.show(), "message": found.message,
		"tree": object{"sha": found.tree, "url": c.gitURL("trees", found.tree)}, "parents": parents,
		"verification": object{"verified": false, "reason": "unsigned", "signature": nil, "payload": nil, "verified_at": nil},
	}
}

func getCommit(c *exchange) (int, any, error) {
	if c.repo.git.empty() {
		return 0, nil, emptyRepo
	}
	if _, ok := c.repo.git.commits[c.params["commit_sha"]]; !ok {
		return 0, nil, notFound
	}
	return http.StatusOK, c.showCommit(c.params["commit_sha"]), nil
}

func createCommit(c *exchange) (int, any, error) {
	type who struct {
		Name, Email string
		Date        *time.Time
	}
	in, err := decode[struct {
		Message, Tree     string
		Parents           []string
		Author, Committer *who
	}](c)
	if err != nil {
		return 0, nil, err
	}
	g := &c.repo.git
	if g.empty() {
		return 0, nil, emptyRepo
	}
	if _, ok := g.trees[in.Tree]; !ok {
		return 0, nil, unprocessable("Tree SHA does not exist")
	}
	for _, parent := range in.Parents {
		if _, ok := g.commits[parent]; !ok {
			return 0, nil, unprocessable("Parent SHA does not exist or is not a commit object")
		}
	}
	bot := person{Bot, "41898282+github-actions[bot]@users.noreply.github.com", c.server.now()}
	made := commit{tree: in.Tree, parents: in.Parents, message: in.Message, author: bot, committer: bot}
	for target, w := range map[*person]*who{&made.author: in.Author, &made.committer: in.Committer} {
		if w != nil {
			*target = person{w.Name, w.Email, c.server.now()}
			if w.Date != nil {
				target.at = *w.Date
			}
		}
	}
	return http.StatusCreated, c.showCommit(g.writeCommit(made)), nil
}

func (c *exchange) showTree(id string, entries []treeEntry, truncated bool) object {
	shown := []object{}
	for _, e := range entries {
		item := object{"path": e.name, "mode": e.mode, "type": e.kind, "sha": e.sha, "url": c.gitURL(e.kind+"s", e.sha)}
		if e.kind == "blob" {
			item["size"] = len(c.repo.git.blobs[e.sha])
		}
		shown = append(shown, item)
	}
	return object{"sha": id, "url": c.gitURL("trees", id), "tree": shown, "truncated": truncated}
}

func getTree(c *exchange) (int, any, error) {
	g, id := &c.repo.git, c.params["tree_sha"]
	if g.empty() {
		return 0, nil, emptyRepo
	}
	if found, ok := g.commits[id]; ok {
		id = found.tree
	}
	if _, ok := g.trees[id]; !ok {
		return 0, nil, notFound
	}
	recursive := c.request.URL.Query().Has("recursive") // any value, as GitHub takes it
	entries := g.walk(id, "", recursive)
	truncated := recursive && c.server.treeCap > 0 && len(entries) > c.server.treeCap
	if truncated {
		entries = entries[:c.server.treeCap]
	}
	return http.StatusOK, c.showTree(id, entries, truncated), nil
}

func createTree(c *exchange) (int, any, error) {
	in, err := decode[struct {
		BaseTree string `json:"base_tree"`
		Tree     []struct {
			Path, Mode, Type string
			SHA, Content     *string
		}
	}](c)
	if err != nil {
		return 0, nil, err
	}
	g := &c.repo.git
	if g.empty() {
		return 0, nil, emptyRepo
	}
	files := map[string]treeEntry{}
	if in.BaseTree != "" {
		if _, ok := g.trees[in.BaseTree]; !ok {
			return 0, nil, unprocessable("base_tree is not a valid tree oid")
		}
		files = maps.Clone(g.flatten(in.BaseTree))
	}
	for _, e := range in.Tree {
		for _, part := range strings.Split(e.Path, "/") {
			if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") {
				return 0, nil, unprocessable("tree.path contains a malformed path component")
			}
		}
		switch {
		case e.Content != nil:
			files[e.Path] = treeEntry{mode: e.Mode, kind: "blob", sha: g.put("blob", []byte(*e.Content))}
		case e.SHA == nil:
			delete(files, e.Path)
		default:
			if _, ok := g.blobs[*e.SHA]; !ok || e.Type != "blob" {
				return 0, nil, unprocessable("tree.sha %s is not a valid blob", *e.SHA)
			}
			files[e.Path] = treeEntry{mode: e.Mode, kind: "blob", sha: *e.SHA}
		}
	}
	id := g.writeTree(files)
	return http.StatusCreated, c.showTree(id, g.walk(id, "", false), false), nil
}

func getBlob(c *exchange) (int, any, error) {
	if c.repo.git.empty() {
		return 0, nil, emptyRepo
	}
	id := c.params["file_sha"]
	data, ok := c.repo.git.blobs[id]
	if !ok {
		return 0, nil, notFound
	}
	if accept := c.request.Header.Get("Accept"); strings.HasPrefix(accept, "application/vnd.github") && strings.Contains(accept, "raw") {
		return http.StatusOK, raw(data), nil
	}
	// GitHub breaks base64 into lines.
	encoded := base64.StdEncoding.EncodeToString(data)
	var lines strings.Builder
	for ; len(encoded) > 60; encoded = encoded[60:] {
		lines.WriteString(encoded[:60] + "\n")
	}
	lines.WriteString(encoded + "\n")
	return http.StatusOK, object{
		"sha": id, "node_id": "B_" + id[:8], "size": len(data), "url": c.gitURL("blobs", id),
		"content": lines.String(), "encoding": "base64",
	}, nil
}

func createBlob(c *exchange) (int, any, error) {
	in, err := decode[struct{ Content, Encoding string }](c)
	if err != nil {
		return 0, nil, err
	}
	if c.repo.git.empty() {
		return 0, nil, emptyRepo
	}
	data := []byte(in.Content)
	if in.Encoding == "base64" {
		if data, err = base64.StdEncoding.DecodeString(in.Content); err != nil {
			return 0, nil, unprocessable("content is not valid Base64")
		}
	}
	id := c.repo.git.put("blob", data)
	return http.StatusCreated, object{"sha": id, "url": c.gitURL("blobs", id)}, nil
}
