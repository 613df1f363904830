package cli

import (
	"context"
	"fmt"

	"github.com/org/llm-gate/baselines"
	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/gate/config"
	"github.com/org/llm-gate/loadtest"
)

// defaultBaselineDir is the directory store where nothing names one.
const defaultBaselineDir = "llm-gate-baselines"

// openStore opens the store of accepted runs: dir where it is given, else what
// the config says; by itself a branch on GitHub and a directory elsewhere.
func (a *app) openStore(dir string, cfg *config.Config, s *surroundings) (baselines.Store, error) {
	if dir == "" {
		if named, ok := cfg.Baseline.Directory(); ok {
			dir = named
		} else if branch, ok := cfg.Baseline.Branch(); ok || s.actions {
			return openBranch(branch, s)
		} else {
			dir = defaultBaselineDir
		}
	}
	if err := baselines.CheckDurable(dir, a.env.Getenv); err != nil {
		return nil, usage(err)
	}
	return baselines.NewDir(dir), nil
}

func openBranch(branch string, s *surroundings) (baselines.Store, error) {
	if !s.actions {
		return nil, usagef("baseline.store: the branch store works within GitHub Actions only: name a directory with --baseline-dir")
	}
	if s.client == nil {
		return nil, usagef("baseline.store: no token to read the branch of baselines with: give the step a token (GITHUB_TOKEN or the action's token input), or name a directory with --baseline-dir")
	}
	return baselines.NewBranch(s.client, s.env.Repo.Owner, s.env.Repo.Name, branch), nil
}

// history reads the accepted runs of the result's key, newest first, and where
// there are none those of the same name under other conditions.
func history(ctx context.Context, store baselines.Store, res *loadtest.Result, keep int) (own, elsewhere []gate.Accepted, err error) {
	if keep == 0 {
		keep = gate.DefaultKeep
	}
	key := baselines.KeyOf(res)
	entries, err := baselines.History(ctx, store, key, keep)
	if err != nil {
		return nil, nil, fmt.Errorf("read baselines: %w", err)
	}
	if len(entries) > 0 {
		return accepted(entries), nil, nil
	}
	others, err := baselines.Elsewhere(ctx, store, key)
	if err != nil {
		return nil, nil, fmt.Errorf("read baselines: %w", err)
	}
	return nil, accepted(others), nil
}

func accepted(entries []*baselines.Entry) []gate.Accepted {
	out := make([]gate.Accepted, len(entries))
	for i, e := range entries {
		out[i] = gate.Accepted{Result: e.Result, Reference: gate.Reference{
			ID: e.ID, Commit: e.Result.Provenance.Commit, RunURL: e.Result.Provenance.RunURL,
			RecordedAt: e.RecordedAt, Reason: e.Reason,
		}}
	}
	return out
}

// capacity is the capacity kept with the newest accepted run of the name; nil
// where none is known.
func capacity(ctx context.Context, store baselines.Store, name string) (*float64, error) {
	refs, err := store.List(ctx, name)
	if err != nil || len(refs) == 0 {
		return nil, err
	}
	entry, err := store.Load(ctx, refs[0].Key, refs[0].ID)
	if err != nil {
		return nil, err
	}
	return entry.Result.CapacityPerS, nil
}
