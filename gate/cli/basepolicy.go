package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/gate/config"
	"github.com/org/llm-gate/gate/github"
	"github.com/org/llm-gate/loadtest"
)

// basePolicy replaces the settings of a pull request by those of its base: a
// change must not choose what it is judged by. notes say what came of it.
//
// Where the base has no policy yet, the pull request's is used for observing
// only. Where the base cannot be read there is nothing to judge by: an error.
func (a *app) basePolicy(ctx context.Context, f *loadFlags, s *surroundings, own *config.Config) (cfg *config.Config, notes []string, err error) {
	if !s.actions || !s.env.ForPullRequest || s.env.BaseSHA == "" {
		return own, nil, nil
	}
	name, err := repositoryPath(f.config, s.env.Workspace)
	if err != nil {
		return nil, nil, usage(err)
	}
	if s.client == nil {
		return nil, nil, fmt.Errorf("no token to read %s of the pull request's base with: give the step a token with contents: read", name)
	}
	mine, err := os.ReadFile(filepath.Join(s.env.Workspace, filepath.FromSlash(name)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, usagef("read config: %w", err)
	}
	base := fmt.Sprintf("%s@%.7s", s.env.BaseRef, s.env.BaseSHA)
	theirs, err := github.ReadFile(ctx, s.client, s.env.Repo, s.env.BaseSHA, name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && mine == nil:
		own.Policy.Source = "defaults"
		return own, nil, nil
	case errors.Is(err, fs.ErrNotExist):
		own.Policy.FailOn = gate.FailOnNever
		own.Policy.Source = name + " of this pull request"
		return own, []string{fmt.Sprintf("%s has no %s yet: this pull request's is used for observing only", base, name)}, nil
	case err != nil:
		return nil, nil, fmt.Errorf("read the policy of the pull request's base: %w", err)
	}
	cfg, err = config.Load(filepath.Join(s.env.Workspace, filepath.FromSlash(name)), theirs, a.env.Getenv, f.replaced(a.env.Getenv)...)
	if err != nil {
		return nil, nil, usagef("%s at %s: %w", name, base, err)
	}
	if err := f.apply(cfg, a.env.Getenv); err != nil {
		return nil, nil, usage(err)
	}
	cfg.Policy.Source = base + ", unchanged by this pull request"
	if !bytes.Equal(mine, theirs) {
		cfg.Policy.Source = base
		notes = append(notes, fmt.Sprintf("this pull request changes %s: it was loaded and judged by that of %s", name, base))
	}
	changed, err := basePrompts(ctx, f, s, cfg)
	if err != nil {
		return nil, nil, err
	}
	if changed {
		notes = append(notes, fmt.Sprintf("this pull request changes the prompt file: those of %s were sent", base))
	}
	return cfg, notes, nil
}

// basePrompts makes cfg send the prompt file of the base.
func basePrompts(ctx context.Context, f *loadFlags, s *surroundings, cfg *config.Config) (changed bool, err error) {
	file := cfg.Load.Prompts.File
	if file == "" || f.given("prompts") {
		return false, nil
	}
	name, outside := repositoryPath(file, s.env.Workspace)
	if outside != nil {
		return false, nil // where a pull request does not reach
	}
	theirs, err := github.ReadFile(ctx, s.client, s.env.Repo, s.env.BaseSHA, name)
	if err != nil {
		return false, fmt.Errorf("read the prompts of the pull request's base: %w", err)
	}
	if mine, err := os.ReadFile(file); err == nil && bytes.Equal(mine, theirs) {
		return false, nil
	}
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return false, usagef("--out: %w", err)
	}
	cfg.Load.Prompts.File = filepath.Join(f.out, "base-prompts.jsonl")
	return true, loadtest.WriteFile(cfg.Load.Prompts.File, func(w io.Writer) error {
		_, err := w.Write(theirs)
		return err
	})
}

// repositoryPath is where a file of the workspace lies in the repository.
func repositoryPath(file, workspace string) (string, error) {
	if file == "" {
		file = defaultConfigFile
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(workspace, abs)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", fmt.Errorf("--config %s lies outside the workspace %s: a pull request is judged by its base's file, which must be part of the repository", file, workspace)
	}
	return filepath.ToSlash(rel), nil
}
