package baselines

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	gh "github.com/google/go-github/v62/github"
)

// readme tells people who come across the branch what it is.
const readme = `# Baselines of llm-gate

Each file is one accepted run: <service>/<GPU>@<workload>/<time>_<run>.json.
They are written by the gate and read by the runs after it. Do not edit them:
a file that was changed is refused. To drop a baseline, delete its file.
`

// Append implements Store.
func (b *Branch) Append(ctx context.Context, e *Entry) error {
	if err := e.valid(); err != nil {
		return fmt.Errorf("append baseline %s: %w", e.ID, err)
	}
	data, err := e.Encode()
	if err != nil {
		return err
	}
	if err := b.append(ctx, e, data); err != nil {
		switch {
		case status(err) == http.StatusForbidden:
			err = fmt.Errorf("%w (the job needs `permissions: contents: write`)", err)
		case status(err) == http.StatusConflict && strings.Contains(err.Error(), "empty"):
			err = fmt.Errorf("%w (push a first commit to the repository)", err)
		}
		return fmt.Errorf("append baseline %s to branch %s of %s/%s: %w", e.ID, b.branch, b.owner, b.repo, err)
	}
	return nil
}

func (b *Branch) append(ctx context.Context, e *Entry, data []byte) error {
	blob, _, err := b.client.Git.CreateBlob(ctx, b.owner, b.repo, &gh.Blob{
		Content: gh.String(base64.StdEncoding.EncodeToString(data)), Encoding: gh.String("base64"),
	})
	if err != nil {
		return err
	}
	var last error
	for attempt := 1; attempt <= appendAttempts; attempt++ {
		if attempt > 1 {
			if err := b.pause(ctx, attempt-1); err != nil {
				return errors.Join(err, last)
			}
		}
		at, err := b.head(ctx)
		if err != nil {
			return err
		}
		refs, err := b.listAt(ctx, at, e.Key.Name)
		if err != nil {
			return err
		}
		if have, ok := find(refs, e.Key, e.ID); ok {
			if attempt > 1 && b.holds(have.Path, blob.GetSHA()) {
				return nil // an earlier attempt did it, and its answer was lost
			}
			return fmt.Errorf("%w as %s", fs.ErrExist, have.Path)
		}
		commit, err := b.commit(ctx, at, e, blob.GetSHA())
		if err != nil {
			return err
		}
		if last = b.move(ctx, at, commit); last == nil {
			return nil
		}
		raced, err := b.raced(ctx, at, last)
		if err != nil {
			return errors.Join(last, err)
		}
		if !raced {
			return last
		}
	}
	return fmt.Errorf("%w (%d attempts): %w", ErrConflict, appendAttempts, last)
}

func (b *Branch) holds(path, blob string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.known[path] == blob
}

// commit writes the entry's commit over a tip, without moving the branch.
func (b *Branch) commit(ctx context.Context, at tip, e *Entry, blob string) (string, error) {
	file := func(path string) *gh.TreeEntry {
		return &gh.TreeEntry{Path: &path, Mode: gh.String("100644"), Type: gh.String("blob")}
	}
	entry := file(e.path())
	entry.SHA = &blob
	entries := []*gh.TreeEntry{entry}
	commit := &gh.Commit{Message: gh.String(fmt.Sprintf("Accept run %s of %s (%s)", e.ID, oneLine(e.Key.Name), e.Conclusion))}
	if at.commit == "" {
		about := file("README.md")
		about.Content = gh.String(readme)
		entries = append(entries, about)
	} else {
		commit.Parents = []*gh.Commit{{SHA: &at.commit}}
	}
	tree, _, err := b.client.Git.CreateTree(ctx, b.owner, b.repo, at.tree, entries)
	if err != nil {
		return "", err
	}
	commit.Tree = tree
	made, _, err := b.client.Git.CreateCommit(ctx, b.owner, b.repo, commit, nil)
	if err != nil {
		return "", err
	}
	return made.GetSHA(), nil
}

// move puts the branch on a commit if it is still where it was: GitHub refuses
// what is no fast forward, and a branch that exists.
func (b *Branch) move(ctx context.Context, from tip, to string) error {
	ref := &gh.Reference{Ref: gh.String("refs/heads/" + b.branch), Object: &gh.GitObject{SHA: &to}}
	var err error
	if from.commit == "" {
		_, _, err = b.client.Git.CreateRef(ctx, b.owner, b.repo, ref)
	} else {
		_, _, err = b.client.Git.UpdateRef(ctx, b.owner, b.repo, ref, false)
	}
	return err
}

// raced tells a move that another writer won, or whose fate is unknown, from
// one that GitHub refuses for good, such as a protected branch: the statuses
// are the same, but after a race the branch is not where it was.
func (b *Branch) raced(ctx context.Context, from tip, refusal error) (bool, error) {
	if maybeDone(refusal) {
		return true, nil
	}
	if s := status(refusal); s != http.StatusUnprocessableEntity && s != http.StatusConflict {
		return false, nil
	}
	text := strings.ToLower(refusal.Error())
	if strings.Contains(text, "fast forward") || strings.Contains(text, "already exists") {
		return true, nil
	}
	now, err := b.head(ctx)
	return now.commit != from.commit, err
}

// oneLine keeps a name from outside within a commit message's first line.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}
