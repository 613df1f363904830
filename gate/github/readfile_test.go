package github

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	s, c, _, _ := setup(t)
	content := strings.Repeat("rounds: 5\n", 100)
	s.SetFile("org/app", "main", "deploy/llm-gate.yml", []byte(content))
	ref, _, err := c.Git.GetRef(t.Context(), "org", "app", "heads/main")
	if err != nil {
		t.Fatal(err)
	}
	repo, sha := Repo{"org", "app"}, ref.GetObject().GetSHA()
	data, err := ReadFile(t.Context(), c, repo, sha, "deploy/llm-gate.yml")
	if err != nil || string(data) != content {
		t.Errorf("ReadFile = %.40q, %v", data, err)
	}
	for _, name := range []string{"llm-gate.yml", "deploy", "deploy/llm-gate.yml/x", "no/such"} {
		if _, err := ReadFile(t.Context(), c, repo, sha, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("ReadFile(%s) = %v, want ErrNotExist", name, err)
		}
	}
	for _, name := range []string{"../x", "/etc/passwd", "", "."} {
		if _, err := ReadFile(t.Context(), c, repo, sha, name); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("ReadFile(%q) = %v, want an error of its own", name, err)
		}
	}
	if _, err := ReadFile(t.Context(), c, repo, strings.Repeat("b", 40), "deploy/llm-gate.yml"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a commit that is not there: %v must not look like a missing file", err)
	}
}
