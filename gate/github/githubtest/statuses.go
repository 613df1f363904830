package githubtest

import (
	"fmt"
	"net/http"
)

// Statuses lists the commit statuses and deployment statuses that were
// created, oldest first, as GitHub shows them. A commit status has "sha", a
// deployment status "deployment".
func (s *Server) Statuses(fullName string) []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]map[string]any(nil), s.mustRepo(fullName).statuses...)
}

func createStatus(c *exchange) (int, any, error) {
	in, err := decode[object](c)
	if err != nil {
		return 0, nil, err
	}
	if len([]rune(text(in["description"]))) > 140 {
		return 0, nil, unprocessable("Validation Failed: description is too long (maximum is 140 characters)")
	}
	out := c.server.api.template("status")
	out["id"], out["state"], out["context"] = c.server.newID(), in["state"], in["context"]
	if out["context"] == nil {
		out["context"] = "default"
	}
	out["description"], out["target_url"] = in["description"], in["target_url"]
	out["url"] = fmt.Sprintf("%s/repos/%s/%s/statuses/%s", c.server.URL, c.repo.owner, c.repo.name, c.params["sha"])
	out["created_at"], out["updated_at"] = c.stamp(), c.stamp()
	c.author(out["creator"].(object))
	c.keepStatus(out, "sha", c.params["sha"])
	return http.StatusCreated, out, nil
}

func createDeploymentStatus(c *exchange) (int, any, error) {
	in, err := decode[object](c)
	if err != nil {
		return 0, nil, err
	}
	out := c.server.api.template("deployment-status")
	out["id"], out["state"] = c.server.newID(), in["state"]
	for _, field := range []string{"description", "environment", "environment_url", "log_url", "target_url"} {
		if v, ok := in[field]; ok {
			out[field] = v
		}
	}
	out["created_at"], out["updated_at"] = c.stamp(), c.stamp()
	c.author(out["creator"].(object))
	c.keepStatus(out, "deployment", c.params["deployment_id"])
	return http.StatusCreated, out, nil
}

func (c *exchange) keepStatus(shown object, key string, of any) {
	kept := object{key: of}
	for k, v := range shown {
		kept[k] = v
	}
	c.repo.statuses = append(c.repo.statuses, kept)
}
