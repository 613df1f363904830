package githubtest

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// gitStore is a repository's objects and refs. Ids are Git's own.
type gitStore struct {
	refs    map[string]string // full name → commit
	blobs   map[string][]byte
	trees   map[string][]treeEntry
	commits map[string]commit
}

type treeEntry struct {
	name, mode, kind, sha string
}

type commit struct {
	tree              string
	parents           []string
	author, committer person
	message           string
}

type person struct {
	name, email string
	at          time.Time
}

func newGitStore() gitStore {
	return gitStore{map[string]string{}, map[string][]byte{}, map[string][]treeEntry{}, map[string]commit{}}
}

// empty reports that nothing was ever committed.
func (g *gitStore) empty() bool { return len(g.commits) == 0 }

func hash(kind string, data []byte) string {
	h := sha1.New()
	fmt.Fprintf(h, "%s %d\x00", kind, len(data))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

func (g *gitStore) put(kind string, data []byte) string {
	id := hash(kind, data)
	g.blobs[id] = data
	return id
}

// writeTree stores the tree, and those below it, of files by path.
func (g *gitStore) writeTree(files map[string]treeEntry) string {
	below := map[string]map[string]treeEntry{}
	var entries []treeEntry
	for path, e := range files {
		dir, rest, nested := strings.Cut(path, "/")
		if !nested {
			e.name = path
			entries = append(entries, e)
			continue
		}
		if below[dir] == nil {
			below[dir] = map[string]treeEntry{}
		}
		below[dir][rest] = e
	}
	for dir, files := range below {
		entries = append(entries, treeEntry{dir, "040000", "tree", g.writeTree(files)})
	}
	sortable := func(e treeEntry) string {
		if e.kind == "tree" {
			return e.name + "/"
		}
		return e.name
	}
	slices.SortFunc(entries, func(a, b treeEntry) int { return cmp.Compare(sortable(a), sortable(b)) })
	var data bytes.Buffer
	for _, e := range entries {
		raw, _ := hex.DecodeString(e.sha)
		fmt.Fprintf(&data, "%s %s\x00%s", strings.TrimLeft(e.mode, "0"), e.name, raw)
	}
	id := hash("tree", data.Bytes())
	g.trees[id] = entries
	return id
}

// flatten is every file below a tree by path.
func (g *gitStore) flatten(tree string) map[string]treeEntry {
	files := map[string]treeEntry{}
	for _, e := range g.walk(tree, "", true) {
		if e.kind != "tree" {
			files[e.name] = e
		}
	}
	return files
}

// walk lists a tree in Git's order, names being paths from its root.
func (g *gitStore) walk(tree, prefix string, recursive bool) []treeEntry {
	var out []treeEntry
	for _, e := range g.trees[tree] {
		name := e.name
		e.name = prefix + name
		out = append(out, e)
		if recursive && e.kind == "tree" {
			out = append(out, g.walk(e.sha, prefix+name+"/", true)...)
		}
	}
	return out
}

func (g *gitStore) writeCommit(c commit) string {
	var data bytes.Buffer
	fmt.Fprintf(&data, "tree %s\n", c.tree)
	for _, parent := range c.parents {
		fmt.Fprintf(&data, "parent %s\n", parent)
	}
	fmt.Fprintf(&data, "author %s <%s> %d +0000\ncommitter %s <%s> %d +0000\n\n%s",
		c.author.name, c.author.email, c.author.at.Unix(), c.committer.name, c.committer.email, c.committer.at.Unix(), c.message)
	id := hash("commit", data.Bytes())
	g.commits[id] = c
	return id
}

// contains reports whether old is new or one of its ancestors.
func (g *gitStore) contains(new, old string) bool {
	seen := map[string]bool{}
	todo := []string{new}
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if id == old {
			return true
		}
		if !seen[id] {
			seen[id] = true
			todo = append(todo, g.commits[id].parents...)
		}
	}
	return false
}
