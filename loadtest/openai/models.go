package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/hbollon/go-edlib"
)

// model is an entry of /v1/models.
type model struct {
	ID          string   `json:"id"`
	Aliases     []string `json:"aliases"` // llama.cpp
	OwnedBy     string   `json:"owned_by"`
	Revision    string   `json:"revision"`
	MaxModelLen *int     `json:"max_model_len"` // vLLM, SGLang
}

// is reports whether the entry answers to name: its id, an alias, or the id
// without Ollama's ":latest".
func (m model) is(name string) bool {
	if m.ID == name || m.ID == name+":latest" {
		return true
	}
	for _, alias := range m.Aliases {
		if alias == name {
			return true
		}
	}
	return false
}

// findModel asks for the model list, resolves or checks the model's name, and
// notes what the list tells. A server without a list is fine where a model is
// named; an empty list is one that still fills.
func (c *Client) findModel(ctx context.Context, info *Info) attempt {
	a := c.get(ctx, "/v1/models")
	switch {
	case a.status == 0:
		return a.attempt
	case loading(a.status), a.status == http.StatusTooManyRequests:
		a.err = fmt.Errorf("HTTP %d: %s", a.status, c.words(statusText(a)))
		return a.attempt
	case a.status == http.StatusUnauthorized, a.status == http.StatusForbidden:
		a.refuse(a.status, c.words(statusText(a)))
		return a.attempt
	case a.status >= 500 && a.status != http.StatusNotImplemented:
		a.fault = true
		a.err = fmt.Errorf("HTTP %d: %s", a.status, c.words(statusText(a)))
		return a.attempt
	}
	if server := a.header.Get("Server"); server != "" {
		info.flag("server", c.words(server))
	}
	wanted := c.Model()
	models, err := parseModels(a.status, a.body)
	if err != nil {
		if wanted != "" {
			return attempt{} // the completion will tell
		}
		a.refuse(a.status, c.words(fmt.Sprintf("no model is named and there is no list of models to take it from (%v); name one with --model", err)))
		return a.attempt
	}
	if len(models) == 0 {
		a.err = errors.New("the server lists no model yet")
		return a.attempt
	}
	if wanted == "" {
		if len(models) > 1 {
			a.refuse(0, c.words(fmt.Sprintf("it serves %d models, name one with --model: %s", len(models), names(models))))
			return a.attempt
		}
		wanted = models[0].ID
	}
	for _, m := range models {
		if m.is(wanted) {
			c.setModel(wanted)
			info.note(c, m)
			return attempt{}
		}
	}
	hint := ""
	if near := nearest(wanted, models); near != "" {
		hint = fmt.Sprintf(", did you mean %q?", near)
	}
	a.refuse(0, c.words(fmt.Sprintf("it has no model %q%s It serves: %s", wanted, orStop(hint), names(models))))
	return a.attempt
}

func orStop(hint string) string {
	if hint == "" {
		return "."
	}
	return hint
}

func (i *Info) note(c *Client, m model) {
	i.ModelRevision = c.words(m.Revision)
	if m.OwnedBy != "" {
		i.flag("owned_by", c.words(m.OwnedBy))
		i.Engine = engineOf(i.Flags["owned_by"])
	}
	if m.MaxModelLen != nil {
		i.flag("max_model_len", fmt.Sprint(*m.MaxModelLen))
	}
}

// parseModels reads a model list; an error says what came instead.
func parseModels(status int, body []byte) ([]model, error) {
	if status != http.StatusOK {
		return nil, fmt.Errorf("/v1/models: HTTP %d: %s", status, cut(errorText(body), 100))
	}
	var list struct {
		Data *[]model `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil || list.Data == nil {
		return nil, fmt.Errorf("/v1/models is no model list: %s", cut(string(body), 100))
	}
	models := (*list.Data)[:0]
	for _, m := range *list.Data {
		if m.ID != "" && m.ID != Auto {
			models = append(models, m)
		}
	}
	return models, nil
}

func names(models []model) string {
	ids := make([]string, len(models))
	for i, m := range models {
		ids[i] = m.ID
	}
	return strings.Join(ids, ", ")
}

// nearest is the name closest to wanted: one that contains it or is contained
// in it, or that is at most a third of its letters away; "" if none is.
func nearest(wanted string, models []model) string {
	best, bestAway := "", len(wanted)/3+1
	low := strings.ToLower(wanted)
	for _, m := range models {
		id := strings.ToLower(m.ID)
		if strings.Contains(id, low) || strings.Contains(low, id) {
			return m.ID
		}
		if away := edlib.OSADamerauLevenshteinDistance(low, id); away < bestAway {
			best, bestAway = m.ID, away
		}
	}
	return best
}

func statusText(a answer) string {
	if s := strings.TrimSpace(errorText(a.body)); s != "" {
		return s
	}
	return http.StatusText(a.status)
}

// trimStatus drops the status that a Detail opens with.
func trimStatus(detail string, status int) string {
	return strings.TrimPrefix(detail, fmt.Sprintf("HTTP %d: ", status))
}

// isUnknownName reports whether a host name does not exist.
func isUnknownName(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}
