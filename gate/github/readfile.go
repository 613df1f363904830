package github

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	gh "github.com/google/go-github/v62/github"
)

// ReadFile reads one file of a commit through the Git data API: no clone is
// needed, and large files come whole. name is the path from the repository's
// root. A file that the commit does not have is fs.ErrNotExist.
func ReadFile(ctx context.Context, client *gh.Client, repo Repo, sha, name string) ([]byte, error) {
	data, err := readFile(ctx, client, repo, sha, name)
	if err != nil {
		return nil, fmt.Errorf("read %s of %s at %s: %w", name, repo, sha, err)
	}
	return data, nil
}

func readFile(ctx context.Context, client *gh.Client, repo Repo, sha, name string) ([]byte, error) {
	if !fs.ValidPath(name) || name == "." {
		return nil, fmt.Errorf("%q is not a path within a repository", name)
	}
	commit, _, err := client.Git.GetCommit(ctx, repo.Owner, repo.Name, sha)
	if err != nil {
		return nil, err
	}
	node := commit.GetTree().GetSHA()
	rest := strings.Split(path.Clean(name), "/")
	for i, part := range rest {
		tree, _, err := client.Git.GetTree(ctx, repo.Owner, repo.Name, node, false)
		if err != nil {
			return nil, err
		}
		want := "tree"
		if i == len(rest)-1 {
			want = "blob"
		}
		if node = entrySHA(tree, part, want); node == "" {
			return nil, fs.ErrNotExist
		}
	}
	data, _, err := client.Git.GetBlobRaw(ctx, repo.Owner, repo.Name, node)
	return data, err
}

// entrySHA finds an entry of a tree by name and kind; "" where there is none.
func entrySHA(tree *gh.Tree, name, kind string) string {
	for _, e := range tree.Entries {
		if e.GetPath() == name && e.GetType() == kind {
			return e.GetSHA()
		}
	}
	return ""
}
