package baselines

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	gh "github.com/google/go-github/v62/github"
)

// DefaultBranch is where a Branch keeps its entries unless told otherwise.
const DefaultBranch = "llm-gate-baselines"

// Appending to a branch: how often a lost race is tried again, and the waits
// between, of which a random part is taken.
const (
	appendAttempts = 40
	firstDelay     = 100 * time.Millisecond
	maxDelay       = 5 * time.Second
)

// Branch is a Store on a branch of a GitHub repository with no history in
// common with the code, one commit an entry, in the layout of Dir. It works
// through the Git data API, without a clone: an entry becomes a blob, a tree
// over the newest tree, a commit over the newest commit, and the branch is
// moved there only if nobody moved it meanwhile; else it begins anew from what
// the other wrote. Reading needs the permission `contents: read`, Append
// `contents: write`.
type Branch struct {
	client              *gh.Client
	owner, repo, branch string
	firstDelay          time.Duration

	mu sync.Mutex
	// known maps the path of every entry seen to its blob. Entries never
	// change, so what was seen stays right.
	known map[string]string
}

// NewBranch is a store on a branch ("" is DefaultBranch) of owner/repo, which
// the first Append makes. The client should retry server errors and rate
// limits; lost races are retried here.
func NewBranch(client *gh.Client, owner, repo, branch string) *Branch {
	if branch == "" {
		branch = DefaultBranch
	}
	return &Branch{client: client, owner: owner, repo: repo, branch: branch, firstDelay: firstDelay, known: map[string]string{}}
}

// Load implements Store.
func (b *Branch) Load(ctx context.Context, key Key, id string) (*Entry, error) {
	ref, blob, ok := b.recall(key, id)
	if !ok {
		refs, err := b.List(ctx, key.Name)
		if err != nil {
			return nil, err
		}
		if ref, ok = find(refs, key, id); !ok {
			return nil, fmt.Errorf("load baseline %s of %s from branch %s: %w", id, key, b.branch, fs.ErrNotExist)
		}
		b.mu.Lock()
		blob = b.known[ref.Path]
		b.mu.Unlock()
	}
	data, err := b.blob(ctx, blob)
	if err != nil {
		return nil, fmt.Errorf("load baseline %s from branch %s: %w", ref.Path, b.branch, err)
	}
	e, err := ReadEntry(b.branch+":"+ref.Path, data)
	if err != nil {
		return nil, err
	}
	if err := e.checkPlace(b.branch+":"+ref.Path, ref); err != nil {
		return nil, err
	}
	return e, nil
}

// recall finds an entry among those that were listed before.
func (b *Branch) recall(key Key, id string) (Ref, string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	prefix, suffix := key.path()+"/", "_"+escape(id)+".json"
	for path, blob := range b.known {
		if strings.HasPrefix(path, prefix) && strings.HasSuffix(path, suffix) {
			if ref, err := refAt(path); err == nil && ref.ID == id {
				return ref, blob, true
			}
		}
	}
	return Ref{}, "", false
}

func (b *Branch) blob(ctx context.Context, id string) ([]byte, error) {
	blob, _, err := b.client.Git.GetBlob(ctx, b.owner, b.repo, id)
	if err != nil {
		return nil, err
	}
	switch blob.GetEncoding() {
	case "base64":
		return base64.StdEncoding.DecodeString(blob.GetContent()) // skips line breaks
	case "utf-8":
		return []byte(blob.GetContent()), nil
	}
	return nil, fmt.Errorf("GitHub sent it in an unknown encoding %q", blob.GetEncoding())
}

// List implements Store.
func (b *Branch) List(ctx context.Context, name string) ([]Ref, error) {
	head, err := b.head(ctx)
	if err != nil {
		return nil, fmt.Errorf("list baselines of %q on branch %s: %w", name, b.branch, err)
	}
	refs, err := b.listAt(ctx, head, name)
	if err != nil {
		return nil, fmt.Errorf("list baselines of %q on branch %s: %w", name, b.branch, err)
	}
	return refs, nil
}

// Names implements Namer.
func (b *Branch) Names(ctx context.Context) ([]string, error) {
	head, err := b.head(ctx)
	if err != nil {
		return nil, fmt.Errorf("list baselines on branch %s: %w", b.branch, err)
	}
	if head.commit == "" {
		return nil, nil
	}
	tree, err := b.tree(ctx, head.tree, false)
	if err != nil {
		return nil, fmt.Errorf("list baselines on branch %s: %w", b.branch, err)
	}
	var names []string
	for _, e := range tree.Entries { // in Git's order, which is sorted
		if name, err := unescape(e.GetPath()); err == nil && e.GetType() == "tree" {
			names = append(names, name)
		}
	}
	return names, nil
}

// tip is the newest commit of the branch with its tree; zero where there is no
// branch yet.
type tip struct{ commit, tree string }

// head reads the tip. A repository that cannot be seen is an error, not an
// absent branch: GitHub answers 404 for both.
func (b *Branch) head(ctx context.Context) (tip, error) {
	ref, _, err := b.client.Git.GetRef(ctx, b.owner, b.repo, "heads/"+b.branch)
	switch status(err) {
	case http.StatusNotFound:
		if _, _, err := b.client.Repositories.Get(ctx, b.owner, b.repo); err != nil {
			return tip{}, fmt.Errorf("see repository %s/%s (does the token have contents: read?): %w", b.owner, b.repo, err)
		}
		return tip{}, nil
	case http.StatusConflict: // the repository has no commit at all
		return tip{}, nil
	}
	if err != nil {
		return tip{}, err
	}
	commit, _, err := b.client.Git.GetCommit(ctx, b.owner, b.repo, ref.GetObject().GetSHA())
	if err != nil {
		return tip{}, err
	}
	return tip{ref.GetObject().GetSHA(), commit.GetTree().GetSHA()}, nil
}

// listAt lists a service's entries at a tip and remembers their blobs.
func (b *Branch) listAt(ctx context.Context, at tip, name string) ([]Ref, error) {
	if at.commit == "" {
		return nil, nil
	}
	files, err := b.files(ctx, at.tree, escape(name))
	if err != nil {
		return nil, err
	}
	var refs []Ref
	for path := range files {
		ref, err := refAt(path)
		if err != nil {
			return nil, &CorruptError{Path: b.branch + ":" + path, Err: err}
		}
		refs = append(refs, ref)
	}
	b.mu.Lock()
	for path, blob := range files {
		b.known[path] = blob
	}
	b.mu.Unlock()
	sortNewestFirst(refs)
	return refs, nil
}

// files maps the path of every JSON file below one folder of a tree to its
// blob. It asks for the whole tree at once; where GitHub cuts that short it
// goes down folder by folder.
func (b *Branch) files(ctx context.Context, tree, folder string) (map[string]string, error) {
	files := map[string]string{}
	keep := func(prefix string, entries []*gh.TreeEntry) {
		for _, e := range entries {
			if path := prefix + e.GetPath(); e.GetType() == "blob" && strings.HasPrefix(path, folder+"/") && strings.HasSuffix(path, ".json") {
				files[path] = e.GetSHA()
			}
		}
	}
	whole, err := b.tree(ctx, tree, true)
	if err != nil {
		return nil, err
	}
	if !whole.GetTruncated() {
		keep("", whole.Entries)
		return files, nil
	}
	root, err := b.tree(ctx, tree, false)
	if err != nil {
		return nil, err
	}
	for _, e := range root.Entries {
		if e.GetPath() != folder || e.GetType() != "tree" {
			continue
		}
		service, err := b.tree(ctx, e.GetSHA(), false)
		if err != nil {
			return nil, err
		}
		for _, key := range service.Entries {
			if key.GetType() != "tree" {
				continue
			}
			history, err := b.tree(ctx, key.GetSHA(), false)
			if err != nil {
				return nil, err
			}
			keep(folder+"/"+key.GetPath()+"/", history.Entries)
		}
	}
	return files, nil
}

// tree reads a tree. Only a recursive listing may come back truncated.
func (b *Branch) tree(ctx context.Context, id string, recursive bool) (*gh.Tree, error) {
	tree, _, err := b.client.Git.GetTree(ctx, b.owner, b.repo, id, recursive)
	if err != nil {
		return nil, err
	}
	if tree.GetTruncated() && !recursive {
		return nil, fmt.Errorf("a folder holds more files than GitHub lists: remove old baselines from branch %s", b.branch)
	}
	return tree, nil
}

// status is the HTTP status of GitHub's answer in err, 0 where there is none.
func status(err error) int {
	var answer *gh.ErrorResponse
	if errors.As(err, &answer) && answer.Response != nil {
		return answer.Response.StatusCode
	}
	return 0
}

// maybeDone reports that a call failed in a way in which it may have been
// carried out.
func maybeDone(err error) bool {
	var broken *url.Error
	return status(err) >= 500 || errors.As(err, &broken) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// pause waits before attempt n (from 1), a random part of a doubling delay.
func (b *Branch) pause(ctx context.Context, n int) error {
	d := min(b.firstDelay<<min(n-1, 10), maxDelay)
	timer := time.NewTimer(time.Duration(rand.Int64N(int64(d))) + d/4)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
