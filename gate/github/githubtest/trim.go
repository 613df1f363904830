//go:build ignore

// Command trim cuts GitHub's published OpenAPI description down to the
// operations that Server answers. From this folder:
//
//	npm pack @octokit/openapi@23.0.2
//	tar xzf octokit-openapi-23.0.2.tgz
//	go run trim.go package/generated/api.github.com.json openapi.json
//
// The description is © Octokit contributors under the MIT licence, which stands
// beside the result in openapi.LICENSE.
package main

import (
	"encoding/json"
	"log"
	"os"
	"strings"
)

// keep lists the operations.
var keep = map[string][]string{
	"/user":                 {"get"},
	"/repos/{owner}/{repo}": {"get"},
	"/repos/{owner}/{repo}/pulls/{pull_number}":                  {"get"},
	"/repos/{owner}/{repo}/commits/{commit_sha}/pulls":           {"get"},
	"/repos/{owner}/{repo}/issues/{issue_number}/comments":       {"get", "post"},
	"/repos/{owner}/{repo}/issues/comments/{comment_id}":         {"get", "patch", "delete"},
	"/repos/{owner}/{repo}/check-runs":                           {"post"},
	"/repos/{owner}/{repo}/check-runs/{check_run_id}":            {"get", "patch"},
	"/repos/{owner}/{repo}/commits/{ref}/check-runs":             {"get"},
	"/repos/{owner}/{repo}/statuses/{sha}":                       {"post"},
	"/repos/{owner}/{repo}/deployments/{deployment_id}/statuses": {"post"},
	"/repos/{owner}/{repo}/git/blobs":                            {"post"},
	"/repos/{owner}/{repo}/git/blobs/{file_sha}":                 {"get"},
	"/repos/{owner}/{repo}/git/commits":                          {"post"},
	"/repos/{owner}/{repo}/git/commits/{commit_sha}":             {"get"},
	"/repos/{owner}/{repo}/git/ref/{ref}":                        {"get"},
	"/repos/{owner}/{repo}/git/refs":                             {"post"},
	"/repos/{owner}/{repo}/git/refs/{ref}":                       {"patch"},
	"/repos/{owner}/{repo}/git/trees":                            {"post"},
	"/repos/{owner}/{repo}/git/trees/{tree_sha}":                 {"get"},
}

// examples are kept as templates of the answers.
var examples = []string{
	"check-run", "commit", "deployment-status", "full-repository", "issue-comment",
	"pull-request", "pull-request-simple-items", "status",
}

type object = map[string]any

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: go run trim.go DESCRIPTION OUT")
	}
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var whole object
	if err := json.Unmarshal(data, &whole); err != nil {
		log.Fatal(err)
	}
	paths := object{}
	for path, methods := range keep {
		item, ok := whole["paths"].(object)[path].(object)
		if !ok {
			log.Fatalf("the description has no %s", path)
		}
		kept := object{}
		if shared, ok := item["parameters"]; ok {
			kept["parameters"] = shared
		}
		for _, method := range methods {
			if kept[method], ok = item[method]; !ok {
				log.Fatalf("the description has no %s %s", method, path)
			}
		}
		paths[path] = strip(kept, false)
	}
	out := object{"openapi": whole["openapi"], "info": whole["info"], "paths": paths}
	components := object{}
	follow(paths, whole["components"].(object), components)
	templates := object{}
	for _, name := range examples {
		example, ok := whole["components"].(object)["examples"].(object)[name]
		if !ok {
			log.Fatalf("the description has no example %s", name)
		}
		templates[name] = example
	}
	components["examples"] = templates
	out["components"] = components
	encoded, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[2], append(encoded, '\n'), 0o644); err != nil {
		log.Fatal(err)
	}
}

// strip drops prose and examples, which validate nothing. named says that v's
// keys are names (of properties, responses, ...), not words of OpenAPI.
func strip(v any, named bool) any {
	switch v := v.(type) {
	case object:
		for key, member := range v {
			_, response := v["content"]
			switch {
			case named:
				v[key] = strip(member, false)
			case key == "example", key == "examples", key == "externalDocs", strings.HasPrefix(key, "x-"):
				delete(v, key)
			case key == "description" && (response || v["$ref"] == nil && v["schema"] == nil && v["type"] == nil && v["in"] == nil):
				v[key] = "" // a response must have one
			case key == "description":
				delete(v, key)
			case key == "enum", key == "required", key == "default":
			default:
				v[key] = strip(member, key == "properties" || key == "responses" || key == "headers" || key == "content")
			}
		}
	case []any:
		for i := range v {
			v[i] = strip(v[i], false)
		}
	}
	return v
}

// follow copies every component that v refers to.
func follow(v any, from, to object) {
	switch v := v.(type) {
	case object:
		if ref, ok := v["$ref"].(string); ok {
			parts := strings.Split(strings.TrimPrefix(ref, "#/components/"), "/")
			kind, name := parts[0], parts[1]
			if to[kind] == nil {
				to[kind] = object{}
			}
			if _, done := to[kind].(object)[name]; !done {
				component := strip(from[kind].(object)[name], false)
				to[kind].(object)[name] = component
				follow(component, from, to)
			}
		}
		for _, member := range v {
			follow(member, from, to)
		}
	case []any:
		for _, member := range v {
			follow(member, from, to)
		}
	}
}
