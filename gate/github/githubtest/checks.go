package githubtest

import (
	"fmt"
	"net/http"
	"slices"
)

type checkRun struct {
	id      int64
	headSHA string
	shown   object
	notes   []object
}

// CheckRun is a check run as tests see it.
type CheckRun struct {
	ID                                    int64
	Name, HeadSHA, Status, Conclusion     string
	Title, Summary, Text, ExternalID, URL string
	Annotations                           []map[string]any
}

// CheckRuns lists the check runs of a commit, oldest first.
func (s *Server) CheckRuns(fullName, sha string) []CheckRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []CheckRun
	for _, run := range s.mustRepo(fullName).checks {
		if run.headSHA != sha {
			continue
		}
		output := run.shown["output"].(object)
		out = append(out, CheckRun{
			ID: run.id, HeadSHA: run.headSHA, Name: text(run.shown["name"]),
			Status: text(run.shown["status"]), Conclusion: text(run.shown["conclusion"]),
			Title: text(output["title"]), Summary: text(output["summary"]), Text: text(output["text"]),
			ExternalID: text(run.shown["external_id"]), URL: text(run.shown["details_url"]),
			Annotations: run.notes,
		})
	}
	return out
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func createCheckRun(c *exchange) (int, any, error) {
	in, err := decode[object](c)
	if err != nil {
		return 0, nil, err
	}
	run := &checkRun{id: c.server.newID(), headSHA: text(in["head_sha"]), shown: c.server.api.template("check-run")}
	run.shown["id"], run.shown["head_sha"], run.shown["name"] = run.id, run.headSHA, in["name"]
	run.shown["url"] = fmt.Sprintf("%s/repos/%s/%s/check-runs/%d", c.server.URL, c.repo.owner, c.repo.name, run.id)
	run.shown["html_url"] = fmt.Sprintf("https://github.com/%s/%s/runs/%d", c.repo.owner, c.repo.name, run.id)
	run.shown["details_url"], run.shown["external_id"] = run.shown["html_url"], ""
	run.shown["status"], run.shown["conclusion"] = "queued", nil
	run.shown["started_at"], run.shown["completed_at"] = c.stamp(), nil
	run.shown["pull_requests"] = []any{}
	run.shown["output"] = object{
		"title": nil, "summary": nil, "text": nil, "annotations_count": 0,
		"annotations_url": text(run.shown["url"]) + "/annotations",
	}
	if err := c.changeCheckRun(run, in); err != nil {
		return 0, nil, err
	}
	c.repo.checks = append(c.repo.checks, run)
	return http.StatusCreated, run.shown, nil
}

func updateCheckRun(c *exchange) (int, any, error) {
	run, err := c.findCheckRun()
	if err != nil {
		return 0, nil, err
	}
	in, err := decode[object](c)
	if err != nil {
		return 0, nil, err
	}
	if err := c.changeCheckRun(run, in); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, run.shown, nil
}

// changeCheckRun changes what in names. The description itself bounds lengths
// and the number of annotations.
func (c *exchange) changeCheckRun(run *checkRun, in object) error {
	output, _ := in["output"].(object)
	if in["status"] == "completed" && in["conclusion"] == nil {
		return unprocessable("Invalid request.\n\nMissing required parameter \"conclusion\" when \"status\" is \"completed\".")
	}
	for _, field := range []string{"name", "status", "conclusion", "started_at", "completed_at", "details_url", "external_id"} {
		if v, ok := in[field]; ok {
			run.shown[field] = v
		}
	}
	if in["conclusion"] != nil {
		run.shown["status"] = "completed"
		if in["completed_at"] == nil {
			run.shown["completed_at"] = c.stamp()
		}
	}
	if output == nil {
		return nil
	}
	shown := run.shown["output"].(object)
	for _, field := range []string{"title", "summary", "text"} {
		if v, ok := output[field]; ok {
			shown[field] = v
		}
	}
	notes, _ := output["annotations"].([]any)
	for _, note := range notes {
		run.notes = append(run.notes, note.(object)) // they add up over updates
	}
	shown["annotations_count"] = len(run.notes)
	return nil
}

func (c *exchange) findCheckRun() (*checkRun, error) {
	id := c.id("check_run_id")
	i := slices.IndexFunc(c.repo.checks, func(run *checkRun) bool { return run.id == id })
	if i < 0 {
		return nil, notFound
	}
	return c.repo.checks[i], nil
}

func getCheckRun(c *exchange) (int, any, error) {
	run, err := c.findCheckRun()
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, run.shown, nil
}

// listCheckRuns answers newest first; without filter=all only the newest of
// each name.
func listCheckRuns(c *exchange) (int, any, error) {
	query := c.request.URL.Query()
	sha := c.params["ref"]
	for _, ref := range []string{"refs/heads/" + sha, "refs/" + sha} {
		if target, ok := c.repo.git.refs[ref]; ok {
			sha = target
		}
	}
	seen := map[string]bool{}
	all := []object{}
	for _, run := range slices.Backward(c.repo.checks) {
		name := text(run.shown["name"])
		switch {
		case run.headSHA != sha,
			query.Get("check_name") != "" && query.Get("check_name") != name,
			query.Get("status") != "" && query.Get("status") != run.shown["status"],
			query.Get("filter") != "all" && seen[name]:
			continue
		}
		seen[name] = true
		all = append(all, run.shown)
	}
	from, to := c.page(len(all))
	return http.StatusOK, object{"total_count": len(all), "check_runs": all[from:to]}, nil
}
