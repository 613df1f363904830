package baselines

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	gh "github.com/google/go-github/v62/github"
	"github.com/org/llm-gate/gate/github"
	"github.com/org/llm-gate/gate/github/githubtest"
)

func newBranch(t *testing.T, s *githubtest.Server) *Branch {
	t.Helper()
	client := gh.NewClient(nil).WithAuthToken("secret-token")
	base, err := client.BaseURL.Parse(s.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	client.BaseURL = base
	b := NewBranch(client, "org", "app", "")
	b.firstDelay = time.Millisecond
	return b
}

func branchCase(t *testing.T) (*githubtest.Server, storeCase) {
	s := githubtest.New(t)
	s.AddRepo("org/app")
	return s, storeCase{
		store:  newBranch(t, s),
		reopen: func() Store { return newBranch(t, s) },
		put:    func(path string, data []byte) { s.SetFile("org/app", DefaultBranch, path, data) },
		read:   func(path string) []byte { return s.Files("org/app", DefaultBranch)[path] },
	}
}

func TestBranch(t *testing.T) {
	testStore(t, func(t *testing.T) storeCase { _, c := branchCase(t); return c })
}

func TestBranchIsAnOrphanWithOneCommitAnEntry(t *testing.T) {
	s, c := branchCase(t)
	for n := range 3 {
		if err := c.store.Append(t.Context(), sampleEntry(t, "chat", n)); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.CommitCount("org/app", DefaultBranch); n != 3 {
		t.Errorf("%d commits on the branch, want 3: it must not stand on the code's history", n)
	}
	onBranch := s.Files("org/app", DefaultBranch)
	if len(onBranch) != 4 || !bytes.HasPrefix(onBranch["README.md"], []byte("# Baselines")) {
		t.Errorf("the branch holds %d files, want three entries and README.md", len(onBranch))
	}
	if main := s.Files("org/app", "main"); len(main) != 1 {
		t.Errorf("main was touched: %d files", len(main))
	}
}

func TestBranchReadsTruncatedTrees(t *testing.T) {
	s, c := branchCase(t)
	for n := range 6 {
		if err := c.store.Append(t.Context(), sampleEntry(t, "chat", n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.store.Append(t.Context(), sampleEntry(t, "other", 1)); err != nil {
		t.Fatal(err)
	}
	s.TruncateTrees(3)
	if refs, err := c.reopen().List(t.Context(), "chat"); err != nil || len(refs) != 6 {
		t.Errorf("List = %v, %v: want 6", refIDs(refs), err)
	}
	if err := c.reopen().Append(t.Context(), sampleEntry(t, "chat", 3)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Append of one that a cut listing hides = %v, want ErrExist", err)
	}
}

// isMove reports the request that moves or makes the branch.
func isMove(r *http.Request) bool {
	return r.Method == http.MethodPatch || r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/git/refs")
}

// The answer to a move that was made gets lost: the entry is there once and
// Append knows.
func TestBranchMoveWithoutAnAnswer(t *testing.T) {
	for _, answer := range []githubtest.Answer{
		{Status: 502, After: true, Body: "<html>"},
		{After: true, Hangup: true},
	} {
		for _, retrying := range []bool{false, true} {
			s, c := branchCase(t)
			if retrying { // the client that the gate uses repeats the move by itself
				client, err := github.New(github.Options{Token: "secret-token", APIURL: s.URL, Sleep: func(context.Context, time.Duration) error { return nil }})
				if err != nil {
					t.Fatal(err)
				}
				b := NewBranch(client, "org", "app", "")
				b.firstDelay = time.Millisecond
				c.store = b
			}
			for n := range 2 { // creating the branch, then moving it
				var once sync.Once
				s.Fail(func(r *http.Request) (a *githubtest.Answer) {
					if isMove(r) {
						once.Do(func() { a = &answer })
					}
					return a
				})
				if err := c.store.Append(t.Context(), sampleEntry(t, "chat", n)); err != nil {
					t.Errorf("Append with %+v: %v", answer, err)
				}
			}
			if n := s.CommitCount("org/app", DefaultBranch); n != 2 {
				t.Errorf("%d commits with %+v, want 2", n, answer)
			}
		}
	}
}

func TestBranchThatMayNotBeWritten(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer githubtest.Answer
		want   string
		moves  int
	}{
		{"no permission", githubtest.Answer{Status: 403, Body: `{"message":"Resource not accessible by integration"}`}, "contents: write", 1},
		{"protected", githubtest.Answer{Status: 422, Body: `{"message":"Changes must be made through a pull request."}`}, "pull request", 1},
		{"rules", githubtest.Answer{Status: 409, Body: `{"message":"Repository rule violations found"}`}, "rule violations", 1},
		{"always losing", githubtest.Answer{Status: 422, Body: `{"message":"Update is not a fast forward"}`}, ErrConflict.Error(), appendAttempts},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, _ := branchCase(t)
			b := newBranch(t, s)
			b.firstDelay = time.Microsecond
			moves := 0
			s.Fail(func(r *http.Request) *githubtest.Answer {
				if !isMove(r) {
					return nil
				}
				moves++
				return &test.answer
			})
			err := b.Append(t.Context(), sampleEntry(t, "chat", 1))
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret-token") {
				t.Errorf("Append = %v, want %q", err, test.want)
			}
			if errors.Is(err, ErrConflict) != (test.moves > 1) {
				t.Errorf("%v: ErrConflict only for races", err)
			}
			if moves != test.moves {
				t.Errorf("tried %d times, want %d", moves, test.moves)
			}
		})
	}
}

func TestBranchOfAnEmptyRepository(t *testing.T) {
	s := githubtest.New(t)
	s.AddEmptyRepo("org/app")
	b := newBranch(t, s)
	if refs, err := b.List(t.Context(), "chat"); err != nil || len(refs) != 0 {
		t.Errorf("List = %v, %v", refs, err)
	}
	if err := b.Append(t.Context(), sampleEntry(t, "chat", 1)); err == nil || !strings.Contains(err.Error(), "first commit") {
		t.Errorf("Append = %v, want what to do", err)
	}
}

// A repository that the token cannot see must not look like one without
// baselines.
func TestBranchOfAHiddenRepository(t *testing.T) {
	b := newBranch(t, githubtest.New(t))
	if _, err := b.List(t.Context(), "chat"); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "contents: read") {
		t.Errorf("List = %v, want an error that is not ErrNotExist", err)
	}
}

// A server that fails while reading is no absent baseline either.
func TestBranchReadFailures(t *testing.T) {
	for _, part := range []string{"/git/ref/", "/git/commits/", "/git/trees/", "/git/blobs/"} {
		s, c := branchCase(t)
		e := sampleEntry(t, "chat", 1)
		if err := c.store.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		s.Fail(func(r *http.Request) *githubtest.Answer {
			if strings.Contains(r.URL.Path, part) {
				return &githubtest.Answer{Status: 500, Body: "no"}
			}
			return nil
		})
		if _, err := History(t.Context(), c.reopen(), e.Key, 5); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("History where %s fails = %v", part, err)
		}
	}
}
